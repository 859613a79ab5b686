"""A search that was stopped and gone on with, as often as may be, finds what one finds that never stopped."""

from __future__ import annotations

import functools
import importlib
import tempfile
from collections.abc import Callable
from pathlib import Path
from unittest.mock import patch

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from carnet_check.engines.checkpoints import Checkpoint
from carnet_check.engines.explicit import explore
from carnet_check.engines.explicit.search import PackedSearch
from carnet_check.engines.exploration import Caps, Exploration
from carnet_check.engines.native.compiling import compiler
from carnet_check.loading.families import load
from carnet_spec.language import Profile, Protocol
from tests.fixtures.thorough import share
from tests.property.random_protocols import Sample, alike_samples, lengths, samples

SEARCH = importlib.import_module("carnet_check.engines.explicit.search")
NATIVE = importlib.import_module("carnet_check.engines.native.search")
TOO_MANY = 3_000
RUNS = 6
relaxed = settings(suppress_health_check=[HealthCheck.filter_too_much, HealthCheck.too_slow], max_examples=share(54))

Packed = Callable[..., PackedSearch]


def handing_over_at(states: int) -> Packed:
    """Return the native engine's search, which compiles the model after so many states."""
    if compiler() is None:
        pytest.skip("there is no C compiler")
    return functools.partial(NATIVE.NativeSearch, hand_over_at=states)


def outcome_of(found: Exploration, protocol: Protocol, compiled: bool) -> tuple[object, ...]:
    """Return everything that has to be the same however often a search was stopped.

    Of several shortest ways compiled code may show another one once it goes on: it knows more places then, so it finds
    states of a level in another order. As many moves lead there, with more or fewer deductions between them.
    """
    rules = [action.name for action in protocol.actions if action.deduction and compiled]
    ways = [lengths(traces, rules) for traces in (found.violations, found.goals)]
    return (found.states, found.represented, found.transitions, found.depth, found.stopped_by, found.fired, ways)


def in_pieces(explored: Callable[..., Exploration], folder: Path, more: int) -> tuple[Exploration, int]:
    """Run a search that stops after some more states than last time, until it stops no more; return the runs, too."""
    for run in range(RUNS):
        found = explored(saved=Checkpoint(folder).for_instance("it"), caps=Caps(states=1 + more * (1 + run)))
        if found.complete:
            return found, run
    raise AssertionError("it never ends")


@relaxed
@given(
    st.one_of(samples(), alike_samples()),
    st.integers(1, 400),
    st.integers(1, 5),
    st.booleans(),
    st.sampled_from([None, 1, 60]),
)
def test_in_pieces_it_finds_the_same(
    sample: Sample, more: int, chunk: int, reduction: bool, hand_over_at: int | None
) -> None:
    packed = PackedSearch if hand_over_at is None else handing_over_at(hand_over_at)
    explored = functools.partial(explore, **sample.question, packed=packed, reduction=reduction, stop_at_first=False)
    expected = explored(caps=Caps(states=TOO_MANY))
    assume(expected.complete)
    more = max(more, 2 * expected.states // RUNS)
    with (
        tempfile.TemporaryDirectory() as folder,
        patch("os.fsync"),  # nobody takes the power away
        patch.object(SEARCH, "CHUNK", chunk),
        patch.object(NATIVE, "CHUNK", chunk),
    ):
        found, _ = in_pieces(explored, Path(folder), more)
        again, runs = in_pieces(explored, Path(folder), found.states)
    whole, *parts = (outcome_of(each, sample.protocol, hand_over_at is not None) for each in (expected, found, again))
    assert parts == [whole, whole]
    assert runs == 0


@pytest.mark.parametrize(
    ("hand_over_at", "holders"),
    [
        (None, 1),
        (1, 1),
        (500, 2),
        *(pytest.param(*each, marks=pytest.mark.slow) for each in ((None, 2), (1, 2), (500, 1))),
    ],
)
def test_a_budget_is_followed_as_far_in_pieces(hand_over_at: int | None, holders: int, tmp_path: Path) -> None:
    """With two holders, who are alike, it is known for how many states those stand that were left out before, too."""
    source = load("gpu-travelling")
    protocol = source.protocol()
    sizes = Profile("sizes", {"holders": holders, "corrupt": 1, "rounds": 1}, budget=2)
    explored = functools.partial(
        explore,
        protocol,
        source.instance(protocol, "collusion", sizes),
        invariants=[claim.checked for claim in protocol.claims if claim.invariant],
        goals=protocol.goals,
        packed=PackedSearch if hand_over_at is None else handing_over_at(hand_over_at),
        stop_at_first=False,
    )
    expected = explored()
    found, runs = in_pieces(explored, tmp_path, expected.states // 4)
    assert runs > 2
    compiled = hand_over_at is not None
    assert outcome_of(found, protocol, compiled) == outcome_of(expected, protocol, compiled)
    assert found.reduction["states_dominated"] > 0
    assert found.reduction.get("permutations", 1) == holders
