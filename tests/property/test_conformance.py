"""The machine that follows traces and the interpreter agree: on what is refused, where, and on every state between."""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Sequence
from dataclasses import replace

from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from carnet_check.conformance import Follower, Machine
from carnet_check.conformance.tables import Function, Relation
from carnet_check.semantics import Interpreter, NotEnabled, State
from carnet_spec.trace import TraceStep
from tests.property.random_protocols import Sample, samples

relaxed = settings(suppress_health_check=[HealthCheck.filter_too_much, HealthCheck.too_slow], deadline=None)
TOO_MANY = 400


def _unbounded(sample: Sample) -> Sample:
    """Leave the adversary's budget out: what was recorded happened, whatever it cost."""
    return replace(sample, instance=replace(sample.instance, budget=None))


def _walk(draw: st.DrawFn, judge: Interpreter) -> list[TraceStep]:
    """Draw a trace: mostly steps that are enabled, then and now one that need not be."""
    state, steps = judge.initial(), []
    for _ in range(draw(st.integers(1, 6))):
        enabled = list(itertools.islice(judge.enabled(state), 20))
        if enabled and draw(st.integers(0, 4)) > 0:
            action, env = draw(st.sampled_from(enabled))
            state = judge.step(state, action, env)
        else:
            action = draw(st.sampled_from(judge.protocol.actions))
            env = {var.name: draw(st.sampled_from(judge.instance.of(var.sort))) for var in action.params}
            with contextlib.suppress(NotEnabled):
                state = judge.step(state, action, env)
        steps.append(TraceStep(action.name, action.by.name, tuple((var.name, env[var.name]) for var in action.params)))
    return steps


@st.composite
def walks(draw: st.DrawFn) -> tuple[Sample, list[TraceStep]]:
    """Draw a protocol and a trace of it."""
    sample = _unbounded(draw(samples()))
    return sample, _walk(draw, Interpreter(sample.protocol, sample.instance))


@st.composite
def partial_walks(draw: st.DrawFn) -> tuple[Sample, list[TraceStep]]:
    """Draw a protocol and a trace of it from which arguments are missing."""
    sample, steps = draw(walks())
    return sample, [replace(step, args=tuple(a for a in step.args if draw(st.integers(0, 2)) > 0)) for step in steps]


def _shown(machine: Machine, judge: Interpreter, state: State) -> None:
    """Compare every symbol that the machine keeps with the interpreter's."""
    for symbol in judge.protocol.symbols:
        table = machine.tables.get(symbol.name)
        if table is None or not symbol.mutable:
            continue
        rows = itertools.product(*(judge.instance.of(sort) for sort in symbol.domain))
        if isinstance(table, Relation):
            assert {row for row in rows if table.holds(row)} == state.relations[symbol.name], symbol.name
        else:
            assert isinstance(table, Function)
            found = {row: table.values.get(row, table.default) for row in rows}
            assert found == dict(state.functions[symbol.name]), symbol.name


@relaxed
@given(walks())
def test_every_state_on_the_way_is_the_interpreters(walk: tuple[Sample, list[TraceStep]]) -> None:
    sample, steps = walk
    judge, machine = Interpreter(sample.protocol, sample.instance), Machine(sample.protocol, sample.instance)
    follower, state = Follower(machine), judge.initial()
    _shown(machine, judge, state)
    for index, step in enumerate(steps):
        divergence = follower.take(step)
        refused = _refused(judge, state, step)
        if refused is not None:
            assert divergence is not None
            assert (divergence.index, divergence.step) == (index, step)
            assert refused == "fresh values differ" or f"'{refused}'" in divergence.why
            return
        assert divergence is None
        state = judge.step(state, judge.protocol.action(step.action), step.env)
        _shown(machine, judge, state)


def _refused(judge: Interpreter, state: State, step: TraceStep) -> str | None:
    """Return the guard by which the interpreter refuses a step, or nothing."""
    try:
        judge.fire(state, judge.protocol.action(step.action), step.env)
    except NotEnabled as error:
        return error.guard
    return None


def _explained(sample: Sample, steps: Sequence[TraceStep]) -> int | None:
    """Return the first step that no choice of what is missing explains, by trying them all in the interpreter."""
    judge = Interpreter(sample.protocol, sample.instance)
    states = {judge.initial()}
    for index, step in enumerate(steps):
        action = judge.protocol.action(step.action)
        missing = [var for var in action.params if var.name not in step.env]
        after = set()
        for state in states:
            for row in itertools.product(*(judge.instance.of(var.sort) for var in missing)):
                env = step.env | {var.name: element for var, element in zip(missing, row, strict=True)}
                with contextlib.suppress(NotEnabled):
                    after.add(judge.step(state, action, env))
        if not after:
            return index
        assume(len(after) <= TOO_MANY)
        states = after
    return None


@relaxed
@given(partial_walks())
def test_what_is_missing_from_a_trace_is_found_if_it_exists(walk: tuple[Sample, list[TraceStep]]) -> None:
    sample, steps = walk
    follower = Follower(Machine(sample.protocol, sample.instance))
    expected = _explained(sample, steps)
    for step in steps:
        divergence = follower.take(step)
        if divergence is not None:
            assert divergence.index == expected
            return
    assert expected is None
