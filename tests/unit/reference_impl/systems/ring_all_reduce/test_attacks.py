"""Attacks with real bytes: each is carried out on a copy of a rank that lacks one defence, and refused by a rank."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from carnet_ref.crypto.primitives import NONCE_BYTES
from carnet_ref.systems.ablation import without
from carnet_ref.systems.ring_all_reduce.ablations import (
    RANKS,
    AddsAgain,
    AnyChunk,
    AnyIteration,
    Deaf,
    GoesOn,
    Hasty,
    LateCheck,
    OneKey,
    SameKeys,
    SealsAgain,
    summed,
)
from carnet_ref.systems.ring_all_reduce.exchange import AlarmError, TurnError
from carnet_ref.systems.ring_all_reduce.rank import Phase, Rank, Vector
from tests.unit.reference_impl.systems.ring_all_reduce.rings import (
    Turn,
    all_reduce,
    as_sent,
    contributions,
    ring,
)

REDUCE, GATHER = Phase.REDUCE, Phase.GATHER
GIVEN = contributions(3)
SUM = np.sum(GIVEN, axis=0, dtype=np.float32)
ANY_PHASE = without(Rank, RANKS, frozenset(("bound-phase", "bound-step")))


def xor(one: Vector, other: Vector) -> bytes:
    return bytes(a ^ b for a, b in zip(one.tobytes(), other.tobytes(), strict=True))


def swapped(when: Turn, sender: int, message: Callable[[], bytes]) -> Callable[[Turn, list[bytes]], list[bytes]]:
    """Put another message in the place of what one rank sends in one turn."""
    return lambda turn, sent: [
        message() if (turn, place) == (when, sender) else each for place, each in enumerate(sent)
    ]


# -- verify-first ------------------------------------------------------------------------------------------------------


def flipped(turn: Turn, sent: list[bytes]) -> list[bytes]:
    """Change the sign of the first number of one partial sum."""
    sign = NONCE_BYTES + 3
    changed = sent[0][:sign] + bytes([sent[0][sign] ^ 0x80]) + sent[0][sign + 1 :]
    return [changed, *sent[1:]] if turn == (0, REDUCE, 0) else sent


def test_without_verify_first_a_changed_bit_is_in_every_sum() -> None:
    wrong = all_reduce(ring(3, LateCheck), GIVEN, 0, flipped)
    assert all(not np.allclose(each, SUM) for each in wrong)
    with pytest.raises(AlarmError, match="AES-GCM tag does not verify"):
        all_reduce(ring(3), GIVEN, 0, flipped)


# -- what a tag binds --------------------------------------------------------------------------------------------------


def stale(kind: type[Rank]) -> list[Vector]:
    """Send a partial sum of the iteration before once more."""
    members, kept = ring(3, kind), list[bytes]()

    def keep(turn: Turn, sent: list[bytes]) -> list[bytes]:
        kept.append(sent[0])
        return sent

    all_reduce(members, contributions(3, seed=7), 0, keep)
    return all_reduce(members, GIVEN, 1, swapped((0, REDUCE, 0), 0, lambda: kept[0]))


def partly(kind: type[Rank]) -> list[Vector]:
    """Send the partial sum that went over a hop in reduce-scatter once more in all-gather."""
    kept: dict[Turn, bytes] = {}

    def replay(turn: Turn, sent: list[bytes]) -> list[bytes]:
        kept[turn] = sent[0]
        return [kept[0, REDUCE, 0], *sent[1:]] if turn == (0, GATHER, 1) else sent

    return all_reduce(ring(3, kind), GIVEN, 0, replay)


def crossed(kind: type[Rank]) -> list[Vector]:
    """Exchange the chunks of two buckets, which go over a hop in the same sub-step."""
    members = ring(3, kind)
    for rank, contribution in zip(members, GIVEN, strict=True):
        rank.begin(0, contribution, 2)
    ahead = [members[0].send(bucket, REDUCE, 0) for bucket in (1, 0)]
    others = [[rank.send(bucket, REDUCE, 0) for rank in members[1:]] for bucket in (0, 1)]
    for bucket in (0, 1):
        for place, rank in enumerate(members):
            rank.receive(bucket, REDUCE, 0, [ahead[bucket], *others[bucket]][place - 1])
    for turn in ((0, REDUCE, 1), (1, REDUCE, 1), *((b, GATHER, s) for b in (0, 1) for s in (0, 1))):
        sent = [rank.send(*turn) for rank in members]
        for place, rank in enumerate(members):
            rank.receive(*turn, sent[place - 1])
    return [rank.finish() for rank in members]


REPLAYS = {
    "bound-iteration": (AnyIteration, stale),
    "bound-phase and bound-step": (ANY_PHASE, partly),
    "bound-chunk": (AnyChunk, crossed),
}


@pytest.mark.parametrize("what", REPLAYS)
def test_without_what_a_tag_binds_a_replay_is_in_a_sum(
    what: str, record_property: Callable[[str, object], None]
) -> None:
    record_property("verifies", "ring-all-reduce-REQ-SEND-01")
    weak, attack = REPLAYS[what]
    assert not all(np.allclose(each, SUM, atol=1e-5) for each in attack(weak))
    with pytest.raises(AlarmError, match="AES-GCM tag does not verify"):
        attack(Rank)


# -- IVs ---------------------------------------------------------------------------------------------------------------


def test_with_one_key_two_partial_sums_are_under_one_iv() -> None:
    members, seen = ring(3, OneKey, one_key=True), dict[tuple[Turn, int], bytes]()

    def look(turn: Turn, sent: list[bytes]) -> list[bytes]:
        seen.update({(turn, place): message for place, message in enumerate(sent)})
        return sent

    all_reduce(members, GIVEN, 0, look)
    first, second = seen[(0, REDUCE, 0), 0], seen[(0, REDUCE, 1), 1]
    assert first[:NONCE_BYTES] == second[:NONCE_BYTES]
    chunk = slice(0, 4)
    assert summed(first, second) == xor(GIVEN[0][chunk], (GIVEN[0] + GIVEN[1])[chunk])
    with pytest.raises(TurnError, match="one key for both"):
        ring(3, one_key=True)


def begun_again(kind: type[Rank]) -> list[bytes]:
    (rank, _), sent = ring(2, kind), list[bytes]()
    for seed in (1, 2):
        rank.begin(0, contributions(2, seed=seed)[0])
        sent.append(rank.send(0, REDUCE, 0))
    return sent


def sealed_again(kind: type[Rank]) -> list[bytes]:
    (rank, _) = ring(2, kind)
    rank.begin(0, contributions(2)[0])
    return [rank.send(0, REDUCE, 0) for _ in range(2)]


AGAIN = {
    "iteration-once": (SameKeys, begun_again, "begun already"),
    "seal-once": (SealsAgain, sealed_again, "sealed already"),
}


@pytest.mark.parametrize("what", AGAIN)
def test_without_once_an_iv_repeats(what: str) -> None:
    weak, attack, said = AGAIN[what]
    one, other = attack(weak)
    assert one[:NONCE_BYTES] == other[:NONCE_BYTES]
    with pytest.raises(TurnError, match=said):
        attack(Rank)


def test_the_xor_of_two_messages_under_one_iv_is_that_of_the_gradients() -> None:
    one, other = begun_again(SameKeys)
    before, after = (contributions(2, seed=seed)[0][:6] for seed in (1, 2))
    assert summed(one, other) == xor(before, after)


# -- counting ----------------------------------------------------------------------------------------------------------


def sent_again(kind: type[Rank]) -> list[Vector]:
    """Deliver one partial sum twice."""
    members = ring(3, kind)

    def twice(turn: Turn, sent: list[bytes]) -> list[bytes]:
        if turn == (0, REDUCE, 0):
            members[1].receive(*turn, sent[0])
        return sent

    return all_reduce(members, GIVEN, 0, twice)


def test_without_add_once_a_contribution_counts_twice() -> None:
    chunk = slice(0, 4)
    for each in sent_again(AddsAgain):
        assert np.allclose(each[chunk], (SUM + GIVEN[0])[chunk], atol=1e-5)
    with pytest.raises(TurnError, match="came already"):
        sent_again(Rank)


def test_without_waiting_ranks_finish_with_sums_that_lack_contributions() -> None:
    wrong = all_reduce(ring(3, GoesOn), GIVEN, 0, flipped)
    for each in wrong:
        assert np.allclose(each[:4], (GIVEN[1] + GIVEN[2])[:4], atol=1e-5)
    with pytest.raises(AlarmError):
        all_reduce(ring(3), GIVEN, 0, flipped)


def early(kind: type[Rank]) -> Vector:
    (rank, _, _) = ring(3, kind)
    rank.begin(0, GIVEN[0])
    return rank.finish()


def test_without_waiting_for_every_chunk_a_rank_finishes_with_its_own() -> None:
    assert np.array_equal(early(Hasty), GIVEN[0])
    with pytest.raises(TurnError, match="are missing"):
        early(Rank)


def after_alarm(kind: type[Rank]) -> bytes:
    (rank, _) = ring(2, kind)
    rank.begin(0, contributions(2)[0])
    with pytest.raises(AlarmError):
        rank.raise_alarm("no message came")
    rank.begin(1, contributions(2)[0])
    return rank.send(0, REDUCE, 0)


def test_without_a_final_alarm_a_rank_goes_on() -> None:
    assert after_alarm(Deaf)
    with pytest.raises(AlarmError, match="no message came"):
        after_alarm(Rank)


def test_nothing_of_this_is_due_to_the_copies() -> None:
    for kind in (LateCheck, AnyIteration, ANY_PHASE, AnyChunk, SameKeys, SealsAgain, AddsAgain, GoesOn, Deaf):
        assert all(np.allclose(each, SUM, atol=1e-5) for each in all_reduce(ring(3, kind), GIVEN, 0, as_sent))
