"""The machine's part of a search: states as rows of codes, expanded by looking answers up in tables.

Nothing here knows a protocol. What a group of actions does in all states that agree on the bits they read is an answer,
worked out once outside and found here by these bits; where there is none, the bits are noted and the state has to wait.

Compiled once on a machine, and kept on its disk.
"""

from __future__ import annotations

import numpy as np

from carnet_check.engines.native.answers import answer, answer_all, edit
from carnet_check.engines.native.compiling import compiled, fetch, inlined, lowest, nth
from carnet_check.engines.native.rows import (
    CHEAPER,
    copy,
    differ,
    fetch_row,
    hashed,
    home,
    likely,
    put,
    put_edited,
    slot_for,
    spent_in,
    unpack,
)
from carnet_check.engines.native.tables import (
    BLOCK,
    COUNT,
    DOMINATED,
    EXPANDED,
    FILL,
    FIRST,
    LONG,
    MARKED,
    MISSES,
    NONE,
    NOTHING,
    USED,
    Alike,
    Kept,
    Marks,
    Missing,
    Number,
    Numbers,
    Slots,
    Tables,
    Words,
    Work,
)

DONE, MISSING, FULL, NARROW, SIGHTED, CROWDED = range(6)
"""Why a function comes back: all is done, answers or room are missing, the buffer is too small, something is seen, or a
word has too many values."""
_ONE, _32 = np.uint64(1), np.uint64(32)
_LOWER = np.uint64((1 << 32) - 1)
UNKNOWN, NO_ROOM, NO_CODE = -1, -2, -3
"""Instead of where successors end: answers are missing, the buffer is full, or a word has too many values."""


@inlined
def stand(tables: Tables, alike: Alike, work: Work, missing: Missing, counters: Numbers) -> bool:
    """Change the state that follows into the one that stands for it; return whether that is known."""
    if not have_shared(work.after, alike):
        put_in_order(work.after, alike)
        return True
    content = answer(alike.memo, work.after, tables, work.key, missing, counters)
    if content < FIRST:
        return False
    edit(content - FIRST, work.after, tables)
    return True


@inlined
def write_after(
    effect: Number, added: Number, tables: Tables, alike: Alike, work: Work, to: Number, kept: Kept
) -> Number:
    """Write the words in which the state that follows differs into its row; return one that has too many values."""
    if alike.shared.shape[0]:
        return put_changed(work.state, work.after, work.buffer, to, kept)
    return max(
        put_edited(effect, work.after, tables, work.buffer, to, kept),
        put_edited(added, work.after, tables, work.buffer, to, kept),
    )


@inlined
def successors(
    at: Number,
    number: Number,
    kept: Kept,
    tables: Tables,
    alike: Alike,
    work: Work,
    fill: Number,
    missing: Missing,
    counters: Numbers,
) -> Number:
    """Write what follows a state into the buffer from ``fill`` on; return where it ends, or why that is not known.

    Its answers are those of a ``number`` of the block. The state itself is left out, so that it is not looked for.
    Where elements are alike, what follows is what stands for it.
    """
    for word in range(work.state.shape[0]):
        work.state[nth(word)] = work.block[nth(word * BLOCK + number)]
    row = at * kept.width
    known = True
    for marked in range(0, work.marks.shape[0], BLOCK):
        marks = work.marks[nth(marked + number)]
        while marks:
            chosen = np.int64(work.contents[nth(next_marked(marked, marks, number))]) - FIRST
            marks &= marks - _ONE
            begin, end = tables.firsts[nth(chosen)], tables.firsts[nth(chosen + 1)]
            if fill + end - begin > work.hashes.shape[0]:
                return NO_ROOM
            for listed in range(begin, end):
                effect = tables.effects[nth(listed)]
                for word in range(work.state.shape[0]):
                    work.after[nth(word)] = work.state[nth(word)]
                edit(effect, work.after, tables)
                added: Number = NOTHING
                if tables.closures[nth(effect)] != NONE:
                    content = answer(tables.closures[nth(effect)], work.after, tables, work.key, missing, counters)
                    if content < FIRST:
                        known = False
                    elif content > FIRST:
                        added = content - FIRST
                        edit(added, work.after, tables)
                if known and alike.shared.shape[0]:
                    known = stand(tables, alike, work, missing, counters)
                to = fill * kept.width
                copy(kept.rows, row, work.buffer, to, kept.width)
                crowded = write_after(effect, added, tables, alike, work, to, kept)
                if crowded != NONE:
                    counters[LONG] = crowded
                    return NO_CODE
                fill += differ(kept.rows, row, work.buffer, to, kept.width)
    return fill if known else UNKNOWN


@inlined
def next_marked(marked: Number, marks: np.uint64, number: Number) -> Number:
    """Return where the answer of the next memo is among the contents, of those that a line of marks tells of."""
    return (marked // BLOCK * MARKED + np.int64(lowest(marks))) * BLOCK + number


@inlined
def note_used(number: Number, work: Work, used: Slots, fill: Number) -> Number:
    """Write down the answers that a state of the block was expanded by, and return where they end."""
    for marked in range(0, work.marks.shape[0], BLOCK):
        marks = work.marks[nth(marked + number)]
        while marks:
            used[nth(fill)] = work.contents[nth(next_marked(marked, marks, number))]
            marks &= marks - _ONE
            fill += 1
    return fill


@inlined
def count_visits(fill: Number, tables: Tables, used: Slots) -> None:
    """Count so many answers that states were expanded by."""
    for each in range(fill):
        tables.visits[nth(used[nth(each)] - FIRST)] += 1


@inlined
def hash_all(work: Work, fill: Number, kept: Kept) -> None:
    """Hash the states of the buffer."""
    for number in range(fill):
        work.hashes[nth(number)] = hashed(work.buffer, number * kept.width, kept)


@inlined
def add_all(work: Work, begin: Number, end: Number, kept: Kept, counters: Numbers) -> None:
    """Add the states of a part of the buffer that were not found before, at the same cost or less.

    Memory is slow and answers many questions at once, so everything is asked for first.
    """
    width = kept.width
    for number in range(begin, end):
        fetch(kept.slots, home(work.hashes[nth(number)], kept))
    for number in range(begin, end):
        h = work.hashes[nth(number)]
        place = likely(h, home(h, kept), kept)
        work.places[nth(number)] = place
        if kept.slots[nth(place)]:
            fetch_row(place, kept)
    count = counters[COUNT]
    for number in range(begin, end):
        at = number * width
        place = slot_for(work.hashes[nth(number)], work.places[nth(number)], work.buffer, at, kept)
        if place < 0:
            counters[DOMINATED] += place == CHEAPER
            continue
        copy(work.buffer, at, kept.rows, count * width, width)
        count += 1
        kept.slots[nth(place)] = np.uint32((work.hashes[nth(number)] & ~kept.numbers) | np.uint64(count))
    counters[COUNT] = count


@inlined
def expand_block(
    known: Number,
    most: Number,
    kept: Kept,
    level: Number,
    idle: Marks,
    tables: Tables,
    alike: Alike,
    work: Work,
    missing: Missing,
    counters: Numbers,
) -> Number:
    """Expand so many states of the block, and count them up to the first that has to wait; say why it comes back."""
    begin = at = counters[EXPANDED]
    waiting = False
    while True:
        if counters[COUNT] + work.hashes.shape[0] > most:
            return FULL
        fill: Number = 0
        after: Number = 0
        while at < begin + known:
            if not (idle.shape[0] and idle[nth(at - level)]):
                after = successors(at, at - begin, kept, tables, alike, work, fill, missing, counters)
                if after in (NO_ROOM, NO_CODE):
                    break
                if waiting or after == UNKNOWN:
                    waiting = True
                else:
                    fill = after
            at += 1
            if not waiting:
                counters[EXPANDED] = at
        hash_all(work, fill, kept)
        add_all(work, 0, fill, kept, counters)
        if after == NO_CODE:
            return CROWDED
        if after != NO_ROOM:
            return DONE
        if not fill:
            return NARROW


# -- what is called --------------------------------------------------------------------------------


@compiled
def expand(
    end: Number,
    most: Number,
    kept: Kept,
    level: Number,
    idle: Marks,
    tables: Tables,
    alike: Alike,
    work: Work,
    missing: Missing,
    counters: Numbers,
) -> Number:
    """Expand states up to ``end``, as long as there is room for ``most`` states; say why it comes back.

    States of the level that begins at ``level`` are left out where ``idle`` says so, if it says anything.
    """
    while counters[EXPANDED] < end:
        begin = counters[EXPANDED]
        count = min(BLOCK, end - begin)
        unpack(begin, count, kept, work.block, BLOCK)
        known = answer_all(tables.moving, count, tables, work, missing, counters)
        why = expand_block(known, most, kept, level, idle, tables, alike, work, missing, counters)
        used: Number = 0
        for number in range(counters[EXPANDED] - begin):
            if not (idle.shape[0] and idle[nth(begin - level + number)]):
                used = note_used(number, work, work.used, used)
        count_visits(used, tables, work.used)
        if counters[MISSES]:
            return MISSING
        if why != DONE:
            return why
    return DONE


@compiled
def look(
    end: Number,
    kept: Kept,
    looking: Numbers,
    tables: Tables,
    work: Work,
    missing: Missing,
    counters: Numbers,
) -> Number:
    """Look at states up to ``end`` for something that is looked for; say why it comes back."""
    while counters[EXPANDED] < end:
        count = min(BLOCK, end - counters[EXPANDED])
        unpack(counters[EXPANDED], count, kept, work.block, BLOCK)
        if answer_all(looking, count, tables, work, missing, counters) < count:
            return MISSING
        for number in range(count):
            for marked in range(0, work.marks.shape[0], BLOCK):
                if work.marks[nth(marked + number)]:
                    return SIGHTED
            counters[EXPANDED] += 1
    return DONE


@compiled
def predecessor(
    end: Number,
    target: Number,
    kept: Kept,
    tables: Tables,
    alike: Alike,
    work: Work,
    missing: Missing,
    counters: Numbers,
) -> Number:
    """Find the first state that another one follows; say why it comes back."""
    for at in range(counters[EXPANDED], end):
        counters[EXPANDED] = at
        unpack(at, 1, kept, work.block, BLOCK)
        if not answer_all(tables.moving, 1, tables, work, missing, counters):
            return MISSING
        after = successors(at, 0, kept, tables, alike, work, 0, missing, counters)
        if counters[MISSES]:
            return MISSING
        if after == NO_ROOM:
            return NARROW
        if after == NO_CODE:
            return CROWDED
        for number in range(after):
            if not differ(work.buffer, number * kept.width, kept.rows, target * kept.width, kept.width):
                return SIGHTED
    return DONE


@compiled
def pass_over(begin: Number, kept: Kept, idle: Marks, hashes: Words, key: Words) -> None:
    """Mark the states of a level that were found at less cost, too: those that are there with at least one less."""
    ahead = hashes.shape[0]
    for first in range(0, idle.shape[0], ahead):
        count = min(ahead, idle.shape[0] - first)
        for number in range(count):
            h = hashed(kept.rows, (begin + first + number) * kept.width, kept)
            hashes[nth(number)] = h
            fetch(kept.slots, home(h, kept))
        for number in range(count):
            at = (begin + first + number) * kept.width
            if spent_in(kept.rows, at, kept):
                h = hashes[nth(number)]
                copy(kept.rows, at, key, 0, kept.width)
                key[nth(kept.columns[0])] -= _ONE
                idle[nth(first + number)] = slot_for(h, home(h, kept), key, 0, kept) < 0


@compiled
def stand_for(
    begin: Number, order: np.uint64, kept: Kept, alike: Alike, state: Words, undecided: Marks, halves: Words
) -> None:
    """Add up for how many some states stand, with so many permutations, and unmark those that are counted.

    The others are those where what several bundles share decides. The lower and the higher half of each number are
    added up apart, since all together may be more than a word holds.
    """
    for number in range(undecided.shape[0]):
        unpack(begin + number, 1, kept, state, 1)
        orders = ties(state, alike)
        if orders == 1 or not have_shared(state, alike):
            undecided[nth(number)] = 0
            size = order // orders
            halves[0] += size & _LOWER
            halves[1] += size >> _32


# --------------------------------------------------------------------------------------------------
# How the kernel finds the state that stands for another one, where all is said of one bundle at a time.
#
# The same as :mod:`carnet_check.engines.explicit.symmetry` does: bundles come in the order of their numbers, the
# largest first.

_ZERO = np.uint64(0)


@inlined
def have_shared(state: Words, alike: Alike) -> bool:
    """Whether a state says something of several bundles."""
    shared = _ZERO
    for word in range(alike.shared.shape[0]):
        shared |= state[nth(word)] & alike.shared[nth(word)]
    return bool(shared != _ZERO)


@inlined
def read_numbers(state: Words, alike: Alike) -> None:
    """Read the number of each bundle."""
    for place in range(alike.numbers.shape[0]):
        alike.numbers[nth(place)] = _ZERO
    for bundle in range(alike.order.shape[0]):
        at = bundle * alike.length
        for piece in range(alike.pieces[nth(bundle)], alike.pieces[nth(bundle + 1)]):
            bits = (state[nth(alike.sources[nth(piece)])] >> alike.shifts[nth(piece)]) & alike.fields[nth(piece)]
            alike.numbers[nth(at + alike.parts[nth(piece)])] |= bits << alike.turns[nth(piece)]


@inlined
def compared(one: Number, other: Number, alike: Alike) -> Number:
    """Return 1 if the number of a bundle is larger than that of another one, -1 if it is smaller, and 0 otherwise."""
    for back in range(1, alike.length + 1):
        first = alike.numbers[nth((one + 1) * alike.length - back)]
        second = alike.numbers[nth((other + 1) * alike.length - back)]
        if first != second:
            return 1 if first > second else -1
    return 0


@inlined
def order_bundles(alike: Alike) -> bool:
    """Put the bundles of each class in the order of their numbers; return whether any are not there already."""
    moved = False
    for number in range(alike.classes.shape[0] - 1):
        begin = alike.classes[nth(number)]
        for bundle in range(begin, alike.classes[nth(number + 1)]):
            place: Number = bundle
            while place > begin and compared(bundle, alike.order[nth(place - 1)], alike) > 0:
                alike.order[nth(place)] = alike.order[nth(place - 1)]
                place -= 1
                moved = True
            alike.order[nth(place)] = bundle
    return moved


@inlined
def put_in_order(state: Words, alike: Alike) -> None:
    """Change a state into the one that stands for it."""
    read_numbers(state, alike)
    if not order_bundles(alike):
        return
    for bundle in range(alike.order.shape[0]):
        at = alike.order[nth(bundle)] * alike.length
        for piece in range(alike.pieces[nth(bundle)], alike.pieces[nth(bundle + 1)]):
            field, shift = alike.fields[nth(piece)], alike.shifts[nth(piece)]
            bits = (alike.numbers[nth(at + alike.parts[nth(piece)])] >> alike.turns[nth(piece)]) & field
            word = alike.sources[nth(piece)]
            state[nth(word)] = (state[nth(word)] & ~(field << shift)) | (bits << shift)


@inlined
def ties(state: Words, alike: Alike) -> np.uint64:
    """Return in how many orders bundles of the same number can be."""
    read_numbers(state, alike)
    order_bundles(alike)
    found = np.uint64(1)
    for number in range(alike.classes.shape[0] - 1):
        same = np.uint64(1)
        for place in range(alike.classes[nth(number)] + 1, alike.classes[nth(number + 1)]):
            if compared(alike.order[nth(place)], alike.order[nth(place - 1)], alike) == 0:
                same += np.uint64(1)
                found *= same
            else:
                same = np.uint64(1)
    return found


@inlined
def put_changed(before: Words, after: Words, rows: Words, at: Number, kept: Kept) -> Number:
    """Write the words in which a state differs from another one into its row; return one that has too many values."""
    for word in range(after.shape[0]):
        if after[nth(word)] != before[nth(word)] and not put(word, after[nth(word)], rows, at, kept):
            return word
    return NONE


# --------------------------------------------------------------------------------------------------
# The machine's part of a search in threads: what follows states is written down beforehand, and entered in order.
#
# What is written down reads what is known and changes none of it, so any number of threads may do it at once, while
# others' successors are entered.

AT_ONCE = 1 << 9
"""How many successors are looked for at once: memory can be asked for them together."""


@compiled
def follow(
    end: Number,
    kept: Kept,
    level: Number,
    idle: Marks,
    tables: Tables,
    alike: Alike,
    work: Work,
    used: Slots,
    missing: Missing,
    counters: Numbers,
) -> Number:
    """Write what follows states up to ``end`` into the buffer, up to the first that lacks something; say what.

    Nothing is changed but what is there for this work alone, if there is no room for missing answers and new codes.
    The answers that this took are written one after another.
    """
    fill: Number = 0
    why = DONE
    while why == DONE and counters[EXPANDED] < end:
        begin = at = counters[EXPANDED]
        count = min(BLOCK, end - begin)
        unpack(begin, count, kept, work.block, BLOCK)
        known = answer_all(tables.moving, count, tables, work, missing, counters)
        why = DONE if known == count else MISSING
        while at < begin + known:
            if not (idle.shape[0] and idle[nth(at - level)]):
                after = successors(at, at - begin, kept, tables, alike, work, fill, missing, counters)
                if after < 0:
                    why = NARROW if after == NO_ROOM else MISSING
                    break
                fill = after
                counters[USED] = note_used(at - begin, work, used, counters[USED])
            at += 1
        counters[EXPANDED] = at
    hash_all(work, fill, kept)
    counters[FILL] = fill
    return why


@compiled
def enter_followers(kept: Kept, tables: Tables, work: Work, used: Slots, counters: Numbers) -> None:
    """Add what follows some states, as it was written into a buffer, and count what they were expanded by."""
    fill = counters[FILL]
    for begin in range(0, fill, AT_ONCE):
        add_all(work, begin, min(begin + AT_ONCE, fill), kept, counters)
    count_visits(counters[USED], tables, used)
