"""What follows by itself: taken at once, until nothing is added, in whatever order the rules are written."""

import itertools
from dataclasses import replace
from typing import Any

import pytest

from carnet_check.semantics import Interpreter, State
from carnet_spec.language import Draft, Instance, Protocol, SpecificationError, Step, exists, forall, implies
from tests.unit.model_check.small import *

ELEMENTS = {"Party": ("p1", "p2", "p3"), "Key": ("k1",)}


def _judge(protocol: Protocol, **fields: Any) -> Interpreter:
    return Interpreter(protocol, Instance(ELEMENTS, **fields))


def see(step: Step, a: Party) -> None:
    step.insert(seen(a))


def learn(step: Step, a: Party) -> None:
    step.given("seen", seen(a))
    step.insert(known(a))


def share(step: Step, a: Party, b: Party) -> None:
    step.given("told", known(a) & before(a, b))
    step.insert(known(b))


LINE = frozenset({("p1", "p2"), ("p2", "p3")})


@pytest.mark.parametrize("order", list(itertools.permutations(("learn", "share", "finish"))), ids="-".join)
def test_all_deductions_are_taken_right_after_a_step_in_whatever_order(order: tuple[str, ...]) -> None:
    def finish(step: Step) -> None:
        step.given("all know", forall(known, Party))
        step.insert(third)

    protocol = reordered(drafted(see, rules=(learn, share, finish)).protocol(), ("see", *order))
    judge = _judge(protocol, relations={"before": LINE})
    after = judge.step(judge.initial(), protocol.action("see"), {"a": "p1"})
    assert after.relations["known"] == {("p1",), ("p2",), ("p3",)}
    assert after.relations["third"] == {()}


def test_a_saturated_state_stays_as_it_is_and_deductions_cost_nothing() -> None:
    judge = _judge(drafted(see, rules=(learn, share)).protocol(), relations={"before": LINE})
    after = judge.step(judge.initial(), judge.protocol.action("see"), {"a": "p2"})
    assert after.relations["known"] == {("p2",), ("p3",)}
    assert judge.saturate(after) == after
    judge = _judge(drafted(see, rules=(learn,)).protocol(), budget=0)
    assert judge.step(judge.initial(), judge.protocol.action("see"), {"a": "p1"}).spent == 0


def test_firing_takes_a_step_or_deduction_alone_and_what_is_left_is_deduced_again() -> None:
    judge = _judge(drafted(see, rules=(learn,)).protocol())
    after = judge.fire(judge.initial(), judge.protocol.action("see"), {"a": "p2"})
    assert after.relations["known"] == frozenset()
    assert judge.fire(after, judge.protocol.action("learn"), {"a": "p2"}).relations["known"] == {("p2",)}

    def forget(step: Step) -> None:
        step.remove(known(step.each(Party)))

    judge = _judge(drafted(see, forget, rules=(learn,)).protocol())
    state = judge.step(judge.initial(), judge.protocol.action("see"), {"a": "p2"})
    assert judge.fire(state, judge.protocol.action("forget"), {}).relations["known"] == frozenset()
    assert judge.step(state, judge.protocol.action("forget"), {}).relations["known"] == {("p2",)}


def test_saturation_asks_premises_and_touches_no_state() -> None:
    judge = _judge(drafted(see, rules=(learn,)).protocol())
    learning = judge.protocol.action("learn")
    assert not judge.premises_hold(learning, judge.initial())
    full = judge.step(judge.initial(), judge.protocol.action("see"), {"a": "p3"})
    assert judge.saturate(full) == full
    assert judge.premises_hold(learning, full)
    judge = _judge(drafted(see, rules=(learn,)).protocol())
    state = judge.fire(judge.initial(), judge.protocol.action("see"), {"a": "p1"})
    copy = State(state.relations, state.functions, state.spent)
    assert judge.saturate(state) != state
    assert state == copy


def denies(step: Step, a: Party) -> None:
    step.given("not known", ~known(a))
    step.insert(seen(a))


def denies_by_implication(step: Step, a: Party) -> None:
    step.given("unless known", implies(known(a), corrupt(a)))
    step.insert(seen(a))


def denies_for_all(step: Step, a: Party) -> None:
    step.given("nobody", ~exists(known, Party))
    step.insert(seen(a))


def denies_in_condition(step: Step, a: Party) -> None:
    step.insert(seen(a), when=~known(a))


@pytest.mark.parametrize("rule", [denies, denies_by_implication, denies_for_all, denies_in_condition])
def test_a_deduction_that_denies_what_deductions_insert_is_refused(rule: Any) -> None:
    with pytest.raises(SpecificationError, match=f"rule {rule.__name__} depends on the absence of known"):
        _judge(drafted(rules=(learn, rule)).protocol())


def test_a_deduction_may_deny_what_only_steps_change() -> None:
    def while_open(step: Step, a: Party) -> None:
        step.given("open", seen(a) & ~first & (phase == Phase.EARLY))
        step.insert(known(a))

    def shut(step: Step) -> None:
        step.insert(first)

    judge = _judge(drafted(see, shut, rules=(while_open,)).protocol())
    closed = judge.step(judge.initial(), judge.protocol.action("shut"), {})
    assert judge.step(closed, judge.protocol.action("see"), {"a": "p1"}).relations["known"] == frozenset()
    assert judge.step(judge.initial(), judge.protocol.action("see"), {"a": "p1"}).relations["known"] == {("p1",)}


def test_a_double_denial_is_none() -> None:
    def if_not_unknown(step: Step, a: Party) -> None:
        step.given("known", ~forall(lambda b: ~(known(b) & ahead(b, a)), Party))
        step.insert(seen(a))

    _judge(drafted(rules=(learn, if_not_unknown)).protocol())


def _as_rule(draft: Draft, **changes: Any) -> Protocol:
    """Return a protocol whose one action is called a deduction by hand, which a draft would not write."""
    protocol = draft.protocol()
    (action,) = protocol.actions
    return replace(protocol, actions=(replace(action, deduction=True, **changes),))


def lose(step: Step) -> None:
    step.remove(second)


def move(step: Step) -> None:
    step.set(phase, Phase.LATE)


def draw(step: Step, a: Key) -> None:
    step.fresh(a)


@pytest.mark.parametrize(
    ("body", "changes", "message"),
    [
        (lose, {}, "rule lose does more than insert"),
        (move, {}, "rule move does more than insert"),
        (draw, {}, "rule draw depends on the absence of used_key"),
        (draw, {"updates": ()}, "rule draw draws a fresh value: make it an action"),
        (see, {"cost": 1}, "rule see costs a move of the adversary, but a deduction is free"),
    ],
)
def test_a_deduction_that_does_what_only_steps_do_is_refused(body: Any, changes: dict[str, Any], message: str) -> None:
    with pytest.raises(SpecificationError, match=message):
        _judge(_as_rule(drafted(body), **changes))
