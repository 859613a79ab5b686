"""Keys stop at their limits, which are the driver's and follow from the bounds that drafts and standards work out."""

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from carnet_ref.crypto import bounds
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
    key_name,
)
from carnet_ref.systems.gpu_travelling.keys import key_schedule
from tests.fixtures.worlds import draws


@pytest.mark.parametrize(("exponent", "upper"), [(50, 777_472_127_993), (60, 24_296_003_999), (65, 4_294_967_295)])
def test_limits_are_the_driver_s(exponent: int, upper: int) -> None:
    assert UsageLimits.for_advantage(exponent) == UsageLimits(upper - 1_000_000_000, upper)


def test_a_unit_is_sixteen_bytes_or_an_operation_and_a_limit_is_one_of_the_drivers() -> None:
    usage = KeyUsage()
    usage.count(1 << 20)
    assert usage.units == 65_536 + 1
    for _ in range(16):
        usage.count(1)
    assert usage.units == 65_536 + 1 + 1 + 16
    assert Budget.of([1, 16, 17]) == Budget(3, 1 + 1 + 2 + 3)
    assert Budget(3, 7).covers(Budget(3, 7))
    assert not Budget(3, 7).covers(Budget(4, 7))
    assert not Budget(3, 7).covers(Budget(3, 8))
    with pytest.raises(KeyMaterialError):
        UsageLimits.for_advantage(49)
    with pytest.raises(KeyMaterialError):
        UsageLimits(2, 1)


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
    assert ledger.new_usage().operations == 0


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


COUNTS = st.integers(1, 2**40)


@pytest.mark.parametrize("exponent", range(50, 66))
def test_the_driver_takes_the_draft_s_bound_on_one_key_to_the_nearest_unit(exponent: int) -> None:
    assert bounds.driver_units(exponent) - bounds.one_key_units(exponent) in {0, 1}
    assert abs((bounds.driver_units(exponent) + 1) ** 2 - 2 ** (129 - exponent)) <= bounds.driver_units(exponent) + 1


def test_the_driver_has_sixteen_limits() -> None:
    assert list(bounds.DRIVER_UNITS) == list(range(50, 66))
    with pytest.raises(KeyMaterialError) as refused:
        bounds.driver_units(66)
    assert str(refused.value) == "attacker advantage: 2^-66; the driver knows exponents from 50 to 65"


@given(st.integers(50, 65))
def test_the_most_units_of_one_key_are_within_its_bound_and_one_more_is_not(exponent: int) -> None:
    units = bounds.one_key_units(exponent)
    assert (
        bounds.one_key_confidentiality(units, 0)
        <= Fraction(1, 2**exponent)
        < bounds.one_key_confidentiality(units + 1, 0)
    )


def test_bounds_are_those_of_the_draft_s_examples_and_of_tls() -> None:
    """Section 6.6: at most 2^-50, messages of at most 2^7 blocks; 2^32.5 messages, and 2^64 attempts."""
    messages = round(2**32.5)
    assert bounds.log2(bounds.one_key_confidentiality(messages * 2**7, messages)) == pytest.approx(-50, abs=0.03)
    assert bounds.one_key_integrity(2**64, 2**7) <= Fraction(1, 2**50)
    load = bounds.Load(blocks=2**42 * 2**7, attempts=2**42, longest=2**7, most=2**27)
    assert bounds.log2(load.integrity) == pytest.approx(-50, abs=1e-5)
    assert bounds.log2(load.confidentiality) == pytest.approx(-51, abs=1e-5)
    records = round(2**24.5)
    assert bounds.log2(bounds.one_key_confidentiality(records * 2**10, records)) == pytest.approx(-60, abs=0.005)


@pytest.mark.parametrize(("octets", "packets"), [(2**11, 2**28), (2**16, 2**23)])
def test_a_connection_as_in_quic(octets: int, packets: int) -> None:
    """RFC 9001, B.1.1: 2 (q l)^2 / 2^128 is at most 2^-57; the draft's bound on the same is a fourth of that."""
    blocks = packets * octets // 16
    assert Fraction(2 * blocks**2, 2**128) == Fraction(1, 2**57)
    assert bounds.log2(bounds.one_key_confidentiality(blocks, packets)) == pytest.approx(-59, abs=0.03)


@given(COUNTS, st.integers(0, 2**20), st.integers(1, 2**16), st.integers(1, 64))
def test_more_of_anything_never_lowers_a_bound(blocks: int, attempts: int, longest: int, keys: int) -> None:
    load = bounds.Load(blocks * keys, attempts, longest, blocks)
    assert load.confidentiality <= load.integrity
    for more in (
        bounds.Load(blocks * keys + 1, attempts, longest, blocks),
        bounds.Load(blocks * keys, attempts + 1, longest, blocks),
        bounds.Load(blocks * keys, attempts, longest + 1, blocks),
        bounds.Load(blocks * keys, attempts, longest, blocks + 1),
    ):
        assert more.integrity >= load.integrity


@given(st.integers(2**20, 2**36), st.integers(2, 64))
def test_the_bound_on_many_keys_is_four_times_what_one_gives_for_each(blocks: int, keys: int) -> None:
    together = bounds.Load(blocks * keys, keys, 2**16, blocks)
    assert bounds.log2(together.confidentiality) == pytest.approx(
        bounds.log2(4 * keys * bounds.one_key_confidentiality(blocks, 0)), abs=1e-3
    )
