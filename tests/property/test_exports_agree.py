"""Exported random protocols have the states, the steps and the broken claims that the interpreter finds.

Spin is asked where it is installed. What TLC would find is worked out from the text of the module, and both have to
find as many states that break a claim.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

from hypothesis import HealthCheck, assume, given, settings

from carnet_check.engines.explicit import explore
from carnet_check.engines.explicit.engine import EXPLICIT
from carnet_check.engines.exploration import Caps, Exploration
from carnet_check.exports.ground.system import ground
from carnet_check.exports.promela import ModelHeader, promela
from carnet_check.exports.tla import configuration, tla
from tests.fixtures.spin import SMALL, needs_spin, verified
from tests.fixtures.thorough import share
from tests.fixtures.tla import Visited, visited
from tests.property.random_protocols import Sample, samples

TOO_MANY = 300
relaxed = settings(
    suppress_health_check=[HealthCheck.filter_too_much, HealthCheck.too_slow], deadline=None, max_examples=12
)
"""For what has to be compiled each time."""


def _judged(sample: Sample) -> Exploration:
    judged = explore(
        sample.protocol,
        sample.instance,
        invariants=sample.invariants,
        engine="interpreter",
        reduction=False,
        caps=Caps(states=TOO_MANY),
        stop_at_first=False,
    )
    assume(judged.complete)
    return judged


def _spin_agrees(sample: Sample, *, observed: bool) -> None:
    judged = _judged(sample)
    seen = EXPLICIT.observed(sample.protocol, sample.instance, Caps()) if observed else None
    written = ground(sample.protocol, sample.instance, sample.invariants, None if seen is None else seen.changing)
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "random.pml"
        file.write_text(promela(sample.protocol, sample.instance, written, ModelHeader(file.name, "none")))
        counted = verified(file, optimise=SMALL)
    assert counted.states == judged.states
    assert counted.transitions - counted.errors - 1 == judged.transitions
    assert counted.errors == sum(_meant(sample).broken.values())


def _meant(sample: Sample) -> Visited:
    module = tla(sample.protocol, sample.instance, sample.invariants, "none")
    return visited(module, configuration(sample.protocol, sample.instance, sample.invariants))


@needs_spin
@relaxed
@given(samples())
def test_spin_counts_what_the_interpreter_counts(sample: Sample) -> None:
    _spin_agrees(sample, observed=False)


@needs_spin
@relaxed
@given(samples())
def test_spin_counts_the_same_where_what_never_changes_is_left_out(sample: Sample) -> None:
    _spin_agrees(sample, observed=True)


@settings(relaxed, max_examples=share(60))
@given(samples())
def test_a_module_means_what_the_interpreter_does(sample: Sample) -> None:
    judged = _judged(sample)
    counted = _meant(sample)
    assert (counted.states, counted.steps) == (judged.states, judged.transitions)
    assert counted.broken.keys() == judged.violations.keys()
