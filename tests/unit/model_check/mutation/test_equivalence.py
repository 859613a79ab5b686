"""Equivalence: a change that takes the same steps is proved to, and no other change is."""

from __future__ import annotations

import pytest

from carnet_check.engines.interface import ProvesSteps
from carnet_check.engines.registry import able
from carnet_check.mutation.equivalence import Difference, StepEquivalence, step_equivalence
from carnet_check.mutation.operators import without_parts
from carnet_check.obligations.reading import language_of
from carnet_spec.language import (
    Draft,
    Formula,
    Individual,
    Kind,
    Protocol,
    Role,
    Step,
    implies,
    member,
    relation,
    variable,
)


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


def test_a_guard_that_an_invariant_implies_changes_nothing() -> None:
    same = compared("use", "guard:known")
    assert same.proved
    assert {"guard:seen", "inv:seen-known"} <= set(same.core)


def test_without_the_invariant_it_is_a_change() -> None:
    same = compared("use", "guard:known", lemma=False)
    assert not same.proved
    assert same.differs == (Difference.MORE,)


def test_an_update_that_writes_what_is_there_changes_nothing() -> None:
    assert compared("use", "update:again").proved


def test_a_step_that_changes_nothing_counts_as_none() -> None:
    """A light that is red already stays red."""
    assert compared("stop", "guard:green").proved


def test_a_parameter_that_is_only_told_may_be_any() -> None:
    """No update reads ``y``, so the step is the same whatever it is called with."""
    assert compared("use", "guard:named").proved


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
    assert not same.proved
    assert same.differs == (how,)


def test_less_often_is_told_as_well() -> None:
    whole = protocol()
    action = whole.action("use")
    looser = without_parts(action, ("guard:seen",))
    same = step_equivalence(able(ProvesSteps).step_proofs(whole, None), language_of(whole), looser, action)
    assert same.differs == (Difference.LESS,)
