"""A request that finds the peer busy, or its response not ready, is asked again in time, and not without end."""

from __future__ import annotations

from typing import Any

import pytest

from carnet_ref.spdm import (
    CURRENT,
    BusyError,
    NotReadyError,
    Requester,
    TransferError,
    UnexpectedMessageError,
)
from carnet_ref.spdm.errors import PutOffError
from carnet_ref.spdm.layout import Layout, Message, Version
from carnet_ref.spdm.machine import Begin, Closed, Measure, Measured, Opened, Received, Send
from carnet_ref.spdm.messages import (
    ChunkSend,
    Error,
    ErrorCode,
    GetDigests,
    GetVersion,
    NotReady,
    RespondIfReady,
    Summary,
    parse_message,
)
from carnet_ref.spdm.transfer import LONGEST_EXPONENT, MOST_TRIES, Answering, Asking, Crossing, Sizes
from carnet_ref.wire import MalformedError
from tests.fixtures.spdm import carry, deliver, reporter, requester, responder

V = Version.V1_2
SIZES = Sizes(pieces=True, peer_transfer=64, peer_message=500, own_message=500)
REQUEST = GetDigests(V).encode()


def asking(sizes: Sizes = SIZES, request: bytes = REQUEST) -> Crossing[Asking]:
    return Asking(V, sizes).put(request)


def answering(sizes: Sizes = SIZES) -> Answering:
    return Answering(V, sizes)


def error(code: int, extended: bytes = b"") -> bytes:
    return Error(V, code, extended=extended).encode()


def late(exponent: int = 3, code: int = GetDigests.CODE, token: int = 5, multiplier: int = 2) -> bytes:
    return error(ErrorCode.RESPONSE_NOT_READY, NotReady(exponent, code, token, multiplier).encode())


@pytest.mark.mends("E15")
def test_a_request_that_finds_the_peer_busy_is_sent_again_later_each_time_and_not_without_end() -> None:
    crossing, waits = asking(), []
    for _ in range(MOST_TRIES):
        crossing = crossing.transfer.take(error(ErrorCode.BUSY))
        assert crossing.send == REQUEST
        assert crossing.whole is None
        waits.append(crossing.after)
    assert waits == sorted(set(waits))
    with pytest.raises(TransferError, match=str(MOST_TRIES)):
        crossing.transfer.take(error(ErrorCode.BUSY))


def test_the_next_request_is_counted_anew() -> None:
    crossing = asking().transfer.take(error(ErrorCode.BUSY)).transfer.put(REQUEST)
    assert crossing.transfer.tries == 0


def test_busy_with_anything_more_is_malformed() -> None:
    with pytest.raises(MalformedError):
        asking().transfer.take(error(ErrorCode.BUSY, b"x"))


@pytest.mark.mends("E15")
def test_a_response_that_is_not_ready_is_asked_for_by_its_token_after_its_time() -> None:
    crossing = asking().transfer.take(late(exponent=7, token=9))
    assert crossing.send == RespondIfReady(V, GetDigests.CODE, 9).encode()
    assert crossing.after == 128
    assert crossing.transfer.take(b"\x12\x01\0\0").whole == b"\x12\x01\0\0"


def test_a_response_is_not_asked_for_without_end() -> None:
    crossing = asking()
    for number in range(MOST_TRIES):
        crossing = crossing.transfer.take((late if number % 2 else lambda: error(ErrorCode.BUSY))())
    with pytest.raises(TransferError):
        crossing.transfer.take(late())


LATE: dict[str, tuple[bytes, type[Exception]]] = {
    "to another request": (late(code=GetVersion.CODE), UnexpectedMessageError),
    "after too long": (late(exponent=LONGEST_EXPONENT + 1), TransferError),
    "and dropped at once": (late(multiplier=1), TransferError),
    "without saying when": (error(ErrorCode.RESPONSE_NOT_READY), MalformedError),
    "with more than belongs there": (late() + b"\0", MalformedError),
}


@pytest.mark.parametrize("row", sorted(LATE))
def test_a_response_that_comes_later_is_refused(row: str) -> None:
    message, kind = LATE[row]
    with pytest.raises(kind):
        asking().transfer.take(message)


@pytest.mark.parametrize("request_", [GetVersion(Version.V1_0), CURRENT.negotiate(V)])
def test_what_takes_no_time_is_not_late(request_: Message) -> None:
    crossing = asking(request=request_.encode())
    message = late(code=request_.CODE)
    assert crossing.transfer.take(message).whole == message


def test_a_responder_remembers_the_request_that_waits_and_answers_it_once() -> None:
    put_off = answering().put_off(REQUEST, NotReadyError(4))
    told = parse_message(put_off.send or b"", Layout(V))
    assert isinstance(told, Error)
    late_ = NotReady.of(told)
    assert (late_.exponent, late_.request_code) == (4, GetDigests.CODE)
    again = put_off.transfer.take(RespondIfReady(V, GetDigests.CODE, late_.token).encode())
    assert again.whole == REQUEST
    with pytest.raises(UnexpectedMessageError):
        again.transfer.take(RespondIfReady(V, GetDigests.CODE, late_.token).encode())


@pytest.mark.parametrize(
    "message",
    [
        RespondIfReady(V, GetDigests.CODE, 99).encode(),
        RespondIfReady(V, GetVersion.CODE, 1).encode(),
        REQUEST,
        ChunkSend(V, 0, 0, False, bytes(40), 100).encode(),
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


@pytest.mark.parametrize("summary", Summary)
def test_a_device_that_takes_its_time_is_waited_for(summary: Summary) -> None:
    class Slow:
        def __init__(self) -> None:
            self.waits = iter([BusyError("busy"), NotReadyError(5), NotReadyError(6), None] * 9)

        def _wait(self) -> None:
            if (wait := next(self.waits)) is not None:
                raise wait

        def report(self, asked: Any) -> bytes:
            self._wait()
            return reporter().report(asked)

        def summary(self, kind: Summary) -> bytes:
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

        def summary(self, kind: Summary) -> bytes:
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
                again = Requester.handle(self, Received(b"\x05" + Error(version, ErrorCode.BUSY).encode()))
                assert [type(each) for each in again] == [Send]
            return Requester.handle(self, event)

    state: Any = ours.state
    patient = Once(state.config)
    happened = carry((patient, theirs), [(0, Begin())], busy_once)
    assert len(told) > 6
    assert [type(each) for each in happened][-2:] == [Opened, Opened]
    assert patient.exported_master_secret() == theirs.exported_master_secret()
