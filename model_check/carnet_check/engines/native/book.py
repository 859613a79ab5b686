"""What memos answered so far, written down in tables that the kernel reads.

A memo has its answers by the bits it reads, which only grow: the answers that are there hold where the new bits are 0,
and are found only there. Where a memo forgets, or the states get more words, a new book is begun; what the memos know
still is then entered again as it is asked for.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from carnet_check.engines.explicit.layout import Layout
from carnet_check.engines.explicit.memory import Memo
from carnet_check.engines.explicit.saturation import Change
from carnet_check.engines.explicit.search import Moves, Sighting
from carnet_check.engines.native import kernel
from carnet_check.engines.native.store import row_of
from carnet_check.engines.native.tables import NONE, Missing, Tables, Words

WORD = 64
MISSES = 512
"""How many answers are asked for at once."""
_ROOM = 64


class Book:
    """Tables for states of ``words`` words.

    Attributes:
        tables: what the kernel reads; replaced when something grows.
        moves: the answers about moves, by number.
        looking: the numbers of the memos that see what is looked for.
    """

    def __init__(self, words: int, moving: Sequence[Memo[Moves | None]], looking: Sequence[Memo[Sighting]]) -> None:
        self.words = words
        self.moves: list[Moves | None] = []
        self._memos: list[Memo[Any]] = []  # which keeps them, so that each has an identity of its own
        self._numbers: dict[int, int] = {}
        self._forgotten: list[int] = []
        self._write: list[Callable[[Any], int]] = []
        self._effects: dict[tuple[int, int, int], int] = {}
        self._entries = self._listed = self._bits = 0
        self._changes = 1
        self.tables = Tables(
            masks=np.zeros((_ROOM, words), np.uint64),
            factors=_factors(words),
            words=np.zeros((_ROOM, words), np.int64),
            lengths=np.zeros(_ROOM, np.int64),
            moving=np.zeros(0, np.int64),
            owners=np.full(8 * MISSES, NONE, np.int64),
            keys=np.zeros((8 * MISSES, words), np.uint64),
            answers=np.zeros(8 * MISSES, np.int64),
            firsts=np.zeros(_ROOM, np.int64),
            counts=np.zeros(_ROOM, np.int64),
            visits=np.zeros(_ROOM, np.int64),
            effects=np.zeros(_ROOM, np.int64),
            touched=np.zeros((_ROOM, words), np.uint64),
            cleared=np.zeros((_ROOM, words), np.uint64),
            closures=np.zeros(_ROOM, np.int64),
            change_touched=np.zeros((_ROOM, words), np.uint64),
            change_cleared=np.zeros((_ROOM, words), np.uint64),
        )
        numbers = [self._number(memo, self._moves) for memo in moving]
        self.tables = self.tables._replace(moving=np.array(numbers, np.int64))
        self.look_for(looking)

    def look_for(self, looking: Sequence[Memo[Sighting]]) -> None:
        """Look for what these memos see."""
        self.looking = np.array([self._number(memo, bool) for memo in looking], np.int64)

    def work_out(self, missing: Missing, misses: int, layout: Layout) -> bool:
        """Have the memos answer what is missing; return false if a new book has to be begun.

        That is so if answers were forgotten, or states do not fit into their words any more.
        """
        self._make_room(misses)
        asked = [
            (int(memo), int.from_bytes(state.tobytes(), "little"))
            for memo, state in zip(missing.memos[:misses], missing.states[:misses], strict=True)
        ]
        for memo, state in asked:
            answer = self._memos[memo].answer(state)
            if layout.bits > WORD * self.words or self.is_stale:
                return False
            self._read_anew(layout.bits)
            self._enter(memo, state, answer)
        return True

    def _enter(self, number: int, state: int, answer: Any) -> None:
        """Enter an answer about a state, which the kernel awaits."""
        kernel.enter(number, row_of(state, self.words), self._write[number](answer), self.tables)

    def _make_room(self, entries: int) -> None:
        """Take note of new entries, and keep at least half of the places free although as many come again."""
        self._entries += entries
        if 2 * (self._entries + MISSES) >= len(self.tables.owners):
            self._enlarge(4 * (self._entries + MISSES))

    @property
    def is_stale(self) -> bool:
        """Whether a memo has forgotten what is entered."""
        return any(memo.forgotten != known for memo, known in zip(self._memos, self._forgotten, strict=True))

    # -- memos -------------------------------------------------------------------------------------

    def _number(self, memo: Memo[Any], write: Callable[[Any], int]) -> int:
        if id(memo) not in self._numbers:
            number = self._numbers[id(memo)] = len(self._memos)
            self._memos.append(memo)
            self._forgotten.append(memo.forgotten)
            self._write.append(write)
            if number >= len(self.tables.lengths):
                self._grow("masks", "words", "lengths")
            self._read(number)
        return self._numbers[id(memo)]

    def _read_anew(self, bits: int) -> None:
        """Take note of what memos read, if there are more bits than before."""
        if bits == self._bits:
            return
        self._bits = bits
        for number in range(len(self._memos)):
            self._read(number)

    def _read(self, number: int) -> None:
        """Take note of the bits that a memo reads now."""
        mask = row_of(self._memos[number].reads & (1 << WORD * self.words) - 1, self.words)
        if not np.array_equal(self.tables.masks[number], mask):
            self.tables.masks[number] = mask
            (words,) = np.nonzero(mask)
            self.tables.words[number, : len(words)] = words
            self.tables.lengths[number] = len(words)

    # -- answers -----------------------------------------------------------------------------------

    def _moves(self, answer: Moves | None) -> int:
        number = len(self.moves)
        if number >= len(self.tables.firsts):
            self._grow("firsts", "counts", "visits")
        self.moves.append(answer)
        self.tables.firsts[number] = self._listed
        effects = () if answer is None else answer.effects
        for effect in effects:
            if self._listed >= len(self.tables.effects):
                self._grow("effects")
            self.tables.effects[self._listed] = self._effect(*effect)
            self._listed += 1
        self.tables.counts[number] = len(effects)
        return number

    def _effect(self, touched: int, cleared: int, closure: Memo[Change] | None) -> int:
        follows = NONE if closure is None else self._number(closure, self._change)
        known = touched, cleared, follows
        if known in self._effects:
            return self._effects[known]
        number = self._effects[known] = len(self._effects)
        if number >= len(self.tables.closures):
            self._grow("touched", "cleared", "closures")
        self.tables.touched[number] = row_of(touched, self.words)
        self.tables.cleared[number] = row_of(cleared, self.words)
        self.tables.closures[number] = follows
        return number

    def _change(self, answer: Change) -> int:
        if answer is None:
            return 0
        number = self._changes
        if number >= len(self.tables.change_touched):
            self._grow("change_touched", "change_cleared")
        self.tables.change_touched[number], self.tables.change_cleared[number] = (
            row_of(mask, self.words) for mask in answer
        )
        self._changes += 1
        return number

    # -- room --------------------------------------------------------------------------------------

    def _grow(self, *names: str) -> None:
        """Double arrays of the tables."""
        larger = {name: np.concatenate([(old := getattr(self.tables, name)), np.zeros_like(old)]) for name in names}
        self.tables = self.tables._replace(**larger)

    def _enlarge(self, at_least: int) -> None:
        """Enter everything into larger tables, whose size is a power of two."""
        old, size = self.tables, 1 << at_least.bit_length()
        self.tables = old._replace(
            owners=np.full(size, NONE, np.int64),
            keys=np.zeros((size, self.words), np.uint64),
            answers=np.zeros(size, np.int64),
        )
        for place in np.nonzero(old.owners != NONE)[0]:
            kernel.enter(old.owners[place], old.keys[place], old.answers[place], self.tables)


def _factors(words: int) -> Words:
    """Return odd numbers whose bits are spread."""
    return np.array([pow(0x9E3779B97F4A7C15, word + 1, 1 << 64) | 1 for word in range(words)], np.uint64)
