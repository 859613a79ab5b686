"""What the interpreter leaves undone because it cannot matter does not matter, on random protocols."""

from __future__ import annotations

import contextlib
import itertools

from hypothesis import given, settings
from hypothesis import strategies as st

from carnet_check.semantics import Interpreter, NotEnabled, Replays, State
from carnet_spec.trace import Trace, TraceStep
from tests.property.random_protocols import Sample, samples


def _walk(judge: Interpreter, choices: list[int]) -> tuple[TraceStep, ...]:
    """Return a run of the protocol, made by choices among the steps that are possible."""
    state, steps = judge.initial(), []
    for choice in choices:
        possible = list(judge.enabled(state))
        if not possible:
            break
        action, env = possible[choice % len(possible)]
        steps.append(TraceStep(action.name, action.by.name, tuple(env.items())))
        state = judge.step(state, action, env)
    return tuple(steps)


@settings(max_examples=60)
@given(samples(), st.lists(st.lists(st.integers(0, 3), max_size=4), min_size=1, max_size=4))
def test_every_trace_ends_where_it_ends_by_itself(sample: Sample, walks: list[list[int]]) -> None:
    judge = Interpreter(sample.protocol, sample.instance)
    replays = Replays(judge)
    for walk in walks:
        steps = _walk(judge, walk)
        alone = judge.replay(Trace("sample", "main", (), "", steps))[-1]
        assert replays.end(steps) == alone
        assert replays.end(judge.expand(steps)) == alone


@settings(max_examples=80)
@given(samples(), st.lists(st.integers(0, 5), max_size=5))
def test_rules_are_tried_wherever_they_may_add_something(sample: Sample, choices: list[int]) -> None:
    """After a step from a state in which nothing follows, fewer rules are tried, and the same is added."""
    judge = Interpreter(sample.protocol, sample.instance)
    state = judge.initial()
    for choice in choices:
        possible = list(judge.enabled(state))
        if not possible:
            break
        action, env = possible[choice % len(possible)]
        step = TraceStep(action.name, action.by.name, tuple(env.items()))
        (_, *derived), after = judge.expanded(state, step)
        assert after == _saturated(judge, judge.fire(state, action, env))
        state = judge.fire(state, action, env)
        for each in derived:
            grown = judge.fire(state, judge.protocol.action(each.action), each.env)
            assert grown != state
            state = grown
        assert state == after


def _saturated(judge: Interpreter, state: State) -> State:
    """Take every deduction that is possible, over and over, whatever it reads."""
    rules = [action for action in judge.protocol.actions if action.deduction]
    while True:
        before = state
        for rule in rules:
            pools = [judge.instance.of(var.sort) for var in rule.params]
            for chosen in itertools.product(*pools):
                with contextlib.suppress(NotEnabled):
                    state = judge.fire(state, rule, {v.name: e for v, e in zip(rule.params, chosen, strict=True)})
        if state == before:
            return state
