"""Folded formulas mean what they meant: each constructor is asked in every structure of two flags and two elements."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import pytest

from carnet_check.engines.induction.obligations import both, choose, either, equal, implication, simplified
from carnet_check.semantics import Interpreter, State
from carnet_spec.language import Formula, Instance, Step, Term, exists, false, forall, implies, true
from carnet_spec.language.terms import FALSE, TRUE, Equal, Exists, Forall, IfThenElse, Implies, Member, Var
from tests.unit.model_check.small import Party, Phase, drafted, first, last, phase, second, seen

A, B = first.term, second.term
X = Var("x", Party.sort)


def touch(step: Step, a: Party) -> None:
    step.require("mentioned", first | second | (last == a) | (phase == Phase.LATE))
    step.insert(seen(a))


JUDGE = Interpreter(drafted(touch).protocol(), Instance({"Party": ("p1", "p2")}))


def _states() -> Iterator[State]:
    rows = [frozenset[tuple[str, ...]](), frozenset({()})]
    for one, other, at, some in itertools.product(rows, rows, ("p1", "p2"), (set(), {("p1",)}, {("p1",), ("p2",)})):
        relations = {"first": one, "second": other, "seen": frozenset(some)}
        yield JUDGE.start().changed(relations, {"last": {(): at}, "phase": {(): "LATE"}})


def _mean_the_same(one: Term, other: Term) -> bool:
    envs = [{"x": party} for party in ("p1", "p2")]
    return all(JUDGE.holds(one, s, env) is JUDGE.holds(other, s, env) for s in _states() for env in envs)


LATE, EARLY, HERE = (phase == Phase.LATE).term, Member(Phase.sort, "EARLY"), last.term
PARTS: list[Term] = [TRUE, FALSE, A, B, (~first).term, LATE]


def test_connectives_fold_and_mean_what_they_are_called() -> None:
    for one, other in itertools.product(PARTS, repeat=2):
        assert _mean_the_same(both(one, other), (Formula(one) & Formula(other)).term)
        assert _mean_the_same(either(one, other), (Formula(one) | Formula(other)).term)
        assert _mean_the_same(implication(one, other), Implies(one, other))
        for test in PARTS:
            assert _mean_the_same(choose(test, one, other), IfThenElse(test, one, other))


def test_equality_of_a_choice_is_a_choice_of_equalities() -> None:
    chosen = IfThenElse(A, HERE, X)
    for one, other in ((chosen, X), (X, chosen), (chosen, chosen)):
        assert _mean_the_same(equal(one, other), Equal(one, other))


@pytest.mark.parametrize(
    ("term", "folded"),
    [
        (equal(HERE, HERE), TRUE),
        (equal(EARLY, Member(Phase.sort, "LATE")), FALSE),
        (both(A, A), A),
        (both(A, FALSE), FALSE),
        (either(A, TRUE, B), TRUE),
        (implication(FALSE, A), TRUE),
        (implication(A, A), TRUE),
        (choose(A, B, B), B),
        (choose(A, TRUE, FALSE), A),
    ],
    ids=str,
)
def test_what_is_decided_on_sight_is_folded(term: Term, folded: Term) -> None:
    assert term == folded


SPOKEN: list[Formula] = [
    (first & true) | false,
    implies(first | ~first, second),
    ~(~first & true),
    forall(lambda a: seen(a) & true, Party),
    exists(lambda a: (a == a) & seen(a), Party),  # noqa: PLR0124 # that is the point
    forall(lambda a: implies(false, seen(a)), Party),
    exists(lambda a: seen(a) & false, Party),
]


@pytest.mark.parametrize("formula", SPOKEN, ids=range(len(SPOKEN)))
def test_simplifying_keeps_the_meaning(formula: Formula) -> None:
    assert _mean_the_same(simplified(formula.term), formula.term)


def test_constants_are_folded_at_every_depth() -> None:
    assert simplified(forall(lambda a: implies(false, seen(a)), Party).term) == TRUE
    assert simplified(exists(lambda a: seen(a) & false, Party).term) == FALSE
    assert simplified((~(~first & true)).term) == A


def test_a_quantifier_is_dropped_only_where_an_empty_sort_agrees() -> None:
    """For all of nothing is true and for some of nothing is false, so the other two stay."""
    assert simplified(Forall((X,), FALSE)) == Forall((X,), FALSE)
    assert simplified(Exists((X,), TRUE)) == Exists((X,), TRUE)
