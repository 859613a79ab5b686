"""The interpreter by hand: what a step means, what deductions add, and which steps of a trace are refused."""

import pytest

from carnet_check.semantics import Interpreter, NotEnabled, State
from carnet_spec import trace
from carnet_spec.language import Draft, Instance, Step, implies
from tests.unit.model_check.small import *

INSTANCE = Instance({"Party": ("p1", "p2", "p3"), "Key": ("k1", "k2")})


def _judge(draft: Draft, budget: int | None = None) -> Interpreter:
    return Interpreter(draft.protocol(), Instance(INSTANCE.elements, budget=budget))


def _after(judge: Interpreter, *steps: str, **env: str) -> State:
    state = judge.initial()
    for name in steps:
        state = judge.step(state, judge.protocol.action(name), env)
    return state


def test_updates_read_the_state_before_the_step_and_apply_in_their_order() -> None:
    def gather(step: Step, a: Party) -> None:
        step.remove(seen(step.each(Party)), name="sweep")
        step.insert(seen(a))

    def move(step: Step, a: Party) -> None:
        step.set(phase, Phase.LATE, when=phase == Phase.EARLY)
        step.set(last, a, when=phase == Phase.LATE)

    def swap(step: Step) -> None:
        step.insert(first, when=~second)
        step.insert(second, when=first)
        step.insert(third, when=second)

    judge = _judge(drafted(swap))
    assert {name for name, rows in _after(judge, "swap").relations.items() if rows} == {"first"}
    assert {name for name, rows in _after(judge, "swap", "swap").relations.items() if rows} == {"first", "second"}
    judge = _judge(drafted(move))
    assert _after(judge, "move", a="p2").functions["last"][()] == "p1"
    assert _after(judge, "move", "move", a="p2").functions["last"][()] == "p2"
    judge = _judge(drafted(gather))
    state = _after(judge, "gather", a="p1")
    assert judge.step(state, judge.protocol.action("gather"), {"a": "p2"}).relations["seen"] == {("p2",)}


def spread(step: Step) -> None:
    step.given("second", second)
    step.insert(third)


def follow(step: Step) -> None:
    step.given("first", first)
    step.insert(second)


def test_deductions_follow_from_deductions_whatever_their_order() -> None:
    """The rule that comes first in the text is the last that can be taken."""

    def begin(step: Step) -> None:
        step.insert(first)

    for rules in ((spread, follow), (follow, spread)):
        assert _after(_judge(drafted(begin, rules=rules)), "begin").relations["third"] == {()}


def test_one_step_draws_no_value_twice() -> None:
    def draw_two(step: Step, one: Key, other: Key) -> None:
        step.fresh(one)
        step.fresh(other)
        step.insert(paired(one, other))

    judge = _judge(drafted(draw_two))
    action = judge.protocol.action("draw_two")
    assert [env for _, env in judge.enabled_steps(judge.initial())] == [{"one": "k1", "other": "k2"}]
    with pytest.raises(NotEnabled, match="fresh values differ"):
        judge.fire(judge.initial(), action, {"one": "k1", "other": "k1"})


def push(step: Step) -> None:
    step.given("not yet", ~(first & second))
    step.insert(second, when=first)
    step.insert(first)


def test_a_trace_that_costs_more_than_the_budget_is_refused() -> None:
    step = trace.TraceStep("push", "spy", ())
    twice = trace.Trace("small", "main", (), "", (step, step))
    assert _judge(drafted(costly=(push,)), budget=2).replay(twice)[-1].spent == 2
    with pytest.raises(NotEnabled, match="adversary budget"):
        _judge(drafted(costly=(push,)), budget=1).replay(twice)


def test_a_counterexample_is_of_the_parameters_of_the_claim() -> None:
    def see(step: Step, a: Party) -> None:
        step.insert(seen(a))

    protocol = claimed(drafted(see), nobody=lambda: implies(seen(last), known(last)))
    judge = Interpreter(protocol, INSTANCE)
    state = judge.step(judge.initial(), protocol.action("see"), {"a": "p2"})
    assert judge.counterexample(protocol.claim("nobody").checked, state) is None
    state = judge.step(state, protocol.action("see"), {"a": "p1"})
    assert judge.counterexample(protocol.claim("nobody").checked, state) == {}
