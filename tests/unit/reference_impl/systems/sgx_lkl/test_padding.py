"""Padding and cutting: content comes back as it was, and what was not padded is refused."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from carnet_ref.systems.sgx_lkl.frames import Operation, PaddingError, Shape, ShapeError, cut, padded, room, unpadded


@given(st.binary(max_size=60))
def test_what_is_padded_has_one_size_and_comes_back(content: bytes) -> None:
    block = padded(content, 64)
    assert len(block) == 64
    assert unpadded(block) == content


@given(st.binary(max_size=300), st.integers(1, 64))
def test_pieces_fit_and_are_the_whole(content: bytes, size: int) -> None:
    pieces = cut(content, size)
    assert b"".join(pieces) == content
    assert all(len(piece) <= size for piece in pieces)
    assert pieces


def test_what_does_not_fit_is_refused() -> None:
    assert room(64) == 60
    with pytest.raises(ShapeError, match="61 bytes do not fit 60"):
        padded(bytes(61), 64)


@pytest.mark.parametrize(
    "block", [b"", b"\0\0", b"\0\0\0\5abc", b"\0\0\0\1ab", b"\xff\xff\xff\xff" + bytes(60)], ids=repr
)
def test_what_was_not_padded_is_refused(block: bytes) -> None:
    with pytest.raises(PaddingError):
        unpadded(block)


@pytest.mark.parametrize(
    "wrong", [{"chunks": 0}, {"ticks": 0}, {"ticks": 1 << 21}, {"blocks": 0}, {"edge": 0}, {"block_bytes": 4}], ids=str
)
def test_no_run_has_such_a_shape(wrong: dict[str, int]) -> None:
    with pytest.raises(ShapeError):
        Shape(**wrong)


def test_turns_and_blocks_come_round() -> None:
    shape = Shape(ticks=4, blocks=2)
    assert [shape.turn(tick) for tick in range(4)] == [
        *(Operation.READ, Operation.WRITE, Operation.PACKET, Operation.READ)
    ]
    assert [shape.sweep(tick) for tick in range(4)] == [0, 1, 0, 1]
