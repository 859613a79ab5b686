"""The machine's part of a search: states as rows of 64-bit words, expanded by looking answers up in tables.

Nothing here knows a protocol. What a group of actions does in all states that agree on the bits they read is an answer,
worked out once outside and found here by these bits; where there is none, the bits are noted and the state has to wait.

Compiled once on a machine for each number of words, and kept on its disk. All of it is in this file, since what is kept
is compiled anew when its file changes, but not when another does.
"""

from __future__ import annotations

import numpy as np

from carnet_check.engines.native.compiling import compiled, fetch, inlined
from carnet_check.engines.native.tables import (
    AWAITED,
    EMPTY,
    FIRST,
    NONE,
    Form,
    Kept,
    Marks,
    Missing,
    Number,
    Numbers,
    Tables,
    Words,
    Work,
)

COUNT, EXPANDED, DOMINATED, MISSES = range(4)
"""Places among the counters of a search."""
DONE, MISSING, FULL, NARROW, SIGHTED = range(5)
"""Why a function comes back: all is done, answers or room are missing, the buffer is too small, something is seen."""
_SPREAD = np.uint64(0x9E3779B97F4A7C15)
_FIRST = np.uint64(0xFF51AFD7ED558CCD)
_SECOND = np.uint64(0xC4CEB9FE1A85EC53)
_64, _63, _33, _32, _29, _1 = (np.uint64(number) for number in (64, 63, 33, 32, 29, 1))
_ZERO = np.uint64(0)
_UNKNOWN, _NO_ROOM = -1, -2
"""Instead of where successors end: answers are missing, or the buffer is full."""
_AHEAD = 256
"""How many states are looked at for further missing answers, once one has to wait."""

nth = np.uint64
"""Makes an index unsigned: of any other, Numba asks whether it counts from the end, which takes a third of the time."""

# -- answers ---------------------------------------------------------------------------------------


@inlined
def cell_of(form: Form, memo: Number, states: Words, at: Number, tables: Tables, key: Words) -> Number:
    """Return the place of a memo's cell for the state that begins at ``at``, or of the empty one where it belongs."""
    length = tables.lengths[nth(memo)]
    h = _ZERO
    for part in range(length):
        first = (tables.begins[nth(memo)] + part) * len(form)
        gathered = _ZERO
        for word in range(len(form)):
            bits = states[nth(at + word)] & tables.masks[nth(first + word)]
            turn = tables.turns[nth(first + word)]
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


@compiled
def enter(form: Form, memo: Number, states: Words, at: Number, content: Number, tables: Tables, key: Words) -> None:
    """Enter something in a memo's cell for a state."""
    place = cell_of(form, memo, states, at, tables, key)
    if tables.cells[nth(place)] == EMPTY:
        tables.known[nth(memo)] += 1
        for part in range(tables.lengths[nth(memo)]):
            tables.cells[nth(place + 1 + part)] = key[nth(part)]
    tables.cells[nth(place)] = content


@compiled
def await_answer(
    form: Form, memo: Number, states: Words, at: Number, tables: Tables, key: Words, missing: Missing, counters: Numbers
) -> None:
    """Note that an answer is missing, if there is room, and enter that it is."""
    misses = counters[MISSES]
    if misses < missing.memos.shape[0]:
        enter(form, memo, states, at, AWAITED, tables, key)
        missing.memos[nth(misses)] = memo
        for word in range(len(form)):
            missing.states[nth(misses * len(form) + word)] = states[nth(at + word)]
        counters[MISSES] = misses + 1


@inlined
def change(
    form: Form, states: Words, at: Number, after: Words, to: Number, touched: Words, cleared: Words, number: Number
) -> None:
    """Write a state as masks change it."""
    for word in range(len(form)):
        mask = number * len(form) + word
        after[nth(to + word)] = (states[nth(at + word)] | touched[nth(mask)]) ^ cleared[nth(mask)]


@inlined
def differ(form: Form, states: Words, at: Number, others: Words, to: Number) -> bool:
    """Whether two states are not the same."""
    difference = _ZERO
    for word in range(len(form)):
        difference |= states[nth(at + word)] ^ others[nth(to + word)]
    return bool(difference != _ZERO)


@inlined
def successors(
    form: Form, states: Words, at: Number, tables: Tables, work: Work, fill: Number, missing: Missing, counters: Numbers
) -> Number:
    """Write what follows a state into the buffer from ``fill`` on; return where it ends, or _UNKNOWN or _NO_ROOM.

    The state itself is left out, so that it is not looked for.
    """
    known = True
    total = 0
    for number in range(tables.moving.shape[0]):
        memo = tables.moving[nth(number)]
        content = np.int64(tables.cells[nth(cell_of(form, memo, states, at, tables, work.key))])
        if content == EMPTY:
            await_answer(form, memo, states, at, tables, work.key, missing, counters)
        if content < FIRST:
            known = False
        else:
            work.chosen[nth(number)] = content - FIRST
            total += tables.firsts[nth(content - FIRST + 1)] - tables.firsts[nth(content - FIRST)]
    if not known:
        return _UNKNOWN
    if fill + total > work.hashes.shape[0]:
        return _NO_ROOM
    for number in range(tables.moving.shape[0]):
        answer = work.chosen[nth(number)]
        for listed in range(tables.firsts[nth(answer)], tables.firsts[nth(answer + 1)]):
            effect = tables.effects[nth(listed)]
            to = fill * len(form)
            change(form, states, at, work.buffer, to, tables.touched, tables.cleared, effect)
            memo = tables.closures[nth(effect)]
            if memo != NONE:
                content = np.int64(tables.cells[nth(cell_of(form, memo, work.buffer, to, tables, work.key))])
                if content == EMPTY:
                    await_answer(form, memo, work.buffer, to, tables, work.key, missing, counters)
                if content < FIRST:
                    known = False
                elif content > FIRST:
                    added = content - FIRST
                    change(form, work.buffer, to, work.buffer, to, tables.change_touched, tables.change_cleared, added)
            fill += differ(form, states, at, work.buffer, to)
    return fill if known else _UNKNOWN


# -- states ----------------------------------------------------------------------------------------


@inlined
def hashed(form: Form, states: Words, at: Number) -> np.uint64:
    """Return the hash of a state; no word waits for the one before."""
    h = _ZERO
    for word in range(len(form)):
        spread = states[nth(at + word)] * _SPREAD
        h += (spread ^ (spread >> _32)) * (_FIRST + np.uint64(2 * word))
    h ^= h >> _33
    h *= _FIRST
    h ^= h >> _29
    h *= _SECOND
    return h ^ (h >> _32)


@inlined
def home(h: np.uint64, kept: Kept) -> Number:
    """Return the slot where a hash belongs."""
    return np.int64(((h >> _32) * np.uint64(kept.slots.shape[0])) >> _32)


@inlined
def following(place: Number, kept: Kept) -> Number:
    """Return the slot after another one; after the last comes the first."""
    return place + 1 if place + 1 < kept.slots.shape[0] else 0


@inlined
def likely(h: np.uint64, place: Number, kept: Kept) -> Number:
    """Return the first slot from ``place`` on that is empty or may be that of a state with this hash.

    What a slot does not need for the number of a state is as in its hash, so that few rows are looked at in vain.
    """
    while kept.slots[nth(place)] and ((np.uint64(kept.slots[nth(place)]) ^ h) & ~kept.numbers) << _32 != _ZERO:
        place = following(place, kept)
    return place


@inlined
def slot_of(form: Form, h: np.uint64, place: Number, states: Words, at: Number, kept: Kept) -> Number:
    """Return the slot of a state, from where it belongs on, or the empty one where it would be."""
    place = likely(h, place, kept)
    while kept.slots[nth(place)]:
        other = (np.int64(np.uint64(kept.slots[nth(place)]) & kept.numbers) - 1) * len(form)
        if not differ(form, kept.rows, other, states, at):
            break
        place = likely(h, following(place, kept), kept)
    return place


@inlined
def is_dominated(form: Form, states: Words, at: Number, spent: np.uint64, kept: Kept) -> bool:
    """Whether the same state was found at less cost."""
    own = states[nth(at)]
    dominated = False
    for _ in range(np.int64(own & spent)):
        states[nth(at)] -= _1
        h = hashed(form, states, at)
        if kept.slots[nth(slot_of(form, h, home(h, kept), states, at, kept))]:
            dominated = True
            break
    states[nth(at)] = own
    return dominated


@inlined
def add_all(form: Form, work: Work, fill: Number, kept: Kept, spent: np.uint64, counters: Numbers) -> None:
    """Add the states of the buffer that were not found before.

    Memory is slow and answers many questions at once, so everything is asked for first.
    """
    words = len(form)
    for number in range(fill):
        h = hashed(form, work.buffer, number * words)
        work.hashes[nth(number)] = h
        fetch(kept.slots, home(h, kept))
    for number in range(fill):
        h = work.hashes[nth(number)]
        place = likely(h, home(h, kept), kept)
        work.places[nth(number)] = place
        if kept.slots[nth(place)]:
            other = (np.int64(np.uint64(kept.slots[nth(place)]) & kept.numbers) - 1) * words
            fetch(kept.rows, other)
            fetch(kept.rows, other + words - 1)
    count = counters[COUNT]
    for number in range(fill):
        at = number * words
        place = slot_of(form, work.hashes[nth(number)], work.places[nth(number)], work.buffer, at, kept)
        if kept.slots[nth(place)]:
            continue
        if work.buffer[nth(at)] & spent and is_dominated(form, work.buffer, at, spent, kept):
            counters[DOMINATED] += 1
            continue
        for word in range(words):
            kept.rows[nth(count * words + word)] = work.buffer[nth(at + word)]
        count += 1
        kept.slots[nth(place)] = np.uint32((work.hashes[nth(number)] & ~kept.numbers) | np.uint64(count))
    counters[COUNT] = count


# -- what is called --------------------------------------------------------------------------------


@compiled
def expand(
    form: Form,
    end: Number,
    most: Number,
    kept: Kept,
    spent: np.uint64,
    level: Number,
    idle: Marks,
    tables: Tables,
    work: Work,
    missing: Missing,
    counters: Numbers,
) -> Number:
    """Expand states up to ``end``, as long as there is room for ``most`` states; say why it comes back.

    States of the level that begins at ``level`` are left out where ``idle`` says so, if it says anything.
    """
    at = counters[EXPANDED]
    waiting = 0
    while True:
        if counters[COUNT] + work.hashes.shape[0] > most:
            return MISSING if counters[MISSES] else FULL
        fill: Number = 0
        after: Number = 0
        while at < end and waiting < _AHEAD:
            if not (idle.shape[0] and idle[nth(at - level)]):
                after = successors(form, kept.rows, at * len(form), tables, work, fill, missing, counters)
                if after == _NO_ROOM:
                    break
                if waiting or after == _UNKNOWN:
                    waiting += 1
                else:
                    fill = after
                    for number in range(tables.moving.shape[0]):
                        tables.visits[nth(work.chosen[nth(number)])] += 1
            at += 1
            if not waiting:
                counters[EXPANDED] = at
        if after == _NO_ROOM and not fill:
            return MISSING if counters[MISSES] else NARROW
        add_all(form, work, fill, kept, spent, counters)
        if after != _NO_ROOM:
            return MISSING if counters[MISSES] else DONE


@compiled
def look(
    form: Form,
    end: Number,
    kept: Kept,
    looking: Numbers,
    tables: Tables,
    work: Work,
    missing: Missing,
    counters: Numbers,
) -> Number:
    """Look at states up to ``end`` for something that is looked for; say why it comes back."""
    waiting = 0
    for at in range(counters[EXPANDED], end):
        known: Number = 0
        seen: Number = 0
        for number in range(looking.shape[0]):
            memo = looking[number]
            content = np.int64(tables.cells[nth(cell_of(form, memo, kept.rows, at * len(form), tables, work.key))])
            if content == EMPTY:
                await_answer(form, memo, kept.rows, at * len(form), tables, work.key, missing, counters)
            known += content >= FIRST
            seen += content > FIRST
        if waiting or known < looking.shape[0]:
            waiting += 1
            if waiting > _AHEAD:
                break
        elif seen:
            return SIGHTED
        else:
            counters[EXPANDED] = at + 1
    return MISSING if counters[MISSES] else DONE


@compiled
def predecessor(
    form: Form, end: Number, target: Number, kept: Kept, tables: Tables, work: Work, missing: Missing, counters: Numbers
) -> Number:
    """Find the first state that another one follows; say why it comes back."""
    for at in range(counters[EXPANDED], end):
        counters[EXPANDED] = at
        after = successors(form, kept.rows, at * len(form), tables, work, 0, missing, counters)
        if after == _NO_ROOM:
            return NARROW
        if after == _UNKNOWN:
            return MISSING
        for number in range(after):
            if not differ(form, work.buffer, number * len(form), kept.rows, target * len(form)):
                return SIGHTED
    return DONE


@compiled
def pass_over(form: Form, begin: Number, kept: Kept, spent: np.uint64, idle: Marks, key: Words) -> Number:
    """Mark the states of a level that are dominated, and return how many are."""
    passed = 0
    for number in range(idle.shape[0]):
        at = (begin + number) * len(form)
        if kept.rows[nth(at)] & spent:
            for word in range(len(form)):
                key[nth(word)] = kept.rows[nth(at + word)]
            if is_dominated(form, key, 0, spent, kept):
                idle[nth(number)] = 1
                passed += 1
    return passed


@compiled
def enter_all(form: Form, count: Number, kept: Kept, homes: Words) -> None:
    """Enter the states found, all of them different, into empty slots."""
    ahead = homes.shape[0]
    for begin in range(0, count, ahead):
        end = min(begin + ahead, count)
        for at in range(begin, end):
            homes[nth(at - begin)] = hashed(form, kept.rows, at * len(form))
            fetch(kept.slots, home(homes[nth(at - begin)], kept))
        for at in range(begin, end):
            h = homes[nth(at - begin)]
            place = home(h, kept)
            while kept.slots[nth(place)]:
                place = following(place, kept)
            kept.slots[nth(place)] = np.uint32((h & ~kept.numbers) | np.uint64(at + 1))
