"""The H100's keys and ratchet, by independent vectors; IVs that are given out once; the link that uses both."""

import hashlib
import hmac
import re
from collections.abc import Callable
from dataclasses import replace

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from carnet_ref.crypto.primitives import AuthenticationError, KeyMaterialError
from carnet_ref.keys import (
    CHUNK_BYTES,
    ENGINES,
    LAST_CHANNEL,
    LAST_MESSAGE,
    ONE_CHANNEL,
    Direction,
    EngineChannel,
    H100KeySchedule,
    Iv,
    IvCounter,
    IvExhaustedError,
    KeyExhaustedError,
    KeyUsage,
    LinkDeadError,
    LinkKeys,
    OneTimeSecret,
    Opener,
    Sealer,
    SecretTakenError,
    UsageLimits,
    counter_after,
    engine_label,
    ratchet,
)
from carnet_ref.systems.gpu_travelling.keys import key_schedule
from tests.fixtures.worlds import draws

EMK = bytes(range(32))
VECTORS = [
    ("Lce00_h2d_user", 0, "c6b68a948507a9697f4a2626f0b123b19146963db5481c78e735c0801b3a1444"),
    ("Lce00_h2d_user", 1, "4323720151a93eec2c0eafc30cb652cf4bb0e4c2934c6a624804c46c574831e6"),
    ("Lce00_h2d_user", 2, "dbd136dcab49008f90b017070ab017e64d2e6921ef5326565318199650d5f03a"),
    ("Lce00_d2h_user", 0, "5e2c73cde6ffeac51601bd85e0e6be9fb8a9dffcfca1409eb9f2726c5d1b4694"),
    ("Lce00_d2h_user", 1, "39b4eab545ecdfed91aaab5e35a0f65bd0e95eab68a4a639329036d4f5e82b95"),
    ("Lce00_d2h_user", 2, "16227fd7c0af78d8a4013fd26f883afbae1f166a099a2461d8e181b7365c4fab"),
    ("Lce01_h2d_user", 0, "b9ffd80f803fa97272d2d5b6911e5c109d9af3f08359c414074baebcc279c985"),
    ("Lce01_h2d_user", 1, "0ecde377142f5107bb11841093ef43ca5e59b7bac692481907ede2c0508508b8"),
    ("cpu_gsp_locked_rpc", 0, "fbbf9718624cfb5ee544c231078eb10527b4c102cd3533c158164e6aff060334"),
]


@pytest.mark.parametrize(("label", "epoch", "key"), VECTORS)
def test_keys_are_those_of_the_vectors(label: str, epoch: int, key: str) -> None:
    assert H100KeySchedule(EMK).key(label, epoch).hex() == key


def test_a_key_is_one_hmac_of_the_exported_secret_and_its_holder_computes_every_later_one() -> None:
    label = engine_label(7, Direction.D2H)
    expected = hmac.digest(EMK, label.encode() + b"\x01", hashlib.sha256)
    assert H100KeySchedule(EMK).key(label) == expected
    assert H100KeySchedule.of_session(EMK + bytes(16)).key("x") == H100KeySchedule(EMK).key("x")
    schedule = H100KeySchedule(EMK)
    held = schedule.key("Lce03_h2d_user", 4)
    for epoch in range(5, 9):
        held = ratchet(held, "Lce03_h2d_user")
        assert held == schedule.key("Lce03_h2d_user", epoch)


@pytest.mark.parametrize("emk", [b"", bytes(31), bytes(33)])
def test_an_emk_of_another_size_is_refused(emk: bytes) -> None:
    with pytest.raises(KeyMaterialError):
        H100KeySchedule(emk)


@pytest.mark.parametrize("key", [bytes(32), bytes(31), b"\x01" * 33])
def test_a_zero_key_or_one_of_another_size_does_not_ratchet(key: bytes) -> None:
    with pytest.raises(KeyMaterialError):
        ratchet(key, "Lce00_h2d_user")


@pytest.mark.parametrize("engine", [-1, 8])
def test_there_are_eight_engines(engine: int) -> None:
    with pytest.raises(KeyMaterialError):
        engine_label(engine, Direction.H2D)


def test_a_secret_is_taken_once_and_a_wiped_schedule_derives_and_shows_nothing() -> None:
    schedule = H100KeySchedule(EMK)
    assert EMK.hex() not in repr(schedule)
    schedule.wipe()
    with pytest.raises(SecretTakenError):
        schedule.key("Lce00_h2d_user")
    secret = OneTimeSecret(EMK)
    assert secret.take() == EMK
    with pytest.raises(SecretTakenError):
        secret.take()
    wiped = OneTimeSecret(EMK)
    wiped.wipe()
    with pytest.raises(SecretTakenError):
        wiped.take()


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


def test_an_iv_is_message_then_channel_masked_and_counts_forward_from_one() -> None:
    iv = IvCounter(EngineChannel(0x0807060504030201), message=0x0D0C0B0A - 1).advance()
    assert iv == bytes.fromhex("0a0b0c0d 0102030405060708")
    assert IvCounter(EngineChannel(0), mask=b"\xff" * 12).advance() == b"\xfe" + b"\xff" * 11
    assert IvCounter(EngineChannel(0)).advance() == bytes([1]) + bytes(11)
    ivs = IvCounter(ONE, message=5)
    ivs.skip_to(9)
    assert ivs.message == 9


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


def test_neither_counter_wraps_and_an_engine_at_its_end_is_lent_no_more() -> None:
    ivs = IvCounter(EngineChannel(3, engine=2, epoch=9), message=LAST_MESSAGE - 1)
    ivs.advance()
    said = "channel 3 of engine 2 (h2d, epoch 9) has used all 4294967295 values of its message counter"
    for _ in range(2):
        with pytest.raises(IvExhaustedError, match=re.escape(said)):
            ivs.advance()
    assert counter_after(LAST_CHANNEL - 1, 1) == LAST_CHANNEL
    with pytest.raises(IvExhaustedError) as refused:
        counter_after(LAST_CHANNEL, 1)
    assert str(refused.value) == "engine 1 has used all 18446744073709551615 values of its channel counter"
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


LINK_KEY = bytes(range(32))


def ends(channel: int = 1, message: int = 0) -> tuple[Sealer, Opener]:
    one = EngineChannel(channel)
    return Sealer(LINK_KEY, IvCounter(one, message), KeyUsage()), Opener(LINK_KEY, IvCounter(one, message), KeyUsage())


@given(st.lists(st.binary(max_size=64), max_size=8))
def test_chunks_arrive_as_they_were_sent(chunks: list[bytes]) -> None:
    sealer, opener = ends()
    assert [opener.open(sealer.seal(chunk)) for chunk in chunks] == chunks


@given(st.lists(st.binary(max_size=8), min_size=2, max_size=5, unique=True), st.data())
def test_anything_but_the_next_chunk_ends_the_direction(chunks: list[bytes], data: st.DataObject) -> None:
    sealer, opener = ends()
    sealed = [sealer.seal(chunk) for chunk in chunks]
    order = data.draw(st.lists(st.integers(0, len(chunks) - 1), min_size=1, max_size=6))
    for position, index in enumerate(order):
        if index == position:
            assert opener.open(sealed[index]) == chunks[index]
            continue
        with pytest.raises(AuthenticationError):
            opener.open(sealed[index])
        with pytest.raises(LinkDeadError):
            opener.open(sealed[0])
        return


@pytest.mark.parametrize("size", [0, 15, CHUNK_BYTES + 17])
def test_a_chunk_of_impossible_size_ends_the_direction(size: int) -> None:
    _, opener = ends()
    with pytest.raises(KeyMaterialError):
        opener.open(bytes(size))
    assert not opener.alive


def test_what_does_not_authenticate_leaves_nothing_readable() -> None:
    sealer, opener = ends()
    forged, out = bytearray(sealer.seal(b"secret of a holder")), bytearray(18)
    forged[-1] ^= 1
    with pytest.raises(AuthenticationError):
        opener.open_into(forged, out)
    assert out == bytes(18)


def test_limits_stop_the_sender_before_anything_is_written() -> None:
    sealer = Sealer(LINK_KEY, IvCounter(ONE_CHANNEL), KeyUsage(UsageLimits(1, 2)))
    sealer.seal(b"x" * 16)
    out = bytearray(17)
    with pytest.raises(KeyExhaustedError):
        sealer.seal_into(b"x", out)
    assert out == bytes(17)
    assert sealer.ivs.message == 1
    sealer, _ = ends(message=2**32 - 1)
    with pytest.raises(IvExhaustedError):
        sealer.seal(b"x")


def test_a_chunk_over_the_limit_or_a_buffer_of_another_size_is_refused() -> None:
    sealer, _ = ends()
    with pytest.raises(KeyMaterialError):
        sealer.seal(bytes(CHUNK_BYTES + 1))
    with pytest.raises(KeyMaterialError):
        sealer.seal_into(b"x", bytearray(16))
    assert sealer.usage.operations == 0


def test_two_writers_with_the_count_handed_over_use_no_iv_twice() -> None:
    first, opener = ends()
    sealed = [first.seal(b"one"), first.seal(b"two")]
    second = Sealer(LINK_KEY, IvCounter(ONE_CHANNEL, message=first.ivs.message), KeyUsage())
    sealed.append(second.seal(b"three"))
    assert [opener.open(chunk) for chunk in sealed] == [b"one", b"two", b"three"]
