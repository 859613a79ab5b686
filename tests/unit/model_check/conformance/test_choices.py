"""Choices: every way to fill what is open comes once, and of elements that are alike only those that matter."""

from __future__ import annotations

import itertools
from collections.abc import Mapping

import pytest

from carnet_check.conformance.choices import Candidates, Choices, conjuncts
from carnet_spec.language import Formula, Sort, exists
from tests.unit.model_check.conformance.vocabulary import PARTIES, X, Y, compiler, frame, truth
from tests.unit.model_check.small import Party, ahead, first, known, last, second, seen

PX, PY = Party(X), Party(Y)


def _chosen(
    *conditions: Formula, alike: Mapping[Sort, Candidates] | None = None, given: Mapping[str, str] | None = None
) -> list[tuple[str, ...]]:
    given = given or {}
    made = compiler()
    scope = made.scope((X, Y))
    choices = Choices(made, (X, Y), [each.term for each in conditions], scope, alike or {})
    known_ones = choices.known(var for var in (X, Y) if var.name in given)
    return list(choices.each(frame(made, given.get("x", ""), given.get("y", "")), known_ones))


CONDITIONS: dict[str, list[Formula]] = {
    "none": [],
    "one of each": [seen(PX), ~seen(PY)],
    "both together": [ahead(PX, PY)],
    "an equality": [PX == PY, seen(PX)],
    "a conjunction": [seen(PX) & ahead(PX, PY) & first],
    "a disjunction": [seen(PX) | (last == PY)],
    "a quantifier": [exists(lambda a: ahead(PX, a) & ahead(a, PY), Party)],
    "what never holds": [known(PX)],
    "what needs no variable": [second],
}


@pytest.mark.parametrize("name", CONDITIONS)
def test_every_choice_for_which_all_conditions_hold_comes_once(name: str) -> None:
    conditions = CONDITIONS[name]
    every = list(itertools.product(PARTIES, repeat=2))
    wanted = [(x, y) for x, y in every if all(truth(each, x=x, y=y) for each in conditions)]
    assert sorted(_chosen(*conditions)) == wanted


@pytest.mark.parametrize("name", CONDITIONS)
@pytest.mark.parametrize("given", [{"x": "p1"}, {"y": "p3"}, {"x": "p3", "y": "p3"}], ids=str)
def test_choices_agree_with_what_is_given(name: str, given: dict[str, str]) -> None:
    wanted = [(x, y) for x, y in _chosen(*CONDITIONS[name]) if x == given.get("x", x) and y == given.get("y", y)]
    assert sorted(_chosen(*CONDITIONS[name], given=given)) == sorted(wanted)


def test_of_elements_that_are_alike_as_many_are_tried_as_are_chosen() -> None:
    alike = {Party.sort: Candidates(["p3"], PARTIES)}
    assert sorted(_chosen(alike=alike, given={"x": "p3"})) == [("p3", "p1"), ("p3", "p2"), ("p3", "p3")]
    alone = {Party.sort: Candidates([], ("p1", "p2", "p3"))}
    assert sorted({x for x, _ in _chosen(alike=alone)}) == ["p1", "p2"], "two arguments, so two of three"


def test_a_conjunction_is_taken_apart_however_it_is_nested() -> None:
    nested = (first & (second & seen(PX))) & known(PX)
    assert list(conjuncts(nested.term)) == [each.term for each in (first, second, seen(PX), known(PX))]
    assert list(conjuncts((first | second).term)) == [(first | second).term]
