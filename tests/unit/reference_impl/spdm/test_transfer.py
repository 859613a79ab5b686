"""Messages that cross in pieces, and responses that are not ready yet: whole and once, and not without end."""

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from carnet_ref.spdm import messages
from carnet_ref.spdm.endpoints import Requester
from carnet_ref.spdm.errors import (
    BusyError,
    NotReadyError,
    PeerError,
    PutOffError,
    TransferError,
    UnexpectedMessageError,
)
from carnet_ref.spdm.layout import Layout, Message, Version
from carnet_ref.spdm.machine import Begin, Closed, Measure, Measured, Opened, Received, Send
from carnet_ref.spdm.profile import CURRENT
from carnet_ref.spdm.transfer import (
    LEAST_CHUNK,
    LEAST_TRANSFER,
    LONGEST_EXPONENT,
    MOST_TRIES,
    Incoming,
    Outgoing,
    RequesterTransfer,
    ResponderTransfer,
    Sizes,
    TransferStep,
)
from carnet_ref.wire import MalformedError
from tests.fixtures.spdm import ByHand, Draws, carry, deliver, negotiated, reporter, requester, responder

V = Version.V1_2
SIZES = Sizes(pieces=True, peer_transfer=64, peer_message=500, own_message=500)
REQUEST = messages.GetDigests(V).encode()
LONG = REQUEST + bytes(range(200))  #: A request, as far as its code tells, that does not fit a transfer.


def asking(sizes: Sizes = SIZES, request: bytes = REQUEST) -> TransferStep[RequesterTransfer]:
    return RequesterTransfer(V, sizes).put(request)


def answering(sizes: Sizes = SIZES) -> ResponderTransfer:
    return ResponderTransfer(V, sizes)


def error(code: int, extended: bytes = b"") -> bytes:
    return messages.Error(V, code, extended=extended).encode()


@given(st.binary(min_size=1, max_size=600), st.integers(LEAST_TRANSFER, 300), st.sampled_from([V, Version.V1_4]))
def test_a_message_in_pieces_is_the_message(data: bytes, transfer: int, version: Version) -> None:
    outgoing, incoming = Outgoing(data, 3, transfer), Incoming(3, 600)
    while not outgoing.is_finished:
        outgoing, piece = outgoing.piece(messages.ChunkSend, version)
        assert len(piece.encode()) <= transfer
        incoming = incoming.add(messages.parse_message(piece.encode(), Layout(version)))  # type: ignore[arg-type]
    assert incoming.is_finished
    assert incoming.data == data


def piece(**changes: Any) -> messages.ChunkSend:
    return replace(messages.ChunkSend(V, 3, 0, False, bytes(40), 100), **changes)


PIECES: dict[str, messages.ChunkSend] = {
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


@pytest.mark.mends("T3")
def test_no_piece_comes_again_and_their_number_is_bounded() -> None:
    first = Incoming(3, 500).add(piece())
    with pytest.raises(TransferError):
        first.add(piece())
    outgoing = Outgoing(bytes(0x10001 * 30), 0, LEAST_TRANSFER, sequence=0x10000, sent=0xFFFF * 30)
    with pytest.raises(TransferError):
        outgoing.piece(messages.ChunkSend, V)


def acknowledged(**changes: Any) -> bytes:
    return replace(messages.ChunkSendAck(V, 0, 0), **changes).encode()


@pytest.mark.mends("E15")
def test_a_long_request_goes_in_pieces_and_its_response_comes_with_the_last_acknowledgement() -> None:
    crossing, sent = asking(request=LONG), b""
    while True:
        assert crossing.send is not None
        message = messages.parse_message(crossing.send, Layout(V))
        assert isinstance(message, messages.ChunkSend)
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
    refusal = error(messages.ErrorCode.INVALID_REQUEST)
    message = acknowledged(response=refusal, early_error=True) if early else refusal
    assert asking(request=LONG).transfer.take(message).whole == refusal


def large(handle: int = 2) -> TransferStep[RequesterTransfer]:
    return asking().transfer.take(error(messages.ErrorCode.LARGE_RESPONSE, bytes([handle])))


def response(**changes: Any) -> bytes:
    return replace(messages.ChunkResponse(V, 2, 0, False, bytes(40), 100), **changes).encode()


@pytest.mark.mends("E15")
def test_a_large_response_is_fetched_piece_by_piece() -> None:
    crossing = large()
    assert crossing.send == messages.ChunkGet(V, 2, 0).encode()
    crossing = crossing.transfer.take(response(chunk=LONG[:40], whole_size=80))
    assert crossing.send == messages.ChunkGet(V, 2, 1).encode()
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
    for code in (messages.ErrorCode.BUSY, messages.ErrorCode.LARGE_RESPONSE):
        hidden = error(code)
        found = large().transfer.take(response(chunk=hidden, whole_size=len(hidden), last=True))
        assert found.whole == hidden
        assert found.send is None


@pytest.mark.parametrize("handle", [b"", b"\0\0"])
def test_a_large_response_has_one_handle(handle: bytes) -> None:
    with pytest.raises(TransferError):
        asking().transfer.take(error(messages.ErrorCode.LARGE_RESPONSE, handle))


def test_pieces_are_not_taken_from_a_peer_that_did_not_agree_to_them() -> None:
    alone = replace(SIZES, pieces=False)
    message = error(messages.ErrorCode.LARGE_RESPONSE, b"\0")
    assert asking(alone).transfer.take(message).whole == message
    with pytest.raises(UnexpectedMessageError):
        answering(alone).take(piece().encode())
    with pytest.raises(TransferError):
        asking(alone, LONG)
    with pytest.raises(TransferError):
        answering(alone).put(LONG)


@pytest.mark.parametrize(
    "message", [piece(), messages.ChunkGet(V, 0, 0), messages.ChunkSendAck(V, 0, 0), messages.RespondIfReady(V, 1, 1)]
)
def test_a_requester_gets_no_request_and_no_piece_that_it_did_not_ask_for(message: Message) -> None:
    with pytest.raises(UnexpectedMessageError):
        asking().transfer.take(message.encode())


def test_a_responder_takes_the_rest_of_a_request_before_anything_else() -> None:
    begun = answering().take(piece().encode())
    assert begun.send == messages.ChunkSendAck(V, 3, 0).encode()
    for message in (REQUEST, messages.ChunkGet(V, 0, 0).encode(), messages.RespondIfReady(V, 1, 1).encode()):
        with pytest.raises(UnexpectedMessageError):
            begun.transfer.take(message)
    with pytest.raises(TransferError):
        begun.transfer.take(piece(handle=4, sequence=1, whole_size=None).encode())


def test_a_request_in_pieces_is_no_piece_itself_and_no_response_is_too_long() -> None:
    inner = messages.ChunkGet(V, 0, 0).encode()
    with pytest.raises(UnexpectedMessageError):
        answering().take(piece(chunk=inner, whole_size=len(inner), last=True).encode())
    with pytest.raises(TransferError, match="takes 500"):
        answering().put(bytes(501))


@pytest.mark.parametrize(
    "message", [messages.ChunkGet(V, 0, 1), messages.ChunkGet(V, 1, 0), piece(), messages.GetDigests(V)]
)
def test_a_responder_hands_out_its_pieces_in_order_before_anything_else(message: Message) -> None:
    announced = answering().put(LONG)
    with pytest.raises((TransferError, UnexpectedMessageError)):
        announced.transfer.take(message.encode())


def test_the_response_to_a_request_in_pieces_may_be_large_itself() -> None:
    hand, _ = negotiated(V, responder(replace(CURRENT, versions=(V,))), replace(CURRENT, transfer=54))
    whole = messages.GetDigests(V).encode()
    ack = hand.say(messages.ChunkSend(V, 0, 0, True, whole, len(whole)))
    assert isinstance(ack, messages.ChunkSendAck)
    assert ack.response == messages.Error(V, messages.ErrorCode.LARGE_RESPONSE, extended=b"\0").encode()
    assert collected(hand)[:4] == bytes([V, 1, 0, 1])


def collected(hand: ByHand) -> bytes:
    """Return the large response that a responder announced."""
    data, sequence = b"", 0
    while True:
        got = hand.say(messages.ChunkGet(V, 0, sequence))
        assert isinstance(got, messages.ChunkResponse)
        data, sequence = data + got.chunk, sequence + 1
        if got.last:
            return data


def test_an_error_of_the_peer_in_a_session_in_pieces_is_the_peer_s() -> None:
    ours, theirs = requester(replace(CURRENT, transfer=64)), responder(CURRENT)

    def broken(data: bytes, to_responder: bool) -> bytes:
        if not to_responder and data[2] == messages.ChunkResponse.CODE:
            return b"\x05" + messages.Error(Version(data[1]), messages.ErrorCode.UNSPECIFIED).encode()
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


def late(exponent: int = 3, code: int = messages.GetDigests.CODE, token: int = 5, multiplier: int = 2) -> bytes:
    return error(messages.ErrorCode.RESPONSE_NOT_READY, messages.NotReady(exponent, code, token, multiplier).encode())


@pytest.mark.mends("E15")
def test_a_request_that_finds_the_peer_busy_is_sent_again_later_each_time_and_not_without_end() -> None:
    crossing, waits = asking(), []
    for _ in range(MOST_TRIES):
        crossing = crossing.transfer.take(error(messages.ErrorCode.BUSY))
        assert crossing.send == REQUEST
        assert crossing.whole is None
        waits.append(crossing.after)
    assert waits == sorted(set(waits))
    with pytest.raises(TransferError, match=str(MOST_TRIES)):
        crossing.transfer.take(error(messages.ErrorCode.BUSY))


def test_the_next_request_is_counted_anew_and_busy_with_anything_more_is_malformed() -> None:
    crossing = asking().transfer.take(error(messages.ErrorCode.BUSY)).transfer.put(REQUEST)
    assert crossing.transfer.tries == 0
    with pytest.raises(MalformedError):
        asking().transfer.take(error(messages.ErrorCode.BUSY, b"x"))


@pytest.mark.mends("E15")
def test_a_response_that_is_not_ready_is_asked_for_by_its_token_after_its_time() -> None:
    crossing = asking().transfer.take(late(exponent=7, token=9))
    assert crossing.send == messages.RespondIfReady(V, messages.GetDigests.CODE, 9).encode()
    assert crossing.after == 128
    assert crossing.transfer.take(b"\x12\x01\0\0").whole == b"\x12\x01\0\0"


def test_a_response_is_not_asked_for_without_end() -> None:
    crossing = asking()
    for number in range(MOST_TRIES):
        crossing = crossing.transfer.take((late if number % 2 else lambda: error(messages.ErrorCode.BUSY))())
    with pytest.raises(TransferError):
        crossing.transfer.take(late())


LATE: dict[str, tuple[bytes, type[Exception]]] = {
    "to another request": (late(code=messages.GetVersion.CODE), UnexpectedMessageError),
    "after too long": (late(exponent=LONGEST_EXPONENT + 1), TransferError),
    "and dropped at once": (late(multiplier=1), TransferError),
    "without saying when": (error(messages.ErrorCode.RESPONSE_NOT_READY), MalformedError),
    "with more than belongs there": (late() + b"\0", MalformedError),
}


@pytest.mark.parametrize("row", sorted(LATE))
def test_a_response_that_comes_later_is_refused(row: str) -> None:
    message, kind = LATE[row]
    with pytest.raises(kind):
        asking().transfer.take(message)


@pytest.mark.parametrize("request_", [messages.GetVersion(Version.V1_0), CURRENT.negotiate(V)])
def test_what_takes_no_time_is_not_late(request_: Message) -> None:
    crossing = asking(request=request_.encode())
    message = late(code=request_.CODE)
    assert crossing.transfer.take(message).whole == message


def test_a_responder_remembers_the_request_that_waits_and_answers_it_once() -> None:
    put_off = answering().put_off(REQUEST, NotReadyError(4))
    told = messages.parse_message(put_off.send or b"", Layout(V))
    assert isinstance(told, messages.Error)
    late_ = messages.NotReady.of(told)
    assert (late_.exponent, late_.request_code) == (4, messages.GetDigests.CODE)
    again = put_off.transfer.take(messages.RespondIfReady(V, messages.GetDigests.CODE, late_.token).encode())
    assert again.whole == REQUEST
    with pytest.raises(UnexpectedMessageError):
        again.transfer.take(messages.RespondIfReady(V, messages.GetDigests.CODE, late_.token).encode())


@pytest.mark.parametrize(
    "message",
    [
        messages.RespondIfReady(V, messages.GetDigests.CODE, 99).encode(),
        messages.RespondIfReady(V, messages.GetVersion.CODE, 1).encode(),
        REQUEST,
        messages.ChunkSend(V, 0, 0, False, bytes(40), 100).encode(),
    ],
    ids=["another token", "another request", "something else", "a piece of something else"],
)
def test_nothing_but_the_request_that_waits_is_asked_for(message: bytes) -> None:
    with pytest.raises(UnexpectedMessageError):
        answering().put_off(REQUEST, NotReadyError()).transfer.take(message)


@pytest.mark.parametrize("why", [BusyError("busy"), NotReadyError()])
def test_a_responder_does_not_put_a_request_off_without_end(why: PutOffError) -> None:
    transfer = answering()
    for _ in range(MOST_TRIES):
        transfer = transfer.put_off(REQUEST, why).transfer
    with pytest.raises(TransferError):
        transfer.put_off(REQUEST, why)
    assert transfer.put(b"\x12\x01\0\0").transfer.deferrals == 0


@pytest.mark.parametrize("summary", messages.Summary)
def test_a_device_that_takes_its_time_is_waited_for(summary: messages.Summary) -> None:
    class Slow:
        def __init__(self) -> None:
            self.waits = iter([BusyError("busy"), NotReadyError(5), NotReadyError(6), None] * 9)

        def _wait(self) -> None:
            if (wait := next(self.waits)) is not None:
                raise wait

        def report(self, asked: Any) -> bytes:
            self._wait()
            return reporter().report(asked)

        def summary(self, kind: messages.Summary) -> bytes:
            self._wait()
            return reporter().summary(kind)

    ours, theirs = requester(CURRENT, challenge=True, summary=summary), responder(CURRENT, reporter=Slow())
    happened = deliver(ours, Begin(), theirs)
    assert [type(each) for each in happened][-2:] == [Opened, Opened]
    (found,) = deliver(ours, Measure(bytes(32)), theirs)
    assert isinstance(found, Measured)
    assert ours.session is not None
    found.report.check_signature(ours.session.version, ours.session.responder)


@pytest.mark.mends("T3")
def test_a_device_that_never_finishes_ends_the_session() -> None:
    class Never:
        def report(self, asked: Any) -> bytes:
            raise NotReadyError

        def summary(self, kind: messages.Summary) -> bytes:
            raise BusyError("busy")

    ours, theirs = requester(CURRENT), responder(CURRENT, reporter=Never())
    deliver(ours, Begin(), theirs)
    closed = [each for each in deliver(ours, Measure(bytes(32)), theirs) if isinstance(each, Closed)]
    assert isinstance(closed[0].error, TransferError)
    assert len(closed) == 2


def test_what_is_put_off_is_no_part_of_any_transcript() -> None:
    """Both ends agree on a session in which each message before it found the peer busy once."""
    ours, theirs = requester(CURRENT, challenge=True), responder(CURRENT)
    told: set[bytes] = set()

    def busy_once(data: bytes, to_responder: bool) -> bytes:
        del to_responder
        return data

    class Once(Requester):
        def handle(self, event: Any) -> Any:
            if isinstance(event, Received) and event.data[:1] == b"\x05" and event.data not in told:
                told.add(event.data)
                version = Version.V1_0 if event.data[1] == Version.V1_0 else Version(event.data[1])
                again = Requester.handle(
                    self, Received(b"\x05" + messages.Error(version, messages.ErrorCode.BUSY).encode())
                )
                assert [type(each) for each in again] == [Send]
            return Requester.handle(self, event)

    state: Any = ours.state
    patient = Once(state.config)
    happened = carry((patient, theirs), [(0, Begin())], busy_once)
    assert len(told) > 6
    assert [type(each) for each in happened][-2:] == [Opened, Opened]
    assert patient.exported_master_secret() == theirs.exported_master_secret()
