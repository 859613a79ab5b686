"""Why a key, an IV or a link is no longer to be used; each is final for what it is about."""

from __future__ import annotations


class KeysError(Exception):
    """Something about link keys that was refused."""


class SecretTakenError(KeysError):
    """A secret that is exported once was asked for again, or was wiped."""


class IvExhaustedError(KeysError):
    """Every message counter value of a channel has been used."""


class KeyExhaustedError(KeysError):
    """A key would protect more than its limit.

    Attributes:
        amount: how much it would have protected.
        limit: how much it may.
        unit: what is counted: work units or messages.
    """

    def __init__(self, amount: int, limit: int, unit: str = "work units") -> None:
        super().__init__(f"key limit: {amount} {unit}, and no more than {limit} are allowed under one key")
        self.amount = amount
        self.limit = limit
        self.unit = unit


class LinkDeadError(KeysError):
    """A link direction that failed once is used again."""


class OrderRefusedError(KeysError):
    """A rotation order that the end refuses to follow.

    Attributes:
        check: the name of the check that refused it.
    """

    def __init__(self, check: str, reason: str) -> None:
        super().__init__(f"{check}: {reason}")
        self.check = check


class EnginesExhaustedError(KeysError):
    """More owners of keys than there are copy engines for them in one session."""


class ResetNeededError(KeysError):
    """The session was lent before, and the schedule asks for a new one first."""
