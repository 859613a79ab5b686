"""What the kernel reads: the answers that are known, as arrays, and where it notes those that are missing."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

Words = npt.NDArray[np.uint64]
Numbers = npt.NDArray[np.int64]
Slots = npt.NDArray[np.uint32]
Marks = npt.NDArray[np.uint8]

NONE = -1
"""No memo, and no closure."""
AWAITED = -2
"""Stands for an answer that is missing and was noted."""


class Tables(NamedTuple):
    """What is known of a protocol so far."""

    masks: Words
    """The bits that each memo reads."""
    factors: Words
    """An odd number for each word, which hashes are made with: what is 0 adds nothing to a hash."""
    words: Numbers
    """Which words these bits are in, for each memo; as many as ``lengths`` says."""
    lengths: Numbers
    """How many words."""
    moving: Numbers
    """The memos that together have every move."""
    owners: Numbers
    """For each entry its memo, or -1 where there is none."""
    keys: Words
    """For each entry the bits."""
    answers: Numbers
    """For each entry the number of an answer: of moves, of a change, or whether something is seen."""
    firsts: Numbers
    """For each answer of moves where its effects begin among all that are listed."""
    counts: Numbers
    """How many effects it has."""
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


class Missing(NamedTuple):
    """Answers that are missing: of which memos, and in which states."""

    memos: Numbers
    states: Words
