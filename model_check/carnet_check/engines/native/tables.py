"""What the kernel reads: the answers that are known, as arrays, and where it notes those that are missing.

All arrays have one dimension, since a view of a row costs more than what is done with it. What belongs to the same
memo, effect or state stands together.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

Words = npt.NDArray[np.uint64]
Numbers = npt.NDArray[np.int64]
Slots = npt.NDArray[np.uint32]
Codes = npt.NDArray[np.uint16]
Marks = npt.NDArray[np.uint8]
Number = int | np.int64

NONE = -1
"""No closure."""
EMPTY, AWAITED, FIRST = range(3)
"""What a cell holds: nothing, that an answer is missing and was noted, or the number of one, counted from here."""
NOTHING = 0
"""The edit that changes nothing."""
COUNT, EXPANDED, DOMINATED, MISSES, LONG, FILL, USED = range(7)
"""Places among the counters of a search: states, those expanded, successors dominated, answers missing, the word of a
state that has too many values for codes, successors that wait to be looked for, and answers that led to them."""
COUNTERS = 7
BLOCK = 104
"""How many states are looked up together, memo by memo: an odd multiple of what a line of the cache holds."""
MARKED = 64
"""Of how many memos the marks of a state are in one word."""
CODE = 16
"""How many bits a code has, with what is spent below it, and as how many a word's value is kept."""
PLACES = 1 << CODE + 1
"""How many places there are for the codes of a word: at least half of them stay empty."""


class Tables(NamedTuple):
    """What is known of a protocol so far.

    What a memo reads is gathered into a key of few words: into each some bits of some words of the state, turned to
    where they have room. The answers of a memo are cells in a table of its own, each with the number of an answer and
    then the key.
    """

    begins: Numbers  # where the words of each memo's key begin
    lengths: Numbers  # how many there are
    pieces: Numbers  # for each of them where what is gathered into it begins, and where the next one's does:
    sources: Numbers  # from which word of the state,
    masks: Words  # which of its bits,
    turns: Words  # and by how many these are turned to the left
    bases: Numbers  # where the table of each memo begins among all cells
    sizes: Numbers  # how many cells it has, a power of two,
    drops: Words  # and how many bits of a hash are left out to get the number of one
    known: Numbers  # how many of them are not empty
    cells: Words  # all tables
    moving: Numbers  # the memos that together have every move
    firsts: Numbers
    """For each answer of moves where its effects begin among all that are listed, and where the next one's do."""
    visits: Numbers  # how often it was used
    effects: Numbers  # the effects that answers list, each the number of an edit; many list the same
    edits: Numbers  # for each edit where the words that it changes begin, and where the next one's do:
    targets: Numbers  # which word,
    touched: Words  # what it sets there; the word is then ``(word | touched) ^ cleared``,
    cleared: Words  # and what it clears again
    closures: Numbers  # for each edit the memo of the deductions that follow, or -1; its answers are edits, too


class StateTable(NamedTuple):
    """The states found, each a row of few words, and a table by which they are found again.

    Most words of a state have few values in all. These are numbered, and a row has the codes, side by side; a word with
    too many values is there as it is. So is what the adversary has spent, where that matters: states that differ in
    nothing else are found at one place, where the dearer ones are dominated.
    """

    rows: Words  # the words of each row
    width: int  # how many words a row has
    columns: Numbers  # for each word of a state in which word of a row it is
    shifts: Words  # by how many bits it is shifted to the left there,
    fields: Words  # and which bits it has before that: those of a code, or all
    lifts: Words  # how many of its lowest bits are below its code as they are,
    lows: Words  # and which: none but those that count what was spent
    spent: np.uint64  # the lowest bits of the first word's field, if what was spent matters; none, if it does not
    core: Words  # for each word of a row all other bits
    values: Words
    """For each word of a state its values by code, without the lowest bits that are kept as they are; code 0 is of
    value 0."""
    codes: Codes  # for each word of a state a table by which the code of a value is found; 0 is an empty place
    last: Numbers  # the last place of each of these tables, of which half stay empty
    used: Numbers  # the last code that each word of a state has
    slots: Slots
    """For each place of the table a state's number plus one, or 0, and above it some bits of the row's hash."""
    numbers: np.uint64  # the bits of a slot that are the number


class SymmetryTable(NamedTuple):
    """Bundles of interchangeable elements, class by class; their own bits make a number for each, of a few words.

    A number is read and written piece by piece, each of bits that are side by side in a word of the state and of the
    number.
    """

    classes: Numbers  # where the bundles of each class begin among all, and where those of the next one do
    pieces: Numbers  # where the pieces of each bundle begin, and where those of the next one do:
    sources: Numbers  # in which word of the state,
    shifts: Words  # by how many bits they are shifted to the left there,
    fields: Words  # which bits they have before that,
    parts: Numbers  # in which word of the number,
    turns: Words  # and by how many bits they are shifted to the left there
    length: int  # how many words a number has
    shared: Words
    """For each word of a state the bits that say something of several bundles; no words, if no elements are alike."""
    memo: int  # the memo that says what becomes of states that have such bits
    numbers: Words  # where numbers are read,
    order: Numbers  # and where bundles are put in order


class Work(NamedTuple):
    """Where the kernel works. A block has for each word, or each memo, a line of ``BLOCK`` entries, one for a state."""

    block: Words  # the words of some states
    keys: Words  # the words of their keys for one memo
    sums: Words  # the hashes of these
    spots: Numbers  # where the cells for them belong,
    differences: Words  # and in which bits the keys differ from what is there
    contents: Slots  # what the cells of each memo hold
    marks: Words  # for each state the memos whose answer is not the first one, as bits: 64 memos to a line
    used: Slots  # the answers that the states of a block were expanded by
    state: Words  # a state
    after: Words  # one that follows
    key: Words  # a key, or a row
    buffer: Words  # rows of successors that were not looked for yet
    hashes: Words  # their hashes
    places: Numbers  # where to begin to look for them


def room_to_work(words: int, memos: int, width: int, successors: int) -> Work:
    """Return room for states of so many words, memos, and successors whose rows have a width."""
    return Work(
        block=np.zeros(BLOCK * words, np.uint64),
        keys=np.zeros(BLOCK * words, np.uint64),
        sums=np.zeros(BLOCK, np.uint64),
        spots=np.zeros(BLOCK, np.int64),
        differences=np.zeros(BLOCK, np.uint64),
        contents=np.zeros(BLOCK * memos, np.uint32),
        marks=np.zeros(BLOCK * -(-memos // MARKED), np.uint64),
        used=np.zeros(BLOCK * memos, np.uint32),
        state=np.zeros(words, np.uint64),
        after=np.zeros(words, np.uint64),
        key=np.zeros(words, np.uint64),
        buffer=np.zeros(successors * width, np.uint64),
        hashes=np.zeros(successors, np.uint64),
        places=np.zeros(successors, np.int64),
    )


class Missing(NamedTuple):
    """Answers that are missing: of which memos, and in which states."""

    memos: Numbers
    states: Words
