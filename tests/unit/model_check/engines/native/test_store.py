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
from carnet_check.engines.native.store import MOST_STATES, Store, packed, row_of
from carnet_check.engines.native.tables import CODE, NONE, Kept, Number, Words

BITS = 130


def _slot(row: Words, like: Words, kept: Kept) -> Number:
    """Return what the slot of a row holds, looked for where another one would be."""
    h = rows.hashed(like, 0, kept.width)
    return np.int64(kept.slots[rows.slot_of(h, rows.home(h, kept), row, 0, kept)])


slot_of = cast(Callable[[Words, Words, Kept], int], numba.njit(_slot))
"""Python cannot call what is made for the kernel alone; not kept on the disk, where it would outlive the kernel's."""
states = st.lists(st.integers(0, (1 << BITS) - 1), unique=True, max_size=60)


def place_of(state: int, store: Store, like: int | None = None) -> int:
    """Return the number of a state that the kernel finds, or -1; it takes its hash for that of another one, if told."""
    row, other = (np.zeros(store.kept.width, np.uint64) for _ in range(2))
    for each, kept in ((state, row), (state if like is None else like, other)):
        if kernel.pack(row_of(each, store.words), store.words, 0, store.kept._replace(rows=kept)) != NONE:
            return -1
    return (int(slot_of(row, other, store.kept)) & int(store.kept.numbers)) - 1


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
            assert [place_of(state, store) for state in known] == list(range(len(known)))
            half = len(known) // 2
            assert [each for part in store.words_from(half) for each in row_numbers(part)] == known[half:]
            assert store.most >= len(known)
            store.make_room(room)
            assert store.most >= len(known) + room - 1
            store.widen(store.words + 1)
            for word in np.flatnonzero(store.kept.fields < 1 << CODE):
                store.make_codes(int(word))
        assert place_of((1 << BITS) + 1, store) == -1


@pytest.mark.parametrize("begun", [1_000, 4_096, 10_007])
def test_a_state_takes_at_most_eight_bytes_of_the_table(begun: int) -> None:
    """Right after the table grew it is as empty as it gets."""
    store = Store(1, packed(range(begun), 1), begun)
    store.make_room(1)
    assert store.kept.slots.nbytes <= 8 * store.size + 8
    assert store.most > store.size


def test_most_words_are_kept_as_codes() -> None:
    """Three words of sixty values take one, and four where one of them has more values than there are codes."""
    known = [value << 64 | value << 128 for value in range(60)]
    for places, width in ((128, 1), (64, 3)):
        with patch.multiple(module, FEWEST=2, MOST=places):
            store = Store(3, packed(known, 3), 60)
        assert store.kept.width == width
        assert store[:] == known


@pytest.mark.parametrize("bit", [0, 63, 64, BITS])
def test_a_state_is_told_from_one_with_the_same_hash(bit: int) -> None:
    state = (1 << BITS) // 3
    store = Store(3, packed([state], 3), 4)
    assert place_of(state, store) == 0
    assert place_of(state ^ 1 << bit, store, like=state) == -1


def test_more_states_than_numbers_are_refused() -> None:
    store = Store(1, packed([0, 1], 1), 4)
    with pytest.raises(MemoryError):
        store.make_room(MOST_STATES)
    assert store[:] == [0, 1]
