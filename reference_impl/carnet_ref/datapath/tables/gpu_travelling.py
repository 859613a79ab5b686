"""The deck's transmission table: three parameters are fitted to three of its ten cells, the other seven are predicted.

The deck trains GPT-2 with llm.c and caps the link of the conventional way at so many "M". Read as Mbit/s, the cells fit
a fixed time and a volume over the cap. The volume is fitted, not assumed.

Source: GPU Traveling (deck), "Evaluations"; abstract of the paper (ACM CCS 2025) for the factor 4 at 512 MiB.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

from carnet_ref.datapath.figures import Standing
from carnet_ref.datapath.quantities import NO_TIME, Duration, Rate, Seconds, Size
from carnet_ref.datapath.schedule import Costs, Schedule, Stage, StageCost, Transfer, makespan, sourced_costs
from carnet_ref.datapath.schedules.sharing import Journey, conventional, gpu_travelling
from carnet_ref.datapath.tables.model import Cell, FigureRole, Parameter, Table, solve, sourced_parameter


def caps(unit: str) -> dict[str, Rate | None]:
    """Return the link of each row when the deck's bare "M" stands for ``unit``; ``None`` for a link without a cap."""
    return {f"{number}M": Rate.parse(f"{number} {unit}/s") for number in (4, 20, 100, 500)} | {"uncapped": None}


CAPS = caps("Mbit")
CONVENTIONAL_SECONDS = {"4M": 1115.88, "20M": 230.84, "100M": 60.36, "500M": 15.86, "uncapped": 7.34}
TRAVELLING_SECONDS = {"4M": 1.01, "20M": 1.03, "100M": 1.02, "500M": 0.98, "uncapped": 0.98}
FITTED_CELLS = ("conventional 4M", "conventional uncapped", "GPU Travelling uncapped")

CHUNK = Size.parse("1 MiB")
BUFFER = Size.parse("256 MiB")
ABSTRACT_CHUNK = Size.parse("512 MiB")
FINEWEB = Size.parse("44 TiB")
VOLUME_MEBIBYTES = (64.0, 8192.0)
SAVED_SECONDS_PER_BUFFER = 7.0
SAVED_SECONDS_PER_EPOCH = 1_261_568.0
LEAST_SPEEDUP = 4.0


@dataclass(frozen=True, slots=True)
class DeckFit:
    """The parameters that are fitted to the deck's cells."""

    volume: Size  #: what is transmitted in a row of the table.
    conventional: Duration  #: time of the conventional way that no stage of the model accounts for.
    travelling: Duration  #: the same for GPU Travelling.

    def conventional_seconds(self, volume: Size, cap: Rate | None, scaled: bool = False) -> Seconds:
        """Return how long the conventional way takes; ``scaled``: its unattributed time grows with the volume."""
        overhead = self._overhead(self.conventional, volume, scaled)
        return makespan(conventional_schedule(volume, cap, overhead))

    def travelling_seconds(self, volume: Size, scaled: bool = False) -> Seconds:
        """Return how long GPU Travelling takes; ``scaled``: its unattributed time grows with the volume."""
        return makespan(travelling_schedule(volume, self._overhead(self.travelling, volume, scaled)))

    def seconds_saved(self, volume: Size, cap: Rate | None, scaled: bool) -> Seconds:
        """Return how many seconds GPU Travelling saves."""
        return self.conventional_seconds(volume, cap, scaled) - self.travelling_seconds(volume, scaled)

    def _overhead(self, overhead: Duration, volume: Size, scaled: bool) -> Duration:
        return Duration(overhead.seconds * volume.octets / self.volume.octets) if scaled else overhead


def costs_of_link(cap: Rate | None, overhead: Duration) -> Costs:
    """Return sourced costs with a capped link, or one that costs nothing beyond what is unattributed."""
    base = sourced_costs(cap or Rate(1.0))
    network = StageCost(NO_TIME, cap)
    return base.with_costs({Stage.NETWORK: network, Stage.OVERHEAD: StageCost(overhead)})


def conventional_schedule(volume: Size, cap: Rate | None, overhead: Duration) -> Schedule:
    """Return the schedule behind a cell of the conventional way."""
    return conventional(Transfer(volume, CHUNK), costs_of_link(cap, overhead))


def travelling_schedule(volume: Size, overhead: Duration) -> Schedule:
    """Return the schedule behind a cell of GPU Travelling; evidence is checked at setup, outside what was timed."""
    journey = Journey([Transfer(volume, CHUNK)], scrubbed=volume, attests=False)
    return gpu_travelling(journey, costs_of_link(None, overhead))


def fit_conventional(links: Mapping[str, Rate | None]) -> tuple[Size, Duration]:
    """Fit the volume and the unattributed time of the conventional way to its slowest and its fastest cell."""

    def unattributed(volume: Size) -> Duration:
        return Duration(CONVENTIONAL_SECONDS["uncapped"] - makespan(conventional_schedule(volume, None, NO_TIME)))

    def slowest(mebibytes: float) -> Seconds:
        volume = Size(round(mebibytes * 2**20))
        return makespan(conventional_schedule(volume, links["4M"], unattributed(volume)))

    volume = Size(round(solve(slowest, CONVENTIONAL_SECONDS["4M"], *VOLUME_MEBIBYTES) * 2**20))
    return volume, unattributed(volume)


@cache
def fit() -> DeckFit:
    """Fit volume and unattributed times to the three cells of `FITTED_CELLS`."""
    volume, unattributed = fit_conventional(CAPS)
    at_home = makespan(travelling_schedule(volume, NO_TIME))
    return DeckFit(volume, unattributed, Duration(TRAVELLING_SECONDS["uncapped"] - at_home))


@dataclass(frozen=True, slots=True)
class Reading:
    """The consequences of reading the deck's bare "M" as some unit."""

    volume: Size  #: what is then transmitted.
    worst_error: float  #: the largest relative error of the conventional cells that were not fitted.
    travelling_seconds: Seconds  #: what the stages of GPU Travelling alone take for that volume.


def read_as(unit: str) -> Reading:
    """Return the consequences of reading the deck's bare "M" as ``unit``, such as ``MB``."""
    links = caps(unit)
    volume, unattributed = fit_conventional(links)
    errors = [
        makespan(conventional_schedule(volume, link, unattributed)) / CONVENTIONAL_SECONDS[cap] - 1
        for cap, link in links.items()
    ]
    return Reading(volume, max(map(abs, errors)), makespan(travelling_schedule(volume, NO_TIME)))


@cache
def table() -> Table:
    """Return the table of the deck's ten transmission cells and the figures that it derives."""
    fitted = fit()
    return Table(
        "gpu-travelling",
        "Transmission time, llm.c with GPT-2",
        "GPU Traveling (deck), Evaluations",
        _parameters(fitted),
        (*_transmission(fitted), *_derived(fitted)),
        _remarks(fitted),
    )


def _transmission(fitted: DeckFit) -> list[Cell]:
    got = {f"conventional {cap}": fitted.conventional_seconds(fitted.volume, rate) for cap, rate in CAPS.items()}
    got |= dict.fromkeys((f"GPU Travelling {cap}" for cap in CAPS), fitted.travelling_seconds(fitted.volume))
    published = {f"conventional {cap}": seconds for cap, seconds in CONVENTIONAL_SECONDS.items()}
    published |= {f"GPU Travelling {cap}": seconds for cap, seconds in TRAVELLING_SECONDS.items()}
    return [
        Cell(name, "s", published[name], got[name], FigureRole.FITTED if name in FITTED_CELLS else FigureRole.PREDICTED)
        for name in published
    ]


def _derived(fitted: DeckFit) -> list[Cell]:
    buffers = FINEWEB.octets // BUFFER.octets
    cells = [
        Cell(
            "44 TiB, from the deck's own 7 s per 256 MiB",
            "s",
            SAVED_SECONDS_PER_EPOCH,
            SAVED_SECONDS_PER_BUFFER * buffers,
            FigureRole.RECOMPUTED,
            f"{buffers} buffers of 256 MiB: the deck's arithmetic holds",
        )
    ]
    for scaled, how in ((False, "overhead fixed for each buffer"), (True, "overhead grows with bytes")):
        saved = fitted.seconds_saved(BUFFER, None, scaled)
        cells += [
            Cell(f"saved per 256 MiB, uncapped, {how}", "s", SAVED_SECONDS_PER_BUFFER, saved, FigureRole.HELD_OUT),
            Cell(
                f"saved per 44 TiB, uncapped, {how}", "s", SAVED_SECONDS_PER_EPOCH, saved * buffers, FigureRole.HELD_OUT
            ),
        ]
    speedup = fitted.conventional_seconds(ABSTRACT_CHUNK, None) / fitted.travelling_seconds(ABSTRACT_CHUNK)
    remark = "the abstract says at least this much"
    return [*cells, Cell("speed-up for 512 MiB, uncapped", "1", LEAST_SPEEDUP, speedup, FigureRole.HELD_OUT, remark)]


def _parameters(fitted: DeckFit) -> tuple[Parameter, ...]:
    assumed = Standing.ASSUMED
    return (
        Parameter("volume", "B", fitted.volume.octets, assumed, "the deck gives none", FITTED_CELLS[0]),
        Parameter(
            "unattributed, conventional",
            "s",
            fitted.conventional.seconds,
            assumed,
            "whatever of 7.34 s the stages do not account for",
            FITTED_CELLS[1],
        ),
        Parameter(
            "unattributed, GPU Travelling",
            "s",
            fitted.travelling.seconds,
            assumed,
            "whatever of 0.98 s the stages do not account for",
            FITTED_CELLS[2],
        ),
        *(
            sourced_parameter(name)
            for name in ("cpu aes-256-gcm", "bounce copy", "pcie gen5 x16", "gpu verify", "gpu decrypt")
        ),
        *(sourced_parameter(name) for name in ("launch", "rotation pause", "mux switch", "scrub")),
    )


def link_for_seven_seconds(fitted: DeckFit) -> Rate:
    """Return the link on which the model saves the deck's 7 s per 256 MiB when all its time grows with bytes."""

    def saved(megabits: float) -> Seconds:
        return fitted.seconds_saved(BUFFER, Rate(megabits * 1e6 / 8), scaled=True)

    return Rate(solve(saved, SAVED_SECONDS_PER_BUFFER, 50, 5000) * 1e6 / 8)


def _remarks(fitted: DeckFit) -> tuple[str, ...]:
    megabits = link_for_seven_seconds(fitted).bytes_per_second * 8 / 1e6
    per_buffer = (CONVENTIONAL_SECONDS["500M"] - TRAVELLING_SECONDS["500M"]) * BUFFER.octets / fitted.volume.octets
    uncapped = CONVENTIONAL_SECONDS["uncapped"] - TRAVELLING_SECONDS["uncapped"]
    other = read_as("MB")
    return (
        f"'M' is read as Mbit/s, which the deck does not say; the fitted volume is then {fitted.volume}. Read as MB/s "
        f"it is {other.volume}, a cell is off by {other.worst_error:.1%}, and the stages of GPU Travelling alone take "
        f"{other.travelling_seconds:.2f} s at nominal costs, more than the deck measured for all of it.",
        f"The deck's uncapped row saves {uncapped:.2f} s for one whole transfer, so 7 s per 256 MiB does not come from "
        f"that row. If all time grows with bytes, its 500M row gives {per_buffer:.2f} s per 256 MiB, and the model "
        f"gives 7 s on a link of {megabits:.0f} Mbit/s: the 14 days describe a capped link, or another measurement.",
        "The 100M cell lies above the model by more than any other; the deck gives no spread, so no more is said.",
    )
