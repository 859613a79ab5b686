"""Timing many configurations of sizes, links and costs, each for every way to move data."""

import itertools
from collections.abc import Generator, Iterator, Sequence
from dataclasses import dataclass

from carnet_command.errors import LostWorkerError
from carnet_command.text import plural
from carnet_command.worker import Lost
from carnet_command.workers import WorkerPool, only
from carnet_ref.datapath.figures import FIGURES
from carnet_ref.datapath.quantities import Duration, QuantityError, Rate, Seconds, Size
from carnet_ref.datapath.schedule import Costs, Stage, StageCost, Transfer, makespan, sourced_costs
from carnet_ref.datapath.schedules.confidential_io import Fastrack, Optimisation, confidential
from carnet_ref.datapath.schedules.sharing import Journey, conventional, gpu_travelling
from carnet_ref.datapath.tables.model import MOST_SAMPLES, Interval, points

MOST_CHUNKS = 96
MOST_JOBS = 512
CHUNKSIZE = 100
SPACE: dict[str, Interval] = {
    "total, B": (2.0**20, 2.0**36),
    "chunks": (1.0, float(MOST_CHUNKS)),
    "network, B/s": (5e5, 1.25e10),
    "buffers": (1.0, 64.0),
    "width": (1.0, 64.0),
    **{
        name: (figure.low, figure.high)
        for name, figure in FIGURES.items()
        if name in {"cpu aes-256-gcm", "bounce copy", "pcie gen5 x16", "gpu verify", "gpu decrypt", "rotation pause"}
    },
    "attestation": (FIGURES["attestation"].low, FIGURES["attestation"].high),
}
_STAGES = {
    "cpu aes-256-gcm": (Stage.HOLDER_ENCRYPT, Stage.CPU_DECRYPT, Stage.RE_ENCRYPT),
    "bounce copy": (Stage.BOUNCE_COPY,),
    "pcie gen5 x16": (Stage.PCIE,),
    "gpu verify": (Stage.GPU_VERIFY,),
    "gpu decrypt": (Stage.GPU_DECRYPT,),
}


@dataclass(frozen=True, slots=True)
class Configuration:
    """One point of the sweep, by the names of `SPACE`; a figure is in its own unit."""

    values: tuple[tuple[str, float], ...]


@dataclass(frozen=True, slots=True)
class Outcome:
    """The time of one configuration for each way to move data."""

    configuration: Configuration
    conventional: Seconds
    travelling: Seconds
    base_path: Seconds
    fastrack: Seconds


def configurations(count: int, seed: int) -> Iterator[Configuration]:
    """Yield ``count`` configurations, the same ones for the same seed."""
    for point in points(SPACE, count, seed):
        yield Configuration(tuple(point.items()))


def evaluate(configuration: Configuration) -> Outcome:
    """Return the time of ``configuration`` for each way to move data."""
    values = dict(configuration.values)
    total, chunks = Size(round(values["total, B"])), round(values["chunks"])
    transfer = Transfer(total, Size(-(-total.octets // chunks)), buffers=round(values["buffers"]))
    costs = _costs(values)
    fastrack = Fastrack(frozenset(Optimisation), round(values["width"]))
    return Outcome(
        configuration,
        makespan(conventional(transfer, costs)),
        makespan(gpu_travelling(Journey([transfer], scrubbed=total), costs)),
        makespan(confidential(transfer, costs)),
        makespan(confidential(transfer, costs, fastrack)),
    )


def _costs(values: dict[str, float]) -> Costs:
    costs = sourced_costs(Rate(values["network, B/s"]))
    changes = {
        stage: StageCost(costs.stages[stage].fixed, Rate(values[name]))
        for name, stages in _STAGES.items()
        for stage in stages
    }
    for name, stage in (("rotation pause", Stage.ROTATION), ("attestation", Stage.ATTESTATION)):
        changes[stage] = StageCost(Duration(values[name]), costs.stages[stage].rate)
    return costs.with_costs(changes)


def check_extent(count: int, jobs: int) -> None:
    """Raise QuantityError unless a sweep has a permitted number of configurations and of processes."""
    if not 1 <= count <= MOST_SAMPLES:
        raise QuantityError(f"expected from 1 to {MOST_SAMPLES:,} configurations, not {count}")
    if not 1 <= jobs <= MOST_JOBS:
        raise QuantityError(f"expected from 1 to {MOST_JOBS} processes, not {jobs}")


def processes(count: int, jobs: int) -> int:
    """Return how many of ``jobs`` processes have something to do: each takes ``CHUNKSIZE`` configurations at a time."""
    return min(jobs, -(-count // CHUNKSIZE))


def sweep(count: int, seed: int, jobs: int) -> Generator[Outcome, None, None]:
    """Yield the outcome of each of ``count`` configurations, in order, computed by ``jobs`` processes at most.

    Raises QuantityError if an insane number of configurations or processes.
    """
    check_extent(count, jobs)
    workers = processes(count, jobs)
    if workers == 1:
        yield from map(evaluate, configurations(count, seed))
        return
    # what worker processes compute, in order; however it ends, they are ended at once
    every = iter(configurations(count, seed))
    parts = list(enumerate(iter(lambda: tuple(itertools.islice(every, CHUNKSIZE)), ())))
    waiting: dict[int, tuple[Outcome, ...]] = {}
    place = 0
    with WorkerPool(workers, keep=False) as pool:
        for (number, _), said in pool.results(_evaluated, parts, only):
            if isinstance(said, Lost):
                raise LostWorkerError(f"{plural(len(parts[number][1]), 'configuration')} lost: {said.reason}")
            waiting[number] = said
            while place in waiting:
                yield from waiting.pop(place)
                place += 1


def _evaluated(part: tuple[int, tuple[Configuration, ...]]) -> list[tuple[Outcome, ...]]:
    return [tuple(map(evaluate, part[1]))]


@dataclass(frozen=True, slots=True)
class Quartiles:
    """The quartiles of a factor over all configurations, and the share in which it is above one."""

    name: str
    lower: float
    median: float
    upper: float
    above_one: float


def summarise(outcomes: Sequence[Outcome]) -> tuple[Quartiles, ...]:
    """Return how much faster GPU Travelling is than sending the data, and Fastrack than the base path."""
    factors = {
        "GPU Travelling against sending the data": [one.conventional / one.travelling for one in outcomes],
        "Fastrack against the base path": [one.base_path / one.fastrack for one in outcomes],
    }
    return tuple(_quartiles(name, sorted(values)) for name, values in factors.items())


def _quartiles(name: str, ordered: Sequence[float]) -> Quartiles:
    import numpy as np

    lower, median, upper = (float(value) for value in np.quantile(ordered, (0.25, 0.5, 0.75)))
    return Quartiles(name, lower, median, upper, sum(value > 1 for value in ordered) / len(ordered))
