"""Goals in parts: those of a conjunction, beneath quantifiers and premises, are easier to show than the whole."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from math import prod

from carnet_check.obligations import Obligation
from carnet_spec.language.terms import And, Forall, Implies, Not, Or, Term

MOST_CASES = 16
"""A premise with more cases than this stays whole."""


def parts(obligation: Obligation) -> tuple[Term, ...]:
    """Return the negated goal as several, all of which have to be refuted.

    Together they say what the goal says: a conclusion that is a conjunction is shown part by part, and a premise
    that is a disjunction case by case.
    """
    goal = obligation.goal.formula
    assert isinstance(goal, Not)
    return tuple(Not(part) for part in _split(goal.body))


def _split(goal: Term) -> Iterator[Term]:
    match goal:
        case And(conjuncts):
            for each in conjuncts:
                yield from _split(each)
        case Forall(bound, body):
            yield from (Forall(bound, part) for part in _split(body))
        case Implies(premise, conclusion):
            for part, each in product(_split(conclusion), _cases(premise)):
                yield Implies(each, part)
        case _:
            yield goal


def _cases(premise: Term) -> tuple[Term, ...]:
    match premise:
        case Or(disjuncts):
            return tuple(case for each in disjuncts for case in _cases(each))
        case And(conjuncts):
            ways = [_cases(each) for each in conjuncts]
            return tuple(map(And, product(*ways))) if prod(map(len, ways)) <= MOST_CASES else (premise,)
        case _:
            return (premise,)
