"""Each fairness that progress is claimed under is needed: without it, a lasso shows how somebody waits for ever."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import pytest

from carnet_check.engines.explicit.liveness import lassos
from carnet_check.engines.exploring.searches import decided_together
from carnet_check.engines.induction.induction import ProofResult, prove
from carnet_check.engines.induction.liveness import by_fairness
from carnet_check.loading.families import load
from carnet_check.semantics import Interpreter
from carnet_check.semantics.fairness import objection, with_rules_as_steps
from carnet_spec.language import Eventually
from carnet_spec.protocols.gpu_travelling.design import MAIN

SOURCE = load("gpu-travelling")
PROPERTIES = {live.name: live for live in SOURCE.protocol(MAIN[0]).liveness}
UNFAIR = [(live.name, action) for live in PROPERTIES.values() for action in live.fair]
SMALLEST = "outsider"


def _lasso(variant: str, live: Eventually, threat: str) -> str:
    """Say why no lasso refutes the property, or what it is that is repeated."""
    protocol = SOURCE.protocol(variant)
    instance = SOURCE.instance(protocol, threat, SOURCE.family.profiles["tiny"])
    found = lassos(protocol, instance, [live])
    if live.name not in found.violations:
        return "complete" if found.complete and not found.undecided else "unknown"
    trace = found.violations[live.name]
    assert objection(Interpreter(with_rules_as_steps(protocol, [live]), instance), live, trace) == ""
    return "lasso"


@pytest.mark.parametrize(("name", "action"), UNFAIR, ids=str)
def test_without_the_fairness_of_a_step_somebody_waits_for_ever(name: str, action: str) -> None:
    live = PROPERTIES[name]
    less = live.fair_to(each for each in live.fair if each != action)
    assert _lasso(MAIN[0], less, SMALLEST) == "lasso"


@pytest.mark.parametrize("name", PROPERTIES)
def test_with_it_nobody_does(name: str) -> None:
    assert _lasso(MAIN[0], PROPERTIES[name], SMALLEST) == "complete"


@cache
def _proofs(variant: str) -> tuple[ProofResult, ...]:
    return (prove(SOURCE.protocol(variant)),)


@pytest.mark.slow
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("variant", MAIN)
def test_each_property_rests_on_all_that_it_names(variant: str) -> None:
    """It is proved, and not if any steps are to be taken fairly that are not those that are meant."""
    for live in SOURCE.protocol(variant).liveness:
        assert by_fairness(SOURCE.protocol(variant), live, _proofs(variant)).fair == live.fair
        if live.given:
            assert not by_fairness(SOURCE.protocol(variant), replace(live, given=()), _proofs(variant)).proved


@pytest.mark.slow
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("threat", ["outsider", "holder", "hypervisor", "collusion", "past-keys"])
@pytest.mark.parametrize("variant", MAIN)
def test_what_is_proved_for_any_size_holds_in_every_state_of_the_smallest(variant: str, threat: str) -> None:
    protocol = SOURCE.protocol(variant)
    instance = SOURCE.instance(protocol, threat, SOURCE.family.profiles["tiny"])
    for names in decided_together(protocol, protocol.liveness):
        found = lassos(protocol, instance, [live for live in protocol.liveness if live.name in names])
        assert (found.complete, found.violations, found.undecided) == (True, {}, {})
