"""How the kernel keeps states: as rows of codes, each of them once, and how it finds a row again."""

from __future__ import annotations

import numpy as np

from carnet_check.engines.native.compiling import fetch, inlined, nth
from carnet_check.engines.native.tables import CODE, PLACES, Kept, Number, Tables, Words

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
def code_of(word: Number, value: np.uint64, kept: Kept) -> Number:
    """Return the place of the code that a word's value has, or of the empty one where it belongs."""
    last = kept.last[nth(word)]
    place = np.int64(((value ^ (value >> _29)) * _SPREAD) >> _32) & last
    while True:
        found: Number = word * PLACES + place
        code = np.int64(kept.codes[nth(found)])
        if code == 0 or kept.values[nth((word << CODE) + code)] == value:
            return found
        place = (place + 1) & last


@inlined
def put(word: Number, value: np.uint64, rows: Words, at: Number, kept: Kept) -> bool:
    """Write a word of a state into the row that begins at ``at``, unless it has too many values already."""
    field = kept.fields[nth(word)]
    code = value
    if field != _ALL:
        low = value & kept.lows[nth(word)]
        value ^= low
        code = low
        if value != _ZERO:
            place = code_of(word, value, kept)
            if kept.codes[nth(place)] == 0:
                fresh = kept.used[nth(word)] + 1
                if 2 * fresh > kept.last[nth(word)]:
                    return False
                kept.used[nth(word)] = fresh
                kept.values[nth((word << CODE) + fresh)] = value
                kept.codes[nth(place)] = fresh
            code |= np.uint64(kept.codes[nth(place)]) << kept.lifts[nth(word)]
    column = at + kept.columns[nth(word)]
    shift = kept.shifts[nth(word)]
    rows[nth(column)] = (rows[nth(column)] & ~(field << shift)) | (code << shift)
    return True


@inlined
def word_of(word: Number, rows: Words, at: Number, kept: Kept) -> np.uint64:
    """Return a word of the state that the row at ``at`` is of."""
    field = kept.fields[nth(word)]
    code: np.uint64 = (rows[nth(at + kept.columns[nth(word)])] >> kept.shifts[nth(word)]) & field
    if field != _ALL:
        low = code & kept.lows[nth(word)]
        code = kept.values[nth((word << CODE) + np.int64(code >> kept.lifts[nth(word)]))] | low
    return code


@inlined
def unpack(at: Number, count: Number, kept: Kept, block: Words, step: Number) -> None:
    """Write the words of states that are kept, those with the same number ``step`` from one another."""
    for word in range(kept.columns.shape[0]):
        for number in range(count):
            block[nth(word * step + number)] = word_of(word, kept.rows, (at + number) * kept.width, kept)


@inlined
def put_edited(number: Number, state: Words, tables: Tables, rows: Words, at: Number, kept: Kept) -> Number:
    """Write the words that an edit changed; return one that has too many values, or -1."""
    for piece in range(tables.edits[nth(number)], tables.edits[nth(number + 1)]):
        word: Number = tables.targets[nth(piece)]
        if not put(word, state[nth(word)], rows, at, kept):
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
def hashed(rows: Words, at: Number, kept: Kept) -> np.uint64:
    """Return the hash of a row, whatever was spent; no word waits for the one before."""
    h = _ZERO
    factor = _FIRST
    for column in range(kept.width):
        spread = (rows[nth(at + column)] & kept.core[nth(column)]) * _SPREAD
        h += (spread ^ (spread >> _32)) * factor
        factor += _ONE + _ONE
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
    """Return the first slot from ``place`` on that is empty or may be that of a row with this hash.

    What a slot does not need for the number of a state is as in its hash, so that few rows are looked at in vain.
    """
    while kept.slots[nth(place)] and ((np.uint64(kept.slots[nth(place)]) ^ h) & ~kept.numbers) << _32 != _ZERO:
        place = following(place, kept)
    return place


@inlined
def row_in(place: Number, kept: Kept) -> Number:
    """Return where the row begins that a slot tells of."""
    row: Number = (np.int64(np.uint64(kept.slots[nth(place)]) & kept.numbers) - 1) * kept.width
    return row


@inlined
def fetch_row(place: Number, kept: Kept) -> None:
    """Have the row at hand soon that a slot tells of."""
    row = row_in(place, kept)
    fetch(kept.rows, row)
    fetch(kept.rows, row + kept.width - 1)


@inlined
def spent_in(rows: Words, at: Number, kept: Kept) -> np.uint64:
    """Return what was spent in the state of a row."""
    spent: np.uint64 = rows[nth(at + kept.columns[0])] & kept.spent
    return spent


@inlined
def slot_for(h: np.uint64, place: Number, rows: Words, at: Number, kept: Kept) -> Number:
    """Return the empty slot where a row would be, looked for from ``place`` on, or why there is none."""
    own = spent_in(rows, at, kept)
    dominated = False
    place = likely(h, place, kept)
    while kept.slots[nth(place)]:
        other = row_in(place, kept)
        difference = _ZERO
        for column in range(kept.width):
            difference |= (rows[nth(at + column)] ^ kept.rows[nth(other + column)]) & kept.core[nth(column)]
        if difference == _ZERO:
            spent = spent_in(kept.rows, other, kept)
            if spent == own:
                return FOUND
            dominated = dominated or bool(spent < own)
        place = likely(h, following(place, kept), kept)
    return CHEAPER if dominated else place
