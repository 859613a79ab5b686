"""The compiled explorer takes the steps that the interpreter takes: protocols that each need one thing of it."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from carnet_check.engines.explicit import explore
from carnet_spec.language import Draft, Instance, Protocol, Step, true
from tests.fixtures import toy
from tests.unit.model_check.small import Key, Party, drafted, first, known, paired, second, seen


def draw_two(step: Step, one: Key, other: Key) -> None:
    step.fresh(one)
    step.fresh(other)
    step.insert(paired(one, other))


def see(step: Step, a: Party) -> None:
    step.insert(seen(a))


def lose(step: Step, a: Party) -> None:
    step.remove(seen(a))


def forget(step: Step, a: Party) -> None:
    step.remove(known(a))


def clear(step: Step) -> None:
    step.require("set", first)
    step.remove(first)


def learn(step: Step, a: Party) -> None:
    step.given("seen", seen(a))
    step.insert(known(a))


def learn_when_clear(step: Step, a: Party) -> None:
    step.given("clear", seen(a) & ~first)
    step.insert(known(a))


def tell(step: Step, a: Party, b: Party) -> None:
    step.given("told", known(a) & second)
    step.insert(known(b))


def mark(step: Step) -> None:
    step.insert(second)


def _set_at_first() -> Draft:
    draft = drafted(see, clear, rules=(learn_when_clear,))
    draft.initially(first, true)
    return draft


SMALL: dict[str, Callable[[], Draft]] = {
    "two values are drawn at once": lambda: drafted(draw_two),
    "what is deduced is taken away": lambda: drafted(see, forget, rules=(learn,)),
    "why it was deduced is taken away": lambda: drafted(see, lose, rules=(learn,)),
    "what a deduction waits to be over is over": _set_at_first,
    "one deduction leads to another": lambda: drafted(see, mark, forget, rules=(tell, learn)),
}


def _agree(protocol: Protocol, instance: Instance) -> None:
    """Every number is the same, without reductions."""
    compiled = explore(protocol, instance, invariants=(), reduction=False)
    plain = explore(protocol, instance, invariants=(), engine="interpreter")
    assert compiled.states == plain.states > 1
    assert (compiled.transitions, compiled.depth, compiled.fired) == (plain.transitions, plain.depth, plain.fired)


@pytest.mark.parametrize("name", SMALL)
def test_both_take_the_same_steps(name: str) -> None:
    _agree(SMALL[name]().protocol(), Instance({"Party": ("p1", "p2"), "Key": ("k1", "k2", "k3")}))


@pytest.mark.parametrize("threat", ["none", "collusion"])
def test_both_take_the_same_steps_of_a_whole_protocol(threat: str) -> None:
    protocol = toy.FAMILY.protocol()
    _agree(protocol, toy.instance(protocol, threat, {"borrowers": 2}))
