"""What is refused, and why: a report, a step out of turn, and a message that ends the job."""

from __future__ import annotations


class RingError(Exception):
    """Something that the protocol refuses."""


class ReportError(RingError):
    """A report that a rank does not take.

    Attributes:
        reason: what is wrong with it.
    """

    def __init__(self, reason: str) -> None:
        super().__init__(f"the report is not taken: {reason}")
        self.reason = reason


class TurnError(RingError):
    """A step that a rank does not take, because it would take it twice or too early.

    Attributes:
        rank: its place in the ring.
        reason: what is wrong with the step.
    """

    def __init__(self, rank: int, reason: str) -> None:
        super().__init__(f"rank {rank}: {reason}")
        self.rank = rank
        self.reason = reason


class AlarmError(RingError):
    """The alarm of a rank: a message failed or did not come, and the rank takes no further part.

    Attributes:
        rank: its place in the ring.
        reason: what failed.
    """

    def __init__(self, rank: int, reason: str) -> None:
        super().__init__(f"rank {rank} raised the alarm: {reason}")
        self.rank = rank
        self.reason = reason
