"""With symmetry a search finds what it finds without, and its states stand for all others, to the last one."""

from __future__ import annotations

from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from carnet_check.engines.explicit import explore
from carnet_check.engines.exploration import Caps
from tests.property.random_protocols import Sample, alike_samples, explored, lengths, said

relaxed = settings(suppress_health_check=[HealthCheck.filter_too_much, HealthCheck.too_slow], max_examples=50)
TOO_MANY = 3_000


@relaxed
@given(alike_samples(), st.booleans())
def test_one_state_stands_for_as_many_as_there_are_without_symmetry(sample: Sample, reduce: bool) -> None:
    every, _ = explored(sample, symmetric=False, reduce=reduce, most=TOO_MANY)
    assume(every.complete)
    found, represented = explored(sample, symmetric=True, reduce=reduce)
    assert said(found) == said(every)
    assert represented in (None, every.states)
    assert found.states <= every.states


@relaxed
@given(alike_samples())
def test_symmetry_finds_the_shortest_traces_that_the_interpreter_finds(sample: Sample) -> None:
    judged, found = (
        explore(
            sample.protocol,
            sample.instance,
            invariants=sample.invariants,
            goals=sample.goals,
            engine=engine,
            caps=Caps(states=250 if engine == "interpreter" else None),
            stop_at_first=False,
        )
        for engine in ("interpreter", "compiled")
    )
    assume(judged.complete)
    rules = {action.name for action in sample.protocol.actions if action.deduction}
    for mine, its in ((found.violations, judged.violations), (found.goals, judged.goals)):
        assert lengths(mine, rules) == lengths(its, rules)
