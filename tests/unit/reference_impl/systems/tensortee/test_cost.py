"""The cost model: what is kept and what is moved, by the line and by the tensor, beside what the paper measured."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from carnet_ref.systems.tensortee.cost import (
    ENTRY_BYTES,
    line_granular,
    lines,
    tensor_granular,
    traffic,
    transfer,
    tree,
)

KIB, MIB = 2**10, 2**20
SIZES = st.integers(1, 2**40)


@given(SIZES)
def test_a_tensor_costs_the_same_however_large_it_is(size: int) -> None:
    assert tensor_granular(size) == tensor_granular(1)
    assert (tensor_granular(size).in_memory, tensor_granular(size).moved) == (0, 0)


@given(SIZES)
def test_lines_cost_no_less(size: int) -> None:
    assert line_granular(size).moved >= tensor_granular(size, spilled_among=2).moved
    assert traffic(size, line_granular(size)) > traffic(size, tensor_granular(size)) == 1


def test_line_granularity_takes_a_quarter_and_the_tree() -> None:
    """An eighth for versions, an eighth for MACs, and for the tree a seventh of the former at most."""
    assert tree(8**4) == [8**3, 8**2, 8]
    kept = line_granular(64 * MIB)
    assert 1.25 < traffic(64 * MIB, kept) < 1.25 + 1 / 56
    assert kept.in_memory == kept.moved * 64


def test_an_entry_without_room_costs_a_path_of_the_tree() -> None:
    assert tensor_granular(MIB, spilled_among=2).moved == 1
    assert tensor_granular(MIB, spilled_among=2**10).moved == 1 + len(tree(2**9)) == 3
    assert tensor_granular(MIB, spilled_among=2**10).in_memory == ENTRY_BYTES


def test_a_tensor_that_moves_directly_is_not_encrypted_again() -> None:
    assert transfer(MIB, direct=True) == 0
    assert transfer(MIB, direct=False) == 4 * lines(MIB)


def test_the_model_goes_the_way_of_the_paper() -> None:
    """No fit: the paper's 2.1 % are of a whole system, and the model counts lines."""
    assert traffic(16 * MIB, tensor_granular(16 * MIB, spilled_among=2**10)) < 1.021
    assert traffic(16 * MIB, line_granular(16 * MIB)) > 1.25


@pytest.mark.parametrize("size", [0, -1])
def test_nothing_is_said_of_no_tensor(size: int) -> None:
    for cost in (lines, line_granular, tensor_granular):
        with pytest.raises(ValueError, match="a tensor of"):
            cost(size)
