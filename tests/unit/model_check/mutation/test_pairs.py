"""Pairs of parts: of two that were dropped alone in the same variant, and that nothing noticed there."""

from __future__ import annotations

from carnet_check.loading.families import Source
from carnet_check.mutation.campaign import Request, list_mutants, pairs_of, possible_pairs
from carnet_check.mutation.judging import Judge, Judgement, MutantStatus
from carnet_check.mutation.operators import Mutant
from tests.fixtures import door

SOURCE = Source("tests/fixtures/door.py", door.FAMILY, "door")
INVITED, LISTED = "admit/guard invited/drop", "admit/guard listed/drop"
PAIR = "main: admit/guard invited and guard listed/drop"


def judged(*only: str) -> tuple[tuple[Mutant, ...], list[Judgement]]:
    every = list_mutants(Request(SOURCE, ("main",), only=only))
    judge = Judge(SOURCE, "main")
    return every, [judge.judged(mutant) for mutant in every]


def test_two_parts_that_nothing_noticed_alone_are_a_pair() -> None:
    every, found = judged(INVITED, LISTED)
    assert {each.fate for each in found} == {MutantStatus.SURVIVED, MutantStatus.EQUIVALENT}
    assert [pair.key for pair in pairs_of(every, found, SOURCE)] == [PAIR]


def test_what_was_not_dropped_alone_is_in_no_pair() -> None:
    assert pairs_of(*judged(INVITED), SOURCE) == ()


def test_what_is_noticed_alone_is_in_no_pair() -> None:
    every, found = judged(INVITED, LISTED)
    noticed = [Judgement(each.key, MutantStatus.KILLED) if each.key.endswith(LISTED) else each for each in found]
    assert pairs_of(every, noticed, SOURCE) == ()


def test_a_pair_can_be_argued_for() -> None:
    assert PAIR in possible_pairs(list_mutants(Request(SOURCE, ("main",))))
