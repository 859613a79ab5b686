"""Threads that write down what follows states, ahead of the search that enters it.

The search enters successors in the order in which it would have found them alone, so nothing about what it finds
depends on how many threads there are. Threads change nothing that the search or another one reads: where an answer or
a code is missing they stop, and the search goes on by itself from there.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from carnet_check.engines.native import kernel
from carnet_check.engines.native.answers import answer_all
from carnet_check.engines.native.compiling import compiled, nth
from carnet_check.engines.native.kernel import (
    DONE,
    MISSING,
    NARROW,
    NO_ROOM,
    add_all,
    count_visits,
    hash_all,
    note_used,
    successors,
)
from carnet_check.engines.native.rows import unpack
from carnet_check.engines.native.tables import (
    BLOCK,
    COUNTERS,
    EXPANDED,
    FILL,
    USED,
    Alike,
    Kept,
    Marks,
    Missing,
    Number,
    Numbers,
    Slots,
    Tables,
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


class Known(NamedTuple):
    """What threads read."""

    kept: Kept
    level: int
    idle: Marks
    tables: Tables
    alike: Alike


@dataclass(frozen=True, slots=True)
class Room:
    """Where what follows a piece is written: successors, and by which answers they were found."""

    work: Work
    used: Slots


@dataclass(frozen=True, slots=True)
class Piece:
    """Some states, and what follows them once the thread is done: ``counters`` say up to which state, and how many."""

    end: int
    room: Room
    counters: Numbers
    done: Future[Number]


class Ahead:
    """Pieces of ``size`` states under way, in the order of their states; no piece without threads."""

    def __init__(self, threads: int, size: int) -> None:
        self._pool = ThreadPoolExecutor(threads, thread_name_prefix="ahead") if threads else None
        self._most = threads + 1
        self._size = size
        self._pieces: deque[Piece] = deque()
        self._rooms: list[Room] = []
        self._shape = (0, 0, 0)
        self._width = FOLLOWERS * size
        self._alone, self._next_alone = 0, 1

    def goes(self) -> bool:
        """Whether the next chunk is worth it: where something is missing again and again, it is not."""
        self._alone = max(0, self._alone - 1)
        return self._pool is not None and not self._alone

    def piece(self, known: Callable[[], Known], begin: int, end: int) -> Piece:
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

    def reuse(self, room: Room) -> None:
        """Let a room be used again, now that what is written there was entered."""
        self._rooms.append(room)

    def stop(self) -> None:
        """Wait for what is under way, and forget it: what threads read is about to change."""
        while self._pieces:
            self._pieces[0].done.result()
            self._rooms.append(self._pieces.popleft().room)

    def _started(self, known: Known, begin: int, end: int) -> Piece:
        room = self._room(known)
        counters = np.zeros(COUNTERS, np.int64)
        counters[EXPANDED] = begin
        kept = known.kept._replace(used=np.full_like(known.kept.used, _FULL))
        alike = known.alike._replace(numbers=np.zeros_like(known.alike.numbers), order=np.zeros_like(known.alike.order))
        assert self._pool is not None
        given = [
            end,
            kept,
            known.level,
            known.idle,
            known.tables,
            alike,
            room.work,
            room.used,
            _NONE_ASKED,
            counters,
        ]
        done = self._pool.submit(_followed, given)
        return Piece(end, room, counters, done)

    def _room(self, known: Known) -> Room:
        words, memos = len(known.kept.columns), len(known.tables.moving)
        shape = (words, memos, known.kept.width * self._width)
        if shape != self._shape:
            self._shape = shape
            self._rooms.clear()
        if self._rooms:
            return self._rooms.pop()
        work = room_to_work(words, memos, known.kept.width, self._width)
        return Room(work, np.zeros(memos * self._size, np.uint32))


def _followed(given: list[Any]) -> Number:
    """Follow some states, and let go of what was given before that is told: rows that are held cannot move."""
    try:
        return follow(*given)
    finally:
        given.clear()


# --------------------------------------------------------------------------------------------------
# The machine's part of a search in threads: what follows states is written down beforehand, and entered in order.
#
# What is written down reads what is known and changes none of it, so any number of threads may do it at once, while
# others' successors are entered.

AT_ONCE = 1 << 9
"""How many successors are looked for at once: memory can be asked for them together."""


@compiled
def follow(
    end: Number,
    kept: Kept,
    level: Number,
    idle: Marks,
    tables: Tables,
    alike: Alike,
    work: Work,
    used: Slots,
    missing: Missing,
    counters: Numbers,
) -> Number:
    """Write what follows states up to ``end`` into the buffer, up to the first that lacks something; say what.

    Nothing is changed but what is there for this work alone, if there is no room for missing answers and new codes.
    The answers that this took are written one after another.
    """
    fill: Number = 0
    why = DONE
    while why == DONE and counters[EXPANDED] < end:
        begin = at = counters[EXPANDED]
        count = min(BLOCK, end - begin)
        unpack(begin, count, kept, work.block, BLOCK)
        known = answer_all(tables.moving, count, tables, work, missing, counters)
        why = DONE if known == count else MISSING
        while at < begin + known:
            if not (idle.shape[0] and idle[nth(at - level)]):
                after = successors(at, at - begin, kept, tables, alike, work, fill, missing, counters)
                if after < 0:
                    why = NARROW if after == NO_ROOM else MISSING
                    break
                fill = after
                counters[USED] = note_used(at - begin, work, used, counters[USED])
            at += 1
        counters[EXPANDED] = at
    hash_all(work, fill, kept)
    counters[FILL] = fill
    return why


@compiled
def enter_followers(kept: Kept, tables: Tables, work: Work, used: Slots, counters: Numbers) -> None:
    """Add what follows some states, as it was written into a buffer, and count what they were expanded by."""
    fill = counters[FILL]
    for begin in range(0, fill, AT_ONCE):
        add_all(work, begin, min(begin + AT_ONCE, fill), kept, counters)
    count_visits(counters[USED], tables, used)
