"""How the bits that a memo reads are gathered into few words, so that few are hashed and compared.

Most memos read some bits in every word of a state, and few in all. So the bits of each word are turned to where they
have room beside those of other words. A memo that reads more gathers more; what was gathered before is where it was.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from carnet_check.engines.native.tables import Words

WORD = 64
_ALL = (1 << WORD) - 1


@dataclass(slots=True)
class Part:
    """One word of a key: for each word of a state which bits of it are there, and by how many they are turned left."""

    masks: list[int]
    turns: list[int]
    used: int = 0

    def take(self, source: int, mask: int) -> bool:
        """Gather more bits of one word, if there is room for them."""
        turns = [self.turns[source]] if self.masks[source] else range(WORD)
        for turn in turns:
            turned = (mask << turn | mask >> WORD - turn) & _ALL
            if not turned & self.used:
                self.masks[source] |= mask
                self.turns[source] = turn
                self.used |= turned
                return True
        return False


class Gathering:
    """The words of a key, gathered from states of ``words`` words; there are at most as many.

    Attributes:
        reads: the bits that are gathered.
        parts: the words of the key.
    """

    def __init__(self, words: int, reads: int) -> None:
        self.words = words
        self.reads = 0
        self.parts: list[Part] = []
        self.read(reads)

    def read(self, reads: int) -> None:
        """Gather these bits, too."""
        fresh, self.reads = reads & ~self.reads, self.reads | reads
        for source in range(self.words):
            mask = fresh >> WORD * source & _ALL
            if mask and not any(part.take(source, mask) for part in self.parts):
                self.parts.append(Part([0] * self.words, [0] * self.words))
                self.parts[-1].take(source, mask)

    def scattered(self, keys: Words) -> Words:
        """Return the states that keys were gathered from, as far as they were."""
        states = np.zeros((len(keys), self.words), np.uint64)
        for column, part in zip(keys.T, self.parts, strict=False):  # there may be more parts by now
            for source, (mask, turn) in enumerate(zip(part.masks, part.turns, strict=True)):
                back = (column << np.uint64(-turn % WORD)) | (column >> np.uint64(turn))
                states[:, source] |= back & np.uint64(mask)
        return states
