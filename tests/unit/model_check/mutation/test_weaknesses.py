"""Attacks on weakened designs: every claim, each threat model, and what a mutant loses of them."""

from __future__ import annotations

import functools
from collections.abc import Collection

import pytest

from carnet_check.loading.families import Source
from carnet_check.mutation.campaign import weaknesses_as_json, weaknesses_from_json
from carnet_check.mutation.judging import Judge, Judgement, KilledBy, MutantStatus, OriginalFacts
from carnet_check.mutation.operators import Mutant, mutants, refusal
from carnet_check.mutation.scenarios import lost_scenarios, places, scenario
from carnet_check.mutation.weaknesses import Designs, Weakness, defeated_attacks, weakened_designs, weaknesses
from carnet_check.semantics import Interpreter
from tests.fixtures import cellar, hall, house

SOURCE = Source("tests/fixtures/hall.py", hall.FAMILY, "hall")
HOUSE = Source("tests/fixtures/house.py", house.FAMILY, "house")
CELLAR = Source("tests/fixtures/cellar.py", cellar.FAMILY, "cellar")
HALL = hall.FAMILY.protocol()
MUTANTS = {mutant.name: mutant for mutant in mutants(HALL)}
LOOK, FIND = "look/update insert seen/drop", "find/update insert found/drop"


@functools.cache
def attacks() -> tuple[Weakness, ...]:
    return tuple(found for where in weakened_designs(SOURCE, "main") for found in weaknesses(SOURCE, where))


def judged(name: str, known: Collection[Weakness]) -> Judgement:
    """Return what becomes of a mutant of the hall, which neither proofs nor scenarios notice."""
    judge = Judge(SOURCE, "main")
    found = judge.judged(MUTANTS[name])
    assert found.fate is MutantStatus.SURVIVED
    scenarios = tuple(each for place in places(SOURCE, "main") if (each := scenario(SOURCE, place)))
    found = judge.judged_further(MUTANTS[name], found, OriginalFacts(scenarios=scenarios))
    assert found.fate is MutantStatus.SURVIVED
    return judge.judged_further(MUTANTS[name], found, OriginalFacts(weaknesses=tuple(known)))


def test_every_claim_is_attacked_under_each_threat_model() -> None:
    """What falls in every design is attacked where nothing is removed."""
    assert [(each.weakened.without, *each.tells, each.place.profile.budget) for each in attacks()] == [
        ((), "guests-show", "insiders", 1),
        ((), "guests-show", "outsiders", 2),
        (("guest-list",), "guests-only", "insiders", 1),
        (("guest-list",), "guests-see", "insiders", 2),
        (("guest-list",), "guests-only", "outsiders", 2),
        (("guest-list",), "guests-see", "outsiders", 3),
    ]


def test_every_attack_can_be_taken_with_the_moves_that_it_takes() -> None:
    for each in attacks():
        design = SOURCE.protocol(each.weakened.variant, each.weakened.without)
        judge = Interpreter(design, each.place.instance(SOURCE, design))
        last = judge.replay(each.trace)[-1]
        assert not judge.holds(design.claim(each.claim).checked.formula, last)


@pytest.mark.parametrize(
    ("name", "told"),
    [
        (LOOK, "the attack on guests-see of main without guest-list in small under insiders, 3 steps, 2 active"),
        (FIND, "the attack on guests-show of main in small under outsiders, 2 steps, 2 active"),
    ],
)
def test_a_move_that_one_claim_or_one_threat_model_needs_is_noticed(name: str, told: str) -> None:
    found = judged(name, attacks())
    assert (found.fate, found.by) == (MutantStatus.KILLED, KilledBy.LOST_ATTACK)
    assert told in found.evidence


@pytest.mark.parametrize(("name", "lacks"), [(LOOK, ("claim", "guests-only")), (FIND, ("threat", "insiders"))])
def test_it_is_not_noticed_by_the_attacks_on_another(name: str, lacks: tuple[str, str]) -> None:
    what, kept = lacks
    known = [each for each in attacks() if kept == (each.claim if what == "claim" else each.place.threat)]
    assert known
    assert judged(name, known).fate is MutantStatus.SURVIVED


def test_the_original_defeats_no_attack() -> None:
    for action in HALL.actions:
        same = Mutant("main", "nothing", MUTANTS[LOOK].operator, (), action)
        assert list(defeated_attacks(Designs(SOURCE), same, HALL, attacks())) == []


def test_no_attack_is_lost_while_there_is_another() -> None:
    """Where the guard is bribed, a badge is shown or copied."""
    known = [each for each in attacks() if each.place.threat == "insiders"]
    (taken,) = {"show", "copy"} & frozenset[str]().union(*(each.actions for each in known))
    mutant = MUTANTS[f"{taken}/update insert badge/drop"]
    assert all(taken in each.actions for each in known)
    assert len(known) == 3
    assert list(defeated_attacks(Designs(SOURCE), mutant, HALL, known)) == []


def test_each_claim_is_attacked_in_the_smallest_size_in_which_it_falls() -> None:
    found = [each for where in weakened_designs(HOUSE, "main") for each in weaknesses(HOUSE, where)]
    assert [(each.claim, each.place.profile.name) for each in found] == [("private", "small"), ("one-left", "large")]


@pytest.mark.parametrize(
    ("name", "steps"), [("ask/update insert asked/drop", 2), ("whisper/update insert asked/drop", 0)]
)
def test_an_attack_is_lost_if_what_is_left_takes_more_steps(name: str, steps: int) -> None:
    known = [
        each
        for where in weakened_designs(HOUSE, "main")
        for each in weaknesses(HOUSE, where)
        if each.claim == "private"
    ]
    protocol = HOUSE.protocol("main")
    (mutant,) = (each for each in mutants(protocol) if each.name == name)
    found = list(defeated_attacks(Designs(HOUSE), mutant, protocol, known))
    where = f"main without locks in small under anybody, {steps} steps, 1 active adversary move"
    assert [(what.partition(";")[0], established) for what, established in found] == (
        [(f"the attack on private of {where}", True)] if steps else []
    )
    assert all("; it takes 3 steps now, " in what for what, _ in found)


def lost_in_the_cellar(name: str, variant: str) -> list[tuple[str, bool]]:
    """Return what a mutant loses of the attacks on one variant of the cellar."""
    known = [each for where in weakened_designs(CELLAR, "main") for each in weaknesses(CELLAR, where)]
    there = [each for each in known if each.weakened.variant == variant]
    return list(defeated_attacks(Designs(CELLAR), mutant_of_cellar(name), CELLAR.protocol("main"), there))


def test_nothing_is_lost_in_a_design_in_which_nobody_may_judge_the_mutant() -> None:
    """Where the thief deduces whom it knows, a step may not depend on what it does not know."""
    name = "choose/guard known/negate"
    assert "monotone" in refusal(mutant_of_cellar(name).of(CELLAR.protocol("open-book")))
    assert lost_in_the_cellar(name, "open-book") == []
    assert lost_in_the_cellar("choose/update insert chosen/drop", "open-book")


def test_an_attack_that_another_first_value_allows_is_not_lost() -> None:
    """Whom the thief names without a choice is a guest or a stranger, and with a stranger it succeeds sooner."""
    assert lost_in_the_cellar("name_one/guard chosen/negate", "main") == []


def lost_of_the_cellar() -> list[tuple[str, bool]]:
    """Return what is lost of the cellar's steps if the thief names whom it likes, and never learns of anybody."""
    mutated = mutant_of_cellar("learn/update insert known/drop").of(CELLAR.protocol("main"))
    mutated = mutant_of_cellar("name_one/guard chosen/drop").of(mutated)
    known = [found for place in places(CELLAR, "main") if (found := scenario(CELLAR, place))]
    return list(lost_scenarios(CELLAR, mutated, known, "learn"))


def test_what_is_lost_from_every_first_value_is_lost() -> None:
    ((what, established),) = lost_of_the_cellar()
    assert what.startswith("step choose in tiny under anybody, ")
    assert established


def test_nothing_is_established_where_there_are_too_many_first_values(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("carnet_check.mutation.scenarios.MOST_FIRST_VALUES", 1)
    assert [established for _, established in lost_of_the_cellar()] == [False]
    attacks_lost = lost_in_the_cellar("name_one/guard chosen/negate", "main")
    assert [established for _, established in attacks_lost] == [False]


def mutant_of_cellar(name: str) -> Mutant:
    """Return a mutant by its name."""
    return next(each for each in mutants(CELLAR.protocol("main")) if each.name == name)


def test_a_search_that_was_cut_short_establishes_no_loss(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("carnet_check.mutation.weaknesses.ROOM", 0)
    known = attacks()
    found = list(defeated_attacks(Designs(SOURCE), MUTANTS[LOOK], HALL, known))
    assert found
    assert not any(established for _, established in found)


def test_attacks_can_be_written_down_and_read_back() -> None:
    assert weaknesses_from_json(weaknesses_as_json(attacks())) == attacks()
