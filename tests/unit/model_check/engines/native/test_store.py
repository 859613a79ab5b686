"""States as rows of words: what goes in comes out, in order, however often there is more room or more words."""

from __future__ import annotations

from collections.abc import Callable
from typing import cast

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

pytest.importorskip("numba", reason="the extra 'fast' is not installed")

import numba

from carnet_check.engines.native import kernel
from carnet_check.engines.native.store import MOST_STATES, Store, row_of
from carnet_check.engines.native.tables import Form, Kept, Number, Words

BITS = 130


def _slot(form: Form, row: Words, like: Words, kept: Kept) -> Number:
    """Return what the slot of a state holds, looked for where another one would be."""
    h = kernel.hashed(form, like, 0)
    return np.int64(kept.slots[kernel.slot_of(form, h, kernel.home(h, kept), row, 0, kept)])


slot_of = cast(Callable[[Form, Words, Words, Kept], int], numba.njit(_slot))
"""Python cannot call what is made for the kernel alone; not kept on the disk, where it would outlive the kernel's."""
states = st.lists(st.integers(0, (1 << BITS) - 1), unique=True, max_size=60)


def place_of(state: int, store: Store, like: int | None = None) -> int:
    """Return the number of a state that the kernel finds, or -1; it takes its hash for that of another one, if told."""
    row = row_of(state, store.words)
    slot = slot_of(store.form, row, row if like is None else row_of(like, store.words), store.kept)
    return (int(slot) & int(store.numbers)) - 1


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


@pytest.mark.parametrize("bit", [0, 63, 64, BITS])
def test_a_state_is_told_from_one_with_the_same_hash(bit: int) -> None:
    state = (1 << BITS) // 3
    store = Store(3, [state], 4)
    assert place_of(state, store) == 0
    assert place_of(state ^ 1 << bit, store, like=state) == -1


def test_more_states_than_numbers_are_refused() -> None:
    store = Store(1, [0, 1], 4)
    with pytest.raises(MemoryError):
        store.make_room(MOST_STATES)
    assert store[:] == [0, 1]
