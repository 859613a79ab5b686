"""A user's data into a confidential GPU: the H100's own path, and Fastrack's three optimisations of it.

The base path takes data that reach the CPU sealed for the CPU, opens them, seals them again for the GPU, sends them
over PCIe, and only then verifies and decrypts. Fastrack (1) lets the user seal for the GPU directly, (2) verifies in
parallel, (3) verifies and decrypts one chunk while the next is on the bus.

Source: Fastrack, arXiv 2410.15240, abstract and section 1.
"""

from dataclasses import dataclass, replace
from enum import Enum

from carnet_ref.datapath.quantities import NO_TIME, Duration, QuantityError, Rate
from carnet_ref.datapath.schedule import (
    Costs,
    Overlap,
    Schedule,
    ScheduleBuilder,
    Stage,
    StageCost,
    Station,
    Transfer,
    lay,
    makespan,
)
from carnet_ref.datapath.schedules.sharing import GPU_AUTH, GPU_CIPHER, ORCHESTRATOR_CPU, PCIE

USER_TO_CPU = "user>cpu"
USER_TO_GPU = "user>gpu"
CPU_TO_GPU = "cpu>gpu"
BREAK_EVEN_STEPS = 200


class Optimisation(Enum):
    """One of Fastrack's three."""

    DIRECT = "direct channel"
    PARALLEL = "parallel authentication"
    OVERLAPPED = "decryption overlaps transfer"


@dataclass(frozen=True, slots=True)
class Fastrack:
    """Which optimisations are on, how wide authentication is, and what each chunk costs extra for each of them.

    Raises QuantityError if authentication is less than one wide.
    """

    optimisations: frozenset[Optimisation]
    width: int = 1
    overhead: Duration = NO_TIME

    def __post_init__(self) -> None:
        if self.width < 1:
            raise QuantityError(f"authentication is at least 1 wide, not {self.width}")


BASE = Fastrack(frozenset())


def plain(transfer: Transfer, costs: Costs) -> Schedule:
    """Send data to a GPU that is not confidential: launch and PCIe, no cryptography."""
    builder = ScheduleBuilder("plain")
    lay(builder, (Station(Stage.PCIE, PCIE),), transfer, costs)
    return builder.done()


def confidential(transfer: Transfer, costs: Costs, fastrack: Fastrack = BASE) -> Schedule:
    """Send data that reached the CPU sealed into a confidential GPU, with some of Fastrack's optimisations or none."""
    on = fastrack.optimisations
    builder = ScheduleBuilder("fastrack" if on else "H100 base path")
    overlap = Overlap.PIPELINED if Optimisation.OVERLAPPED in on else Overlap.SERIAL
    lay(builder, _path(on), replace(transfer, overlap=overlap), _costs(costs, fastrack))
    return builder.done()


def _path(on: frozenset[Optimisation]) -> tuple[Station, ...]:
    channel = USER_TO_GPU if Optimisation.DIRECT in on else CPU_TO_GPU
    at_cpu = (
        Station(Stage.CPU_DECRYPT, ORCHESTRATOR_CPU, USER_TO_CPU),
        Station(Stage.RE_ENCRYPT, ORCHESTRATOR_CPU, CPU_TO_GPU),
    )
    across = (
        Station(Stage.PCIE, PCIE, channel),
        Station(Stage.GPU_VERIFY, GPU_AUTH, channel),
        Station(Stage.GPU_DECRYPT, GPU_CIPHER, channel),
    )
    return across if Optimisation.DIRECT in on else (*at_cpu, *across)


def _costs(costs: Costs, fastrack: Fastrack) -> Costs:
    """Return the costs with wider authentication, and with each optimisation's own overhead on every chunk."""
    verify, cipher = costs.stages[Stage.GPU_VERIFY], costs.stages[Stage.GPU_DECRYPT]
    changes: dict[Stage, StageCost] = {}
    if Optimisation.PARALLEL in fastrack.optimisations:
        rate = Rate(verify.rate.bytes_per_second * fastrack.width) if verify.rate else None
        verify = StageCost(_later(verify.fixed, fastrack.overhead), rate)
        changes[Stage.GPU_VERIFY] = verify
    if Optimisation.OVERLAPPED in fastrack.optimisations:
        changes[Stage.GPU_DECRYPT] = StageCost(_later(cipher.fixed, fastrack.overhead), cipher.rate)
    if Optimisation.DIRECT in fastrack.optimisations:
        pcie = costs.stages[Stage.PCIE]
        changes[Stage.PCIE] = StageCost(_later(pcie.fixed, fastrack.overhead), pcie.rate)
    return costs.with_costs(changes)


def _later(fixed: Duration, overhead: Duration) -> Duration:
    return Duration(fixed.seconds + overhead.seconds)


def break_even_overhead(transfer: Transfer, costs: Costs, fastrack: Fastrack) -> Duration:
    """Return the overhead per chunk and optimisation at which the optimised path takes as long as the base path.

    The optimised time is monotone in the overhead, so bisection finds it. Raises QuantityError if no optimisation is
    on, so there is nothing to break even.
    """
    if not fastrack.optimisations:
        raise QuantityError("the base path has no overhead to break even")
    base = makespan(confidential(transfer, costs))
    low, high = 0.0, base
    for _ in range(BREAK_EVEN_STEPS):
        middle = (low + high) / 2
        if middle in (low, high):
            break
        tried = replace(fastrack, overhead=Duration(middle))
        low, high = (middle, high) if makespan(confidential(transfer, costs, tried)) <= base else (low, middle)
    return Duration(low)


def ladder() -> tuple[frozenset[Optimisation], ...]:
    """Return every set of optimisations, from none to all three, smaller sets first."""
    sets: list[frozenset[Optimisation]] = [frozenset()]
    for optimisation in Optimisation:
        sets += [chosen | {optimisation} for chosen in sets]
    return tuple(sorted(sets, key=len))
