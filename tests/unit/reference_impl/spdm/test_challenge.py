"""A device proves that it has the key of its certificate, and agrees on all that was said."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from carnet_ref.crypto.primitives import AuthenticationError
from carnet_ref.spdm import (
    CURRENT,
    H100,
    DowngradeError,
    Profile,
    UnexpectedMessageError,
    UntrustedChainError,
)
from carnet_ref.spdm.layout import Layout, Message, Version
from carnet_ref.spdm.machine import Begin, Closed, Identified, Opened, OpenSession
from carnet_ref.spdm.measuring import summary_of
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
    Summary,
    parse_message,
)
from carnet_ref.spdm.profile import Capability
from carnet_ref.spdm.session import Purpose, verify
from tests.fixtures.spdm import BLOCKS, carry, deliver, key, negotiated, requester, responder

VERSIONS = [Version.V1_1, Version.V1_2, Version.V1_3, Version.V1_4]
Alter = Callable[[Any], Message]


def able(version: Version) -> Profile:
    return Profile(version.label, (version,), Capability.CHAL)


@pytest.mark.mends("E14")
@pytest.mark.parametrize("kind", Summary)
@pytest.mark.parametrize("version", VERSIONS)
def test_a_challenged_device_is_identified_before_any_session(version: Version, kind: Summary) -> None:
    ours = requester(able(version), challenge=True, session=False, summary=kind)
    theirs = responder(able(version))
    (found,) = deliver(ours, Begin(), theirs)
    assert isinstance(found, Identified)
    assert found.challenged
    assert found.summary == summary_of(BLOCKS, kind)
    assert not ours.established
    assert [type(each) for each in deliver(ours, OpenSession(), theirs)] == [Opened, Opened]


def test_a_device_that_is_not_challenged_has_proved_nothing_yet() -> None:
    (found,) = deliver(requester(session=False), Begin(), responder())
    assert isinstance(found, Identified)
    assert not found.challenged


def test_a_device_that_cannot_be_challenged_is_refused_where_it_has_to_be() -> None:
    (closed, *_) = deliver(requester(H100, challenge=True), Begin(), responder(H100))
    assert isinstance(closed, Closed)
    assert isinstance(closed.error, DowngradeError)
    assert "CHAL" in str(closed.error)


def test_a_device_that_did_not_say_it_can_be_challenged_does_not_answer() -> None:
    hand, _ = negotiated(Version.V1_1, responder(H100))
    assert hand.say(Challenge(Version.V1_1, 0, 0, bytes(32))) == Error(Version.V1_1, ErrorCode.UNEXPECTED_REQUEST)
    assert hand.over


def refused(alter: Alter, kind: type[Message], version: Version = Version.V1_3) -> Exception:
    """Return why the requester refused a challenge in which a message of one kind was altered on its way."""
    ours = requester(able(version), challenge=True, session=False, summary=Summary.ALL)

    def on_the_way(data: bytes, _: bool) -> bytes:
        if data[2] != kind.CODE:
            return data
        return b"\x05" + alter(parse_message(data[1:], Layout(version, summary=True))).encode()

    happened = carry((ours, responder(able(version))), [(0, Begin())], on_the_way)
    assert not any(isinstance(each, Identified) for each in happened)
    error = next(each.error for each in happened if isinstance(each, Closed))
    assert error is not None
    return error


def twisted(name: str) -> Alter:
    return lambda message: replace(
        message, **{name: bytes([getattr(message, name)[0] ^ 1]) + getattr(message, name)[1:]}
    )


ROWS: dict[str, tuple[Alter, type[Message], type[Exception]]] = {
    "another slot answers": (lambda m: replace(m, slot=1), ChallengeAuth, UntrustedChainError),
    "it says that other slots have certificates": (lambda m: replace(m, slots=3), ChallengeAuth, UntrustedChainError),
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
    theirs = responder(able(Version.V1_2))
    state: Any = theirs.state
    theirs = type(theirs)(replace(state.config, key=key(9)))
    (closed, *_) = deliver(requester(able(Version.V1_2), challenge=True), Begin(), theirs)
    assert isinstance(closed, Closed)
    assert isinstance(closed.error, AuthenticationError)


@pytest.mark.parametrize("between", [False, True])
def test_what_was_shown_counts_until_something_else_is_asked(between: bool) -> None:
    version = Version.V1_3
    hand, vca = negotiated(version)
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
    verify(key(3).public_key(), version, Purpose.CHALLENGE_AUTH, signed, proof.signature)


@pytest.mark.parametrize(("slot", "summary"), [(1, 0), (0, 2)])
def test_a_challenge_of_no_kind_that_there_is_is_refused(slot: int, summary: int) -> None:
    hand, _ = negotiated(Version.V1_2, responder(CURRENT))
    asked = Challenge(Version.V1_2, slot, summary, bytes(32))
    assert hand.say(asked) == Error(Version.V1_2, ErrorCode.INVALID_REQUEST)
    assert hand.over


def test_a_requester_that_asks_for_certificates_without_end_is_refused() -> None:
    hand, _ = negotiated()
    asked = GetCertificate(Version.V1_2, 0, 0, 0xFFFF)
    for _ in range((1 << 20) // 1000):
        if hand.say(asked) == Error(Version.V1_2, ErrorCode.UNEXPECTED_REQUEST):
            break
    assert hand.over
    assert isinstance(hand.error, UnexpectedMessageError)
