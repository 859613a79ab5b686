"""Requester and responder open a session, use it, update its keys and end it."""

import asyncio
import hashlib
import hmac

import pytest

from carnet_ref.crypto.primitives import AesGcm, AuthenticationError
from carnet_ref.keys import H100KeySchedule, SecretTakenError
from carnet_ref.spdm import machine
from carnet_ref.spdm.endpoints import Requester, Responder
from carnet_ref.spdm.errors import RecordError, SequenceError, SessionOverError, SpdmError, UnexpectedMessageError
from carnet_ref.spdm.layout import Version
from carnet_ref.spdm.machine import SecuredState
from carnet_ref.spdm.messages import (
    Digests,
    Error,
    ErrorCode,
    Finish,
    GetDigests,
    GetMeasurements,
    Heartbeat,
    HeartbeatAck,
    KeyUpdate,
    KeyUpdateAck,
    UpdateOperation,
)
from carnet_ref.spdm.profile import CURRENT, H100, H100_DEVICE, Profile
from carnet_ref.spdm.requester import AwaitBegin, Established
from carnet_ref.spdm.responder import AwaitRequest
from carnet_ref.spdm.secured import SPDM, DirectionSecret, HandshakeSecrets, RecordKeys, SecuredRecord, bin_concat
from carnet_ref.spdm.session import GpuSession, MeasurementRequest, Purpose, SessionReport, key_bytes, signed_bytes
from carnet_ref.wire import MalformedError
from tests.fixtures import spdm

PAIRS = [
    (H100, H100_DEVICE, Version.V1_1),
    (H100, H100, Version.V1_2),
    (H100, CURRENT, Version.V1_2),
    (Profile("1.3", (Version.V1_3,)), CURRENT, Version.V1_3),
    (CURRENT, CURRENT, Version.V1_4),
]


def opened(asking: Profile = H100, answering: Profile = H100_DEVICE) -> tuple[Requester, Responder]:
    ours, theirs = spdm.requester(asking), spdm.responder(answering)
    spdm.deliver(ours, machine.Begin(), theirs)
    assert isinstance(ours.state, Established)
    assert isinstance(theirs.state, AwaitRequest)
    return ours, theirs


@pytest.mark.mends("E15")
@pytest.mark.parametrize(("asking", "answering", "version"), PAIRS)
def test_two_ends_open_a_session_of_the_newest_common_version(
    asking: Profile, answering: Profile, version: Version
) -> None:
    ours, theirs = spdm.requester(asking), spdm.responder(answering)
    effects = spdm.deliver(ours, machine.Begin(), theirs)
    assert [type(effect) for effect in effects] == [machine.Identified, machine.Opened, machine.Opened]
    assert ours.session is not None
    assert theirs.session is not None
    assert ours.session.version is version
    assert (ours.session.id, ours.label, ours.session.responder) == (
        theirs.session.id,
        theirs.label,
        theirs.session.responder,
    )
    assert ours.session.certificate == spdm.chain()[-1]
    assert ours.exported_master_secret() == theirs.exported_master_secret()


def test_the_exported_secret_is_handed_out_once_and_not_after_the_end() -> None:
    ours, theirs = opened()
    mine, other = (H100KeySchedule.of_session(end.exported_master_secret()) for end in (ours, theirs))
    assert mine.key("Lce00_h2d_user") == other.key("Lce00_h2d_user")
    for end in (ours, theirs):
        with pytest.raises(SecretTakenError):
            end.exported_master_secret()
    with pytest.raises(SecretTakenError):
        spdm.requester().exported_master_secret()
    ours, theirs = opened()
    spdm.deliver(ours, machine.End(), theirs)
    for end in (ours, theirs):
        with pytest.raises(SecretTakenError):
            end.exported_master_secret()


@pytest.mark.parametrize(("asking", "answering", "version"), PAIRS)
def test_a_report_comes_marked_with_the_session_it_came_in(
    asking: Profile, answering: Profile, version: Version
) -> None:
    ours, theirs = opened(asking, answering)
    (effect,) = spdm.deliver(ours, machine.Measure(bytes(range(32))), theirs)
    assert isinstance(effect, machine.Measured)
    assert effect.report.session is ours.session
    assert effect.report.nonce == bytes(range(32))
    assert effect.report.report[:4] == bytes([version, 0xE0, 0x01, 0xFF])
    assert effect.report.report[4:36] == bytes(range(32))


def test_at_version_1_1_the_request_is_the_37_bytes_that_nvidia_s_reports_start_with() -> None:
    ours, theirs = opened()
    (effect,) = spdm.deliver(ours, machine.Measure(bytes(range(32))), theirs)
    assert isinstance(effect, machine.Measured)
    assert effect.report.request == bytes.fromhex("11e001ff") + bytes(range(32)) + b"\0"
    ours, _ = opened()
    with pytest.raises(SpdmError):
        ours.handle(machine.Measure(bytes(31)))
    assert isinstance(ours.state, Established)


def test_applications_talk_inside_the_session_both_ways_and_not_on_the_wire() -> None:
    ours, theirs = opened()
    assert spdm.deliver(ours, machine.SendApplication(b"command"), theirs) == [machine.ApplicationData(b"command")]
    assert spdm.deliver(theirs, machine.SendApplication(b"answer"), ours) == [machine.ApplicationData(b"answer")]
    assert theirs.open(ours.seal(b"one")) == b"one"
    assert ours.open(theirs.seal(b"two")) == b"two"
    ours, _ = opened()
    assert b"a holder's secret" not in ours.seal(b"a holder's secret")


def test_what_has_to_be_taken_is_not_dropped() -> None:
    ours, theirs = opened()
    with pytest.raises(UnexpectedMessageError, match="ApplicationData"):
        theirs.receive(ours.seal(b"command"))
    instead = theirs.seal(b"instead")
    (answer,) = theirs.receive(ours.ask_report(bytes(32)))
    with pytest.raises(UnexpectedMessageError, match="Measured"):
        ours.take_report(instead)
    assert ours.take_report(answer).nonce == bytes(32)


def test_keys_update_in_both_directions_and_everything_goes_on() -> None:
    ours, theirs = opened()
    states = ours.state, theirs.state
    assert spdm.deliver(ours, machine.UpdateKeys(), theirs) == [machine.KeysUpdated(), machine.KeysUpdated()]
    for before, end in zip(states, (ours, theirs), strict=True):
        assert isinstance(before, Established | AwaitRequest)
        assert isinstance(end.state, Established | AwaitRequest)
        assert end.state.sending.secret == before.sending.secret.after_update()
        assert end.state.receiving.secret == before.receiving.secret.after_update()
    assert theirs.open(ours.seal(b"after")) == b"after"
    spdm.deliver(ours, machine.UpdateKeys(), theirs)
    assert ours.open(theirs.seal(b"again")) == b"again"


@pytest.mark.parametrize("earlier", [0, 2])
def test_what_was_under_way_when_keys_were_updated_still_arrives(earlier: int) -> None:
    ours, theirs = opened()
    for index in range(earlier):
        assert ours.open(theirs.seal(bytes([index]))) == bytes([index])
    under_way = [theirs.seal(b"one"), theirs.seal(b"two")]
    (update,) = (effect for effect in ours.handle(machine.UpdateKeys()) if isinstance(effect, machine.Send))
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
    (late,) = (effect.data for effect in state.say(b"\x11\x68\0\0")[1] if isinstance(effect, machine.Send))
    ours.handle(machine.UpdateKeys())
    with pytest.raises(UnexpectedMessageError, match="key before"):
        ours.receive(late)


def test_a_heartbeat_is_answered_until_the_session_is_over_for_both() -> None:
    ours, theirs = opened()
    assert spdm.deliver(ours, machine.Beat(), theirs) == []
    assert isinstance(ours.state, Established)
    ours, theirs = opened()
    assert spdm.deliver(ours, machine.End(), theirs) == [machine.Closed(None), machine.Closed(None)]
    for end in (ours, theirs):
        with pytest.raises(SessionOverError):
            end.handle(machine.SendApplication(b"more"))


def test_a_call_out_of_turn_raises_and_changes_nothing() -> None:
    for end in (spdm.requester(), spdm.responder()):
        before = end.state
        with pytest.raises(UnexpectedMessageError):
            end.handle(machine.End())
        assert end.state == before
    assert isinstance(spdm.requester().state, AwaitBegin)


def test_sessions_differ_in_keys_and_name_even_with_the_same_device() -> None:
    names = set()
    for seed in ("one", "two"):
        ours, theirs = spdm.requester(seed=seed), spdm.responder(seed=seed)
        spdm.deliver(ours, machine.Begin(), theirs)
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
    ours, theirs = spdm.requester(), spdm.responder()
    messages = ours.begin()
    while messages:
        answers = [answer for message in messages for answer in theirs.receive(message)]
        messages = [message for answer in answers for message in ours.receive(answer)]
    assert ours.is_established
    assert theirs.is_established
    (answer,) = theirs.receive(ours.ask_report(bytes(32)))
    assert ours.take_report(answer).nonce == bytes(32)
    assert ours.responder_key == key_bytes(spdm.key(3).public_key())


async def _read(reader: asyncio.StreamReader) -> bytes:
    return await reader.readexactly(int.from_bytes(await reader.readexactly(4), "big"))


def _write(writer: asyncio.StreamWriter, message: bytes) -> None:
    writer.write(len(message).to_bytes(4, "big") + message)


def test_two_ends_open_a_session_over_a_tcp_socket() -> None:
    theirs, ours = spdm.responder(), spdm.requester()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while not theirs.is_established:
            for answer in theirs.receive(await _read(reader)):
                _write(writer, answer)
        _write(writer, theirs.seal(b"welcome"))
        writer.close()

    async def session() -> bytes:
        server = await asyncio.start_server(serve, "127.0.0.1", 0)
        reader, writer = await asyncio.open_connection(*server.sockets[0].getsockname())
        for message in ours.begin():
            _write(writer, message)
        while not ours.is_established:
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
    hand, _ = spdm.negotiated(version)
    digests = hand.say(GetDigests(version))
    assert isinstance(digests, Digests)
    assert digests.slots == 1
    assert digests.supported == (1 if version >= Version.V1_3 else 0)


V = Version.V1_1


def update(operation: UpdateOperation, tag: int = 7) -> KeyUpdate:
    return KeyUpdate(V, operation, tag)


@pytest.mark.mends("E2")
@pytest.mark.parametrize("both", [False, True])
def test_one_direction_or_both_move_to_the_next_key(both: bool) -> None:
    ours, theirs = spdm.established()
    before = ours.state
    assert isinstance(before, SecuredState)
    assert spdm.deliver(ours, machine.UpdateKeys(both), theirs) == [machine.KeysUpdated(), machine.KeysUpdated()]
    after = ours.state
    assert isinstance(after, SecuredState)
    assert after.sending.secret == before.sending.secret.after_update()
    assert after.receiving.secret == (before.receiving.secret.after_update() if both else before.receiving.secret)
    assert theirs.open(ours.seal(b"after")) == b"after"
    assert ours.open(theirs.seal(b"back")) == b"back"


def test_what_the_device_sends_while_the_requester_updates_its_own_key_arrives() -> None:
    ours, theirs = spdm.established()
    under_way = theirs.seal(b"one")
    (asked,) = (
        effect.data for effect in ours.handle(machine.UpdateKeys(both=False)) if isinstance(effect, machine.Send)
    )
    assert ours.open(under_way) == b"one"
    with pytest.raises(UnexpectedMessageError):
        ours.seal(b"not between keys")
    (ack,) = theirs.receive(asked)
    (verify,) = ours.receive(ack)
    (done,) = theirs.receive(verify)
    assert ours.receive(done) == []
    assert ours.open(theirs.seal(b"two")) == b"two"


def verified(hand: spdm.ByHand, operation: UpdateOperation) -> None:
    assert hand.say(update(operation)) == KeyUpdateAck(V, operation, 7)


@pytest.mark.mends("E2")
def test_a_new_key_that_nobody_made_gets_an_error_and_the_session_goes_on() -> None:
    hand = spdm.inside()
    assert hand.say(update(UpdateOperation.VERIFY_NEW_KEY)) == Error(V, ErrorCode.INVALID_REQUEST)
    assert not hand.over
    assert isinstance(hand.say(Heartbeat(V)), HeartbeatAck)
    verified(hand, UpdateOperation.UPDATE_KEY)
    assert hand.sending is not None
    hand.sending = hand.sending.after_update()
    verified(hand, UpdateOperation.VERIFY_NEW_KEY)
    assert hand.say(update(UpdateOperation.VERIFY_NEW_KEY)) == Error(V, ErrorCode.INVALID_REQUEST)
    assert isinstance(hand.say(Heartbeat(V)), HeartbeatAck)


def test_anything_but_the_new_key_after_an_update_is_told_so_and_ends_the_session() -> None:
    for message in (Heartbeat(V), update(UpdateOperation.UPDATE_KEY), update(UpdateOperation.UPDATE_ALL_KEYS)):
        hand = spdm.inside()
        verified(hand, UpdateOperation.UPDATE_KEY)
        assert hand.sending is not None
        hand.sending = hand.sending.after_update()
        assert hand.say(message) == Error(V, ErrorCode.UNEXPECTED_REQUEST)
        assert isinstance(hand.error, UnexpectedMessageError)
        assert hand.over


def test_what_does_not_belong_in_a_session_gets_an_error_or_no_answer_and_ends_it() -> None:
    hand = spdm.inside()
    assert hand.say(bytes([V, KeyUpdate.CODE, 4, 0])) == Error(V, ErrorCode.INVALID_REQUEST)
    assert hand.over
    hand = spdm.inside()
    assert hand.say(Finish(V, 0, b"", bytes(48))) == Error(V, ErrorCode.UNEXPECTED_REQUEST)
    assert hand.over
    hand = spdm.inside()
    assert hand.sending is not None
    _, record = hand.sending.after_update().seal(SPDM, Heartbeat(V).encode())
    with pytest.raises(RecordError):
        hand.theirs.receive(record)
    assert hand.over
    hand = spdm.inside()
    verified(hand, UpdateOperation.UPDATE_KEY)
    assert hand.sending is not None
    assert hand.say(update(UpdateOperation.VERIFY_NEW_KEY)) is None
    assert hand.over


def test_after_an_update_the_new_key_has_to_be_verified_first() -> None:
    ours, theirs = spdm.established()
    (effect,) = ours.handle(machine.UpdateKeys())
    assert isinstance(effect, machine.Send)
    theirs.receive(effect.data)
    state = ours.state
    assert isinstance(state, SecuredState)
    again = KeyUpdate(Version.V1_1, UpdateOperation.UPDATE_ALL_KEYS, 1)
    _, record = state.sending.after_update().seal(5, again.encode())
    with pytest.raises(UnexpectedMessageError, match="verifies the new key"):
        theirs.receive(record)


def test_a_record_replayed_reordered_or_left_out_ends_the_session() -> None:
    for choose in ((0, 0), (1,)):
        ours, theirs = spdm.established()
        records = [ours.seal(b"one"), ours.seal(b"two")]
        for index in choose[:-1]:
            theirs.open(records[index])
        with pytest.raises(SequenceError):
            theirs.open(records[choose[-1]])
        with pytest.raises(SessionOverError):
            theirs.open(records[0])


def test_a_record_of_another_session_or_an_altered_one_does_not_open() -> None:
    ours, theirs = spdm.established()
    other = spdm.requester(seed="third")
    spdm.deliver(other, machine.Begin(), spdm.responder())
    with pytest.raises(RecordError, match="session"):
        theirs.open(other.seal(b"x"))
    ours, theirs = spdm.established()
    record = bytearray(ours.seal(b"x"))
    record[-1] ^= 1
    with pytest.raises(RecordError, match="authenticate"):
        theirs.open(bytes(record))


def test_a_record_sent_back_a_failure_and_a_message_in_the_clear_end_a_session() -> None:
    ours, _ = spdm.established()
    with pytest.raises((RecordError, SequenceError)):
        ours.open(ours.seal(b"x"))
    _, theirs = spdm.established()
    effects = theirs.handle(machine.Received(b"\x06" + bytes(30)))
    assert [type(effect) for effect in effects] == [machine.Closed]
    ours, theirs = spdm.established()
    for end in (ours, theirs):
        with pytest.raises(UnexpectedMessageError):
            end.receive(b"\x05\x11\xe8\x00\x00")


def test_a_report_that_nobody_asked_for_ends_the_session() -> None:
    ours, theirs = spdm.established()
    request = ours.ask_report(bytes(32))
    (answer,) = theirs.receive(request)
    ours.take_report(answer)
    state = theirs.state
    asked = GetMeasurements(Version.V1_1, 1, 0xFF, bytes(32))
    report = spdm.reporter().report(MeasurementRequest(asked, asked.encode()))
    assert isinstance(state, SecuredState)
    (unasked,) = (effect for effect in state.send_record(5, report)[1] if isinstance(effect, machine.Send))
    with pytest.raises(UnexpectedMessageError):
        ours.receive(unasked.data)


def test_no_record_is_too_long_and_the_first_message_is_said_to_be_of_spdm() -> None:
    ours, theirs = spdm.established()
    with pytest.raises(RecordError):
        ours.seal(bytes(65_536))
    assert theirs.open(ours.seal(b"still open")) == b"still open"
    begin = spdm.requester().begin()[0]
    for kind in (0x00, 0x07, 0x7E):
        with pytest.raises(MalformedError, match="type 0x05"):
            spdm.responder().receive(bytes([kind]) + begin[1:])


@pytest.mark.parametrize("kind", [0x01, 0x06, 0x7F])
def test_a_message_of_spdm_that_is_said_to_be_of_another_type_ends_the_session(kind: int) -> None:
    ours, theirs = spdm.established()
    state = ours.state
    assert isinstance(state, SecuredState)
    _, record = state.sending.seal(kind, Heartbeat(Version.V1_1).encode())
    with pytest.raises(UnexpectedMessageError, match=f"type {kind:#04x}"):
        theirs.receive(record)


def test_a_label_is_size_version_text_and_context() -> None:
    assert bin_concat(Version.V1_2, 48, "req hs data", b"TH1") == b"\x30\x00spdm1.2 req hs dataTH1"
    assert bin_concat(Version.V1_1, 12, "iv") == b"\x0c\x00spdm1.1 iv"


def expand(secret: bytes, info: bytes, size: int) -> bytes:
    return hmac.digest(secret, info + b"\x01", hashlib.sha384)[:size]


def test_secrets_follow_the_tree_of_the_specification() -> None:
    shared, th1, th2 = b"s" * 48, b"1" * 48, b"2" * 48
    secrets = HandshakeSecrets.derive(Version.V1_2, shared, th1)
    handshake = hmac.digest(bytes(48), shared, hashlib.sha384)
    assert secrets.handshake == handshake
    assert secrets.response.secret == expand(handshake, b"\x30\x00spdm1.2 rsp hs data" + th1, 48)
    salt = expand(handshake, b"\x30\x00spdm1.2 derived", 48)
    master = hmac.digest(salt, bytes(48), hashlib.sha384)
    session = secrets.session(th2)
    assert session.export == expand(master, b"\x30\x00spdm1.2 exp master" + th2, 48)
    assert session.request.secret == expand(master, b"\x30\x00spdm1.2 req app data" + th2, 48)
    assert session.request.key == expand(session.request.secret, b"\x20\x00spdm1.2 key", 32)
    assert session.request.after_update().secret == expand(session.request.secret, b"\x30\x00spdm1.2 traffic upd", 48)


def test_a_psk_of_1_3_is_extracted_under_another_salt_than_an_exchanged_secret() -> None:
    for version, alike in ((Version.V1_1, True), (Version.V1_2, True), (Version.V1_3, False)):
        exchanged, psk = (HandshakeSecrets.derive(version, b"s", b"", psk=psk) for psk in (False, True))
        assert (exchanged.handshake == psk.handshake) is alike


def test_verify_data_is_checked_and_no_secret_shows_in_a_repr() -> None:
    secret = DirectionSecret(Version.V1_2, bytes(48))
    secret.check_verify_data(b"th", secret.verify_data(b"th"), "verify data")
    for found in (secret.verify_data(b"other"), b"", secret.verify_data(b"th")[:-1]):
        with pytest.raises(AuthenticationError):
            secret.check_verify_data(b"th", found, "verify data")
    secrets = HandshakeSecrets.derive(Version.V1_2, b"s", b"")
    assert secrets.handshake.hex() not in repr(secrets)
    assert repr(secrets.handshake) not in repr(secrets)
    assert repr(secrets.session(b"").export) not in repr(secrets.session(b""))


def test_1_1_signs_the_messages_and_later_versions_a_purpose_and_their_hash() -> None:
    assert signed_bytes(Version.V1_1, Purpose.MEASUREMENTS, b"messages") == b"messages"
    signed = signed_bytes(Version.V1_3, Purpose.KEY_EXCHANGE_RSP, b"messages")
    assert signed[:64] == b"dmtf-spdm-v1.3.*" * 4
    assert signed[64:100] == b"\0\0responder-key_exchange_rsp signing"
    assert signed[100:] == hashlib.sha384(b"messages").digest()


def test_a_record_is_header_ciphertext_and_tag_under_the_sequence_number() -> None:
    secret = DirectionSecret(Version.V1_1, bytes(range(48)))
    after, data = RecordKeys(0x04030201, secret, sequence=0x0102).seal(0x05, b"\x11\xe8\0\0", b"padding")
    assert after.sequence == 0x0103
    assert data[:9] == bytes.fromhex("06 01020304 0201") + (2 + 1 + 4 + 7 + 16).to_bytes(2, "little")
    nonce = bytearray(secret.iv)
    nonce[0] ^= 0x02
    nonce[1] ^= 0x01
    assert AesGcm(secret.key).decrypt(bytes(nonce), data[9:], data[1:9]) == b"\x05\0\x05\x11\xe8\0\0padding"
    assert SecuredRecord.parse(data).sequence == 0x0102
