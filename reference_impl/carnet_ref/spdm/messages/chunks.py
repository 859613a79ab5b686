"""Large messages in pieces that fit a transfer.

Source: DMTF DSP0274 1.3.2, sections "CHUNK_SEND request" to "CHUNK_RESPONSE response message"; 1.4.0 for sequence
numbers of four bytes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Final, Self

from carnet_ref.spdm.messages.common import Layout, Message, Version, u16, u32
from carnet_ref.wire.reader import Reader

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
