"""SPDM messages as typed values: bytes are read once, completely or not at all."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from typing import ClassVar, Final, Self

from carnet_ref.wire import MalformedError, Reader

HASH_BYTES: Final = 48
SIGNATURE_BYTES: Final = 96
"""The responder's signatures: ECDSA over P-384."""
REQUESTER_SIGNATURE_BYTES: Final = 384
"""The requester's signatures: RSA-PSS with 3072 bits."""
EXCHANGE_BYTES: Final = 96
RANDOM_BYTES: Final = 32
CONTEXT_BYTES: Final = 8
"""The requester context that SPDM 1.3 adds to signed messages."""


class Version(IntEnum):
    """SPDM versions as they stand in a message's first byte."""

    V1_0 = 0x10
    """Only GET_VERSION and VERSION carry it."""
    V1_1 = 0x11
    V1_2 = 0x12
    V1_3 = 0x13
    V1_4 = 0x14

    @property
    def label(self) -> str:
        """The version as text, such as ``1.2``."""
        return f"{self >> 4}.{self & 15}"


@dataclass(frozen=True, slots=True)
class Layout:
    """What a message's bytes depend on, and do not say themselves.

    ``summary``: a measurement summary hash was requested. ``signed``: a signature was requested (MEASUREMENTS) or is
    there (FINISH). ``clear``: the handshake is in the clear. ``multi_key``: slots have key-pair descriptions (1.3).
    """

    version: Version = Version.V1_2
    summary: bool = False
    signed: bool = True
    clear: bool = False
    multi_key: bool = False


@dataclass(frozen=True, slots=True)
class Message:
    """One SPDM message, as a typed value."""

    CODE: ClassVar[int]

    version: Version

    @classmethod
    def read(cls, reader: Reader, version: Version, params: tuple[int, int], layout: Layout) -> Self:
        """Read what follows the header.

        Raises:
            MalformedError: it is something else.
        """
        raise NotImplementedError

    def params(self) -> tuple[int, int]:
        """Return Param1 and Param2."""
        return 0, 0

    def body(self) -> bytes:
        """Return what follows the header."""
        return b""

    def encode(self) -> bytes:
        """Return the bytes of the message."""
        return bytes([self.version, self.CODE, *self.params()]) + self.body()


@dataclass(frozen=True, slots=True)
class Empty(Message):
    """A message that is a header, whose parameters mean nothing."""

    @classmethod
    def read(cls, reader: Reader, version: Version, params: tuple[int, int], layout: Layout) -> Self:
        """Read nothing."""
        del reader, params, layout
        return cls(version)


def u16(value: int) -> bytes:
    """Return two bytes, little-endian."""
    return value.to_bytes(2, "little")


def u32(value: int) -> bytes:
    """Return four bytes, little-endian."""
    return value.to_bytes(4, "little")


def sized(data: bytes) -> bytes:
    """Return bytes after their two-byte size."""
    return u16(len(data)) + data


def read_sized(reader: Reader, field: str) -> bytes:
    """Read bytes after their two-byte size."""
    return reader.take(reader.number(2, f"{field} size"), field)


LAST_CHUNK: Final = 1
EARLY_ERROR: Final = 1
CHUNK_HEADER_BYTES: Final = 12
"""What a piece of a message has before its bytes, and before the size of the whole in the first."""
SIZE_BYTES: Final = 4


def _sequence(version: Version, number: int) -> bytes:
    return u32(number) if version >= Version.V1_4 else u16(number)


def _read_sequence(reader: Reader, version: Version) -> int:
    return reader.number(4 if version >= Version.V1_4 else 2, "chunk sequence number")


@dataclass(frozen=True, slots=True)
class _Numbered(Message):
    """Something about one piece of the large message that ``handle`` names."""

    handle: int
    sequence: int


@dataclass(frozen=True, slots=True)
class _Piece(_Numbered):
    """One piece; the first says how long the whole message is."""

    last: bool
    chunk: bytes
    whole_size: int | None = None

    @classmethod
    def read(cls, reader: Reader, version: Version, params: tuple[int, int], layout: Layout) -> Self:
        """Read what follows the header."""
        del layout
        sequence = _read_sequence(reader, version)
        if version < Version.V1_4:
            reader.number(2, "reserved")
        size = reader.number(4, "chunk size")
        whole_size = None if sequence else reader.number(SIZE_BYTES, "size of the large message")
        return cls(version, params[1], sequence, bool(params[0] & LAST_CHUNK), reader.take(size, "chunk"), whole_size)

    def params(self) -> tuple[int, int]:
        """Return Param1 and Param2."""
        return int(self.last), self.handle

    def body(self) -> bytes:
        """Return what follows the header."""
        reserved = b"" if self.version >= Version.V1_4 else bytes(2)
        whole = b"" if self.whole_size is None else u32(self.whole_size)
        return _sequence(self.version, self.sequence) + reserved + u32(len(self.chunk)) + whole + self.chunk


@dataclass(frozen=True, slots=True)
class ChunkSend(_Piece):
    """CHUNK_SEND: a piece of a request."""

    CODE: ClassVar[int] = 0x85


@dataclass(frozen=True, slots=True)
class ChunkResponse(_Piece):
    """CHUNK_RESPONSE: a piece of a response."""

    CODE: ClassVar[int] = 0x06


@dataclass(frozen=True, slots=True)
class ChunkSendAck(_Numbered):
    """CHUNK_SEND_ACK; after the last piece it carries the response to the whole request, or an ERROR before that."""

    CODE: ClassVar[int] = 0x05

    response: bytes = b""
    early_error: bool = False

    @classmethod
    def read(cls, reader: Reader, version: Version, params: tuple[int, int], layout: Layout) -> Self:
        """Read what follows the header."""
        del layout
        sequence = _read_sequence(reader, version)
        return cls(version, params[1], sequence, reader.rest(), bool(params[0] & EARLY_ERROR))

    def params(self) -> tuple[int, int]:
        """Return Param1 and Param2."""
        return int(self.early_error), self.handle

    def body(self) -> bytes:
        """Return what follows the header."""
        return _sequence(self.version, self.sequence) + self.response


@dataclass(frozen=True, slots=True)
class ChunkGet(_Numbered):
    """CHUNK_GET: asks for a piece of a response."""

    CODE: ClassVar[int] = 0x86

    @classmethod
    def read(cls, reader: Reader, version: Version, params: tuple[int, int], layout: Layout) -> Self:
        """Read what follows the header."""
        del layout
        return cls(version, params[1], _read_sequence(reader, version))

    def params(self) -> tuple[int, int]:
        """Return Param1 and Param2."""
        return 0, self.handle

    def body(self) -> bytes:
        """Return what follows the header."""
        return _sequence(self.version, self.sequence)


@dataclass(frozen=True, slots=True)
class GetEncapsulatedRequest(Empty):
    """GET_ENCAPSULATED_REQUEST."""

    CODE: ClassVar[int] = 0xEA


@dataclass(frozen=True, slots=True)
class _Carrier(Message):
    """A number that tells requests apart, and the message that is carried; there always is one."""

    request_id: int
    carried: bytes

    @classmethod
    def read(cls, reader: Reader, version: Version, params: tuple[int, int], layout: Layout) -> Self:
        """Read what follows the header."""
        del layout
        if not reader.remaining:
            raise reader.malformed("an encapsulated message", "nothing")
        return cls(version, params[0], reader.rest())

    def params(self) -> tuple[int, int]:
        """Return Param1 and Param2."""
        return self.request_id, 0

    def body(self) -> bytes:
        """Return what follows the header."""
        return self.carried


@dataclass(frozen=True, slots=True)
class EncapsulatedRequest(_Carrier):
    """ENCAPSULATED_REQUEST: a request of the responder."""

    CODE: ClassVar[int] = 0x6A


@dataclass(frozen=True, slots=True)
class DeliverEncapsulatedResponse(_Carrier):
    """DELIVER_ENCAPSULATED_RESPONSE: the requester's response to it."""

    CODE: ClassVar[int] = 0xEB


class Payload(IntEnum):
    """What an ENCAPSULATED_RESPONSE_ACK carries: nothing, the next request, or the slot that FINISH has to name."""

    ABSENT = 0
    REQUEST = 1
    SLOT = 2


@dataclass(frozen=True, slots=True)
class EncapsulatedResponseAck(Message):
    """ENCAPSULATED_RESPONSE_ACK; from 1.2 on it names the request whose response came."""

    CODE: ClassVar[int] = 0x6B

    request_id: int
    kind: Payload
    acknowledged: int = 0
    payload: bytes = b""

    @classmethod
    def read(cls, reader: Reader, version: Version, params: tuple[int, int], layout: Layout) -> Self:
        """Read what follows the header."""
        del layout
        if params[1] not in set(Payload):
            raise reader.malformed("a kind of payload", str(params[1]))
        kind, acknowledged = Payload(params[1]), 0
        if version >= Version.V1_2:
            acknowledged = reader.number(1, "acknowledged request id")
            reader.take(3, "reserved")
        payload = reader.rest()
        if (kind is Payload.ABSENT and payload) or (kind is Payload.SLOT and len(payload) != 1):
            raise reader.malformed("a payload of its kind", f"{len(payload)} bytes of {kind.name}")
        return cls(version, params[0], kind, acknowledged, payload)

    def params(self) -> tuple[int, int]:
        """Return Param1 and Param2."""
        return self.request_id, self.kind

    def body(self) -> bytes:
        """Return what follows the header."""
        named = bytes([self.acknowledged, 0, 0, 0]) if self.version >= Version.V1_2 else b""
        return named + self.payload


LONGEST_EXTENSION: Final = 32
"""The most that an ERROR adds after its parameters."""


class ErrorCode(IntEnum):
    """The codes of ERROR that Carnet sends or acts on; others are kept as numbers."""

    INVALID_REQUEST = 0x01
    BUSY = 0x03
    UNEXPECTED_REQUEST = 0x04
    UNSPECIFIED = 0x05
    DECRYPT_ERROR = 0x06
    UNSUPPORTED_REQUEST = 0x07
    LARGE_RESPONSE = 0x0F
    VERSION_MISMATCH = 0x41
    RESPONSE_NOT_READY = 0x42


@dataclass(frozen=True, slots=True)
class Error(Message):
    """ERROR."""

    CODE: ClassVar[int] = 0x7F

    code: int
    data: int = 0
    extended: bytes = b""

    @classmethod
    def read(cls, reader: Reader, version: Version, params: tuple[int, int], layout: Layout) -> Self:
        """Read what follows the header."""
        del layout
        if reader.remaining > LONGEST_EXTENSION:
            raise reader.malformed(f"{LONGEST_EXTENSION} bytes at most", str(reader.remaining))
        return cls(version, *params, reader.rest())

    def params(self) -> tuple[int, int]:
        """Return Param1 and Param2."""
        return self.code, self.data

    def body(self) -> bytes:
        """Return what follows the header."""
        return self.extended


@dataclass(frozen=True, slots=True)
class NotReady:
    """What an ERROR of code ResponseNotReady adds.

    The response takes about 2 to the power ``exponent`` microseconds, and is dropped after ``multiplier`` times that.
    """

    exponent: int
    request_code: int
    token: int
    multiplier: int

    @classmethod
    def of(cls, error: Error) -> NotReady:
        """Read it.

        Raises:
            MalformedError: the ERROR adds something else.
        """
        if len(error.extended) != 4:
            raise MalformedError("ResponseNotReady", "four bytes", str(len(error.extended)), 4)
        return cls(*error.extended)

    def encode(self) -> bytes:
        """Return its bytes."""
        return bytes([self.exponent, self.request_code, self.token, self.multiplier])


@dataclass(frozen=True, slots=True)
class RespondIfReady(Message):
    """RESPOND_IF_READY: asks for the response to the request that ``token`` names."""

    CODE: ClassVar[int] = 0xFF

    request_code: int
    token: int

    @classmethod
    def read(cls, reader: Reader, version: Version, params: tuple[int, int], layout: Layout) -> Self:
        """Read nothing."""
        del reader, layout
        return cls(version, *params)

    def params(self) -> tuple[int, int]:
        """Return Param1 and Param2."""
        return self.request_code, self.token


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


@dataclass(frozen=True, slots=True)
class KeyExchange(Message):
    """KEY_EXCHANGE."""

    CODE: ClassVar[int] = 0xE4

    summary: int
    slot: int
    session: int
    policy: int
    random: bytes
    exchange: bytes
    opaque: bytes

    @classmethod
    def read(cls, reader: Reader, version: Version, params: tuple[int, int], layout: Layout) -> Self:
        """Read what follows the header."""
        del layout
        session, policy = reader.number(2, "requester session id"), reader.number(1, "session policy")
        reader.number(1, "reserved")
        random, exchange = reader.take(RANDOM_BYTES, "random"), reader.take(EXCHANGE_BYTES, "exchange data")
        return cls(version, *params, session, policy, random, exchange, read_sized(reader, "opaque data"))

    def params(self) -> tuple[int, int]:
        """Return Param1 and Param2."""
        return self.summary, self.slot

    def body(self) -> bytes:
        """Return what follows the header."""
        return u16(self.session) + bytes([self.policy, 0]) + self.random + self.exchange + sized(self.opaque)


class MutualRequest(IntEnum):
    """How KEY_EXCHANGE_RSP asks the requester for a signature.

    Its chain was provisioned, or comes in encapsulated messages; of those the first is asked for, or comes unasked.
    """

    PROVISIONED = 1
    ENCAPSULATED = 2
    DIGESTS = 4


@dataclass(frozen=True, slots=True)
class KeyExchangeRsp(Message):
    """KEY_EXCHANGE_RSP; its verify data is missing when the handshake is in the clear."""

    CODE: ClassVar[int] = 0x64

    heartbeat: int
    session: int
    mutual: int
    requester_slot: int
    random: bytes
    exchange: bytes
    summary: bytes
    opaque: bytes
    signature: bytes
    verify_data: bytes

    @classmethod
    def read(cls, reader: Reader, version: Version, params: tuple[int, int], layout: Layout) -> Self:
        """Read what follows the header."""
        return cls(
            version,
            heartbeat=params[0],
            session=reader.number(2, "responder session id"),
            mutual=reader.number(1, "mutual authentication"),
            requester_slot=reader.number(1, "requester slot"),
            random=reader.take(RANDOM_BYTES, "random"),
            exchange=reader.take(EXCHANGE_BYTES, "exchange data"),
            summary=reader.take(HASH_BYTES, "measurement summary") if layout.summary else b"",
            opaque=read_sized(reader, "opaque data"),
            signature=reader.take(SIGNATURE_BYTES, "signature"),
            verify_data=b"" if layout.clear else reader.take(HASH_BYTES, "verify data"),
        )

    def params(self) -> tuple[int, int]:
        """Return Param1 and Param2."""
        return self.heartbeat, 0

    def unsigned_body(self) -> bytes:
        """Return what follows the header, up to the signature."""
        fixed = u16(self.session) + bytes([self.mutual, self.requester_slot]) + self.random + self.exchange
        return fixed + self.summary + sized(self.opaque)

    def body(self) -> bytes:
        """Return what follows the header."""
        return self.unsigned_body() + self.signature + self.verify_data


def _read_opaque(reader: Reader, version: Version) -> bytes:
    return read_sized(reader, "opaque data") if version >= Version.V1_4 else b""


def _sized_opaque(version: Version, opaque: bytes) -> bytes:
    return sized(opaque) if version >= Version.V1_4 else b""


@dataclass(frozen=True, slots=True)
class Finish(Message):
    """FINISH; a signature is there under mutual authentication, and opaque data from 1.4 on."""

    CODE: ClassVar[int] = 0xE5

    slot: int
    signature: bytes
    verify_data: bytes
    opaque: bytes = b""

    @classmethod
    def read(cls, reader: Reader, version: Version, params: tuple[int, int], layout: Layout) -> Self:
        """Read what follows the header."""
        del layout
        opaque = _read_opaque(reader, version)
        signature = reader.take(REQUESTER_SIGNATURE_BYTES, "signature") if params[0] & 1 else b""
        return cls(version, params[1], signature, reader.take(HASH_BYTES, "verify data"), opaque)

    def params(self) -> tuple[int, int]:
        """Return Param1 and Param2."""
        return int(bool(self.signature)), self.slot

    def unsigned(self) -> bytes:
        """Return the bytes of the message before its signature, which are signed."""
        return self.encode()[: -HASH_BYTES - len(self.signature)]

    def body(self) -> bytes:
        """Return what follows the header."""
        return _sized_opaque(self.version, self.opaque) + self.signature + self.verify_data


@dataclass(frozen=True, slots=True)
class FinishRsp(Message):
    """FINISH_RSP; it has verify data when the handshake is in the clear, and opaque data from 1.4 on."""

    CODE: ClassVar[int] = 0x65

    verify_data: bytes = b""
    opaque: bytes = b""

    @classmethod
    def read(cls, reader: Reader, version: Version, params: tuple[int, int], layout: Layout) -> Self:
        """Read what follows the header."""
        del params
        opaque = _read_opaque(reader, version)
        return cls(version, reader.take(HASH_BYTES, "verify data") if layout.clear else b"", opaque)

    def body(self) -> bytes:
        """Return what follows the header."""
        return _sized_opaque(self.version, self.opaque) + self.verify_data


@dataclass(frozen=True, slots=True)
class PskExchange(Message):
    """PSK_EXCHANGE: recognised in recorded sessions, and refused in every session of Carnet's own."""

    CODE: ClassVar[int] = 0xE6

    summary: int
    session: int
    hint: bytes
    context: bytes
    opaque: bytes
    policy: int = 0

    @classmethod
    def read(cls, reader: Reader, version: Version, params: tuple[int, int], layout: Layout) -> Self:
        """Read what follows the header."""
        del layout
        session = reader.number(2, "requester session id")
        hint, context, opaque = (reader.number(2, f"{name} size") for name in ("hint", "context", "opaque data"))
        parts = reader.take(hint, "hint"), reader.take(context, "context"), reader.take(opaque, "opaque data")
        return cls(version, params[0], session, *parts, policy=params[1])

    def params(self) -> tuple[int, int]:
        """Return Param1 and Param2."""
        return self.summary, self.policy

    def body(self) -> bytes:
        """Return what follows the header."""
        parts = self.hint, self.context, self.opaque
        return u16(self.session) + b"".join(u16(len(part)) for part in parts) + b"".join(parts)


@dataclass(frozen=True, slots=True)
class PskExchangeRsp(Message):
    """PSK_EXCHANGE_RSP."""

    CODE: ClassVar[int] = 0x66

    heartbeat: int
    session: int
    summary: bytes
    context: bytes
    opaque: bytes
    verify_data: bytes

    @classmethod
    def read(cls, reader: Reader, version: Version, params: tuple[int, int], layout: Layout) -> Self:
        """Read what follows the header."""
        session = reader.number(2, "responder session id")
        reader.number(2, "reserved")
        context, opaque = reader.number(2, "context size"), reader.number(2, "opaque data size")
        return cls(
            version,
            params[0],
            session,
            summary=reader.take(HASH_BYTES, "measurement summary") if layout.summary else b"",
            context=reader.take(context, "context"),
            opaque=reader.take(opaque, "opaque data"),
            verify_data=reader.take(HASH_BYTES, "verify data"),
        )

    def params(self) -> tuple[int, int]:
        """Return Param1 and Param2."""
        return self.heartbeat, 0

    def body(self) -> bytes:
        """Return what follows the header."""
        sizes = u16(self.session) + bytes(2) + u16(len(self.context)) + u16(len(self.opaque))
        return sizes + self.summary + self.context + self.opaque + self.verify_data


@dataclass(frozen=True, slots=True)
class PskFinish(Message):
    """PSK_FINISH."""

    CODE: ClassVar[int] = 0xE7

    verify_data: bytes
    opaque: bytes = b""

    @classmethod
    def read(cls, reader: Reader, version: Version, params: tuple[int, int], layout: Layout) -> Self:
        """Read what follows the header."""
        del params, layout
        opaque = _read_opaque(reader, version)
        return cls(version, reader.take(HASH_BYTES, "verify data"), opaque)

    def body(self) -> bytes:
        """Return what follows the header."""
        return _sized_opaque(self.version, self.opaque) + self.verify_data


@dataclass(frozen=True, slots=True)
class PskFinishRsp(Message):
    """PSK_FINISH_RSP."""

    CODE: ClassVar[int] = 0x67

    opaque: bytes = b""

    @classmethod
    def read(cls, reader: Reader, version: Version, params: tuple[int, int], layout: Layout) -> Self:
        """Read what follows the header."""
        del params, layout
        return cls(version, _read_opaque(reader, version))

    def body(self) -> bytes:
        """Return what follows the header."""
        return _sized_opaque(self.version, self.opaque)


@dataclass(frozen=True, slots=True)
class Heartbeat(Empty):
    """HEARTBEAT."""

    CODE: ClassVar[int] = 0xE8


@dataclass(frozen=True, slots=True)
class HeartbeatAck(Empty):
    """HEARTBEAT_ACK."""

    CODE: ClassVar[int] = 0x68


class UpdateOperation(IntEnum):
    """What a KEY_UPDATE asks for."""

    UPDATE_KEY = 1
    UPDATE_ALL_KEYS = 2
    VERIFY_NEW_KEY = 3


@dataclass(frozen=True, slots=True)
class _Update(Message):
    """An operation and a tag to tell updates apart."""

    operation: UpdateOperation
    tag: int

    @classmethod
    def read(cls, reader: Reader, version: Version, params: tuple[int, int], layout: Layout) -> Self:
        """Read what follows the header."""
        del layout
        try:
            return cls(version, UpdateOperation(params[0]), params[1])
        except ValueError:
            raise reader.malformed("an update operation", str(params[0])) from None

    def params(self) -> tuple[int, int]:
        """Return Param1 and Param2."""
        return self.operation, self.tag


@dataclass(frozen=True, slots=True)
class KeyUpdate(_Update):
    """KEY_UPDATE."""

    CODE: ClassVar[int] = 0xE9


@dataclass(frozen=True, slots=True)
class KeyUpdateAck(_Update):
    """KEY_UPDATE_ACK."""

    CODE: ClassVar[int] = 0x69


@dataclass(frozen=True, slots=True)
class EndSession(Message):
    """END_SESSION; the attribute says whether negotiated state may be kept."""

    CODE: ClassVar[int] = 0xEC

    attributes: int = 0

    @classmethod
    def read(cls, reader: Reader, version: Version, params: tuple[int, int], layout: Layout) -> Self:
        """Read what follows the header."""
        del reader, layout
        return cls(version, params[0])

    def params(self) -> tuple[int, int]:
        """Return Param1 and Param2."""
        return self.attributes, 0


@dataclass(frozen=True, slots=True)
class EndSessionAck(Empty):
    """END_SESSION_ACK."""

    CODE: ClassVar[int] = 0x6C


REQUESTS: Final[tuple[type[Message], ...]] = (
    GetVersion,
    GetCapabilities,
    NegotiateAlgorithms,
    GetDigests,
    GetCertificate,
    Challenge,
    GetMeasurements,
    KeyExchange,
    Finish,
    PskExchange,
    PskFinish,
    Heartbeat,
    KeyUpdate,
    EndSession,
    GetEncapsulatedRequest,
    DeliverEncapsulatedResponse,
    ChunkSend,
    ChunkGet,
    RespondIfReady,
)
RESPONSES: Final[tuple[type[Message], ...]] = (
    VersionList,
    Capabilities,
    Algorithms,
    Digests,
    Certificate,
    ChallengeAuth,
    Measurements,
    KeyExchangeRsp,
    FinishRsp,
    PskExchangeRsp,
    PskFinishRsp,
    HeartbeatAck,
    KeyUpdateAck,
    EndSessionAck,
    EncapsulatedRequest,
    EncapsulatedResponseAck,
    ChunkSendAck,
    ChunkResponse,
    Error,
)
_BY_CODE: Final = {kind.CODE: kind for kind in (*REQUESTS, *RESPONSES)}
_VERSIONLESS: Final = frozenset({GetVersion.CODE, VersionList.CODE})


def parse_message(data: bytes, layout: Layout) -> Message:
    """Return the message that the bytes are, in the version that was agreed on.

    GET_VERSION and VERSION are of version 1.0 whatever is agreed on, and an ERROR may be.

    Raises:
        MalformedError: they are no message, one of another version, or there are more or fewer bytes than it has.
    """
    reader = Reader(data, "SPDM message")
    version, code = reader.number(1, "version"), reader.number(1, "code")
    params = reader.number(1, "Param1"), reader.number(1, "Param2")
    kind = _BY_CODE.get(code)
    if kind is None:
        raise MalformedError("SPDM message", "a known code", f"{code:#04x}", 1)
    allowed = {Version.V1_0} if code in _VERSIONLESS else {layout.version}
    if code == Error.CODE:
        allowed |= {Version.V1_0}
    if version not in allowed:
        expected = " or ".join(Version(choice).label for choice in sorted(allowed))
        raise MalformedError("SPDM message", f"version {expected}", f"{version >> 4}.{version & 15}", 0)
    message = kind.read(reader, Version(version), params, layout)
    reader.end()
    return message


__all__ = [
    "REQUESTS",
    "RESPONSES",
    "AlgorithmTable",
    "Algorithms",
    "Capabilities",
    "Certificate",
    "Challenge",
    "ChallengeAuth",
    "ChunkGet",
    "ChunkResponse",
    "ChunkSend",
    "ChunkSendAck",
    "DeliverEncapsulatedResponse",
    "Digests",
    "EncapsulatedRequest",
    "EncapsulatedResponseAck",
    "EndSession",
    "EndSessionAck",
    "Error",
    "ErrorCode",
    "Finish",
    "FinishRsp",
    "GetCapabilities",
    "GetCertificate",
    "GetDigests",
    "GetEncapsulatedRequest",
    "GetMeasurements",
    "GetVersion",
    "Heartbeat",
    "HeartbeatAck",
    "KeyExchange",
    "KeyExchangeRsp",
    "KeyUpdate",
    "KeyUpdateAck",
    "Layout",
    "Measurements",
    "Message",
    "MutualRequest",
    "NegotiateAlgorithms",
    "NotReady",
    "Payload",
    "PskExchange",
    "PskExchangeRsp",
    "PskFinish",
    "PskFinishRsp",
    "RespondIfReady",
    "SlotKey",
    "Summary",
    "UpdateOperation",
    "Version",
    "VersionList",
    "parse_message",
]
