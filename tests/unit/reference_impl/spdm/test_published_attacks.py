"""Attacks on SPDM's state machine that others published or that follow from them, each refused where it begins.

Sources: Cremers, Dax, Naska, "Formal Analysis of SPDM: Security Protocol and Data Model version 1.2", USENIX Security
2023, and "Breaking and Provably Restoring Authentication", ePrint 2024/2047; CVE-2023-31127 (libspdm).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from carnet_ref.crypto.primitives import AuthenticationError
from carnet_ref.spdm import (
    CURRENT,
    H100,
    DowngradeError,
    PeerError,
    Profile,
    PskRefusedError,
    RecordError,
    SequenceError,
    SessionOverError,
    UnexpectedMessageError,
    UntrustedChainError,
)
from carnet_ref.spdm.layout import Layout, Message, Version
from carnet_ref.spdm.machine import Begin, Closed, Measure, Measured, Opened, Received, Secured, SessionEffect
from carnet_ref.spdm.messages import (
    Algorithms,
    Capabilities,
    Digests,
    EndSession,
    Error,
    ErrorCode,
    Finish,
    GetCapabilities,
    GetDigests,
    GetEncapsulatedRequest,
    GetMeasurements,
    GetVersion,
    Heartbeat,
    KeyExchange,
    KeyExchangeRsp,
    MutualRequest,
    NegotiateAlgorithms,
    PskExchange,
    PskExchangeRsp,
    PskFinish,
    VersionList,
    parse_message,
)
from carnet_ref.spdm.profile import Capability
from carnet_ref.spdm.secured import SPDM, HandshakeSecrets, RecordKeys
from tests.fixtures.spdm import (
    ByHand,
    carry,
    deliver,
    established,
    identity,
    inside,
    mutual,
    negotiated,
    requester,
    responder,
)

V = Version.V1_2
PSK_EXCHANGE = PskExchange(V, 0, 1, b"hint", bytes(32), b"")
PSK_FINISH = PskFinish(V, bytes(48))
Alter = Callable[[Message], Message]


def reasons(
    alter: Callable[[bytes, bool], bytes | None], asking: Profile = CURRENT, answering: Profile = CURRENT
) -> list[Exception | None]:
    """Run a handshake that the platform meddles with; return why each end stopped. Neither may open a session."""
    ours, theirs = requester(asking), responder(answering)
    happened = carry((ours, theirs), [(0, Begin())], alter)
    assert not any(isinstance(each, Opened) for each in happened)
    return [each.error for each in happened if isinstance(each, Closed)]


def only(kind: type[Message], alter: Alter, version: Version = Version.V1_4) -> Callable[[bytes, bool], bytes]:
    """Return a platform that alters messages of one kind."""

    def platform(data: bytes, _: bool) -> bytes:
        if data[0] != SPDM or data[2] != kind.CODE:
            return data
        return bytes([SPDM]) + alter(parse_message(data[1:], Layout(version))).encode()

    return platform


def exchanged(theirs_mutual: bool = False) -> tuple[ByHand, Secured]:
    """Stop an honest handshake before its first record, and go on by hand with the requester's keys."""
    ours = requester(identity=identity() if theirs_mutual else None)
    theirs = responder(H100, mutual=mutual(MutualRequest.ENCAPSULATED) if theirs_mutual else None)
    carry((ours, theirs), [(0, Begin())], lambda data, to: None if data[0] != SPDM and to else data)
    state = ours.state
    assert isinstance(state, Secured)
    return ByHand(theirs, state.layout, replace(state.sending, sequence=0), state.receiving), state


# -- one mode taken for the other


@pytest.mark.parametrize("insists", [False, True])
def test_a_session_begun_by_key_exchange_is_not_finished_as_one_by_pre_shared_key(insists: bool) -> None:
    """CVE-2023-31127: KEY_EXCHANGE, then PSK_FINISH, which goes around the requester's signature."""
    hand, _ = exchanged(insists)
    assert hand.say(PSK_FINISH) == Error(V, ErrorCode.UNSUPPORTED_REQUEST)
    assert isinstance(hand.error, PskRefusedError)
    assert hand.over


def test_a_pre_shared_key_is_refused_before_the_certificates_are_asked_for() -> None:
    """The requester never learns who it talks to if it may begin without a certificate."""
    hand, _ = negotiated()
    assert hand.say(PSK_EXCHANGE) == Error(V, ErrorCode.UNSUPPORTED_REQUEST)
    assert isinstance(hand.error, PskRefusedError)


def test_a_device_that_answers_a_key_exchange_as_a_pre_shared_key_is_refused() -> None:
    """The responder's signature would be missing."""
    answer = PskExchangeRsp(Version.V1_4, 0, 1, b"", bytes(32), b"", bytes(48))

    def platform(data: bytes, to_responder: bool) -> bytes:
        signed = not to_responder and data[0] == SPDM and data[2] == KeyExchangeRsp.CODE
        return bytes([SPDM]) + answer.encode() if signed else data

    assert isinstance(reasons(platform)[0], PskRefusedError)


def test_a_device_that_could_be_switched_to_a_pre_shared_key_is_refused_as_soon_as_it_says_so() -> None:
    """Cremers, Dax, Naska 2024: the modes share keys' labels, so a device that has both can be confused."""
    able = only(Capabilities, lambda m: replace(m, flags=m.flags | 1 << 10))  # type: ignore[attr-defined, call-arg]
    assert isinstance(reasons(able)[0], PskRefusedError)


def test_secrets_of_the_two_modes_differ_from_1_3_on_even_for_one_secret() -> None:
    """The fix in the standard: another salt."""
    for version, apart in ((V, False), (Version.V1_3, True), (Version.V1_4, True)):
        by_key, by_psk = (HandshakeSecrets.derive(version, bytes(48), bytes(48), psk=psk) for psk in (False, True))
        assert (by_key.handshake != by_psk.handshake) is apart


# -- the requester's authentication left out


def test_a_requester_that_has_to_say_who_it_is_does_not_finish_at_once() -> None:
    """Authentication bypass: FINISH instead of GET_ENCAPSULATED_REQUEST, without a signature or a chain."""
    hand, state = exchanged(theirs_mutual=True)
    unsigned = Finish(V, 0, b"", state.sending.secret.verify_data(bytes(48)))
    assert hand.say(unsigned) == Error(V, ErrorCode.UNEXPECTED_REQUEST)
    assert hand.over


def test_nothing_is_measured_or_ended_before_the_requester_said_who_it_is() -> None:
    for message in (GetMeasurements(V, 0, 0xFF), EndSession(V), Heartbeat(V), GetDigests(V)):
        hand, _ = exchanged(theirs_mutual=True)
        assert hand.say(message) == Error(V, ErrorCode.UNEXPECTED_REQUEST)
        assert hand.over


def test_a_requester_that_was_not_asked_cannot_begin_to_say_who_it_is() -> None:
    hand, _ = exchanged()
    assert hand.say(GetEncapsulatedRequest(V)) == Error(V, ErrorCode.UNEXPECTED_REQUEST)
    assert hand.over


def test_the_request_for_mutual_authentication_cannot_be_removed() -> None:
    """KEY_EXCHANGE_RSP says it under the device's signature."""
    ours, theirs = requester(CURRENT, identity=identity()), responder(CURRENT, mutual=mutual())
    silent = only(KeyExchangeRsp, lambda m: replace(m, mutual=0))  # type: ignore[call-arg]
    happened = carry((ours, theirs), [(0, Begin())], silent)
    assert not any(isinstance(each, Opened) for each in happened)
    assert isinstance(next(each.error for each in happened if isinstance(each, Closed)), AuthenticationError)


# -- messages out of order


@pytest.mark.parametrize(
    "message",
    [Finish(V, 0, b"", bytes(48)), PSK_FINISH, Heartbeat(V), EndSession(V), GetEncapsulatedRequest(V)],
    ids=lambda message: type(message).__name__,
)
def test_nothing_of_a_session_is_taken_without_a_key_exchange(message: Message) -> None:
    """FINISH without KEY_EXCHANGE: there is no session whose state it could change."""
    hand, _ = negotiated()
    assert isinstance(hand.say(message), Error)
    assert isinstance(hand.error, UnexpectedMessageError | PskRefusedError)
    assert hand.over


def test_a_record_before_any_session_is_not_opened() -> None:
    hand, _ = negotiated()
    _, state = exchanged()
    _, record = RecordKeys(7, state.sending.secret).seal(SPDM, Finish(V, 0, b"", bytes(48)).encode())
    effects = hand.theirs.handle(Received(record))
    assert isinstance(effects[-1], Closed)
    assert isinstance(effects[-1].error, UnexpectedMessageError)


@pytest.mark.parametrize("message", [GetCapabilities(V, 0, 0), CURRENT.negotiate(V), GetVersion(Version.V1_0)])
def test_negotiation_is_not_repeated_or_taken_up_again(message: Message) -> None:
    """A second negotiation would replace what the first was bound to."""
    hand, _ = negotiated()
    assert isinstance(hand.say(message), Error)
    assert isinstance(hand.error, UnexpectedMessageError)
    assert hand.over


@pytest.mark.parametrize("message", [CURRENT.negotiate(V), GetDigests(V), GetCapabilities(V, 0, 0)])
def test_no_step_of_negotiation_is_left_out(message: Message) -> None:
    hand = ByHand(responder(CURRENT))
    assert isinstance(hand.say(message), Error)
    assert isinstance(hand.error, UnexpectedMessageError)


def test_a_second_key_exchange_does_not_begin_beside_the_first() -> None:
    """Two handshakes in one connection could be crossed."""
    hand, _ = exchanged()
    exchange = KeyExchange(V, 0, 0, 2, 0, bytes(32), bytes(96), b"")
    effects = hand.theirs.handle(Received(bytes([SPDM]) + exchange.encode()))
    assert [type(each) for each in effects] == [Closed]
    hand, _ = exchanged()
    assert hand.say(exchange) == Error(V, ErrorCode.UNEXPECTED_REQUEST)


# -- GET_VERSION in the middle of a session


def test_get_version_in_the_clear_does_not_reset_an_open_session() -> None:
    """Anybody can send it. The session ends, and no new negotiation begins under it."""
    ours, theirs = established()
    effects = theirs.handle(Received(bytes([SPDM]) + GetVersion(Version.V1_0).encode()))
    assert [type(each) for each in effects] == [Closed]
    with pytest.raises(SessionOverError):
        theirs.receive(bytes([SPDM]) + GetVersion(Version.V1_0).encode())
    assert ours.established


def test_get_version_inside_a_session_does_not_reset_it() -> None:
    hand = inside()
    assert isinstance(hand.say(GetVersion(Version.V1_0)), Error)
    assert hand.over


def test_get_version_between_key_exchange_and_finish_does_not_begin_anew() -> None:
    hand, _ = exchanged()
    effects = hand.theirs.handle(Received(bytes([SPDM]) + GetVersion(Version.V1_0).encode()))
    assert [type(each) for each in effects] == [Closed]


def test_a_request_to_negotiate_anew_ends_the_session_of_the_requester() -> None:
    """ERROR with RequestResynch is not obeyed, whoever sent it."""
    ours = requester()
    ours.begin()
    (closed,) = ours.handle(Received(bytes([SPDM]) + Error(Version.V1_0, 0x43).encode()))
    assert isinstance(closed, Closed)
    assert isinstance(closed.error, PeerError)


# -- replays


def recorded(seed: str, profile: Profile = CURRENT) -> tuple[list[bytes], list[bytes]]:
    """Return what a requester and a device said to each other in another session."""
    said: tuple[list[bytes], list[bytes]] = ([], [])

    def keep(data: bytes, to_responder: bool) -> bytes:
        said[not to_responder].append(data)
        return data

    carry((requester(profile, f"ours {seed}"), responder(profile, f"theirs {seed}")), [(0, Begin())], keep)
    return said


def test_a_device_that_is_only_a_recording_opens_no_session() -> None:
    """Replay of VERSION, CAPABILITIES, ALGORITHMS, the certificates and the key exchange of another session."""
    _, answers = recorded("before")
    ours = requester(CURRENT)
    effects: list[SessionEffect] = []
    ours.begin()
    for answer in answers:
        effects += ours.handle(Received(answer))
        if any(isinstance(each, Closed) for each in effects):
            break
    assert not ours.established
    closed = effects[-1]
    assert isinstance(closed, Closed)
    assert isinstance(closed.error, AuthenticationError)


def test_a_requester_that_is_only_a_recording_opens_no_session() -> None:
    requests, _ = recorded("before")
    theirs = responder(CURRENT)
    effects: list[SessionEffect] = []
    for request in requests:
        effects += theirs.handle(Received(request))
        if any(isinstance(each, Closed) for each in effects):
            break
    assert not theirs.established
    closed = effects[-1]
    assert isinstance(closed, Closed)
    assert isinstance(closed.error, RecordError | AuthenticationError)


@pytest.mark.parametrize("kind", [VersionList, Capabilities])
def test_a_recorded_negotiation_is_no_part_of_a_session_that_negotiated_otherwise(kind: type[Message]) -> None:
    """Replay of VCA: what an older device said is put into the session with this one."""
    older = Profile("older", (Version.V1_2, Version.V1_4), Capability.CHAL)
    _, answers = recorded("older", older)
    (old,) = [answer for answer in answers if answer[0] == SPDM and answer[2] == kind.CODE]
    ours, theirs = requester(CURRENT), responder(CURRENT)
    happened = carry((ours, theirs), [(0, Begin())], lambda data, to: old if not to and data[2] == kind.CODE else data)
    assert not any(isinstance(each, Opened) for each in happened)
    assert isinstance(next(each.error for each in happened if isinstance(each, Closed)), AuthenticationError)


def test_a_report_of_before_does_not_answer_the_request_of_now() -> None:
    ours, theirs = established()
    first = theirs.receive(ours.ask_report(bytes(32)))
    ours.take_report(first[0])
    ours.ask_report(bytes([1]) * 32)
    with pytest.raises(SequenceError):
        ours.take_report(first[0])


def test_a_report_is_of_its_session() -> None:
    ours, theirs = established()
    (found,) = deliver(ours, Measure(bytes(32)), theirs)
    assert isinstance(found, Measured)
    other, _ = established()
    assert found.report.session is not other.session


# -- downgrades


@pytest.mark.parametrize("kept", [0x1100, 0x1200, 0x1300])
def test_newer_versions_cannot_be_hidden(kept: int) -> None:
    """VERSION is under the device's signature; a version that the profile refuses goes no further."""
    hidden = only(VersionList, lambda m: replace(m, entries=(kept,)))  # type: ignore[call-arg]
    expected = DowngradeError if kept == 0x1100 else AuthenticationError
    assert isinstance(reasons(hidden)[0], expected)


@pytest.mark.parametrize("flag", [Capability.MEAS_SIGNED, Capability.ENCRYPT, Capability.MAC, Capability.KEY_EX])
def test_what_is_needed_cannot_be_hidden(flag: Capability) -> None:
    hidden = only(Capabilities, lambda m: replace(m, flags=m.flags & ~flag))  # type: ignore[attr-defined, call-arg]
    assert isinstance(reasons(hidden)[0], DowngradeError)


@pytest.mark.parametrize("flag", [Capability.CHAL, Capability.CHUNK, Capability.MEAS_FRESH])
def test_what_is_not_needed_cannot_be_hidden_either(flag: Capability) -> None:
    hidden = only(Capabilities, lambda m: replace(m, flags=m.flags & ~flag))  # type: ignore[attr-defined, call-arg]
    assert isinstance(reasons(hidden)[0], AuthenticationError)


def test_no_weaker_algorithms_are_offered_or_chosen() -> None:
    weaker = only(NegotiateAlgorithms, lambda m: replace(m, base_hash=1))  # type: ignore[call-arg]
    assert isinstance(reasons(weaker)[0], DowngradeError)
    chosen = only(Algorithms, lambda m: replace(m, base_asymmetric=0x10))  # type: ignore[call-arg]
    assert isinstance(reasons(chosen)[0], DowngradeError)


def test_more_algorithms_than_were_offered_are_noticed_at_the_signature() -> None:
    more = only(NegotiateAlgorithms, lambda m: replace(m, base_hash=3))  # type: ignore[call-arg]
    assert isinstance(reasons(more)[0], AuthenticationError)


def test_h100_does_not_speak_what_nobody_compared_with_a_board() -> None:
    """SPDM 1.4 is refused by the profiles of the H100, at the message that chooses it."""
    hand = ByHand(responder(H100))
    hand.say(GetVersion(Version.V1_0))
    assert hand.say(CURRENT.get_capabilities(Version.V1_4)) == Error(Version.V1_2, ErrorCode.VERSION_MISMATCH)
    assert isinstance(hand.error, DowngradeError)
    ours = requester(H100)
    ours.begin()
    newest = VersionList(Version.V1_0, (0x1400,))
    (closed,) = ours.handle(Received(bytes([SPDM]) + newest.encode()))
    assert isinstance(closed, Closed)
    assert "accepts SPDM 1.1 or 1.2, and the peer offers 1.4" in str(closed.error)


# -- certificate slots


def test_a_slot_that_is_dropped_is_not_replaced_by_another() -> None:
    """The requester asks for one slot; if it is gone, there is no session."""
    moved = only(Digests, lambda m: replace(m, slots=2, supported=2))  # type: ignore[call-arg]
    assert isinstance(reasons(moved)[0], UntrustedChainError)


def test_the_chain_of_another_slot_is_not_that_of_the_slot_that_signs() -> None:
    other = only(Digests, lambda m: replace(m, digests=(bytes(48),)))  # type: ignore[call-arg]
    assert isinstance(reasons(other)[0], UntrustedChainError)
