"""Frames: the fields that the host sees, and the sealed content, padded to one length."""

from dataclasses import dataclass, field, replace
from enum import Enum

from carnet_ref.crypto.primitives import NONCE_BYTES, TAG_BYTES, AesGcm, sha256
from carnet_ref.marks import enforces
from carnet_ref.systems.checks import EVERY, Checks
from carnet_ref.wire import join, number


class ObliviousError(Exception):
    """The interface refuses something."""


class ShapeError(ObliviousError):
    """Data does not fit the public shape, or the shape is invalid."""


class TurnError(ObliviousError):
    """A step is not due."""

    def __init__(self, tick: int, reason: str) -> None:
        super().__init__(f"tick {tick}: {reason}")


class AnswerError(ObliviousError):
    """An answer does not verify, or belongs to another tick; nothing of it is used."""

    def __init__(self, tick: int) -> None:
        super().__init__(f"the answer for tick {tick} does not verify")


class PaddingError(ObliviousError):
    """Sealed content is not correctly padded."""


_LENGTH = 4


def room(size: int) -> int:
    """Return the number of content bytes that fit into ``size`` padded bytes."""
    return size - _LENGTH


def pad(content: bytes, size: int) -> bytes:
    """Return ``content`` prefixed with its length and zero-padded to ``size`` bytes.

    Raises ShapeError if it does not fit.
    """
    if len(content) > room(size):
        raise ShapeError(f"{len(content)} bytes do not fit {room(size)}")
    return (len(content).to_bytes(_LENGTH, "big") + content).ljust(size, b"\0")


def unpad(block: bytes) -> bytes:
    """Return the content of a padded block.

    Raises PaddingError if the length is longer than what is there, or the padding is not zeros.
    """
    length = int.from_bytes(block[:_LENGTH], "big")
    content, rest = block[_LENGTH : _LENGTH + length], block[_LENGTH + length :]
    if len(block) < _LENGTH or len(content) < length or any(rest):
        raise PaddingError(f"{len(block)} bytes hold no content of {length}")
    return content


def split_content(content: bytes, size: int) -> tuple[bytes, ...]:
    """Return the content in pieces of at most ``size`` bytes; no content is one empty piece."""
    return tuple(content[at : at + size] for at in range(0, max(1, len(content)), size))


class Operation(Enum):
    """The operations of the host's interface."""

    READ = "read"
    WRITE = "write"
    PACKET = "packet"


TURNS = tuple(Operation)
MAX_TICKS = 1 << 20


@dataclass(frozen=True, slots=True)
class Shape:
    """The public shape of a run: the numbers of chunks and ticks, and all lengths.

    ``chunks`` is the bound of the manifest. Ticks of a run are counted from 0, and so are blocks of the disk. ``edge``
    is the moment at which a tick ends, in units of work. Raises ShapeError if no run has such a shape.
    """

    chunks: int = 1
    ticks: int = 3
    block_bytes: int = 256
    blocks: int = 2
    edge: int = 1000

    def __post_init__(self) -> None:
        if not (0 < self.chunks <= MAX_TICKS and 0 < self.ticks <= MAX_TICKS and self.blocks > 0 and self.edge > 0):
            raise ShapeError(f"no run has {self.chunks} chunks, {self.ticks} ticks and {self.blocks} blocks")
        if room(self.block_bytes) < 1:
            raise ShapeError(f"{self.block_bytes} bytes have no room for content")

    @property
    def room(self) -> int:
        """The number of content bytes that fit into a frame, chunk or result."""
        return room(self.block_bytes)

    def turn(self, tick: int) -> Operation:
        """Return the operation of a tick."""
        return TURNS[tick % len(TURNS)]

    def sweep(self, tick: int) -> int:
        """Return the block of a tick."""
        return tick % self.blocks


@dataclass(frozen=True, slots=True)
class Call:
    """A call or a piece of one: its operation, block, content and amount of work."""

    name: str
    operation: Operation
    block: int
    content: bytes = field(repr=False)
    work: int = 0
    piece: int = 0


@enforces("REQ-SIZE-02", "cut-to-frames")
def pieces(call: Call, shape: Shape, checks: Checks = EVERY) -> tuple[Call, ...]:
    """Return the call in pieces that each fit into a frame."""
    if not checks.insist_on("cut-to-frames"):
        return (call,)
    parts = split_content(call.content, shape.room)
    return tuple(replace(call, content=part, piece=number) for number, part in enumerate(parts))


SEALED_BYTES = NONCE_BYTES + TAG_BYTES  #: What sealing adds.


class Direction(Enum):
    """The direction of a frame."""

    OUT = "out"
    IN = "in"


@dataclass(frozen=True, slots=True)
class Frame:
    """One call to the host: its fields are visible, the content is sealed in ``body``."""

    tick: int
    operation: Operation
    address: int
    moment: int
    body: bytes = field(repr=False)


@dataclass(frozen=True, slots=True)
class FrameMetadata:
    """The host's view of a frame, without the ciphertext."""

    tick: int
    direction: Direction
    operation: str
    address: int
    moment: int
    size: int


def frame_metadata(frame: Frame, direction: Direction = Direction.OUT) -> FrameMetadata:
    """Return the host's view of a frame."""
    return FrameMetadata(frame.tick, direction, frame.operation.value, frame.address, frame.moment, len(frame.body))


@dataclass(slots=True)
class Sealer:
    """Seals under one key. The IV of a message is the number of those before it, so it is never used again.

    A label is bound with every message. Two sealers under one key would use the same IVs, so each key has one.
    """

    key: bytes
    label: bytes
    checks: Checks = EVERY
    used: int = 0

    @enforces("REQ-CONTENT-01", "CLAIM-EQUALITY", "fresh-iv")
    def seal(self, tick: int, content: bytes, label: bytes = b"") -> bytes:
        """Return IV, ciphertext and tag of content for a tick, bound to ``label``."""
        if self.checks.insist_on("fresh-iv"):
            nonce = self.used.to_bytes(NONCE_BYTES, "big")
            self.used += 1
        else:
            nonce = sha256(content)[:NONCE_BYTES]
        return nonce + AesGcm(self.key).encrypt(nonce, content, associated_data(label or self.label, tick))


def associated_data(label: bytes, tick: int) -> bytes:
    """Return the associated data for a tick."""
    return join(label, number(tick))


def open_content(key: bytes, label: bytes, tick: int, body: bytes) -> bytes:
    """Return the content that was sealed for a tick. Raises AuthenticationError if it does not verify."""
    return AesGcm(key).decrypt(body[:NONCE_BYTES], body[NONCE_BYTES:], associated_data(label, tick))


def equal(one: Frame, other: Frame) -> bool:
    """Whether two frames have equal ciphertexts under equal IVs."""
    return one.body[:-TAG_BYTES] == other.body[:-TAG_BYTES]
