"""The parts of a goal say together what it says, whatever their shape."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import product
from types import SimpleNamespace
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from carnet_check.engines.solvers import eprover
from carnet_check.engines.solvers.eprover import MOST, parts
from carnet_check.loading.families import load
from carnet_check.obligations import Obligation, layers, obligations
from carnet_spec.language.terms import And, Forall, Implies, Not, Or, Term, Var

ATOMS = tuple(Var(name, cast("Any", None)) for name in "abcd")
TERMS: st.SearchStrategy[Term] = st.recursive(
    st.sampled_from(ATOMS),
    lambda term: st.one_of(
        st.builds(Not, term),
        st.builds(And, st.lists(term, max_size=3).map(tuple)),
        st.builds(Or, st.lists(term, max_size=3).map(tuple)),
        st.builds(Implies, term, term),
        st.builds(Forall, st.sampled_from([(each,) for each in ATOMS]), term),
    ),
    max_leaves=14,
)


def of(goal: Term) -> tuple[Term, ...]:
    """Return the parts of a goal that is to be shown."""
    return parts(cast("Obligation", SimpleNamespace(goal=SimpleNamespace(formula=Not(goal)))))


def holds(term: Term, world: Mapping[Term, bool]) -> bool:
    """Say what a term without elements comes to."""
    match term:
        case Not(body):
            return not holds(body, world)
        case And(terms):
            return all(holds(each, world) for each in terms)
        case Or(terms):
            return any(holds(each, world) for each in terms)
        case Implies(premise, conclusion):
            return holds(conclusion, world) or not holds(premise, world)
        case Forall((one,), body):
            return all(holds(body, {**world, one: value}) for value in (False, True))
        case _:
            return world[term]


@given(TERMS)
def test_the_parts_say_what_the_goal_says(goal: Term) -> None:
    for values in product((False, True), repeat=len(ATOMS)):
        world: dict[Term, bool] = dict(zip(ATOMS, values, strict=True))
        assert any(holds(each, world) for each in of(goal)) != holds(goal, world)


def test_nothing_is_proved_where_nothing_is_asked() -> None:
    with pytest.raises(AssertionError, match="nothing was asked"):
        next(eprover.answer(eprover.ProverInput("digest", (), 1, 1)))


def test_conclusions_and_cases_are_taken_apart_beneath_a_quantifier() -> None:
    a, b, c, d = ATOMS
    goal = Forall((a,), Implies(Or((a, b)), And((c, Implies(d, And((a, b)))))))
    assert len(of(goal)) == 6
    assert of(goal)[0] == Not(Forall((a,), Implies(a, c)))


def test_what_has_many_cases_stays_whole() -> None:
    a, b, *_ = ATOMS
    four = Or((a, b, a, b))
    assert len(of(Implies(And((four, four)), a))) == MOST
    for many in (And((four, four, Or((a, b)))), Or((four,) * 5), Or((And((four, four)),) * 2)):
        assert of(Implies(many, a)) == (Not(Implies(many, a)),)
    assert of(Implies(four, Implies(And((four, four)), a))) == (Not(Implies(four, Implies(And((four, four)), a))),)
    assert of(Implies(And((four, four)), And((a, b)))) == (
        Not(Implies(And((four, four)), a)),
        Not(Implies(And((four, four)), b)),
    )
    assert of(And((a,) * 17)) == (Not(And((a,) * 17)),)


@pytest.mark.parametrize(
    ("protocol", "id", "count"), [("teechain", "step/propose/past_the_bar", 6), ("gpu-travelling", "", 2)]
)
def test_goals_of_protocols_come_apart(protocol: str, id: str, count: int) -> None:
    source = load(protocol)
    built = source.protocol(source.family.main[0])
    listed = [each for layer in layers(built) for each in obligations(layer)]
    assert max(len(parts(each)) for each in listed) <= MOST
    assert max(len(parts(each)) for each in listed if id in each.id) >= count
