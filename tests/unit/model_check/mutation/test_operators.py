"""Mutants: which there are, in which order, under which names, and which are none."""

from __future__ import annotations

from dataclasses import replace

from carnet_check.loading.families import load
from carnet_check.mutation.operators import Operator, Replacements, canonical, mutants, rewritten, weakened
from carnet_spec.language import Kind, Role, Sort, Symbol
from carnet_spec.language.terms import BOOL, And, Apply, Equal, Forall, Implies, Member, Not, Or, Var
from tests.fixtures import door
from tests.fixtures.travelling import SOURCE

DOOR = door.FAMILY.protocol()
NAMES = [mutant.name for mutant in mutants(DOOR)]
PLACE = Sort("Place", ("HOME", "AWAY", "LOST"))
HERE = Member(PLACE, "HOME")
X, Y = Var("x", Sort("Thing")), Var("y", Sort("Thing"))
P, Q = (Apply(Symbol(name, (), BOOL, Kind.PUBLIC, mutable=False), ()) for name in "pq")


def test_every_guard_update_and_axiom_is_dropped() -> None:
    dropped = {
        (part, mutant.action.name if mutant.action else "")
        for mutant in mutants(DOOR)
        if mutant.operator is Operator.DROP
        for part in mutant.parts
    }
    wanted = {(f"guard:{g.name}", a.name) for a in DOOR.actions for g in a.guards}
    wanted |= {(f"update:{u.name}", a.name) for a in DOOR.actions for u in a.updates}
    assert dropped == wanted | {("axiom:the host is invited", "")}


def test_names_are_stable_unique_and_in_the_order_of_the_specification() -> None:
    assert len(set(NAMES)) == len(NAMES)
    assert [mutant.name for mutant in mutants(door.draft().protocol())] == NAMES
    assert NAMES[:4] == [
        "write_down/guard invited/drop",
        "write_down/guard invited/negate",
        "write_down/update insert listed/drop",
        "show/guard invited/drop",
    ]
    assert NAMES[-1] == "axiom the host is invited/drop"


def test_a_mutant_differs_from_the_original_in_its_part_alone() -> None:
    for mutant in mutants(DOOR):
        mutated = mutant.of(DOOR)
        changed = [action for action in mutated.actions if action not in DOOR.actions]
        assert changed == ([mutant.action] if mutant.action else [])
        assert (mutated.axioms == DOOR.axioms) == (mutant.action is not None)
        assert mutated.digest != DOOR.digest


def test_updates_are_swapped_only_where_their_order_can_matter() -> None:
    assert [name for name in NAMES if "swap" in name] == ["greet/update forget the others/swap with insert greeted"]


def test_what_another_variant_has_too_is_mutated_once() -> None:
    first, layer = SOURCE.family.with_layers(SOURCE.family.main)[:2]
    below, above = SOURCE.protocol(first), SOURCE.protocol(layer)
    own = mutants(above, below.actions, [axiom.name for axiom in below.axioms])
    assert 0 < len(own) < len(mutants(above)) / 4
    guards = {guard for action in below.actions for guard in action.guards}
    for mutant in own:
        if mutant.action and mutant.parts[0].startswith("guard:"):
            whole = above.action(mutant.action.name)
            (guard,) = (each for each in whole.guards if f"guard:{each.name}" == mutant.parts[0])
            assert guard not in guards or guard not in below.action(whole.name).guards


def test_no_two_mutants_of_an_action_mean_the_same() -> None:
    symmetric = [mutant.action for mutant in mutants(load("gpu-travelling").protocol()) if mutant.action][:400]
    assert len(set(symmetric)) == len(symmetric)


def test_a_draw_is_dropped_and_nothing_else_is_done_to_it() -> None:
    toy = load("tests/fixtures/toy.py").protocol()
    names = [mutant.name for mutant in mutants(toy)]
    assert [name for name in names if "fresh key" in name] == ["lend/guard fresh key/drop"]
    assert [name for name in names if "use key" in name] == ["lend/update use key/drop"]


# -- formulas -------------------------------------------------------------------------------------


def test_a_member_is_replaced_by_its_neighbours() -> None:
    replacements = Replacements(DOOR.actions[0], ())
    assert [new for _, new in replacements(HERE)] == [Member(PLACE, "AWAY"), Member(PLACE, "LOST")]


def test_a_term_is_replaced_by_what_the_action_speaks_of_too() -> None:
    action = replace(DOOR.actions[0], params=(X, Y))
    replacements = Replacements(action, ())
    formula = Not(Equal(X, Y))
    assert [new for _, new in rewritten(formula, replacements)] == [Not(Equal(Y, Y)), Not(Equal(X, X))]
    assert not list(replacements(Var("z", Sort("Other"))))


def test_weakening_takes_one_part_away() -> None:
    assert [new for _, new in weakened(And((P, Q)))] == [Q, P]
    assert [new for _, new in weakened(Or((P, Q, P)))] == [Or((Q, P)), Or((P, P)), Or((P, Q))]
    assert [new for _, new in weakened(Implies(P, Q))] == [Q]
    assert [new for _, new in weakened(Forall((X,), And((P, Q))))] == [Forall((X,), Q), Forall((X,), P)]
    assert not list(weakened(P))


def test_order_does_not_tell_formulas_apart() -> None:
    assert canonical(And((P, Equal(X, Y)))) == canonical(And((Equal(Y, X), P)))
    assert canonical(Or((P, Q))) == canonical(Or((Q, P)))
    assert canonical(And((P, Q))) != canonical(Or((P, Q)))
    assert canonical(Implies(P, Q)) != canonical(Implies(Q, P))


def test_the_roles_of_a_mutant_stay() -> None:
    assert {mutant.action.by for mutant in mutants(DOOR) if mutant.action} == {
        Role("porter"),
        Role("guest"),
        Role("intruder", honest=False),
    }
