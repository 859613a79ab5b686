"""States as rows of words: what goes in comes out, in order, however often there is more room or more words."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

pytest.importorskip("numba", reason="the extra 'fast' is not installed")

from carnet_check.engines.native import kernel
from carnet_check.engines.native.store import MOST_STATES, Store, row_of

BITS = 130
states = st.lists(st.integers(0, (1 << BITS) - 1), unique=True, max_size=60)


def place_of(state: int, store: Store) -> int:
    """Return the number of a state that the kernel finds, or -1."""
    row = row_of(state, store.words)
    home = kernel.home(np.uint64(kernel.hashed(row)), len(store.slots))
    slot = kernel.find(row, home, store.rows, store.slots)
    return int(store.slots[slot]) - 1


@given(states, st.integers(0, 40), st.integers(1, 50))
def test_states_keep_their_order_and_are_found_again(known: list[int], more: int, room: int) -> None:
    store = Store(3, known, len(known) + more + 1)
    for _ in range(2):
        assert list(store) == store[:] == known
        assert len(store) == len(known)
        assert [place_of(state, store) for state in known] == list(range(len(known)))
        assert place_of((1 << BITS) + 1, store) == -1
        assert store.most >= len(known)
        store.make_room(room)
        assert store.most >= len(known) + room - 1
        store.widen(store.words + 1)


def test_more_states_than_numbers_are_refused() -> None:
    store = Store(1, [0, 1], 4)
    with pytest.raises(MemoryError):
        store.make_room(MOST_STATES)
    assert store[:] == [0, 1]
