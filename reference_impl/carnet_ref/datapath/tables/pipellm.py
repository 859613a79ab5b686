"""PipeLLM's headline figures: what confidential mode takes off serving throughput, and what speculation gives back.

The share of computation is fitted for each of two models to what confidential mode costs them; held out is what remains
with PipeLLM. The copy engine decrypts as it copies, so the way into the GPU is one stage.

Source: PipeLLM, arXiv 2411.03357, abstract; about 40 GB/s and 8.3 % from a public walk-through.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from carnet_ref.datapath.figures import CUDA_UNIT_BYTES, FIGURES, Standing
from carnet_ref.datapath.quantities import NO_TIME, Duration, QuantityError, Rate, Seconds, Size
from carnet_ref.datapath.schedule import Costs, Stage, StageCost, makespan
from carnet_ref.datapath.schedules.speculation import ON_DEMAND, Speculation, speculative
from carnet_ref.datapath.tables.model import Cell, FigureRole, Parameter, Table, share, sourced_parameter

DROP_66B, DROP_30B = "throughput lost, OPT-66B", "throughput lost, OPT-30B"
WITH_PIPELLM, NEVER_RIGHT = "throughput lost with PipeLLM, at most", "lost when no prediction is right"
PUBLISHED = {DROP_66B: 0.882, DROP_30B: 0.528, WITH_PIPELLM: 0.196}
NEVER_RIGHT_PUBLISHED = 0.083
BLOCK = Size(CUDA_UNIT_BYTES)
BLOCKS = 64
WINDOW, WORKERS = 8, 8


@dataclass(frozen=True, slots=True)
class Server:
    """The parameters that determine the figures: sealing speed, bus speed, and speculation."""

    sealing: Rate
    bus: Rate
    sealed_bus: Rate
    launch: Duration
    speculation: Speculation

    def plain_seconds(self, compute: Seconds) -> Seconds:
        """Return the seconds for `BLOCKS` blocks without confidentiality."""
        return BLOCKS * (self.launch.seconds + self.bus.seconds_for(BLOCK) + compute)

    def sealed_seconds(self, compute: Seconds, speculation: Speculation, right: bool = True) -> Seconds:
        """Return how long `BLOCKS` blocks take sealed, in the steady state: the second half of twice as many.

        Predictions are all right or all wrong.
        """
        requests = list(range(2 * BLOCKS))
        expected = requests if right else [-1 - block for block in requests]
        whole, half = (
            makespan(speculative(requests[:count], expected[:count], BLOCK, self._costs(compute), speculation))
            for count in (2 * BLOCKS, BLOCKS)
        )
        return whole - half

    def lost(self, compute: Seconds, speculation: Speculation = ON_DEMAND) -> float:
        """Return the share of plain throughput that is lost."""
        return 1 - self.plain_seconds(compute) / self.sealed_seconds(compute, speculation)

    def _costs(self, compute: Seconds) -> Costs:
        return Costs(
            {
                Stage.RE_ENCRYPT: StageCost(NO_TIME, self.sealing),
                Stage.PCIE: StageCost(self.launch, self.sealed_bus),
                Stage.GPU_VERIFY: StageCost(),
                Stage.GPU_DECRYPT: StageCost(),
                Stage.COMPUTE: StageCost(Duration(compute)),
                Stage.NOP: StageCost(self.launch),
            }
        )

    def fitted_compute(self, drop: float) -> Seconds | None:
        """Return the computation for each block that makes confidential mode lose ``drop``, if there is one.

        On demand nothing overlaps, so that 1 − (plain + c) / (sealed + c) = drop is linear in c.
        """
        plain = self.plain_seconds(0.0) / BLOCKS
        sealed = self.sealing.seconds_for(BLOCK) + self.launch.seconds + self.sealed_bus.seconds_for(BLOCK)
        compute = ((1 - drop) * sealed - plain) / drop
        return compute if compute >= 0 else None


SOURCED = ("cpu aes-256-gcm", "pcie gen5 x16", "pipellm transfer", "launch")
NOMINAL = {**{name: FIGURES[name].nominal for name in SOURCED}, "window": float(WINDOW), "workers": float(WORKERS)}
BOX = {
    **{name: (FIGURES[name].low, FIGURES[name].high) for name in SOURCED},
    "pipellm transfer": (20e9, 64e9),
    "window": (1.0, 16.0),
    "workers": (1.0, 16.0),
}


def server(point: Mapping[str, float]) -> Server:
    """Return the server at a point of the box; names are those of the figures."""
    return Server(
        Rate(point["cpu aes-256-gcm"]),
        Rate(point["pcie gen5 x16"]),
        Rate(point["pipellm transfer"]),
        Duration(point["launch"]),
        Speculation(round(point["window"]), 0, round(point["workers"])),
    )


def reproduce(point: Mapping[str, float]) -> dict[str, float]:
    """Return the model's figures at a point of the box, each model's computation fitted to its own drop."""
    here = server(point)
    got = {}
    for name in (DROP_66B, DROP_30B):
        compute = here.fitted_compute(PUBLISHED[name])
        if compute is not None:
            got[name] = PUBLISHED[name]
            got[WITH_PIPELLM] = max(got.get(WITH_PIPELLM, 0.0), here.lost(compute, here.speculation))
    return got


def table(samples: int, seed: int) -> Table:
    """Return the table of PipeLLM's headline figures."""
    here = server(NOMINAL)
    compute = {name: _fitted(here, name) for name in (DROP_66B, DROP_30B)}
    worst = max(here.lost(seconds, here.speculation) for seconds in compute.values())
    cells = [Cell(name, "1", PUBLISHED[name], here.lost(compute[name]), FigureRole.FITTED) for name in compute]
    return Table(
        "pipellm",
        "Serving throughput lost to confidential mode",
        "arXiv 2411.03357, abstract",
        _parameters(compute),
        (
            *cells,
            Cell(WITH_PIPELLM, "1", PUBLISHED[WITH_PIPELLM], worst, FigureRole.HELD_OUT, "not used by any fit"),
            Cell(
                NEVER_RIGHT,
                "1",
                NEVER_RIGHT_PUBLISHED,
                _share_lost_when_wrong(here, compute[DROP_30B]),
                FigureRole.HELD_OUT,
                "not reproduced: the source names no workload; in OPT-30B a wrong guess is flushed while the CPU seals",
            ),
        ),
        _remarks(here, compute),
        share(BOX, PUBLISHED, reproduce, samples, seed),
    )


def _fitted(here: Server, name: str) -> Seconds:
    compute = here.fitted_compute(PUBLISHED[name])
    if compute is None:
        raise QuantityError(f"no computation makes '{name}' {PUBLISHED[name]:.1%}")
    return compute


def _share_lost_when_wrong(here: Server, compute: Seconds) -> float:
    """Return the throughput lost against confidential mode without speculation when every guess is wrong."""
    one_ahead = Speculation(1, 0, here.speculation.workers)
    return 1 - here.sealed_seconds(compute, ON_DEMAND) / here.sealed_seconds(compute, one_ahead, right=False)


def _parameters(compute: Mapping[str, Seconds]) -> tuple[Parameter, ...]:
    assumed = Standing.ASSUMED
    return (
        *(sourced_parameter(name) for name in SOURCED),
        Parameter("blocks sealed ahead", "1", WINDOW, assumed, "enough to hide sealing"),
        Parameter("sealing threads", "1", WORKERS, assumed, "40 GB/s needs several cores"),
        *(
            Parameter(f"compute per 1 MiB, {name.split()[-1]}", "s", value, assumed, "not in the abstract", name)
            for name, value in compute.items()
        ),
    )


def _remarks(here: Server, compute: Mapping[str, Seconds]) -> tuple[str, ...]:
    one = Speculation(WINDOW, 0, 1)
    return (
        f"With one sealing thread OPT-66B would lose {here.lost(compute[DROP_66B], one):.1%}: one core's AES-GCM is "
        "slower than its demand, so hiding sealing needs threads as well as guesses.",
        "A wrong guess costs a whole transfer here, because an IV that has sealed seals nothing else, sent or not; "
        "PipeLLM drops such a block unsent.",
    )
