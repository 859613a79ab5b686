"""Sizes, durations and rates that carry their units, and readers of text that refuse an ambiguous unit.

A megabyte (MB, 10⁶ bytes), a mebibyte (MiB, 2²⁰ bytes) and a megabit (Mbit, 125 000 bytes) differ by up to a factor
8.39; ``M``, ``Mb`` and ``mb`` may mean any of them and are refused.

Source: IEC 80000-13, binary prefixes; ISO 80000-1, decimal prefixes.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from fractions import Fraction
from typing import Self, TypeAlias

from carnet_command.errors import UsageError

#: A number of seconds in the midst of arithmetic, where it may be negative; a `Duration` has been checked.
Seconds: TypeAlias = float

LARGEST_SIZE = 2**63 - 1
LONGEST_SECONDS = 1e10
FASTEST_BYTES_PER_SECOND = 1e15

_DECIMAL = {"": 1, "k": 10**3, "M": 10**6, "G": 10**9, "T": 10**12, "P": 10**15}
_BINARY = {"Ki": 2**10, "Mi": 2**20, "Gi": 2**30, "Ti": 2**40, "Pi": 2**50}
_UNITS: dict[str, Fraction] = {
    **{f"{prefix}B": Fraction(factor) for prefix, factor in {**_DECIMAL, **_BINARY}.items()},
    **{f"{prefix}bit": Fraction(factor, 8) for prefix, factor in {**_DECIMAL, **_BINARY}.items()},
}
_SECONDS = {"s": 1.0, "ms": 1e-3, "us": 1e-6, "µs": 1e-6, "ns": 1e-9, "min": 60.0, "h": 3600.0, "d": 86400.0}
_QUANTITY = re.compile(r"\s*([0-9]{1,30}(?:\.[0-9]{1,30})?(?:e[+-]?[0-9]{1,2})?)\s*(\S*)\s*", re.IGNORECASE | re.ASCII)


class QuantityError(UsageError):
    """A quantity that is negative, absurd, not a number, or in a unit that does not say what it means."""


@dataclass(frozen=True, slots=True, order=True)
class Size:
    """A number of bytes. Raises QuantityError if it is not a whole number from 0 to 2⁶³ − 1."""

    octets: int

    def __post_init__(self) -> None:
        if isinstance(self.octets, bool) or not isinstance(self.octets, int):
            raise QuantityError(f"a size is a whole number of bytes, not {self.octets!r}")
        if not 0 <= self.octets <= LARGEST_SIZE:
            raise QuantityError(f"a size lies between 0 and {LARGEST_SIZE} bytes, not at {self.octets}")

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read a size such as ``256 MiB``, ``512 MB`` or ``4 Mbit``.

        Raises QuantityError if the unit is missing, ambiguous or that of a rate; or it is no whole number of bytes.
        """
        number, unit = _split(text, "a size", "256 MiB")
        if unit.endswith("/s"):
            raise QuantityError(f"'{text}' is a rate; a size has no '/s'")
        octets = number * _factor(unit, text)
        if octets.denominator != 1:
            raise QuantityError(f"'{text}' is no whole number of bytes")
        return cls(int(octets))

    def __add__(self, other: Size) -> Size:
        return Size(self.octets + other.octets)

    def __mul__(self, count: int) -> Size:
        return Size(self.octets * count)

    def __str__(self) -> str:
        for unit in ("PiB", "TiB", "GiB", "MiB", "KiB"):
            if self.octets >= _UNITS[unit]:
                return f"{self.octets / float(_UNITS[unit]):.4g} {unit}"
        return f"{self.octets} B"


@dataclass(frozen=True, slots=True, order=True)
class Duration:
    """A length of time, in seconds.

    Raises QuantityError if it is negative, not finite, or longer than three centuries.
    """

    seconds: float

    def __post_init__(self) -> None:
        _check_number(self.seconds, "a duration", "seconds")
        if not 0 <= self.seconds <= LONGEST_SECONDS:
            raise QuantityError(f"a duration lies between 0 and {LONGEST_SECONDS:g} s, not at {self.seconds:g} s")

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read a duration such as ``1 ms`` or ``5 s``.

        Raises QuantityError if the unit is missing or is not one of time.
        """
        number, unit = _split(text, "a duration", "1 ms")
        if unit not in _SECONDS:
            raise QuantityError(f"'{text}': a duration is in {', '.join(_SECONDS)}, not in '{unit}'")
        return cls(float(number) * _SECONDS[unit])

    def __str__(self) -> str:
        if self.seconds >= 2 * _SECONDS["d"]:
            return f"{self.seconds / _SECONDS['d']:.2f} d"
        if self.seconds >= 2 * _SECONDS["h"]:
            return f"{self.seconds / _SECONDS['h']:.2f} h"
        for unit in ("s", "ms", "us"):
            if self.seconds >= _SECONDS[unit]:
                return f"{self.seconds / _SECONDS[unit]:.4g} {unit}"
        return f"{self.seconds * 1e9:.4g} ns"


@dataclass(frozen=True, slots=True, order=True)
class Rate:
    """Bytes per second. Raises QuantityError if it is zero, negative, not finite, or beyond 10¹⁵ bytes per second."""

    bytes_per_second: float

    def __post_init__(self) -> None:
        _check_number(self.bytes_per_second, "a rate", "bytes per second")
        if not 0 < self.bytes_per_second <= FASTEST_BYTES_PER_SECOND:
            raise QuantityError(
                f"a rate lies above 0 and up to {FASTEST_BYTES_PER_SECOND:g} B/s, not at {self.bytes_per_second:g} B/s"
            )

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read a rate such as ``4 Mbit/s``, ``64 GB/s`` or ``1 GiB/s``.

        Raises QuantityError if the unit is missing or ambiguous, or is that of a size.
        """
        number, unit = _split(text, "a rate", "4 Mbit/s")
        if not unit.endswith("/s"):
            raise QuantityError(f"'{text}': a rate is a unit of size per second, such as 4 Mbit/s or 64 GB/s")
        return cls(float(number * _factor(unit.removesuffix("/s"), text)))

    def seconds_for(self, size: Size) -> Seconds:
        """Return how many seconds ``size`` takes at this rate."""
        return size.octets / self.bytes_per_second

    def __str__(self) -> str:
        return f"{self.bytes_per_second / 1e9:.4g} GB/s"


def _check_number(value: float, what: str, unit: str) -> None:
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise QuantityError(f"{what} is a finite number of {unit}, not {value!r}")


def _split(text: str, what: str, example: str) -> tuple[Fraction, str]:
    found = _QUANTITY.fullmatch(text)
    if not found or not found[2]:
        raise QuantityError(f"{what} is a number of zero or more with a unit, such as {example}, not '{text}'")
    return Fraction(found[1]), found[2]


def _factor(unit: str, text: str) -> Fraction:
    if unit in _UNITS:
        return _UNITS[unit]
    raise QuantityError(
        f"'{text}': the unit '{unit}' does not say how many bytes it is; write for example MB (10^6 bytes), "
        "MiB (2^20 bytes) or Mbit (10^6 bits)"
    )


def chunks_of(total: Size, chunk: Size) -> tuple[Size, ...]:
    """Cut ``total`` into chunks of at most ``chunk``; only the last one may be smaller.

    Raises QuantityError if either is zero, for that would be no chunk, or an endless number of them.
    """
    if total.octets == 0 or chunk.octets == 0:
        raise QuantityError(f"a transfer has at least one chunk of at least one byte; asked for {total} in {chunk}")
    whole, rest = divmod(total.octets, chunk.octets)
    return (chunk,) * whole + ((Size(rest),) if rest else ())


NO_TIME = Duration(0.0)
NO_BYTES = Size(0)
