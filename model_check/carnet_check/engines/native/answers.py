"""How the kernel looks up what is known: the answers of memos by the bits they read, and the edits that these list."""

from __future__ import annotations

import numpy as np

from carnet_check.engines.native.compiling import compiled, inlined, nth
from carnet_check.engines.native.tables import AWAITED, EMPTY, MISSES, Missing, Number, Numbers, Tables, Words

_SPREAD = np.uint64(0x9E3779B97F4A7C15)
_64, _63, _32 = (np.uint64(number) for number in (64, 63, 32))
_ZERO = np.uint64(0)


@inlined
def cell_of(memo: Number, states: Words, at: Number, tables: Tables, key: Words) -> Number:
    """Return the place of a memo's cell for the state that begins at ``at``, or of the empty one where it belongs."""
    length = tables.lengths[nth(memo)]
    begin = tables.begins[nth(memo)]
    h = _ZERO
    for part in range(length):
        gathered = _ZERO
        for piece in range(tables.pieces[nth(begin + part)], tables.pieces[nth(begin + part + 1)]):
            bits = states[nth(at + tables.sources[nth(piece)])] & tables.masks[nth(piece)]
            turn = tables.turns[nth(piece)]
            gathered |= (bits << turn) | (bits >> ((_64 - turn) & _63))
        key[nth(part)] = gathered
        h = (h ^ gathered) * _SPREAD
        h ^= h >> _32
    last = tables.sizes[nth(memo)] - 1
    number = np.int64(h) & last
    while True:
        place: Number = tables.bases[nth(memo)] + number * (length + 1)
        if tables.cells[nth(place)] == EMPTY:
            return place
        same = True
        for part in range(length):
            same &= tables.cells[nth(place + 1 + part)] == key[nth(part)]
        if same:
            return place
        number = (number + 1) & last


@inlined
def enter(memo: Number, states: Words, at: Number, content: Number, tables: Tables, key: Words) -> None:
    """Enter something in a memo's cell for a state."""
    place = cell_of(memo, states, at, tables, key)
    if tables.cells[nth(place)] == EMPTY:
        tables.known[nth(memo)] += 1
        for part in range(tables.lengths[nth(memo)]):
            tables.cells[nth(place + 1 + part)] = key[nth(part)]
    tables.cells[nth(place)] = content


@compiled
def enter_answers(memos: Numbers, states: Words, words: Number, contents: Words, tables: Tables, key: Words) -> None:
    """Enter answers: of which memos, in which states of so many words."""
    for number in range(contents.shape[0]):
        enter(memos[nth(number)], states, number * words, contents[nth(number)], tables, key)


@inlined
def await_answer(memo: Number, state: Words, tables: Tables, key: Words, missing: Missing, counters: Numbers) -> None:
    """Note that an answer is missing, if there is room, and enter that it is."""
    misses = counters[MISSES]
    if misses < missing.memos.shape[0]:
        enter(memo, state, 0, AWAITED, tables, key)
        missing.memos[nth(misses)] = memo
        for word in range(state.shape[0]):
            missing.states[nth(misses * state.shape[0] + word)] = state[nth(word)]
        counters[MISSES] = misses + 1


@inlined
def answer(memo: Number, state: Words, tables: Tables, key: Words, missing: Missing, counters: Numbers) -> Number:
    """Return what a memo's cell for a state holds; what is missing is noted."""
    content = np.int64(tables.cells[nth(cell_of(memo, state, 0, tables, key))])
    if content == EMPTY:
        await_answer(memo, state, tables, key, missing, counters)
    return content


@inlined
def edit(number: Number, state: Words, tables: Tables) -> None:
    """Change a state."""
    for piece in range(tables.edits[nth(number)], tables.edits[nth(number + 1)]):
        word = tables.targets[nth(piece)]
        state[nth(word)] = (state[nth(word)] | tables.touched[nth(piece)]) ^ tables.cleared[nth(piece)]
