"""Fastrack's headline ratios: communication, inference and training in a confidential GPU against an ordinary one.

A transfer of some size gives each ratio of communication; the abstract names no size, so two are fitted, one for each
end of its range. A workload spends some share of its time on communication; with it a ratio becomes a slowdown. What is
held out is the headline gain: how much the three optimisations together take off the worst slowdown.

Source: Fastrack, arXiv 2410.15240, abstract.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from carnet_ref.datapath.figures import FIGURES, Standing
from carnet_ref.datapath.quantities import NO_TIME, Duration, Rate, Size
from carnet_ref.datapath.schedule import Costs, Stage, StageCost, Transfer, makespan
from carnet_ref.datapath.schedules.confidential_io import (
    BASE,
    Fastrack,
    Optimisation,
    break_even_overhead,
    confidential,
    ladder,
    plain,
)
from carnet_ref.datapath.tables.model import Cell, FigureRole, Parameter, Table, share, solve, sourced_parameter

RATIO_LOW, RATIO_HIGH = 12.69, 33.53
SLOWDOWNS = {
    "inference slowdown, lowest": (0.5412, "low"),
    "inference slowdown, highest": (9.039, "high"),
    "training slowdown, lowest": (0.10, "low"),
    "training slowdown, highest": (4.55, "high"),
}
REDUCTION = 0.846
CHUNK = Size(2**20)
WIDTH = 8
ALL = frozenset(Optimisation)
SMALLEST, LARGEST = Size(2**12), Size(2**28)
LOW, HIGH, HELD_OUT = "communication ratio, lowest", "communication ratio, highest", "run time taken off, at most"


@dataclass(frozen=True, slots=True)
class Machine:
    """The rates and times that decide the ratios."""

    costs: Costs
    width: int = WIDTH

    def ratio(self, size: Size, fastrack: Fastrack = BASE) -> float:
        """Return how many times longer ``size`` takes into a confidential GPU than into an ordinary one."""
        path = makespan(confidential(Transfer(size, CHUNK), self.costs, fastrack))
        return path / makespan(plain(Transfer(size, size), self.costs))

    def optimised_ratio(self, size: Size) -> float:
        """Return the ratio with all three optimisations."""
        return self.ratio(size, Fastrack(ALL, self.width))

    def reduction(self, size: Size, slowdown: float) -> float:
        """Return the share of run time that the optimisations take off a workload with that slowdown."""
        communication = slowdown / (self.ratio(size) - 1)
        return 1 - (1 + communication * (self.optimised_ratio(size) - 1)) / (1 + slowdown)


def machine(point: Mapping[str, float]) -> Machine:
    """Return the machine at a point of the box; names are those of the figures."""
    launch = Duration(point["launch"])
    cpu = StageCost(NO_TIME, Rate(point["cpu aes-256-gcm"]))
    costs = Costs(
        {
            Stage.CPU_DECRYPT: cpu,
            Stage.RE_ENCRYPT: cpu,
            Stage.PCIE: StageCost(launch, Rate(point["pcie gen5 x16"])),
            Stage.GPU_VERIFY: StageCost(launch, Rate(point["gpu verify"])),
            Stage.GPU_DECRYPT: StageCost(launch, Rate(point["gpu decrypt"])),
        }
    )
    return Machine(costs, round(point["width"]))


SOURCED = ("cpu aes-256-gcm", "pcie gen5 x16", "gpu verify", "gpu decrypt", "launch")
NOMINAL = {**{name: FIGURES[name].nominal for name in SOURCED}, "width": float(WIDTH)}
BOX = {
    **{name: (FIGURES[name].low, FIGURES[name].high) for name in SOURCED},
    "width": (2.0, 64.0),
    "small transfer, B": (2.0**14, 2.0**20),
    "large transfer, B": (2.0**20, 2.0**26),
}


def fit(nominal: Machine) -> tuple[Size, Size]:
    """Return the transfer sizes at which the nominal machine has the lowest and the highest published ratio."""

    def ratio(octets: float) -> float:
        return nominal.ratio(Size(round(octets)))

    small = solve(ratio, RATIO_LOW, SMALLEST.octets, CHUNK.octets)
    large = solve(ratio, RATIO_HIGH, CHUNK.octets, LARGEST.octets)
    return Size(round(small)), Size(round(large))


def reproduce(point: Mapping[str, float]) -> dict[str, float]:
    """Return the model's ratios at a point of the box; a workload's share of communication is at most one."""
    here = machine(point)
    small, large = Size(round(point["small transfer, B"])), Size(round(point["large transfer, B"]))
    got = {LOW: here.ratio(small), HIGH: here.ratio(large)}
    worst = SLOWDOWNS["inference slowdown, highest"][0]
    if got[HIGH] - 1 >= worst:
        got[HELD_OUT] = here.reduction(large, worst)
    return got


def table(samples: int, seed: int) -> Table:
    """Return the table of Fastrack's seven headline figures."""
    nominal = machine(NOMINAL)
    small, large = fit(nominal)
    shares = {
        name: slowdown / (nominal.ratio(large if end == "high" else small) - 1)
        for name, (slowdown, end) in SLOWDOWNS.items()
    }
    worst = SLOWDOWNS["inference slowdown, highest"][0]
    cells = [
        Cell(LOW, "1", RATIO_LOW, nominal.ratio(small), FigureRole.FITTED),
        Cell(HIGH, "1", RATIO_HIGH, nominal.ratio(large), FigureRole.FITTED),
        *(
            Cell(
                name,
                "1",
                slowdown,
                shares[name] * (nominal.ratio(large if end == "high" else small) - 1),
                FigureRole.FITTED,
                "one free share for each workload, so this cell tests nothing",
            )
            for name, (slowdown, end) in SLOWDOWNS.items()
        ),
        Cell(HELD_OUT, "1", REDUCTION, nominal.reduction(large, worst), FigureRole.HELD_OUT, "not used by any fit"),
    ]
    published = {LOW: RATIO_LOW, HIGH: RATIO_HIGH, HELD_OUT: REDUCTION}
    return Table(
        "fastrack",
        "Headline ratios of Fastrack",
        "arXiv 2410.15240, abstract",
        _parameters(small, large, shares),
        tuple(cells),
        _remarks(nominal, large),
        share(BOX, published, reproduce, samples, seed),
    )


def _parameters(small: Size, large: Size, shares: Mapping[str, float]) -> tuple[Parameter, ...]:
    assumed = Standing.ASSUMED
    return (
        *(sourced_parameter(name) for name in SOURCED),
        Parameter("authentication width", "1", WIDTH, assumed, "the abstract gives no degree of parallelism"),
        Parameter("small transfer", "B", small.octets, assumed, "the abstract gives no sizes", LOW),
        Parameter("large transfer", "B", large.octets, assumed, "the abstract gives no sizes", HIGH),
        *(
            Parameter(f"share of communication, {name}", "1", value, assumed, "the abstract gives no profile", name)
            for name, value in shares.items()
        ),
    )


def _remarks(nominal: Machine, large: Size) -> tuple[str, ...]:
    alone = ", ".join(
        f"{' + '.join(sorted(one.value for one in on)) or 'base path'} {nominal.ratio(large, Fastrack(on, WIDTH)):.2f}"
        for on in ladder()
    )
    even = break_even_overhead(Transfer(large, CHUNK), nominal.costs, Fastrack(ALL, WIDTH))
    return (
        f"Ratio of communication at the large transfer, by optimisations: {alone}.",
        f"All three pay as long as each costs less than {even} for a chunk of 1 MiB.",
        "84.6 % off a run that is 903.9 % slower leaves it 54.6 % slower than without confidentiality, if both figures "
        "are of one workload, which the abstract does not say.",
    )
