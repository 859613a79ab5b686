"""What the kernel is told of interchangeable elements."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import accumulate

import numpy as np

from carnet_check.engines.explicit.symmetry.standing import Standing
from carnet_check.engines.native.keys import WORD
from carnet_check.engines.native.store import row_of
from carnet_check.engines.native.tables import Alike

Piece = tuple[int, int, int, int, int]
"""A word of the state, a shift and a field there, a word of the number, and a shift there."""


def described(standing: Standing | None, words: int, memo: int) -> Alike:
    """Describe what stands for what in states of so many words, to a kernel that knows by a number who breaks ties."""
    classes = [] if standing is None else standing.classes
    bundles = [bundle for each in classes for bundle in each]
    pieces = [list(_pieces(bundle.parts)) for bundle in bundles]
    columns = np.array([piece for each in pieces for piece in each], np.uint64).reshape(-1, 5)
    length = 1 + max((int(part) for part in columns[:, 3]), default=0)
    return Alike(
        classes=np.array([0, *accumulate(map(len, classes))], np.int64),
        pieces=np.array([0, *accumulate(map(len, pieces))], np.int64),
        sources=columns[:, 0].astype(np.int64),
        shifts=columns[:, 1].copy(),
        fields=columns[:, 2].copy(),
        parts=columns[:, 3].astype(np.int64),
        turns=columns[:, 4].copy(),
        length=length,
        shared=np.zeros(0, np.uint64) if standing is None else row_of(standing.shared, words),
        memo=memo,
        numbers=np.zeros(length * len(bundles), np.uint64),
        order=np.zeros(len(bundles), np.int64),
    )


def _pieces(parts: Sequence[tuple[int, int, int]]) -> Iterator[Piece]:
    """Divide places, each by its mask, its shift and its place in the number, where a word ends."""
    for mask, shift, to in parts:
        at, end = shift, mask.bit_length()
        while at < end:
            number = to + at - shift
            width = min(end - at, WORD - at % WORD, WORD - number % WORD)
            yield at // WORD, at % WORD, (1 << width) - 1, number // WORD, number % WORD
            at += width
