"""Induction and exploration never contradict one another, on random protocols."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import HealthCheck, assume, given, settings

from carnet_check.engines.explicit import explore
from carnet_check.engines.exploration import Caps
from carnet_check.engines.induction import SolverOutcome, houdini, prove
from carnet_check.engines.induction.counterexample import counterexample
from carnet_spec.language import Claim, Protocol
from tests.fixtures.thorough import share
from tests.property.random_protocols import Sample, samples

BUDGET = 2_000_000
relaxed = settings(max_examples=share(60), suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much])


def _claiming(sample: Sample) -> Protocol:
    claims = tuple(Claim(each.name, each, "says", "REQ", "random", ()) for each in sample.invariants)
    return replace(sample.protocol, claims=claims)


def _violated(sample: Sample) -> set[str]:
    found = explore(
        sample.protocol, sample.instance, invariants=sample.invariants, engine="interpreter", caps=Caps(states=200)
    )
    return set(found.violations)


@pytest.mark.long
@given(samples())
@relaxed
def test_what_is_proved_is_never_violated(sample: Sample) -> None:
    protocol = _claiming(sample)
    result = prove(protocol, jobs=1, rlimit=BUDGET)
    proved = {claim.name for claim in protocol.claims if result.claim(claim.name).proved}
    survived = houdini(protocol, jobs=1, rlimit=BUDGET, baselines=[result])
    assert proved <= set(survived.surviving)
    assume(survived.surviving)
    assert not _violated(sample) & set(survived.surviving)


@given(samples())
@relaxed
def test_every_refutation_has_a_state_that_shows_it(sample: Sample) -> None:
    """The state is checked by evaluation before it is returned."""
    protocol = _claiming(sample)
    result = prove(protocol, jobs=1, rlimit=BUDGET)
    refuted = [answer.id for answer in result.failed if answer.outcome is SolverOutcome.REFUTED]
    assume(refuted)
    found = counterexample(result.obligations[refuted[0]], BUDGET)
    assert found is not None
    assert refuted[0] in found.text()
