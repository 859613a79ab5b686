"""The machine's part of a search: states as rows of 64-bit words, expanded by looking answers up in tables.

Nothing here knows a protocol. What a group of actions does in all states that agree on the bits they read is an answer,
worked out once outside and found here by these bits; where there is none, the bits are noted and the state has to wait.
Compiled once on a machine, and kept on its disk.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from carnet_check.engines.native.tables import AWAITED, NONE, Marks, Missing, Numbers, Slots, Tables, Words

COUNT, EXPANDED, DOMINATED, MISSES, WARMED = range(5)
"""Places among the counters of a search."""
DONE, MISSING, FULL, NARROW, SIGHTED = range(5)
"""Why a function comes back: all is done, answers or room are missing, the buffer is too small, something is seen."""
_SPREAD = np.uint64(0x9E3779B97F4A7C15)
_FIRST = np.uint64(0xFF51AFD7ED558CCD)
_SECOND = np.uint64(0xC4CEB9FE1A85EC53)
_33, _32, _29, _1 = np.uint64(33), np.uint64(32), np.uint64(29), np.uint64(1)
_ZERO = np.uint64(0)
_AHEAD = 256
"""How many states are looked at for further missing answers, once one has to wait."""


@njit(cache=True, inline="always")
def mixed(h: np.uint64) -> np.uint64:
    """Spread the bits of a hash."""
    h ^= h >> _33
    h *= _FIRST
    h ^= h >> _29
    h *= _SECOND
    return h ^ (h >> _32)


@njit(cache=True, inline="always")
def hashed(state: Words) -> np.uint64:
    """Return the hash of a state; no word waits for the one before."""
    h = _ZERO
    for word in range(state.shape[0]):
        spread = state[word] * _SPREAD
        h += (spread ^ (spread >> _32)) * (_FIRST + np.uint64(2 * word))
    return mixed(h)


@njit(cache=True, inline="always")
def home(h: np.uint64, size: int) -> np.int64:
    """Return the place where a hash belongs in a table of any size."""
    return np.int64(((h >> _32) * np.uint64(size)) >> _32)


@njit(cache=True, inline="always")
def entry(memo: int, state: Words, tables: Tables) -> np.int64:
    """Return the place of a memo's entry for a state, or of the empty place where it belongs."""
    h = np.uint64(memo + 1) * _SECOND
    for number in range(tables.lengths[memo]):
        word = tables.words[memo, number]
        h ^= (state[word] & tables.masks[memo, word]) * tables.factors[word]
    place = np.int64(mixed(h) & np.uint64(tables.owners.shape[0] - 1))
    while tables.owners[place] != NONE:
        if tables.owners[place] == memo:
            same = True
            for number in range(tables.lengths[memo]):
                word = tables.words[memo, number]
                if tables.keys[place, word] != state[word] & tables.masks[memo, word]:
                    same = False
                    break
            if same:
                return place
        place = (place + 1) & (tables.owners.shape[0] - 1)
    return place


@njit(cache=True)
def enter(memo: int, state: Words, answer: int, tables: Tables) -> None:
    """Enter an answer of a memo."""
    place = entry(memo, state, tables)
    tables.owners[place] = memo
    tables.answers[place] = answer
    for word in range(state.shape[0]):
        tables.keys[place, word] = state[word] & tables.masks[memo, word]


@njit(cache=True)
def await_answer(memo: int, state: Words, tables: Tables, missing: Missing, misses: int) -> int:
    """Note that an answer is missing, if there is room, and enter that it is; return how many are missing."""
    if misses < missing.memos.shape[0]:
        enter(memo, state, AWAITED, tables)
        missing.memos[misses] = memo
        for word in range(state.shape[0]):
            missing.states[misses, word] = state[word]
        misses += 1
    return misses


@njit(cache=True)
def successors(  # noqa: PLR0912 # a call in the innermost loop costs more than what it does
    state: Words,
    tables: Tables,
    chosen: Numbers,
    buffer: Words,
    fill: int,
    missing: Missing,
    misses: int,
) -> tuple[int, int]:
    """Write what follows a state into the buffer from ``fill`` on.

    Returns:
        Where it ends, or -1 where answers are missing, or -2 where the buffer is full; and how many are missing.
    """
    known = True
    total = 0
    for number in range(tables.moving.shape[0]):
        memo = tables.moving[number]
        place = entry(memo, state, tables)
        if tables.owners[place] == NONE:
            misses = await_answer(memo, state, tables, missing, misses)
            known = False
        elif tables.answers[place] == AWAITED:
            known = False
        else:
            chosen[number] = tables.answers[place]
            total += tables.counts[tables.answers[place]]
    if not known:
        return -1, misses
    if fill + total > buffer.shape[0]:
        return -2, misses
    for number in range(tables.moving.shape[0]):
        first = tables.firsts[chosen[number]]
        for listed in range(first, first + tables.counts[chosen[number]]):
            effect = tables.effects[listed]
            after, touched, cleared = buffer[fill], tables.touched[effect], tables.cleared[effect]
            for word in range(state.shape[0]):
                after[word] = (state[word] | touched[word]) ^ cleared[word]
            memo = tables.closures[effect]
            if memo != NONE:
                place = entry(memo, after, tables)
                change = tables.answers[place]
                if tables.owners[place] == NONE:
                    misses = await_answer(memo, after, tables, missing, misses)
                    known = False
                elif change == AWAITED:
                    known = False
                elif change:
                    touched, cleared = tables.change_touched[change], tables.change_cleared[change]
                    for word in range(state.shape[0]):
                        after[word] = (after[word] | touched[word]) ^ cleared[word]
            fill += 1
    return (fill if known else -1), misses


@njit(cache=True, inline="always")
def find(state: Words, place: np.int64, found: Words, slots: Slots) -> np.int64:
    """Return the slot of a state, from where it belongs on, or the empty slot where it would be."""
    while slots[place]:
        other = found[np.int64(slots[place]) - 1]
        same = True
        for word in range(state.shape[0]):
            if other[word] != state[word]:
                same = False
                break
        if same:
            return place
        place += 1
        if place == slots.shape[0]:
            place = np.int64(0)
    return place


@njit(cache=True)
def is_dominated(state: Words, spent: np.uint64, found: Words, slots: Slots) -> bool:
    """Whether the same state was found at less cost."""
    own = state[0]
    dominated = False
    for _ in range(np.int64(own & spent)):
        state[0] -= _1
        if slots[find(state, home(hashed(state), slots.shape[0]), found, slots)]:
            dominated = True
            break
    state[0] = own
    return dominated


@njit(cache=True)
def add_all(
    buffer: Words, fill: int, places: Numbers, found: Words, slots: Slots, spent: np.uint64, counters: Numbers
) -> None:
    """Add the states of a buffer that were not found before.

    Memory is slow and answers many questions at once, so everything is asked for first.
    """
    warmed = _ZERO
    for number in range(fill):
        places[number] = home(hashed(buffer[number]), slots.shape[0])
        warmed += np.uint64(slots[places[number]])
    for number in range(fill):
        other = np.int64(slots[places[number]])
        if other:
            warmed += found[other - 1, 0]
    counters[WARMED] = np.int64(warmed >> _1)
    count = counters[COUNT]
    for number in range(fill):
        state = buffer[number]
        place = find(state, places[number], found, slots)
        if slots[place]:
            continue
        if state[0] & spent and is_dominated(state, spent, found, slots):
            counters[DOMINATED] += 1
            continue
        kept = found[count]
        for word in range(state.shape[0]):
            kept[word] = state[word]
        count += 1
        slots[place] = count
    counters[COUNT] = count


@njit(cache=True)
def expand(
    end: int,
    most: int,
    found: Words,
    slots: Slots,
    spent: np.uint64,
    level: int,
    idle: Marks,
    tables: Tables,
    chosen: Numbers,
    buffer: Words,
    places: Numbers,
    missing: Missing,
    counters: Numbers,
) -> int:
    """Expand states up to ``end``, as long as there is room for ``most`` states; say why it comes back.

    States of the level that begins at ``level`` are left out where ``idle`` says so, if it says anything.
    """
    at = counters[EXPANDED]
    fill = 0
    misses = 0
    waiting = 0
    while at < end and waiting < _AHEAD:
        if idle.shape[0] and idle[at - level]:
            if not waiting:
                counters[EXPANDED] = at + 1
            at += 1
            continue
        if counters[COUNT] + fill + buffer.shape[0] > most:
            add_all(buffer, fill, places, found, slots, spent, counters)
            fill = 0
            if counters[COUNT] + buffer.shape[0] > most:
                counters[MISSES] = misses
                return MISSING if misses else FULL
        after, misses = successors(found[at], tables, chosen, buffer, fill, missing, misses)
        if after == -2:
            if not fill:
                counters[MISSES] = misses
                return NARROW
            add_all(buffer, fill, places, found, slots, spent, counters)
            fill = 0
            continue
        if waiting or after < 0:
            waiting += 1
        else:
            fill = after
            for number in range(tables.moving.shape[0]):
                tables.visits[chosen[number]] += 1
            counters[EXPANDED] = at + 1
        at += 1
    add_all(buffer, fill, places, found, slots, spent, counters)
    counters[MISSES] = misses
    return MISSING if misses else DONE


@njit(cache=True)
def look(
    begin: int, end: int, found: Words, looking: Numbers, tables: Tables, missing: Missing, counters: Numbers
) -> tuple[int, int]:
    """Look at states for something that is looked for; say why it comes back, and at which state."""
    misses = 0
    waiting = begin
    known = True
    why = DONE
    for at in range(begin, end):
        state = found[at]
        for number in range(looking.shape[0]):
            place = entry(looking[number], state, tables)
            if tables.owners[place] == NONE:
                misses = await_answer(looking[number], state, tables, missing, misses)
                known = False
            elif tables.answers[place] == AWAITED:
                known = False
            elif tables.answers[place] and known:
                why = SIGHTED
        if why == SIGHTED and known:
            break
        why = DONE
        if known:
            waiting = at + 1
        elif at > waiting + _AHEAD:
            break
    counters[MISSES] = misses
    return (MISSING if misses else why), waiting


@njit(cache=True)
def predecessor(
    begin: int,
    end: int,
    target: int,
    found: Words,
    tables: Tables,
    chosen: Numbers,
    buffer: Words,
    missing: Missing,
    counters: Numbers,
) -> tuple[int, int]:
    """Return the first state from ``begin`` on that a given one follows; say why it comes back, and where it is."""
    for at in range(begin, end):
        after, misses = successors(found[at], tables, chosen, buffer, 0, missing, 0)
        counters[MISSES] = misses
        if after == -2:
            return NARROW, at
        if after < 0:
            return MISSING, at
        for number in range(after):
            same = True
            for word in range(found.shape[1]):
                if buffer[number, word] != found[target, word]:
                    same = False
                    break
            if same:
                return SIGHTED, at
    return DONE, end


@njit(cache=True)
def pass_over(begin: int, found: Words, slots: Slots, spent: np.uint64, idle: Marks) -> int:
    """Mark the states of a level that are dominated, and return how many are."""
    passed = 0
    state = np.empty(found.shape[1], np.uint64)
    for number in range(idle.shape[0]):
        if found[begin + number, 0] & spent:
            state[:] = found[begin + number]
            if is_dominated(state, spent, found, slots):
                idle[number] = 1
                passed += 1
    return passed


@njit(cache=True)
def enter_all(count: int, found: Words, slots: Slots) -> None:
    """Enter the states found into empty slots."""
    for at in range(count):
        place = home(hashed(found[at]), slots.shape[0])
        while slots[place]:
            place += 1
            if place == slots.shape[0]:
                place = np.int64(0)
        slots[place] = at + 1
