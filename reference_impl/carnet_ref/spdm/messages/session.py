"""Opening, keeping and ending a session.

Source: DMTF DSP0274 1.3.2, sections "KEY_EXCHANGE request" to "END_SESSION_ACK response".
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from typing import ClassVar, Self

from carnet_ref.spdm.messages.common import (
    EXCHANGE_BYTES,
    HASH_BYTES,
    RANDOM_BYTES,
    REQUESTER_SIGNATURE_BYTES,
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
