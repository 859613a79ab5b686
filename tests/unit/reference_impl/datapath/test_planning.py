"""Planning an epoch: schedules by example, what a visit costs, what keys carry, and the link as measured."""

import itertools
import random
from dataclasses import replace
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from carnet_ref.crypto.bounds import log2
from carnet_ref.crypto.primitives import KeyMaterialError
from carnet_ref.datapath import key_budget
from carnet_ref.datapath.figures import FIGURES, Figure, Standing
from carnet_ref.datapath.key_budget import (
    ORDER_BYTES,
    ORDERS_OF_A_HAND_OVER,
    RECORD,
    RECORDS,
    KeyDemand,
    Target,
    capacity,
    job_load,
    room,
    session_load,
    set_up_load,
)
from carnet_ref.datapath.planning import MOST_CHUNKS, Demand, break_even_buffer, largest_buffer, plan, rotations_forced
from carnet_ref.datapath.quantities import NO_BYTES, NO_TIME, Duration, QuantityError, Rate, Size
from carnet_ref.datapath.schedule import (
    Costs,
    Overlap,
    Schedule,
    Stage,
    StageCost,
    Task,
    Transfer,
    completion,
    makespan,
    sourced_costs,
)
from carnet_ref.datapath.schedules import confidential_io, speculation
from carnet_ref.datapath.schedules.ring import Ring, piece_sent, piece_sizes, ring_all_reduce
from carnet_ref.datapath.schedules.sharing import Journey, conventional, gpu_travelling, shared_model
from carnet_ref.datapath.schedules.speculation import Action, Speculation, speculative
from carnet_ref.datapath.throughput import Buffers, Throughput, bare_seconds, link_seconds, measure
from carnet_ref.keys import Budget, UsageLimits
from carnet_ref.spdm.secured import LAST_SEQUENCE, MAX_PAYLOAD
from carnet_ref.systems.gpu_travelling import orders
from carnet_ref.systems.gpu_travelling.deployment import holder_names
from carnet_ref.systems.gpu_travelling.roles import custody
from tests.fixtures.asymmetric import Split, asymmetric, tee_only
from tests.fixtures.datapath import critical_seconds
from tests.fixtures.worlds import ChainTrainer, FastDeployment, world_of

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


def test_rotations_and_hand_overs_are_counted_to_the_last_message_and_share() -> None:
    assert rotations_forced(Size.parse("44 TiB")) == 124
    almost_two_messages = 2 * (2**16 + 1) - 1
    assert rotations_forced(MIB * 2, UsageLimits(1, almost_two_messages)) == 1
    assert DEMAND.hand_overs == 16
    assert replace(DEMAND, dataset=Size(5), holders=4).hand_overs == 4
    assert replace(DEMAND, holders=3).hand_overs == 18


@pytest.mark.parametrize(("messages", "rotations"), [(1, 0), (2, 0), (3, 1), (4, 1), (5, 2)])
def test_a_key_rotates_just_before_its_limit(messages: int, rotations: int) -> None:
    two_messages = 2 * (2**16 + 1)
    assert rotations_forced(MIB * messages, UsageLimits(1, two_messages)) == rotations


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


def test_a_lease_that_no_visit_meets_is_refused_and_allows_no_more_than_a_gpu_holds() -> None:
    with pytest.raises(QuantityError, match="longer than"):
        plan(replace(DEMAND, lease=Duration(0.01)))
    assert not plan(replace(DEMAND, lease=Duration(1.0))).lease_holds
    assert largest_buffer(Duration(3600.0)) == MIB * MOST_CHUNKS
    assert largest_buffer(Duration(0.5)) == NO_BYTES


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
        lambda: confidential_io.Fastrack(frozenset(), width=0),
        lambda: confidential_io.break_even_overhead(Transfer(Size(1), Size(1)), FREE, confidential_io.BASE),
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
        return FREE.with_costs({stage: StageCost(rate=Rate(rate)) for stage, rate in rates.items()})

    split = Split(4, Size(10**6), 16, 1)
    assert makespan(tee_only(split, costs(1e9))) > 5 * makespan(asymmetric(split, costs(1e9)))
    assert makespan(tee_only(split, costs(1e6))) < makespan(asymmetric(split, costs(1e6)))


def seconds_each(**of_stage: float) -> Costs:
    """Return costs of a fixed time for the stages named, and nothing for the others."""
    return FREE.with_costs({Stage[name]: StageCost(Duration(seconds)) for name, seconds in of_stage.items()})


def test_a_visit_goes_out_provisions_comes_home_trains_and_scrubs() -> None:
    journey = Journey([Transfer(Size(1), Size(1))], scrubbed=Size(1))
    assert [task.stage for task in gpu_travelling(journey, FREE).tasks] == [
        Stage.ATTESTATION,
        Stage.OVERHEAD,
        Stage.ROTATION,
        Stage.MUX_SWITCH,
        Stage.HOLDER_ENCRYPT,
        Stage.BOUNCE_COPY,
        Stage.PCIE,
        Stage.GPU_VERIFY,
        Stage.GPU_DECRYPT,
        Stage.MUX_SWITCH,
        Stage.ROTATION,
        Stage.COMPUTE,
        Stage.SCRUB,
    ]


def test_each_schedule_takes_as_long_as_its_stages_say() -> None:
    leg = Transfer(Size(2), Size(1))
    costs = seconds_each(SCRUB=5.0, PCIE=1.0)
    assert makespan(gpu_travelling(Journey([leg, leg], Size(1), attests=False), costs)) == 2 * (2 + 5)
    costs = seconds_each(NETWORK=3.0, HOLDER_ENCRYPT=1.0, PCIE=2.0)
    times = [makespan(conventional(Transfer(Size(4), Size(1), overlap), costs)) for overlap in Overlap]
    assert times == [4 * 6, 6 + 3 * 3]
    costs = seconds_each(PCIE=1.0, ROTATION=7.0)
    assert makespan(conventional(Transfer(Size(4), Size(1), rotate_every=2), costs)) == 2 + 7 + 2
    costs = seconds_each(NETWORK=1.0)
    assert makespan(shared_model(Transfer(Size(1), Size(1)), 3, 2, costs)) == 2 * 3 * 2
    transfer = Transfer(Size.parse("64 MiB"), Size.parse("1 MiB"))
    shares = critical_seconds(conventional(transfer, sourced_costs(Rate.parse("100 Mbit/s"))))
    assert shares[Stage.NETWORK] / sum(shares.values()) > 0.99


def test_a_bounce_buffer_is_free_once_its_chunk_is_across() -> None:
    costs = seconds_each(PCIE=10.0)
    schedule = conventional(Transfer(Size(3), Size(1), buffers=1), costs)
    timing = completion(schedule)
    copies = [timing.starts[at] for at, task in enumerate(schedule.tasks) if task.stage is Stage.BOUNCE_COPY]
    assert copies == [0.0, 10.0, 20.0]
    free = completion(conventional(Transfer(Size(3), Size(1)), costs))
    assert [free.starts[at] for at, task in enumerate(schedule.tasks) if task.stage is Stage.BOUNCE_COPY] == [0.0] * 3


@pytest.mark.parametrize(
    ("on", "seconds"),
    [
        (frozenset[confidential_io.Optimisation](), 2 * (1 + 1 + 2 + 8 + 1)),
        (frozenset({confidential_io.Optimisation.DIRECT}), 2 * (2 + 8 + 1)),
        (frozenset({confidential_io.Optimisation.PARALLEL}), 2 * (1 + 1 + 2 + 2 + 1)),
        (frozenset({confidential_io.Optimisation.OVERLAPPED}), 1 + 1 + 2 + 8 + 8 + 1),
        (frozenset(confidential_io.Optimisation), 2 + 2 + 2 + 1),
    ],
)
def test_each_optimisation_takes_off_its_own_part(on: frozenset[confidential_io.Optimisation], seconds: float) -> None:
    rates = {Stage.CPU_DECRYPT: 1.0, Stage.RE_ENCRYPT: 1.0, Stage.PCIE: 2.0, Stage.GPU_VERIFY: 8.0}
    per_byte = {stage: StageCost(NO_TIME, Rate(1 / cost)) for stage, cost in {**rates, Stage.GPU_DECRYPT: 1.0}.items()}
    got = makespan(
        confidential_io.confidential(
            Transfer(Size(2), Size(1)), FREE.with_costs(per_byte), confidential_io.Fastrack(on, 4)
        )
    )
    assert got == pytest.approx(seconds)


def test_a_right_guess_hides_sealing_and_a_wrong_or_stale_one_is_flushed() -> None:
    costs = seconds_each(RE_ENCRYPT=3.0, PCIE=1.0, COMPUTE=4.0)
    block, ahead = Size(1), Speculation(window=1)
    assert makespan(speculative([1, 2], [1, 2], block, costs)) == 2 * (3 + 1 + 4)
    assert makespan(speculative([1, 2], [1, 2], block, costs, ahead)) == (3 + 1 + 4) + (1 + 4)
    actions = [move.action for move in speculation.plan([1, 2], [1, 5], ahead)]
    assert actions == [Action.SEAL_AND_SEND, Action.SPECULATE, Action.FLUSH, Action.SEAL_AND_SEND]
    actions = [move.action for move in speculation.plan([1, 2], [1, 2], Speculation(window=1, gap=2))]
    assert actions == [Action.SEAL_AND_SEND, Action.SPECULATE, Action.NOP, Action.NOP, Action.SEND]
    moves = speculation.plan([1, 2], [1, 2], Speculation(window=1), [frozenset(), frozenset({2})])
    assert [move.action for move in moves[2:]] == [Action.FLUSH, Action.SEAL_AND_SEND]


def test_a_ring_takes_the_closed_formula_and_its_pieces_go_round() -> None:
    """2(N − 1)·⌈S/b⌉·(what a hop costs) when computation costs nothing. Source: arXiv 2501.11771."""
    costs = seconds_each(GPU_ENCRYPT=1.0, PEER_LINK=2.0, GPU_VERIFY=3.0, GPU_DECRYPT=4.0)
    for ranks, buckets in ((2, 1), (4, 3), (5, 2)):
        ring = Ring(ranks, Size(40 * buckets), Size(40))
        assert makespan(ring_all_reduce(ring, costs)) == 2 * (ranks - 1) * buckets * 10
    assert [size.octets for size in piece_sizes(Size(10), 4)] == [3, 3, 2, 2]
    for ranks in (2, 3, 5):
        for rank in range(ranks):
            scattered = [piece_sent(rank, step, ranks) for step in range(ranks - 1)]
            assert len(set(scattered)) == ranks - 1
            assert (rank + 1) % ranks not in scattered


SOURCE = random.Random(1).randbytes


def ticks() -> float:
    """Stand in for a clock: every reading is a second later."""
    return float(next(_COUNT))


_COUNT = itertools.count()


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("run", [link_seconds, bare_seconds])
def test_every_byte_comes_out_and_the_clock_is_the_one_passed_in(threads: int, run: object) -> None:
    assert callable(run)
    buffers = Buffers(Size(40 * 64), Size(64), SOURCE)
    with pytest.raises(RuntimeError, match="other bytes"):
        buffers.check()
    assert run(buffers, threads, SOURCE, ticks) == 1.0
    buffers.check()


def test_a_measurement_compares_neighbours() -> None:
    got = measure(Size(1024), Size(256), 2, 3, SOURCE, ticks)
    assert got == Throughput(Size(256), 2, got.link, got.bare, 1.0)
    assert got.link.bytes_per_second == got.bare.bytes_per_second == 1024


@pytest.mark.parametrize(
    ("volume", "chunk", "threads", "rounds"),
    [(100, 64, 1, 1), (0, 64, 1, 1), (64, 0, 1, 1), (64, 64, 0, 1), (64, 64, 3, 1), (64, 64, 1, 0)],
)
def test_an_absurd_measurement_is_refused(volume: int, chunk: int, threads: int, rounds: int) -> None:
    with pytest.raises(QuantityError):
        measure(Size(volume), Size(chunk), threads, rounds, SOURCE, ticks)


DECK = KeyDemand(Size.parse("44 TiB"), Size.parse("256 MiB"), 7, Size.parse("498 MB"), 60)
DEMANDS = st.builds(
    KeyDemand,
    dataset=st.integers(1, 2**45).map(Size),
    buffer=st.integers(2**16, 2**32).map(Size),
    holders=st.integers(1, 7),
    model=st.integers(1, 2**32).map(Size),
    exponent=st.integers(50, 65),
)


def test_seven_engines_carry_2_7_terabytes_and_a_buffer_is_counted_as_its_messages_are() -> None:
    assert DECK.bytes_under_one_key == 370_721 * 2**20
    assert DECK.bytes_under_one_key == pytest.approx(389e9, rel=1e-3)
    assert 7 * DECK.bytes_under_one_key == pytest.approx(2.7e12, rel=1e-2)
    for size in (1, 16, 17, 2**20 - 1, 2**20, 2**20 + 1, 256 * 2**20):
        whole, rest = divmod(size, 2**20)
        sizes = [2**20] * whole + [rest] * (rest > 0)
        assert replace(DECK, buffer=Size(size)).visit == Budget.of(sizes).units


def test_what_the_deck_s_example_takes() -> None:
    """Under the driver's limits the bound on all keys together is far above what the driver allows of each."""
    found = {
        (schedule, target): capacity(DECK, schedule, target) for schedule in key_budget.Schedule for target in Target
    }
    engine = {target: found[key_budget.Schedule.ENGINE_PER_HOLDER, target] for target in Target}
    assert [one and (one.hand_overs, one.sessions, one.ended_by) for one in engine.values()] == [
        (9_723, 19, "holders' keys"),
        (1_904, 95, "2^-60"),
        (14, 12_874, "2^-60"),
    ]
    assert [one and round(log2(one.job), 1) for one in engine.values()] == [-51.1, -53.4, -60.2]
    for target in Target:
        master = found[key_budget.Schedule.SEALED_UNDER_MASTER, target]
        assert master is not None
        assert (master.hand_overs, master.sessions, round(log2(master.job), 1)) == (180_229, 1, -60.6)


def test_each_kind_of_key_may_be_what_ends_a_session() -> None:
    engine, master = (room(DECK, schedule) for schedule in key_budget.Schedule)
    assert (engine["holders' keys"], engine["the orchestrator's key"]) == (9_723, 354_988)
    assert master == {"the session's keys": engine["the session's keys"]}
    large = replace(DECK, buffer=Size.parse("64 GB"))
    found = capacity(large, key_budget.Schedule.ENGINE_PER_HOLDER, Target.DRIVER)
    assert found is not None
    assert (found.hand_overs, found.ended_by) == (42, "holders' keys")
    small = replace(DECK, dataset=Size.parse("1 GiB"))
    assert (done := capacity(small, key_budget.Schedule.SEALED_UNDER_MASTER, Target.JOB)) is not None
    assert (done.sessions, done.ended_by) == (1, "the dataset")


@settings(deadline=None, max_examples=60)
@given(DEMANDS, st.sampled_from(key_budget.Schedule), st.sampled_from(Target))
def test_a_session_carries_the_most_that_stays_within_every_limit(
    demand: KeyDemand, schedule: key_budget.Schedule, target: Target
) -> None:
    bound = Fraction(1, 2**demand.exponent)
    most = min(*room(demand, schedule).values(), demand.hand_overs)

    def within(hand_overs: int) -> bool:
        load = (session_load if target is Target.SESSION else job_load)(demand, schedule, hand_overs)
        return hand_overs <= most and (target is Target.DRIVER or load.integrity <= bound)

    found = capacity(demand, schedule, target)
    if found is None:
        assert not within(1)
        return
    assert within(found.hand_overs)
    assert not within(found.hand_overs + 1)
    assert found.most <= demand.limits.upper, "no key is used past the driver's limit"
    assert found.sessions * found.hand_overs >= demand.hand_overs


def test_the_records_that_set_a_session_up_stay_far_below_the_limit_of_a_key() -> None:
    """They are counted by their sequence number, whose end is a hard stop; even full ones stay below."""
    assert RECORDS == LAST_SEQUENCE + 1
    assert Budget.of([MAX_PAYLOAD + 3]).units + 1 <= RECORD
    assert UsageLimits.for_advantage(65).lower > RECORDS * RECORD
    assert set_up_load().integrity <= Fraction(1, 2**69)


@pytest.mark.parametrize("schedule", ["engine-per-holder", "sealed-under-master"])
def test_a_hand_over_takes_no_more_orders_than_the_budget_says(schedule: str, monkeypatch: pytest.MonkeyPatch) -> None:
    said, real = list[int](), orders.Sealed.seal

    def seal(sealed: orders.Sealed, place: orders.Place, message: bytes) -> bytes:
        said.append(len(message))
        return real(sealed, place, message)

    monkeypatch.setattr(orders.Sealed, "seal", seal)
    rounds = 4
    world, _ = world_of(FastDeployment(holder_names(2), rounds, schedule, save_every=1, trainer=ChainTrainer()))
    world.run()
    assert world.failure == ""
    assert max(said) <= ORDER_BYTES
    assert len(said) <= 2 * (rounds + 1) * ORDERS_OF_A_HAND_OVER
    for usage in world.orchestrator.job.live.own_usage.values():
        assert usage.operations <= (rounds + 1) * ORDERS_OF_A_HAND_OVER
    assert Budget.of([ORDER_BYTES] * ORDERS_OF_A_HAND_OVER) == custody.ORDERS


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"holders": 0}, "expected at least one holder, not 0"),
        ({"buffer": Size(0)}, "the buffer is empty"),
        ({"buffer": Size.parse("389 GB")}, "a key protects 24,296,003,999"),
        ({"model": Size.parse("389 GB")}, "a model of"),
    ],
)
def test_a_demand_that_no_key_can_meet_is_refused(change: dict[str, Any], said: str) -> None:
    with pytest.raises(QuantityError, match=said):
        replace(DECK, **change)


def test_there_are_engines_hand_overs_and_advantages_up_to_a_limit() -> None:
    with pytest.raises(QuantityError, match="expected at most 1,000,000,000 hand-overs"):
        capacity(replace(DECK, buffer=Size(1)), key_budget.Schedule.SEALED_UNDER_MASTER, Target.JOB)
    with pytest.raises(KeyMaterialError, match="knows exponents from 50 to 65"):
        replace(DECK, exponent=49)
    many = replace(DECK, holders=8)
    with pytest.raises(QuantityError, match="expected 1 to 7 holders, which have an engine each, not 8"):
        capacity(many, key_budget.Schedule.ENGINE_PER_HOLDER, Target.DRIVER)
    assert capacity(many, key_budget.Schedule.SEALED_UNDER_MASTER, Target.DRIVER) is not None
