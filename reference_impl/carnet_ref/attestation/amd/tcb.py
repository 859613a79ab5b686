"""Lines of processors, and the security versions of their firmware (TCB), which each line lays out in its own way.

Source: AMD SEV-SNP Firmware ABI Specification 56860, revision 1.58, tables 3 and 4 (TCB_VERSION).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from carnet_ref.wire.reader import MalformedError

TCB_BYTES: Final = 8


class Product(StrEnum):
    """A line of EPYC processors, as AMD's certificates name it."""

    MILAN = "Milan"
    GENOA = "Genoa"
    TURIN = "Turin"


_Layout = tuple[str | None, ...]
_ZEN_3_AND_4: Final[_Layout] = ("bootloader", "tee", None, None, None, None, "snp", "microcode")
_ZEN_5: Final[_Layout] = ("fmc", "bootloader", "tee", "snp", None, None, None, "microcode")
LAYOUTS: Final[Mapping[Product, _Layout]] = {
    Product.MILAN: _ZEN_3_AND_4,
    Product.GENOA: _ZEN_3_AND_4,
    Product.TURIN: _ZEN_5,
}
"""Which byte of a TCB_VERSION is the version of what, from the first; reserved bytes are ``None``."""

_MODELS: Final = (
    (0x19, range(0x00, 0x10), Product.MILAN),
    (0x19, range(0x10, 0x20), Product.GENOA),
    (0x19, range(0xA0, 0xB0), Product.GENOA),
    (0x1A, range(0x00, 0x20), Product.TURIN),
)
"""CPUID family, models and line; AMD certifies models A0h to AFh of family 19h, Bergamo and Siena, as Genoa."""


@dataclass(frozen=True, slots=True)
class TcbVersion:
    """The security versions of the parts of one processor's firmware, each from 0 to 255, by their names."""

    product: Product
    parts: Mapping[str, int]

    def below(self, minimum: Mapping[str, int]) -> str | None:
        """Return what is older here than in ``minimum``, in words; ``None`` where nothing is."""
        older = [part for part, least in minimum.items() if self.parts[part] < least]
        return None if not older else ", ".join(f"{part} {self.parts[part]} < {minimum[part]}" for part in older)

    def encode(self) -> bytes:
        """Return the eight bytes."""
        return bytes(0 if part is None else self.parts[part] for part in LAYOUTS[self.product])

    def __str__(self) -> str:
        return ", ".join(f"{part} {version}" for part, version in self.parts.items())


def tcb_parts(product: Product) -> tuple[str, ...]:
    """Return the names of the parts that have a version in this line."""
    return tuple(part for part in LAYOUTS[product] if part is not None)


def parse_tcb(data: bytes, product: Product) -> TcbVersion:
    """Read the TCB_VERSION of a processor of this line.

    Raises:
        MalformedError: it is not eight bytes, or a reserved one is not zero.
    """
    if len(data) != TCB_BYTES:
        raise MalformedError("TCB_VERSION", f"{TCB_BYTES} bytes", f"{len(data)}")
    versions = tuple(zip(LAYOUTS[product], data, strict=True))
    if any(version for part, version in versions if part is None):
        raise MalformedError("TCB_VERSION", f"zero in the bytes that {product} reserves", data.hex())
    return TcbVersion(product, {part: version for part, version in versions if part is not None})


def product_of(family: int, model: int) -> Product | None:
    """Return the line of a processor with these CPUID numbers, if it is a known one."""
    return next((line for known, models, line in _MODELS if family == known and model in models), None)
