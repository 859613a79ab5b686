"""Folding: an instance decides what never changes, and leaves everything else as it is."""

from __future__ import annotations

import pytest

from carnet_check.engines.explicit.layout import Folding, conditions_in
from carnet_spec.language import Formula, Instance, Step, exists, forall, implies
from carnet_spec.language.terms import FALSE, TRUE, Exists, Forall, IfThenElse, Member, Var, symbols_of
from tests.unit.model_check.small import (
    Party,
    Phase,
    alice,
    before,
    bob,
    corrupt,
    drafted,
    first,
    last,
    phase,
    second,
    seen,
)

INSTANCE = Instance(
    {"Party": ("p1", "p2")},
    {"corrupt": frozenset({("p2",)}), "before": frozenset({("p1", "p2")})},
    {"alice": {(): "p1"}, "bob": {(): "p2"}},
)
FOLDING = Folding(INSTANCE)
P = Party.sort
X = Party(Var("x", Party.sort))


DECIDED: dict[str, tuple[Formula, bool]] = {
    "a rigid fact": (corrupt(bob), True),
    "a rigid fact that does not hold": (before(bob, alice), False),
    "two constants": (alice == bob, False),
    "one thing and itself": (X == X, True),  # noqa: PLR0124 # that is the point
    "two members": (Phase.EARLY == Phase.LATE, False),
    "a premise that does not hold": (implies(corrupt(alice), first), True),
    "a conclusion that holds": (implies(first, corrupt(bob)), True),
    "one part of a disjunction": (first | corrupt(bob), True),
    "one part of a conjunction": (first & corrupt(alice), False),
}


@pytest.mark.parametrize("name", DECIDED)
def test_what_never_changes_is_decided(name: str) -> None:
    formula, value = DECIDED[name]
    assert FOLDING.term(formula.term) == (TRUE if value else FALSE)
    assert FOLDING.term((~formula).term) == (FALSE if value else TRUE)


def test_what_changes_is_left_with_its_arguments_folded() -> None:
    assert FOLDING.term(seen(alice).term) == seen(Party(Member(P, "p1"))).term
    assert FOLDING.term((phase == Phase.LATE).term) == (phase == Phase.LATE).term
    assert FOLDING.term((first & corrupt(bob)).term) == first.term
    assert FOLDING.term(corrupt(X).term) == corrupt(X).term, "a variable is not decided"


def test_a_quantifier_over_nothing_is_decided_by_its_kind() -> None:
    bound = (Var("x", P),)
    nobody, somebody = Folding(Instance({"Party": ()})), FOLDING
    for body in (TRUE, FALSE):
        assert nobody.term(Forall(bound, body)) == TRUE
        assert nobody.term(Exists(bound, body)) == FALSE
        assert somebody.term(Forall(bound, body)) == somebody.term(Exists(bound, body)) == body


def test_a_choice_that_is_decided_is_made() -> None:
    assert FOLDING.term(IfThenElse(corrupt(bob).term, alice.term, X.term)) == Member(P, "p1")
    assert FOLDING.term(IfThenElse(corrupt(alice).term, alice.term, X.term)) == X.term


def test_a_formula_is_split_into_parts_that_must_all_hold_or_must_not() -> None:
    wanted = conditions_in((seen(X) & ~first).term)
    assert [(test.term, test.wanted, test.needs) for test in wanted] == [
        (seen(X).term, True, {"x"}),
        (first.term, False, frozenset()),
    ]
    denied = conditions_in(implies(first, second | seen(X)).term, wanted=False)
    assert [(test.term, test.wanted) for test in denied] == [
        (first.term, True),
        (second.term, False),
        (seen(X).term, False),
    ]
    assert len(conditions_in((first | second).term)) == 1, "one of several is one condition"


def test_a_domain_leaves_out_what_rigid_conditions_rule_out_and_nothing_else() -> None:
    x = Var("x", P)
    assert FOLDING.domain(x, ("p1", "p2"), conditions_in((~corrupt(X)).term)) == ("p1",)
    assert FOLDING.domain(x, ("p1", "p2"), conditions_in((alice != X).term)) == ("p2",)
    assert FOLDING.domain(x, ("p1", "p2"), conditions_in(seen(X).term)) == ("p1", "p2")
    assert FOLDING.domain(x, ("p2",), conditions_in((corrupt(X) & seen(X)).term)) == ("p2",)
    other = Party(Var("y", P))
    assert FOLDING.domain(x, ("p1", "p2"), conditions_in(before(X, other).term)) == ("p1", "p2")


def test_a_domain_keeps_what_a_rigid_condition_leaves_open() -> None:
    before_somebody = conditions_in(exists(lambda b: before(X, b), Party).term)
    assert FOLDING.domain(Var("x", P), ("p1", "p2"), before_somebody) == ("p1", "p2")


def act(step: Step, a: Party) -> None:
    step.require("after alice", before(alice, a) | exists(lambda b: corrupt(b) & seen(b), Party))
    step.insert(seen(bob), when=corrupt(a) & forall(lambda b: ~corrupt(b) | ~corrupt(alice), Party))
    step.set(last, alice)


def test_guards_and_updates_of_an_action_are_folded() -> None:
    folded = FOLDING.action(drafted(act).protocol().action("act"))
    update, setting = folded.updates
    assert setting.value == Member(P, "p1")
    assert update.args == (Member(P, "p2"),)
    assert update.when == corrupt(Party(Var("a", P))).term
    (guard,) = folded.guards
    assert {symbol.name for symbol in symbols_of(guard.formula)} == {"before", "corrupt", "seen"}
