"""A hand-over: as many chunks as the manifest says, of one size, and the dataset comes back whole or not at all."""

from __future__ import annotations

import secrets
from collections.abc import Callable
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from carnet_ref.crypto.primitives import KEY_BYTES
from carnet_ref.systems.sgx_lkl.frames import AnswerError, Frame, ObliviousError, Shape, ShapeError, TurnError
from carnet_ref.systems.sgx_lkl.run import Holder, collected, padded_dataset

SHAPE = Shape(chunks=3, block_bytes=64)
KEY = secrets.token_bytes(KEY_BYTES)


def _handed_over(dataset: bytes) -> list[Frame]:
    holder = Holder(SHAPE, KEY, dataset)
    return [holder.send(place) for place in range(SHAPE.chunks)]


@given(st.binary(max_size=180))
def test_a_dataset_of_any_size_comes_back(dataset: bytes) -> None:
    frames = _handed_over(dataset)
    assert {len(frame.body) for frame in frames} == {64 + 28}
    assert collected(SHAPE, KEY, frames) == dataset


def test_the_hand_over_ends_when_the_manifest_says() -> None:
    holder = Holder(SHAPE, KEY, b"little")
    assert [holder.may_begin(place) for place in range(4)] == [False, False, False, True]


def _changed(frame: Frame) -> Frame:
    return replace(frame, body=frame.body[:-1] + bytes([frame.body[-1] ^ 1]))


SPOILT: dict[str, Callable[[list[Frame]], list[Frame]]] = {
    "a chunk too few": lambda frames: frames[:2],
    "a chunk too many": lambda frames: [*frames, frames[0]],
    "chunks that changed places": lambda frames: [frames[1], frames[0], frames[2]],
    "a changed bit": lambda frames: [
        replace(frames[0], body=frames[0].body[:-1] + bytes([frames[0].body[-1] ^ 1])),
        *frames[1:],
    ],
    "an empty chunk": lambda frames: [replace(frames[0], body=b""), *frames[1:]],
}


@pytest.mark.parametrize("spoilt", SPOILT)
def test_nothing_of_a_spoilt_hand_over_is_used(spoilt: str) -> None:
    frames = _handed_over(b"data")
    with pytest.raises(ObliviousError) as caught:
        collected(SHAPE, KEY, SPOILT[spoilt](frames))
    assert isinstance(caught.value, ShapeError | AnswerError)


@pytest.mark.parametrize("place", [-1, 3])
def test_there_is_no_chunk_beyond_the_bound(place: int) -> None:
    with pytest.raises(TurnError):
        Holder(SHAPE, KEY, b"").send(place)


def test_a_chunk_is_sent_once() -> None:
    holder = Holder(SHAPE, KEY, b"")
    holder.send(0)
    with pytest.raises(TurnError):
        holder.send(0)


def test_a_dataset_that_does_not_fit_takes_no_part() -> None:
    with pytest.raises(ShapeError, match="181 bytes do not fit 3 chunks of 60"):
        Holder(SHAPE, KEY, bytes(181))
    with pytest.raises(ShapeError):
        padded_dataset(bytes(181), 3, 64)
