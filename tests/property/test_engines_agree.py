"""Interpreter and compiled explorer agree on random protocols: the worst defect there could be is that they do not."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from unittest.mock import patch

from hypothesis import HealthCheck, assume, given, settings

from carnet_check.engines.explicit import explore
from carnet_check.engines.exploration import Caps, Exploration
from carnet_check.semantics import Interpreter
from carnet_spec.trace import Trace
from tests.fixtures.thorough import share
from tests.property.random_protocols import Sample, samples

SEARCH = importlib.import_module("carnet_check.engines.explicit.search")  # the package has a function of that name
TOO_MANY = 250
relaxed = settings(suppress_health_check=[HealthCheck.filter_too_much, HealthCheck.too_slow], max_examples=share(100))


def _explored(sample: Sample, engine: str, *, reduction: bool, stop_at_first: bool = False) -> Exploration:
    return explore(
        sample.protocol,
        sample.instance,
        invariants=sample.invariants,
        goals=sample.goals,
        engine=engine,
        reduction=reduction,
        stop_at_first=stop_at_first,
        caps=Caps(states=TOO_MANY if engine == "interpreter" else None),
    )


def _judged(sample: Sample) -> Exploration:
    judged = _explored(sample, "interpreter", reduction=False)
    assume(judged.complete)
    return judged


def _lengths(sample: Sample, traces: Mapping[str, Trace]) -> dict[str, int]:
    """Count the steps of each trace that are no deductions."""
    return {
        name: sum(not sample.protocol.action(step.action).deduction for step in trace.steps)
        for name, trace in traces.items()
    }


@relaxed
@given(samples())
def test_without_reduction_the_engines_agree_in_every_number(sample: Sample) -> None:
    judged = _judged(sample)
    compiled = _explored(sample, "compiled", reduction=False)
    assert compiled.complete
    assert (compiled.states, compiled.transitions, compiled.depth) == (
        judged.states,
        judged.transitions,
        judged.depth,
    )
    assert compiled.fired == judged.fired
    assert _lengths(sample, compiled.violations) == _lengths(sample, judged.violations)
    assert _lengths(sample, compiled.goals) == _lengths(sample, judged.goals)


@relaxed
@given(samples())
def test_reductions_lose_nothing(sample: Sample) -> None:
    judged = _judged(sample)
    reduced = _explored(sample, "compiled", reduction=True)
    assert reduced.complete
    assert reduced.states <= judged.states
    assert _lengths(sample, reduced.violations) == _lengths(sample, judged.violations)
    assert _lengths(sample, reduced.goals) == _lengths(sample, judged.goals)
    assert {name for name, count in reduced.fired.items() if count} == {
        name for name, count in judged.fired.items() if count
    }


@relaxed
@given(samples())
def test_joining_memos_loses_nothing(sample: Sample) -> None:
    judged = _judged(sample)
    with patch.multiple(SEARCH, SAMPLE=2, CHUNK=3, WORTHWHILE=1.1):  # as if it were large
        joined = _explored(sample, "compiled", reduction=False)
    assert (joined.states, joined.transitions, joined.fired) == (judged.states, judged.transitions, judged.fired)
    assert _lengths(sample, joined.violations) == _lengths(sample, judged.violations)
    assert _lengths(sample, joined.goals) == _lengths(sample, judged.goals)


@relaxed
@given(samples())
def test_the_first_violation_found_is_a_shortest_one_and_replays(sample: Sample) -> None:
    judged = _judged(sample)
    first = _explored(sample, "compiled", reduction=True, stop_at_first=True)
    assert bool(first.violations) == bool(judged.violations)
    if judged.violations:
        shortest = min(_lengths(sample, judged.violations).values())
        assert set(_lengths(sample, first.violations).values()) == {shortest}
    interpreter = Interpreter(sample.protocol, sample.instance)
    for name, trace in first.violations.items():
        [invariant] = [invariant for invariant in sample.invariants if invariant.name == name]
        assert interpreter.counterexample(invariant, interpreter.replay(trace)[-1]) is not None
