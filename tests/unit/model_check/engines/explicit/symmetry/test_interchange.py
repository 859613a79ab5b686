"""Bundles may change places if facts are mapped to facts: what moves along is found, and nothing is believed."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from carnet_check.engines.explicit.symmetry import BundleClass, Element, Fact, interchangeable

PARTIES = [("Party", name) for name in ("a", "b", "c", "d")]
TOOLS = [("Tool", name) for name in ("s", "t", "u", "v")]
A, B, C, D = PARTIES
S, T, U, V = TOOLS


def found(*facts: Fact) -> tuple[BundleClass, ...]:
    return interchangeable([*PARTIES, *TOOLS], facts)


def test_elements_of_which_nothing_is_said_are_alike_within_their_sort() -> None:
    assert found() == (((A,), (B,), (C,), (D,)), ((S,), (T,), (U,), (V,)))


def test_no_element_is_like_one_of_another_sort() -> None:
    assert interchangeable([A, S], []) == ()


def test_one_of_which_something_is_said_is_like_no_other() -> None:
    assert found(("big", (B,)))[0] == ((A,), (C,), (D,))


def test_what_is_said_of_all_tells_nobody_apart() -> None:
    assert found(*(("big", (each,)) for each in PARTIES))[0] == ((A,), (B,), (C,), (D,))


def test_what_belongs_to_another_moves_along() -> None:
    owns = [("owns", pair) for pair in zip(PARTIES, TOOLS, strict=True)]
    assert found(*owns) == (((A, S), (B, T), (C, U), (D, V)),)


def test_two_that_belong_to_one_move_along_in_their_order() -> None:
    owns = [("owns", pair) for pair in ((A, S), (A, T), (B, V), (B, U))]
    older = [("older", pair) for pair in ((S, T), (V, U))]
    assert found(*owns, *older) == (((A, S, T), (B, V, U)), ((C,), (D,)))


def test_a_guess_that_does_not_keep_all_facts_is_no_exchange() -> None:
    """Each has one before it and one behind it, so nothing tells them apart; but no two can change places."""
    circle = [("before", pair) for pair in ((A, B), (B, C), (C, A))]
    assert found(*circle, ("big", (D,))) == (((S,), (T,), (U,), (V,)),)


def test_the_order_of_arguments_matters() -> None:
    assert ((A,), (B,)) not in found(("before", (A, B)), ("big", (C,)), ("small", (D,)))
    assert ((A,), (B,)) in found(("before", (A, B)), ("before", (B, A)), ("big", (C,)), ("small", (D,)))


def test_no_element_is_in_two_classes() -> None:
    """Tools of one party are alike, and so are parties with all of their tools: one of both is used."""
    owns = [("owns", pair) for pair in ((A, S), (A, T), (B, U), (B, V))]
    classes = found(*owns, ("big", (C,)))
    elements = [element for bundles in classes for bundle in bundles for element in bundle]
    assert len(set(elements)) == len(elements)
    assert classes


Rows = st.one_of(
    st.tuples(st.sampled_from(PARTIES)),
    st.tuples(st.sampled_from(PARTIES), st.sampled_from(PARTIES)),
    st.tuples(st.sampled_from(PARTIES), st.sampled_from(TOOLS)),
    st.tuples(st.sampled_from(TOOLS)),
)


@given(st.lists(st.tuples(st.just("so"), Rows), max_size=9))
def test_every_permutation_of_bundles_maps_facts_to_facts(facts: list[Fact]) -> None:
    for bundles in found(*facts):
        for order in itertools.permutations(bundles):
            becomes: dict[Element, Element] = {}
            for one, other in zip(bundles, order, strict=True):
                becomes |= dict(zip(one, other, strict=True))
            moved = {(label, tuple(becomes.get(each, each) for each in row)) for label, row in facts}
            assert moved == set(facts)


@pytest.mark.parametrize("size", [2, 3, 6])
def test_a_class_has_all_that_are_alike(size: int) -> None:
    elements = [("Party", str(number)) for number in range(size)]
    assert interchangeable(elements, []) == (tuple((each,) for each in elements),)
