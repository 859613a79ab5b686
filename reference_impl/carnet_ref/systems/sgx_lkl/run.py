"""The other ends of a run: the holder that hands a dataset over, and the trusted peer behind the host."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from carnet_ref.crypto.primitives import CryptoError
from carnet_ref.marks import enforces
from carnet_ref.systems.checks import EVERY, Checks
from carnet_ref.systems.sgx_lkl.enclave import ANSWERS, Keys
from carnet_ref.systems.sgx_lkl.frames import (
    AnswerError,
    Frame,
    Operation,
    PaddingError,
    Sealer,
    Shape,
    ShapeError,
    TurnError,
    open_content,
    pad,
    split_content,
    unpad,
)

CHUNKS = b"carnet sgx-lkl chunk"


@enforces("REQ-HAND-OVER-01", "REQ-HAND-OVER-02")
def padded_dataset(dataset: bytes, chunks: int, chunk_bytes: int) -> tuple[bytes, ...]:
    """Return a dataset as that many chunks of one size, with filler after the data.

    Raises ShapeError if it does not fit.
    """
    shape = Shape(chunks, block_bytes=chunk_bytes)
    parts = split_content(dataset, shape.room)
    if len(parts) > chunks:
        raise ShapeError(f"{len(dataset)} bytes do not fit {chunks} chunks of {shape.room}")
    return tuple(pad(part, chunk_bytes) for part in (*parts, *(b"",) * (chunks - len(parts))))


@dataclass(slots=True)
class Holder:
    """One holder's end of a hand-over. Raises ShapeError if the dataset does not fit the manifest's bound."""

    shape: Shape
    key: bytes
    dataset: bytes = field(repr=False)
    checks: Checks = EVERY
    _parts: tuple[bytes, ...] = field(init=False, repr=False)
    _sent: set[int] = field(default_factory=set)
    _sealer: Sealer = field(init=False, repr=False)

    def __post_init__(self) -> None:
        padded_dataset(self.dataset, self.shape.chunks, self.shape.block_bytes)
        self._parts = split_content(self.dataset, self.shape.room)
        self._sealer = Sealer(self.key, CHUNKS, self.checks)

    @enforces("REQ-HAND-OVER-01", "CLAIM-HAND-OVER-COUNT", "fill-chunks")
    def may_send(self, place: int) -> bool:
        """Whether a chunk is sent at a place: for every place of the manifest, whatever the data."""
        if place in self._sent or not 0 <= place < self.shape.chunks:
            return False
        return place < len(self._parts) or self.checks.insist_on("fill-chunks")

    @enforces("REQ-HAND-OVER-02", "pad-chunks")
    def send(self, place: int) -> Frame:
        """Return the chunk of a place, of fixed size, with data or filler.

        Raises TurnError if no chunk is sent for it.
        """
        if not self.may_send(place):
            raise TurnError(place, "no chunk is due")
        self._sent.add(place)
        content = self._parts[place] if place < len(self._parts) else b""
        if self.checks.insist_on("pad-chunks"):
            content = pad(content, self.shape.block_bytes)
        body = self._sealer.seal(place, content)
        return Frame(place, Operation.PACKET, self.shape.sweep(place), self.shape.edge, body)

    @enforces("REQ-HAND-OVER-03", "CLAIM-HAND-OVER-END", "fixed-hand-over")
    def may_begin(self, place: int) -> bool:
        """Whether the hand-over is complete after ``place`` chunks."""
        bound = self.shape.chunks if self.checks.insist_on("fixed-hand-over") else len(self._parts)
        return place >= bound


def collect_dataset(shape: Shape, key: bytes, frames: Sequence[Frame]) -> bytes:
    """Return the dataset in the chunks of a hand-over: all of it, or an error and nothing.

    Raises ShapeError if there are not as many chunks as the manifest says; AnswerError if one is not what was sealed
    for its place.
    """
    if len(frames) != shape.chunks:
        raise ShapeError(f"{len(frames)} chunks, and not {shape.chunks}")
    parts = []
    for place, frame in enumerate(frames):
        try:
            parts.append(unpad(open_content(key, CHUNKS, place, frame.body)))
        except (CryptoError, PaddingError):
            raise AnswerError(place) from None
    return b"".join(parts)


class Peer:
    """The trusted party behind the host that has the keys: the disk's owner, or another node."""

    def __init__(self, shape: Shape, keys: Keys) -> None:
        self._shape, self._sealer = shape, Sealer(keys.back, ANSWERS)

    def answer(self, tick: int) -> bytes:
        """Return the sealed answer to the frame of a tick; all answers have one size."""
        return self._sealer.seal(tick, pad(b"served", self._shape.block_bytes))
