"""A schedule: tasks in an order, each on a resource that does one thing at a time.

The order of the list is also the order in which each resource serves its tasks. That order is part of the schedule and
not the outcome of a race, which is what makes completion times monotone in every cost: a greedy scheduler may finish
later when a task gets shorter.

When every task ends follows from a recurrence in the (max, +) algebra:
x(i) = c(i) ⊗ (x(previous on the resource) ⊕ ⊕ x(waited for)). One pass over the list, so the cost is linear in tasks.
For equal chunks of a pipeline the recurrence has a closed form.

Source: F. Baccelli, G. Cohen, G. J. Olsder, J.-P. Quadrat, "Synchronization and Linearity" (1992);
R. L. Graham, "Bounds on multiprocessing timing anomalies", SIAM J. Appl. Math. 17 (1969).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum, StrEnum
from types import MappingProxyType
from typing import Literal, NamedTuple

from carnet_ref.datapath.figures import FIGURES
from carnet_ref.datapath.quantities import NO_BYTES, NO_TIME, Duration, QuantityError, Rate, Seconds, Size, chunks_of


class Stage(StrEnum):
    """What a task does to bytes, or what bytes wait for."""

    HOLDER_ENCRYPT = "holder encrypt"
    CPU_DECRYPT = "CPU decrypt"
    RE_ENCRYPT = "re-encrypt"
    BOUNCE_COPY = "bounce copy"
    PCIE = "PCIe transfer"
    NETWORK = "network transfer"
    GPU_VERIFY = "GPU verify"
    GPU_DECRYPT = "GPU decrypt"
    GPU_ENCRYPT = "GPU encrypt"
    PEER_LINK = "GPU-to-GPU transfer"
    ROTATION = "rotation pause"
    SCRUB = "scrub"
    ATTESTATION = "attestation"
    MUX_SWITCH = "MUX switch"
    OVERHEAD = "unattributed"
    COMPUTE = "compute"
    TEE_COMPUTE = "TEE compute"
    NOP = "counter NOP"
    LAUNCH = "launch"


class Task(NamedTuple):
    """One use of a resource; a schedule has thousands of tasks, so it is a plain tuple."""

    stage: Stage  #: What is done.
    resource: str  #: What does it; a resource does one task at a time, in the order of the schedule.
    seconds: Seconds  #: How long it takes.
    after: tuple[int, ...] = ()  #: Positions, in the schedule, of the tasks it waits for.
    chunk: int | None = None  #: The number of the chunk whose bytes it concerns, or ``None``.
    #: The sealed channel those bytes are on, where a task seals, carries or opens, or clears what came on it.
    channel: str = ""
    size: Size = NO_BYTES  #: How many bytes it concerns.


@dataclass(frozen=True, slots=True)
class Schedule:
    """Tasks in order, under a name.

    Raises QuantityError if a task takes negative time or waits for one that does not come before it, or there is none.
    """

    name: str
    tasks: tuple[Task, ...]

    def __post_init__(self) -> None:
        if not self.tasks:
            raise QuantityError(f"schedule '{self.name}' has no task")
        for position, task in enumerate(self.tasks):
            if not 0 <= task.seconds < float("inf"):
                raise QuantityError(f"task {position} ({task.stage}) takes {task.seconds} s")
            if task.after and not 0 <= min(task.after) <= max(task.after) < position:
                raise QuantityError(f"task {position} ({task.stage}) waits for {task.after}, not all of them before it")

    def bytes_through(self, stage: Stage) -> dict[int, int]:
        """Return the bytes that pass ``stage``, by the number of the chunk."""
        octets: dict[int, int] = {}
        for task in self.tasks:
            if task.stage is stage and task.chunk is not None:
                octets[task.chunk] = octets.get(task.chunk, 0) + task.size.octets
        return octets


@dataclass(frozen=True, slots=True)
class Timing:
    """When each task of a schedule starts and ends, in seconds from the beginning."""

    starts: tuple[Seconds, ...]
    ends: tuple[Seconds, ...]

    @property
    def makespan(self) -> Seconds:
        """When the last task ends."""
        return max(self.ends)


class ScheduleBuilder:
    """Builds a schedule: each call adds a task and returns its position, which later tasks can wait for."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._tasks: list[Task] = []

    def add(
        self,
        stage: Stage,
        resource: str,
        seconds: Seconds,
        after: Iterable[int] = (),
        chunk: int | None = None,
        channel: str = "",
        size: Size = NO_BYTES,
    ) -> int:
        """Add a task and return its position; ``after`` has the positions of the tasks that it waits for."""
        self._tasks.append(Task(stage, resource, seconds, tuple(after), chunk, channel, size))
        return len(self._tasks) - 1

    def in_series(self, steps: Sequence[tuple[Stage, str, Seconds]], after: Iterable[int] = ()) -> tuple[int, ...]:
        """Add tasks (stage, resource, seconds) in series; return the positions that a next task has to wait for."""
        last = tuple(after)
        for stage, resource, seconds in steps:
            last = (self.add(stage, resource, seconds, last),)
        return last

    def done(self) -> Schedule:
        """Return the finished schedule."""
        return Schedule(self._name, tuple(self._tasks))


def completion(schedule: Schedule) -> Timing:
    """Return when each task starts and ends, in seconds from the beginning."""
    free: dict[str, Seconds] = {}
    starts: list[Seconds] = []
    ends: list[Seconds] = []
    for task in schedule.tasks:
        start = free.get(task.resource, 0.0)
        for before in task.after:
            start = max(start, ends[before])
        end = start + task.seconds
        free[task.resource] = end
        starts.append(start)
        ends.append(end)
    return Timing(tuple(starts), tuple(ends))


def makespan(schedule: Schedule) -> Seconds:
    """Return when the last task ends, in seconds."""
    return completion(schedule).makespan


Edge = Literal["low", "nominal", "high"]


@dataclass(frozen=True, slots=True)
class StageCost:
    """The cost of a stage: ``fixed`` for every task and, where bytes cost time, a ``rate``."""

    fixed: Duration = NO_TIME
    rate: Rate | None = None

    def seconds(self, size: Size) -> Seconds:
        """Return how many seconds a task on ``size`` takes."""
        return self.fixed.seconds + (self.rate.seconds_for(size) if self.rate else 0.0)


@dataclass(frozen=True, slots=True)
class Costs:
    """The cost of every stage that a schedule may use."""

    stages: Mapping[Stage, StageCost] = field(default_factory=dict)

    def __post_init__(self) -> None:
        object.__setattr__(self, "stages", MappingProxyType(dict(self.stages)))

    def seconds(self, stage: Stage, size: Size = NO_BYTES) -> Seconds:
        """Return the seconds that ``stage`` takes on ``size``. Raises QuantityError if these costs lack the stage."""
        if stage not in self.stages:
            raise QuantityError(f"no cost is given for stage '{stage}'")
        return self.stages[stage].seconds(size)

    def with_costs(self, changes: Mapping[Stage, StageCost]) -> Costs:
        """Return these costs with some stages at another cost."""
        return Costs({**self.stages, **changes})


def _rate(name: str, edge: Edge) -> Rate:
    """Return a rate; the *low* edge of the costs is the high edge of a rate."""
    swapped: dict[Edge, Edge] = {"low": "high", "high": "low", "nominal": "nominal"}
    return Rate(getattr(FIGURES[name], swapped[edge]))


def _duration(name: str, edge: Edge) -> Duration:
    return Duration(getattr(FIGURES[name], edge))


def sourced_costs(network: Rate, edge: Edge = "nominal") -> Costs:
    """Return costs from `FIGURES`: the nominal ones, or all at their cheapest (low) or dearest (high) edge."""
    launch = _duration("launch", edge)
    cpu = StageCost(NO_TIME, _rate("cpu aes-256-gcm", edge))
    return Costs(
        {
            Stage.HOLDER_ENCRYPT: cpu,
            Stage.CPU_DECRYPT: cpu,
            Stage.RE_ENCRYPT: cpu,
            Stage.BOUNCE_COPY: StageCost(NO_TIME, _rate("bounce copy", edge)),
            Stage.PCIE: StageCost(launch, _rate("pcie gen5 x16", edge)),
            Stage.NETWORK: StageCost(NO_TIME, network),
            Stage.GPU_VERIFY: StageCost(launch, _rate("gpu verify", edge)),
            Stage.GPU_DECRYPT: StageCost(launch, _rate("gpu decrypt", edge)),
            Stage.GPU_ENCRYPT: StageCost(launch, _rate("gpu verify", edge)),
            Stage.PEER_LINK: StageCost(launch, _rate("nvlink 4", edge)),
            Stage.ROTATION: StageCost(_duration("rotation pause", edge)),
            Stage.SCRUB: StageCost(launch, _rate("scrub", edge)),
            Stage.ATTESTATION: StageCost(_duration("attestation", edge)),
            Stage.MUX_SWITCH: StageCost(_duration("mux switch", edge)),
            Stage.OVERHEAD: StageCost(),
            Stage.COMPUTE: StageCost(),
            Stage.TEE_COMPUTE: StageCost(),
            Stage.NOP: StageCost(launch),
            Stage.LAUNCH: StageCost(launch),
        }
    )


class Overlap(Enum):
    """Whether a chunk may enter the path while another is still on it."""

    SERIAL = "serial"
    PIPELINED = "pipelined"


@dataclass(frozen=True, slots=True)
class Transfer:
    """A volume and the pieces it is cut into.

    Raises QuantityError if there would be no chunk, no bounce buffer to put one in, or none between two rotations.
    """

    total: Size  #: the volume.
    chunk: Size  #: the size of all chunks but the last.
    overlap: Overlap = Overlap.PIPELINED  #: whether chunks overlap.
    buffers: int | None = None  #: how many bounce buffers there are; ``None`` for as many as it takes.
    #: after how many chunks the key of the last channel is rotated; ``None`` for never.
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
    """A stage of a path, with the resource that performs it and its sealed channel."""

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
