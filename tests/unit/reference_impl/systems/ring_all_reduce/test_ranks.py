"""Ranks with real encryption: all of them have the sum of all contributions, or one clear error."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from carnet_ref.crypto.primitives import NONCE_BYTES, AuthenticationError
from carnet_ref.systems.ring_all_reduce.exchange import AlarmError, TurnError
from carnet_ref.systems.ring_all_reduce.rank import Label, Phase, Rank, receives, seal, sends, steps, turns, unseal
from tests.unit.reference_impl.systems.ring_all_reduce.rings import all_reduce, contributions, go_round, ring

Verifies = Callable[[str, object], None]
KEY = bytes(range(32))


# -- sums --------------------------------------------------------------------------------------------------------------


@given(st.integers(2, 7), st.integers(1, 4), st.integers(0, 40), st.integers(1, 3))
def test_all_ranks_have_the_sum(ranks: int, buckets: int, size: int, iterations: int) -> None:
    members = ring(ranks)
    for iteration in range(iterations):
        given = contributions(ranks, size, iteration)
        for rank, contribution in zip(members, given, strict=True):
            rank.begin(iteration, contribution, buckets)
        go_round(members, buckets)
        sums = [rank.finish() for rank in members]
        assert np.allclose(sums[0], sum(given), atol=1e-4)
        assert all(np.array_equal(each, sums[0]) for each in sums)


def test_a_contribution_is_not_changed(record_property: Verifies) -> None:
    record_property("verifies", "ring-all-reduce-REQ-REDUCE-01")
    given = contributions(3)
    before = [each.copy() for each in given]
    all_reduce(ring(3), given)
    assert all(np.array_equal(one, other) for one, other in zip(given, before, strict=True))


# -- the schedule ------------------------------------------------------------------------------------------------------


@given(st.integers(2, 9), st.integers(0, 2))
def test_what_is_sent_is_what_is_received(ranks: int, bucket: int) -> None:
    for phase in Phase:
        for step in steps(ranks):
            sent = [sends(rank, ranks, bucket, phase, step) for rank in range(ranks)]
            assert sorted(sent) == list(range(bucket * ranks, (bucket + 1) * ranks))
            assert [receives(rank, ranks, bucket, phase, step) for rank in range(ranks)] == [sent[-1], *sent[:-1]]


@given(st.integers(2, 9), st.integers(1, 3))
def test_a_chunk_goes_over_a_hop_in_one_sub_step_of_each_phase(ranks: int, buckets: int) -> None:
    """What the specification assumes of the schedule: one sub-step, and another one in each phase."""
    for rank in range(ranks):
        seen: dict[tuple[int, Phase], int] = {}
        for bucket, phase, step in turns(ranks, buckets):
            assert seen.setdefault((sends(rank, ranks, bucket, phase, step), phase), step) == step
        for chunk in range(buckets * ranks):
            taken = [seen[chunk, phase] for phase in Phase if (chunk, phase) in seen]
            assert len(taken) == len(set(taken))


# -- labels ------------------------------------------------------------------------------------------------------------

LABEL = Label(3, Phase.REDUCE, 1, 2)
OTHERS = [
    Label(4, Phase.REDUCE, 1, 2),
    Label(3, Phase.GATHER, 1, 2),
    Label(3, Phase.REDUCE, 0, 2),
    Label(3, Phase.REDUCE, 1, 5),
]


@pytest.mark.parametrize("other", OTHERS, ids=str)
def test_a_tag_binds_each_part_of_the_label(other: Label, record_property: Verifies) -> None:
    record_property("verifies", "ring-all-reduce-REQ-SEND-01")
    message = seal(KEY, LABEL.nonce, LABEL.bound, b"vector")
    assert unseal(KEY, LABEL.bound, message) == b"vector"
    with pytest.raises(AuthenticationError):
        unseal(KEY, other.bound, message)


_PLACES = st.tuples(st.integers(0, 2**56 - 1), st.sampled_from(Phase), st.integers(0, 2**32 - 1))


@given(_PLACES, _PLACES)
def test_no_two_messages_of_a_hop_have_one_iv(one: tuple[int, Phase, int], other: tuple[int, Phase, int]) -> None:
    ivs = [Label(iteration, phase, 0, chunk).nonce for iteration, phase, chunk in (one, other)]
    assert (ivs[0] == ivs[1]) == (one == other)


@pytest.mark.parametrize(("iteration", "step", "chunk"), [(-1, 0, 0), (2**56, 0, 0), (0, -1, 0), (0, 0, 2**32)])
def test_a_label_is_in_its_range(iteration: int, step: int, chunk: int) -> None:
    with pytest.raises(ValueError, match="no sub-step"):
        Label(iteration, Phase.REDUCE, step, chunk)


# -- what is changed ends the job --------------------------------------------------------------------------------------

GIVEN = contributions(3)


def recorded(iteration: int, ranks: int = 3) -> dict[tuple[object, ...], bytes]:
    """Return the messages of one iteration under the keys of the ring, by turn and sender."""
    kept: dict[tuple[object, ...], bytes] = {}

    def keep(turn: tuple[int, Phase, int], messages: list[bytes]) -> list[bytes]:
        kept.update({(*turn, place): message for place, message in enumerate(messages)})
        return messages

    all_reduce(ring(ranks), contributions(ranks), iteration, keep)
    return kept


RIGHT = recorded(5)
EARLIER = recorded(4)
WRONG: dict[str, Callable[[bytes], bytes]] = {
    "a bit changed in the IV": lambda right: bytes([right[0] ^ 1]) + right[1:],
    "a bit changed in the vector": lambda right: right[:NONCE_BYTES] + bytes([right[NONCE_BYTES] ^ 1]) + right[13:],
    "a bit changed in the tag": lambda right: right[:-1] + bytes([right[-1] ^ 1]),
    "cut short": lambda right: right[:-1],
    "no tag": lambda right: right[:20],
    "nothing": lambda right: b"",
    "of another iteration": lambda right: EARLIER[0, Phase.REDUCE, 1, 0],
    "of another sub-step": lambda right: RIGHT[0, Phase.REDUCE, 0, 0],
    "of another phase": lambda right: RIGHT[0, Phase.GATHER, 1, 0],
    "of another hop": lambda right: RIGHT[0, Phase.REDUCE, 1, 2],
}


@pytest.mark.parametrize("what", WRONG)
def test_what_is_changed_raises_the_alarm(what: str, record_property: Verifies) -> None:
    record_property(
        "verifies",
        "ring-all-reduce-REQ-REDUCE-02, ring-all-reduce-REQ-ALARM-01, ring-all-reduce-REQ-ALARM-02",
    )
    members = ring(3)

    def between(turn: tuple[int, Phase, int], messages: list[bytes]) -> list[bytes]:
        return [WRONG[what](messages[0]), *messages[1:]] if turn == (0, Phase.REDUCE, 1) else messages

    with pytest.raises(AlarmError, match="rank 1 raised the alarm: chunk 2, sub-step 1 of reduce-scatter") as raised:
        all_reduce(members, GIVEN, 5, between)
    assert raised.value.rank == 1
    takes_no_further_part(members[1])


def takes_no_further_part(rank: Rank) -> None:
    for step in (
        rank.finish,
        lambda: rank.send(0, Phase.GATHER, 0),
        lambda: rank.receive(0, Phase.GATHER, 0, b""),
        lambda: rank.begin(9, GIVEN[1]),
    ):
        with pytest.raises(AlarmError, match="sub-step 1 of reduce-scatter"):
            step()


@pytest.mark.parametrize("what", WRONG)
def test_what_is_changed_in_all_gather_raises_the_alarm(what: str, record_property: Verifies) -> None:
    record_property("verifies", "ring-all-reduce-REQ-GATHER-01")

    def between(turn: tuple[int, Phase, int], messages: list[bytes]) -> list[bytes]:
        return [WRONG[what](messages[0]), *messages[1:]] if turn == (0, Phase.GATHER, 0) else messages

    with pytest.raises(AlarmError, match="rank 1 raised the alarm: chunk 1, sub-step 0 of all-gather"):
        all_reduce(ring(3), GIVEN, 5, between)


def test_a_vector_of_another_length_raises_the_alarm() -> None:
    longer = contributions(2, 40)
    members = ring(2)
    for rank, contribution in zip(members, (longer[0], contributions(2)[1]), strict=True):
        rank.begin(0, contribution)
    with pytest.raises(AlarmError, match="24 bytes, and not 80"):
        go_round(members)


# -- once, and in turn -------------------------------------------------------------------------------------------------


def test_an_iteration_is_begun_once(record_property: Verifies) -> None:
    record_property("verifies", "ring-all-reduce-REQ-SEND-03")
    members = ring(2)
    all_reduce(members, contributions(2), 3)
    for iteration in (3, 2):
        with pytest.raises(TurnError, match="begun already"):
            members[0].begin(iteration, contributions(2)[0])


def test_a_chunk_is_sealed_once_in_a_phase(record_property: Verifies) -> None:
    record_property("verifies", "ring-all-reduce-REQ-SEND-02")
    (rank, _) = ring(2)
    rank.begin(0, contributions(2)[0])
    rank.send(0, Phase.REDUCE, 0)
    with pytest.raises(TurnError, match="sealed already"):
        rank.send(0, Phase.REDUCE, 0)


def test_nothing_is_passed_on_before_it_came(record_property: Verifies) -> None:
    record_property("verifies", "ring-all-reduce-REQ-REDUCE-04, ring-all-reduce-REQ-GATHER-02")
    rank = ring(3)[0]
    rank.begin(0, GIVEN[0])
    for turn in ((0, Phase.REDUCE, 1), (0, Phase.GATHER, 0)):
        with pytest.raises(TurnError, match="has not come"):
            rank.send(*turn)
    with pytest.raises(TurnError, match="3 of 3 chunks are missing"):
        rank.finish()


def test_a_message_is_taken_once(record_property: Verifies) -> None:
    record_property("verifies", "ring-all-reduce-REQ-REDUCE-03")
    members = ring(2)
    for rank, contribution in zip(members, contributions(2), strict=True):
        rank.begin(0, contribution)
    message = members[1].send(0, Phase.REDUCE, 0)
    members[0].receive(0, Phase.REDUCE, 0, message)
    with pytest.raises(TurnError, match="came already"):
        members[0].receive(0, Phase.REDUCE, 0, message)


@pytest.mark.parametrize(("ranks", "keys"), [(1, (b"a" * 32, b"b" * 32)), (3, (b"a" * 32, b"a" * 32))])
def test_a_ring_has_two_ranks_and_a_key_for_each_hop(ranks: int, keys: tuple[bytes, bytes]) -> None:
    with pytest.raises(TurnError, match=r"two ranks or more|one key"):
        Rank(0, ranks, *keys)


def test_gradients_are_one_vector() -> None:
    rank = ring(2)[0]
    with pytest.raises(TurnError, match="2 dimensions"):
        rank.begin(0, np.zeros((2, 2), np.float32))
    with pytest.raises(TurnError, match="0 buckets"):
        rank.begin(0, GIVEN[0], 0)
    with pytest.raises(TurnError, match="no iteration was begun"):
        rank.finish()
