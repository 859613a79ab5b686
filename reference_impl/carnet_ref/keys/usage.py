"""How much a key has protected, and how much it may.

Source: NVIDIA open-gpu-kernel-modules 595.45.04, conf_compute_key_rotation.c, conf_compute.c (192), ctrlc56f.h: the
work unit is bytes / 16 plus encrypt operations; the limits follow draft-irtf-cfrg-aead-limits for an advantage.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from types import MappingProxyType
from typing import Final

from carnet_ref.crypto import KeyMaterialError
from carnet_ref.keys.errors import KeyExhaustedError

UPPER_BY_ADVANTAGE: Final[Mapping[int, int]] = MappingProxyType(
    {50: 777_472_127_993, 60: 24_296_003_999, 65: 4_294_967_295}
)
"""Work units allowed under one key, by the exponent of the attacker's advantage (2^-60 by default)."""
MARGIN: Final = 1_000_000_000
BLOCK_BYTES: Final = 16


@dataclass(frozen=True, slots=True)
class UsageLimits:
    """When a key is due to rotate, and when it must not be used any more, both in work units."""

    lower: int
    upper: int

    def __post_init__(self) -> None:
        if not 0 < self.lower <= self.upper:
            raise KeyMaterialError("key limits", f"lower {self.lower}, upper {self.upper}")

    @classmethod
    def for_advantage(cls, exponent: int = 60) -> UsageLimits:
        """Return the driver's limits for an attacker advantage of 2^-exponent.

        Raises:
            KeyMaterialError: no figure is known for that exponent.
        """
        upper = UPPER_BY_ADVANTAGE.get(exponent)
        if upper is None:
            raise KeyMaterialError("attacker advantage", f"2^-{exponent}; known are {sorted(UPPER_BY_ADVANTAGE)}")
        return cls(upper - MARGIN, upper)


class UsageState(Enum):
    """Where a key stands with its limits."""

    IDLE = "idle"
    ROTATION_DUE = "rotation due"


class KeyUsage:
    """The count of what one key has protected, by whoever used it.

    Bytes and operations are counted apart and the unit formed once, so that many short messages are not rounded away.
    """

    __slots__ = ("_bytes", "_limits", "_operations")

    def __init__(self, limits: UsageLimits | None = None, used_bytes: int = 0, operations: int = 0) -> None:
        self._limits = limits or UsageLimits.for_advantage()
        self._bytes = used_bytes
        self._operations = operations

    @property
    def used_bytes(self) -> int:
        """Plaintext bytes protected."""
        return self._bytes

    @property
    def operations(self) -> int:
        """Encrypt operations."""
        return self._operations

    @property
    def units(self) -> int:
        """Work units: bytes / 16 plus operations."""
        return self._units(self._bytes, self._operations)

    @property
    def state(self) -> UsageState:
        """Whether the key is due to rotate."""
        return UsageState.ROTATION_DUE if self.units >= self._limits.lower else UsageState.IDLE

    def count(self, size: int, operations: int = 1) -> None:
        """Count ``operations`` that protect ``size`` bytes in all, before they are carried out.

        Raises:
            KeyExhaustedError: the key would be used past its upper limit; nothing is counted.
        """
        units = self._units(self._bytes + size, self._operations + operations)
        if units > self._limits.upper:
            raise KeyExhaustedError(units, self._limits.upper)
        self._bytes += size
        self._operations += operations

    @staticmethod
    def _units(used_bytes: int, operations: int) -> int:
        return used_bytes // BLOCK_BYTES + operations
