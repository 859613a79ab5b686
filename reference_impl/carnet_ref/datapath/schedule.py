"""A schedule: tasks in an order, each on a resource that does one thing at a time.

The order of the list is also the order in which each resource serves its tasks. That order is part of the schedule and
not the outcome of a race, which is what makes completion times monotone in every cost: a greedy scheduler may finish
later when a task gets shorter.

Source: R. L. Graham, "Bounds on multiprocessing timing anomalies", SIAM J. Appl. Math. 17 (1969).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

from carnet_ref.datapath.quantities import NO_BYTES, QuantityError, Seconds, Size


class Stage(StrEnum):
    """What a task does to bytes, or what it makes them wait for."""

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
    """One use of one resource: a plain tuple, of which a schedule has thousands."""

    stage: Stage
    """What is done."""
    resource: str
    """What does it; a resource does one task at a time, in the order of the schedule."""
    seconds: Seconds
    """How long it takes."""
    after: tuple[int, ...] = ()
    """Positions, in the schedule, of the tasks it waits for."""
    chunk: int | None = None
    """The number of the chunk whose bytes it concerns, or ``None``."""
    channel: str = ""
    """The sealed channel those bytes are on, where a task seals, carries or opens, or clears what came on it."""
    size: Size = NO_BYTES
    """How many bytes it concerns."""


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

    @property
    def busy_seconds(self) -> dict[str, Seconds]:
        """How long each resource works, in order of first use."""
        busy: dict[str, Seconds] = {}
        for task in self.tasks:
            busy[task.resource] = busy.get(task.resource, 0.0) + task.seconds
        return busy

    @property
    def serial_seconds(self) -> Seconds:
        """How long everything takes when nothing overlaps."""
        return sum(task.seconds for task in self.tasks)

    def carried(self, stage: Stage) -> dict[int, int]:
        """Return how many bytes of each chunk pass ``stage``, summed over all its tasks."""
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
    """A schedule in the making: each call adds a task and returns its position, for others to wait for."""

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
        """Add a task and return its position."""
        self._tasks.append(Task(stage, resource, seconds, tuple(after), chunk, channel, size))
        return len(self._tasks) - 1

    def in_series(self, steps: Sequence[tuple[Stage, str, Seconds]], after: Iterable[int] = ()) -> tuple[int, ...]:
        """Add steps of (stage, resource, seconds), each after the one before, and return what to wait for."""
        last = tuple(after)
        for stage, resource, seconds in steps:
            last = (self.add(stage, resource, seconds, last),)
        return last

    def done(self) -> Schedule:
        """Return the schedule."""
        return Schedule(self._name, tuple(self._tasks))
