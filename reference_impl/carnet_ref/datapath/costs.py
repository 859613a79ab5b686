"""What each stage costs: a fixed time for every task, and a rate for its bytes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Literal

from carnet_ref.datapath.figures import FIGURES
from carnet_ref.datapath.quantities import NO_BYTES, NO_TIME, Duration, QuantityError, Rate, Seconds, Size
from carnet_ref.datapath.schedule import Stage

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
        """Return how many seconds ``stage`` takes on ``size``. Raises QuantityError if these costs do not say."""
        if stage not in self.stages:
            raise QuantityError(f"no cost is given for stage '{stage}'")
        return self.stages[stage].seconds(size)

    def changed(self, changes: Mapping[Stage, StageCost]) -> Costs:
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
