"""Terms: what substitution, negation and the rest do to meaning, checked in small finite structures."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from carnet_spec.language.terms import *
from tests.unit.spec.language.vocabulary import *

X, Y, PRIMED = Var("x", THING), Var("y", THING), Var("x'", THING)


@given(formulas, replacements, structures, meanings)
def test_substitution_means_evaluation_with_the_new_values(
    formula: Term, values: Mapping[Var, Term], structure: Structure, numbers: Mapping[Var, int]
) -> None:
    meaning = concrete(numbers, structure)
    changed = {var: str(value(term, structure, meaning)) for var, term in values.items()}
    expected = value(formula, structure, {**meaning, **changed})
    assert value(substitute(formula, values), structure, meaning) == expected


@given(formulas, replacements)
def test_substitution_removes_what_it_replaces(formula: Term, values: Mapping[Var, Term]) -> None:
    left = free_variables(formula) - set(values)
    brought = [free_variables(term) for var, term in values.items() if var in free_variables(formula)]
    assert free_variables(substitute(formula, values)) == left.union(*brought)


CAPTURES: dict[str, tuple[Term, Term]] = {
    "a value that is bound": (Forall((X,), Apply(LIKES, (X, Y))), Forall((PRIMED,), Apply(LIKES, (PRIMED, X)))),
    "a new name that is free inside": (
        Exists((X,), And((Apply(LIKES, (X, PRIMED)), Apply(LIKES, (X, Y))))),
        Exists(
            (Var("x''", THING),), And((Apply(LIKES, (Var("x''", THING), PRIMED)), Apply(LIKES, (Var("x''", THING), X))))
        ),
    ),
    "a new name that is bound beside": (
        Forall((X, PRIMED), And((Apply(LIKES, (X, PRIMED)), Equal(Y, Y)))),
        Forall((Var("x''", THING), PRIMED), And((Apply(LIKES, (Var("x''", THING), PRIMED)), Equal(X, X)))),
    ),
    "a bound variable of the same name": (Forall((Y,), Equal(Y, Y)), Forall((Y,), Equal(Y, Y))),
}


@pytest.mark.parametrize("row", CAPTURES)
def test_replacing_y_by_x_captures_nothing(row: str) -> None:
    before, after = CAPTURES[row]
    assert substitute(before, {Y: X}) == after


@given(formulas)
def test_replacing_nothing_changes_nothing(formula: Term) -> None:
    assert substitute(formula, {}) is formula
    assert rebuild(formula, lambda term: term) == formula


@given(formulas, structures, meanings)
def test_negation_and_joins_mean_what_they_say(formula: Term, structure: Structure, numbers: Mapping[Var, int]) -> None:
    meaning = concrete(numbers, structure)
    truth = value(formula, structure, meaning)
    assert value(negation(formula), structure, meaning) is not truth
    for joined, single in ((conjunction, And), (disjunction, Or)):
        parts = (formula, TRUE, And((formula, negation(formula))), FALSE, Or((formula,)))
        for kept in (parts, parts[:1], parts[:3], parts[2:], ()):
            assert value(joined(kept), structure, meaning) == value(single(kept), structure, meaning)


@given(st.lists(formulas, max_size=3).map(tuple))
def test_joins_are_flat(parts: tuple[Term, ...]) -> None:
    for joined, kind in ((conjunction, And), (disjunction, Or)):
        whole = joined((joined(parts), joined(parts)))
        if isinstance(whole, kind):
            assert len(whole.parts) > 1
            assert not [part for part in whole.parts if isinstance(part, Truth)]


@given(formulas)
def test_what_a_term_mentions_is_in_its_subterms(formula: Term) -> None:
    inside = list(subterms(formula))
    assert inside[0] is formula
    assert inside[1:] == [term for child in children(formula) for term in subterms(child)]
    assert symbols_of(formula) == {term.symbol for term in inside if isinstance(term, Apply)}
    assert free_variables(formula) <= {term for term in inside if isinstance(term, Var)}
    assert free_variables(Not(formula)) == free_variables(formula)
