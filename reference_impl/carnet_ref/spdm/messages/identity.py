"""Digests, certificates, the challenge and measurements: who the responder is, and what runs on it.

Source: DMTF DSP0274 1.3.2, sections "GET_DIGESTS request" to "MEASUREMENTS response".
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from typing import ClassVar, Final, Self

from carnet_ref.spdm.messages.common import (
    CONTEXT_BYTES,
    HASH_BYTES,
    RANDOM_BYTES,
    SIGNATURE_BYTES,
    Empty,
    Layout,
    Message,
    Version,
    read_sized,
    sized,
    u16,
)
from carnet_ref.wire.reader import Reader

COUNT_MEASUREMENTS: Final = 0
ALL_MEASUREMENTS: Final = 0xFF
SIGNATURE_REQUESTED: Final = 1
SLOT_MASK: Final = 0x0F
MUTUAL_REQUESTED: Final = 0x80
"""What CHALLENGE_AUTH asked for beside its slot until SPDM 1.2 (basic mutual authentication)."""


class Summary(IntEnum):
    """Which measurements the responder sums up: none, those it is rooted in, or all."""

    NONE = 0
    ROOTED = 1
    ALL = 0xFF


@dataclass(frozen=True, slots=True)
class GetDigests(Empty):
    """GET_DIGESTS."""

    CODE: ClassVar[int] = 0x81


@dataclass(frozen=True, slots=True)
class SlotKey:
    """What SPDM 1.3 says of a slot's key pair: its id, the kind of certificate, and what the key is for."""

    key_pair: int
    certificate: int
    usage: int


@dataclass(frozen=True, slots=True)
class Digests(Message):
    """DIGESTS: the digest of the chain in each slot of ``slots``, lowest first."""

    CODE: ClassVar[int] = 0x01

    supported: int
    slots: int
    digests: tuple[bytes, ...]
    keys: tuple[SlotKey, ...] = ()

    @classmethod
    def read(cls, reader: Reader, version: Version, params: tuple[int, int], layout: Layout) -> Self:
        """Read what follows the header."""
        supported, slots = params
        count = slots.bit_count()
        digests = tuple(reader.take(HASH_BYTES, "digest") for _ in range(count))
        if not layout.multi_key:
            return cls(version, supported, slots, digests)
        pairs, kinds = ([reader.number(1, name) for _ in range(count)] for name in ("key pair", "certificate"))
        usages = [reader.number(2, "key usage") for _ in range(count)]
        return cls(version, supported, slots, digests, tuple(map(SlotKey, pairs, kinds, usages)))

    def params(self) -> tuple[int, int]:
        """Return Param1 and Param2."""
        return self.supported, self.slots

    def body(self) -> bytes:
        """Return what follows the header."""
        pairs, kinds = bytes(key.key_pair for key in self.keys), bytes(key.certificate for key in self.keys)
        return b"".join(self.digests) + pairs + kinds + b"".join(u16(key.usage) for key in self.keys)


@dataclass(frozen=True, slots=True)
class GetCertificate(Message):
    """GET_CERTIFICATE: a portion of a slot's chain."""

    CODE: ClassVar[int] = 0x82

    slot: int
    offset: int
    length: int

    @classmethod
    def read(cls, reader: Reader, version: Version, params: tuple[int, int], layout: Layout) -> Self:
        """Read what follows the header."""
        del layout
        return cls(version, params[0], reader.number(2, "offset"), reader.number(2, "length"))

    def params(self) -> tuple[int, int]:
        """Return Param1 and Param2."""
        return self.slot, 0

    def body(self) -> bytes:
        """Return what follows the header."""
        return u16(self.offset) + u16(self.length)


@dataclass(frozen=True, slots=True)
class Certificate(Message):
    """CERTIFICATE: the portion, and how much of the chain comes after it."""

    CODE: ClassVar[int] = 0x02

    slot: int
    portion: bytes
    remainder: int
    certificate: int = 0

    @classmethod
    def read(cls, reader: Reader, version: Version, params: tuple[int, int], layout: Layout) -> Self:
        """Read what follows the header."""
        del layout
        length, remainder = reader.number(2, "portion size"), reader.number(2, "remainder size")
        return cls(version, params[0], reader.take(length, "portion"), remainder, params[1])

    def params(self) -> tuple[int, int]:
        """Return Param1 and Param2."""
        return self.slot, self.certificate

    def body(self) -> bytes:
        """Return what follows the header."""
        return u16(len(self.portion)) + u16(self.remainder) + self.portion


def _read_context(reader: Reader, version: Version) -> bytes:
    return reader.take(CONTEXT_BYTES, "requester context") if version >= Version.V1_3 else b""


@dataclass(frozen=True, slots=True)
class Challenge(Message):
    """CHALLENGE."""

    CODE: ClassVar[int] = 0x83

    slot: int
    summary: int
    nonce: bytes
    context: bytes = b""

    @classmethod
    def read(cls, reader: Reader, version: Version, params: tuple[int, int], layout: Layout) -> Self:
        """Read what follows the header."""
        del layout
        nonce = reader.take(RANDOM_BYTES, "nonce")
        return cls(version, *params, nonce, _read_context(reader, version))

    def params(self) -> tuple[int, int]:
        """Return Param1 and Param2."""
        return self.slot, self.summary

    def body(self) -> bytes:
        """Return what follows the header."""
        return self.nonce + self.context


@dataclass(frozen=True, slots=True)
class ChallengeAuth(Message):
    """CHALLENGE_AUTH."""

    CODE: ClassVar[int] = 0x03

    slot: int
    slots: int
    chain_hash: bytes
    nonce: bytes
    summary: bytes
    opaque: bytes
    context: bytes
    signature: bytes

    @classmethod
    def read(cls, reader: Reader, version: Version, params: tuple[int, int], layout: Layout) -> Self:
        """Read what follows the header."""
        return cls(
            version,
            *params,
            chain_hash=reader.take(HASH_BYTES, "chain hash"),
            nonce=reader.take(RANDOM_BYTES, "nonce"),
            summary=reader.take(HASH_BYTES, "measurement summary") if layout.summary else b"",
            opaque=read_sized(reader, "opaque data"),
            context=_read_context(reader, version),
            signature=reader.take(SIGNATURE_BYTES, "signature"),
        )

    def params(self) -> tuple[int, int]:
        """Return Param1 and Param2."""
        return self.slot, self.slots

    def body(self) -> bytes:
        """Return what follows the header."""
        return self.chain_hash + self.nonce + self.summary + sized(self.opaque) + self.context + self.signature


@dataclass(frozen=True, slots=True)
class GetMeasurements(Message):
    """GET_MEASUREMENTS; ``nonce`` and ``slot`` are there when a signature is asked for."""

    CODE: ClassVar[int] = 0xE0

    attributes: int
    operation: int
    nonce: bytes = b""
    slot: int = 0
    context: bytes = b""

    @classmethod
    def read(cls, reader: Reader, version: Version, params: tuple[int, int], layout: Layout) -> Self:
        """Read what follows the header."""
        del layout
        if not params[0] & SIGNATURE_REQUESTED:
            return cls(version, *params, context=_read_context(reader, version))
        nonce, slot = reader.take(RANDOM_BYTES, "nonce"), reader.number(1, "slot")
        return cls(version, *params, nonce, slot, _read_context(reader, version))

    def params(self) -> tuple[int, int]:
        """Return Param1 and Param2."""
        return self.attributes, self.operation

    def body(self) -> bytes:
        """Return what follows the header."""
        slot = bytes([self.slot]) if self.attributes & SIGNATURE_REQUESTED else b""
        return self.nonce + slot + self.context


@dataclass(frozen=True, slots=True)
class Measurements(Message):
    """MEASUREMENTS; ``blocks`` counts what ``record`` holds, which is appraised elsewhere."""

    CODE: ClassVar[int] = 0x60

    total: int
    slot: int
    blocks: int
    record: bytes
    nonce: bytes
    opaque: bytes
    context: bytes
    signature: bytes

    @classmethod
    def read(cls, reader: Reader, version: Version, params: tuple[int, int], layout: Layout) -> Self:
        """Read what follows the header."""
        blocks, length = reader.number(1, "block count"), reader.number(3, "record size")
        return cls(
            version,
            *params,
            blocks=blocks,
            record=reader.take(length, "measurement record"),
            nonce=reader.take(RANDOM_BYTES, "nonce"),
            opaque=read_sized(reader, "opaque data"),
            context=_read_context(reader, version),
            signature=reader.take(SIGNATURE_BYTES, "signature") if layout.signed else b"",
        )

    def params(self) -> tuple[int, int]:
        """Return Param1 and Param2."""
        return self.total, self.slot

    def body(self) -> bytes:
        """Return what follows the header."""
        record = bytes([self.blocks]) + len(self.record).to_bytes(3, "little") + self.record
        return record + self.nonce + sized(self.opaque) + self.context + self.signature
