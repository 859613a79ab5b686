"""A large message on its way, piece by piece: what was sent of it, or what came.

Source: DMTF DSP0274 1.3.2, section "Large SPDM message transfer mechanism".
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final, TypeVar

from carnet_ref.spdm.errors import TransferError
from carnet_ref.spdm.messages import ChunkResponse, ChunkSend, Version
from carnet_ref.spdm.messages.chunks import CHUNK_HEADER_BYTES, SIZE_BYTES

LEAST_TRANSFER: Final = 42
"""The least DataTransferSize that SPDM allows."""
LEAST_CHUNK: Final = LEAST_TRANSFER - CHUNK_HEADER_BYTES - SIZE_BYTES
"""What a piece holds at least, unless it is the last; so a message of so many bytes has a bounded number of pieces."""
_LAST_SEQUENCE: Final = 0xFFFF

_Piece = TypeVar("_Piece", ChunkSend, ChunkResponse)


@dataclass(frozen=True, slots=True)
class Outgoing:
    """A message that goes out in pieces of at most ``transfer`` bytes each."""

    data: bytes
    handle: int
    transfer: int
    sequence: int = 0
    sent: int = 0

    @property
    def finished(self) -> bool:
        """Whether all of it went out."""
        return self.sent == len(self.data)

    def piece(self, kind: type[_Piece], version: Version) -> tuple[Outgoing, _Piece]:
        """Return what is left after the next piece, and the piece.

        Raises:
            TransferError: there are more pieces than numbers.
        """
        if self.sequence > _LAST_SEQUENCE:
            raise TransferError(f"a message of {len(self.data)} bytes in pieces of {self.transfer}")
        first = self.sequence == 0
        room = self.transfer - CHUNK_HEADER_BYTES - (SIZE_BYTES if first else 0)
        chunk = self.data[self.sent : self.sent + room]
        after = replace(self, sequence=self.sequence + 1, sent=self.sent + len(chunk))
        whole = len(self.data) if first else None
        return after, kind(version, self.handle, self.sequence, after.finished, chunk, whole)


@dataclass(frozen=True, slots=True)
class Incoming:
    """A message that comes in pieces, and is ``most`` bytes long at most."""

    handle: int
    most: int
    whole: int = 0
    data: bytes = b""
    sequence: int = 0

    @property
    def finished(self) -> bool:
        """Whether all of it came."""
        return bool(self.sequence) and len(self.data) == self.whole

    def add(self, piece: ChunkSend | ChunkResponse) -> Incoming:
        """Return what came with the next piece.

        Raises:
            TransferError: it is another piece than the next, too small, too long, or of a message that is too long.
        """
        if (piece.handle, piece.sequence) != (self.handle, self.sequence):
            raise TransferError(
                f"piece {self.sequence} of message {self.handle} comes next, "
                f"and piece {piece.sequence} of message {piece.handle} came"
            )
        whole = self.whole if piece.whole_size is None else piece.whole_size
        if whole > self.most:
            raise TransferError(f"a message of {whole} bytes, and {self.most} are taken")
        data = self.data + piece.chunk
        if len(data) > whole or piece.last != (len(data) == whole):
            raise TransferError(f"{len(data)} bytes of a message of {whole} after piece {piece.sequence}")
        if not piece.chunk or (len(piece.chunk) < LEAST_CHUNK and not piece.last):
            raise TransferError(f"a piece of {len(piece.chunk)} bytes")
        return replace(self, whole=whole, data=data, sequence=self.sequence + 1)
