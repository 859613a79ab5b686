"""Version, capabilities and algorithms: what the two ends agree on before anything is protected.

Source: DMTF DSP0274 1.3.2, sections "GET_VERSION request", "GET_CAPABILITIES request", "NEGOTIATE_ALGORITHMS request".
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Final, Self

from carnet_ref.spdm.messages.common import Empty, Layout, Message, Version, u16, u32
from carnet_ref.wire.reader import Reader

DHE: Final = 2
AEAD: Final = 3
REQUESTER_ASYMMETRIC: Final = 4
KEY_SCHEDULE: Final = 5


@dataclass(frozen=True, slots=True)
class GetVersion(Empty):
    """GET_VERSION."""

    CODE: ClassVar[int] = 0x84


@dataclass(frozen=True, slots=True)
class VersionList(Message):
    """VERSION: the versions of the responder, each as major, minor, update and alpha in four bits."""

    CODE: ClassVar[int] = 0x04

    entries: tuple[int, ...]

    @classmethod
    def read(cls, reader: Reader, version: Version, params: tuple[int, int], layout: Layout) -> Self:
        """Read what follows the header."""
        del params, layout
        reader.number(1, "reserved")
        count = reader.number(1, "version count")
        return cls(version, tuple(reader.number(2, "version") for _ in range(count)))

    def body(self) -> bytes:
        """Return what follows the header."""
        return bytes([0, len(self.entries)]) + b"".join(map(u16, self.entries))

    def offers(self, version: Version) -> bool:
        """Whether a released revision of ``version`` is among them."""
        return any(entry >> 8 == version and not entry & 0x0F for entry in self.entries)


@dataclass(frozen=True, slots=True)
class _Capabilities(Message):
    """Flags, how long a computation may take, and from 1.2 how much fits a transfer and a message."""

    flags: int
    time_exponent: int = 0
    transfer_size: int = 0
    message_size: int = 0

    @classmethod
    def read(cls, reader: Reader, version: Version, params: tuple[int, int], layout: Layout) -> Self:
        """Read what follows the header."""
        del params, layout
        reader.number(1, "reserved")
        exponent = reader.number(1, "CTExponent")
        reader.number(2, "reserved")
        flags = reader.number(4, "flags")
        if version < Version.V1_2:
            return cls(version, flags, exponent)
        return cls(version, flags, exponent, reader.number(4, "DataTransferSize"), reader.number(4, "MaxSPDMmsgSize"))

    def body(self) -> bytes:
        """Return what follows the header."""
        start = bytes([0, self.time_exponent, 0, 0]) + u32(self.flags)
        if self.version < Version.V1_2:
            return start
        return start + u32(self.transfer_size) + u32(self.message_size)


@dataclass(frozen=True, slots=True)
class GetCapabilities(_Capabilities):
    """GET_CAPABILITIES."""

    CODE: ClassVar[int] = 0xE1


@dataclass(frozen=True, slots=True)
class Capabilities(_Capabilities):
    """CAPABILITIES."""

    CODE: ClassVar[int] = 0x61


@dataclass(frozen=True, slots=True)
class AlgorithmTable:
    """One algorithm structure: its type and the algorithms offered, or the one chosen."""

    kind: int
    algorithms: int

    def encode(self) -> bytes:
        """Return its four bytes; there are no external algorithms."""
        return bytes([self.kind, 0x20]) + u16(self.algorithms)


def _read_tables(reader: Reader, count: int) -> tuple[AlgorithmTable, ...]:
    tables = []
    for _ in range(count):
        kind, counts = reader.number(1, "algorithm type"), reader.number(1, "algorithm count")
        if counts != 0x20:
            raise reader.malformed("two bytes of algorithms and no external ones", f"{counts:#04x}")
        tables.append(AlgorithmTable(kind, reader.number(2, "algorithms")))
    return tuple(tables)


@dataclass(frozen=True, slots=True)
class NegotiateAlgorithms(Message):
    """NEGOTIATE_ALGORITHMS: what the requester supports."""

    CODE: ClassVar[int] = 0xE3

    measurement_specification: int
    other_parameters: int
    base_asymmetric: int
    base_hash: int
    mel_specification: int
    tables: tuple[AlgorithmTable, ...]
    post_quantum: int = 0

    @classmethod
    def read(cls, reader: Reader, version: Version, params: tuple[int, int], layout: Layout) -> Self:
        """Read what follows the header."""
        del layout
        _read_length(reader)
        measurement, other = reader.number(1, "measurement specification"), reader.number(1, "other parameters")
        asymmetric, digest = reader.number(4, "BaseAsymAlgo"), reader.number(4, "BaseHashAlgo")
        post_quantum = _read_post_quantum(reader, version)
        reader.take(8, "reserved")
        _no_external(reader)
        reader.number(1, "reserved")
        mel = reader.number(1, "MEL specification")
        tables = _read_tables(reader, params[0])
        return cls(version, measurement, other, asymmetric, digest, mel, tables, post_quantum)

    def params(self) -> tuple[int, int]:
        """Return Param1 and Param2."""
        return len(self.tables), 0

    def body(self) -> bytes:
        """Return what follows the header."""
        fixed = bytes([self.measurement_specification, self.other_parameters])
        fixed += u32(self.base_asymmetric) + u32(self.base_hash) + u32(self.post_quantum)
        fixed += bytes(11) + bytes([self.mel_specification])
        return _with_length(fixed + b"".join(table.encode() for table in self.tables))


@dataclass(frozen=True, slots=True)
class Algorithms(Message):
    """ALGORITHMS: what the responder chose."""

    CODE: ClassVar[int] = 0x63

    measurement_specification: int
    other_parameters: int
    measurement_hash: int
    base_asymmetric: int
    base_hash: int
    mel_specification: int
    tables: tuple[AlgorithmTable, ...]
    post_quantum: int = 0

    @classmethod
    def read(cls, reader: Reader, version: Version, params: tuple[int, int], layout: Layout) -> Self:
        """Read what follows the header."""
        del layout
        _read_length(reader)
        measurement, other = reader.number(1, "measurement specification"), reader.number(1, "other parameters")
        measured_hash = reader.number(4, "measurement hash")
        asymmetric, digest = reader.number(4, "BaseAsymSel"), reader.number(4, "BaseHashSel")
        post_quantum = _read_post_quantum(reader, version)
        reader.take(7, "reserved")
        mel = reader.number(1, "MEL specification")
        _no_external(reader)
        reader.take(2, "reserved")
        tables = _read_tables(reader, params[0])
        return cls(version, measurement, other, measured_hash, asymmetric, digest, mel, tables, post_quantum)

    def params(self) -> tuple[int, int]:
        """Return Param1 and Param2."""
        return len(self.tables), 0

    def body(self) -> bytes:
        """Return what follows the header."""
        fixed = bytes([self.measurement_specification, self.other_parameters]) + u32(self.measurement_hash)
        fixed += u32(self.base_asymmetric) + u32(self.base_hash) + u32(self.post_quantum)
        fixed += bytes(7) + bytes([self.mel_specification])
        return _with_length(fixed + bytes(4) + b"".join(table.encode() for table in self.tables))


_HEADER_AND_LENGTH: Final = 6


def _read_post_quantum(reader: Reader, version: Version) -> int:
    """Read what was reserved before 1.4, and meant nothing."""
    found = reader.number(4, "post-quantum algorithms")
    return found if version >= Version.V1_4 else 0


def _with_length(rest: bytes) -> bytes:
    return u16(_HEADER_AND_LENGTH + len(rest)) + rest


def _read_length(reader: Reader) -> None:
    whole = reader.position + reader.remaining
    length = reader.number(2, "length")
    if length != whole:
        raise reader.malformed(f"a length of {whole}", str(length))


def _no_external(reader: Reader) -> None:
    for field in ("external asymmetric algorithms", "external hash algorithms"):
        if count := reader.number(1, field):
            raise reader.malformed(f"no {field}", str(count))
