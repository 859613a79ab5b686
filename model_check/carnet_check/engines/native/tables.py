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
    """What is known of a protocol so far, in arrays.

    Attributes:
        masks: the bits that each memo reads.
        factors: an odd number for each word, which hashes are made with: what is 0 adds nothing to a hash.
        words: which words these bits are in, for each memo; as many as ``lengths`` says.
        lengths: how many words.
        moving: the memos that together have every move.
        owners: for each entry its memo, or -1 where there is none.
        keys: for each entry the bits.
        answers: for each entry the number of an answer: of moves, of a change, or whether something is seen.
        firsts: for each answer of moves its first effect.
        counts: how many effects it has.
        visits: how often it was used.
        touched: for each effect what it sets; a state after it is ``(state | touched) ^ cleared``.
        cleared: what it clears again.
        closures: for each effect the memo of the deductions that follow, or -1.
        change_touched: for each change by deductions what it sets; the first one changes nothing.
        change_cleared: what it clears again.
    """

    masks: Words
    factors: Words
    words: Numbers
    lengths: Numbers
    moving: Numbers
    owners: Numbers
    keys: Words
    answers: Numbers
    firsts: Numbers
    counts: Numbers
    visits: Numbers
    touched: Words
    cleared: Words
    closures: Numbers
    change_touched: Words
    change_cleared: Words


class Missing(NamedTuple):
    """Answers that are missing: of which memos, and in which states."""

    memos: Numbers
    states: Words
