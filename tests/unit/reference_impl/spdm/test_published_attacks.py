"""Attacks on SPDM's state machine that others published or that follow from them, each refused where it begins.

Sources: Cremers, Dax, Naska, "Formal Analysis of SPDM: Security Protocol and Data Model version 1.2", USENIX Security
2023, and "Breaking and Provably Restoring Authentication", ePrint 2024/2047; CVE-2023-31127 (libspdm).
"""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from carnet_ref.crypto.primitives import AuthenticationError
from carnet_ref.spdm import messages
from carnet_ref.spdm.endpoints import Requester
from carnet_ref.spdm.errors import (
    DowngradeError,
    PeerError,
    PskRefusedError,
    RecordError,
    SequenceError,
    SessionOverError,
    UnexpectedMessageError,
    UntrustedChainError,
)
from carnet_ref.spdm.layout import Layout, Message, Version
from carnet_ref.spdm.machine import Begin, Closed, Measure, Measured, Opened, Received, SecuredState, SessionEffect
from carnet_ref.spdm.profile import CURRENT, H100, Capability, Profile
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
PSK_EXCHANGE = messages.PskExchange(V, 0, 1, b"hint", bytes(32), b"")
PSK_FINISH = messages.PskFinish(V, verify_data=bytes(48))
Alter = Callable[[Any], Message]


def reasons(
    alter: Callable[[bytes, bool], bytes | None],
    asking: Profile = CURRENT,
    answering: Profile = CURRENT,
) -> list[Exception | None]:
    """Run a handshake that the platform meddles with; return why each end stopped. Neither may open a session."""
    ours, theirs = requester(asking), responder(answering)
    happened = carry((ours, theirs), [(0, Begin())], alter)
    assert not any(isinstance(each, Opened) for each in happened)
    return [each.error for each in happened if isinstance(each, Closed)]


def only(kind: type[Message], alter: Alter, version: Version = Version.V1_4) -> Callable[[bytes, bool], bytes]:
    def platform(data: bytes, _: bool) -> bytes:
        if data[0] != SPDM or data[2] != kind.CODE:
            return data
        return bytes([SPDM]) + alter(messages.parse_message(data[1:], Layout(version))).encode()

    return platform


def exchanged(theirs_mutual: bool = False) -> tuple[ByHand, SecuredState]:
    """Stop an honest handshake before its first record, and go on by hand with the requester's keys."""
    ours = requester(identity=identity() if theirs_mutual else None)
    theirs = responder(H100, mutual=mutual(messages.MutualRequest.ENCAPSULATED) if theirs_mutual else None)
    carry((ours, theirs), [(0, Begin())], lambda data, to: None if data[0] != SPDM and to else data)
    state = ours.state
    assert isinstance(state, SecuredState)
    return ByHand(theirs, state.layout, replace(state.sending, sequence=0), state.receiving), state


# -- one mode taken for the other


@pytest.mark.parametrize("insists", [False, True])
def test_neither_a_key_exchange_nor_what_comes_before_certificates_is_followed_by_a_pre_shared_key(
    insists: bool,
) -> None:
    """CVE-2023-31127: KEY_EXCHANGE, then PSK_FINISH, which goes around the requester's signature."""
    hands = {PSK_FINISH: exchanged(insists)[0], PSK_EXCHANGE: negotiated()[0]}
    for message, hand in hands.items():
        assert hand.say(message) == messages.Error(V, messages.ErrorCode.UNSUPPORTED_REQUEST)
        assert isinstance(hand.error, PskRefusedError)
        assert hand.over


def test_a_device_that_answers_a_key_exchange_as_a_pre_shared_key_is_refused() -> None:
    """The responder's signature would be missing."""
    answer = messages.PskExchangeRsp(Version.V1_4, 0, 1, b"", bytes(32), b"", bytes(48))

    def platform(data: bytes, to_responder: bool) -> bytes:
        signed = not to_responder and data[0] == SPDM and data[2] == messages.KeyExchangeRsp.CODE
        return bytes([SPDM]) + answer.encode() if signed else data

    assert isinstance(reasons(platform)[0], PskRefusedError)


def test_a_device_that_could_be_switched_to_a_pre_shared_key_is_refused_as_soon_as_it_says_so() -> None:
    """Cremers, Dax, Naska 2024: the modes share keys' labels, so a device that has both can be confused."""
    able = only(messages.Capabilities, lambda m: replace(m, flags=m.flags | 1 << 10))
    assert isinstance(reasons(able)[0], PskRefusedError)


def test_secrets_of_the_two_modes_differ_from_1_3_on_even_for_one_secret() -> None:
    """The fix in the standard: another salt."""
    for version, apart in ((V, False), (Version.V1_3, True), (Version.V1_4, True)):
        by_key, by_psk = (HandshakeSecrets.derive(version, bytes(48), bytes(48), psk=psk) for psk in (False, True))
        assert (by_key.handshake != by_psk.handshake) is apart


# -- the requester's authentication left out


def test_nothing_is_finished_measured_or_ended_before_the_requester_said_who_it_is() -> None:
    """Authentication bypass: FINISH instead of GET_ENCAPSULATED_REQUEST, without a signature or a chain."""
    hand, state = exchanged(theirs_mutual=True)
    unsigned = messages.Finish(V, 0, b"", state.sending.secret.verify_data(bytes(48)))
    assert hand.say(unsigned) == messages.Error(V, messages.ErrorCode.UNEXPECTED_REQUEST)
    assert hand.over
    for message in (
        messages.GetMeasurements(V, 0, 0xFF),
        messages.EndSession(V),
        messages.Heartbeat(V),
        messages.GetDigests(V),
    ):
        hand, _ = exchanged(theirs_mutual=True)
        assert hand.say(message) == messages.Error(V, messages.ErrorCode.UNEXPECTED_REQUEST)
        assert hand.over
    hand, _ = exchanged()
    assert hand.say(messages.GetEncapsulatedRequest(V)) == messages.Error(V, messages.ErrorCode.UNEXPECTED_REQUEST)
    assert hand.over


def test_the_request_for_mutual_authentication_cannot_be_removed() -> None:
    """KEY_EXCHANGE_RSP says it under the device's signature."""
    ours, theirs = requester(CURRENT, identity=identity()), responder(CURRENT, mutual=mutual())
    silent = only(messages.KeyExchangeRsp, lambda m: replace(m, mutual=0))
    happened = carry((ours, theirs), [(0, Begin())], silent)
    assert not any(isinstance(each, Opened) for each in happened)
    assert isinstance(next(each.error for each in happened if isinstance(each, Closed)), AuthenticationError)


# -- messages out of order


@pytest.mark.parametrize(
    "message",
    [
        messages.Finish(V, 0, b"", bytes(48)),
        PSK_FINISH,
        messages.Heartbeat(V),
        messages.EndSession(V),
        messages.GetEncapsulatedRequest(V),
    ],
    ids=lambda message: type(message).__name__,
)
def test_nothing_of_a_session_is_taken_without_a_key_exchange(message: Message) -> None:
    """FINISH without KEY_EXCHANGE: there is no session whose state it could change."""
    hand, _ = negotiated()
    assert isinstance(hand.say(message), messages.Error)
    assert isinstance(hand.error, UnexpectedMessageError | PskRefusedError)
    assert hand.over


def test_a_record_before_any_session_is_not_opened() -> None:
    hand, _ = negotiated()
    _, state = exchanged()
    _, record = RecordKeys(7, state.sending.secret).seal(SPDM, messages.Finish(V, 0, b"", bytes(48)).encode())
    effects = hand.theirs.handle(Received(record))
    assert isinstance(effects[-1], Closed)
    assert isinstance(effects[-1].error, UnexpectedMessageError)


@pytest.mark.parametrize(
    ("begun", "message"),
    [
        (True, messages.GetCapabilities(V, 0, 0)),
        (True, CURRENT.negotiate(V)),
        (True, messages.GetVersion(Version.V1_0)),
        (False, CURRENT.negotiate(V)),
        (False, messages.GetDigests(V)),
        (False, messages.GetCapabilities(V, 0, 0)),
    ],
)
def test_no_step_of_negotiation_is_left_out_or_repeated(begun: bool, message: Message) -> None:
    """A second negotiation would replace what the first was bound to."""
    hand = negotiated()[0] if begun else ByHand(responder(CURRENT))
    assert isinstance(hand.say(message), messages.Error)
    assert isinstance(hand.error, UnexpectedMessageError)
    assert hand.over or not begun


def test_a_second_key_exchange_does_not_begin_beside_the_first() -> None:
    """Two handshakes in one connection could be crossed."""
    hand, _ = exchanged()
    exchange = messages.KeyExchange(V, 0, 0, 2, 0, bytes(32), bytes(96), b"")
    effects = hand.theirs.handle(Received(bytes([SPDM]) + exchange.encode()))
    assert [type(each) for each in effects] == [Closed]
    hand, _ = exchanged()
    assert hand.say(exchange) == messages.Error(V, messages.ErrorCode.UNEXPECTED_REQUEST)


# -- GET_VERSION in the middle of a session


def test_get_version_resets_no_session_wherever_it_comes() -> None:
    """Anybody can send it. The session ends, and no new negotiation begins under it."""
    ours, theirs = established()
    effects = theirs.handle(Received(bytes([SPDM]) + messages.GetVersion(Version.V1_0).encode()))
    assert [type(each) for each in effects] == [Closed]
    with pytest.raises(SessionOverError):
        theirs.receive(bytes([SPDM]) + messages.GetVersion(Version.V1_0).encode())
    assert ours.is_established
    hand = inside()
    assert isinstance(hand.say(messages.GetVersion(Version.V1_0)), messages.Error)
    assert hand.over
    hand, _ = exchanged()
    effects = hand.theirs.handle(Received(bytes([SPDM]) + messages.GetVersion(Version.V1_0).encode()))
    assert [type(each) for each in effects] == [Closed]


def test_a_request_to_negotiate_anew_ends_the_session_of_the_requester() -> None:
    """ERROR with RequestResynch is not obeyed, whoever sent it."""
    ours = requester()
    ours.begin()
    (closed,) = ours.handle(Received(bytes([SPDM]) + messages.Error(Version.V1_0, 0x43).encode()))
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


@pytest.mark.parametrize("side", [0, 1], ids=["device", "requester"])
def test_who_is_only_a_recording_opens_no_session(side: int) -> None:
    """Replay of VERSION, CAPABILITIES, ALGORITHMS, the certificates and the key exchange of another session."""
    said = recorded("before")[1 - side]
    end = (requester, responder)[side](CURRENT)
    effects: list[SessionEffect] = []
    if isinstance(end, Requester):
        end.begin()
    for each in said:
        effects += end.handle(Received(each))
        if any(isinstance(effect, Closed) for effect in effects):
            break
    assert not end.is_established
    closed = effects[-1]
    assert isinstance(closed, Closed)
    assert isinstance(closed.error, (AuthenticationError, RecordError)[: side + 1])


@pytest.mark.parametrize("kind", [messages.VersionList, messages.Capabilities])
def test_a_recorded_negotiation_is_no_part_of_a_session_that_negotiated_otherwise(kind: type[Message]) -> None:
    """Replay of VCA: what an older device said is put into the session with this one."""
    older = Profile("older", (Version.V1_2, Version.V1_4), Capability.CHAL)
    _, answers = recorded("older", older)
    (old,) = [answer for answer in answers if answer[0] == SPDM and answer[2] == kind.CODE]
    ours, theirs = requester(CURRENT), responder(CURRENT)
    happened = carry((ours, theirs), [(0, Begin())], lambda data, to: old if not to and data[2] == kind.CODE else data)
    assert not any(isinstance(each, Opened) for each in happened)
    assert isinstance(next(each.error for each in happened if isinstance(each, Closed)), AuthenticationError)


def test_a_report_is_of_its_session_and_answers_no_later_request() -> None:
    ours, theirs = established()
    first = theirs.receive(ours.ask_report(bytes(32)))
    ours.take_report(first[0])
    ours.ask_report(bytes([1]) * 32)
    with pytest.raises(SequenceError):
        ours.take_report(first[0])
    ours, theirs = established()
    (found,) = deliver(ours, Measure(bytes(32)), theirs)
    assert isinstance(found, Measured)
    other, _ = established()
    assert found.report.session is not other.session


# -- downgrades


@pytest.mark.parametrize("kept", [0x1100, 0x1200, 0x1300])
def test_newer_versions_cannot_be_hidden(kept: int) -> None:
    """VERSION is under the device's signature; a version that the profile refuses goes no further."""
    hidden = only(messages.VersionList, lambda m: replace(m, entries=(kept,)))
    expected = DowngradeError if kept == 0x1100 else AuthenticationError
    assert isinstance(reasons(hidden)[0], expected)


NEEDED = [Capability.MEAS_SIGNED, Capability.ENCRYPT, Capability.MAC, Capability.KEY_EX]


@pytest.mark.parametrize("flag", [*NEEDED, Capability.CHAL, Capability.CHUNK, Capability.MEAS_FRESH])
def test_neither_what_is_needed_nor_anything_else_can_be_hidden(flag: Capability) -> None:
    hidden = only(messages.Capabilities, lambda m: replace(m, flags=m.flags & ~flag))
    assert isinstance(reasons(hidden)[0], DowngradeError if flag in NEEDED else AuthenticationError)


def test_no_weaker_algorithms_are_offered_or_chosen() -> None:
    weaker = only(messages.NegotiateAlgorithms, lambda m: replace(m, base_hash=1))
    assert isinstance(reasons(weaker)[0], DowngradeError)
    chosen = only(messages.Algorithms, lambda m: replace(m, base_asymmetric=0x10))
    assert isinstance(reasons(chosen)[0], DowngradeError)
    more = only(messages.NegotiateAlgorithms, lambda m: replace(m, base_hash=3))
    assert isinstance(reasons(more)[0], AuthenticationError)


def test_h100_does_not_speak_what_nobody_compared_with_a_board() -> None:
    """SPDM 1.4 is refused by the profiles of the H100, at the message that chooses it."""
    hand = ByHand(responder(H100))
    hand.say(messages.GetVersion(Version.V1_0))
    assert hand.say(CURRENT.get_capabilities(Version.V1_4)) == messages.Error(
        Version.V1_2, messages.ErrorCode.VERSION_MISMATCH
    )
    assert isinstance(hand.error, DowngradeError)
    ours = requester(H100)
    ours.begin()
    newest = messages.VersionList(Version.V1_0, (0x1400,))
    (closed,) = ours.handle(Received(bytes([SPDM]) + newest.encode()))
    assert isinstance(closed, Closed)
    assert "accepts SPDM 1.1 or 1.2, and the peer offers 1.4" in str(closed.error)


# -- certificate slots


def test_a_slot_that_is_dropped_is_not_replaced_by_another() -> None:
    """The requester asks for one slot; if it is gone, there is no session."""
    moved = only(messages.Digests, lambda m: replace(m, slots=2, supported=2))
    assert isinstance(reasons(moved)[0], UntrustedChainError)
    other = only(messages.Digests, lambda m: replace(m, digests=(bytes(48),)))
    assert isinstance(reasons(other)[0], UntrustedChainError)
