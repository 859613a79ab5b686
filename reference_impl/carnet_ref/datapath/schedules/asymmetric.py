"""AsymML (3LegRace): a low-rank part stays in the TEE, the residual goes to the GPU, both compute, the TEE adds up.

Source: 3LegRace, PETS 2022 (arXiv 2110.01229), slides 6 to 14 and 20: r of N channels in the TEE, two contexts in
parallel, CPU–GPU communication as the limit.
"""

from __future__ import annotations

from dataclasses import dataclass

from carnet_ref.datapath.costs import Costs
from carnet_ref.datapath.quantities import QuantityError, Size
from carnet_ref.datapath.schedule import Schedule, ScheduleBuilder, Stage
from carnet_ref.datapath.schedules.sharing import GPU, ORCHESTRATOR_CPU, PCIE

OUT = "tee>gpu"
BACK = "gpu>tee"


@dataclass(frozen=True, slots=True)
class Split:
    """A network whose layers each have activations of ``layer`` bytes over ``channels`` channels.

    Attributes:
        layers: how many layers are computed one after another.
        layer: the size of a layer's activations.
        channels: N, all channels.
        rank: r, the channels whose worth of work stays in the TEE.

    Raises:
        QuantityError: no layer, no bytes, or a rank that is not between 1 and the number of channels.
    """

    layers: int
    layer: Size
    channels: int
    rank: int

    def __post_init__(self) -> None:
        if self.layers < 1 or self.layer.octets < 1 or not 1 <= self.rank <= self.channels:
            raise QuantityError(f"expected layers, bytes and 1 ≤ rank ≤ channels, not {self}")

    @property
    def kept(self) -> Size:
        """The share of a layer that the TEE computes on: r/N of it, rounded up."""
        return Size(-(-self.layer.octets * self.rank // self.channels))


def tee_only(split: Split, costs: Costs) -> Schedule:
    """Compute every layer in the TEE."""
    builder = ScheduleBuilder("TEE only")
    seconds = costs.seconds(Stage.TEE_COMPUTE, split.layer)
    builder.in_series([(Stage.TEE_COMPUTE, ORCHESTRATOR_CPU, seconds)] * split.layers)
    return builder.done()


def asymmetric(split: Split, costs: Costs) -> Schedule:
    """Compute O(r) in the TEE beside O(N) on the GPU, layer by layer; both ways over PCIe are sealed."""
    builder = ScheduleBuilder("AsymML")
    wait: tuple[int, ...] = ()
    for index in range(split.layers):
        kept = builder.add(
            Stage.TEE_COMPUTE,
            ORCHESTRATOR_CPU,
            costs.seconds(Stage.TEE_COMPUTE, split.kept),
            wait,
            size=split.kept,
        )
        there = _across(builder, split.layer, costs, wait, 2 * index, OUT)
        done = builder.add(Stage.COMPUTE, GPU, costs.seconds(Stage.COMPUTE, split.layer), (there,), size=split.layer)
        wait = (kept, _across(builder, split.layer, costs, (done,), 2 * index + 1, BACK))
    return builder.done()


def _across(
    builder: ScheduleBuilder, size: Size, costs: Costs, after: tuple[int, ...], chunk: int, channel: str
) -> int:
    """Lay a sealed crossing of PCIe and return the position of its last task."""
    out = (
        (Stage.RE_ENCRYPT, "link CPU"),
        (Stage.PCIE, PCIE),
        (Stage.GPU_VERIFY, "GPU authentication"),
        (Stage.GPU_DECRYPT, "GPU cipher"),
    )
    back = (
        (Stage.GPU_ENCRYPT, "GPU cipher"),
        (Stage.PCIE, PCIE),
        (Stage.CPU_DECRYPT, "link CPU"),
    )
    for stage, resource in out if channel == OUT else back:
        after = (builder.add(stage, resource, costs.seconds(stage, size), after, chunk, channel, size),)
    return after[0]
