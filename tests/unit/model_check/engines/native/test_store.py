"""States as rows of words: what goes in comes out, in order, however often there is more room or more words."""

from __future__ import annotations

from collections.abc import Callable
from typing import cast
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

pytest.importorskip("numba", reason="the extra 'fast' is not installed")

import numba

from carnet_check.engines.native import kernel, rows
from carnet_check.engines.native import store as module
from carnet_check.engines.native.rows import CHEAPER, FOUND
from carnet_check.engines.native.store import MOST_STATES, Store, packed, row_of
from carnet_check.engines.native.tables import CODE, NONE, Number, StateTable, Words

BITS = 130


def _slot(row: Words, like: Words, table: StateTable) -> Number:
    """Look for a row where another one would be."""
    h = rows.hashed(like, 0, table)
    return rows.slot_for(h, rows.home(h, table), row, 0, table)


slot_for = cast(Callable[[Words, Words, StateTable], int], numba.njit(_slot))
"""Python cannot call what is made for the kernel alone; not kept on the disk, where it would outlive the kernel's."""
states = st.lists(st.integers(0, (1 << BITS) - 1), unique=True, max_size=60)
ABSENT = 0


def told_of(state: int, store: Store, like: int | None = None) -> int:
    """Return what the kernel tells of a state; it takes its hash for that of another one, if told."""
    row, other = (np.zeros(store.table.width, np.uint64) for _ in range(2))
    for each, table in ((state, row), (state if like is None else like, other)):
        if module.pack(row_of(each, store.words), store.words, 0, store.table._replace(rows=table)) != NONE:
            return ABSENT
    return min(int(slot_for(row, other, store.table)), ABSENT)


def row_numbers(part: Words) -> list[int]:
    """Return states, each a row of words, as numbers."""
    return [int.from_bytes(row.tobytes(), "little") for row in part]


@given(states, st.integers(0, 40), st.integers(1, 50), st.sampled_from([2, 16, 1024]))
def test_states_keep_their_order_and_are_found_again(known: list[int], more: int, room: int, places: int) -> None:
    """Also where words are spelt out, as they have more values than there are codes."""
    with patch.multiple(module, FEWEST=2, MOST=places):
        store = Store(3, packed(known, 3), len(known) + more + 1)
        for _ in range(2):
            assert list(store) == store[:] == known
            assert len(store) == len(known)
            assert all(told_of(state, store) == FOUND for state in known)
            half = len(known) // 2
            assert [each for part in store.words_from(half) for each in row_numbers(part)] == known[half:]
            assert store.most >= len(known)
            store.make_room(room)
            assert store.most >= len(known) + room - 1
            store.widen(store.words + 1)
            for word in np.flatnonzero(store.table.fields < 1 << CODE):
                store.make_codes(int(word))
        assert told_of((1 << BITS) + 1, store) == ABSENT


@given(
    st.integers(1, 10),
    st.lists(st.tuples(st.integers(0, 3), st.integers(0, 1 << 10)), unique=True, max_size=60),
    st.lists(st.tuples(st.integers(0, 3), st.integers(0, 1 << 10)), max_size=20),
    st.sampled_from([4, 64, 1 << 17]),
)
def test_the_same_state_at_less_cost_is_met(
    counting: int, known: list[tuple[int, int]], asked: list[tuple[int, int]], places: int
) -> None:
    """Whether the word in which costs are counted is kept as a code, with them below, or as it is."""
    spent = (1 << counting) - 1
    costs = {(core << 62 | core << 80, cost & spent) for core, cost in known}
    states = [core << counting | cost for core, cost in sorted(costs)]
    with patch.multiple(module, FEWEST=4, MOST=places):
        store = Store(2, packed(states, 2), len(states) + 1, spent)
        for _ in range(2):
            assert store[:] == states
            for core, cost in [*known, *asked]:
                state = core << 62 | core << 80, cost & spent
                there = {other for same, other in costs if same == state[0]}
                expected = FOUND if state[1] in there else CHEAPER if there and min(there) < state[1] else ABSENT
                assert told_of(state[0] << counting | state[1], store) == expected
            store.make_room(40)
            store.widen(store.words + 1)


@given(st.sets(st.tuples(st.integers(0, 9), st.integers(0, 7)), min_size=1))
def test_what_was_found_at_less_cost_is_passed_over(known: set[tuple[int, int]]) -> None:
    states = [core << 3 | cost for core, cost in sorted(known)]
    store = Store(1, packed(states, 1), len(states) + 1, 7)
    idle = np.zeros(len(states), np.uint8)
    kernel.pass_over(0, store.table, idle, np.zeros(4, np.uint64), np.zeros(1, np.uint64))
    cheapest = {core: min(cost for same, cost in known if same == core) for core, _ in known}
    assert idle.tolist() == [int(cost > cheapest[core]) for core, cost in sorted(known)]


@pytest.mark.parametrize("begun", [1_000, 4_096, 10_007])
def test_a_state_takes_at_most_eight_bytes_of_the_table(begun: int) -> None:
    """Right after the table grew it is as empty as it gets."""
    store = Store(1, packed(range(begun), 1), begun)
    store.make_room(1)
    assert store.table.slots.nbytes <= 8 * store.size + 8
    assert store.most > store.size


def test_most_words_are_kept_as_codes() -> None:
    """Three words of sixty values take one, and four where one of them has more values than there are codes."""
    known = [value << 64 | value << 128 for value in range(60)]
    for places, width in ((128, 1), (64, 3)):
        with patch.multiple(module, FEWEST=2, MOST=places):
            store = Store(3, packed(known, 3), 60)
        assert store.table.width == width
        assert store[:] == known


@pytest.mark.parametrize("bit", [0, 63, 64, BITS])
def test_a_state_is_told_from_one_with_the_same_hash(bit: int) -> None:
    state = (1 << BITS) // 3
    store = Store(3, packed([state], 3), 4)
    assert told_of(state, store) == FOUND
    assert told_of(state ^ 1 << bit, store, like=state) == ABSENT


def test_more_states_than_numbers_are_refused() -> None:
    store = Store(1, packed([0, 1], 1), 4)
    with pytest.raises(MemoryError):
        store.make_room(MOST_STATES)
    assert store[:] == [0, 1]
