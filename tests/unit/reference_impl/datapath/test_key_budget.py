"""What a session's keys carry: the most that stays within every limit, and no more."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from carnet_ref.crypto.primitives import KeyMaterialError
from carnet_ref.datapath.key_budget import (
    RECORDS,
    KeyDemand,
    Schedule,
    Target,
    capacity,
    job_load,
    own_key_load,
    room,
    session_load,
)
from carnet_ref.datapath.quantities import QuantityError, Size
from carnet_ref.keys.bounds import log2
from carnet_ref.keys.usage import Budget, UsageLimits
from carnet_ref.spdm.records import LAST_SEQUENCE, MAX_PAYLOAD

DECK = KeyDemand(Size.parse("44 TiB"), Size.parse("256 MiB"), 7, Size.parse("498 MB"), 60)
DEMANDS = st.builds(
    KeyDemand,
    dataset=st.integers(1, 2**46).map(Size),
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
        (8_188, 23, "the session's key"),
        (1_904, 95, "2^-60"),
        (14, 12_874, "2^-60"),
    ]
    assert [one and round(log2(one.job), 1) for one in engine.values()] == [-51.3, -53.4, -60.2]
    for target in Target:
        master = found[Schedule.SEALED_UNDER_MASTER, target]
        assert master is not None
        assert (master.hand_overs, master.sessions, round(log2(master.job), 1)) == (8_188, 23, -60.5)


def test_each_kind_of_key_may_be_what_ends_a_session() -> None:
    assert room(DECK, Schedule.ENGINE_PER_HOLDER) == {
        "holders' keys": 9_723,
        "the orchestrator's key": 354_988,
        "the session's key": 8_188,
    }
    large = replace(DECK, buffer=Size.parse("64 GB"))
    found = capacity(large, Schedule.ENGINE_PER_HOLDER, Target.DRIVER)
    assert found is not None
    assert (found.hand_overs, found.ended_by) == (42, "holders' keys")
    small = replace(DECK, dataset=Size.parse("1 GiB"))
    assert (done := capacity(small, Schedule.SEALED_UNDER_MASTER, Target.JOB)) is not None
    assert (done.sessions, done.ended_by) == (1, "the dataset")


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


def test_the_session_s_own_key_stays_far_below_the_limit_of_a_key() -> None:
    """Its records are counted by their sequence number, whose end is a hard stop; even full ones stay below."""
    assert RECORDS == LAST_SEQUENCE + 1
    full = Budget.of([MAX_PAYLOAD + 3]).units + 1
    assert RECORDS * full < UsageLimits.for_advantage(65).lower
    assert own_key_load().integrity < Fraction(1, 2**80)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"holders": 8}, "expected 1 to 7 holders, which have an engine each, not 8"),
        ({"buffer": Size(0)}, "the buffer is empty"),
        ({"buffer": Size.parse("389 GB")}, "a key protects 24,296,003,999"),
        ({"model": Size.parse("389 GB")}, "a model of"),
    ],
)
def test_a_demand_that_no_key_can_meet_is_refused(change: dict[str, object], said: str) -> None:
    with pytest.raises(QuantityError, match=said):
        replace(DECK, **change)  # type: ignore[arg-type]


def test_an_advantage_that_the_driver_has_no_limit_for_is_refused() -> None:
    with pytest.raises(KeyMaterialError, match="knows exponents from 50 to 65"):
        replace(DECK, exponent=49)
