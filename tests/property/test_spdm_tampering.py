"""Whatever bit of a conversation is flipped, the ends agree on a session or have none.

Some conversations by default, and 5,000 with ``-m slow``.
"""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import dataclass, field

import pytest

from carnet_ref.spdm.machine import (
    REFUSALS,
    ApplicationData,
    Closed,
    End,
    Measured,
    MeasuredOutside,
    Opened,
    SessionEffect,
)
from carnet_ref.spdm.session import GpuSession
from tests.fixtures.spdm_ends import carry
from tests.fixtures.spdm_traces import CONVERSATIONS, trace


@dataclass
class Seen:
    """What each end believes after a conversation: its session and the session's secret."""

    sessions: dict[int, GpuSession] = field(default_factory=dict)
    secrets: dict[int, bytes] = field(default_factory=dict)
    said: dict[int, list[bytes]] = field(default_factory=lambda: {0: [], 1: []})

    def notice(self, place: int, effect: SessionEffect) -> None:
        """Keep what happened, and check what holds of it alone."""
        match effect:
            case Opened(session, secret):
                self.sessions[place], self.secrets[place] = session, secret.take()
            case Measured(report):
                assert report.session is self.sessions[place]
                report.check_signature(report.session.version, report.session.responder)
            case MeasuredOutside(report):
                report.check_signature(report.version, report.responder)
            case ApplicationData(payload):
                self.said[place].append(payload)
            case Closed(error):
                assert error is None or isinstance(error, REFUSALS)
            case _:
                pass


def tampered(name: str, place: int, bit: int) -> Seen:
    """Run a conversation in which one bit of one message is flipped on its way."""
    conversation, seen, count = CONVERSATIONS[name], Seen(), 0
    ends = conversation.ends("tampered")

    def flip(data: bytes, _: bool) -> bytes:
        nonlocal count
        count += 1
        if count - 1 != place:
            return data
        flipped = bytearray(data)
        flipped[bit // 8 % len(flipped)] ^= 1 << bit % 8
        return bytes(flipped)

    carry(ends, conversation.calls, flip, seen.notice)
    return seen


def agree(seen: Seen) -> bool:
    """Whether both ends have a session; if they do, it is one and the same."""
    if len(seen.sessions) < 2:
        return False
    ours, theirs = seen.sessions[0], seen.sessions[1]
    assert seen.secrets[0] == seen.secrets[1]
    assert (ours.id, ours.version, ours.transcript) == (theirs.id, theirs.version, theirs.transcript)
    assert ours.responder.digest == theirs.responder.digest
    assert (ours.requester is None) == (theirs.requester is None)
    assert ours.summary == theirs.summary
    return True


def run(sessions: int, seed: int) -> Counter[bool]:
    """Tamper with so many conversations, message after message; return how many had a session all the same."""
    draw, outcomes = random.Random(seed), Counter[bool]()
    places = [(name, place) for name in CONVERSATIONS for place in range(len(trace(name)))]
    for number in range(sessions):
        if number % len(places) == 0:
            draw.shuffle(places)
        name, place = places[number % len(places)]
        seen = tampered(name, place, draw.randrange(8 * len(trace(name)[place][1])))
        outcomes[agree(seen)] += 1
        assert seen.said[1] in ([], [b"command"])
        assert seen.said[0] in ([], [b"answer"])
    return outcomes


def test_no_flipped_bit_splits_the_ends() -> None:
    outcomes = run(400, seed=1)
    assert outcomes[True]
    assert outcomes[False]


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_no_flipped_bit_of_5000_conversations_splits_the_ends() -> None:
    outcomes = run(5_000, seed=2)
    assert outcomes.total() == 5_000


@pytest.mark.parametrize("name", CONVERSATIONS)
def test_an_untouched_conversation_opens_a_session_and_ends_it(name: str) -> None:
    seen = tampered(name, -1, 0)
    assert agree(seen)
    assert seen.said == {0: [b"answer"], 1: [b"command"]}
    assert isinstance(CONVERSATIONS[name].calls[-1][1], End)
