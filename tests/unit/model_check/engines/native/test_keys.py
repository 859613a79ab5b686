"""Keys: what is gathered into few words is all there, however it grew."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

pytest.importorskip("numba", reason="the extra 'fast' is not installed")

from carnet_check.engines.native.store import WORD, Gathering

WORDS = 3
ALL = (1 << WORD) - 1
bits = st.integers(0, (1 << WORD * WORDS) - 1)
few = st.lists(st.integers(0, WORD * WORDS - 1), max_size=12).map(lambda places: sum(1 << place for place in {*places}))
growing = st.lists(few | bits, min_size=1, max_size=5)


def gathered(key: Gathering, state: int) -> list[int]:
    """Gather a key as the kernel does."""
    found = []
    for part in key.parts:
        word = 0
        for source, (mask, turn) in enumerate(zip(part.masks, part.turns, strict=True)):
            some = state >> WORD * source & mask
            word |= (some << turn | some >> WORD - turn) & ALL
        found.append(word)
    return found


def scattered(key: Gathering, gathered: list[int]) -> int:
    """Return the state that a key was gathered from."""
    (words,) = key.scattered(np.array([gathered], np.uint64).reshape(1, -1))
    return int.from_bytes(words.tobytes(), "little")


@given(growing, bits)
def test_every_bit_that_is_read_comes_back(reads: list[int], state: int) -> None:
    key = Gathering(WORDS, 0)
    read = 0
    for more in reads:
        key.read(more)
        read |= more
        assert scattered(key, gathered(key, state)) == state & read


@given(bits, few, bits)
def test_what_was_gathered_stays_where_it_is_when_more_is_read(reads: int, more: int, state: int) -> None:
    key = Gathering(WORDS, reads)
    before = gathered(key, state & reads)
    key.read(more)
    assert gathered(key, state & reads)[: len(before)] == before


@given(bits)
def test_a_key_is_no_longer_than_a_state(reads: int) -> None:
    assert len(Gathering(WORDS, reads).parts) <= WORDS


@given(few)
def test_few_bits_are_one_word_wherever_they_are(reads: int) -> None:
    assert len(Gathering(WORDS, reads).parts) <= 1
