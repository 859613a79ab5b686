"""Keys stop at their limits, whoever uses them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from carnet_ref.crypto.primitives import KeyMaterialError
from carnet_ref.keys import (
    Budget,
    Direction,
    H100KeySchedule,
    KeyExhaustedError,
    KeyLedger,
    KeyUsage,
    UsageLimits,
    UsageState,
)
from carnet_ref.keys.usage import key_name
from carnet_ref.systems.gpu_travelling.keys import key_schedule
from tests.fixtures.worlds import draws


@pytest.mark.parametrize(("exponent", "upper"), [(50, 777_472_127_993), (60, 24_296_003_999), (65, 4_294_967_295)])
def test_limits_are_the_driver_s(exponent: int, upper: int) -> None:
    assert UsageLimits.for_advantage(exponent) == UsageLimits(upper - 1_000_000_000, upper)


def test_a_limit_that_nobody_gave_is_refused() -> None:
    with pytest.raises(KeyMaterialError):
        UsageLimits.for_advantage(49)
    with pytest.raises(KeyMaterialError):
        UsageLimits(2, 1)


def test_a_unit_is_sixteen_bytes_or_an_operation() -> None:
    usage = KeyUsage()
    usage.count(1 << 20)
    assert usage.units == 65_536 + 1
    for _ in range(16):
        usage.count(1)
    assert usage.units == 65_536 + 1 + 1 + 16


def test_388_gigabytes_in_one_operation_exhaust_a_key_by_default() -> None:
    usage = KeyUsage()
    usage.count(24_296_003_998 * 16)
    assert usage.units == 24_296_003_999
    before = usage.used_bytes, usage.operations
    with pytest.raises(KeyExhaustedError) as refused:
        usage.count(0)
    assert refused.value.limit == 24_296_003_999
    assert (usage.used_bytes, usage.operations) == before


def test_rotation_is_due_from_the_lower_limit() -> None:
    usage = KeyUsage(UsageLimits(10, 20), used_bytes=16 * 8, operations=1)
    before = usage.state
    usage.count(15)
    assert (before, usage.state) == (UsageState.IDLE, UsageState.ROTATION_DUE)


def test_a_share_is_counted_in_messages_and_in_whole_blocks() -> None:
    assert Budget.of([1, 16, 17]) == Budget(3, 1 + 1 + 2 + 3)
    assert Budget(3, 7).covers(Budget(3, 7))
    assert not Budget(3, 7).covers(Budget(4, 7))
    assert not Budget(3, 7).covers(Budget(3, 8))


@pytest.mark.mends("H5")
def test_what_is_lent_counts_as_used_until_the_borrower_says_what_was() -> None:
    usage = KeyUsage(UsageLimits(50, 100, messages=10), used_bytes=1, operations=2)
    lent = usage.lend(Budget(messages=5, units=1_000))
    assert (lent, usage.left) == (Budget(5, 97), Budget(3, 0)), "a block that was begun is not lent"
    with pytest.raises(KeyExhaustedError):
        usage.count(16)
    usage.settle(lent, 31, 3)
    assert (usage.operations, usage.used_bytes, usage.left) == (5, 32, Budget(5, 93))


@pytest.mark.mends("H5")
@pytest.mark.parametrize(("size", "operations"), [(0, 6), (16 * 98, 1)], ids=["messages", "units"])
def test_a_borrower_that_used_more_than_it_was_lent_is_refused(size: int, operations: int) -> None:
    usage = KeyUsage(UsageLimits(50, 100, messages=10))
    lent = usage.lend(Budget(5, 98))
    with pytest.raises(KeyExhaustedError):
        usage.settle(lent, size, operations)
    assert usage.left == Budget(5, 2), "all that was lent still counts as used"


@given(
    st.integers(1, 60),
    st.integers(1, 200),
    st.lists(st.tuples(st.integers(0, 40), st.lists(st.integers(0, 70), max_size=5)), max_size=8),
)
def test_no_sequence_of_own_and_borrowed_use_passes_the_limit(
    messages: int, units: int, turns: list[tuple[int, list[int]]]
) -> None:
    """A borrower stops within its share, and whatever it says then fits."""
    usage, sizes = KeyUsage(UsageLimits(units, units, messages)), list[int]()

    def seal(share: KeyUsage, size: int) -> bool:
        try:
            share.count(size)
        except KeyExhaustedError:
            return False
        sizes.append(size)
        return True

    for own, borrowed in turns:
        seal(usage, own)
        lent = usage.lend(Budget(3, 30))
        if lent.messages and lent.units:
            share = KeyUsage(UsageLimits.within(lent))
            used = [size for size in borrowed if seal(share, size)]
            usage.settle(lent, sum(used), len(used))
        assert len(sizes) <= messages
        assert sum(sizes) // 16 + len(sizes) <= units


@pytest.mark.mends("H5")
def test_a_key_that_comes_back_goes_on_with_its_count() -> None:
    schedule = key_schedule("engine-per-holder", H100KeySchedule(bytes(range(32))))
    ledger, random = KeyLedger(UsageLimits(5, 10)), draws("orders")
    for owner in ("ana", "orchestrator", "ana", "orchestrator"):
        schedule.follow(schedule.order(owner, random))
        ledger.usage(schedule.keys, Direction.H2D).count(0, 2)
    assert ledger.usage(schedule.keys, Direction.H2D).operations == 4
    assert ledger.usage(schedule.keys, Direction.D2H).operations == 0, "each direction has a key of its own"
    assert ledger.unused().operations == 0


@pytest.mark.mends("H5")
@pytest.mark.parametrize("name", ["ratchet", "sealed-under-master", "wrapped-under-old"])
def test_a_new_key_is_counted_from_nothing(name: str) -> None:
    schedule = key_schedule(name, H100KeySchedule(bytes(range(32))))
    ledger = KeyLedger(UsageLimits(5, 10))
    ledger.usage(schedule.keys, Direction.H2D).count(0, 9)
    keys = schedule.follow(schedule.order("ana", draws("orders")))
    assert ledger.usage(keys, Direction.H2D).operations == 0


def test_the_name_of_a_key_says_nothing_about_it() -> None:
    key = bytes(range(32))
    assert key_name(key) == key_name(key) != key_name(bytes(32))
    assert key_name(key) not in {key[:16], key[16:], H100KeySchedule(key).key("Lce00_h2d_user")[:16]}
