"""Spin counts the states and finds the broken claims of exported random protocols that the interpreter does."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

from hypothesis import HealthCheck, assume, given, settings

from carnet_check.engines.explicit import explore
from carnet_check.engines.explicit.engine import EXPLICIT
from carnet_check.engines.exploration import Caps, Exploration
from carnet_check.exports.ground.system import ground
from carnet_check.exports.promela import Told, promela
from tests.fixtures.spin import SMALL, needs_spin, verified
from tests.property.random_protocols import Sample, samples

TOO_MANY = 300
relaxed = settings(
    suppress_health_check=[HealthCheck.filter_too_much, HealthCheck.too_slow], deadline=None, max_examples=12
)
thorough = settings(relaxed, max_examples=400)


def _judged(sample: Sample) -> Exploration:
    judged = explore(
        sample.protocol,
        sample.instance,
        invariants=sample.invariants,
        engine="interpreter",
        reduction=False,
        max_states=TOO_MANY,
    )
    assume(judged.complete)
    return judged


def _exported(sample: Sample, *, observed: bool) -> Iterator[Path]:
    seen = EXPLICIT.observed(sample.protocol, sample.instance, Caps()) if observed else None
    written = ground(sample.protocol, sample.instance, sample.invariants, None if seen is None else seen.changing)
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "random.pml"
        file.write_text(promela(sample.protocol, sample.instance, written, Told(file.name, "none")))
        yield file


def _agrees(sample: Sample, *, observed: bool) -> None:
    judged = _judged(sample)
    for file in _exported(sample, observed=observed):
        counted = verified(file, optimise=SMALL)
        assert counted.states == judged.states
        assert counted.transitions - counted.errors - 1 == judged.transitions
        assert bool(counted.errors) == bool(judged.violations)


@needs_spin
@relaxed
@given(samples())
def test_spin_counts_what_the_interpreter_counts(sample: Sample) -> None:
    _agrees(sample, observed=False)


@needs_spin
@relaxed
@given(samples())
def test_spin_counts_the_same_where_what_never_changes_is_left_out(sample: Sample) -> None:
    _agrees(sample, observed=True)
