"""IVs say where they belong, and none of them is given out twice under one AES key."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from carnet_ref.crypto.primitives import KeyMaterialError
from carnet_ref.keys import Direction, EngineChannel, H100KeySchedule, Iv, IvCounter, IvExhaustedError, LinkKeys
from carnet_ref.keys.schedule import ENGINES, LAST_CHANNEL, LAST_MESSAGE, counter_after, engine_label
from carnet_ref.systems.gpu_travelling.keys import key_schedule
from tests.fixtures.worlds import draws

SESSION = H100KeySchedule(bytes(range(32)))
ONE = EngineChannel(1)
MASKS = st.binary(min_size=12, max_size=12)
CHANNELS = st.builds(
    EngineChannel,
    counter=st.one_of(st.integers(0, 3), st.integers(0, LAST_CHANNEL)),
    engine=st.integers(0, ENGINES - 1),
    direction=st.sampled_from(Direction),
    epoch=st.integers(0, 3),
)
IVS = st.builds(Iv, CHANNELS, st.one_of(st.integers(0, 3), st.integers(0, LAST_MESSAGE)))


def test_an_iv_is_message_then_channel_little_endian_and_masked() -> None:
    iv = IvCounter(EngineChannel(0x0807060504030201), message=0x0D0C0B0A - 1).advance()
    assert iv == bytes.fromhex("0a0b0c0d 0102030405060708")
    assert IvCounter(EngineChannel(0), mask=b"\xff" * 12).advance() == b"\xfe" + b"\xff" * 11


def test_the_message_counter_is_incremented_before_the_first_message() -> None:
    assert IvCounter(EngineChannel(0)).advance() == bytes([1]) + bytes(11)


def test_an_iv_states_engine_direction_epoch_channel_and_message_apart() -> None:
    schedule = key_schedule("engine-per-holder", H100KeySchedule(bytes(32)))
    for owner in ("ana", "orchestrator", "ana"):
        schedule.follow(schedule.order(owner, draws("orders")))
    ivs = schedule.keys.ivs(Direction.D2H, 6)
    ivs.advance()
    assert ivs.last == Iv(EngineChannel(counter=2, engine=1, direction=Direction.D2H, epoch=3), message=7)
    assert str(ivs.last) == "message 7 of channel 2 of engine 1 (d2h, epoch 3)"


@given(IVS, IVS, MASKS)
@example(Iv(replace(ONE, epoch=1), 5), Iv(replace(ONE, epoch=2), 5), bytes(12))
@example(Iv(EngineChannel(1), 0), Iv(EngineChannel(0), 1), bytes(12))
def test_ivs_are_the_same_exactly_if_both_counters_are(one: Iv, other: Iv, mask: bytes) -> None:
    number = int.from_bytes(mask, "little")
    same = (one.channel.counter, one.message) == (other.channel.counter, other.message)
    assert (one.masked(number) == other.masked(number)) == same


def keys_of(channel: EngineChannel, masks: tuple[bytes, bytes]) -> LinkKeys:
    """Return the keys that a session has for a channel: engine and direction name the AES key."""
    h2d, d2h = (SESSION.key(engine_label(channel.engine, way)) for way in Direction)
    return LinkKeys(channel.epoch, "ana", channel.engine, channel.counter, h2d, d2h, *masks)


@given(IVS, IVS, MASKS, MASKS)
def test_two_messages_of_a_session_never_share_key_and_iv(one: Iv, other: Iv, h2d: bytes, d2h: bytes) -> None:
    """What tells messages apart is AES key, direction, channel counter and message counter, and no epoch."""
    assume(one.message < LAST_MESSAGE)
    assume(other.message < LAST_MESSAGE)

    def place(iv: Iv) -> tuple[int, Direction, int, int]:
        return iv.channel.engine, iv.channel.direction, iv.channel.counter, iv.message

    def sealed_under(iv: Iv) -> tuple[bytes, bytes]:
        keys, way = keys_of(iv.channel, (h2d, d2h)), iv.channel.direction
        return keys.half(way), keys.ivs(way, iv.message).advance()

    assert (sealed_under(one) == sealed_under(other)) == (place(one) == place(other))


@given(st.lists(st.one_of(st.just("advance"), st.just("next channel"), st.integers(0, 50)), max_size=60), MASKS)
def test_no_iv_is_given_out_twice(steps: list[str | int], mask: bytes) -> None:
    ivs, seen = IvCounter(ONE, mask=mask), set[bytes]()
    for step in steps:
        if step == "next channel":
            after = counter_after(ivs.channel.counter, ivs.channel.engine)
            ivs = IvCounter(replace(ivs.channel, counter=after), mask=mask)
        elif isinstance(step, int):
            ivs.skip_to(ivs.message + step)
        else:
            iv = ivs.advance()
            assert iv not in seen
            seen.add(iv)


def test_the_message_counter_stops_hard() -> None:
    ivs = IvCounter(EngineChannel(3, engine=2, epoch=9), message=LAST_MESSAGE - 1)
    ivs.advance()
    said = "channel 3 of engine 2 (h2d, epoch 9) has used all 4294967295 values of its message counter"
    for _ in range(2):
        with pytest.raises(IvExhaustedError, match=re.escape(said)):
            ivs.advance()


def test_a_channel_counter_never_wraps() -> None:
    assert counter_after(LAST_CHANNEL - 1, 1) == LAST_CHANNEL
    with pytest.raises(IvExhaustedError) as refused:
        counter_after(LAST_CHANNEL, 1)
    assert str(refused.value) == "engine 1 has used all 18446744073709551615 values of its channel counter"


def test_an_engine_whose_channel_counter_is_used_up_is_lent_no_more() -> None:
    schedule = key_schedule("engine-per-holder", H100KeySchedule(bytes(32)))
    last = bytearray(schedule.order("ana", draws("orders")))
    last[9:17] = LAST_CHANNEL.to_bytes(8, "little")
    assert schedule.follow(bytes(last)).channel == LAST_CHANNEL
    with pytest.raises(IvExhaustedError, match="engine 1 has used all"):
        schedule.order("ana", draws("orders"))


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: EngineChannel(LAST_CHANNEL + 1), f"channel counter: {LAST_CHANNEL + 1}, not 0 to {LAST_CHANNEL}"),
        (lambda: EngineChannel(1, engine=8), "copy engine: 8, not 0 to 7"),
        (lambda: IvCounter(ONE, message=-1), f"message counter: -1, not 0 to {LAST_MESSAGE}"),
        (lambda: IvCounter(ONE, message=2**32), f"message counter: {2**32}, not 0 to {LAST_MESSAGE}"),
        (lambda: IvCounter(ONE, mask=bytes(11)), "IV mask: 11 bytes, not 12"),
        (lambda: IvCounter(ONE, 9).skip_to(8), f"message counter: from 9 to 8, not forward to {LAST_MESSAGE} at most"),
    ],
)
def test_what_no_iv_can_say_is_refused_in_one_line(make: Callable[[], object], said: str) -> None:
    with pytest.raises(KeyMaterialError) as refused:
        make()
    assert str(refused.value) == said


def test_a_counter_goes_forward() -> None:
    ivs = IvCounter(ONE, message=5)
    ivs.skip_to(9)
    assert ivs.message == 9
