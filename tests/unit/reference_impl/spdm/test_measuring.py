"""What a responder measures: counts, blocks one by one, or all; signed or not; in a session or outside of any."""

from __future__ import annotations

import pytest

from carnet_ref.crypto.primitives import AuthenticationError, sha384
from carnet_ref.spdm import CURRENT, H100, H100_DEVICE, UnexpectedMessageError
from carnet_ref.spdm.layout import Layout, Version
from carnet_ref.spdm.machine import Begin, Closed, Ended, Measure, Measured, MeasuredOutside, Opened, Received, Send
from carnet_ref.spdm.measuring import LONGEST_RUN, summary_of
from carnet_ref.spdm.messages import (
    Digests,
    Error,
    ErrorCode,
    GetDigests,
    GetMeasurements,
    Heartbeat,
    HeartbeatAck,
    Measurements,
    Summary,
)
from carnet_ref.spdm.session import Purpose, verify
from tests.fixtures.spdm import BLOCKS, ByHand, Draws, deliver, inside, key, negotiated, reporter, requester, responder

VERSIONS = [Version.V1_1, Version.V1_2, Version.V1_3, Version.V1_4]
NONCE = bytes(range(32))


def context(version: Version) -> bytes:
    return bytes(range(8)) if version >= Version.V1_3 else b""


def asking(version: Version, operation: int, *, signed: bool) -> GetMeasurements:
    nonce = NONCE if signed else b""
    return GetMeasurements(version, int(signed), operation, nonce, context=context(version))


def measured(hand: ByHand, operation: int, *, signed: bool = False) -> Measurements:
    version = hand.layout.version
    found = hand.say(asking(version, operation, signed=signed), Layout(version, signed=signed))
    assert isinstance(found, Measurements)
    return found


@pytest.mark.mends("E2")
@pytest.mark.parametrize("version", VERSIONS)
def test_a_responder_counts_its_measurements_and_gives_them_one_by_one(version: Version) -> None:
    hand, _ = negotiated(version)
    count = measured(hand, 0)
    assert (count.total, count.blocks, count.record, count.signature) == (len(BLOCKS), 0, b"", b"")
    for block in BLOCKS:
        one = measured(hand, block.index)
        assert (one.total, one.blocks, one.record) == (0, 1, block.encode())
        assert one.context == context(version)
    every = measured(hand, 0xFF)
    assert every.record == b"".join(block.encode() for block in BLOCKS)
    assert every.blocks == len(BLOCKS)


@pytest.mark.parametrize("version", VERSIONS)
def test_a_signature_covers_what_was_measured_without_one_before(version: Version) -> None:
    hand, vca = negotiated(version)
    run = vca if version >= Version.V1_2 else b""
    for operation in (0, 1, 2):
        measured(hand, operation)
        run += asking(version, operation, signed=False).encode() + hand.last
    last = measured(hand, 3, signed=True)
    run += asking(version, 3, signed=True).encode() + hand.last[:-96]
    verify(key(3).public_key(), version, Purpose.MEASUREMENTS, run, last.signature)
    again = measured(hand, 3, signed=True)
    fresh = (vca if version >= Version.V1_2 else b"") + asking(version, 3, signed=True).encode() + hand.last[:-96]
    verify(key(3).public_key(), version, Purpose.MEASUREMENTS, fresh, again.signature)


def test_any_other_request_begins_anew_what_a_signature_covers() -> None:
    hand, vca = negotiated()
    measured(hand, 1)
    hand.say(GetDigests(Version.V1_2))
    last = measured(hand, 2, signed=True)
    signed = vca + asking(Version.V1_2, 2, signed=True).encode() + hand.last[:-96]
    verify(key(3).public_key(), Version.V1_2, Purpose.MEASUREMENTS, signed, last.signature)


def test_inside_a_session_too_any_other_request_begins_anew() -> None:
    hand = inside()
    measured(hand, 1)
    assert isinstance(hand.say(Heartbeat(Version.V1_1)), HeartbeatAck)
    last = measured(hand, 2, signed=True)
    signed = asking(Version.V1_1, 2, signed=True).encode() + hand.last[:-96]
    verify(key(3).public_key(), Version.V1_1, Purpose.MEASUREMENTS, signed, last.signature)


def test_a_measurement_that_is_not_there_gets_an_error_and_changes_nothing() -> None:
    for hand in (negotiated(Version.V1_1)[0], inside()):
        for wrong in (
            asking(Version.V1_1, 99, signed=False),
            GetMeasurements(Version.V1_1, 1, 0xFF, NONCE, slot=1),
        ):
            assert hand.say(wrong) == Error(Version.V1_1, ErrorCode.INVALID_REQUEST)
            assert not hand.over
        assert measured(hand, 1).record == BLOCKS[0].encode()


def test_a_run_of_unsigned_measurements_has_an_end() -> None:
    hand, _ = negotiated()
    one, covered = asking(Version.V1_2, 0xFF, signed=False), 0
    while covered <= LONGEST_RUN:
        measured(hand, 0xFF)
        covered += len(one.encode()) + len(hand.last)
    assert hand.say(one) == Error(Version.V1_2, ErrorCode.UNSPECIFIED)
    assert isinstance(hand.say(GetDigests(Version.V1_2)), Digests)
    assert measured(hand, 1).blocks == 1


@pytest.mark.mends("E2")
@pytest.mark.parametrize("profile", [H100_DEVICE, H100, CURRENT])
def test_a_requester_takes_a_report_outside_of_any_session_and_checks_who_signed_it(profile: object) -> None:
    ours, theirs = requester(CURRENT if profile is CURRENT else H100, session=False), responder(profile)  # type: ignore[arg-type]
    deliver(ours, Begin(), theirs)
    (found,) = deliver(ours, Measure(NONCE), theirs)
    assert isinstance(found, MeasuredOutside)
    assert found.report.nonce == NONCE
    found.report.check_signature(found.report.version, found.report.responder)
    assert not ours.established


def test_a_report_outside_of_any_session_that_another_key_signed_is_refused() -> None:
    ours, theirs = requester(session=False), responder(reporter=reporter(key(9)))
    deliver(ours, Begin(), theirs)
    (closed,) = deliver(ours, Measure(NONCE), theirs)
    assert isinstance(closed, Closed)
    assert isinstance(closed.error, AuthenticationError)


@pytest.mark.parametrize("place", [3, 60])
def test_a_report_of_another_slot_or_altered_is_refused(place: int) -> None:
    ours, theirs = requester(CURRENT, session=False), responder(CURRENT)
    deliver(ours, Begin(), theirs)
    (asked,) = (effect for effect in ours.handle(Measure(NONCE)) if isinstance(effect, Send))
    answer = bytearray(theirs.receive(asked.data)[0])
    answer[1 + place] ^= 1
    (closed,) = ours.handle(Received(bytes(answer)))
    assert isinstance(closed, Closed)
    assert isinstance(closed.error, UnexpectedMessageError if place == 3 else AuthenticationError)
    assert isinstance(ours.state, Ended)


@pytest.mark.mends("E16")
@pytest.mark.parametrize("profile", [H100, CURRENT])
def test_a_reporter_sees_what_was_negotiated_so_that_it_signs_by_itself(profile: object) -> None:
    ours, theirs = requester(profile), responder(profile)  # type: ignore[arg-type]
    deliver(ours, Begin(), theirs)
    (found,) = deliver(ours, Measure(NONCE), theirs)
    assert isinstance(found, Measured)
    assert ours.session is not None
    assert found.report.before[:1] == b"\x10"
    found.report.check_signature(ours.session.version, ours.session.responder)


@pytest.mark.mends("E14")
@pytest.mark.parametrize("kind", Summary)
def test_both_ends_have_the_summary_of_measurements_that_was_asked_for(kind: Summary) -> None:
    ours, theirs = requester(CURRENT, summary=kind), responder(CURRENT)
    happened = deliver(ours, Begin(), theirs)
    assert [each.session.summary for each in happened if isinstance(each, Opened)] == [summary_of(BLOCKS, kind)] * 2
    rooted = b"".join(block.encode() for block in BLOCKS if block.index % 2 == 0)
    expected = {Summary.NONE: b"", Summary.ROOTED: sha384(rooted)}
    expected[Summary.ALL] = sha384(b"".join(block.encode() for block in BLOCKS))
    assert summary_of(BLOCKS, kind) == expected[kind]


def test_the_blocks_that_are_measured_are_those_of_the_moment() -> None:
    blocks = list(BLOCKS)
    source = reporter(seed="moment")
    changing = type(source)(key(3), lambda: tuple(blocks), Draws("moment"))
    hand, _ = negotiated(theirs=responder(CURRENT, reporter=changing))
    assert measured(hand, 0).total == len(BLOCKS)
    blocks.pop()
    assert measured(hand, 0).total == len(BLOCKS) - 1
