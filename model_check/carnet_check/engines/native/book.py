"""What memos answered so far, written down in tables that the kernel reads.

A memo has its answers by the bits it reads, which only grow: the answers that are there hold where the new bits are 0,
and are found only there. Where a memo forgets, or the states get more words, a new book is begun; what the memos know
still is then entered again as it is asked for.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from carnet_check.engines.explicit.memory import Memo
from carnet_check.engines.explicit.saturation import Change
from carnet_check.engines.explicit.search import Moves, Sighting
from carnet_check.engines.native import kernel
from carnet_check.engines.native.keys import WORD, Gathering
from carnet_check.engines.native.store import row_of
from carnet_check.engines.native.tables import EMPTY, FIRST, NONE, Numbers, Tables

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
        self._keys: list[Gathering] = []
        self._effects: dict[tuple[int, int, int], int] = {}
        self._listed = self._parts = self._cells = self._bits = 0
        self._changes = 1
        self._key = np.zeros(words, np.uint64)
        self._form = (0,) * words
        self.tables = Tables(
            begins=np.zeros(_ROOM, np.int64),
            lengths=np.zeros(_ROOM, np.int64),
            masks=np.zeros(_ROOM * words, np.uint64),
            turns=np.zeros(_ROOM * words, np.uint64),
            bases=np.zeros(_ROOM, np.int64),
            sizes=np.zeros(_ROOM, np.int64),
            known=np.zeros(_ROOM, np.int64),
            cells=np.zeros(_ROOM, np.uint64),
            moving=np.zeros(0, np.int64),
            firsts=np.zeros(_ROOM + 1, np.int64),
            visits=np.zeros(_ROOM, np.int64),
            effects=np.zeros(_ROOM, np.int64),
            touched=np.zeros(_ROOM * words, np.uint64),
            cleared=np.zeros(_ROOM * words, np.uint64),
            closures=np.zeros(_ROOM, np.int64),
            change_touched=np.zeros(_ROOM * words, np.uint64),
            change_cleared=np.zeros(_ROOM * words, np.uint64),
        )
        numbers = [self._number(memo, self._moves) for memo in moving]
        self.tables = self.tables._replace(moving=np.array(numbers, np.int64))
        self.look_for(looking)

    def look_for(self, looking: Sequence[Memo[Sighting]]) -> None:
        """Look for what these memos see."""
        self.looking: Numbers = np.array([self._number(memo, bool) for memo in looking], np.int64)

    def asked(self, number: int, state: int) -> Any:
        """Have a memo answer about a state; what it reads may have grown."""
        return self._memos[number].answer(state)

    def enter(self, number: int, state: int, answer: Any) -> None:
        """Enter an answer about a state, which the kernel awaits."""
        content = FIRST + self._write[number](answer)
        kernel.enter(self._form, number, row_of(state, self.words), 0, content, self.tables, self._key)

    def make_room(self) -> None:
        """Keep at least half of each memo's cells empty, although as many answers come as are asked for at once."""
        for number in range(len(self._memos)):
            if 2 * (self.tables.known[number] + MISSES) > self.tables.sizes[number]:
                self._settle(number, self._keys[number])

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
            self._keys.append(Gathering(self.words, 0))
            if number >= len(self.tables.lengths):
                self._grow("begins", "lengths", "bases", "sizes", "known")
            self._settle(number, Gathering(self.words, self._read_by(memo)))
        return self._numbers[id(memo)]

    def read_anew(self, bits: int) -> None:
        """Take note of what memos read, if there are more bits than before."""
        if bits == self._bits:
            return
        self._bits = bits
        for number in range(len(self._memos)):
            self._read(number)

    def _read_by(self, memo: Memo[Any]) -> int:
        return memo.reads & (1 << WORD * self.words) - 1

    def _read(self, number: int) -> None:
        """Take note of the bits that a memo reads now; where they need a longer key, all are gathered anew."""
        key, reads = self._keys[number], self._read_by(self._memos[number])
        if key.reads == reads:
            return
        length = len(key.parts)
        key.read(reads)
        if len(key.parts) == length:
            self._describe(number, key)
        else:
            self._settle(number, Gathering(self.words, reads))

    def _describe(self, number: int, key: Gathering) -> None:
        """Write down how the key of a memo is gathered."""
        self.tables.begins[number], self.tables.lengths[number] = self._parts, len(key.parts)
        for part in key.parts:
            if (self._parts + 1) * self.words > len(self.tables.masks):
                self._grow("masks", "turns")
            row = slice(self._parts * self.words, (self._parts + 1) * self.words)
            self.tables.masks[row], self.tables.turns[row] = part.masks, part.turns
            self._parts += 1

    def _settle(self, number: int, key: Gathering) -> None:
        """Give a memo a table with this key and room for more, and enter in it what is known."""
        tables = self.tables
        begin, size, width = tables.bases[number], tables.sizes[number], 1 + tables.lengths[number]
        cells = tables.cells[begin : begin + size * width].reshape(-1, width)
        cells = cells[cells[:, 0] != EMPTY]
        states = self._keys[number].scattered(cells[:, 1:]).ravel()
        self._keys[number] = key
        self._describe(number, key)
        size = 1 << int(2 * (len(cells) + MISSES)).bit_length()
        while self._cells + size * (1 + len(key.parts)) > len(self.tables.cells):
            self._grow("cells")
        self.tables.bases[number], self.tables.sizes[number] = self._cells, size
        self.tables.known[number] = 0
        self._cells += size * (1 + len(key.parts))
        for place, content in enumerate(cells[:, 0]):
            kernel.enter(self._form, number, states, place * self.words, int(content), self.tables, self._key)

    # -- answers -----------------------------------------------------------------------------------

    def _moves(self, answer: Moves | None) -> int:
        number = len(self.moves)
        if number >= len(self.tables.visits):
            self._grow("firsts", "visits")
        self.moves.append(answer)
        effects = () if answer is None else answer.effects
        for effect in effects:
            if self._listed >= len(self.tables.effects):
                self._grow("effects")
            self.tables.effects[self._listed] = self._effect(*effect)
            self._listed += 1
        self.tables.firsts[number + 1] = self._listed
        return number

    def _effect(self, touched: int, cleared: int, closure: Memo[Change] | None) -> int:
        follows = NONE if closure is None else self._number(closure, self._change)
        known = touched, cleared, follows
        if known not in self._effects:
            number = self._effects[known] = len(self._effects)
            if number >= len(self.tables.closures):
                self._grow("touched", "cleared", "closures")
            self._write_row("touched", number, touched)
            self._write_row("cleared", number, cleared)
            self.tables.closures[number] = follows
        return self._effects[known]

    def _change(self, answer: Change) -> int:
        if answer is None:
            return 0
        number = self._changes
        if (number + 1) * self.words > len(self.tables.change_touched):
            self._grow("change_touched", "change_cleared")
        self._write_row("change_touched", number, answer[0])
        self._write_row("change_cleared", number, answer[1])
        self._changes += 1
        return number

    def _write_row(self, name: str, number: int, state: int) -> None:
        getattr(self.tables, name)[number * self.words : (number + 1) * self.words] = row_of(state, self.words)

    # -- room --------------------------------------------------------------------------------------

    def _grow(self, *names: str) -> None:
        """Double arrays of the tables."""
        larger = {name: np.concatenate([(old := getattr(self.tables, name)), np.zeros_like(old)]) for name in names}
        self.tables = self.tables._replace(**larger)
