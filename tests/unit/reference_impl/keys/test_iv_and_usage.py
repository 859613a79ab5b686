"""IVs are never given out twice, and keys stop at their limits."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from carnet_ref.crypto import KeyMaterialError
from carnet_ref.keys import IvCounter, IvExhaustedError, KeyExhaustedError, KeyUsage, UsageLimits, UsageState
from carnet_ref.keys.iv import LAST_CHANNEL, LAST_MESSAGE


def test_an_iv_is_message_then_channel_little_endian_and_masked() -> None:
    assert IvCounter(channel=0x0807060504030201, message=0x0D0C0B0A - 1).advance() == bytes.fromhex(
        "0a0b0c0d 0102030405060708"
    )
    assert IvCounter(channel=0, mask=b"\xff" * 12).advance() == b"\xfe" + b"\xff" * 11


def test_the_message_counter_is_incremented_before_the_first_message() -> None:
    assert IvCounter(channel=0).advance() == bytes([1]) + bytes(11)


def test_the_message_counter_stops_hard() -> None:
    ivs = IvCounter(channel=3, message=LAST_MESSAGE - 1)
    ivs.advance()
    with pytest.raises(IvExhaustedError):
        ivs.advance()


def test_a_channel_past_the_last_one_is_refused() -> None:
    assert IvCounter(LAST_CHANNEL).channel == LAST_CHANNEL
    with pytest.raises(KeyMaterialError):
        IvCounter(LAST_CHANNEL + 1)


def test_a_counter_never_goes_back() -> None:
    ivs = IvCounter(0, message=5)
    ivs.skip_to(9)
    assert ivs.message == 9
    with pytest.raises(KeyMaterialError):
        ivs.skip_to(8)


@given(
    st.lists(st.one_of(st.just("advance"), st.just("next channel"), st.integers(0, 50)), max_size=60),
    st.binary(min_size=12, max_size=12),
)
def test_no_iv_is_given_out_twice(steps: list[str | int], mask: bytes) -> None:
    ivs, seen = IvCounter(1, mask=mask), set[bytes]()
    for step in steps:
        if step == "next channel":
            ivs = IvCounter(ivs.channel + 1, mask=mask)
        elif isinstance(step, int):
            ivs.skip_to(ivs.message + step)
        else:
            iv = ivs.advance()
            assert iv not in seen
            seen.add(iv)


@pytest.mark.parametrize(("exponent", "upper"), [(50, 777_472_127_993), (60, 24_296_003_999), (65, 4_294_967_295)])
def test_limits_are_the_driver_s(exponent: int, upper: int) -> None:
    assert UsageLimits.for_advantage(exponent) == UsageLimits(upper - 1_000_000_000, upper)


def test_a_limit_that_nobody_gave_is_refused() -> None:
    with pytest.raises(KeyMaterialError):
        UsageLimits.for_advantage(61)
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
