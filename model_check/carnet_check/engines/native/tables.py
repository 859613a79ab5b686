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
Marks = npt.NDArray[np.uint8]
Number = int | np.int64
Form = tuple[int, ...]
"""As many numbers as a state has words, of no meaning: so the compiler knows how many there are."""

NONE = -1
"""No closure."""
EMPTY, AWAITED, FIRST = range(3)
"""What a cell holds: nothing, that an answer is missing and was noted, or the number of one, counted from here."""


class Tables(NamedTuple):
    """What is known of a protocol so far.

    What a memo reads is gathered into a key of few words: into each some bits of every word of the state, turned to
    where they have room. The answers of a memo are cells in a table of its own, each with the number of an answer and
    then the key.
    """

    begins: Numbers
    """Where the words of each memo's key begin."""
    lengths: Numbers
    """How many there are."""
    masks: Words
    """For each of them the bits of each word of the state."""
    turns: Words
    """By how many bits these are turned to the left."""
    bases: Numbers
    """Where the table of each memo begins among all cells."""
    sizes: Numbers
    """How many cells it has, a power of two."""
    known: Numbers
    """How many of them are not empty."""
    cells: Words
    """All tables."""
    moving: Numbers
    """The memos that together have every move."""
    firsts: Numbers
    """For each answer of moves where its effects begin among all that are listed, and where the next one's do."""
    visits: Numbers
    """How often it was used."""
    effects: Numbers
    """The effects that answers list; many list the same."""
    touched: Words
    """For each effect what it sets; a state after it is ``(state | touched) ^ cleared``."""
    cleared: Words
    """What it clears again."""
    closures: Numbers
    """For each effect the memo of the deductions that follow, or -1."""
    change_touched: Words
    """For each change by deductions what it sets; the first one changes nothing."""
    change_cleared: Words
    """What it clears again."""


class Kept(NamedTuple):
    """The states found, and a table by which they are found again."""

    rows: Words
    """The words of each state."""
    slots: Slots
    """For each place of the table a state's number plus one, or 0, and above it some bits of the state's hash."""
    numbers: np.uint64
    """The bits of a slot that are the number."""


class Work(NamedTuple):
    """Where the kernel works."""

    chosen: Numbers
    """The answer of each memo that has moves."""
    key: Words
    """A key."""
    buffer: Words
    """Successors that were not looked for yet."""
    hashes: Words
    """Their hashes."""
    places: Numbers
    """Where to begin to look for them."""


class Missing(NamedTuple):
    """Answers that are missing: of which memos, and in which states."""

    memos: Numbers
    states: Words
