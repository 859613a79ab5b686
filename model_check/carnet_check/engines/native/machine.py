"""What the kernel works with, and the way back to the memos where it has no answer.

With threads, successors are written down ahead of the search that enters them, in the order in which it would have
found them alone. So nothing about what it finds depends on how many threads there are. Threads change nothing that the
search or another one reads: where an answer or a code is missing they stop, and the search goes on by itself from
there.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from itertools import accumulate
from typing import Any, NamedTuple

import numpy as np

from carnet_check.engines.explicit.layout import Layout
from carnet_check.engines.explicit.memory import Memo
from carnet_check.engines.explicit.search import Moves, Sighting
from carnet_check.engines.explicit.symmetry import Canonicalizer
from carnet_check.engines.native import kernel
from carnet_check.engines.native.answer_tables import ASKED, AnswerTables
from carnet_check.engines.native.store import WORD, Store, row_of, state_of
from carnet_check.engines.native.tables import (
    COUNT,
    COUNTERS,
    DOMINATED,
    EXPANDED,
    FILL,
    LONG,
    MISSES,
    NONE,
    USED,
    Marks,
    Missing,
    Number,
    Numbers,
    Slots,
    StateTable,
    SymmetryTable,
    Tables,
    Words,
    Work,
    room_to_work,
)

FOLLOWERS = 8
"""For how many successors of each state there is room at first."""
MOST_ALONE = 16
"""How many chunks at most the search expands alone after something was missing."""
_FULL = 1 << 40
"""So many codes are used that there is room for none."""
_NONE_ASKED = Missing(np.zeros(0, np.int64), np.zeros(0, np.uint64))


class ReadTables(NamedTuple):
    """What threads read."""

    table: StateTable
    level: int
    idle: Marks
    tables: Tables
    sym: SymmetryTable


@dataclass(frozen=True, slots=True)
class Buffer:
    """Where what follows a piece is written: successors, and by which answers they were found."""

    work: Work
    used: Slots


@dataclass(frozen=True, slots=True)
class Batch:
    """Some states, and what follows them once the thread is done: ``counters`` say up to which state, and how many."""

    end: int
    room: Buffer
    counters: Numbers
    done: Future[Number]


class Prefetcher:
    """Pieces of ``size`` states under way, in the order of their states; no piece without threads."""

    def __init__(self, threads: int, size: int) -> None:
        self._pool = ThreadPoolExecutor(threads, thread_name_prefix="ahead") if threads else None
        self._most = threads + 1
        self._size = size
        self._pieces: deque[Batch] = deque()
        self._rooms: list[Buffer] = []
        self._shape = (0, 0, 0)
        self._width = FOLLOWERS * size
        self._alone, self._next_alone = 0, 1

    def goes(self) -> bool:
        """Whether the next chunk is worth it: where something is missing again and again, it is not."""
        self._alone = max(0, self._alone - 1)
        return self._pool is not None and not self._alone

    def piece(self, known: Callable[[], ReadTables], begin: int, end: int) -> Batch:
        """Return what follows the states from ``begin`` on, and have what comes after them followed, up to ``end``."""
        assert self._pool is not None
        last = self._pieces[-1].end if self._pieces else begin
        while last < end and len(self._pieces) < self._most:
            self._pieces.append(self._started(known(), last, min(last + self._size, end)))
            last = self._pieces[-1].end
        why = self._pieces[0].done.result()
        piece = self._pieces.popleft()
        if why == kernel.DONE:
            self._next_alone = 1
        elif why == kernel.NARROW:
            self.stop()
            self._width *= 2
        else:
            self._alone, self._next_alone = self._next_alone, min(2 * self._next_alone, MOST_ALONE)
        return piece

    def reuse(self, room: Buffer) -> None:
        """Let a room be used again, now that what is written there was entered."""
        self._rooms.append(room)

    def stop(self) -> None:
        """Wait for what is under way, and forget it: what threads read is about to change."""
        while self._pieces:
            self._pieces[0].done.result()
            self._rooms.append(self._pieces.popleft().room)

    def _started(self, known: ReadTables, begin: int, end: int) -> Batch:
        room = self._room(known)
        counters = np.zeros(COUNTERS, np.int64)
        counters[EXPANDED] = begin
        table = known.table._replace(used=np.full_like(known.table.used, _FULL))
        sym = known.sym._replace(numbers=np.zeros_like(known.sym.numbers), order=np.zeros_like(known.sym.order))
        assert self._pool is not None
        given = [
            end,
            table,
            known.level,
            known.idle,
            known.tables,
            sym,
            room.work,
            room.used,
            _NONE_ASKED,
            counters,
        ]
        done = self._pool.submit(_followed, given)
        return Batch(end, room, counters, done)

    def _room(self, known: ReadTables) -> Buffer:
        words, memos = len(known.table.columns), len(known.tables.moving)
        shape = (words, memos, known.table.width * self._width)
        if shape != self._shape:
            self._shape = shape
            self._rooms.clear()
        if self._rooms:
            return self._rooms.pop()
        work = room_to_work(words, memos, known.table.width, self._width)
        return Buffer(work, np.zeros(memos * self._size, np.uint32))


def _followed(given: list[Any]) -> Number:
    """Follow some states, and let go of what was given before that is told: rows that are held cannot move."""
    try:
        return kernel.follow(*given)
    finally:
        given.clear()


BUFFER = 1 << 9
"""How many successors are held at first before they are looked for."""
_PART = 1 << 16
"""For how many states it is counted at once for how many they stand."""
_MOST_COUNTED = (1 << 64) - 1
"""The largest number that the kernel counts to."""

ALONE = Prefetcher(threads=0, size=1)
"""Nobody works ahead."""


def words_of(layout: Layout) -> int:
    """Return how many words a state has."""
    return 1 + layout.bits // WORD


class Machine:
    """Expands states, and looks at them.

    Attributes:
        states: those found, in the order found.
    """

    def __init__(
        self,
        layout: Layout,
        canonical: Canonicalizer | None,
        states: Iterable[Words],
        room: int,
        spent: int,
        ahead: Prefetcher = ALONE,
    ) -> None:
        self._layout = layout
        self._canonical = canonical
        self._ahead = ahead
        self._words = words_of(layout)
        self._width = BUFFER
        self.states = Store(self._words, states, room + 4 * BUFFER, spent)
        self._moving: Sequence[Memo[Moves | None]] = ()
        self._looking: Sequence[Memo[Sighting]] = ()
        self._level, self._idle = 0, np.zeros(0, np.uint8)
        self._tallied: list[tuple[Moves, int]] = []
        self._begin()

    def go_by(self, moving: Sequence[Memo[Moves | None]], looking: Sequence[Memo[Sighting]]) -> None:
        """Use these memos from now on."""
        if moving is not self._moving:
            self._moving, self._looking = moving, looking
            self._ahead.stop()
            self._book.move_by(moving)
            self._book.look_for(looking)
            self._reserve()
        elif looking is not self._looking:
            self._looking = looking
            self._ahead.stop()
            self._book.look_for(looking)
            self._reserve()

    def pass_over(self, begin: int, end: int) -> Sequence[int]:
        """Leave out the states of a level that are dominated now that it is complete; return which."""
        self._level, self._idle = begin, np.zeros(end - begin, np.uint8)
        kernel.pass_over(begin, self.states.table, self._idle, self._work.hashes, self._work.key)
        places: list[int] = (begin + np.flatnonzero(self._idle)).tolist()
        return places

    def leave_out(self, begin: int, end: int, idle: Iterable[int]) -> None:
        """Leave out states of a level."""
        self._level, self._idle = begin, np.zeros(end - begin, np.uint8)
        self._idle[[place - begin for place in idle if begin <= place < end]] = 1

    def expand(self, begin: int, end: int, level_ends: int) -> int:
        """Expand some states of a level; return how many successors were dominated."""
        dominated = 0
        if self._ahead.goes():
            begin, dominated = self._expand_ahead(begin, end, level_ends)
        while begin < end:
            counters = self._counters(begin)
            why = kernel.expand(
                end,
                self.states.most,
                self.states.table,
                self._level,
                self._idle,
                self._book.tables,
                self._alike,
                self._work,
                self._missing,
                counters,
            )
            self.states.size, begin = int(counters[COUNT]), int(counters[EXPANDED])
            dominated += int(counters[DOMINATED])
            self._resolve(why, counters)
        return dominated

    def _expand_ahead(self, begin: int, end: int, level_ends: int) -> tuple[int, int]:
        dominated = 0
        while begin < end:
            piece = self._ahead.piece(self._known, begin, level_ends)
            reached, fill = int(piece.counters[EXPANDED]), int(piece.counters[FILL])
            if self.states.size + fill > self.states.most:
                self._ahead.stop()
                self.states.make_room(fill)
            counters = self._counters(begin)
            counters[FILL], counters[USED] = fill, piece.counters[USED]
            kernel.enter_followers(self.states.table, self._book.tables, piece.room.work, piece.room.used, counters)
            self.states.size, begin = int(counters[COUNT]), reached
            dominated += int(counters[DOMINATED])
            self._ahead.reuse(piece.room)
            if reached < piece.end:
                self._ahead.stop()
                break
        return begin, dominated

    def _known(self) -> ReadTables:
        return ReadTables(self.states.table, self._level, self._idle, self._book.tables, self._alike)

    def sighted(self, begin: int, looking: Callable[[], Sequence[Memo[Sighting]]]) -> Iterator[int]:
        """Yield each state from ``begin`` on at which something that is looked for then is seen."""
        while begin < self.states.size:
            self.go_by(self._moving, looking())
            counters = self._counters(begin)
            why = kernel.look(
                self.states.size,
                self.states.table,
                self._book.looking,
                self._book.tables,
                self._work,
                self._missing,
                counters,
            )
            begin = int(counters[EXPANDED])
            if why == kernel.SIGHTED:
                yield begin
                begin += 1
            self._resolve(why, counters)

    def predecessor(self, begin: int, end: int, target: int) -> int:
        """Return the first of some states that a state follows."""
        counters = self._counters(begin)
        while True:
            why = kernel.predecessor(
                end,
                target,
                self.states.table,
                self._book.tables,
                self._alike,
                self._work,
                self._missing,
                counters,
            )
            if why == kernel.SIGHTED:
                return int(counters[EXPANDED])
            assert why != kernel.DONE, "a state follows none of the level before"
            self._resolve(why, counters)
            counters[MISSES] = 0

    def stand_for(self, canonical: Canonicalizer, begin: int, end: int) -> int:
        """Return for how many some states stand."""
        return sum(self._stand_for(canonical, at, min(at + _PART, end)) for at in range(begin, end, _PART))

    def _stand_for(self, canonical: Canonicalizer, begin: int, end: int) -> int:
        """Have the kernel count, and count those that it leaves: they differ in little of what permutations move."""
        halves, undecided = np.zeros(2, np.uint64), np.ones(end - begin, np.uint8)
        if canonical.order <= _MOST_COUNTED:
            order, table = np.uint64(canonical.order), self.states.table
            kernel.stand_for(begin, order, table, self._alike, self._work.state, undecided, halves)
        lower, higher = halves.tolist()
        moving = row_of(canonical.moving, self._words)
        words = self.states.words_of(begin + np.flatnonzero(undecided)) & moving
        rows: list[bytes] = words.view(f"V{self.states.bytes_each}").ravel().tolist()
        return (
            lower
            + (higher << 32)
            + sum(canonical.orbit_size(state_of(row)) * count for row, count in Counter(rows).items())
        )

    def tally(self) -> list[tuple[Moves, int]]:
        """Return how often moves were made since the last time."""
        visits = self._book.tables.visits
        self._tallied += [(moves, int(count)) for moves, count in zip(self._book.moves, visits, strict=False) if moves]
        visits[:] = 0
        told, self._tallied = self._tallied, []
        return told

    # -- what is missing ---------------------------------------------------------------------------

    def _counters(self, begin: int) -> Numbers:
        counters = np.zeros(COUNTERS, np.int64)
        counters[COUNT], counters[EXPANDED] = self.states.size, begin
        return counters

    def _resolve(self, why: Number, counters: Numbers) -> None:
        self._ahead.stop()
        if why == kernel.FULL:
            self.states.make_room(self._width)
        elif why == kernel.NARROW:
            self._width *= 2
            self._reserve()
            if self.states.most < self.states.size + self._width:
                self.states.make_room(self._width)
        elif why == kernel.MISSING:
            self._work_out(int(counters[MISSES]))
        elif why == kernel.CROWDED:
            self.states.make_codes(int(counters[LONG]))
            self._reserve()

    def _work_out(self, misses: int) -> None:
        """Have the memos answer, and begin a new book where states need more words."""
        if not self._book.work_out(self._missing, misses, self._layout):
            self._words = words_of(self._layout)
            self.states.widen(self._words)
            self._begin()
            return
        self._describe()

    def _begin(self) -> None:
        """Begin a book, as wide as states are."""
        self._ahead.stop()
        if hasattr(self, "_book"):
            self._tallied = self.tally()
        self._book = AnswerTables(self._words, self._moving, self._looking)
        self._described = -1
        self._describe()
        self._reserve()

    def _describe(self) -> None:
        if self._described != self._layout.bits:
            self._described = self._layout.bits
            memo = NONE if self._canonical is None else self._book.number_of(self._canonical.changes)
            self._alike = described(self._canonical, self._words, memo)

    def _reserve(self) -> None:
        most = max(len(self._moving), len(self._looking))
        self._work = room_to_work(self._words, most, self.states.table.width, self._width)
        self._missing = Missing(np.zeros(ASKED, np.int64), np.zeros(ASKED * self._words, np.uint64))


# -- What the kernel is told of interchangeable elements -------------------------------------------

Bits = tuple[int, int, int, int, int]
"""A word of the state, a shift and a field there, a word of the number, and a shift there."""


def described(canonical: Canonicalizer | None, words: int, memo: int) -> SymmetryTable:
    """Describe what stands for what in states of so many words, to a kernel that knows by a number who breaks ties."""
    classes = [] if canonical is None else canonical.classes
    bundles = [bundle for each in classes for bundle in each]
    pieces = [list(_pieces(bundle.parts)) for bundle in bundles]
    columns = np.array([piece for each in pieces for piece in each], np.uint64).reshape(-1, 5)
    length = 1 + max((int(part) for part in columns[:, 3]), default=0)
    return SymmetryTable(
        classes=np.array([0, *accumulate(map(len, classes))], np.int64),
        pieces=np.array([0, *accumulate(map(len, pieces))], np.int64),
        sources=columns[:, 0].astype(np.int64),
        shifts=columns[:, 1].copy(),
        fields=columns[:, 2].copy(),
        parts=columns[:, 3].astype(np.int64),
        turns=columns[:, 4].copy(),
        length=length,
        shared=np.zeros(0, np.uint64) if canonical is None else row_of(canonical.shared, words),
        memo=memo,
        numbers=np.zeros(length * len(bundles), np.uint64),
        order=np.zeros(len(bundles), np.int64),
    )


def _pieces(parts: Sequence[tuple[int, int, int]]) -> Iterator[Bits]:
    """Divide places, each by its mask, its shift and its place in the number, where a word ends."""
    for mask, shift, to in parts:
        at, end = shift, mask.bit_length()
        while at < end:
            number = to + at - shift
            width = min(end - at, WORD - at % WORD, WORD - number % WORD)
            yield at // WORD, at % WORD, (1 << width) - 1, number // WORD, number % WORD
            at += width
