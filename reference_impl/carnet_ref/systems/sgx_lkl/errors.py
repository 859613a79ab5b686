"""What is refused, and why: one error for each of shapes, calls, answers and chunks."""

from __future__ import annotations


class ObliviousError(Exception):
    """Something that the interface refuses."""


class ShapeError(ObliviousError):
    """Data that the public shape has no room for, or a shape that no run has."""


class TurnError(ObliviousError):
    """A step whose turn it is not.

    Attributes:
        tick: in which it was tried.
        reason: why it is not its turn.
    """

    def __init__(self, tick: int, reason: str) -> None:
        super().__init__(f"tick {tick}: {reason}")
        self.tick = tick
        self.reason = reason


class AnswerError(ObliviousError):
    """An answer that does not verify, or is for another tick; nothing of it is used.

    Attributes:
        tick: whose frame it was given for.
    """

    def __init__(self, tick: int) -> None:
        super().__init__(f"the answer for tick {tick} does not verify")
        self.tick = tick


class PaddingError(ObliviousError):
    """What was sealed is no padded content."""
