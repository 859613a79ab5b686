"""What a buffer of data costs in each system on its way to where it is computed on: bytes by link, and time.

Each system's way is laid out as a schedule of the data path. Its time is that of moving and sealing. Computing,
blinding, coding and checking are not in it: nobody published what they cost.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Final

from carnet_ref.datapath.quantities import Duration, Rate, Size
from carnet_ref.datapath.schedule import (
    Costs,
    Edge,
    Schedule,
    ScheduleBuilder,
    Stage,
    Station,
    Transfer,
    lay,
    makespan,
    sourced_costs,
)
from carnet_ref.datapath.schedules.confidential_io import Fastrack, Optimisation, confidential, plain
from carnet_ref.datapath.schedules.ring import Ring, ring_all_reduce
from carnet_ref.datapath.schedules.sharing import HOLDER_CPU, NETWORK, ORCHESTRATOR_CPU, Journey, gpu_travelling
from carnet_ref.datapath.schedules.speculation import Speculation, speculative
from carnet_ref.field import Field
from carnet_ref.systems.coded_private_ml.code import LagrangeCode
from carnet_ref.systems.darknight.batch import CodedBatch
from carnet_ref.systems.sgx_lkl.frames import Shape, room

BUFFER: Final = Size.parse("256 MiB")
CHUNK: Final = Size.parse("1 MiB")
NETWORK_RATE: Final = Rate.parse("10 Gbit/s")
#: The links that bytes are counted on.
LINKS: Final = {"over PCIe": Stage.PCIE, "over the network": Stage.NETWORK, "between GPUs": Stage.PEER_LINK}
_ON_CPUS: Final = (Stage.HOLDER_ENCRYPT, Stage.CPU_DECRYPT, Stage.RE_ENCRYPT)
_WHOLE: Final = Transfer(BUFFER, CHUNK)


@dataclass(frozen=True, slots=True)
class WayOfData:
    """How a system brings a buffer to where it is computed on."""

    words: str  #: what moves, and how many take part.
    lay_out: Callable[[Costs], Schedule] | None = None  #: lays the way out at given costs; absent where no data move.


@dataclass(frozen=True, slots=True)
class TransferCost:
    """What a way costs."""

    moved: dict[str, Size]  #: how many bytes cross each link, by the names of `LINKS`.
    sealed_on_cpus: Size  #: how many bytes CPUs encrypt or decrypt.
    least: Duration  #: the time where every figure is at its cheapest.
    nominal: Duration  #: the time where every figure is as it is taken to be.
    most: Duration  #: the time where every figure is at its dearest.


def cost_of(way: Callable[[Costs], Schedule]) -> TransferCost:
    """Return the bytes and the times of a way."""

    def at(edge: Edge) -> Schedule:
        return way(sourced_costs(NETWORK_RATE, edge))

    schedules = [at("low"), at("nominal"), at("high")]
    moved = {name: _bytes(schedules[1], stage) for name, stage in LINKS.items()}
    return TransferCost(moved, _bytes(schedules[1], *_ON_CPUS), *(Duration(makespan(each)) for each in schedules))


def _bytes(schedule: Schedule, *stages: Stage) -> Size:
    return Size(sum(task.size.octets for task in schedule.tasks if task.stage in stages))


def _travelling(costs: Costs) -> Schedule:
    return gpu_travelling(Journey([_WHOLE], scrubbed=BUFFER), costs)


def _direct(costs: Costs) -> Schedule:
    return confidential(_WHOLE, costs, Fastrack(frozenset(Optimisation), width=8))


def _guessed(costs: Costs) -> Schedule:
    blocks = range(len(_WHOLE.chunks))
    return speculative(blocks, blocks, CHUNK, costs, Speculation(window=8, workers=8))


RANKS: Final = 4


def _ring(costs: Costs) -> Schedule:
    return ring_all_reduce(Ring(RANKS, BUFFER, Size.parse("25 MiB")), costs)


def _there_and_back(link: Stage, shares: int, inputs: int, costs: Costs) -> Schedule:
    """Lay shares out that are as large together as ``shares`` in ``inputs`` of the buffer, and results of that size."""
    builder = ScheduleBuilder("there and back")
    whole = Transfer(Size(BUFFER.octets * shares // inputs), CHUNK)
    lay(builder, (Station(link, "out"), Station(link, "back")), whole, costs)
    return builder.done()


_BATCH: Final = CodedBatch(Field(), inputs=4, noise=1, points=tuple(range(1, 6)))
_CODE: Final = LagrangeCode(Field(), blocks=(0, 1, 2, 3), random=(4,), workers=tuple(range(5, 18)))
_DEGREE: Final = 3  #: Of a gradient whose sigmoid is replaced by a polynomial of degree one.


def _framed(costs: Costs) -> Schedule:
    """Lay out a hand-over in chunks of one size, as many as the manifest's bound."""
    shape = Shape(chunks=-(-BUFFER.octets // room(CHUNK.octets)), block_bytes=CHUNK.octets)
    builder = ScheduleBuilder("fixed shape")
    path = (
        Station(Stage.HOLDER_ENCRYPT, HOLDER_CPU),
        Station(Stage.NETWORK, NETWORK),
        Station(Stage.CPU_DECRYPT, ORCHESTRATOR_CPU),
    )
    lay(builder, path, Transfer(CHUNK * shape.chunks, CHUNK), costs)
    return builder.done()


#: The way of each system, by its id.
WAYS: Final = {
    "gpu-travelling": WayOfData(
        "one visit: evidence, two rotations, two switches, the data, and the scrub", _travelling
    ),
    "fastrack": WayOfData(
        "what the user has sealed for the GPU, with all three optimisations, verified eight wide", _direct
    ),
    "pipellm": WayOfData("256 blocks that were all guessed, sealed by eight threads", _guessed),
    "ring-all-reduce": WayOfData(f"the gradients of {RANKS} ranks, of a buffer each, in buckets of 25 MiB", _ring),
    "tensortee": WayOfData(
        "one tensor from the CPU's memory to the NPU's, as it is encrypted there", partial(plain, _WHOLE)
    ),
    "verifiable-fl": WayOfData("no data move: each step is taken where they are, and a statement is written"),
    "asymml": WayOfData("one layer's residual, and a result of its size", partial(_there_and_back, Stage.PCIE, 1, 1)),
    "slalom": WayOfData("one layer's values, and a result of their size", partial(_there_and_back, Stage.PCIE, 1, 1)),
    "darknight": WayOfData(
        f"{_BATCH.inputs} inputs of a layer and {_BATCH.noise} of noise for {_BATCH.results_needed} processors, "
        "and results",
        partial(_there_and_back, Stage.PCIE, _BATCH.results_needed, _BATCH.inputs),
    ),
    "coded-private-ml": WayOfData(
        f"{len(_CODE.blocks)} blocks and {len(_CODE.random)} random one, coded for the "
        f"{_CODE.results_needed(_DEGREE)} workers that a polynomial of degree {_DEGREE} needs, and results",
        partial(_there_and_back, Stage.NETWORK, _CODE.results_needed(_DEGREE), len(_CODE.blocks)),
    ),
    "sgx-lkl": WayOfData("a hand-over whose bound is the buffer: as long for a holder with less", _framed),
    "teechain": WayOfData("no data move: each grant of custody goes to every member of the chain"),
}
