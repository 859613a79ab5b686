"""Requester and responder open a session with each other, use it, and end it."""

from __future__ import annotations

import asyncio

import pytest

from carnet_ref.keys import H100KeySchedule, SecretTakenError
from carnet_ref.spdm import (
    CURRENT,
    H100,
    H100_DEVICE,
    GpuSession,
    Profile,
    Requester,
    Responder,
    SessionOverError,
    SessionReport,
    SpdmError,
    UnexpectedMessageError,
)
from carnet_ref.spdm.layout import Version
from carnet_ref.spdm.machine import (
    ApplicationData,
    Beat,
    Begin,
    Closed,
    End,
    Identified,
    KeysUpdated,
    Measure,
    Measured,
    Opened,
    Send,
    SendApplication,
    UpdateKeys,
)
from carnet_ref.spdm.messages import Digests, GetDigests
from carnet_ref.spdm.requester import AwaitBegin, Established
from carnet_ref.spdm.responder import AwaitRequest
from carnet_ref.spdm.session import key_bytes
from tests.fixtures.spdm import chain, deliver, key, negotiated, requester, responder

PAIRS = [
    (H100, H100_DEVICE, Version.V1_1),
    (H100, H100, Version.V1_2),
    (H100, CURRENT, Version.V1_2),
    (Profile("1.3", (Version.V1_3,)), CURRENT, Version.V1_3),
    (CURRENT, CURRENT, Version.V1_4),
]


def opened(asking: Profile = H100, answering: Profile = H100_DEVICE) -> tuple[Requester, Responder]:
    ours, theirs = requester(asking), responder(answering)
    deliver(ours, Begin(), theirs)
    assert isinstance(ours.state, Established)
    assert isinstance(theirs.state, AwaitRequest)
    return ours, theirs


@pytest.mark.mends("E15")
@pytest.mark.parametrize(("asking", "answering", "version"), PAIRS)
def test_two_ends_open_a_session_of_the_newest_common_version(
    asking: Profile, answering: Profile, version: Version
) -> None:
    ours, theirs = requester(asking), responder(answering)
    effects = deliver(ours, Begin(), theirs)
    assert [type(effect) for effect in effects] == [Identified, Opened, Opened]
    assert ours.session is not None
    assert theirs.session is not None
    assert ours.session.version is version
    assert (ours.session.id, ours.label, ours.session.responder) == (
        theirs.session.id,
        theirs.label,
        theirs.session.responder,
    )
    assert ours.session.certificate == chain()[-1]
    assert ours.exported_master_secret() == theirs.exported_master_secret()


def test_the_exported_secret_is_handed_out_once_and_makes_the_h100_keys() -> None:
    ours, theirs = opened()
    mine, other = (H100KeySchedule.of_session(end.exported_master_secret()) for end in (ours, theirs))
    assert mine.key("Lce00_h2d_user") == other.key("Lce00_h2d_user")
    for end in (ours, theirs):
        with pytest.raises(SecretTakenError):
            end.exported_master_secret()
    with pytest.raises(SecretTakenError):
        requester().exported_master_secret()


def test_no_secret_is_exported_from_a_session_that_is_over() -> None:
    ours, theirs = opened()
    deliver(ours, End(), theirs)
    for end in (ours, theirs):
        with pytest.raises(SecretTakenError):
            end.exported_master_secret()


@pytest.mark.parametrize(("asking", "answering", "version"), PAIRS)
def test_a_report_comes_marked_with_the_session_it_came_in(
    asking: Profile, answering: Profile, version: Version
) -> None:
    ours, theirs = opened(asking, answering)
    (effect,) = deliver(ours, Measure(bytes(range(32))), theirs)
    assert isinstance(effect, Measured)
    assert effect.report.session is ours.session
    assert effect.report.nonce == bytes(range(32))
    assert effect.report.report[:4] == bytes([version, 0xE0, 0x01, 0xFF])
    assert effect.report.report[4:36] == bytes(range(32))


def test_at_version_1_1_the_request_is_the_37_bytes_that_nvidia_s_reports_start_with() -> None:
    ours, theirs = opened()
    (effect,) = deliver(ours, Measure(bytes(range(32))), theirs)
    assert isinstance(effect, Measured)
    assert effect.report.request == bytes.fromhex("11e001ff") + bytes(range(32)) + b"\0"


def test_a_nonce_of_another_size_is_the_caller_s_mistake() -> None:
    ours, _ = opened()
    with pytest.raises(SpdmError):
        ours.handle(Measure(bytes(31)))
    assert isinstance(ours.state, Established)


def test_applications_talk_inside_the_session_both_ways() -> None:
    ours, theirs = opened()
    assert deliver(ours, SendApplication(b"command"), theirs) == [ApplicationData(b"command")]
    assert deliver(theirs, SendApplication(b"answer"), ours) == [ApplicationData(b"answer")]
    assert theirs.open(ours.seal(b"one")) == b"one"
    assert ours.open(theirs.seal(b"two")) == b"two"


def test_what_has_to_be_taken_is_not_dropped() -> None:
    ours, theirs = opened()
    with pytest.raises(UnexpectedMessageError, match="ApplicationData"):
        theirs.receive(ours.seal(b"command"))
    instead = theirs.seal(b"instead")
    (answer,) = theirs.receive(ours.ask_report(bytes(32)))
    with pytest.raises(UnexpectedMessageError, match="Measured"):
        ours.take_report(instead)
    assert ours.take_report(answer).nonce == bytes(32)


def test_what_the_application_says_is_not_on_the_wire() -> None:
    ours, _ = opened()
    assert b"a holder's secret" not in ours.seal(b"a holder's secret")


def test_keys_update_in_both_directions_and_everything_goes_on() -> None:
    ours, theirs = opened()
    states = ours.state, theirs.state
    assert deliver(ours, UpdateKeys(), theirs) == [KeysUpdated(), KeysUpdated()]
    for before, end in zip(states, (ours, theirs), strict=True):
        assert isinstance(before, Established | AwaitRequest)
        assert isinstance(end.state, Established | AwaitRequest)
        assert end.state.sending.secret == before.sending.secret.updated()
        assert end.state.receiving.secret == before.receiving.secret.updated()
    assert theirs.open(ours.seal(b"after")) == b"after"
    deliver(ours, UpdateKeys(), theirs)
    assert ours.open(theirs.seal(b"again")) == b"again"


@pytest.mark.parametrize("earlier", [0, 2])
def test_what_was_under_way_when_keys_were_updated_still_arrives(earlier: int) -> None:
    ours, theirs = opened()
    for index in range(earlier):
        assert ours.open(theirs.seal(bytes([index]))) == bytes([index])
    under_way = [theirs.seal(b"one"), theirs.seal(b"two")]
    (update,) = (effect for effect in ours.handle(UpdateKeys()) if isinstance(effect, Send))
    assert [ours.open(record) for record in under_way] == [b"one", b"two"]
    (ack,) = theirs.receive(update.data)
    (verify,) = ours.receive(ack)
    (done,) = theirs.receive(verify)
    assert ours.receive(done) == []
    assert ours.open(theirs.seal(b"three")) == b"three"


def test_an_answer_under_the_key_before_an_update_ends_the_session() -> None:
    ours, theirs = opened()
    state = theirs.state
    assert isinstance(state, AwaitRequest)
    (late,) = (effect.data for effect in state.say(b"\x11\x68\0\0")[1] if isinstance(effect, Send))
    ours.handle(UpdateKeys())
    with pytest.raises(UnexpectedMessageError, match="key before"):
        ours.receive(late)


def test_a_heartbeat_is_answered() -> None:
    ours, theirs = opened()
    assert deliver(ours, Beat(), theirs) == []
    assert isinstance(ours.state, Established)


def test_an_ended_session_is_over_for_both() -> None:
    ours, theirs = opened()
    assert deliver(ours, End(), theirs) == [Closed(None), Closed(None)]
    for end in (ours, theirs):
        with pytest.raises(SessionOverError):
            end.handle(SendApplication(b"more"))


def test_a_call_out_of_turn_raises_and_changes_nothing() -> None:
    for end in (requester(), responder()):
        before = end.state
        with pytest.raises(UnexpectedMessageError):
            end.handle(End())
        assert end.state == before
    assert isinstance(requester().state, AwaitBegin)


def test_sessions_differ_in_keys_and_name_even_with_the_same_device() -> None:
    names = set()
    for seed in ("one", "two"):
        ours, theirs = requester(seed=seed), responder(seed=seed)
        deliver(ours, Begin(), theirs)
        names.add((ours.label, ours.exported_master_secret()))
    assert len({label for label, _ in names}) == len({secret for _, secret in names}) == 2


def test_nobody_makes_a_session_s_tokens_but_its_machine() -> None:
    ours, _ = opened()
    assert ours.session is not None
    with pytest.raises(TypeError):
        GpuSession(1, Version.V1_1, bytes(48), ours.session.responder, None)
    with pytest.raises(TypeError):
        SessionReport(bytes(32), b"", b"", b"", ours.session, object())


def test_taking_turns_is_the_same_machine() -> None:
    ours, theirs = requester(), responder()
    messages = ours.begin()
    while messages:
        answers = [answer for message in messages for answer in theirs.receive(message)]
        messages = [message for answer in answers for message in ours.receive(answer)]
    assert ours.established
    assert theirs.established
    (answer,) = theirs.receive(ours.ask_report(bytes(32)))
    assert ours.take_report(answer).nonce == bytes(32)
    assert ours.responder_key == key_bytes(key(3).public_key())


async def _read(reader: asyncio.StreamReader) -> bytes:
    return await reader.readexactly(int.from_bytes(await reader.readexactly(4), "big"))


def _write(writer: asyncio.StreamWriter, message: bytes) -> None:
    writer.write(len(message).to_bytes(4, "big") + message)


def test_two_ends_open_a_session_over_a_tcp_socket() -> None:
    theirs, ours = responder(), requester()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while not theirs.established:
            for answer in theirs.receive(await _read(reader)):
                _write(writer, answer)
        _write(writer, theirs.seal(b"welcome"))
        writer.close()

    async def session() -> bytes:
        server = await asyncio.start_server(serve, "127.0.0.1", 0)
        reader, writer = await asyncio.open_connection(*server.sockets[0].getsockname())
        for message in ours.begin():
            _write(writer, message)
        while not ours.established:
            for message in ours.receive(await _read(reader)):
                _write(writer, message)
        welcome = ours.open(await _read(reader))
        writer.close()
        await writer.wait_closed()
        server.close()
        await server.wait_closed()
        return welcome

    assert asyncio.run(asyncio.wait_for(session(), 20)) == b"welcome"
    assert ours.label == theirs.label


@pytest.mark.mends("E1")
@pytest.mark.parametrize("version", [Version.V1_1, Version.V1_2, Version.V1_3, Version.V1_4])
def test_digests_say_which_slots_are_supported_where_the_version_has_a_place_for_it(version: Version) -> None:
    hand, _ = negotiated(version)
    digests = hand.say(GetDigests(version))
    assert isinstance(digests, Digests)
    assert digests.slots == 1
    assert digests.supported == (1 if version >= Version.V1_3 else 0)
