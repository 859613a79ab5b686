"""Chunks through stages: one after another, or overlapping as far as resources and bounce buffers allow."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import Enum

from carnet_ref.datapath.costs import Costs
from carnet_ref.datapath.quantities import QuantityError, Size, chunks_of
from carnet_ref.datapath.schedule import ScheduleBuilder, Stage


class Overlap(Enum):
    """Whether a chunk may enter the path while another is still on it."""

    SERIAL = "serial"
    PIPELINED = "pipelined"


@dataclass(frozen=True, slots=True)
class Transfer:
    """A volume and the pieces it is cut into.

    Attributes:
        total: the volume.
        chunk: the size of all chunks but the last.
        overlap: whether chunks overlap.
        buffers: how many bounce buffers there are; ``None`` for as many as it takes.
        rotate_every: after how many chunks the key of the last channel is rotated; ``None`` for never.

    Raises:
        QuantityError: there would be no chunk, no bounce buffer to put one in, or none between two rotations.
    """

    total: Size
    chunk: Size
    overlap: Overlap = Overlap.PIPELINED
    buffers: int | None = None
    rotate_every: int | None = None

    def __post_init__(self) -> None:
        if self.total.octets == 0 or self.chunk.octets == 0:
            raise QuantityError(f"a transfer has at least one chunk of at least one byte, not {self.total}")
        if self.buffers is not None and self.buffers < 1:
            raise QuantityError(f"a transfer needs at least one bounce buffer, not {self.buffers}")
        if self.rotate_every is not None and self.rotate_every < 1:
            raise QuantityError(f"a key protects at least one chunk, not {self.rotate_every}")

    @property
    def chunks(self) -> tuple[Size, ...]:
        """The sizes of the chunks, in order."""
        return chunks_of(self.total, self.chunk)


@dataclass(frozen=True, slots=True)
class Station:
    """A stage of a path: what is done, by which resource, on which sealed channel."""

    stage: Stage
    resource: str
    channel: str = ""


def lay(
    builder: ScheduleBuilder,
    path: Sequence[Station],
    transfer: Transfer,
    costs: Costs,
    after: Iterable[int] = (),
    first_chunk: int = 0,
) -> tuple[int, ...]:
    """Add the tasks that carry ``transfer`` along ``path``; return the position of the last task of each chunk.

    Chunks are laid one after another, so each resource serves them in order. Where bounce buffers are limited, the copy
    into one waits until the chunk that had it before is across PCIe. A rotation waits for the path to drain.
    """
    begin = tuple(after)
    last: list[int] = []
    freed: list[int] = []
    seconds = {size: [costs.seconds(station.stage, size) for station in path] for size in set(transfer.chunks)}
    for index, size in enumerate(transfer.chunks):
        if transfer.rotate_every and index and index % transfer.rotate_every == 0:
            pause = costs.seconds(Stage.ROTATION)
            begin = (builder.add(Stage.ROTATION, "rotation", pause, (last[-1],), channel=path[-1].channel),)
        waits = (last[-1], *begin) if last and transfer.overlap is Overlap.SERIAL else begin
        for station, duration in zip(path, seconds[size], strict=True):
            needs = waits
            if station.stage is Stage.BOUNCE_COPY and transfer.buffers and index >= transfer.buffers:
                needs = (*needs, freed[index - transfer.buffers])
            position = builder.add(
                station.stage, station.resource, duration, needs, first_chunk + index, station.channel, size
            )
            if station.stage is Stage.PCIE:
                freed.append(position)
            waits = (position,)
        last.append(waits[0])
    return tuple(last)
