"""The link: what the sender sealed, in that order, once, and nothing else."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from carnet_ref.crypto.primitives import AuthenticationError, KeyMaterialError
from carnet_ref.keys import (
    CHUNK_BYTES,
    EngineChannel,
    IvCounter,
    IvExhaustedError,
    KeyExhaustedError,
    KeyUsage,
    LinkDeadError,
    Opener,
    Sealer,
    UsageLimits,
)
from carnet_ref.keys.schedule import ONE_CHANNEL

KEY = bytes(range(32))


def ends(channel: int = 1, message: int = 0) -> tuple[Sealer, Opener]:
    one = EngineChannel(channel)
    return Sealer(KEY, IvCounter(one, message), KeyUsage()), Opener(KEY, IvCounter(one, message), KeyUsage())


@given(st.lists(st.binary(max_size=64), max_size=8))
def test_chunks_arrive_as_they_were_sent(chunks: list[bytes]) -> None:
    sealer, opener = ends()
    assert [opener.open(sealer.seal(chunk)) for chunk in chunks] == chunks


@given(
    st.lists(st.binary(max_size=8), min_size=2, max_size=5, unique=True),
    st.data(),
)
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
    sealer = Sealer(KEY, IvCounter(ONE_CHANNEL), KeyUsage(UsageLimits(1, 2)))
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
    second = Sealer(KEY, IvCounter(ONE_CHANNEL, message=first.ivs.message), KeyUsage())
    sealed.append(second.seal(b"three"))
    assert [opener.open(chunk) for chunk in sealed] == [b"one", b"two", b"three"]
