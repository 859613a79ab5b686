"""What a session's keys carry: the most that stays within every limit, and no more."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from carnet_ref.crypto.primitives import KeyMaterialError
from carnet_ref.datapath.key_budget import (
    ORDER_BYTES,
    ORDERS_OF_A_HAND_OVER,
    RECORD,
    RECORDS,
    KeyDemand,
    Schedule,
    Target,
    capacity,
    job_load,
    room,
    session_load,
    set_up_load,
)
from carnet_ref.datapath.quantities import QuantityError, Size
from carnet_ref.keys.bounds import log2
from carnet_ref.keys.usage import Budget, UsageLimits
from carnet_ref.spdm.secured import LAST_SEQUENCE, MAX_PAYLOAD
from carnet_ref.systems.gpu_travelling import orders
from carnet_ref.systems.gpu_travelling.deployment import holder_names
from carnet_ref.systems.gpu_travelling.roles import custody
from tests.fixtures.worlds import ChainTrainer, FastDeployment, world_of

DECK = KeyDemand(Size.parse("44 TiB"), Size.parse("256 MiB"), 7, Size.parse("498 MB"), 60)
DEMANDS = st.builds(
    KeyDemand,
    dataset=st.integers(1, 2**45).map(Size),
    buffer=st.integers(2**16, 2**32).map(Size),
    holders=st.integers(1, 7),
    model=st.integers(1, 2**32).map(Size),
    exponent=st.integers(50, 65),
)


def test_seven_engines_carry_2_7_terabytes_and_no_more() -> None:
    assert DECK.bytes_under_one_key == 370_721 * 2**20
    assert DECK.bytes_under_one_key == pytest.approx(389e9, rel=1e-3)
    assert 7 * DECK.bytes_under_one_key == pytest.approx(2.7e12, rel=1e-2)


def test_a_buffer_is_counted_as_its_messages_are() -> None:
    for size in (1, 16, 17, 2**20 - 1, 2**20, 2**20 + 1, 256 * 2**20):
        whole, rest = divmod(size, 2**20)
        sizes = [2**20] * whole + [rest] * (rest > 0)
        assert replace(DECK, buffer=Size(size)).visit == Budget.of(sizes).units


def test_what_the_deck_s_example_takes() -> None:
    """Under the driver's limits the bound on all keys together is far above what the driver allows of each."""
    found = {(schedule, target): capacity(DECK, schedule, target) for schedule in Schedule for target in Target}
    engine = {target: found[Schedule.ENGINE_PER_HOLDER, target] for target in Target}
    assert [one and (one.hand_overs, one.sessions, one.ended_by) for one in engine.values()] == [
        (9_723, 19, "holders' keys"),
        (1_904, 95, "2^-60"),
        (14, 12_874, "2^-60"),
    ]
    assert [one and round(log2(one.job), 1) for one in engine.values()] == [-51.1, -53.4, -60.2]
    for target in Target:
        master = found[Schedule.SEALED_UNDER_MASTER, target]
        assert master is not None
        assert (master.hand_overs, master.sessions, round(log2(master.job), 1)) == (180_229, 1, -60.6)


def test_each_kind_of_key_may_be_what_ends_a_session() -> None:
    engine, master = (room(DECK, schedule) for schedule in Schedule)
    assert (engine["holders' keys"], engine["the orchestrator's key"]) == (9_723, 354_988)
    assert master == {"the session's keys": engine["the session's keys"]}
    large = replace(DECK, buffer=Size.parse("64 GB"))
    found = capacity(large, Schedule.ENGINE_PER_HOLDER, Target.DRIVER)
    assert found is not None
    assert (found.hand_overs, found.ended_by) == (42, "holders' keys")
    small = replace(DECK, dataset=Size.parse("1 GiB"))
    assert (done := capacity(small, Schedule.SEALED_UNDER_MASTER, Target.JOB)) is not None
    assert (done.sessions, done.ended_by) == (1, "the dataset")


def test_there_is_an_engine_for_seven_holders_and_a_key_under_the_master_for_any_number() -> None:
    many = replace(DECK, holders=8)
    with pytest.raises(QuantityError, match="expected 1 to 7 holders, which have an engine each, not 8"):
        capacity(many, Schedule.ENGINE_PER_HOLDER, Target.DRIVER)
    assert capacity(many, Schedule.SEALED_UNDER_MASTER, Target.DRIVER) is not None


@settings(deadline=None, max_examples=60)
@given(DEMANDS, st.sampled_from(Schedule), st.sampled_from(Target))
def test_a_session_carries_the_most_that_stays_within_every_limit(
    demand: KeyDemand, schedule: Schedule, target: Target
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


def test_more_hand_overs_than_anybody_makes_are_refused() -> None:
    with pytest.raises(QuantityError, match="expected at most 1,000,000,000 hand-overs"):
        capacity(replace(DECK, buffer=Size(1)), Schedule.SEALED_UNDER_MASTER, Target.JOB)


def test_an_advantage_that_the_driver_has_no_limit_for_is_refused() -> None:
    with pytest.raises(KeyMaterialError, match="knows exponents from 50 to 65"):
        replace(DECK, exponent=49)
