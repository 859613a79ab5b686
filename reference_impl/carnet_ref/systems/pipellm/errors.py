"""What is refused, and where the fault is: in the application, or at the other end of the channel."""

from __future__ import annotations


class PipeLlmError(Exception):
    """Something that the protocol refuses."""


class CopyError(PipeLlmError):
    """A write or a copy that the application may not make; nothing has changed.

    Attributes:
        page: which page it is about.
        reason: what is wrong with it.
    """

    def __init__(self, page: int, reason: str) -> None:
        super().__init__(f"page {page}: {reason}")
        self.page = page
        self.reason = reason


class ChannelError(PipeLlmError):
    """A channel that has ended, or that cannot be had.

    Attributes:
        number: how many messages came before.
        reason: what is wrong with the one that ended it.
    """

    def __init__(self, number: int, reason: str) -> None:
        super().__init__(f"message {number}: {reason}")
        self.number = number
        self.reason = reason
