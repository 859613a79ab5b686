"""SPDM messages as typed values: bytes are read once, completely or not at all.

Source: DMTF DSP0274 1.3.2, sections "GET_VERSION request" to "CHUNK_RESPONSE response message".
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from typing import Annotated, Final, Self

from carnet_ref.spdm.layout import (
    CONTEXT_BYTES,
    EXCHANGE_BYTES,
    HASH_BYTES,
    MESSAGES,
    RANDOM_BYTES,
    REQUESTER_SIGNATURE_BYTES,
    SIGNATURE_BYTES,
    Layout,
    Message,
    Param,
    Part,
    Version,
    message,
    number,
    octets,
    rest,
    sized,
    u16,
    u32,
)
from carnet_ref.wire import MalformedError, Reader

DHE: Final = 2
AEAD: Final = 3
REQUESTER_ASYMMETRIC: Final = 4
KEY_SCHEDULE: Final = 5
COUNT_MEASUREMENTS: Final = 0
ALL_MEASUREMENTS: Final = 0xFF
SIGNATURE_REQUESTED: Final = 1
SLOT_MASK: Final = 0x0F
#: What CHALLENGE_AUTH asked for beside its slot until SPDM 1.2 (basic mutual authentication).
MUTUAL_REQUESTED: Final = 0x80
LONGEST_EXTENSION: Final = 32  #: The most that an ERROR adds after its parameters.
#: What a piece of a message has before its bytes, and before the size of the whole in the first.
CHUNK_HEADER_BYTES: Final = 12
SIZE_BYTES: Final = 4
Param1 = Annotated[int, Param(0)]
Param2 = Annotated[int, Param(1)]
Flag1 = Annotated[bool, Param(0, lambda value: bool(value & 1))]
Random = Annotated[bytes, octets(RANDOM_BYTES, "random")]
Nonce = Annotated[bytes, octets(RANDOM_BYTES, "nonce")]
Exchange = Annotated[bytes, octets(EXCHANGE_BYTES, "exchange data")]
SummaryHash = Annotated[bytes, octets(HASH_BYTES, "measurement summary", lambda layout: layout.summary)]
Signature = Annotated[bytes, octets(SIGNATURE_BYTES, "signature")]
Opaque = Annotated[bytes, sized("opaque data")]
_CONTEXT: Final = octets(CONTEXT_BYTES, "requester context", since=Version.V1_3)
#: The opaque data of FINISH and of the messages that end other handshakes.
_FINISH_OPAQUE: Final = sized("opaque data", since=Version.V1_4)
#: The sequence number of a piece, which has four bytes from 1.4 on.
_CHUNK_NUMBER: Final = Part(
    lambda reader, version, _: reader.number(4 if version >= Version.V1_4 else 2, "chunk sequence number"),
    lambda value, version: u32(value) if version >= Version.V1_4 else u16(value),
)


# -- version, capabilities and algorithms: what the two ends agree on before anything is protected -------


@message(0x84)
class GetVersion(Message):
    """The GET_VERSION message."""


@message(0x04)
class VersionList(Message):
    """VERSION: the versions of the responder, each as major, minor, update and alpha in four bits."""

    entries: tuple[int, ...]

    @classmethod
    def read(cls, reader: Reader, version: Version, params: tuple[int, int], layout: Layout) -> Self:
        """Read parameters and body of the message."""
        del params, layout
        reader.number(1, "reserved")
        count = reader.number(1, "version count")
        return cls(version, tuple(reader.number(2, "version") for _ in range(count)))

    def body(self) -> bytes:
        """Return the body of the message."""
        return bytes([0, len(self.entries)]) + b"".join(map(u16, self.entries))

    def offers(self, version: Version) -> bool:
        """Whether a released revision of ``version`` is among them."""
        return any(entry >> 8 == version and not entry & 0x0F for entry in self.entries)


@dataclass(frozen=True, slots=True)
class _Capabilities(Message):
    """How long a computation may take, flags, and from 1.2 how much fits a transfer and a message."""

    time_exponent: Annotated[int, number(1, "CTExponent", before=1, after=2)]
    flags: Annotated[int, number(4, "flags")]
    transfer_size: Annotated[int, number(4, "DataTransferSize", since=Version.V1_2)] = 0
    message_size: Annotated[int, number(4, "MaxSPDMmsgSize", since=Version.V1_2)] = 0


@message(0xE1)
class GetCapabilities(_Capabilities):
    """The GET_CAPABILITIES message."""


@message(0x61)
class Capabilities(_Capabilities):
    """The CAPABILITIES message."""


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
class _AlgorithmTables(Message):
    """Algorithms, with their length before them and as many structures as Param1 says behind them."""

    tables: tuple[AlgorithmTable, ...]

    @classmethod
    def read(cls, reader: Reader, version: Version, params: tuple[int, int], layout: Layout) -> Self:
        """Read parameters and body of the message."""
        whole = reader.position + reader.remaining
        if (length := reader.number(2, "length")) != whole:
            raise reader.malformed(f"a length of {whole}", str(length))
        found = cls.values(reader, version, params, layout)
        return cls(version, _read_tables(reader, params[0]), **found)

    def params(self) -> tuple[int, int]:
        """Return Param1 and Param2."""
        return len(self.tables), 0

    def body(self) -> bytes:
        """Return the body of the message."""
        # Message.body by name: a slotted dataclass has no cell for super() without arguments.
        fixed = Message.body(self) + b"".join(table.encode() for table in self.tables)
        return u16(4 + 2 + len(fixed)) + fixed


def _post_quantum(reserved: int) -> Part:
    """Post-quantum algorithms, whose bytes were reserved before 1.4 and meant nothing, and reserved bytes."""

    def read(reader: Reader, version: Version, _: Layout) -> int:
        found = reader.number(4, "post-quantum algorithms")
        reader.take(reserved, "reserved")
        return found if version >= Version.V1_4 else 0

    return Part(read, lambda value, _: u32(value) + bytes(reserved))


def _insist_on_no_external(reader: Reader) -> None:
    for field in ("external asymmetric algorithms", "external hash algorithms"):
        if count := reader.number(1, field):
            raise reader.malformed(f"no {field}", str(count))


def _read_offered_mel(reader: Reader, *_: object) -> int:
    _insist_on_no_external(reader)
    reader.number(1, "reserved")
    return reader.number(1, "MEL specification")


def _read_selected_mel(reader: Reader, *_: object) -> int:
    mel = reader.number(1, "MEL specification")
    _insist_on_no_external(reader)
    reader.take(2, "reserved")
    return mel


@message(0xE3)
class NegotiateAlgorithms(_AlgorithmTables):
    """NEGOTIATE_ALGORITHMS: what the requester supports."""

    measurement_specification: Annotated[int, number(1, "measurement specification")]
    other_parameters: Annotated[int, number(1, "other parameters")]
    base_asymmetric: Annotated[int, number(4, "BaseAsymAlgo")]
    base_hash: Annotated[int, number(4, "BaseHashAlgo")]
    post_quantum: Annotated[int, _post_quantum(8)] = 0
    mel_specification: Annotated[int, Part(_read_offered_mel, lambda value, _: bytes(3) + bytes([value]))] = 0


@message(0x63)
class Algorithms(_AlgorithmTables):
    """ALGORITHMS: what the responder chose."""

    measurement_specification: Annotated[int, number(1, "measurement specification")]
    other_parameters: Annotated[int, number(1, "other parameters")]
    measurement_hash: Annotated[int, number(4, "measurement hash")]
    base_asymmetric: Annotated[int, number(4, "BaseAsymSel")]
    base_hash: Annotated[int, number(4, "BaseHashSel")]
    post_quantum: Annotated[int, _post_quantum(7)] = 0
    mel_specification: Annotated[int, Part(_read_selected_mel, lambda value, _: bytes([value]) + bytes(4))] = 0


# -- digests, certificates, the challenge and measurements: who the responder is, and what runs on it ----


class Summary(IntEnum):
    """Which measurements the responder sums up: none, those it is rooted in, or all."""

    NONE = 0
    ROOTED = 1
    ALL = 0xFF


@message(0x81)
class GetDigests(Message):
    """The GET_DIGESTS message."""


@dataclass(frozen=True, slots=True)
class SlotKey:
    """What SPDM 1.3 says of a slot's key pair: its id, the kind of certificate, and what the key is for."""

    key_pair: int
    certificate: int
    usage: int


@message(0x01)
class Digests(Message):
    """DIGESTS: the digest of the chain in each slot of ``slots``, lowest first."""

    supported: Param1
    slots: Param2
    digests: tuple[bytes, ...]
    keys: tuple[SlotKey, ...] = ()

    @classmethod
    def read(cls, reader: Reader, version: Version, params: tuple[int, int], layout: Layout) -> Self:
        """Read parameters and body of the message."""
        supported, slots = params
        count = slots.bit_count()
        digests = tuple(reader.take(HASH_BYTES, "digest") for _ in range(count))
        if not layout.multi_key:
            return cls(version, supported, slots, digests)
        pairs, kinds = ([reader.number(1, name) for _ in range(count)] for name in ("key pair", "certificate"))
        usages = [reader.number(2, "key usage") for _ in range(count)]
        return cls(version, supported, slots, digests, tuple(map(SlotKey, pairs, kinds, usages)))

    def body(self) -> bytes:
        """Return the body of the message."""
        pairs, kinds = bytes(key.key_pair for key in self.keys), bytes(key.certificate for key in self.keys)
        return b"".join(self.digests) + pairs + kinds + b"".join(u16(key.usage) for key in self.keys)


@message(0x82)
class GetCertificate(Message):
    """GET_CERTIFICATE: a portion of a slot's chain."""

    slot: Param1
    offset: Annotated[int, number(2, "offset")]
    length: Annotated[int, number(2, "length")]


@message(0x02)
class Certificate(Message):
    """CERTIFICATE: the portion, and how much of the chain comes after it."""

    slot: Param1
    portion: bytes
    remainder: int
    certificate: Param2 = 0

    @classmethod
    def read(cls, reader: Reader, version: Version, params: tuple[int, int], layout: Layout) -> Self:
        """Read parameters and body of the message."""
        del layout
        length, remainder = reader.number(2, "portion size"), reader.number(2, "remainder size")
        return cls(version, params[0], reader.take(length, "portion"), remainder, params[1])

    def body(self) -> bytes:
        """Return the body of the message."""
        return u16(len(self.portion)) + u16(self.remainder) + self.portion


@message(0x83)
class Challenge(Message):
    """The CHALLENGE message."""

    slot: Param1
    summary: Param2
    nonce: Nonce
    context: Annotated[bytes, _CONTEXT] = b""


@message(0x03)
class ChallengeAuth(Message):
    """The CHALLENGE_AUTH message."""

    slot: Param1
    slots: Param2
    chain_hash: Annotated[bytes, octets(HASH_BYTES, "chain hash")]
    nonce: Nonce
    summary: SummaryHash
    opaque: Opaque
    context: Annotated[bytes, _CONTEXT]
    signature: Signature


@message(0xE0)
class GetMeasurements(Message):
    """GET_MEASUREMENTS; ``nonce`` and ``slot`` are there when a signature is asked for."""

    attributes: Param1
    operation: Param2
    nonce: bytes = b""
    slot: int = 0
    context: Annotated[bytes, _CONTEXT] = b""

    @classmethod
    def read(cls, reader: Reader, version: Version, params: tuple[int, int], layout: Layout) -> Self:
        """Read parameters and body of the message."""
        nonce, slot = b"", 0
        if params[0] & SIGNATURE_REQUESTED:
            nonce, slot = reader.take(RANDOM_BYTES, "nonce"), reader.number(1, "slot")
        return cls(version, *params, nonce, slot, _CONTEXT.read(reader, version, layout))

    def body(self) -> bytes:
        """Return the body of the message."""
        slot = bytes([self.slot]) if self.attributes & SIGNATURE_REQUESTED else b""
        return self.nonce + slot + self.context


@message(0x60)
class Measurements(Message):
    """MEASUREMENTS; ``blocks`` counts what ``record`` holds, which is appraised elsewhere."""

    total: Param1
    slot: Param2
    blocks: Annotated[int, number(1, "block count")]
    record: Annotated[bytes, sized("measurement record", width=3, size_name="record size")]
    nonce: Nonce
    opaque: Opaque
    context: Annotated[bytes, _CONTEXT]
    signature: Annotated[bytes, octets(SIGNATURE_BYTES, "signature", lambda layout: layout.signed)]


# -- opening, keeping and ending a session ------------------------------------------------------------


@message(0xE4)
class KeyExchange(Message):
    """The KEY_EXCHANGE message."""

    summary: Param1
    slot: Param2
    session: Annotated[int, number(2, "requester session id")]
    policy: Annotated[int, number(1, "session policy", after=1)]
    random: Random
    exchange: Exchange
    opaque: Opaque


class MutualRequest(IntEnum):
    """How KEY_EXCHANGE_RSP asks the requester for a signature.

    Its chain was provisioned, or comes in encapsulated messages; of those the first is asked for, or comes unasked.
    """

    PROVISIONED = 1
    ENCAPSULATED = 2
    DIGESTS = 4


@message(0x64)
class KeyExchangeRsp(Message):
    """KEY_EXCHANGE_RSP; its verify data is missing when the handshake is in the clear."""

    heartbeat: Param1
    session: Annotated[int, number(2, "responder session id")]
    mutual: Annotated[int, number(1, "mutual authentication")]
    requester_slot: Annotated[int, number(1, "requester slot")]
    random: Random
    exchange: Exchange
    summary: SummaryHash
    opaque: Opaque
    signature: Signature
    verify_data: Annotated[bytes, octets(HASH_BYTES, "verify data", lambda layout: not layout.clear)]


@message(0xE5)
class Finish(Message):
    """FINISH; a signature is there under mutual authentication, and opaque data from 1.4 on."""

    slot: int
    signature: bytes
    verify_data: bytes
    opaque: bytes = b""

    @classmethod
    def read(cls, reader: Reader, version: Version, params: tuple[int, int], layout: Layout) -> Self:
        """Read parameters and body of the message."""
        opaque = _FINISH_OPAQUE.read(reader, version, layout)
        signature = reader.take(REQUESTER_SIGNATURE_BYTES, "signature") if params[0] & 1 else b""
        return cls(version, params[1], signature, reader.take(HASH_BYTES, "verify data"), opaque)

    def params(self) -> tuple[int, int]:
        """Return Param1, which says whether there is a signature, and Param2."""
        return int(bool(self.signature)), self.slot

    def unsigned_bytes(self) -> bytes:
        """Return the bytes of the message before its signature, which are signed."""
        return self.encode()[: -HASH_BYTES - len(self.signature)]

    def body(self) -> bytes:
        """Return the body of the message."""
        return _FINISH_OPAQUE.write(self.opaque, self.version) + self.signature + self.verify_data


@message(0x65)
class FinishRsp(Message):
    """FINISH_RSP; it has verify data when the handshake is in the clear, and opaque data from 1.4 on."""

    opaque: Annotated[bytes, _FINISH_OPAQUE] = b""
    verify_data: Annotated[bytes, octets(HASH_BYTES, "verify data", lambda layout: layout.clear)] = b""


@message(0xE6)
class PskExchange(Message):
    """PSK_EXCHANGE: recognised in recorded sessions, and refused in every session of Carnet's own."""

    summary: Param1
    session: int
    hint: bytes
    context: bytes
    opaque: bytes
    policy: Param2 = 0

    @classmethod
    def read(cls, reader: Reader, version: Version, params: tuple[int, int], layout: Layout) -> Self:
        """Read parameters and body of the message."""
        del layout
        session = reader.number(2, "requester session id")
        hint, context, opaque = (reader.number(2, f"{name} size") for name in ("hint", "context", "opaque data"))
        parts = reader.take(hint, "hint"), reader.take(context, "context"), reader.take(opaque, "opaque data")
        return cls(version, params[0], session, *parts, policy=params[1])

    def body(self) -> bytes:
        """Return the body of the message."""
        parts = self.hint, self.context, self.opaque
        return u16(self.session) + b"".join(u16(len(part)) for part in parts) + b"".join(parts)


@message(0x66)
class PskExchangeRsp(Message):
    """The PSK_EXCHANGE_RSP message."""

    heartbeat: Param1
    session: int
    summary: bytes
    context: bytes
    opaque: bytes
    verify_data: bytes

    @classmethod
    def read(cls, reader: Reader, version: Version, params: tuple[int, int], layout: Layout) -> Self:
        """Read parameters and body of the message."""
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

    def body(self) -> bytes:
        """Return the body of the message."""
        sizes = u16(self.session) + bytes(2) + u16(len(self.context)) + u16(len(self.opaque))
        return sizes + self.summary + self.context + self.opaque + self.verify_data


@message(0xE7)
class PskFinish(Message):
    """The PSK_FINISH message."""

    opaque: Annotated[bytes, _FINISH_OPAQUE] = b""
    verify_data: Annotated[bytes, octets(HASH_BYTES, "verify data")] = b""


@message(0x67)
class PskFinishRsp(Message):
    """The PSK_FINISH_RSP message."""

    opaque: Annotated[bytes, _FINISH_OPAQUE] = b""


@message(0xE8)
class Heartbeat(Message):
    """The HEARTBEAT message."""


@message(0x68)
class HeartbeatAck(Message):
    """The HEARTBEAT_ACK message."""


class UpdateOperation(IntEnum):
    """What a KEY_UPDATE asks for."""

    UPDATE_KEY = 1
    UPDATE_ALL_KEYS = 2
    VERIFY_NEW_KEY = 3


@dataclass(frozen=True, slots=True)
class _Update(Message):
    """An operation and a tag to tell updates apart."""

    operation: Annotated[UpdateOperation, Param(0, UpdateOperation, "an update operation")]
    tag: Param2


@message(0xE9)
class KeyUpdate(_Update):
    """The KEY_UPDATE message."""


@message(0x69)
class KeyUpdateAck(_Update):
    """The KEY_UPDATE_ACK message."""


@message(0xEC)
class EndSession(Message):
    """END_SESSION; the attribute says whether negotiated state may be kept."""

    attributes: Param1 = 0


@message(0x6C)
class EndSessionAck(Message):
    """The END_SESSION_ACK message."""


# -- requests of the responder, which travel inside the requester's ---------------------------------------


@message(0xEA)
class GetEncapsulatedRequest(Message):
    """GET_ENCAPSULATED_REQUEST: how a responder gets to ask for the requester's certificates."""


@dataclass(frozen=True, slots=True)
class _Carrier(Message):
    """A number that tells requests apart, and the message that is carried; there always is one."""

    request_id: Param1
    carried: Annotated[bytes, rest(needed="an encapsulated message")]


@message(0x6A)
class EncapsulatedRequest(_Carrier):
    """ENCAPSULATED_REQUEST: a request of the responder."""


@message(0xEB)
class DeliverEncapsulatedResponse(_Carrier):
    """DELIVER_ENCAPSULATED_RESPONSE: the requester's response to it."""


class Payload(IntEnum):
    """What an ENCAPSULATED_RESPONSE_ACK carries: nothing, the next request, or the slot that FINISH has to name."""

    ABSENT = 0
    REQUEST = 1
    SLOT = 2


@message(0x6B)
class EncapsulatedResponseAck(Message):
    """ENCAPSULATED_RESPONSE_ACK; from 1.2 on it names the request whose response came."""

    request_id: Param1
    kind: Annotated[Payload, Param(1, Payload, "a kind of payload")]
    acknowledged: Annotated[int, number(1, "acknowledged request id", after=3, since=Version.V1_2)] = 0
    payload: Annotated[bytes, rest()] = b""

    @classmethod
    def read(cls, reader: Reader, version: Version, params: tuple[int, int], layout: Layout) -> Self:
        """Read parameters and body of the message."""
        ack = cls(version, **cls.values(reader, version, params, layout))
        if (ack.kind is Payload.ABSENT and ack.payload) or (ack.kind is Payload.SLOT and len(ack.payload) != 1):
            raise reader.malformed("a payload of its kind", f"{len(ack.payload)} bytes of {ack.kind.name}")
        return ack


# -- large messages in pieces that fit a transfer ---------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Piece(Message):
    """One piece of the large message that ``handle`` names; the first says how long the whole message is."""

    handle: Param2
    sequence: int
    last: Flag1
    chunk: bytes
    whole_size: int | None = None

    @classmethod
    def read(cls, reader: Reader, version: Version, params: tuple[int, int], layout: Layout) -> Self:
        """Read parameters and body of the message."""
        sequence = _CHUNK_NUMBER.read(reader, version, layout)
        if version < Version.V1_4:
            reader.number(2, "reserved")
        size = reader.number(4, "chunk size")
        whole_size = None if sequence else reader.number(SIZE_BYTES, "size of the large message")
        return cls(version, params[1], sequence, bool(params[0] & 1), reader.take(size, "chunk"), whole_size)

    def body(self) -> bytes:
        """Return the body of the message."""
        reserved = b"" if self.version >= Version.V1_4 else bytes(2)
        whole = b"" if self.whole_size is None else u32(self.whole_size)
        number = _CHUNK_NUMBER.write(self.sequence, self.version)
        return number + reserved + u32(len(self.chunk)) + whole + self.chunk


@message(0x85)
class ChunkSend(_Piece):
    """CHUNK_SEND: a piece of a request."""


@message(0x06)
class ChunkResponse(_Piece):
    """CHUNK_RESPONSE: a piece of a response."""


@message(0x05)
class ChunkSendAck(Message):
    """CHUNK_SEND_ACK; after the last piece it carries the response to the whole request, or an ERROR before that."""

    handle: Param2
    sequence: Annotated[int, _CHUNK_NUMBER]
    response: Annotated[bytes, rest()] = b""
    early_error: Flag1 = False


@message(0x86)
class ChunkGet(Message):
    """CHUNK_GET: asks for a piece of a response."""

    handle: Param2
    sequence: Annotated[int, _CHUNK_NUMBER]


# -- ERROR, what some of its codes add, and RESPOND_IF_READY, which asks again after one of them -----------


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


@message(0x7F)
class Error(Message):
    """The ERROR message."""

    code: Param1
    data: Param2 = 0
    extended: Annotated[bytes, rest(LONGEST_EXTENSION)] = b""


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
        """Read it. Raises MalformedError if the ERROR adds something else."""
        if len(error.extended) != 4:
            raise MalformedError("ResponseNotReady", "four bytes", str(len(error.extended)), 4)
        return cls(*error.extended)

    def encode(self) -> bytes:
        """Return its bytes."""
        return bytes([self.exponent, self.request_code, self.token, self.multiplier])


@message(0xFF)
class RespondIfReady(Message):
    """RESPOND_IF_READY: asks for the response to the request that ``token`` names."""

    request_code: Param1
    token: Param2


_VERSIONLESS: Final = frozenset({GetVersion.CODE, VersionList.CODE})


def parse_message(data: bytes, layout: Layout) -> Message:
    """Return the message that the bytes are, in the version that was agreed on.

    GET_VERSION and VERSION are of version 1.0 whatever is agreed on, and an ERROR may be.

    Raises MalformedError if they are no message, one of another version, or there are more or fewer bytes than it has.
    """
    reader = Reader(data, "SPDM message")
    version, code = reader.number(1, "version"), reader.number(1, "code")
    params = reader.number(1, "Param1"), reader.number(1, "Param2")
    kind = MESSAGES.get(code)
    if kind is None:
        raise MalformedError("SPDM message", "a known code", f"{code:#04x}", 1)
    allowed = {Version.V1_0} if code in _VERSIONLESS else {layout.version}
    if code == Error.CODE:
        allowed |= {Version.V1_0}
    if version not in allowed:
        expected = " or ".join(Version(choice).label for choice in sorted(allowed))
        raise MalformedError("SPDM message", f"version {expected}", f"{version >> 4}.{version & 15}", 0)
    parsed = kind.read(reader, Version(version), params, layout)
    reader.end()
    return parsed
