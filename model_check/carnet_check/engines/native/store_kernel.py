"""The machine's part of a store: rows are written, read, and entered in the table by which they are found again."""

from __future__ import annotations

import numpy as np

from carnet_check.engines.native.compiling import compiled, fetch, nth
from carnet_check.engines.native.rows import code_of, following, hashed, home, put, unpack
from carnet_check.engines.native.tables import CODE, NONE, Kept, Number, Words


@compiled
def pack(states: Words, words: Number, begin: Number, kept: Kept) -> Number:
    """Write states of so many words as rows from ``begin`` on; return a word that has too many values, or NONE."""
    for number in range(states.shape[0] // words):
        for word in range(words):
            if not put(word, states[nth(number * words + word)], kept.rows, (begin + number) * kept.width, kept):
                return word
    return NONE


@compiled
def number_again(word: Number, kept: Kept) -> None:
    """Enter the codes of a word's values into empty places."""
    for code in range(1, kept.used[nth(word)] + 1):
        kept.codes[nth(code_of(word, kept.values[nth((word << CODE) + code)], kept))] = code


@compiled
def unpacked(at: Number, kept: Kept, state: Words) -> None:
    """Write the words of a state that is kept."""
    unpack(at, 1, kept, state, 1)


@compiled
def enter_all(count: Number, kept: Kept, homes: Words) -> None:
    """Enter the states found, all of them different, into empty slots."""
    ahead = homes.shape[0]
    for begin in range(0, count, ahead):
        end = min(begin + ahead, count)
        for at in range(begin, end):
            homes[nth(at - begin)] = hashed(kept.rows, at * kept.width, kept)
            fetch(kept.slots, home(homes[nth(at - begin)], kept))
        for at in range(begin, end):
            h = homes[nth(at - begin)]
            place = home(h, kept)
            while kept.slots[nth(place)]:
                place = following(place, kept)
            kept.slots[nth(place)] = np.uint32((h & ~kept.numbers) | np.uint64(at + 1))
