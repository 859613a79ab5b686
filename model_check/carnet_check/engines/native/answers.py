"""How the kernel looks up what is known: the answers of memos by the bits they read, and the edits that these list."""

from __future__ import annotations

import numpy as np

from carnet_check.engines.native.compiling import compiled, inlined, nth
from carnet_check.engines.native.tables import (
    AWAITED,
    BLOCK,
    EMPTY,
    FIRST,
    MARKED,
    MISSES,
    Missing,
    Number,
    Numbers,
    Tables,
    Words,
    Work,
)

_SPREAD = np.uint64(0x9E3779B97F4A7C15)
_64, _63, _32 = (np.uint64(number) for number in (64, 63, 32))
_ZERO = np.uint64(0)
_FIRST = np.uint64(FIRST)


@inlined
def gathered(word: np.uint64, piece: Number, tables: Tables) -> np.uint64:
    """Return some bits of a word, turned to where a key has them."""
    bits: np.uint64 = word & tables.masks[nth(piece)]
    turn = tables.turns[nth(piece)]
    turned: np.uint64 = (bits << turn) | (bits >> ((_64 - turn) & _63))
    return turned


@inlined
def mixed(h: np.uint64, word: np.uint64) -> np.uint64:
    """Return the hash of a key with one more word."""
    h = (h ^ word) * _SPREAD
    return h ^ (h >> _32)


@inlined
def cell_at(h: np.uint64, memo: Number, keys: Words, at: Number, step: Number, tables: Tables) -> Number:
    """Return the place of the cell for a key, or of the empty one where it belongs, in a memo's table.

    The words of the key are ``step`` from one another. The highest bits of a hash say where it belongs: the lowest
    depend on few bits of the key.
    """
    length, base, last = tables.lengths[nth(memo)], tables.bases[nth(memo)], tables.sizes[nth(memo)] - 1
    number = np.int64(h >> tables.drops[nth(memo)])
    while True:
        place: Number = base + number * (length + 1)
        if tables.cells[nth(place)] == EMPTY:
            return place
        difference = _ZERO
        for part in range(length):
            difference |= tables.cells[nth(place + 1 + part)] ^ keys[nth(at + part * step)]
        if difference == _ZERO:
            return place
        number = (number + 1) & last


@inlined
def cell_of(memo: Number, states: Words, at: Number, tables: Tables, key: Words) -> Number:
    """Return the place of a memo's cell for the state that begins at ``at``, or of the empty one where it belongs."""
    begin = tables.begins[nth(memo)]
    h = _ZERO
    for part in range(tables.lengths[nth(memo)]):
        word = _ZERO
        for piece in range(tables.pieces[nth(begin + part)], tables.pieces[nth(begin + part + 1)]):
            word |= gathered(states[nth(at + tables.sources[nth(piece)])], piece, tables)
        key[nth(part)] = word
        h = mixed(h, word)
    return cell_at(h, memo, key, 0, 1, tables)


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


# -- blocks ----------------------------------------------------------------------------------------


@inlined
def gather_all(memo: Number, count: Number, tables: Tables, work: Work) -> None:
    """Gather the keys of a block, and hash them."""
    begin = tables.begins[nth(memo)]
    for number in range(count):
        work.sums[nth(number)] = _ZERO
    for part in range(tables.lengths[nth(memo)]):
        to = part * BLOCK
        for number in range(count):
            work.keys[nth(to + number)] = _ZERO
        for piece in range(tables.pieces[nth(begin + part)], tables.pieces[nth(begin + part + 1)]):
            source = tables.sources[nth(piece)] * BLOCK
            for number in range(count):
                work.keys[nth(to + number)] |= gathered(work.block[nth(source + number)], piece, tables)
        for number in range(count):
            work.sums[nth(number)] = mixed(work.sums[nth(number)], work.keys[nth(to + number)])


@inlined
def compare_all(memo: Number, line: Number, count: Number, tables: Tables, work: Work) -> bool:
    """Read the cells where the keys of a block belong; return whether any holds another key or no answer.

    Each loop does one thing to all states, without a branch: they do not wait for one another.
    """
    length, base, drop = tables.lengths[nth(memo)], tables.bases[nth(memo)], tables.drops[nth(memo)]
    for number in range(count):
        work.spots[nth(number)] = base + np.int64(work.sums[nth(number)] >> drop) * (length + 1)
        work.differences[nth(number)] = _ZERO
    for part in range(length):
        for number in range(count):
            found = tables.cells[nth(work.spots[nth(number)] + 1 + part)]
            work.differences[nth(number)] |= found ^ work.keys[nth(part * BLOCK + number)]
    wrong = _ZERO
    for number in range(count):
        content = tables.cells[nth(work.spots[nth(number)])]
        work.contents[nth(line + number)] = content
        work.differences[nth(number)] |= np.uint64(content < _FIRST)
        wrong |= work.differences[nth(number)]
    return bool(wrong != _ZERO)


@inlined
def look_on(
    memo: Number,
    line: Number,
    known: Number,
    count: Number,
    tables: Tables,
    work: Work,
    missing: Missing,
    counters: Numbers,
) -> Number:
    """Look on where a cell was another key's; return how many of so many known states come before the first miss."""
    for number in range(count):
        if work.differences[nth(number)] == _ZERO:
            continue
        place = cell_at(work.sums[nth(number)], memo, work.keys, number, BLOCK, tables)
        content = tables.cells[nth(place)]
        work.contents[nth(line + number)] = content
        if content == EMPTY:
            for word in range(work.state.shape[0]):
                work.state[nth(word)] = work.block[nth(word * BLOCK + number)]
            await_answer(memo, work.state, tables, work.key, missing, counters)
        if content < _FIRST:
            known = min(known, number)
    return known


@inlined
def answer_all(
    memos: Numbers, count: Number, tables: Tables, work: Work, missing: Missing, counters: Numbers
) -> Number:
    """Look the answers of memos up for a block; return how many states come before the first that lacks one.

    All of a memo's are looked up together, since its table is small then.
    """
    known = count
    for place in range(work.marks.shape[0]):
        work.marks[nth(place)] = _ZERO
    for each in range(memos.shape[0]):
        memo, line = memos[nth(each)], each * BLOCK
        gather_all(memo, count, tables, work)
        if compare_all(memo, line, count, tables, work):
            known = look_on(memo, line, known, count, tables, work, missing, counters)
        marks, bit = each // MARKED * BLOCK, np.uint64(each % MARKED)
        for number in range(count):
            work.marks[nth(marks + number)] |= np.uint64(work.contents[nth(line + number)] > FIRST) << bit
    return known
