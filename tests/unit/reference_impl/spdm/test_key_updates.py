"""KEY_UPDATE of one direction and of both, and what is answered with an ERROR."""

from __future__ import annotations

import pytest

from carnet_ref.spdm import RecordError, UnexpectedMessageError
from carnet_ref.spdm.layout import Version
from carnet_ref.spdm.machine import KeysUpdated, Secured, Send, UpdateKeys
from carnet_ref.spdm.messages import (
    Error,
    ErrorCode,
    Finish,
    Heartbeat,
    HeartbeatAck,
    KeyUpdate,
    KeyUpdateAck,
    UpdateOperation,
)
from carnet_ref.spdm.secured import SPDM
from tests.fixtures.spdm import ByHand, deliver, established, inside

V = Version.V1_1


def update(operation: UpdateOperation, tag: int = 7) -> KeyUpdate:
    return KeyUpdate(V, operation, tag)


@pytest.mark.mends("E2")
@pytest.mark.parametrize("both", [False, True])
def test_one_direction_or_both_move_to_the_next_key(both: bool) -> None:
    ours, theirs = established()
    before = ours.state
    assert isinstance(before, Secured)
    assert deliver(ours, UpdateKeys(both), theirs) == [KeysUpdated(), KeysUpdated()]
    after = ours.state
    assert isinstance(after, Secured)
    assert after.sending.secret == before.sending.secret.updated()
    assert after.receiving.secret == (before.receiving.secret.updated() if both else before.receiving.secret)
    assert theirs.open(ours.seal(b"after")) == b"after"
    assert ours.open(theirs.seal(b"back")) == b"back"


def test_what_the_device_sends_while_the_requester_updates_its_own_key_arrives() -> None:
    ours, theirs = established()
    under_way = theirs.seal(b"one")
    (asked,) = (effect.data for effect in ours.handle(UpdateKeys(both=False)) if isinstance(effect, Send))
    assert ours.open(under_way) == b"one"
    with pytest.raises(UnexpectedMessageError):
        ours.seal(b"not between keys")
    (ack,) = theirs.receive(asked)
    (verify,) = ours.receive(ack)
    (done,) = theirs.receive(verify)
    assert ours.receive(done) == []
    assert ours.open(theirs.seal(b"two")) == b"two"


def verified(hand: ByHand, operation: UpdateOperation) -> None:
    assert hand.say(update(operation)) == KeyUpdateAck(V, operation, 7)


@pytest.mark.mends("E2")
def test_a_new_key_that_nobody_made_gets_an_error_and_the_session_goes_on() -> None:
    hand = inside()
    assert hand.say(update(UpdateOperation.VERIFY_NEW_KEY)) == Error(V, ErrorCode.INVALID_REQUEST)
    assert not hand.over
    assert isinstance(hand.say(Heartbeat(V)), HeartbeatAck)
    verified(hand, UpdateOperation.UPDATE_KEY)
    assert hand.sending is not None
    hand.sending = hand.sending.updated()
    verified(hand, UpdateOperation.VERIFY_NEW_KEY)
    assert hand.say(update(UpdateOperation.VERIFY_NEW_KEY)) == Error(V, ErrorCode.INVALID_REQUEST)
    assert isinstance(hand.say(Heartbeat(V)), HeartbeatAck)


def test_anything_but_the_new_key_after_an_update_is_told_so_and_ends_the_session() -> None:
    for message in (Heartbeat(V), update(UpdateOperation.UPDATE_KEY), update(UpdateOperation.UPDATE_ALL_KEYS)):
        hand = inside()
        verified(hand, UpdateOperation.UPDATE_KEY)
        assert hand.sending is not None
        hand.sending = hand.sending.updated()
        assert hand.say(message) == Error(V, ErrorCode.UNEXPECTED_REQUEST)
        assert isinstance(hand.error, UnexpectedMessageError)
        assert hand.over


def test_the_key_before_an_update_opens_nothing_any_more() -> None:
    hand = inside()
    verified(hand, UpdateOperation.UPDATE_KEY)
    assert hand.sending is not None
    assert hand.say(update(UpdateOperation.VERIFY_NEW_KEY)) is None
    assert hand.over


def test_an_update_of_no_kind_that_there_is_gets_an_error_and_ends_the_session() -> None:
    hand = inside()
    assert hand.say(bytes([V, KeyUpdate.CODE, 4, 0])) == Error(V, ErrorCode.INVALID_REQUEST)
    assert hand.over


def test_what_belongs_before_the_session_gets_an_error_inside_and_ends_it() -> None:
    hand = inside()
    assert hand.say(Finish(V, 0, b"", bytes(48))) == Error(V, ErrorCode.UNEXPECTED_REQUEST)
    assert hand.over


def test_what_does_not_authenticate_is_not_answered() -> None:
    hand = inside()
    assert hand.sending is not None
    _, record = hand.sending.updated().seal(SPDM, Heartbeat(V).encode())
    with pytest.raises(RecordError):
        hand.theirs.receive(record)
    assert hand.over
