"""How much a key has protected, and how much it may.

A key is an AES key. How many epochs use it, and who encrypts or decrypts with it, makes no difference: its count goes
on (`carnet_ref.keys.ledger`).

Source: NVIDIA open-gpu-kernel-modules 595.45.04, conf_compute_key_rotation.c, conf_compute.c (192), ctrlc56f.h: the
work unit is bytes / 16 plus encrypt operations; the limits follow draft-irtf-cfrg-aead-limits for an advantage, one key
at a time (`carnet_ref.keys.bounds`).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from enum import Enum
from typing import Final, NamedTuple

from carnet_ref.crypto.primitives import KeyMaterialError
from carnet_ref.keys.bounds import driver_units
from carnet_ref.keys.errors import KeyExhaustedError

MARGIN: Final = 1_000_000_000
"""How many work units before its limit a key is due to rotate."""
BLOCK_BYTES: Final = 16
UNLIMITED: Final = 1 << 62


@dataclass(frozen=True, slots=True)
class Budget:
    """A share in the use of a key: so many messages, and so many work units."""

    messages: int = 0
    units: int = 0

    @classmethod
    def of(cls, sizes: Iterable[int]) -> Budget:
        """Return what messages of these sizes take, each rounded up to whole blocks."""
        blocks = [-(-size // BLOCK_BYTES) for size in sizes]
        return cls(len(blocks), sum(blocks) + len(blocks))

    def covers(self, other: Budget) -> bool:
        """Return whether ``other`` is no larger in either count."""
        return other.messages <= self.messages and other.units <= self.units

    def __str__(self) -> str:
        return f"{self.messages:,} messages and {self.units:,} work units"


@dataclass(frozen=True, slots=True)
class UsageLimits:
    """When a key is due to rotate, and when it must not be used any more, both in work units.

    ``messages`` limits them too, in either direction; the driver has no such limit.
    """

    lower: int
    upper: int
    messages: int = UNLIMITED

    def __post_init__(self) -> None:
        if not 0 < self.lower <= self.upper or self.messages < 1:
            raise KeyMaterialError("key limits", f"lower {self.lower}, upper {self.upper}, messages {self.messages}")

    @classmethod
    def for_advantage(cls, exponent: int = 60) -> UsageLimits:
        """Return the driver's limits for an attacker advantage of 2^-exponent against one key (`keys.bounds`).

        Raises:
            KeyMaterialError: the driver has no limit for that exponent.
        """
        upper = driver_units(exponent)
        return cls(upper - MARGIN, upper)

    @classmethod
    def for_messages(cls, messages: int) -> UsageLimits:
        """Return the driver's limits, with no more than so many messages under one key.

        Raises:
            KeyMaterialError: that is none.
        """
        return replace(cls.for_advantage(), messages=messages)

    @classmethod
    def within(cls, budget: Budget) -> UsageLimits:
        """Return the limits of somebody who was lent a share of a key.

        Raises:
            KeyMaterialError: the share is nothing.
        """
        return cls(budget.units, budget.units, budget.messages)


class UsageState(Enum):
    """Where a key stands with its limits."""

    IDLE = "idle"
    ROTATION_DUE = "rotation due"


class Standing(NamedTuple):
    """How much a key protected, what was lent included, and how much it may."""

    messages: int
    most_messages: int
    units: int
    most_units: int

    @property
    def within(self) -> bool:
        """Whether no limit was passed."""
        return self.messages <= self.most_messages and self.units <= self.most_units


class KeyUsage:
    """The count of what one key has protected, by whoever used it.

    Bytes and operations are counted apart and the unit formed once, so that many short messages are not rounded away.
    What is lent counts as used, until the borrower says how much of it was.
    """

    __slots__ = ("_bytes", "_lent", "_limits", "_operations")

    def __init__(self, limits: UsageLimits | None = None, used_bytes: int = 0, operations: int = 0) -> None:
        self._limits = limits or UsageLimits.for_advantage()
        self._bytes = used_bytes
        self._operations = operations
        self._lent = Budget()

    @property
    def used_bytes(self) -> int:
        """Plaintext bytes protected."""
        return self._bytes

    @property
    def operations(self) -> int:
        """Messages protected, and those that were lent."""
        return self._operations + self._lent.messages

    @property
    def units(self) -> int:
        """Work units: bytes / 16 plus operations, and those that were lent."""
        return self._bytes // BLOCK_BYTES + self._operations + self._lent.units

    @property
    def left(self) -> Budget:
        """What the key may still protect; a block that was begun counts as used."""
        units = -(-self._bytes // BLOCK_BYTES) + self._operations + self._lent.units
        return Budget(max(0, self._limits.messages - self.operations), max(0, self._limits.upper - units))

    @property
    def state(self) -> UsageState:
        """Whether the key is due to rotate."""
        return UsageState.ROTATION_DUE if self.units >= self._limits.lower else UsageState.IDLE

    @property
    def standing(self) -> Standing:
        """What was used, beside what may be."""
        return Standing(self.operations, self._limits.messages, self.units, self._limits.upper)

    def count(self, size: int, operations: int = 1) -> None:
        """Count ``operations`` that protect ``size`` bytes in all, before they are carried out.

        Raises:
            KeyExhaustedError: the key would be used past its limit; nothing is counted.
        """
        self._count(size, operations, self._lent)

    def lend(self, most: Budget) -> Budget:
        """Return what somebody else may use of the key, no more than ``most``; it counts as used from now on."""
        left = self.left
        lent = Budget(min(left.messages, most.messages), min(left.units, most.units))
        self._lent = Budget(self._lent.messages + lent.messages, self._lent.units + lent.units)
        return lent

    def settle(self, lent: Budget, size: int, operations: int) -> None:
        """Count what a borrower protected in the place of what it was lent.

        Raises:
            KeyExhaustedError: that is more than it was lent, and all of it still counts as used.
        """
        units = size // BLOCK_BYTES + operations
        if operations > lent.messages:
            raise KeyExhaustedError(operations, lent.messages, "messages")
        if units > lent.units:
            raise KeyExhaustedError(units, lent.units)
        self._count(size, operations, Budget(self._lent.messages - lent.messages, self._lent.units - lent.units))

    def _count(self, size: int, operations: int, lent: Budget) -> None:
        units = (self._bytes + size) // BLOCK_BYTES + self._operations + operations + lent.units
        messages = self._operations + operations + lent.messages
        if units > self._limits.upper:
            raise KeyExhaustedError(units, self._limits.upper)
        if messages > self._limits.messages:
            raise KeyExhaustedError(messages, self._limits.messages, "messages")
        self._bytes, self._operations, self._lent = self._bytes + size, self._operations + operations, lent
