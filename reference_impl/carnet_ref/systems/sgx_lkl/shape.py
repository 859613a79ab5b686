"""The public shape: what the host may know of a run beforehand, and all that it sees of one."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from carnet_ref.systems.sgx_lkl.errors import ShapeError
from carnet_ref.systems.sgx_lkl.padding import room


class Operation(Enum):
    """What the host is asked for."""

    READ = "read"
    WRITE = "write"
    PACKET = "packet"


TURNS = tuple(Operation)
MAX_TICKS = 1 << 20


@dataclass(frozen=True, slots=True)
class Shape:
    """How many chunks a hand-over has, how many ticks a run, and how long everything is.

    ``chunks`` is the bound of the manifest. Ticks of a run are counted from 0, and so are blocks of the disk. ``edge``
    is the moment at which a tick ends, in units of work.

    Raises:
        ShapeError: no run has such a shape.
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
        """The bytes of content that a frame, a chunk or the result has room for."""
        return room(self.block_bytes)

    def turn(self, tick: int) -> Operation:
        """Return what a tick is for."""
        return TURNS[tick % len(TURNS)]

    def sweep(self, tick: int) -> int:
        """Return the block whose turn it is."""
        return tick % self.blocks
