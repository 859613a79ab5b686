"""What the explorer leaves out cannot matter: places that nothing reads, and states found at less cost."""

from __future__ import annotations

import itertools

import pytest

from carnet_check.engines.explicit import explore
from carnet_check.engines.exploration import Exploration
from carnet_spec.language import Instance, Protocol, Step
from tests.unit.model_check.small import claimed, drafted, first, reordered, second, third


def _explored(protocol: Protocol, budget: int | None = None, *, reduction: bool = True) -> Exploration:
    claims = [claim.checked for claim in protocol.claims]
    instance = Instance({}, budget=budget)
    return explore(protocol, instance, invariants=claims, reduction=reduction, stop_at_first=False)


def begin(step: Step) -> None:
    step.insert(first)


def carry(step: Step) -> None:
    step.insert(second, when=first)


def arrive(step: Step) -> None:
    step.insert(third, when=second)


@pytest.mark.parametrize("order", list(itertools.permutations(("begin", "carry", "arrive"))), ids="-".join)
def test_a_place_matters_that_decides_by_way_of_others(order: tuple[str, ...]) -> None:
    """In whatever order the steps are written down: what decides what decides what is claimed is kept."""
    protocol = claimed(drafted(begin, carry, arrive), never=lambda: ~third)
    found = _explored(reordered(protocol, order))
    assert [step.action for step in found.violations["never"].steps] == ["begin", "carry", "arrive"]


def test_a_place_that_nothing_reads_is_left_out() -> None:
    protocol = claimed(drafted(begin, carry), never=lambda: ~third)
    assert _explored(protocol).states == 1
    assert _explored(protocol, reduction=False).states == 3


def push_first(step: Step) -> None:
    step.insert(first)


def push_second(step: Step) -> None:
    step.insert(second)


@pytest.mark.parametrize("order", list(itertools.permutations(("push_first", "push_second"))), ids="-".join)
def test_states_found_at_the_same_cost_stand_side_by_side(order: tuple[str, ...]) -> None:
    protocol = claimed(drafted(costly=(push_first, push_second)), one=lambda: ~first, other=lambda: ~second)
    found = _explored(reordered(protocol, order), budget=1)
    assert set(found.violations) == {"one", "other"}
    assert (found.states, found.reduction["states_dominated"]) == (3, 0)


def test_a_state_that_was_found_at_no_cost_is_not_found_again_at_one() -> None:
    protocol = claimed(drafted(begin, costly=(push_first,)), never=lambda: ~first)
    found = _explored(protocol, budget=1)
    assert (found.states, found.reduction["states_dominated"]) == (2, 2)
    assert _explored(protocol, budget=1, reduction=False).states == 3


@pytest.mark.parametrize(("budget", "fallen"), [(0, set()), (1, {"one"}), (2, {"one", "both"})])
def test_the_adversary_makes_as_many_moves_as_it_may(budget: int, fallen: set[str]) -> None:
    draft = drafted(costly=(push_first, push_second))
    protocol = claimed(draft, one=lambda: ~first, both=lambda: ~(first & second))
    assert set(_explored(protocol, budget=budget).violations) == fallen
