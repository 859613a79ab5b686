"""Unused elements are alike as long as no step gives one back and no first value names one."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from carnet_spec.language import Draft, Instance, Step, used, variable
from carnet_spec.language.analysis.freshness import told_apart
from tests.unit.spec.language.vocabulary import PARTY, Agent, Key, drafted, own

INSTANCE = Instance({"Agent": ("a1", "a2"), "Key": ("k1", "k2")})
kept = variable("kept", Key, of=PARTY)


def draw(step: Step, a: Agent, k: Key) -> None:
    step.fresh(k)
    step.insert(own(a, k))


def keep(step: Step, k: Key) -> None:
    step.require("another", kept != k)
    step.set(kept, k)


def give_back(step: Step, k: Key) -> None:
    step.require("used", used(k))
    step.remove(used(k))


def burn(step: Step, k: Key) -> None:
    step.require("unused", ~used(k))
    step.insert(used(k))


BODIES: dict[str, tuple[tuple[Callable[..., None], ...], bool]] = {
    "only drawn": ((draw,), False),
    "drawn and kept": ((draw, keep), False),
    "given back": ((draw, give_back), True),
    "marked by hand": ((draw, burn), True),
}


def _draft(*bodies: Callable[..., None]) -> Draft:
    return drafted(*(lambda draft, body=body: draft.action(by=PARTY, says="x", source="y")(body) for body in bodies))


@pytest.mark.parametrize("row", BODIES)
def test_what_steps_do_may_tell_unused_elements_apart(row: str) -> None:
    bodies, apart = BODIES[row]
    found = told_apart(_draft(*bodies).protocol(), INSTANCE)
    assert found == (frozenset({Key.sort}) if apart else frozenset())


def test_a_first_value_tells_unused_elements_apart() -> None:
    protocol = _draft(draw, keep).protocol()
    named = Instance(INSTANCE.elements, first={"kept": {(): "k2"}})
    assert told_apart(protocol, named) == {Key.sort}
