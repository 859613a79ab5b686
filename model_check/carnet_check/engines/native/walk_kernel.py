"""The machine's part of random walks: steps are drawn and taken by looking answers up in the tables of the search.

One walk is taken after the other. Where an answer is missing, the kernel comes back before anything of the step is
kept, and the step begins again once the answer is there: so it never meets an answer that is awaited. What is drawn is
what :mod:`carnet_check.engines.explicit.chance` draws.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from carnet_check.engines.native.kernel import DONE, MISSING, NARROW, SIGHTED, await_answer, entry
from carnet_check.engines.native.tables import NONE, Missing, Numbers, Tables, Words

NUMBER, TAKEN, STEPS, LONGEST, STUCK, MISSES = range(6)
"""Places among the counters of walks."""
PAUSED = SIGHTED + 1
"""Why a function comes back: it took as many steps as it may at once."""
_STRIDE = np.uint64(0x9E3779B97F4A7C15)
_FIRST = np.uint64(0xBF58476D1CE4E5B9)
_SECOND = np.uint64(0x94D049BB133111EB)
_30, _27, _31, _32 = np.uint64(30), np.uint64(27), np.uint64(31), np.uint64(32)


@njit(cache=True, inline="always")
def mixed(state: np.uint64) -> np.uint64:
    """Spread 64 bits."""
    state = (state ^ (state >> _30)) * _FIRST
    state = (state ^ (state >> _27)) * _SECOND
    return state ^ (state >> _31)


@njit(cache=True, inline="always")
def chance_of(seed: np.uint64, walk: int) -> np.uint64:
    """Return what decides what one walk draws."""
    return mixed(seed) ^ mixed(mixed(np.uint64(walk)) + _STRIDE)


@njit(cache=True, inline="always")
def same_answer(memo: int, changed: Words, tables: Tables) -> bool:
    """Whether the last step changed nothing that a memo reads."""
    for number in range(tables.lengths[memo]):
        word = tables.words[memo, number]
        if changed[word] & tables.masks[memo, word]:
            return False
    return True


@njit(cache=True)
def look(
    state: Words, changed: Words, anew: bool, looking: Numbers, tables: Tables, missing: Missing, counters: Numbers
) -> int:
    """Look at a state for something that is looked for."""
    misses = 0
    why = DONE
    for number in range(looking.shape[0]):
        memo = looking[number]
        if not anew and same_answer(memo, changed, tables):
            continue
        place = entry(memo, state, tables)
        if tables.owners[place] == NONE:
            misses = await_answer(memo, state, tables, missing, misses)
        elif tables.answers[place]:
            why = SIGHTED
    counters[MISSES] = misses
    return MISSING if misses else why


@njit(cache=True)
def offer(
    state: Words, changed: Words, anew: bool, tables: Tables, chosen: Numbers, missing: Missing, counters: Numbers
) -> int:
    """Find what every action offers in a state; return how much together, or -1 where answers are missing."""
    misses = 0
    total = 0
    for number in range(tables.moving.shape[0]):
        memo = tables.moving[number]
        if anew or not same_answer(memo, changed, tables):
            place = entry(memo, state, tables)
            if tables.owners[place] == NONE:
                misses = await_answer(memo, state, tables, missing, misses)
                continue
            chosen[number] = tables.answers[place]
        total += tables.counts[chosen[number]]
    counters[MISSES] = misses
    return -1 if misses else total


@njit(cache=True)
def lead(effect: int, state: Words, after: Words, tables: Tables, missing: Missing, counters: Numbers) -> int:
    """Write down where an effect leads; say whether an answer is missing."""
    touched, cleared = tables.touched[effect], tables.cleared[effect]
    for word in range(state.shape[0]):
        after[word] = (state[word] | touched[word]) ^ cleared[word]
    memo = tables.closures[effect]
    if memo == NONE:
        return DONE
    place = entry(memo, after, tables)
    if tables.owners[place] == NONE:
        counters[MISSES] = await_answer(memo, after, tables, missing, 0)
        return MISSING
    change = tables.answers[place]
    if change:
        touched, cleared = tables.change_touched[change], tables.change_cleared[change]
        for word in range(state.shape[0]):
            after[word] = (after[word] | touched[word]) ^ cleared[word]
    return DONE


@njit(cache=True)
def draw(
    left: int,
    state: Words,
    changed: Words,
    after: Words,
    chance: Words,
    tables: Tables,
    chosen: Numbers,
    order: Numbers,
    missing: Missing,
    counters: Numbers,
) -> int:
    """Draw one of the steps offered that changes the state, and write down where it leads and what it changes.

    Returns:
        The number of its action, or -1 if no step changes anything, or -2 if an answer is missing.
    """
    drawing = chance[0]
    total = left
    while left:
        drawing += _STRIDE
        place = np.int64(((mixed(drawing) >> _32) * np.uint64(left)) >> _32)
        way = place if left == total else order[place]
        number = 0
        while way >= tables.counts[chosen[number]]:
            way -= tables.counts[chosen[number]]
            number += 1
        if lead(tables.effects[tables.firsts[chosen[number]] + way], state, after, tables, missing, counters):
            return -2
        differs = False
        for word in range(state.shape[0]):
            changed[word] = state[word] ^ after[word]
            differs |= changed[word] != 0
        if differs:
            chance[0] = drawing
            return number
        if left == total:
            for each in range(total):
                order[each] = each
        left -= 1
        order[place] = order[left]
    return -1


@njit(cache=True)
def walk(
    end: int,
    depth: int,
    most: int,
    seed: np.uint64,
    start: Words,
    state: Words,
    chance: Words,
    looking: Numbers,
    tables: Tables,
    chosen: Numbers,
    order: Numbers,
    taken: Numbers,
    missing: Missing,
    counters: Numbers,
) -> int:
    """Take up to ``most`` steps of walks up to the one numbered ``end``; say why it comes back."""
    after = np.empty_like(state)
    changed = np.zeros_like(state)
    anew = True
    for _ in range(most):
        why = look(state, changed, anew, looking, tables, missing, counters)
        if why != DONE:
            return why
        number = np.int64(-1)
        if counters[TAKEN] < depth:
            total = offer(state, changed, anew, tables, chosen, missing, counters)
            if total < 0:
                return MISSING
            if total > order.shape[0]:
                return NARROW
            number = np.int64(draw(total, state, changed, after, chance, tables, chosen, order, missing, counters))
            if number == -2:
                return MISSING
        if number >= 0:
            state[:] = after
            anew = False
            taken[number] += 1
            counters[TAKEN] += 1
            counters[STEPS] += 1
            continue
        counters[STUCK] += counters[TAKEN] < depth
        counters[LONGEST] = max(counters[LONGEST], counters[TAKEN])
        counters[NUMBER] += 1
        counters[TAKEN] = 0
        if counters[NUMBER] == end:
            return DONE
        state[:] = start
        chance[0] = chance_of(seed, counters[NUMBER])
        anew = True
    return PAUSED
