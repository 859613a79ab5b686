"""A message that does not fit a transfer crosses in pieces: it arrives whole and once, or the session ends."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from carnet_ref.spdm import (
    CURRENT,
    PeerError,
    TransferError,
    UnexpectedMessageError,
)
from carnet_ref.spdm.layout import Layout, Message, Version
from carnet_ref.spdm.machine import Begin, Closed, Measure, Measured
from carnet_ref.spdm.messages import (
    ChunkGet,
    ChunkResponse,
    ChunkSend,
    ChunkSendAck,
    Error,
    ErrorCode,
    GetDigests,
    RespondIfReady,
    parse_message,
)
from carnet_ref.spdm.transfer import LEAST_CHUNK, LEAST_TRANSFER, Answering, Asking, Crossing, Incoming, Outgoing, Sizes
from tests.fixtures.spdm import ByHand, Draws, carry, deliver, negotiated, requester, responder

V = Version.V1_2
SIZES = Sizes(pieces=True, peer_transfer=64, peer_message=500, own_message=500)
REQUEST = GetDigests(V).encode()
LONG = REQUEST + bytes(range(200))
"""A request, as far as its code tells, that does not fit a transfer."""


def asking(sizes: Sizes = SIZES, request: bytes = REQUEST) -> Crossing[Asking]:
    return Asking(V, sizes).put(request)


def answering(sizes: Sizes = SIZES) -> Answering:
    return Answering(V, sizes)


def error(code: int, extended: bytes = b"") -> bytes:
    return Error(V, code, extended=extended).encode()


@given(st.binary(min_size=1, max_size=600), st.integers(LEAST_TRANSFER, 300), st.sampled_from([V, Version.V1_4]))
def test_a_message_in_pieces_is_the_message(data: bytes, transfer: int, version: Version) -> None:
    outgoing, incoming = Outgoing(data, 3, transfer), Incoming(3, 600)
    while not outgoing.finished:
        outgoing, piece = outgoing.piece(ChunkSend, version)
        assert len(piece.encode()) <= transfer
        incoming = incoming.add(parse_message(piece.encode(), Layout(version)))  # type: ignore[arg-type]
    assert incoming.finished
    assert incoming.data == data


@pytest.mark.mends("T3")
def test_a_message_has_a_bounded_number_of_pieces() -> None:
    outgoing = Outgoing(bytes(0x10001 * 30), 0, LEAST_TRANSFER, sequence=0x10000, sent=0xFFFF * 30)
    with pytest.raises(TransferError):
        outgoing.piece(ChunkSend, V)


def piece(**changes: Any) -> ChunkSend:
    return replace(ChunkSend(V, 3, 0, False, bytes(40), 100), **changes)


PIECES: dict[str, ChunkSend] = {
    "of another message": piece(handle=4),
    "out of order": piece(sequence=1, whole_size=None),
    "of a message that is too long": piece(whole_size=501),
    "that is longer than the message": piece(chunk=bytes(101)),
    "that is the last and not the end": piece(last=True),
    "that is the end and not the last": piece(chunk=bytes(100)),
    "that is empty": piece(chunk=b""),
    "that is too small": piece(chunk=bytes(LEAST_CHUNK - 1)),
    "of an empty message": piece(chunk=b"", whole_size=0, last=True),
}


@pytest.mark.parametrize("row", sorted(PIECES))
def test_a_piece_is_refused(row: str) -> None:
    with pytest.raises(TransferError):
        Incoming(3, 500).add(PIECES[row])


def test_a_piece_that_came_does_not_come_again() -> None:
    first = Incoming(3, 500).add(piece())
    with pytest.raises(TransferError):
        first.add(piece())


def acknowledged(**changes: Any) -> bytes:
    return replace(ChunkSendAck(V, 0, 0), **changes).encode()


@pytest.mark.mends("E15")
def test_a_long_request_goes_in_pieces_and_its_response_comes_with_the_last_acknowledgement() -> None:
    crossing, sent = asking(request=LONG), b""
    while True:
        assert crossing.send is not None
        message = parse_message(crossing.send, Layout(V))
        assert isinstance(message, ChunkSend)
        sent += message.chunk
        if message.last:
            break
        crossing = crossing.transfer.take(acknowledged(sequence=message.sequence))
    assert sent == LONG
    done = crossing.transfer.take(acknowledged(sequence=message.sequence, response=b"\x12\x01\0\0"))
    assert done.whole == b"\x12\x01\0\0"


ACKS: dict[str, tuple[bytes, type[Exception]]] = {
    "of another piece": (acknowledged(sequence=1), TransferError),
    "of another message": (acknowledged(handle=1), TransferError),
    "with a response too early": (acknowledged(response=b"\x12\x01\0\0"), UnexpectedMessageError),
    "with an early error that is none": (
        acknowledged(response=b"\x12\x01\0\0", early_error=True),
        UnexpectedMessageError,
    ),
    "that is none": (b"\x12\x01\0\0" + bytes(0), UnexpectedMessageError),
}


@pytest.mark.parametrize("row", sorted(ACKS))
def test_an_acknowledgement_is_refused(row: str) -> None:
    message, kind = ACKS[row]
    with pytest.raises(kind):
        asking(request=LONG).transfer.take(message)


@pytest.mark.parametrize("early", [False, True])
def test_an_error_in_the_middle_of_a_request_reaches_the_state(early: bool) -> None:
    refusal = error(ErrorCode.INVALID_REQUEST)
    message = acknowledged(response=refusal, early_error=True) if early else refusal
    assert asking(request=LONG).transfer.take(message).whole == refusal


def large(handle: int = 2) -> Crossing[Asking]:
    return asking().transfer.take(error(ErrorCode.LARGE_RESPONSE, bytes([handle])))


def response(**changes: Any) -> bytes:
    return replace(ChunkResponse(V, 2, 0, False, bytes(40), 100), **changes).encode()


@pytest.mark.mends("E15")
def test_a_large_response_is_fetched_piece_by_piece() -> None:
    crossing = large()
    assert crossing.send == ChunkGet(V, 2, 0).encode()
    crossing = crossing.transfer.take(response(chunk=LONG[:40], whole_size=80))
    assert crossing.send == ChunkGet(V, 2, 1).encode()
    last = response(sequence=1, chunk=LONG[40:80], last=True, whole_size=None)
    assert crossing.transfer.take(last).whole == LONG[:80]


RESPONSES: dict[str, tuple[bytes, type[Exception]]] = {
    "of another message": (response(handle=1), TransferError),
    "of a message that is too long": (response(whole_size=501), TransferError),
    "that is none": (b"\x12\x01\0\0", UnexpectedMessageError),
    "of a message that is a piece itself": (
        response(chunk=response(), whole_size=len(response()), last=True),
        UnexpectedMessageError,
    ),
}


@pytest.mark.parametrize("row", sorted(RESPONSES))
def test_a_piece_of_a_response_is_refused(row: str) -> None:
    message, kind = RESPONSES[row]
    with pytest.raises(kind):
        large().transfer.take(message)


def test_a_large_response_cannot_hide_that_the_peer_is_busy_or_large_again() -> None:
    """What came in pieces is handed on: the state refuses it as the error that it is."""
    for code in (ErrorCode.BUSY, ErrorCode.LARGE_RESPONSE):
        hidden = error(code)
        found = large().transfer.take(response(chunk=hidden, whole_size=len(hidden), last=True))
        assert found.whole == hidden
        assert found.send is None


@pytest.mark.parametrize("handle", [b"", b"\0\0"])
def test_a_large_response_has_one_handle(handle: bytes) -> None:
    with pytest.raises(TransferError):
        asking().transfer.take(error(ErrorCode.LARGE_RESPONSE, handle))


def test_pieces_are_not_taken_from_a_peer_that_did_not_agree_to_them() -> None:
    alone = replace(SIZES, pieces=False)
    message = error(ErrorCode.LARGE_RESPONSE, b"\0")
    assert asking(alone).transfer.take(message).whole == message
    with pytest.raises(UnexpectedMessageError):
        answering(alone).take(piece().encode())
    with pytest.raises(TransferError):
        asking(alone, LONG)
    with pytest.raises(TransferError):
        answering(alone).put(LONG)


@pytest.mark.parametrize("message", [piece(), ChunkGet(V, 0, 0), ChunkSendAck(V, 0, 0), RespondIfReady(V, 1, 1)])
def test_a_requester_gets_no_request_and_no_piece_that_it_did_not_ask_for(message: Message) -> None:
    with pytest.raises(UnexpectedMessageError):
        asking().transfer.take(message.encode())


def test_a_responder_takes_the_rest_of_a_request_before_anything_else() -> None:
    begun = answering().take(piece().encode())
    assert begun.send == ChunkSendAck(V, 3, 0).encode()
    for message in (REQUEST, ChunkGet(V, 0, 0).encode(), RespondIfReady(V, 1, 1).encode()):
        with pytest.raises(UnexpectedMessageError):
            begun.transfer.take(message)
    with pytest.raises(TransferError):
        begun.transfer.take(piece(handle=4, sequence=1, whole_size=None).encode())


def test_a_request_in_pieces_is_no_piece_itself() -> None:
    inner = ChunkGet(V, 0, 0).encode()
    with pytest.raises(UnexpectedMessageError):
        answering().take(piece(chunk=inner, whole_size=len(inner), last=True).encode())


@pytest.mark.parametrize("message", [ChunkGet(V, 0, 1), ChunkGet(V, 1, 0), piece(), GetDigests(V)])
def test_a_responder_hands_out_its_pieces_in_order_before_anything_else(message: Message) -> None:
    announced = answering().put(LONG)
    with pytest.raises((TransferError, UnexpectedMessageError)):
        announced.transfer.take(message.encode())


def test_a_response_longer_than_the_peer_takes_is_not_sent() -> None:
    with pytest.raises(TransferError, match="takes 500"):
        answering().put(bytes(501))


def test_the_response_to_a_request_in_pieces_may_be_large_itself() -> None:
    hand, _ = negotiated(V, responder(replace(CURRENT, versions=(V,))), replace(CURRENT, transfer=54))
    whole = GetDigests(V).encode()
    ack = hand.say(ChunkSend(V, 0, 0, True, whole, len(whole)))
    assert isinstance(ack, ChunkSendAck)
    assert ack.response == Error(V, ErrorCode.LARGE_RESPONSE, extended=b"\0").encode()
    found = collected(hand)
    assert found[:4] == bytes([V, 1, 0, 1])


def collected(hand: ByHand) -> bytes:
    """Return the large response that a responder announced."""
    data, sequence = b"", 0
    while True:
        got = hand.say(ChunkGet(V, 0, sequence))
        assert isinstance(got, ChunkResponse)
        data, sequence = data + got.chunk, sequence + 1
        if got.last:
            return data


def test_an_error_of_the_peer_in_a_session_in_pieces_is_the_peer_s() -> None:
    ours, theirs = requester(replace(CURRENT, transfer=64)), responder(CURRENT)

    def broken(data: bytes, to_responder: bool) -> bytes:
        if not to_responder and data[2] == ChunkResponse.CODE:
            return b"\x05" + Error(Version(data[1]), ErrorCode.UNSPECIFIED).encode()
        return data

    happened = carry((ours, theirs), [(0, Begin())], broken)
    closed = next(each for each in happened if isinstance(each, Closed))
    assert isinstance(closed.error, PeerError)


def test_a_report_that_does_not_fit_a_transfer_comes_in_pieces_inside_the_session() -> None:
    ours, theirs = requester(replace(CURRENT, transfer=64)), responder(CURRENT)
    deliver(ours, Begin(), theirs)
    count = 0

    def counting(data: bytes, _: bool) -> bytes:
        nonlocal count
        count += 1
        return data

    (found,) = carry((ours, theirs), [(0, Measure(Draws("nonce")(32)))], counting)
    assert isinstance(found, Measured)
    assert count > 10
