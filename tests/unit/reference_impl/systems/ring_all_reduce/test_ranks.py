"""Ranks with real encryption: all have the sum, or one clear error, and no defence can be left out."""

import os
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from cryptography.hazmat.primitives.asymmetric import ec
from hypothesis import given
from hypothesis import strategies as st

from carnet_ref.crypto.primitives import NONCE_BYTES, AuthenticationError
from carnet_ref.systems.ablation import without
from carnet_ref.systems.ring_all_reduce import ablations, exchange
from carnet_ref.systems.ring_all_reduce.exchange import AlarmError, ReportError, TurnError
from carnet_ref.systems.ring_all_reduce.rank import (
    Label,
    Phase,
    Rank,
    Vector,
    receives,
    seal,
    sends,
    steps,
    turns,
    unseal,
)
from tests.unit.reference_impl.systems.ring_all_reduce import rings

KEY = bytes(range(32))


# -- sums --------------------------------------------------------------------------------------------------------------


@pytest.mark.verifies(
    "ring-all-reduce-LIVE-SUM-BEGUN",
    "ring-all-reduce-LIVE-PARTIAL-SUM-PASSED-ON",
    "ring-all-reduce-LIVE-SUM-PASSED-ON",
    "ring-all-reduce-LIVE-FINISHED",
)
@given(st.integers(2, 7), st.integers(1, 4), st.integers(0, 40), st.integers(1, 3))
def test_all_ranks_have_the_sum(ranks: int, buckets: int, size: int, iterations: int) -> None:
    members = rings.ring(ranks)
    for iteration in range(iterations):
        given = rings.contributions(ranks, size, iteration)
        for rank, contribution in zip(members, given, strict=True):
            rank.begin(iteration, contribution, buckets)
        rings.go_round(members, buckets)
        sums = [rank.finish() for rank in members]
        assert np.allclose(sums[0], sum(given), atol=1e-4)
        assert all(np.array_equal(each, sums[0]) for each in sums)


@pytest.mark.verifies("ring-all-reduce-REQ-REDUCE-01")
def test_a_contribution_is_not_changed() -> None:
    given = rings.contributions(3)
    before = [each.copy() for each in given]
    rings.all_reduce(rings.ring(3), given)
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


@pytest.mark.verifies("ring-all-reduce-REQ-SEND-01")
@pytest.mark.parametrize("other", OTHERS, ids=str)
def test_a_tag_binds_each_part_of_the_label(other: Label) -> None:
    message = seal(KEY, LABEL.nonce, LABEL.associated_data, b"vector")
    assert unseal(KEY, LABEL.associated_data, message) == b"vector"
    with pytest.raises(AuthenticationError):
        unseal(KEY, other.associated_data, message)


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

GIVEN = rings.contributions(3)


def recorded(iteration: int, ranks: int = 3) -> dict[tuple[object, ...], bytes]:
    """Return the messages of one iteration under the keys of the ring, by turn and sender."""
    kept: dict[tuple[object, ...], bytes] = {}

    def keep(turn: tuple[int, Phase, int], messages: list[bytes]) -> list[bytes]:
        kept.update({(*turn, place): message for place, message in enumerate(messages)})
        return messages

    rings.all_reduce(rings.ring(ranks), rings.contributions(ranks), iteration, keep)
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


@pytest.mark.verifies("ring-all-reduce-REQ-REDUCE-02", "ring-all-reduce-REQ-ALARM-01", "ring-all-reduce-REQ-ALARM-02")
@pytest.mark.parametrize("what", WRONG)
def test_what_is_changed_raises_the_alarm(what: str) -> None:
    members = rings.ring(3)

    def between(turn: tuple[int, Phase, int], messages: list[bytes]) -> list[bytes]:
        return [WRONG[what](messages[0]), *messages[1:]] if turn == (0, Phase.REDUCE, 1) else messages

    with pytest.raises(AlarmError, match="rank 1 raised the alarm: chunk 2, sub-step 1 of reduce-scatter") as raised:
        rings.all_reduce(members, GIVEN, 5, between)
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


@pytest.mark.verifies("ring-all-reduce-REQ-GATHER-01")
@pytest.mark.parametrize("what", WRONG)
def test_what_is_changed_in_all_gather_raises_the_alarm(what: str) -> None:

    def between(turn: tuple[int, Phase, int], messages: list[bytes]) -> list[bytes]:
        return [WRONG[what](messages[0]), *messages[1:]] if turn == (0, Phase.GATHER, 0) else messages

    with pytest.raises(AlarmError, match="rank 1 raised the alarm: chunk 1, sub-step 0 of all-gather"):
        rings.all_reduce(rings.ring(3), GIVEN, 5, between)


# -- once, and in turn -------------------------------------------------------------------------------------------------


@pytest.mark.verifies("ring-all-reduce-REQ-SEND-03")
def test_an_iteration_is_begun_once() -> None:
    members = rings.ring(2)
    rings.all_reduce(members, rings.contributions(2), 3)
    for iteration in (3, 2):
        with pytest.raises(TurnError, match="begun already"):
            members[0].begin(iteration, rings.contributions(2)[0])


@pytest.mark.verifies("ring-all-reduce-REQ-SEND-02")
def test_a_chunk_is_sealed_once_in_a_phase() -> None:
    (rank, _) = rings.ring(2)
    rank.begin(0, rings.contributions(2)[0])
    rank.send(0, Phase.REDUCE, 0)
    with pytest.raises(TurnError, match="sealed already"):
        rank.send(0, Phase.REDUCE, 0)


@pytest.mark.verifies("ring-all-reduce-REQ-REDUCE-04", "ring-all-reduce-REQ-GATHER-02")
def test_nothing_is_passed_on_before_it_came() -> None:
    rank = rings.ring(3)[0]
    rank.begin(0, GIVEN[0])
    for turn in ((0, Phase.REDUCE, 1), (0, Phase.GATHER, 0)):
        with pytest.raises(TurnError, match="has not come"):
            rank.send(*turn)
    with pytest.raises(TurnError, match="3 of 3 chunks are missing"):
        rank.finish()


@pytest.mark.verifies("ring-all-reduce-REQ-REDUCE-03")
def test_a_message_is_taken_once() -> None:
    members = rings.ring(2)
    for rank, contribution in zip(members, rings.contributions(2), strict=True):
        rank.begin(0, contribution)
    message = members[1].send(0, Phase.REDUCE, 0)
    members[0].receive(0, Phase.REDUCE, 0, message)
    with pytest.raises(TurnError, match="came already"):
        members[0].receive(0, Phase.REDUCE, 0, message)


@pytest.mark.parametrize(("ranks", "keys"), [(1, (b"a" * 32, b"b" * 32)), (3, (b"a" * 32, b"a" * 32))])
def test_a_ring_has_two_ranks_and_a_key_for_each_hop(ranks: int, keys: tuple[bytes, bytes]) -> None:
    with pytest.raises(TurnError, match=r"two ranks or more|one key"):
        Rank(0, ranks, *keys)


def test_gradients_are_one_vector_of_one_length() -> None:
    rank = rings.ring(2)[0]
    with pytest.raises(TurnError, match="2 dimensions"):
        rank.begin(0, np.zeros((2, 2), np.float32))
    with pytest.raises(TurnError, match="0 buckets"):
        rank.begin(0, GIVEN[0], 0)
    with pytest.raises(TurnError, match="no iteration was begun"):
        rank.finish()
    longer = rings.contributions(2, 40)
    members = rings.ring(2)
    for rank, contribution in zip(members, (longer[0], rings.contributions(2)[1]), strict=True):
        rank.begin(0, contribution)
    with pytest.raises(AlarmError, match="24 bytes, and not 80"):
        rings.go_round(members)


REDUCE, GATHER = Phase.REDUCE, Phase.GATHER
SUM = np.sum(GIVEN, axis=0, dtype=np.float32)
ANY_PHASE = without(Rank, ablations.RANKS, frozenset(("bound-phase", "bound-step")))


def xor(one: Vector, other: Vector) -> bytes:
    return bytes(a ^ b for a, b in zip(one.tobytes(), other.tobytes(), strict=True))


def swapped(
    when: rings.Turn, sender: int, message: Callable[[], bytes]
) -> Callable[[rings.Turn, list[bytes]], list[bytes]]:
    """Put another message in the place of what one rank sends in one turn."""
    return lambda turn, sent: [
        message() if (turn, place) == (when, sender) else each for place, each in enumerate(sent)
    ]


# -- verify-first ------------------------------------------------------------------------------------------------------


def flipped(turn: rings.Turn, sent: list[bytes]) -> list[bytes]:
    """Change the sign of the first number of one partial sum."""
    sign = NONCE_BYTES + 3
    changed = sent[0][:sign] + bytes([sent[0][sign] ^ 0x80]) + sent[0][sign + 1 :]
    return [changed, *sent[1:]] if turn == (0, REDUCE, 0) else sent


def test_without_verify_first_a_changed_bit_is_in_every_sum() -> None:
    wrong = rings.all_reduce(rings.ring(3, ablations.LateCheck), GIVEN, 0, flipped)
    assert all(not np.allclose(each, SUM) for each in wrong)
    with pytest.raises(AlarmError, match="AES-GCM tag does not verify"):
        rings.all_reduce(rings.ring(3), GIVEN, 0, flipped)


# -- what a tag binds --------------------------------------------------------------------------------------------------


def stale(kind: type[Rank]) -> list[Vector]:
    """Send a partial sum of the iteration before once more."""
    members, kept = rings.ring(3, kind), list[bytes]()

    def keep(turn: rings.Turn, sent: list[bytes]) -> list[bytes]:
        kept.append(sent[0])
        return sent

    rings.all_reduce(members, rings.contributions(3, seed=7), 0, keep)
    return rings.all_reduce(members, GIVEN, 1, swapped((0, REDUCE, 0), 0, lambda: kept[0]))


def partly(kind: type[Rank]) -> list[Vector]:
    """Send the partial sum that went over a hop in reduce-scatter once more in all-gather."""
    kept: dict[rings.Turn, bytes] = {}

    def replay(turn: rings.Turn, sent: list[bytes]) -> list[bytes]:
        kept[turn] = sent[0]
        return [kept[0, REDUCE, 0], *sent[1:]] if turn == (0, GATHER, 1) else sent

    return rings.all_reduce(rings.ring(3, kind), GIVEN, 0, replay)


def crossed(kind: type[Rank]) -> list[Vector]:
    """Exchange the chunks of two buckets, which go over a hop in the same sub-step."""
    members = rings.ring(3, kind)
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
    "bound-iteration": (ablations.RANKS["bound-iteration"], stale),
    "bound-phase and bound-step": (ANY_PHASE, partly),
    "bound-chunk": (ablations.RANKS["bound-chunk"], crossed),
}


@pytest.mark.verifies("ring-all-reduce-REQ-SEND-01")
@pytest.mark.parametrize("what", REPLAYS)
def test_without_what_a_tag_binds_a_replay_is_in_a_sum(what: str) -> None:
    weak, attack = REPLAYS[what]
    assert not all(np.allclose(each, SUM, atol=1e-5) for each in attack(weak))
    with pytest.raises(AlarmError, match="AES-GCM tag does not verify"):
        attack(Rank)


# -- IVs ---------------------------------------------------------------------------------------------------------------


def test_with_one_key_two_partial_sums_are_under_one_iv() -> None:
    members, seen = rings.ring(3, ablations.RANKS["hop-key"], one_key=True), dict[tuple[rings.Turn, int], bytes]()

    def look(turn: rings.Turn, sent: list[bytes]) -> list[bytes]:
        seen.update({(turn, place): message for place, message in enumerate(sent)})
        return sent

    rings.all_reduce(members, GIVEN, 0, look)
    first, second = seen[(0, REDUCE, 0), 0], seen[(0, REDUCE, 1), 1]
    assert first[:NONCE_BYTES] == second[:NONCE_BYTES]
    chunk = slice(0, 4)
    assert ablations.xor_ciphertexts(first, second) == xor(GIVEN[0][chunk], (GIVEN[0] + GIVEN[1])[chunk])
    with pytest.raises(TurnError, match="one key for both"):
        rings.ring(3, one_key=True)


def begun_again(kind: type[Rank]) -> list[bytes]:
    (rank, _), sent = rings.ring(2, kind), list[bytes]()
    for seed in (1, 2):
        rank.begin(0, rings.contributions(2, seed=seed)[0])
        sent.append(rank.send(0, REDUCE, 0))
    return sent


def sealed_again(kind: type[Rank]) -> list[bytes]:
    (rank, _) = rings.ring(2, kind)
    rank.begin(0, rings.contributions(2)[0])
    return [rank.send(0, REDUCE, 0) for _ in range(2)]


AGAIN = {
    "iteration-once": (ablations.SameKeys, begun_again, "begun already"),
    "seal-once": (ablations.SealsAgain, sealed_again, "sealed already"),
}


@pytest.mark.parametrize("what", AGAIN)
def test_without_once_an_iv_repeats(what: str) -> None:
    weak, attack, said = AGAIN[what]
    one, other = attack(weak)
    assert one[:NONCE_BYTES] == other[:NONCE_BYTES]
    with pytest.raises(TurnError, match=said):
        attack(Rank)


def test_the_xor_of_two_messages_under_one_iv_is_that_of_the_gradients() -> None:
    one, other = begun_again(ablations.SameKeys)
    before, after = (rings.contributions(2, seed=seed)[0][:6] for seed in (1, 2))
    assert ablations.xor_ciphertexts(one, other) == xor(before, after)


# -- counting ----------------------------------------------------------------------------------------------------------


def sent_again(kind: type[Rank]) -> list[Vector]:
    """Deliver one partial sum twice."""
    members = rings.ring(3, kind)

    def twice(turn: rings.Turn, sent: list[bytes]) -> list[bytes]:
        if turn == (0, REDUCE, 0):
            members[1].receive(*turn, sent[0])
        return sent

    return rings.all_reduce(members, GIVEN, 0, twice)


def test_without_add_once_a_contribution_counts_twice() -> None:
    chunk = slice(0, 4)
    for each in sent_again(ablations.RANKS["add-once"]):
        assert np.allclose(each[chunk], (SUM + GIVEN[0])[chunk], atol=1e-5)
    with pytest.raises(TurnError, match="came already"):
        sent_again(Rank)


def test_without_waiting_ranks_finish_with_sums_that_lack_contributions() -> None:
    wrong = rings.all_reduce(rings.ring(3, ablations.GoesOn), GIVEN, 0, flipped)
    for each in wrong:
        assert np.allclose(each[:4], (GIVEN[1] + GIVEN[2])[:4], atol=1e-5)
    with pytest.raises(AlarmError):
        rings.all_reduce(rings.ring(3), GIVEN, 0, flipped)
    assert np.array_equal(early(ablations.RANKS["whole-iteration"]), GIVEN[0])
    with pytest.raises(TurnError, match="are missing"):
        early(Rank)


def early(kind: type[Rank]) -> Vector:
    (rank, _, _) = rings.ring(3, kind)
    rank.begin(0, GIVEN[0])
    return rank.finish()


def after_alarm(kind: type[Rank]) -> bytes:
    (rank, _) = rings.ring(2, kind)
    rank.begin(0, rings.contributions(2)[0])
    with pytest.raises(AlarmError):
        rank.raise_alarm("no message came")
    rank.begin(1, rings.contributions(2)[0])
    return rank.send(0, REDUCE, 0)


def test_without_a_final_alarm_a_rank_goes_on() -> None:
    assert after_alarm(ablations.RANKS["alarm-final"])
    with pytest.raises(AlarmError, match="no message came"):
        after_alarm(Rank)


def test_nothing_of_this_is_due_to_the_copies() -> None:
    for kind in (
        ablations.LateCheck,
        ablations.RANKS["bound-iteration"],
        ANY_PHASE,
        ablations.RANKS["bound-chunk"],
        ablations.SameKeys,
        ablations.SealsAgain,
        ablations.RANKS["add-once"],
        ablations.GoesOn,
        ablations.RANKS["alarm-final"],
    ):
        assert all(
            np.allclose(each, SUM, atol=1e-5) for each in rings.all_reduce(rings.ring(3, kind), GIVEN, 0, rings.as_sent)
        )


Verifies = Callable[[str, object], None]

ROOT, IDENTITY, FAKE = (ec.generate_private_key(ec.SECP384R1()) for _ in range(3))
TRAINER, OTHER = b"t" * 48, b"o" * 48


def device(
    place: int,
    mode: bytes = exchange.CONFIDENTIAL,
    code: bytes = TRAINER,
    *,
    identity: ec.EllipticCurvePrivateKey = IDENTITY,
) -> exchange.Device:
    root = FAKE if identity is FAKE else ROOT
    return exchange.Device(identity, exchange.certify(root, identity), mode, code, place)


def agree(
    before: exchange.Device, after: exchange.Device, check: exchange.ReportCheck | None = None
) -> tuple[bytes, bytes]:
    """Return the key of the hop from rank 0 to rank 1, as either end has it."""
    check = check or exchange.ReportCheck(ROOT.public_key(), TRAINER)
    opening = exchange.HopOpening(before, os.urandom)
    answer, received = exchange.answer_hop(after, opening.half, check, 0, os.urandom)
    return opening.take(answer, check, 1), received


@pytest.mark.verifies("ring-all-reduce-REQ-SETUP-01", "ring-all-reduce-REQ-SETUP-02")
def test_both_ends_have_the_same_key() -> None:
    one, other = (agree(device(0), device(1)) for _ in range(2))
    assert one[0] == one[1]
    assert one[0] != other[0]


#: For each check: what asks for it, the copy that lacks it, who then joins the ring, and what the real one says.
STRANGERS: dict[str, tuple[str, type[exchange.ReportCheck], Callable[[int], exchange.Device], str]] = {
    "gpu-certificate": (
        "SETUP-04",
        ablations.CHECKS["gpu-certificate"],
        lambda place: device(place, identity=FAKE),
        "certificate",
    ),
    "mode-check": ("SETUP-05", ablations.CHECKS["mode-check"], lambda place: device(place, exchange.OPEN), "mode open"),
    "code-check": ("SETUP-06", ablations.CHECKS["code-check"], lambda place: device(place, code=OTHER), "code 6f6f"),
    "neighbour-check": ("SETUP-07", ablations.CHECKS["neighbour-check"], lambda place: device(place + 5), "place"),
}


@pytest.mark.parametrize("defence", STRANGERS)
def test_without_the_check_a_stranger_has_the_key_of_a_hop(defence: str, record_property: Verifies) -> None:
    requirement, weak, stranger, said = STRANGERS[defence]
    record_property("verifies", f"ring-all-reduce-REQ-{requirement}")
    weakened = weak(ROOT.public_key(), TRAINER)
    for ends in ((device(0), stranger(1)), (stranger(0), device(1))):
        ours, theirs = agree(*ends, weakened)
        assert ours == theirs
        with pytest.raises(ReportError, match=said):
            agree(*ends)


@pytest.mark.verifies("ring-all-reduce-REQ-SETUP-03")
def test_a_relayed_report_is_not_taken() -> None:
    """Somebody between answers with a share of its own, and with the report that the neighbour made for another one."""
    check = exchange.ReportCheck(ROOT.public_key(), TRAINER)
    between = device(1, identity=FAKE)
    other = exchange.HopOpening(device(0), os.urandom)
    relayed, _ = exchange.answer_hop(device(1), other.half, check, 0, os.urandom)
    opening = exchange.HopOpening(device(0), os.urandom)
    own, key = exchange.answer_hop(between, opening.half, check, 0, os.urandom)
    answer = exchange.ExchangeMessage(own.share, relayed.report)
    weak = ablations.AnyExchange(ROOT.public_key(), TRAINER)
    weak.exchanges.append(other.half.share + relayed.share)
    assert opening.take(answer, weak, 1) == key
    with pytest.raises(ReportError, match="report does not verify"):
        opening.take(answer, check, 1)


@pytest.mark.verifies("ring-all-reduce-REQ-SETUP-03")
def test_the_share_of_somebody_else_is_not_taken() -> None:
    check = exchange.ReportCheck(ROOT.public_key(), TRAINER)
    opening, between = (
        exchange.HopOpening(device(0), os.urandom),
        exchange.HopOpening(device(0, identity=FAKE), os.urandom),
    )
    with pytest.raises(ReportError, match="report does not verify"):
        exchange.answer_hop(device(1), replace(opening.half, share=between.half.share), check, 0, os.urandom)


CHANGED: dict[str, Callable[[exchange.Report], exchange.Report]] = {
    "mode": lambda report: replace(report, mode=b"changed"),
    "code": lambda report: replace(report, code=b"changed"),
    "place": lambda report: replace(report, place=7),
    "signature": lambda report: replace(report, signature=b"changed"),
    "device": lambda report: replace(report, device=b"changed"),
}


@pytest.mark.parametrize("field", CHANGED)
def test_a_report_that_was_changed_is_not_taken(field: str) -> None:
    check = exchange.ReportCheck(ROOT.public_key(), TRAINER)
    half = exchange.HopOpening(device(0), os.urandom).half
    with pytest.raises(ReportError):
        exchange.answer_hop(device(1), replace(half, report=CHANGED[field](half.report)), check, 0, os.urandom)


def test_a_half_goes_over_a_link_and_nothing_else_is_one() -> None:
    half = exchange.HopOpening(device(0), os.urandom).half
    assert exchange.ExchangeMessage.decode(half.encode()) == half
    for data in (b"", half.encode()[:-1], half.encode() + b"x", b"half"):
        with pytest.raises(ReportError):
            exchange.ExchangeMessage.decode(data)
    check = exchange.ReportCheck(ROOT.public_key(), TRAINER)
    half = exchange.ExchangeMessage(bytes(32), device(0).report(bytes(32)))
    with pytest.raises(ReportError, match="share"):
        exchange.answer_hop(device(1), half, check, 0, os.urandom)
