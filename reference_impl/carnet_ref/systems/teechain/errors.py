"""What is refused, and why: one error for each of quotes, chains, sealed states, and members that say nothing."""

from __future__ import annotations


class TeechainError(Exception):
    """Something that the protocol refuses; nothing was released, and nothing that was logged is lost."""


class QuoteError(TeechainError):
    """A quote that is not taken.

    Attributes:
        reason: what is wrong with it.
    """

    def __init__(self, reason: str) -> None:
        super().__init__(f"the quote is not taken: {reason}")
        self.reason = reason


class ChainError(TeechainError):
    """A message or a step that a replica refuses in a chain.

    Attributes:
        reason: what is wrong with it.
    """

    def __init__(self, reason: str) -> None:
        super().__init__(f"refused by the chain: {reason}")
        self.reason = reason


class SealedStateError(TeechainError):
    """A sealed state that a replica does not start from.

    Attributes:
        reason: what is wrong with it.
    """

    def __init__(self, reason: str) -> None:
        super().__init__(f"the sealed state is refused: {reason}")
        self.reason = reason


class SilentMemberError(TeechainError):
    """A member that does not answer, so that nothing is acknowledged.

    Attributes:
        member: its name.
    """

    def __init__(self, member: str) -> None:
        super().__init__(f"{member} does not answer, and the chain waits for it")
        self.member = member
