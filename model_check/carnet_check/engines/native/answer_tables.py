"""What memos answered so far, written down in tables that the kernel reads.

A memo has its answers by the bits it reads, which only grow: the answers that are there hold where the new bits are 0,
and are found only there. What a memo forgets is forgotten here. Where the states get more words, a new book is begun;
what the memos know is then entered again as it is asked for.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from operator import attrgetter
from typing import Any

import numpy as np

from carnet_check.engines.explicit.layout import Layout
from carnet_check.engines.explicit.memory import Memo
from carnet_check.engines.explicit.saturation import Change
from carnet_check.engines.explicit.search import Moves, Sighting
from carnet_check.engines.native.answers import enter_answers
from carnet_check.engines.native.store import BYTES, WORD, Gathering, row_of
from carnet_check.engines.native.tables import EMPTY, FIRST, NONE, Missing, Numbers, Tables, Words

ASKED = 512
"""How many answers are asked for at once."""
_ROOM = 64
_OF_WORDS = {"masks", "turns", "drops", "cells", "touched", "cleared"}
_FORGOTTEN = attrgetter("forgotten")


class AnswerTables:
    """Tables for states of ``words`` words.

    Attributes:
        tables: what the kernel reads; replaced when something grows.
        moves: the answers about moves, by number.
        looking: the numbers of the memos that see what is looked for.
    """

    def __init__(self, words: int, moving: Sequence[Memo[Moves | None]], looking: Sequence[Memo[Sighting]]) -> None:
        self.words = words
        self.moves: list[Moves | None] = [None]
        self._memos: list[Memo[Any]] = []  # which keeps them, so that each has an identity of its own
        self._numbers: dict[int, int] = {}
        self._forgotten: list[int] = []
        self._write: list[Callable[[Any], int]] = []
        self._keys: list[Gathering] = []
        self._edits: dict[tuple[int, int, int], int] = {}
        self._listed = self._parts = self._pieces = self._cells = self._targets = self._bits = 0
        self._key = np.zeros(words, np.uint64)
        arrays: dict[str, Any] = {
            name: np.zeros(_ROOM + 1, np.uint64 if name in _OF_WORDS else np.int64) for name in Tables._fields
        }
        self.tables = Tables(**arrays)
        self._change(None)
        self.move_by(moving)
        self.look_for(looking)

    def move_by(self, moving: Sequence[Memo[Moves | None]]) -> None:
        """Expand states by what these memos answer; what others answered stays, since they may be asked again."""
        numbers = [self._number(memo, self._moves) for memo in moving]
        self.tables = self.tables._replace(moving=np.array(numbers, np.int64))

    def look_for(self, looking: Sequence[Memo[Sighting]]) -> None:
        """Look for what these memos see."""
        self.looking: Numbers = np.array([self._number(memo, bool) for memo in looking], np.int64)

    def number_of(self, memo: Memo[Change]) -> int:
        """Return the number of a memo of changes."""
        return self._number(memo, self._change)

    def work_out(self, missing: Missing, misses: int, layout: Layout) -> bool:
        """Have memos answer what is missing; return false if states need more words now, and so another book."""
        memos, states = missing.memos[:misses].tolist(), missing.states[: misses * self.words]
        each = BYTES * self.words
        packed = states.tobytes()
        asked = (int.from_bytes(packed[at : at + each], "little") for at in range(0, len(packed), each))
        answers = [self._memos[memo].answer(state) for memo, state in zip(memos, asked, strict=True)]
        if layout.bits > WORD * self.words:
            return False
        self._enter_all(memos, states, answers, layout.bits)
        return True

    def _enter_all(self, memos: Sequence[int], states: Words, answers: Sequence[Any], bits: int) -> None:
        """Enter answers about states of so many bits, which the kernel awaits; what was forgotten it will ask again."""
        entered = memos
        if self._forgotten != list(map(_FORGOTTEN, self._memos)):
            stale = self._forget()
            kept = [place for place, memo in enumerate(memos) if memo not in stale]
            entered, answers = [memos[place] for place in kept], [answers[place] for place in kept]
            states = states.reshape(-1, self.words)[kept].ravel()
        contents = [FIRST + self._write[memo](answer) for memo, answer in zip(entered, answers, strict=True)]
        if bits != self._bits:
            self._bits = bits
            # Take note of what memos read
            for number in range(len(self._memos)):
                self._read(number)
        self._enter(np.array(entered, np.int64), states, np.array(contents, np.uint64))
        self._make_room(set(memos))

    def _forget(self) -> Collection[int]:
        """Forget what memos have forgotten, and return which these are."""
        stale = [number for number, memo in enumerate(self._memos) if memo.forgotten != self._forgotten[number]]
        for number in stale:
            begin, size, width = self.tables.bases[number], self.tables.sizes[number], 1 + self.tables.lengths[number]
            self.tables.cells[begin : begin + size * width] = EMPTY
            self.tables.known[number] = 0
            self._forgotten[number] = self._memos[number].forgotten
        return stale

    def _enter(self, memos: Numbers, states: Words, contents: Words) -> None:
        enter_answers(memos, states, self.words, contents, self.tables, self._key)

    def _make_room(self, asked: Iterable[int]) -> None:
        """Keep at least half of the cells empty of memos that were asked, as many answers as may be asked for next."""
        for number in asked:
            if 2 * (self.tables.known[number] + ASKED) > self.tables.sizes[number]:
                self._settle(number, self._keys[number])

    # -- memos -------------------------------------------------------------------------------------

    def _number(self, memo: Memo[Any], write: Callable[[Any], int]) -> int:
        if id(memo) not in self._numbers:
            number = self._numbers[id(memo)] = len(self._memos)
            self._memos.append(memo)
            self._forgotten.append(memo.forgotten)
            self._write.append(write)
            self._keys.append(Gathering(self.words, 0))
            self._grow_to(number + 1, "begins", "lengths", "bases", "sizes", "drops", "known")
            self._settle(number, Gathering(self.words, self._read_by(memo)))
        return self._numbers[id(memo)]

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
            self._grow_to(self._parts + 2, "pieces")
            for source, (mask, turn) in enumerate(zip(part.masks, part.turns, strict=True)):
                if mask:
                    self._grow_to(self._pieces + 1, "sources", "masks", "turns")
                    tables, piece = self.tables, self._pieces
                    tables.sources[piece], tables.masks[piece], tables.turns[piece] = source, mask, turn
                    self._pieces += 1
            self._parts += 1
            self.tables.pieces[self._parts] = self._pieces

    def _settle(self, number: int, key: Gathering) -> None:
        """Give a memo a table with this key and room for more, and enter in it what is known."""
        tables = self.tables
        begin, size, width = tables.bases[number], tables.sizes[number], 1 + tables.lengths[number]
        cells = tables.cells[begin : begin + size * width].reshape(-1, width)
        cells = cells[cells[:, 0] != EMPTY]
        states = self._keys[number].scattered(cells[:, 1:]).ravel()
        self._keys[number] = key
        self._describe(number, key)
        size = 1 << int(2 * (len(cells) + ASKED)).bit_length()
        self._grow_to(self._cells + size * (1 + len(key.parts)), "cells")
        self.tables.bases[number], self.tables.sizes[number] = self._cells, size
        self.tables.drops[number] = WORD - (size.bit_length() - 1)
        self.tables.known[number] = 0
        self._cells += size * (1 + len(key.parts))
        self._enter(np.full(len(cells), number), states, np.ascontiguousarray(cells[:, 0]))

    # -- answers -----------------------------------------------------------------------------------

    def _moves(self, answer: Moves | None) -> int:
        """Return the number of an answer; the first one is that there are no moves."""
        if answer is None:
            return 0
        number = len(self.moves)
        self._grow_to(number + 1, "visits")
        self._grow_to(number + 2, "firsts")
        self.moves.append(answer)
        effects = [
            self._edit(touched, cleared, NONE if closure is None else self._number(closure, self._change))
            for touched, cleared, closure in answer.effects
        ]
        begin, self._listed = self._listed, self._listed + len(effects)
        self._grow_to(self._listed, "effects")
        self.tables.effects[begin : self._listed] = effects
        self.tables.firsts[number + 1] = self._listed
        return number

    def _change(self, answer: Change) -> int:
        return self._edit(*(answer or (0, 0)), NONE)

    def _edit(self, touched: int, cleared: int, follows: int) -> int:
        """Return the number of an edit; the first one that there is changes nothing."""
        known = touched, cleared, follows
        if known not in self._edits:
            number = self._edits[known] = len(self._edits)
            self._grow_to(number + 2, "edits")
            self._grow_to(number + 1, "closures")
            for word, masks in enumerate(zip(row_of(touched, self.words), row_of(cleared, self.words), strict=True)):
                if any(masks):
                    self._grow_to(self._targets + 1, "targets", "touched", "cleared")
                    self.tables.targets[self._targets] = word
                    self.tables.touched[self._targets], self.tables.cleared[self._targets] = masks
                    self._targets += 1
            self.tables.edits[number + 1] = self._targets
            self.tables.closures[number] = follows
        return self._edits[known]

    # -- room --------------------------------------------------------------------------------------

    def _grow_to(self, size: int, *names: str) -> None:
        """Double arrays of the tables until each has at least a size."""
        for name in names:
            while len(array := getattr(self.tables, name)) < size:
                self.tables = self.tables._replace(**{name: np.concatenate([array, np.zeros_like(array)])})
