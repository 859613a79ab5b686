"""The enclave and the holder: one frame for a tick, as many chunks as the manifest says, all of one size."""

import secrets
from collections.abc import Callable
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from carnet_ref.crypto.primitives import KEY_BYTES, NONCE_BYTES
from carnet_ref.systems.sgx_lkl.enclave import FRAMES, Enclave, Keys, Status
from carnet_ref.systems.sgx_lkl.frames import (
    AnswerError,
    Call,
    Frame,
    ObliviousError,
    Operation,
    PaddingError,
    Shape,
    ShapeError,
    TurnError,
    open_content,
    pad,
    room,
    split_content,
    unpad,
)
from carnet_ref.systems.sgx_lkl.run import Holder, Peer, collect_dataset, padded_dataset

SHAPE = Shape(ticks=6, block_bytes=64)
KEYS = Keys(secrets.token_bytes(KEY_BYTES), secrets.token_bytes(KEY_BYTES))
READ = Call("read", Operation.READ, 0, b"what is there?")


@pytest.fixture
def enclave() -> Enclave:
    return Enclave(SHAPE, KEYS)


@pytest.fixture
def peer() -> Peer:
    return Peer(SHAPE, KEYS)


def test_a_frame_carries_what_waits_once_its_turn_has_come(enclave: Enclave) -> None:
    enclave.ask(READ)
    assert enclave.due(0) == READ
    frame = enclave.emit(0, READ)
    assert unpad(open_content(KEYS.out, FRAMES, 0, frame.body)) == READ.content
    assert (frame.operation, frame.address, frame.moment) == (Operation.READ, 0, SHAPE.edge)
    enclave.ask(Call("late", Operation.WRITE, 0, b"x"))
    assert [tick for tick in range(6) if enclave.due(tick)] == [4]


@pytest.mark.verifies("sgx-lkl-REQ-COUNT-02")
def test_a_call_is_on_its_way_once() -> None:
    enclave = Enclave(Shape(ticks=7, block_bytes=64), KEYS)
    enclave.ask(READ)
    enclave.emit(0, READ)
    assert enclave.due(6) is None
    with pytest.raises(TurnError, match="nothing to say"):
        enclave.emit(6, READ)
    enclave.process_answer(0, bytes(100))
    assert enclave.due(6) == READ


def test_a_dummy_is_a_frame_like_others(enclave: Enclave) -> None:
    enclave.ask(READ)
    call, dummy = enclave.emit(0, READ), enclave.emit(1, None)
    assert len(call.body) == len(dummy.body)
    assert unpad(open_content(KEYS.out, FRAMES, 1, dummy.body)) == b""


def test_a_served_call_waits_no_more_and_a_long_one_leaves_in_pieces(enclave: Enclave, peer: Peer) -> None:
    enclave.ask(READ)
    enclave.emit(0, READ)
    enclave.process_answer(0, peer.answer(0))
    assert not enclave.waiting
    assert enclave.taken == [(READ, b"served")]
    enclave.ask(Call("long", Operation.READ, 0, bytes(SHAPE.room + 1)))
    assert [(piece.piece, len(piece.content)) for piece in enclave.waiting] == [(0, SHAPE.room), (1, 1)]


@pytest.mark.parametrize("carried", [READ, None], ids=["a call", "a dummy"])
def test_what_does_not_verify_is_not_used_and_noted(enclave: Enclave, carried: Call | None) -> None:
    enclave.ask(READ)
    enclave.emit(0, carried)
    enclave.process_answer(0, bytes(100))
    assert (enclave.failed, enclave.taken, enclave.waiting) == (True, [], [READ])
    assert enclave.finish(5, b"").status is Status.FAILED


@pytest.mark.parametrize("answer", [b"", b"short", bytes(NONCE_BYTES)], ids=repr)
def test_an_answer_that_is_none_is_noted(enclave: Enclave, answer: bytes) -> None:
    enclave.emit(0, None)
    enclave.process_answer(0, answer)
    assert enclave.failed


def test_an_answer_to_another_tick_is_not_used(enclave: Enclave, peer: Peer) -> None:
    enclave.ask(READ)
    enclave.emit(0, READ)
    enclave.process_answer(0, peer.answer(1))
    assert (enclave.failed, enclave.waiting) == (True, [READ])


def test_a_refused_frame_is_sealed_again(enclave: Enclave) -> None:
    enclave.ask(READ)
    first, dummy = enclave.emit(0, READ), enclave.emit(1, None)
    again, dummy_again = enclave.retry(0), enclave.retry(1)
    assert again is not None
    assert dummy_again is not None
    assert len({frame.body[:NONCE_BYTES] for frame in (first, dummy, again, dummy_again)}) == 4
    assert len(again.body) == len(first.body)


def test_the_end_says_nothing_of_the_application(enclave: Enclave) -> None:
    idle = Enclave(SHAPE, KEYS)
    enclave.ask(READ)
    ends = [each.finish(5, result) for each, result in ((enclave, b"long result"), (idle, b""))]
    assert {(end.status, len(end.result)) for end in ends} == {(Status.DONE, 64 + 28)}


REFUSED: dict[str, Callable[[Enclave], object]] = {
    "two frames in a tick": lambda enclave: [enclave.emit(0, None), enclave.emit(0, None)],
    "a tick after the deadline": lambda enclave: enclave.emit(6, None),
    "a tick before the first": lambda enclave: enclave.emit(-1, None),
    "a call that does not wait": lambda enclave: enclave.emit(0, READ),
    "an answer to no frame": lambda enclave: enclave.process_answer(0, b""),
    "a second answer": lambda enclave: [
        enclave.emit(0, None),
        enclave.process_answer(0, b""),
        enclave.process_answer(0, b""),
    ],
    "a refusal of no frame": lambda enclave: enclave.retry(0),
    "an end before the deadline": lambda enclave: enclave.finish(4, b""),
    "a second end": lambda enclave: [enclave.finish(5, b""), enclave.finish(5, b"")],
    "a frame after the end": lambda enclave: [enclave.finish(5, b""), enclave.emit(5, None)],
}


@pytest.mark.parametrize("what", REFUSED)
def test_it_is_refused(what: str, enclave: Enclave) -> None:
    with pytest.raises(TurnError):
        REFUSED[what](enclave)


def test_a_result_that_does_not_fit_and_a_block_that_is_not_there_are_refused(enclave: Enclave) -> None:
    with pytest.raises(ShapeError):
        enclave.finish(5, bytes(61))
    assert not enclave.over
    assert enclave.finish(5, b"").status is Status.DONE
    with pytest.raises(ShapeError, match="no block 2 of 2"):
        enclave.ask(Call("far", Operation.READ, 2, b""))
    assert not enclave.waiting


def test_no_iv_of_a_frame_seals_the_result() -> None:
    """Otherwise a frame that is sent again tells the host the result."""
    shape = Shape(ticks=3, block_bytes=64)
    enclave = Enclave(shape, KEYS)
    frames = [enclave.emit(tick, None) for tick in range(3)]
    frames.append(enclave.retry(2) or frames[-1])
    ended = enclave.finish(2, b"the result")
    with pytest.raises(TurnError, match="the run is over"):
        enclave.retry(2)
    ivs = [sealed[:NONCE_BYTES] for sealed in (*(frame.body for frame in frames), ended.result)]
    assert len(set(ivs)) == len(ivs) == 5


CHUNKS = Shape(chunks=3, block_bytes=64)
KEY = secrets.token_bytes(KEY_BYTES)


def _handed_over(dataset: bytes) -> list[Frame]:
    holder = Holder(CHUNKS, KEY, dataset)
    return [holder.send(place) for place in range(CHUNKS.chunks)]


@given(st.binary(max_size=180))
def test_a_dataset_of_any_size_comes_back(dataset: bytes) -> None:
    frames = _handed_over(dataset)
    assert {len(frame.body) for frame in frames} == {64 + 28}
    assert collect_dataset(CHUNKS, KEY, frames) == dataset


def test_the_hand_over_ends_when_the_manifest_says_each_chunk_sent_once() -> None:
    holder = Holder(CHUNKS, KEY, b"little")
    assert [holder.may_begin(place) for place in range(4)] == [False, False, False, True]
    holder = Holder(CHUNKS, KEY, b"")
    holder.send(0)
    with pytest.raises(TurnError):
        holder.send(0)
    with pytest.raises(ShapeError, match="181 bytes do not fit 3 chunks of 60"):
        Holder(CHUNKS, KEY, bytes(181))
    with pytest.raises(ShapeError):
        padded_dataset(bytes(181), 3, 64)


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
        collect_dataset(CHUNKS, KEY, SPOILT[spoilt](frames))
    assert isinstance(caught.value, ShapeError | AnswerError)


@pytest.mark.parametrize("place", [-1, 3])
def test_there_is_no_chunk_beyond_the_bound(place: int) -> None:
    with pytest.raises(TurnError):
        Holder(CHUNKS, KEY, b"").send(place)


@given(st.binary(max_size=60))
def test_what_is_padded_has_one_size_and_comes_back(content: bytes) -> None:
    block = pad(content, 64)
    assert len(block) == 64
    assert unpad(block) == content


@given(st.binary(max_size=300), st.integers(1, 64))
def test_pieces_fit_and_are_the_whole(content: bytes, size: int) -> None:
    pieces = split_content(content, size)
    assert b"".join(pieces) == content
    assert all(len(piece) <= size for piece in pieces)
    assert pieces


def test_what_does_not_fit_is_refused_and_turns_come_round() -> None:
    assert room(64) == 60
    with pytest.raises(ShapeError, match="61 bytes do not fit 60"):
        pad(bytes(61), 64)
    shape = Shape(ticks=4, blocks=2)
    assert [shape.turn(tick) for tick in range(4)] == [
        *(Operation.READ, Operation.WRITE, Operation.PACKET, Operation.READ)
    ]
    assert [shape.sweep(tick) for tick in range(4)] == [0, 1, 0, 1]


@pytest.mark.parametrize(
    "block", [b"", b"\0\0", b"\0\0\0\5abc", b"\0\0\0\1ab", b"\xff\xff\xff\xff" + bytes(60)], ids=repr
)
def test_what_was_not_padded_is_refused(block: bytes) -> None:
    with pytest.raises(PaddingError):
        unpad(block)


@pytest.mark.parametrize(
    "wrong", [{"chunks": 0}, {"ticks": 0}, {"ticks": 1 << 21}, {"blocks": 0}, {"edge": 0}, {"block_bytes": 4}], ids=str
)
def test_no_run_has_such_a_shape(wrong: dict[str, int]) -> None:
    with pytest.raises(ShapeError):
        Shape(**wrong)
