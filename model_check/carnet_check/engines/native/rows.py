"""How the kernel keeps states: as rows of codes, each of them once, and how it finds a row again."""

from __future__ import annotations

import numpy as np

from carnet_check.engines.native.compiling import fetch, inlined, nth
from carnet_check.engines.native.tables import CODE, PLACES, Number, StateTable, Tables, Words

_SPREAD = np.uint64(0x9E3779B97F4A7C15)
_FIRST = np.uint64(0xFF51AFD7ED558CCD)
_SECOND = np.uint64(0xC4CEB9FE1A85EC53)
_33, _32, _29 = (np.uint64(number) for number in (33, 32, 29))
_ZERO, _ONE = np.uint64(0), np.uint64(1)
_ALL = ~_ZERO
FOUND, CHEAPER = -1, -2
"""Instead of a slot: the state was found, or it was found at less cost."""

# -- words and their codes -------------------------------------------------------------------------


@inlined
def code_of(word: Number, value: np.uint64, table: StateTable) -> Number:
    """Return the place of the code that a word's value has, or of the empty one where it belongs."""
    last = table.last[nth(word)]
    place = np.int64(((value ^ (value >> _29)) * _SPREAD) >> _32) & last
    while True:
        found: Number = word * PLACES + place
        code = np.int64(table.codes[nth(found)])
        if code == 0 or table.values[nth((word << CODE) + code)] == value:
            return found
        place = (place + 1) & last


@inlined
def put(word: Number, value: np.uint64, rows: Words, at: Number, table: StateTable) -> bool:
    """Write a word of a state into the row that begins at ``at``, unless it has too many values already."""
    field = table.fields[nth(word)]
    code = value
    if field != _ALL:
        low = value & table.lows[nth(word)]
        value ^= low
        code = low
        if value != _ZERO:
            place = code_of(word, value, table)
            if table.codes[nth(place)] == 0:
                fresh = table.used[nth(word)] + 1
                if 2 * fresh > table.last[nth(word)]:
                    return False
                table.used[nth(word)] = fresh
                table.values[nth((word << CODE) + fresh)] = value
                table.codes[nth(place)] = fresh
            code |= np.uint64(table.codes[nth(place)]) << table.lifts[nth(word)]
    column = at + table.columns[nth(word)]
    shift = table.shifts[nth(word)]
    rows[nth(column)] = (rows[nth(column)] & ~(field << shift)) | (code << shift)
    return True


@inlined
def word_of(word: Number, rows: Words, at: Number, table: StateTable) -> np.uint64:
    """Return a word of the state that the row at ``at`` is of."""
    field = table.fields[nth(word)]
    code: np.uint64 = (rows[nth(at + table.columns[nth(word)])] >> table.shifts[nth(word)]) & field
    if field != _ALL:
        low = code & table.lows[nth(word)]
        code = table.values[nth((word << CODE) + np.int64(code >> table.lifts[nth(word)]))] | low
    return code


@inlined
def unpack(at: Number, count: Number, table: StateTable, block: Words, step: Number) -> None:
    """Write the words of states that are kept, those with the same number ``step`` from one another."""
    for word in range(table.columns.shape[0]):
        for number in range(count):
            block[nth(word * step + number)] = word_of(word, table.rows, (at + number) * table.width, table)


@inlined
def put_edited(number: Number, state: Words, tables: Tables, rows: Words, at: Number, table: StateTable) -> Number:
    """Write the words that an edit changed; return one that has too many values, or -1."""
    for piece in range(tables.edits[nth(number)], tables.edits[nth(number + 1)]):
        word: Number = tables.targets[nth(piece)]
        if not put(word, state[nth(word)], rows, at, table):
            return word
    return -1


# -- rows ------------------------------------------------------------------------------------------


@inlined
def copy(rows: Words, at: Number, others: Words, to: Number, width: Number) -> None:
    """Copy a row."""
    for column in range(width):
        others[nth(to + column)] = rows[nth(at + column)]


@inlined
def differ(rows: Words, at: Number, others: Words, to: Number, width: Number) -> bool:
    """Whether two rows are not the same."""
    difference = _ZERO
    for column in range(width):
        difference |= rows[nth(at + column)] ^ others[nth(to + column)]
    return bool(difference != _ZERO)


@inlined
def hashed(rows: Words, at: Number, table: StateTable) -> np.uint64:
    """Return the hash of a row, whatever was spent; no word waits for the one before."""
    h = _ZERO
    factor = _FIRST
    for column in range(table.width):
        spread = (rows[nth(at + column)] & table.core[nth(column)]) * _SPREAD
        h += (spread ^ (spread >> _32)) * factor
        factor += _ONE + _ONE
    h ^= h >> _33
    h *= _FIRST
    h ^= h >> _29
    h *= _SECOND
    return h ^ (h >> _32)


@inlined
def home(h: np.uint64, table: StateTable) -> Number:
    """Return the slot where a hash belongs."""
    return np.int64(((h >> _32) * np.uint64(table.slots.shape[0])) >> _32)


@inlined
def following(place: Number, table: StateTable) -> Number:
    """Return the slot after another one; after the last comes the first."""
    return place + 1 if place + 1 < table.slots.shape[0] else 0


@inlined
def likely(h: np.uint64, place: Number, table: StateTable) -> Number:
    """Return the first slot from ``place`` on that is empty or may be that of a row with this hash.

    What a slot does not need for the number of a state is as in its hash, so that few rows are looked at in vain.
    """
    while table.slots[nth(place)] and ((np.uint64(table.slots[nth(place)]) ^ h) & ~table.numbers) << _32 != _ZERO:
        place = following(place, table)
    return place


@inlined
def row_in(place: Number, table: StateTable) -> Number:
    """Return where the row begins that a slot tells of."""
    row: Number = (np.int64(np.uint64(table.slots[nth(place)]) & table.numbers) - 1) * table.width
    return row


@inlined
def fetch_row(place: Number, table: StateTable) -> None:
    """Have the row at hand soon that a slot tells of."""
    row = row_in(place, table)
    fetch(table.rows, row)
    fetch(table.rows, row + table.width - 1)


@inlined
def spent_in(rows: Words, at: Number, table: StateTable) -> np.uint64:
    """Return what was spent in the state of a row."""
    spent: np.uint64 = rows[nth(at + table.columns[0])] & table.spent
    return spent


@inlined
def slot_for(h: np.uint64, place: Number, rows: Words, at: Number, table: StateTable) -> Number:
    """Return the empty slot where a row would be, looked for from ``place`` on, or why there is none."""
    own = spent_in(rows, at, table)
    dominated = False
    place = likely(h, place, table)
    while table.slots[nth(place)]:
        other = row_in(place, table)
        difference = _ZERO
        for column in range(table.width):
            difference |= (rows[nth(at + column)] ^ table.rows[nth(other + column)]) & table.core[nth(column)]
        if difference == _ZERO:
            spent = spent_in(table.rows, other, table)
            if spent == own:
                return FOUND
            dominated = dominated or bool(spent < own)
        place = likely(h, following(place, table), table)
    return CHEAPER if dominated else place
