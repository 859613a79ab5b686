"""What a responder measures, signed or not, inside a session or outside, and what it proves when challenged."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from carnet_ref.crypto.primitives import AuthenticationError, sha384
from carnet_ref.spdm import machine
from carnet_ref.spdm.errors import DowngradeError, UnexpectedMessageError, UntrustedChainError
from carnet_ref.spdm.layout import Layout, Message, Version
from carnet_ref.spdm.machine import Ended
from carnet_ref.spdm.messages import (
    Certificate,
    Challenge,
    ChallengeAuth,
    Digests,
    Error,
    ErrorCode,
    GetCertificate,
    GetDigests,
    GetMeasurements,
    Heartbeat,
    HeartbeatAck,
    Measurements,
    Summary,
    parse_message,
)
from carnet_ref.spdm.profile import CURRENT, H100, H100_DEVICE, Capability, Profile
from carnet_ref.spdm.session import LONGEST_RUN, Purpose, summary_of, verify
from tests.fixtures import spdm

VERSIONS = [Version.V1_1, Version.V1_2, Version.V1_3, Version.V1_4]
NONCE = bytes(range(32))


def context(version: Version) -> bytes:
    return bytes(range(8)) if version >= Version.V1_3 else b""


def asking(version: Version, operation: int, *, signed: bool) -> GetMeasurements:
    nonce = NONCE if signed else b""
    return GetMeasurements(version, int(signed), operation, nonce, context=context(version))


def measured(hand: spdm.ByHand, operation: int, *, signed: bool = False) -> Measurements:
    version = hand.layout.version
    found = hand.say(asking(version, operation, signed=signed), Layout(version, signed=signed))
    assert isinstance(found, Measurements)
    return found


@pytest.mark.mends("E2")
@pytest.mark.parametrize("version", VERSIONS)
def test_a_responder_counts_its_measurements_and_gives_them_one_by_one(version: Version) -> None:
    hand, _ = spdm.negotiated(version)
    count = measured(hand, 0)
    assert (count.total, count.blocks, count.record, count.signature) == (len(spdm.BLOCKS), 0, b"", b"")
    for block in spdm.BLOCKS:
        one = measured(hand, block.index)
        assert (one.total, one.blocks, one.record) == (0, 1, block.encode())
        assert one.context == context(version)
    every = measured(hand, 0xFF)
    assert every.record == b"".join(block.encode() for block in spdm.BLOCKS)
    assert every.blocks == len(spdm.BLOCKS)


@pytest.mark.parametrize("version", VERSIONS)
def test_a_signature_covers_what_was_measured_without_one_before(version: Version) -> None:
    hand, vca = spdm.negotiated(version)
    run = vca if version >= Version.V1_2 else b""
    for operation in (0, 1, 2):
        measured(hand, operation)
        run += asking(version, operation, signed=False).encode() + hand.last
    last = measured(hand, 3, signed=True)
    run += asking(version, 3, signed=True).encode() + hand.last[:-96]
    verify(spdm.key(3).public_key(), version, Purpose.MEASUREMENTS, run, last.signature)
    again = measured(hand, 3, signed=True)
    fresh = (vca if version >= Version.V1_2 else b"") + asking(version, 3, signed=True).encode() + hand.last[:-96]
    verify(spdm.key(3).public_key(), version, Purpose.MEASUREMENTS, fresh, again.signature)


def test_any_other_request_begins_anew_what_a_signature_covers_inside_a_session_too() -> None:
    hand, vca = spdm.negotiated()
    measured(hand, 1)
    hand.say(GetDigests(Version.V1_2))
    last = measured(hand, 2, signed=True)
    signed = vca + asking(Version.V1_2, 2, signed=True).encode() + hand.last[:-96]
    verify(spdm.key(3).public_key(), Version.V1_2, Purpose.MEASUREMENTS, signed, last.signature)
    hand = spdm.inside()
    measured(hand, 1)
    assert isinstance(hand.say(Heartbeat(Version.V1_1)), HeartbeatAck)
    last = measured(hand, 2, signed=True)
    signed = asking(Version.V1_1, 2, signed=True).encode() + hand.last[:-96]
    verify(spdm.key(3).public_key(), Version.V1_1, Purpose.MEASUREMENTS, signed, last.signature)


def test_a_measurement_that_is_not_there_gets_an_error_and_changes_nothing() -> None:
    for hand in (spdm.negotiated(Version.V1_1)[0], spdm.inside()):
        for wrong in (asking(Version.V1_1, 99, signed=False), GetMeasurements(Version.V1_1, 1, 0xFF, NONCE, slot=1)):
            assert hand.say(wrong) == Error(Version.V1_1, ErrorCode.INVALID_REQUEST)
            assert not hand.over
        assert measured(hand, 1).record == spdm.BLOCKS[0].encode()


def test_a_run_of_unsigned_measurements_has_an_end() -> None:
    hand, _ = spdm.negotiated()
    one, covered = asking(Version.V1_2, 0xFF, signed=False), 0
    while covered <= LONGEST_RUN:
        measured(hand, 0xFF)
        covered += len(one.encode()) + len(hand.last)
    assert hand.say(one) == Error(Version.V1_2, ErrorCode.UNSPECIFIED)
    assert isinstance(hand.say(GetDigests(Version.V1_2)), Digests)
    assert measured(hand, 1).blocks == 1


@pytest.mark.mends("E2")
@pytest.mark.parametrize("profile", [H100_DEVICE, H100, CURRENT])
def test_a_requester_takes_a_report_outside_of_any_session_and_checks_who_signed_it(profile: Profile) -> None:
    ours, theirs = spdm.requester(CURRENT if profile is CURRENT else H100, session=False), spdm.responder(profile)
    spdm.deliver(ours, machine.Begin(), theirs)
    (found,) = spdm.deliver(ours, machine.Measure(NONCE), theirs)
    assert isinstance(found, machine.MeasuredOutside)
    assert found.report.nonce == NONCE
    found.report.check_signature(found.report.version, found.report.responder)
    assert not ours.is_established


def test_a_report_outside_of_any_session_that_another_key_signed_is_refused() -> None:
    ours, theirs = spdm.requester(session=False), spdm.responder(reporter=spdm.reporter(spdm.key(9)))
    spdm.deliver(ours, machine.Begin(), theirs)
    (closed,) = spdm.deliver(ours, machine.Measure(NONCE), theirs)
    assert isinstance(closed, machine.Closed)
    assert isinstance(closed.error, AuthenticationError)


@pytest.mark.parametrize("place", [3, 60])
def test_a_report_of_another_slot_or_altered_is_refused(place: int) -> None:
    ours, theirs = spdm.requester(CURRENT, session=False), spdm.responder(CURRENT)
    spdm.deliver(ours, machine.Begin(), theirs)
    (asked,) = (effect for effect in ours.handle(machine.Measure(NONCE)) if isinstance(effect, machine.Send))
    answer = bytearray(theirs.receive(asked.data)[0])
    answer[1 + place] ^= 1
    (closed,) = ours.handle(machine.Received(bytes(answer)))
    assert isinstance(closed, machine.Closed)
    assert isinstance(closed.error, UnexpectedMessageError if place == 3 else AuthenticationError)
    assert isinstance(ours.state, Ended)


@pytest.mark.mends("E16")
@pytest.mark.parametrize("profile", [H100, CURRENT])
def test_a_reporter_sees_what_was_negotiated_so_that_it_signs_by_itself(profile: Profile) -> None:
    ours, theirs = spdm.requester(profile), spdm.responder(profile)
    spdm.deliver(ours, machine.Begin(), theirs)
    (found,) = spdm.deliver(ours, machine.Measure(NONCE), theirs)
    assert isinstance(found, machine.Measured)
    assert ours.session is not None
    assert found.report.before[:1] == b"\x10"
    found.report.check_signature(ours.session.version, ours.session.responder)


@pytest.mark.mends("E14")
@pytest.mark.parametrize("kind", Summary)
def test_both_ends_have_the_summary_of_measurements_that_was_asked_for(kind: Summary) -> None:
    ours, theirs = spdm.requester(CURRENT, summary=kind), spdm.responder(CURRENT)
    happened = spdm.deliver(ours, machine.Begin(), theirs)
    assert [each.session.summary for each in happened if isinstance(each, machine.Opened)] == [
        summary_of(spdm.BLOCKS, kind)
    ] * 2
    rooted = b"".join(block.encode() for block in spdm.BLOCKS if block.index % 2 == 0)
    expected = {Summary.NONE: b"", Summary.ROOTED: sha384(rooted)}
    expected[Summary.ALL] = sha384(b"".join(block.encode() for block in spdm.BLOCKS))
    assert summary_of(spdm.BLOCKS, kind) == expected[kind]


def test_the_blocks_that_are_measured_are_those_of_the_moment() -> None:
    blocks = list(spdm.BLOCKS)
    source = spdm.reporter(seed="moment")
    changing = type(source)(spdm.key(3), lambda: tuple(blocks), spdm.Draws("moment"))
    hand, _ = spdm.negotiated(theirs=spdm.responder(CURRENT, reporter=changing))
    assert measured(hand, 0).total == len(spdm.BLOCKS)
    blocks.pop()
    assert measured(hand, 0).total == len(spdm.BLOCKS) - 1


Alter = Callable[[Any], Message]


def able(version: Version) -> Profile:
    return Profile(version.label, (version,), Capability.CHAL)


@pytest.mark.mends("E14")
@pytest.mark.parametrize("kind", Summary)
@pytest.mark.parametrize("version", VERSIONS)
def test_a_challenged_device_is_identified_before_any_session(version: Version, kind: Summary) -> None:
    ours = spdm.requester(able(version), challenge=True, session=False, summary=kind)
    theirs = spdm.responder(able(version))
    (found,) = spdm.deliver(ours, machine.Begin(), theirs)
    assert isinstance(found, machine.Identified)
    assert found.challenged
    assert found.summary == summary_of(spdm.BLOCKS, kind)
    assert not ours.is_established
    assert [type(each) for each in spdm.deliver(ours, machine.OpenSession(), theirs)] == [
        machine.Opened,
        machine.Opened,
    ]


def test_a_device_that_is_not_challenged_has_proved_nothing_and_is_refused_where_it_has_to() -> None:
    (found,) = spdm.deliver(spdm.requester(session=False), machine.Begin(), spdm.responder())
    assert isinstance(found, machine.Identified)
    assert not found.challenged
    (closed, *_) = spdm.deliver(spdm.requester(H100, challenge=True), machine.Begin(), spdm.responder(H100))
    assert isinstance(closed, machine.Closed)
    assert isinstance(closed.error, DowngradeError)
    assert "CHAL" in str(closed.error)
    hand, _ = spdm.negotiated(Version.V1_1, spdm.responder(H100))
    assert hand.say(Challenge(Version.V1_1, 0, 0, bytes(32))) == Error(Version.V1_1, ErrorCode.UNEXPECTED_REQUEST)
    assert hand.over


def refused(alter: Alter, kind: type[Message], version: Version = Version.V1_3) -> Exception:
    """Return why the requester refused a challenge in which a message of one kind was altered on its way."""
    ours = spdm.requester(able(version), challenge=True, session=False, summary=Summary.ALL)

    def on_the_way(data: bytes, _: bool) -> bytes:
        if data[2] != kind.CODE:
            return data
        return b"\x05" + alter(parse_message(data[1:], Layout(version, summary=True))).encode()

    happened = spdm.carry((ours, spdm.responder(able(version))), [(0, machine.Begin())], on_the_way)
    assert not any(isinstance(each, machine.Identified) for each in happened)
    error = next(each.error for each in happened if isinstance(each, machine.Closed))
    assert error is not None
    return error


def twisted(name: str) -> Alter:
    return lambda message: replace(
        message, **{name: bytes([getattr(message, name)[0] ^ 1]) + getattr(message, name)[1:]}
    )


ROWS: dict[str, tuple[Alter, type[Message], type[Exception]]] = {
    "another slot answers": (lambda m: replace(m, slot=1), ChallengeAuth, UntrustedChainError),
    "it says that other slots have certificates": (
        lambda m: replace(m, slots=3),
        ChallengeAuth,
        UntrustedChainError,
    ),
    "it names another chain": (twisted("chain_hash"), ChallengeAuth, UntrustedChainError),
    "it answers in another context": (twisted("context"), ChallengeAuth, UnexpectedMessageError),
    "it asks for the requester's proof": (lambda m: replace(m, slot=0x80), ChallengeAuth, UnexpectedMessageError),
    "its nonce is altered": (twisted("nonce"), ChallengeAuth, AuthenticationError),
    "its summary is altered": (twisted("summary"), ChallengeAuth, AuthenticationError),
    "its signature is altered": (twisted("signature"), ChallengeAuth, AuthenticationError),
    "opaque data is added": (lambda m: replace(m, opaque=b"x"), ChallengeAuth, AuthenticationError),
    "the challenge's nonce is altered": (twisted("nonce"), Challenge, AuthenticationError),
    "the challenge's context is altered": (twisted("context"), Challenge, UnexpectedMessageError),
    "rooted measurements are asked for instead": (lambda m: replace(m, summary=1), Challenge, AuthenticationError),
    "a slot is hidden": (lambda m: replace(m, supported=3), Digests, AuthenticationError),
    "the request for the chain is altered": (lambda m: replace(m, length=0x0FFE), GetCertificate, AuthenticationError),
    "what is said of the certificate is altered": (
        lambda m: replace(m, certificate=1),
        Certificate,
        AuthenticationError,
    ),
}


@pytest.mark.parametrize("row", sorted(ROWS))
def test_a_challenge_is_over_all_that_was_said(row: str) -> None:
    alter, kind, error = ROWS[row]
    assert type(refused(alter, kind)) is error


def test_a_device_without_the_key_of_its_certificate_is_not_identified() -> None:
    theirs = spdm.responder(able(Version.V1_2))
    state: Any = theirs.state
    theirs = type(theirs)(replace(state.config, key=spdm.key(9)))
    (closed, *_) = spdm.deliver(spdm.requester(able(Version.V1_2), challenge=True), machine.Begin(), theirs)
    assert isinstance(closed, machine.Closed)
    assert isinstance(closed.error, AuthenticationError)


@pytest.mark.parametrize("between", [False, True])
def test_what_was_shown_counts_until_something_else_is_asked(between: bool) -> None:
    version = Version.V1_3
    hand, vca = spdm.negotiated(version)
    shown = b""
    for asked in (GetDigests(version), GetDigests(version), GetCertificate(version, 0, 0, 0x400)):
        hand.say(asked)
        shown = (b"" if isinstance(asked, GetDigests) else shown) + asked.encode() + hand.last
    if between:
        hand.say(GetMeasurements(version, 0, 0, context=bytes(8)), Layout(version, signed=False))
        shown = b""
    challenge = Challenge(version, 0, 0, bytes(32), bytes(8))
    proof = hand.say(challenge)
    assert isinstance(proof, ChallengeAuth)
    signed = vca + shown + challenge.encode() + hand.last[:-96]
    verify(spdm.key(3).public_key(), version, Purpose.CHALLENGE_AUTH, signed, proof.signature)


@pytest.mark.parametrize(("slot", "summary"), [(1, 0), (0, 2)])
def test_a_challenge_of_no_kind_that_there_is_is_refused(slot: int, summary: int) -> None:
    hand, _ = spdm.negotiated(Version.V1_2, spdm.responder(CURRENT))
    asked = Challenge(Version.V1_2, slot, summary, bytes(32))
    assert hand.say(asked) == Error(Version.V1_2, ErrorCode.INVALID_REQUEST)
    assert hand.over


def test_a_requester_that_asks_for_certificates_without_end_is_refused() -> None:
    hand, _ = spdm.negotiated()
    asked = GetCertificate(Version.V1_2, 0, 0, 0xFFFF)
    for _ in range((1 << 20) // 1000):
        if hand.say(asked) == Error(Version.V1_2, ErrorCode.UNEXPECTED_REQUEST):
            break
    assert hand.over
    assert isinstance(hand.error, UnexpectedMessageError)
