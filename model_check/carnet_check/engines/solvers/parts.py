"""Goals in parts: those of a conjunction, beneath quantifiers and premises, are easier to show than the whole."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from math import prod

from carnet_check.obligations import Obligation
from carnet_spec.language.terms import And, Forall, Implies, Not, Or, Term

MOST = 16
"""A goal comes in no more parts than this; where it would, premises stay whole, and then the goal does."""


def parts(obligation: Obligation) -> tuple[Term, ...]:
    """Return the negated goal as several, all of which have to be refuted.

    Together they say what the goal says: a conclusion that is a conjunction is shown part by part, and a premise
    that is a disjunction case by case.
    """
    goal = obligation.goal.formula
    assert isinstance(goal, Not)
    for most_cases in (MOST, 1):
        found = tuple(_split(goal.body, most_cases))
        if len(found) <= MOST:
            return tuple(map(Not, found))
    return (goal,)


def _split(goal: Term, most_cases: int) -> Iterator[Term]:
    match goal:
        case And(conjuncts):
            for each in conjuncts:
                yield from _split(each, most_cases)
        case Forall(bound, body):
            yield from (Forall(bound, part) for part in _split(body, most_cases))
        case Implies(premise, conclusion):
            for part, case in product(_split(conclusion, most_cases), _cases(premise, most_cases)):
                yield Implies(case, part)
        case _:
            yield goal


def _cases(premise: Term, most: int) -> tuple[Term, ...]:
    """Return a premise as several, one of which holds if it does; as itself if there are more than ``most``."""
    match premise:
        case Or(disjuncts):
            found = tuple(case for each in disjuncts for case in _cases(each, most))
            return found if len(found) <= most else (premise,)
        case And(conjuncts):
            ways = [_cases(each, most) for each in conjuncts]
            return tuple(map(And, product(*ways))) if 1 < prod(map(len, ways)) <= most else (premise,)
        case _:
            return (premise,)
