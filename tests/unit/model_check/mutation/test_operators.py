"""Mutants: which there are, and which are proved to take the same steps."""

from dataclasses import replace

import pytest

from carnet_check.engines.interface import ProvesSteps
from carnet_check.engines.registry import able
from carnet_check.loading.families import load
from carnet_check.mutation.equivalence import Difference, StepEquivalence, step_equivalence
from carnet_check.mutation.operators import (
    Operator,
    Replacements,
    canonical,
    mutants,
    rewritings,
    weakenings,
    without_parts,
)
from carnet_check.obligations.reading import language_of
from carnet_spec.language import *
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


def test_names_are_stable_and_swaps_only_where_order_matters() -> None:
    assert len(set(NAMES)) == len(NAMES)
    assert [mutant.name for mutant in mutants(door.draft().protocol())] == NAMES
    assert NAMES[:4] == [
        "write_down/guard invited/drop",
        "write_down/guard invited/negate",
        "write_down/update insert listed/drop",
        "show/guard invited/drop",
    ]
    assert NAMES[-1] == "axiom the host is invited/drop"
    assert [name for name in NAMES if "swap" in name] == ["greet/update forget the others/swap with insert greeted"]


def test_a_mutant_differs_in_its_part_alone_and_its_roles_stay() -> None:
    for mutant in mutants(DOOR):
        mutated = mutant.of(DOOR)
        changed = [action for action in mutated.actions if action not in DOOR.actions]
        assert changed == ([mutant.action] if mutant.action else [])
        assert (mutated.axioms == DOOR.axioms) == (mutant.action is not None)
        assert mutated.digest != DOOR.digest
    assert {mutant.action.by for mutant in mutants(DOOR) if mutant.action} == {
        Role("porter"),
        Role("guest"),
        Role("intruder", honest=False),
    }


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


def test_no_two_mutants_mean_the_same_and_a_draw_is_only_dropped() -> None:
    symmetric = [mutant.action for mutant in mutants(load("gpu-travelling").protocol()) if mutant.action][:400]
    assert len(set(symmetric)) == len(symmetric)
    toy = load("tests/fixtures/toy.py").protocol()
    names = [mutant.name for mutant in mutants(toy)]
    assert [name for name in names if "fresh key" in name] == ["lend/guard fresh key/drop"]
    assert [name for name in names if "use key" in name] == ["lend/update use key/drop"]


def test_a_term_is_replaced_by_neighbours_and_what_the_action_speaks_of() -> None:
    replacements = Replacements(DOOR.actions[0], ())
    assert [new for _, new in replacements(HERE)] == [Member(PLACE, "AWAY"), Member(PLACE, "LOST")]
    action = replace(DOOR.actions[0], params=(X, Y))
    replacements = Replacements(action, ())
    formula = Not(Equal(X, Y))
    assert [new for _, new in rewritings(formula, replacements)] == [Not(Equal(Y, Y)), Not(Equal(X, X))]
    assert not list(replacements(Var("z", Sort("Other"))))


def test_weakening_takes_one_part_away_and_order_tells_nothing_apart() -> None:
    assert [new for _, new in weakenings(And((P, Q)))] == [Q, P]
    assert [new for _, new in weakenings(Or((P, Q, P)))] == [Or((Q, P)), Or((P, P)), Or((P, Q))]
    assert [new for _, new in weakenings(Implies(P, Q))] == [Q]
    assert [new for _, new in weakenings(Forall((X,), And((P, Q))))] == [Forall((X,), Q), Forall((X,), P)]
    assert not list(weakenings(P))
    assert canonical(And((P, Equal(X, Y)))) == canonical(And((Equal(Y, X), P)))
    assert canonical(Or((P, Q))) == canonical(Or((Q, P)))
    assert canonical(And((P, Q))) != canonical(Or((P, Q)))
    assert canonical(Implies(P, Q)) != canonical(Implies(Q, P))


class Thing(Individual):
    """Something."""


class Light(Individual):
    """A light."""

    RED = member()
    GREEN = member()


PARTY = Role("party")
light = variable("light", Light, of=PARTY, says="the light")
known = relation("known", Thing, kind=Kind.STATE, of=PARTY, says="is known")
seen = relation("seen", Thing, kind=Kind.STATE, of=PARTY, says="was seen")


def protocol(*, lemma: bool = True) -> Protocol:
    """Return a protocol whose actions have redundant parts."""
    draft = Draft("same", "The same")
    draft.initially(light, Light.RED)

    @draft.action(by=PARTY, says="{x} is seen", source="test")
    def see(step: Step, x: Thing) -> None:
        step.insert(known(x))
        step.insert(seen(x))

    @draft.action(by=PARTY, says="{x} is used", source="test")
    def use(step: Step, x: Thing, y: Thing) -> None:
        step.require("seen", seen(x))
        step.require("known", known(x))
        step.require("named", y == x)
        step.require("red", light == Light.RED)
        step.insert(known(x), name="again")
        step.set(light, Light.GREEN)

    @draft.action(by=PARTY, says="the light turns red", source="test")
    def stop(step: Step) -> None:
        step.require("green", light == Light.GREEN)
        step.set(light, Light.RED)

    @draft.claim(name="seen-known", sentence="Seen is known.", requirement="R-1", source="test", under=())
    def _(x: Thing) -> Formula:
        return implies(seen(x), known(x)) if lemma else implies(seen(x), seen(x))

    return draft.protocol()


def compared(action: str, part: str, *, lemma: bool = True) -> StepEquivalence:
    whole = protocol(lemma=lemma)
    before = whole.action(action)
    proofs = able(ProvesSteps).step_proofs(whole, None)
    return step_equivalence(proofs, language_of(whole), before, without_parts(before, (part,)))


def test_what_an_invariant_implies_or_is_written_already_changes_nothing() -> None:
    """A light that is red already stays red."""
    same = compared("use", "guard:known")
    assert same.is_proved
    assert {"guard:seen", "inv:seen-known"} <= set(same.core)
    same = compared("use", "guard:known", lemma=False)
    assert not same.is_proved
    assert same.differs == (Difference.MORE,)
    assert compared("use", "update:again").is_proved
    assert compared("stop", "guard:green").is_proved
    assert compared("use", "guard:named").is_proved


@pytest.mark.parametrize(
    ("action", "part", "how"),
    [
        ("use", "guard:seen", Difference.MORE),
        ("see", "update:insert known", Difference.ELSEWHERE),
        ("use", "update:set light", Difference.ELSEWHERE),
        ("stop", "update:set light", Difference.ELSEWHERE),
    ],
)
def test_a_change_is_told(action: str, part: str, how: Difference) -> None:
    same = compared(action, part)
    assert not same.is_proved
    assert same.differs == (how,)


def test_less_often_is_told_as_well() -> None:
    whole = protocol()
    action = whole.action("use")
    looser = without_parts(action, ("guard:seen",))
    same = step_equivalence(able(ProvesSteps).step_proofs(whole, None), language_of(whole), looser, action)
    assert same.differs == (Difference.LESS,)
