"""What happens in the end, on random protocols: the engine beside a fixpoint, the judge, and the rule WF1."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from carnet_check.engines.explicit.liveness import lassos
from carnet_check.engines.exploration import Caps, Exploration
from carnet_check.engines.induction.liveness import by_fairness
from carnet_check.semantics import Interpreter
from carnet_check.semantics.fairness import objection, with_rules_as_steps
from carnet_spec.language import Eventually, Protocol
from carnet_spec.language.lints.polarity import hasty_reads
from tests.fixtures.thorough import share
from tests.property.fair_runs import Runs, TooManyError
from tests.property.random_protocols import Sample, lively_samples, staged_samples

MOST = 150
relaxed = settings(suppress_health_check=list(HealthCheck))


def said(found: Exploration, live: Eventually) -> str:
    """Return what the engine says of a property."""
    if live.name in found.violations:
        return "VIOLATED"
    return "UNKNOWN" if live.name in found.undecided else "EXHAUSTED"


def runs_of(protocol: Protocol, sample: Sample) -> Runs:
    """Return all runs of a sample that is small enough."""
    try:
        return Runs(Interpreter(protocol, sample.instance), MOST)
    except TooManyError:
        assume(False)
        raise


@pytest.mark.long
def test_the_engine_says_what_a_fixpoint_over_the_interpreters_states_says() -> None:
    counts: Counter[str] = Counter()

    @settings(relaxed, max_examples=120)
    @given(lively_samples(), st.booleans())
    def agrees(sample: Sample, reduction: bool) -> None:
        (live,) = sample.protocol.liveness
        protocol = with_rules_as_steps(sample.protocol, [live])
        runs = runs_of(protocol, sample)
        found = lassos(sample.protocol, sample.instance, [live], reduction=reduction)
        assert found.complete
        assert found.states == len(runs.steps) or (reduction and found.states < len(runs.steps))
        assert said(found, live) == runs.verdict(live)
        counts[said(found, live)] += 1
        counts[f"given, {said(found, live)}"] += bool(live.given)
        if live.name in found.violations:
            assert objection(runs.judge, live, found.violations[live.name]) == ""
            counts["goes round"] += found.violations[live.name].loop != len(found.violations[live.name].steps)

    agrees()
    assert all(counts[each] >= 5 for each in ("VIOLATED", "UNKNOWN", "EXHAUSTED", "goes round")), counts
    assert all(counts[f"given, {each}"] >= 3 for each in ("VIOLATED", "EXHAUSTED")), counts


@pytest.mark.long
def test_the_engine_says_what_is_so_if_no_rule_has_to_be_taken() -> None:
    """Where rules keep to what the lint asks of them, those that are taken at once hide no run."""
    counts: Counter[str] = Counter()

    @settings(relaxed, max_examples=share(120))
    @given(lively_samples())
    def agrees(sample: Sample) -> None:
        (live,) = sample.protocol.liveness
        assume(any(action.deduction for action in sample.protocol.actions))
        assume(not list(hasty_reads(sample.protocol)))
        rules = tuple(action.name for action in sample.protocol.actions if action.deduction)
        every = with_rules_as_steps(sample.protocol, [Eventually("all", live.trigger, live.response, "", rules)])
        runs = runs_of(every, sample)
        found = lassos(sample.protocol, sample.instance, [live])
        assert said(found, live) == runs.verdict(live)
        counts[said(found, live)] += 1

    agrees()
    assert all(counts[each] >= 3 for each in ("VIOLATED", "EXHAUSTED")), counts


def test_what_is_proved_by_fairness_fails_in_no_instance() -> None:
    counts: Counter[str] = Counter()

    @settings(relaxed, max_examples=60)
    @given(st.one_of(lively_samples(), staged_samples()))
    def agrees(sample: Sample) -> None:
        (live,) = sample.protocol.liveness
        found = lassos(sample.protocol, sample.instance, [live], caps=Caps(states=2_000))
        by = len(by_fairness(sample.protocol, live).fair)
        counts[f"proved by {by}, {said(found, live)}"] += 1
        assert not (by and said(found, live) == "VIOLATED")

    agrees()
    for least in ("proved by 1, EXHAUSTED", "proved by 2, EXHAUSTED", "proved by 0, VIOLATED"):
        assert counts[least] >= 3, counts
