"""Planning an epoch: hand-overs, rotations that the key limit forces, the lease, and when a visit pays."""

from dataclasses import replace

import pytest

from carnet_ref.datapath.costs import Costs, StageCost, sourced_costs
from carnet_ref.datapath.figures import FIGURES, Figure, Standing
from carnet_ref.datapath.maxplus import makespan
from carnet_ref.datapath.pipeline import Transfer
from carnet_ref.datapath.planning import MOST_CHUNKS, Demand, break_even_buffer, largest_buffer, plan, rotations_forced
from carnet_ref.datapath.quantities import NO_BYTES, Duration, QuantityError, Rate, Size
from carnet_ref.datapath.schedule import Schedule, Stage, Task
from carnet_ref.datapath.schedules.asymmetric import Split, asymmetric, tee_only
from carnet_ref.datapath.schedules.confidential_io import BASE, Fastrack, break_even_overhead
from carnet_ref.datapath.schedules.ring import Ring
from carnet_ref.datapath.schedules.sharing import Journey, conventional, gpu_travelling, shared_model
from carnet_ref.datapath.schedules.speculation import Speculation, speculative
from carnet_ref.keys.usage import UsageLimits

MIB = Size(2**20)
DEMAND = Demand(
    dataset=Size.parse("1 GiB"),
    buffer=Size.parse("64 MiB"),
    holders=4,
    network=Rate.parse("10 Gbit/s"),
    lease=Duration(60.0),
    model=Size.parse("10 MB"),
    rounds=2,
)


def test_fineweb_takes_124_rotations_under_one_key_after_another() -> None:
    assert rotations_forced(Size.parse("44 TiB")) == 124


@pytest.mark.parametrize(("messages", "rotations"), [(1, 0), (2, 0), (3, 1), (4, 1), (5, 2)])
def test_a_key_rotates_just_before_its_limit(messages: int, rotations: int) -> None:
    two_messages = 2 * (2**16 + 1)
    assert rotations_forced(MIB * messages, UsageLimits(1, two_messages)) == rotations


def test_every_message_counts_one_more_than_its_blocks() -> None:
    almost_two_messages = 2 * (2**16 + 1) - 1
    assert rotations_forced(MIB * 2, UsageLimits(1, almost_two_messages)) == 1


def test_hand_overs_cover_every_holder_s_share() -> None:
    assert DEMAND.hand_overs == 16
    assert replace(DEMAND, dataset=Size(5), holders=4).hand_overs == 4
    assert replace(DEMAND, holders=3).hand_overs == 18


def test_an_epoch_is_its_visits_and_the_model_s_moves_and_dearer_figures_make_it_longer() -> None:
    made = plan(DEMAND)
    visits = 16 * made.visit.nominal.seconds
    assert made.sessions == 1
    assert made.travelling.nominal.seconds == pytest.approx(visits + made.model_moves.nominal.seconds)
    for span in (made.visit, made.model_moves, made.conventional, made.shared_model):
        assert span.low < span.nominal < span.high
    assert made.rotations_for_visits == 32
    assert made.lease_holds


@pytest.mark.parametrize("megabytes", [1, 100, 1000])
def test_a_larger_model_makes_sessions_longer_and_no_visit(megabytes: int) -> None:
    """It crosses once in each direction and session; an epoch of the deck's dataset has many visits in one session."""
    demand = replace(DEMAND, dataset=Size.parse("4 TiB"))
    small, large = plan(demand), plan(replace(demand, model=Size(megabytes * 10**6)))
    assert large.visit == small.visit
    assert large.sessions == small.sessions == 3
    more = large.model_moves.nominal.seconds - small.model_moves.nominal.seconds
    assert large.travelling.nominal.seconds - small.travelling.nominal.seconds == pytest.approx(3 * more)


def test_a_lease_that_no_visit_meets_is_refused_and_a_tight_one_is_flagged() -> None:
    with pytest.raises(QuantityError, match="longer than"):
        plan(replace(DEMAND, lease=Duration(0.01)))
    assert not plan(replace(DEMAND, lease=Duration(1.0))).lease_holds


@pytest.mark.parametrize(
    "change",
    [
        {"holders": 0},
        {"rounds": 0},
        {"holders": 10**400},
        {"rounds": 10**400},
        {"dataset": Size(0)},
        {"buffer": Size(0)},
        {"model": Size(0)},
        {"buffer": Size.parse("1 TiB")},
    ],
)
def test_an_absurd_demand_is_refused(change: dict[str, object]) -> None:
    with pytest.raises(QuantityError):
        replace(DEMAND, **change)  # type: ignore[arg-type]  # every row is a field of the demand


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"dataset": Size.parse("44 TiB"), "buffer": Size(1)}, "an epoch of GPU Travelling takes too long"),
        ({"dataset": Size.parse("44 TiB"), "network": Rate(1.0)}, "sending the data takes too long"),
        ({"network": Rate(1e-9)}, "sending a buffer takes too long"),
        ({"rounds": 10**9, "network": Rate(1e3)}, "sending the model takes too long"),
    ],
)
def test_an_epoch_of_centuries_is_refused(change: dict[str, object], message: str) -> None:
    with pytest.raises(QuantityError, match=message):
        plan(replace(DEMAND, **change))  # type: ignore[arg-type]  # every row is a field of the demand


@pytest.mark.parametrize("network", [Rate.parse("10 Gbit/s"), Rate.parse("100 GB/s")])
def test_a_visit_pays_from_the_break_even_buffer_on(network: Rate) -> None:
    even = break_even_buffer(network)
    costs = sourced_costs(network)
    for size, pays in ((even, True), (Size(even.octets - 2 * MIB.octets), False)):
        visit = makespan(gpu_travelling(Journey([Transfer(size, MIB)], scrubbed=size), costs))
        assert (visit <= makespan(conventional(Transfer(size, MIB), costs))) is pays


@pytest.mark.parametrize("seconds", [0.72, 0.8, 1.0])
def test_the_largest_buffer_ends_within_the_lease_and_a_larger_one_does_not(seconds: float) -> None:
    largest = largest_buffer(Duration(seconds))
    costs = sourced_costs(Rate(1.0))
    for size, ends in ((largest, True), (Size(largest.octets + 2 * MIB.octets), False)):
        visit = makespan(gpu_travelling(Journey([Transfer(size, MIB)], scrubbed=size), costs))
        assert (visit <= seconds) is ends


def test_a_lease_allows_no_more_than_a_gpu_holds_and_perhaps_nothing() -> None:
    assert largest_buffer(Duration(3600.0)) == MIB * MOST_CHUNKS
    assert largest_buffer(Duration(0.5)) == NO_BYTES


FREE = Costs({stage: StageCost() for stage in Stage})


@pytest.mark.parametrize(
    "absurd",
    [
        lambda: Transfer(Size(0), Size(1)),
        lambda: Transfer(Size(1), Size(0)),
        lambda: Transfer(Size(1), Size(1), buffers=0),
        lambda: Transfer(Size(1), Size(1), rotate_every=0),
        lambda: gpu_travelling(Journey([], Size(0)), FREE),
        lambda: shared_model(Transfer(Size(1), Size(1)), 0, 1, FREE),
        lambda: shared_model(Transfer(Size(1), Size(1)), 1, 0, FREE),
        lambda: Fastrack(frozenset(), width=0),
        lambda: break_even_overhead(Transfer(Size(1), Size(1)), FREE, BASE),
        lambda: Ring(1, Size(1), Size(1)),
        lambda: Ring(2, Size(1), Size(0)),
        lambda: Speculation(window=-1),
        lambda: Speculation(gap=-1),
        lambda: Speculation(workers=0),
        lambda: speculative([], [], Size(1), FREE),
        lambda: speculative([1], [1], Size(0), FREE),
        lambda: Split(0, Size(1), 1, 1),
        lambda: Split(1, Size(1), 1, 2),
        lambda: Schedule("empty", ()),
        lambda: Schedule("backwards", (Task(Stage.PCIE, "a", 0.0, (0,)),)),
        lambda: Schedule("negative", (Task(Stage.PCIE, "a", -1.0),)),
        lambda: Schedule("endless", (Task(Stage.PCIE, "a", float("inf")),)),
        lambda: Schedule("no number", (Task(Stage.PCIE, "a", float("nan")),)),
        lambda: Costs({}).seconds(Stage.PCIE),
        lambda: Figure("upside down", "s", 2.0, 1.0, 3.0, Standing.ASSUMED, "nowhere"),
    ],
)
def test_what_makes_no_sense_is_refused(absurd: object) -> None:
    assert callable(absurd)
    with pytest.raises(QuantityError):
        absurd()


def test_every_figure_has_a_source_and_an_unpublished_one_is_an_interval() -> None:
    for figure in FIGURES.values():
        assert figure.source
        if figure.standing is Standing.ASSUMED:
            assert figure.low < figure.high


def test_the_asymmetric_split_pays_while_the_bus_is_faster_than_the_tee() -> None:
    def costs(bus: float) -> Costs:
        rates = {Stage.TEE_COMPUTE: 1e6, Stage.COMPUTE: 1e9, Stage.PCIE: bus}
        return FREE.changed({stage: StageCost(rate=Rate(rate)) for stage, rate in rates.items()})

    split = Split(4, Size(10**6), 16, 1)
    assert makespan(tee_only(split, costs(1e9))) > 5 * makespan(asymmetric(split, costs(1e9)))
    assert makespan(tee_only(split, costs(1e6))) < makespan(asymmetric(split, costs(1e6)))
