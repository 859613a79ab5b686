"""How much each AES key of one end has protected, and how much it may.

The count of a key covers all epochs that use it, encryption and decryption alike. A key is looked up on its copy
engine, by a name that says nothing about it. A rotation either keeps the key of an engine, and then its count goes
on, or puts one there that was never used; no schedule goes back to a key that it left.

Source: NVIDIA open-gpu-kernel-modules 595.45.04, conf_compute_key_rotation.c (use is counted for each key pair, and
cleared when the key changes), conf_compute.c (192), ctrlc56f.h: the work unit is bytes / 16 plus encrypt operations;
the limits follow draft-irtf-cfrg-aead-limits for an advantage, one key at a time (`carnet_ref.keys.bounds`).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from enum import Enum
from typing import Final, NamedTuple

from carnet_ref.crypto.primitives import KeyMaterialError, hkdf_expand_sha256
from carnet_ref.keys.bounds import driver_units
from carnet_ref.keys.schedule import Direction, KeyExhaustedError, LinkKeys

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

        Raises KeyMaterialError if the driver has no limit for that exponent.
        """
        upper = driver_units(exponent)
        return cls(upper - MARGIN, upper)

    @classmethod
    def for_messages(cls, messages: int) -> UsageLimits:
        """Return the driver's limits, with no more than so many messages under one key.

        Raises KeyMaterialError if that is none.
        """
        return replace(cls.for_advantage(), messages=messages)

    @classmethod
    def within(cls, budget: Budget) -> UsageLimits:
        """Return the limits of somebody who was lent a share of a key.

        Raises KeyMaterialError if the share is nothing.
        """
        return cls(budget.units, budget.units, budget.messages)


class UsageState(Enum):
    """Where a key stands with its limits."""

    IDLE = "idle"
    ROTATION_DUE = "rotation due"


class UsageSummary(NamedTuple):
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
    def standing(self) -> UsageSummary:
        """What was used, beside what may be."""
        return UsageSummary(self.operations, self._limits.messages, self.units, self._limits.upper)

    def count(self, size: int, operations: int = 1) -> None:
        """Count ``operations`` that protect ``size`` bytes in all, before they are carried out.

        Raises KeyExhaustedError if the key would be used past its limit; nothing is counted.
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

        Raises KeyExhaustedError if that is more than it was lent, and all of it still counts as used.
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


_NAME_BYTES = 16


@dataclass(frozen=True, slots=True)
class KeyUsageRecord:
    """How much one AES key protected, as one end counts it; a key of no copy engine has no ``engine``."""

    engine: int | None
    way: str
    standing: UsageSummary

    def to_json(self) -> dict[str, object]:
        """Return it as JSON values; what has no limit has none."""
        messages, most_messages, units, most_units = self.standing
        return {
            "engine": self.engine,
            "direction": self.way,
            "messages": messages,
            "most_messages": None if most_messages == UNLIMITED else most_messages,
            "units": units,
            "most_units": most_units,
            "within": self.standing.within,
        }


class KeyLedger:
    """How much the keys of one end of a session have protected, by all who used them.

    ``own`` are the counts of the session's own keys, which belong to no copy engine.
    """

    __slots__ = ("_accounts", "_limits", "_replaced", "own")

    def __init__(self, limits: UsageLimits) -> None:
        self._limits = limits
        self._accounts: dict[tuple[int, Direction], tuple[bytes, KeyUsage]] = {}
        self.own: dict[str, KeyUsage] = {}
        self._replaced: list[tuple[int, Direction, KeyUsage]] = []

    @property
    def uses(self) -> list[KeyUsageRecord]:
        """How much each key protected so far, those that were replaced first."""
        live = [(*place, usage) for place, (_, usage) in self._accounts.items()]
        links = [KeyUsageRecord(engine, way.value, usage.standing) for engine, way, usage in (*self._replaced, *live)]
        return [*links, *(KeyUsageRecord(None, what, usage.standing) for what, usage in self.own.items())]

    def usage(self, keys: LinkKeys, way: Direction) -> KeyUsage:
        """Return the count of the key of one direction; it begins with the key, and not with an epoch."""
        place, name = (keys.engine, way), key_name(keys.half(way))
        known, usage = self._accounts.get(place, (b"", None))
        if usage is None or known != name:
            if usage is not None:
                self._replaced.append((*place, usage))
            usage = KeyUsage(self._limits)
            self._accounts[place] = name, usage
        return usage

    def unused(self) -> KeyUsage:
        """Return the count of a key that is still to be made."""
        return KeyUsage(self._limits)


def key_name(key: bytes) -> bytes:
    """Return a name for a key: who does not have the key cannot tell the name from random bytes."""
    return hkdf_expand_sha256(key, b"carnet_key_name", _NAME_BYTES)
