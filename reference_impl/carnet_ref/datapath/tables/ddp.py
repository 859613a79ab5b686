"""The DDP study's headline ratios: an iteration on four GPU TEEs against one without.

What a sub-step of the ring costs whatever its size is fitted to GPT-2-XL at PyTorch's default bucket; the computation
of a model that stands for the average is fitted to the average. Held out: GPT-2-XL with a tuned bucket.

Source: arXiv 2501.11771v3, abstract; PyTorch, DistributedDataParallel (bucket_cap_mb=25).
"""

from collections.abc import Mapping
from dataclasses import dataclass

from carnet_ref.datapath.figures import FIGURES, Standing
from carnet_ref.datapath.quantities import NO_TIME, Duration, QuantityError, Rate, Seconds, Size
from carnet_ref.datapath.schedule import Costs, Stage, StageCost, makespan
from carnet_ref.datapath.schedules.ring import Ring, hop_stages, piece_sizes, ring_all_reduce
from carnet_ref.datapath.tables.model import Cell, FigureRole, Parameter, Table, share, solve, sourced_parameter

RANKS = 4
DEFAULT_BUCKET = Size.parse("25 MiB")
XL_GRADIENT = Size(4 * 1_557_611_200)
MEAN_GRADIENT = Size(4 * 340_000_000)
XL_COMPUTE = Duration(0.5)
XL, MEAN, TUNED = "GPT-2-XL, default bucket", "average over benchmarks", "GPT-2-XL, tuned bucket"
PUBLISHED = {XL: 41.6, MEAN: 8.68, TUNED: 3.03}
LONGEST_HOP_SECONDS = 0.2


@dataclass(frozen=True, slots=True)
class Node:
    """The parameters that determine the ratios: rates of cipher and link, and the fixed cost of a sealed hop."""

    cipher: Rate
    decrypt: Rate
    link: Rate
    launch: Duration
    hop: Duration

    def costs(self, compute: Duration, gradient: Size) -> Costs:
        """Return the costs of an iteration that computes for ``compute`` on all of ``gradient``."""
        half = Duration(self.hop.seconds / 2)
        return Costs(
            {
                Stage.COMPUTE: StageCost(NO_TIME, Rate(gradient.octets / compute.seconds)),
                Stage.GPU_ENCRYPT: StageCost(half, self.cipher),
                Stage.PEER_LINK: StageCost(self.launch, self.link),
                Stage.GPU_VERIFY: StageCost(half, self.cipher),
                Stage.GPU_DECRYPT: StageCost(NO_TIME, self.decrypt),
            }
        )


def ring_seconds(ring: Ring, costs: Costs) -> Seconds:
    """Return how long an iteration takes by the recurrence over buckets that equal ranks allow.

    Buckets go round one after another, each once it is ready; within one, every rank does the same at the same time.
    """
    ready = end = 0.0
    for bucket in ring.buckets:
        ready += costs.seconds(Stage.COMPUTE, bucket)
        largest = piece_sizes(bucket, ring.ranks)[0]
        end = max(end, ready) + ring.sub_steps * sum(costs.seconds(stage, largest) for stage in hop_stages(ring))
    return end


def ratio(node: Node, gradient: Size, bucket: Size, compute: Duration, exact: bool = False) -> float:
    """Return an iteration's time with sealed hops over its time without, at PyTorch's default bucket.

    ``exact`` takes both from the schedule of all ranks instead of the recurrence.
    """
    costs = node.costs(compute, gradient)
    sealed, bare = Ring(RANKS, gradient, bucket), Ring(RANKS, gradient, DEFAULT_BUCKET, sealed=False)
    if exact:
        return makespan(ring_all_reduce(sealed, costs)) / makespan(ring_all_reduce(bare, costs))
    return ring_seconds(sealed, costs) / ring_seconds(bare, costs)


SOURCED = ("gpu verify", "gpu decrypt", "nvlink 4", "launch")
NOMINAL = {name: FIGURES[name].nominal for name in SOURCED}
BOX = {
    **{name: (FIGURES[name].low, FIGURES[name].high) for name in SOURCED},
    "compute, GPT-2-XL, s": (0.1, 2.0),
    "sealed hop, s": (1e-5, 0.05),
    "gradient, average, B": (4e8, 4e9),
}
MEAN_COMPUTE_SECONDS = (0.05, 2.0)


def node(point: Mapping[str, float], hop: Seconds) -> Node:
    """Return the node at a point of the box; names are those of the figures."""
    return Node(
        Rate(point["gpu verify"]),
        Rate(point["gpu decrypt"]),
        Rate(point["nvlink 4"]),
        Duration(point["launch"]),
        Duration(hop),
    )


def reproduce(point: Mapping[str, float]) -> dict[str, float]:
    """Return the model's three ratios at a point of the box."""
    here = node(point, point["sealed hop, s"])
    compute = Duration(point["compute, GPT-2-XL, s"])
    mean = Size(round(point["gradient, average, B"]))
    least, most = (ratio(here, mean, DEFAULT_BUCKET, Duration(seconds)) for seconds in MEAN_COMPUTE_SECONDS[::-1])
    return {
        XL: ratio(here, XL_GRADIENT, DEFAULT_BUCKET, compute),
        TUNED: ratio(here, XL_GRADIENT, XL_GRADIENT, compute),
        MEAN: min(max(PUBLISHED[MEAN], least), most),
    }


def fit() -> tuple[Duration, Duration]:
    """Return the cost of a sealed hop and the average model's computation time that reproduce the two fitted ratios."""

    def ratio_at_hop(seconds: Seconds) -> float:
        return ratio(node(NOMINAL, seconds), XL_GRADIENT, DEFAULT_BUCKET, XL_COMPUTE)

    hop = solve(ratio_at_hop, PUBLISHED[XL], 0.0, LONGEST_HOP_SECONDS)

    def ratio_at_compute(seconds: Seconds) -> float:
        return ratio(node(NOMINAL, hop), MEAN_GRADIENT, DEFAULT_BUCKET, Duration(seconds))

    return Duration(hop), Duration(solve(ratio_at_compute, PUBLISHED[MEAN], 0.01, 10.0))


def least_benchmarks(average: float, largest: float) -> int:
    """Return how many ratios of at least 1 it takes to have that average when one of them is ``largest``.

    Raises QuantityError if the average is not above 1.
    """
    if average <= 1:
        raise QuantityError(f"an average of ratios of at least 1 is above 1, not {average}")
    count = 1
    while largest + (count - 1) > average * count:
        count += 1
    return count


def table(samples: int, seed: int) -> Table:
    """Return the table of the study's three headline ratios."""
    hop, compute = fit()
    here = node(NOMINAL, hop.seconds)
    got = {
        XL: ratio(here, XL_GRADIENT, DEFAULT_BUCKET, XL_COMPUTE, exact=True),
        MEAN: ratio(here, MEAN_GRADIENT, DEFAULT_BUCKET, compute, exact=True),
        TUNED: ratio(here, XL_GRADIENT, XL_GRADIENT, XL_COMPUTE, exact=True),
    }
    roles = {XL: FigureRole.FITTED, MEAN: FigureRole.FITTED, TUNED: FigureRole.HELD_OUT}
    remarks = {MEAN: "one model stands for benchmarks that the abstract does not list"}
    return Table(
        "ddp",
        "Iteration time of DDP on four GPU TEEs, against none",
        "arXiv 2501.11771v3, abstract",
        _parameters(hop, compute),
        tuple(Cell(name, "1", PUBLISHED[name], got[name], roles[name], remarks.get(name, "")) for name in PUBLISHED),
        _remarks(here),
        share(BOX, PUBLISHED, reproduce, samples, seed),
    )


def _parameters(hop: Duration, compute: Duration) -> tuple[Parameter, ...]:
    assumed, cited = Standing.ASSUMED, Standing.CITED
    return (
        *(sourced_parameter(name) for name in SOURCED),
        Parameter("gradient, GPT-2-XL", "B", XL_GRADIENT.octets, cited, "1,557,611,200 parameters of 4 bytes"),
        Parameter("bucket, default", "B", DEFAULT_BUCKET.octets, cited, "PyTorch: bucket_cap_mb=25"),
        Parameter("bucket, tuned", "B", XL_GRADIENT.octets, assumed, "one bucket for all; the abstract gives no size"),
        Parameter("compute, GPT-2-XL", "s", XL_COMPUTE.seconds, assumed, "the abstract gives no batch"),
        Parameter("sealed hop", "s", hop.seconds, assumed, "the abstract gives no cost of a sub-step", XL),
        Parameter("gradient, average", "B", MEAN_GRADIENT.octets, assumed, "a model of 340 million parameters"),
        Parameter("compute, average", "s", compute.seconds, assumed, "the abstract gives no batch", MEAN),
    )


def _remarks(here: Node) -> tuple[str, ...]:
    needed = least_benchmarks(PUBLISHED[MEAN], PUBLISHED[XL])
    buckets = len(Ring(RANKS, XL_GRADIENT, DEFAULT_BUCKET).buckets)
    return (
        f"The average and the maximum together need at least {needed} benchmarks, so the average cannot be over the "
        "four sizes of GPT-2 alone.",
        f"At the default bucket GPT-2-XL sends {buckets} buckets in {2 * (RANKS - 1)} sub-steps each; the fit puts "
        f"{here.hop} on every sealed hop, far more than a launch: the abstract does not say what it goes into.",
    )
