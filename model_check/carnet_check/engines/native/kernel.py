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
    Marks,
    Missing,
    Number,
    Numbers,
    Slots,
    StateTable,
    SymmetryTable,
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
def stand(tables: Tables, sym: SymmetryTable, work: Work, missing: Missing, counters: Numbers) -> bool:
    """Change the state that follows into the one that stands for it; return whether that is known."""
    if not have_shared(work.after, sym):
        put_in_order(work.after, sym)
        return True
    content = answer(sym.memo, work.after, tables, work.key, missing, counters)
    if content < FIRST:
        return False
    edit(content - FIRST, work.after, tables)
    return True


@inlined
def write_after(
    effect: Number, added: Number, tables: Tables, sym: SymmetryTable, work: Work, to: Number, table: StateTable
) -> Number:
    """Write the words in which the state that follows differs into its row; return one that has too many values."""
    if sym.shared.shape[0]:
        return put_changed(work.state, work.after, work.buffer, to, table)
    return max(
        put_edited(effect, work.after, tables, work.buffer, to, table),
        put_edited(added, work.after, tables, work.buffer, to, table),
    )


@inlined
def successors(
    at: Number,
    number: Number,
    table: StateTable,
    tables: Tables,
    sym: SymmetryTable,
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
    row = at * table.width
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
                if known and sym.shared.shape[0]:
                    known = stand(tables, sym, work, missing, counters)
                to = fill * table.width
                copy(table.rows, row, work.buffer, to, table.width)
                crowded = write_after(effect, added, tables, sym, work, to, table)
                if crowded != NONE:
                    counters[LONG] = crowded
                    return NO_CODE
                fill += differ(table.rows, row, work.buffer, to, table.width)
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
def hash_all(work: Work, fill: Number, table: StateTable) -> None:
    """Hash the states of the buffer."""
    for number in range(fill):
        work.hashes[nth(number)] = hashed(work.buffer, number * table.width, table)


@inlined
def add_all(work: Work, begin: Number, end: Number, table: StateTable, counters: Numbers) -> None:
    """Add the states of a part of the buffer that were not found before, at the same cost or less.

    Memory is slow and answers many questions at once, so everything is asked for first.
    """
    width = table.width
    for number in range(begin, end):
        fetch(table.slots, home(work.hashes[nth(number)], table))
    for number in range(begin, end):
        h = work.hashes[nth(number)]
        place = likely(h, home(h, table), table)
        work.places[nth(number)] = place
        if table.slots[nth(place)]:
            fetch_row(place, table)
    count = counters[COUNT]
    for number in range(begin, end):
        at = number * width
        place = slot_for(work.hashes[nth(number)], work.places[nth(number)], work.buffer, at, table)
        if place < 0:
            counters[DOMINATED] += place == CHEAPER
            continue
        copy(work.buffer, at, table.rows, count * width, width)
        count += 1
        table.slots[nth(place)] = np.uint32((work.hashes[nth(number)] & ~table.numbers) | np.uint64(count))
    counters[COUNT] = count


@inlined
def expand_block(
    known: Number,
    most: Number,
    table: StateTable,
    level: Number,
    idle: Marks,
    tables: Tables,
    sym: SymmetryTable,
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
                after = successors(at, at - begin, table, tables, sym, work, fill, missing, counters)
                if after in (NO_ROOM, NO_CODE):
                    break
                if waiting or after == UNKNOWN:
                    waiting = True
                else:
                    fill = after
            at += 1
            if not waiting:
                counters[EXPANDED] = at
        hash_all(work, fill, table)
        add_all(work, 0, fill, table, counters)
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
    table: StateTable,
    level: Number,
    idle: Marks,
    tables: Tables,
    sym: SymmetryTable,
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
        unpack(begin, count, table, work.block, BLOCK)
        known = answer_all(tables.moving, count, tables, work, missing, counters)
        why = expand_block(known, most, table, level, idle, tables, sym, work, missing, counters)
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
    table: StateTable,
    looking: Numbers,
    tables: Tables,
    work: Work,
    missing: Missing,
    counters: Numbers,
) -> Number:
    """Look at states up to ``end`` for something that is looked for; say why it comes back."""
    while counters[EXPANDED] < end:
        count = min(BLOCK, end - counters[EXPANDED])
        unpack(counters[EXPANDED], count, table, work.block, BLOCK)
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
    table: StateTable,
    tables: Tables,
    sym: SymmetryTable,
    work: Work,
    missing: Missing,
    counters: Numbers,
) -> Number:
    """Find the first state that another one follows; say why it comes back."""
    for at in range(counters[EXPANDED], end):
        counters[EXPANDED] = at
        unpack(at, 1, table, work.block, BLOCK)
        if not answer_all(tables.moving, 1, tables, work, missing, counters):
            return MISSING
        after = successors(at, 0, table, tables, sym, work, 0, missing, counters)
        if counters[MISSES]:
            return MISSING
        if after == NO_ROOM:
            return NARROW
        if after == NO_CODE:
            return CROWDED
        for number in range(after):
            if not differ(work.buffer, number * table.width, table.rows, target * table.width, table.width):
                return SIGHTED
    return DONE


@compiled
def pass_over(begin: Number, table: StateTable, idle: Marks, hashes: Words, key: Words) -> None:
    """Mark the states of a level that were found at less cost, too: those that are there with at least one less."""
    ahead = hashes.shape[0]
    for first in range(0, idle.shape[0], ahead):
        count = min(ahead, idle.shape[0] - first)
        for number in range(count):
            h = hashed(table.rows, (begin + first + number) * table.width, table)
            hashes[nth(number)] = h
            fetch(table.slots, home(h, table))
        for number in range(count):
            at = (begin + first + number) * table.width
            if spent_in(table.rows, at, table):
                h = hashes[nth(number)]
                copy(table.rows, at, key, 0, table.width)
                key[nth(table.columns[0])] -= _ONE
                idle[nth(first + number)] = slot_for(h, home(h, table), key, 0, table) < 0


@compiled
def stand_for(
    begin: Number,
    order: np.uint64,
    table: StateTable,
    sym: SymmetryTable,
    state: Words,
    undecided: Marks,
    halves: Words,
) -> None:
    """Add up for how many some states stand, with so many permutations, and unmark those that are counted.

    The others are those where what several bundles share decides. The lower and the higher half of each number are
    added up apart, since all together may be more than a word holds.
    """
    for number in range(undecided.shape[0]):
        unpack(begin + number, 1, table, state, 1)
        orders = ties(state, sym)
        if orders == 1 or not have_shared(state, sym):
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
def have_shared(state: Words, sym: SymmetryTable) -> bool:
    """Whether a state says something of several bundles."""
    shared = _ZERO
    for word in range(sym.shared.shape[0]):
        shared |= state[nth(word)] & sym.shared[nth(word)]
    return bool(shared != _ZERO)


@inlined
def read_numbers(state: Words, sym: SymmetryTable) -> None:
    """Read the number of each bundle."""
    for place in range(sym.numbers.shape[0]):
        sym.numbers[nth(place)] = _ZERO
    for bundle in range(sym.order.shape[0]):
        at = bundle * sym.length
        for piece in range(sym.pieces[nth(bundle)], sym.pieces[nth(bundle + 1)]):
            bits = (state[nth(sym.sources[nth(piece)])] >> sym.shifts[nth(piece)]) & sym.fields[nth(piece)]
            sym.numbers[nth(at + sym.parts[nth(piece)])] |= bits << sym.turns[nth(piece)]


@inlined
def compared(one: Number, other: Number, sym: SymmetryTable) -> Number:
    """Return 1 if the number of a bundle is larger than that of another one, -1 if it is smaller, and 0 otherwise."""
    for back in range(1, sym.length + 1):
        first = sym.numbers[nth((one + 1) * sym.length - back)]
        second = sym.numbers[nth((other + 1) * sym.length - back)]
        if first != second:
            return 1 if first > second else -1
    return 0


@inlined
def order_bundles(sym: SymmetryTable) -> bool:
    """Put the bundles of each class in the order of their numbers; return whether any are not there already."""
    moved = False
    for number in range(sym.classes.shape[0] - 1):
        begin = sym.classes[nth(number)]
        for bundle in range(begin, sym.classes[nth(number + 1)]):
            place: Number = bundle
            while place > begin and compared(bundle, sym.order[nth(place - 1)], sym) > 0:
                sym.order[nth(place)] = sym.order[nth(place - 1)]
                place -= 1
                moved = True
            sym.order[nth(place)] = bundle
    return moved


@inlined
def put_in_order(state: Words, sym: SymmetryTable) -> None:
    """Change a state into the one that stands for it."""
    read_numbers(state, sym)
    if not order_bundles(sym):
        return
    for bundle in range(sym.order.shape[0]):
        at = sym.order[nth(bundle)] * sym.length
        for piece in range(sym.pieces[nth(bundle)], sym.pieces[nth(bundle + 1)]):
            field, shift = sym.fields[nth(piece)], sym.shifts[nth(piece)]
            bits = (sym.numbers[nth(at + sym.parts[nth(piece)])] >> sym.turns[nth(piece)]) & field
            word = sym.sources[nth(piece)]
            state[nth(word)] = (state[nth(word)] & ~(field << shift)) | (bits << shift)


@inlined
def ties(state: Words, sym: SymmetryTable) -> np.uint64:
    """Return in how many orders bundles of the same number can be."""
    read_numbers(state, sym)
    order_bundles(sym)
    found = np.uint64(1)
    for number in range(sym.classes.shape[0] - 1):
        same = np.uint64(1)
        for place in range(sym.classes[nth(number)] + 1, sym.classes[nth(number + 1)]):
            if compared(sym.order[nth(place)], sym.order[nth(place - 1)], sym) == 0:
                same += np.uint64(1)
                found *= same
            else:
                same = np.uint64(1)
    return found


@inlined
def put_changed(before: Words, after: Words, rows: Words, at: Number, table: StateTable) -> Number:
    """Write the words in which a state differs from another one into its row; return one that has too many values."""
    for word in range(after.shape[0]):
        if after[nth(word)] != before[nth(word)] and not put(word, after[nth(word)], rows, at, table):
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
    table: StateTable,
    level: Number,
    idle: Marks,
    tables: Tables,
    sym: SymmetryTable,
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
        unpack(begin, count, table, work.block, BLOCK)
        known = answer_all(tables.moving, count, tables, work, missing, counters)
        why = DONE if known == count else MISSING
        while at < begin + known:
            if not (idle.shape[0] and idle[nth(at - level)]):
                after = successors(at, at - begin, table, tables, sym, work, fill, missing, counters)
                if after < 0:
                    why = NARROW if after == NO_ROOM else MISSING
                    break
                fill = after
                counters[USED] = note_used(at - begin, work, used, counters[USED])
            at += 1
        counters[EXPANDED] = at
    hash_all(work, fill, table)
    counters[FILL] = fill
    return why


@compiled
def enter_followers(table: StateTable, tables: Tables, work: Work, used: Slots, counters: Numbers) -> None:
    """Add what follows some states, as it was written into a buffer, and count what they were expanded by."""
    fill = counters[FILL]
    for begin in range(0, fill, AT_ONCE):
        add_all(work, begin, min(begin + AT_ONCE, fill), table, counters)
    count_visits(counters[USED], tables, used)
