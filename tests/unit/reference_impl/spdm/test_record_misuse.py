"""Inside a session, a record that is not the next one of its sender ends the session."""

from __future__ import annotations

import pytest

from carnet_ref.spdm import (
    MeasurementRequest,
    RecordError,
    SequenceError,
    SessionOverError,
    UnexpectedMessageError,
)
from carnet_ref.spdm.layout import Version
from carnet_ref.spdm.machine import Begin, Closed, Received, Secured, Send, UpdateKeys
from carnet_ref.spdm.messages import GetMeasurements, Heartbeat, KeyUpdate, UpdateOperation
from carnet_ref.wire import MalformedError
from tests.fixtures.spdm import deliver, established, reporter, requester, responder


def test_after_an_update_the_new_key_has_to_be_verified_first() -> None:
    ours, theirs = established()
    (effect,) = ours.handle(UpdateKeys())
    assert isinstance(effect, Send)
    theirs.receive(effect.data)
    state = ours.state
    assert isinstance(state, Secured)
    again = KeyUpdate(Version.V1_1, UpdateOperation.UPDATE_ALL_KEYS, 1)
    _, record = state.sending.updated().seal(5, again.encode())
    with pytest.raises(UnexpectedMessageError, match="verifies the new key"):
        theirs.receive(record)


def test_a_record_replayed_reordered_or_left_out_ends_the_session() -> None:
    for choose in ((0, 0), (1,)):
        ours, theirs = established()
        records = [ours.seal(b"one"), ours.seal(b"two")]
        for index in choose[:-1]:
            theirs.open(records[index])
        with pytest.raises(SequenceError):
            theirs.open(records[choose[-1]])
        with pytest.raises(SessionOverError):
            theirs.open(records[0])


def test_a_record_of_another_session_or_an_altered_one_does_not_open() -> None:
    ours, theirs = established()
    other = requester(seed="third")
    deliver(other, Begin(), responder())
    with pytest.raises(RecordError, match="session"):
        theirs.open(other.seal(b"x"))
    ours, theirs = established()
    record = bytearray(ours.seal(b"x"))
    record[-1] ^= 1
    with pytest.raises(RecordError, match="authenticate"):
        theirs.open(bytes(record))


def test_a_record_sent_back_to_its_sender_does_not_open() -> None:
    ours, _ = established()
    with pytest.raises((RecordError, SequenceError)):
        ours.open(ours.seal(b"x"))


def test_a_failure_inside_the_session_is_not_answered() -> None:
    _, theirs = established()
    effects = theirs.handle(Received(b"\x06" + bytes(30)))
    assert [type(effect) for effect in effects] == [Closed]


def test_a_message_in_the_clear_inside_a_session_ends_it() -> None:
    ours, theirs = established()
    for end in (ours, theirs):
        with pytest.raises(UnexpectedMessageError):
            end.receive(b"\x05\x11\xe8\x00\x00")


def test_a_report_that_nobody_asked_for_ends_the_session() -> None:
    ours, theirs = established()
    request = ours.ask_report(bytes(32))
    (answer,) = theirs.receive(request)
    ours.take_report(answer)
    state = theirs.state
    asked = GetMeasurements(Version.V1_1, 1, 0xFF, bytes(32))
    report = reporter().report(MeasurementRequest(asked, asked.encode()))
    unasked = state.sealed(5, report)[1]  # type: ignore[attr-defined]
    with pytest.raises(UnexpectedMessageError):
        ours.receive(unasked[0].data)


def test_an_application_does_not_fit_a_record_without_end() -> None:
    ours, theirs = established()
    with pytest.raises(RecordError):
        ours.seal(bytes(65_536))
    assert theirs.open(ours.seal(b"still open")) == b"still open"


@pytest.mark.parametrize("kind", [0x01, 0x06, 0x7F])
def test_a_message_of_spdm_that_is_said_to_be_of_another_type_ends_the_session(kind: int) -> None:
    ours, theirs = established()
    state = ours.state
    assert isinstance(state, Secured)
    _, record = state.sending.seal(kind, Heartbeat(Version.V1_1).encode())
    with pytest.raises(UnexpectedMessageError, match=f"type {kind:#04x}"):
        theirs.receive(record)


def test_the_first_message_is_said_to_be_of_spdm_or_refused() -> None:
    begin = requester().begin()[0]
    for kind in (0x00, 0x07, 0x7E):
        with pytest.raises(MalformedError, match="type 0x05"):
            responder().receive(bytes([kind]) + begin[1:])
