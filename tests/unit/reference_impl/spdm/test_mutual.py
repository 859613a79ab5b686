"""The requester proves who it is, in each of the ways that SPDM has, and nobody gets around it."""

from dataclasses import replace
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric import rsa

from carnet_ref.crypto.primitives import AuthenticationError, KeyMaterialError, sign_rsa_pss, verify_rsa_pss
from carnet_ref.spdm import messages
from carnet_ref.spdm.endpoints import Requester, Responder
from carnet_ref.spdm.errors import DowngradeError, TransferError, UnexpectedMessageError, UntrustedChainError
from carnet_ref.spdm.layout import Message, Version
from carnet_ref.spdm.machine import Begin, Closed, Opened, Received, SecuredState, Send, SessionState
from carnet_ref.spdm.messages import KeyExchangeRsp
from carnet_ref.spdm.profile import CURRENT, H100, Capability, Profile
from carnet_ref.spdm.responder import MutualAuthentication
from carnet_ref.spdm.secured import SPDM, SecuredRecord
from carnet_ref.wire import MalformedError
from tests.fixtures.spdm import (
    ByHand,
    carry,
    chain,
    deliver,
    identity,
    mutual,
    requester,
    responder,
    saying,
    trust_requester,
)

VERSIONS = [Version.V1_1, Version.V1_2, Version.V1_3, Version.V1_4]
V = Version.V1_2


def both(
    profile: Profile = H100, how: messages.MutualRequest = messages.MutualRequest.ENCAPSULATED
) -> tuple[Requester, Responder]:
    return requester(profile, identity=identity()), responder(profile, mutual=mutual(how))


@pytest.mark.mends("E2")
@pytest.mark.parametrize("how", messages.MutualRequest)
@pytest.mark.parametrize("version", VERSIONS)
def test_both_ends_know_who_the_requester_is(version: Version, how: messages.MutualRequest) -> None:
    ours, theirs = both(Profile(version.label, (version,)), how)
    happened = deliver(ours, Begin(), theirs)
    opened = [each.session for each in happened if isinstance(each, Opened)]
    assert [each.requester.certificates for each in opened if each.requester] == [identity().certificates] * 2
    assert ours.exported_master_secret() == theirs.exported_master_secret()


def test_each_end_refuses_the_other_where_only_one_wants_mutual_authentication() -> None:
    happened = deliver(requester(), Begin(), responder())
    assert all(each.session.requester is None for each in happened if isinstance(each, Opened))
    error = reason(requester(), responder(mutual=mutual()))
    assert isinstance(error, DowngradeError)
    assert "MUT_AUTH" in str(error)
    assert isinstance(reason(requester(identity=identity()), responder()), DowngradeError)


def reason(ours: Requester, theirs: Responder) -> Exception:
    """Return why no session was opened, as the end that refused says it."""
    happened = deliver(ours, Begin(), theirs)
    assert not any(isinstance(each, Opened) for each in happened)
    error = next(each.error for each in happened if isinstance(each, Closed))
    assert error is not None
    return error


@pytest.mark.parametrize("asked", [0, 3, 8])
def test_a_requester_refuses_a_device_that_can_ask_and_does_not(asked: int, monkeypatch: pytest.MonkeyPatch) -> None:
    def otherwise(*fields: Any) -> KeyExchangeRsp:
        return replace(KeyExchangeRsp(*fields), mutual=asked)

    saying(monkeypatch, "responder", KeyExchangeRsp=otherwise)
    error = reason(*both())
    assert isinstance(error, DowngradeError)
    assert "does not ask" in str(error)


def test_a_requester_refuses_to_sign_for_a_slot_that_it_does_not_have(monkeypatch: pytest.MonkeyPatch) -> None:
    def otherwise(*fields: Any) -> KeyExchangeRsp:
        return replace(KeyExchangeRsp(*fields), requester_slot=1)

    saying(monkeypatch, "responder", KeyExchangeRsp=otherwise)
    assert isinstance(reason(*both(how=messages.MutualRequest.PROVISIONED)), UnexpectedMessageError)


def test_a_requester_whose_chain_is_not_trusted_is_refused() -> None:
    ours = requester(identity=replace(identity(), certificates=identity().certificates[:1]))
    assert isinstance(reason(ours, responder(mutual=mutual())), UntrustedChainError)
    provisioned = MutualAuthentication(trust_requester, messages.MutualRequest.PROVISIONED, identity().chain)
    object.__setattr__(provisioned, "provisioned", replace(identity(), certificates=chain()).chain)
    assert isinstance(reason(requester(identity=identity()), responder(mutual=provisioned)), UntrustedChainError)
    ours = requester(identity=replace(identity(), certificates=chain()))
    error = reason(ours, responder(mutual=MutualAuthentication(lambda _: None)))
    assert isinstance(error, UntrustedChainError)
    assert "no RSA key" in str(error)


def test_rsa_keys_of_another_size_are_refused() -> None:
    small = rsa.generate_private_key(65537, 2048)
    with pytest.raises(KeyMaterialError, match="2048"):
        sign_rsa_pss(small, b"x")
    with pytest.raises(KeyMaterialError, match="2048"):
        verify_rsa_pss(small.public_key(), bytes(256), b"x")


def test_a_requester_that_signs_with_another_key_than_its_certificate_s_is_refused() -> None:
    other = replace(identity(), key=rsa.generate_private_key(65537, 3072))
    for how in messages.MutualRequest:
        error = reason(requester(identity=other), responder(mutual=mutual(how)))
        assert isinstance(error, AuthenticationError)
        assert error.what == "FINISH signature"


@pytest.mark.parametrize(
    ("how", "provisioned"), [(messages.MutualRequest.PROVISIONED, b""), (messages.MutualRequest.DIGESTS, b"x")]
)
def test_a_chain_is_provisioned_or_asked_for(how: messages.MutualRequest, provisioned: bytes) -> None:
    with pytest.raises(ValueError, match="provisioned"):
        MutualAuthentication(trust_requester, how, provisioned)


def opening(how: messages.MutualRequest = messages.MutualRequest.ENCAPSULATED) -> tuple[ByHand, SecuredState, bytes]:
    """Stop an honest handshake before its first record, which is returned open, and go on by hand."""
    ours, theirs = both(how=how)
    records: list[bytes] = []

    def stop(data: bytes, to_responder: bool) -> bytes | None:
        if data[0] == SPDM or not to_responder:
            return data
        records.append(data)
        return None

    carry((ours, theirs), [(0, Begin())], stop)
    state = ours.state
    assert isinstance(state, SecuredState)
    first = replace(state.sending, sequence=0)
    _, _, raw = first.open(SecuredRecord.parse(records[0]))
    return ByHand(theirs, state.layout, first, state.receiving), state, raw


def finish(state: SessionState) -> messages.Finish:
    """Return the FINISH that the honest requester would send in a state."""
    after, effects = state.finish()  # type: ignore[attr-defined]
    (sent,) = (effect.data for effect in effects if isinstance(effect, Send))
    _, _, raw = state.sending.open(SecuredRecord.parse(sent))  # type: ignore[attr-defined]
    made = messages.parse_message(raw, after.layout)
    assert isinstance(made, messages.Finish)
    return made


def test_nobody_finishes_before_the_end_of_saying_who_it_is() -> None:
    hand, state, _ = opening()
    assert hand.say(finish(state)) == messages.Error(V, messages.ErrorCode.UNEXPECTED_REQUEST)
    assert isinstance(hand.error, UnexpectedMessageError)
    assert hand.over
    hand, state, _ = opening()
    assert isinstance(hand.say(messages.GetEncapsulatedRequest(V)), messages.EncapsulatedRequest)
    assert hand.say(finish(state)) == messages.Error(V, messages.ErrorCode.UNEXPECTED_REQUEST)
    hand, state, _ = opening()
    hand.say(messages.GetEncapsulatedRequest(V))
    hand.say(delivered(1, messages.Digests(V, 0, 1, (identity().digest,))))
    assert hand.say(finish(state)) == messages.Error(V, messages.ErrorCode.UNEXPECTED_REQUEST)
    assert hand.over


@pytest.mark.parametrize("how", messages.MutualRequest)
def test_a_finish_without_a_signature_is_refused_where_one_was_asked_for(how: messages.MutualRequest) -> None:
    hand, state, _ = opening(how)
    if how is not messages.MutualRequest.PROVISIONED:
        say_who(hand, how)
    unsigned = replace(state, identity=None)  # type: ignore[call-arg]
    assert hand.say(finish(unsigned)) == messages.Error(V, messages.ErrorCode.UNEXPECTED_REQUEST)
    assert hand.over
    assert "with a signature" in str(hand.error)


def test_a_finish_signed_by_another_slot_is_refused_and_the_honest_one_taken() -> None:
    hand, _, honest = opening(messages.MutualRequest.PROVISIONED)
    assert hand.say(honest[:3] + b"\1" + honest[4:]) == messages.Error(V, messages.ErrorCode.UNEXPECTED_REQUEST)
    assert hand.over
    hand, _, honest = opening(messages.MutualRequest.PROVISIONED)
    assert isinstance(hand.say(honest), messages.FinishRsp)
    assert not hand.over
    assert any(isinstance(each, Opened) for each in hand.effects)


def delivered(number: int, response: Message) -> messages.DeliverEncapsulatedResponse:
    return messages.DeliverEncapsulatedResponse(V, number, response.encode())


def say_who(hand: ByHand, how: messages.MutualRequest) -> None:
    number = 0
    if how is messages.MutualRequest.ENCAPSULATED:
        assert isinstance(hand.say(messages.GetEncapsulatedRequest(V)), messages.EncapsulatedRequest)
        number = 1
    ack = hand.say(delivered(number, messages.Digests(V, 0, 1, (identity().digest,))))
    sent = identity().chain
    while True:
        assert isinstance(ack, messages.EncapsulatedResponseAck)
        assert ack.acknowledged == number
        if ack.kind is messages.Payload.ABSENT:
            return
        asked, number = messages.parse_message(ack.payload, hand.layout), ack.request_id
        assert isinstance(asked, messages.GetCertificate)
        portion = sent[asked.offset : asked.offset + asked.length]
        rest = len(sent) - asked.offset - len(portion)
        ack = hand.say(delivered(number, messages.Certificate(V, 0, portion, rest)))


ANSWERS: dict[str, tuple[messages.DeliverEncapsulatedResponse, type[Exception]]] = {
    "to a request of another number": (
        delivered(2, messages.Digests(V, 0, 1, (bytes(48),))),
        UnexpectedMessageError,
    ),
    "that is none of digests": (delivered(1, messages.Heartbeat(V)), UnexpectedMessageError),
    "in another version": (
        messages.DeliverEncapsulatedResponse(V, 1, messages.Digests(Version.V1_1, 0, 1, (bytes(48),)).encode()),
        MalformedError,
    ),
    "without certificates in slot 0": (delivered(1, messages.Digests(V, 0, 2, (bytes(48),))), UntrustedChainError),
}


@pytest.mark.parametrize("row", sorted(ANSWERS))
def test_a_device_refuses_an_answer(row: str) -> None:
    answer, error = ANSWERS[row]
    hand, *_ = opening()
    hand.say(messages.GetEncapsulatedRequest(V))
    assert isinstance(hand.say(answer), messages.Error)
    assert type(hand.error) is error
    assert hand.over


PORTIONS: dict[str, tuple[messages.Certificate, str]] = {
    "of another slot": (messages.Certificate(V, 1, bytes(9), 0), "slot 1"),
    "that is empty": (messages.Certificate(V, 0, b"", 9), "0 bytes"),
    "larger than was asked for": (messages.Certificate(V, 0, bytes(0x401), 0), "1025 bytes"),
    "of an endless chain": (messages.Certificate(V, 0, bytes(9), 0xFFFF), "65535"),
    "of another chain than its digest said": (messages.Certificate(V, 0, identity().chain[:900], 0), "digest"),
}


@pytest.mark.parametrize("row", sorted(PORTIONS))
def test_a_device_refuses_a_portion(row: str) -> None:
    portion, said = PORTIONS[row]
    hand, *_ = opening()
    hand.say(messages.GetEncapsulatedRequest(V))
    hand.say(delivered(1, messages.Digests(V, 0, 1, (identity().digest,))))
    assert isinstance(hand.say(delivered(2, portion)), messages.Error)
    assert isinstance(hand.error, UntrustedChainError)
    assert said in str(hand.error)


def test_a_chain_in_portions_without_end_is_refused() -> None:
    hand, *_ = opening()
    hand.say(messages.GetEncapsulatedRequest(V))
    number, ack = 1, hand.say(delivered(1, messages.Digests(V, 0, 1, (bytes(48),))))
    while isinstance(ack, messages.EncapsulatedResponseAck):
        number = ack.request_id
        ack = hand.say(delivered(number, messages.Certificate(V, 0, b"x", 9000)))
    assert number == 0xFF
    assert isinstance(hand.error, UntrustedChainError)


class Asker:
    """A device with keys of the session that asks the requester for what it likes."""

    def __init__(self, how: messages.MutualRequest = messages.MutualRequest.ENCAPSULATED) -> None:
        self.ours, theirs = both(H100, how)
        carry((self.ours, theirs), [(0, Begin())], lambda data, to: None if data[0] == 6 and to else data)
        state = self.ours.state
        assert isinstance(state, SecuredState)
        self.sending = state.receiving

    def say(self, message: Message) -> Exception | None:
        """Send a message inside the session, and return why the requester ended it, if it did."""
        self.sending, record = self.sending.seal(SPDM, message.encode())
        effects = self.ours.handle(Received(record))
        return next((each.error for each in effects if isinstance(each, Closed)), None)


def request(number: int, carried: Message) -> messages.EncapsulatedRequest:
    return messages.EncapsulatedRequest(V, number, carried.encode())


def next_request(came: int, number: int, carried: Message) -> messages.EncapsulatedResponseAck:
    return messages.EncapsulatedResponseAck(V, number, messages.Payload.REQUEST, came, carried.encode())


@pytest.mark.parametrize(
    "carried",
    [messages.Challenge(V, 0, 0, bytes(32)), messages.Heartbeat(V), messages.GetEncapsulatedRequest(V)],
    ids=lambda m: type(m).__name__,
)
def test_a_requester_shows_its_certificates_and_does_nothing_else_that_is_asked(carried: Message) -> None:
    assert isinstance(Asker().say(request(1, carried)), UnexpectedMessageError)


@pytest.mark.parametrize(("slot", "offset"), [(1, 0), (0, 0xFFFF)])
def test_a_requester_has_no_other_certificates(slot: int, offset: int) -> None:
    assert isinstance(Asker().say(request(1, messages.GetCertificate(V, slot, offset, 9))), MalformedError)


def test_a_requester_takes_the_slot_that_it_has_and_does_not_answer_without_end() -> None:
    asker = Asker()
    assert asker.say(request(1, messages.GetDigests(V))) is None
    for _ in range(255):
        assert asker.say(next_request(1, 1, messages.GetDigests(V))) is None
    assert isinstance(asker.say(next_request(1, 1, messages.GetDigests(V))), TransferError)
    asker = Asker()
    asker.say(request(1, messages.GetDigests(V)))
    assert asker.say(messages.EncapsulatedResponseAck(V, 0, messages.Payload.SLOT, 1, b"\0")) is None


@pytest.mark.parametrize(
    ("ack", "error"),
    [
        (messages.EncapsulatedResponseAck(V, 0, messages.Payload.ABSENT, 7), UnexpectedMessageError),
        (messages.EncapsulatedResponseAck(V, 0, messages.Payload.SLOT, 1, b"\1"), UnexpectedMessageError),
        (messages.EncapsulatedResponseAck(V, 2, messages.Payload.REQUEST, 1, b"\x12\x81"), MalformedError),
    ],
    ids=["of another request", "that names another slot", "with half a request"],
)
def test_a_requester_refuses_an_acknowledgement(ack: messages.EncapsulatedResponseAck, error: type[Exception]) -> None:
    asker = Asker()
    assert asker.say(request(1, messages.GetDigests(V))) is None
    assert type(asker.say(ack)) is error


def test_the_platform_cannot_take_mutual_authentication_away() -> None:
    def without(data: bytes, _: bool) -> bytes:
        if data[2] not in (0xE1, 0x61):
            return data
        message = messages.parse_message(data[1:], H100_LAYOUT)
        kept = ~(Capability.MUT_AUTH | Capability.ENCAP)
        return b"\x05" + replace(message, flags=message.flags & kept).encode()  # type: ignore[attr-defined, call-arg]

    happened = carry(both(), [(0, Begin())], without)
    assert not any(isinstance(each, Opened) for each in happened)
    assert isinstance(next(each.error for each in happened if isinstance(each, Closed)), DowngradeError)


H100_LAYOUT = replace(opening()[1].layout, summary=False)


def test_what_a_requester_says_it_can_do_depends_on_whether_it_has_an_identity() -> None:
    plain, known = (CURRENT.get_capabilities(V, mutual=able) for able in (False, True))
    assert isinstance(plain, messages.GetCapabilities)
    assert known.flags - plain.flags == Capability.MUT_AUTH | Capability.ENCAP
