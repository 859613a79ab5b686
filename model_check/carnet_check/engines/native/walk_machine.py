"""What the kernel of random walks works with, and the way back to the memos where it has no answer."""

from __future__ import annotations

import numpy as np

from carnet_check.engines.explicit.walking import PackedWalks
from carnet_check.engines.native import kernel, walk_kernel
from carnet_check.engines.native.book import MISSES, WORD, Book
from carnet_check.engines.native.store import row_of
from carnet_check.engines.native.tables import Missing

STEPS = 1 << 17
"""How many steps are taken before bounds are looked at."""
OFFERED = 1 << 10
"""How many steps may be offered at first in a state."""


class WalkMachine:
    """Goes on with walks, and leaves in them how far it came."""

    def __init__(self, walks: PackedWalks) -> None:
        self._walks = walks
        self._order = np.zeros(OFFERED, np.int64)
        self._fired = np.array(walks.fired, np.int64)
        counted = (walks.number, walks.taken, walks.steps, walks.longest, walks.stuck)
        self._counters = np.array([*counted, 0], np.int64)
        self._looking = walks.looking
        self._begin()

    def go_on(self) -> bool:
        """Take steps until an answer is missing, something is seen or it was enough; return whether it is seen."""
        walks = self._walks
        self._look_for_what_is_left()
        state, chance = row_of(walks.state, self._words), np.array([walks.chance.state], np.uint64)
        why = walk_kernel.walk(
            walks.walks.number,
            walks.walks.depth,
            STEPS,
            np.uint64(walks.walks.seed),
            row_of(walks.start, self._words),
            state,
            chance,
            self._book.looking,
            self._book.tables,
            self._chosen,
            self._order,
            self._fired,
            self._missing,
            self._counters,
        )
        walks.state, walks.chance.state = int.from_bytes(state.tobytes(), "little"), int(chance[0])
        counted = self._counters[: walk_kernel.MISSES].tolist()
        walks.number, walks.taken, walks.steps, walks.longest, walks.stuck = counted
        walks.fired = self._fired.tolist()
        self._resolve(why)
        return bool(why == kernel.SIGHTED)

    def _look_for_what_is_left(self) -> None:
        """Begin a new book if answers were forgotten, and look no more for what was seen."""
        if self._book.is_stale:
            self._looking = self._walks.looking
            self._begin()
        elif self._looking is not self._walks.looking:
            self._looking = self._walks.looking
            self._book.look_for(self._looking)

    def _resolve(self, why: int) -> None:
        """Provide what the kernel came back for."""
        if why == kernel.NARROW:
            self._order = np.zeros(2 * len(self._order), np.int64)
        elif why == kernel.MISSING:
            misses = int(self._counters[walk_kernel.MISSES])
            if not self._book.work_out(self._missing, misses, self._walks.model.layout):
                self._begin()

    def _begin(self) -> None:
        """Begin a book, as wide as states are."""
        self._words = 1 + self._walks.model.layout.bits // WORD
        self._book = Book(self._words, self._walks.options, self._looking)
        self._chosen = np.zeros(max(1, len(self._walks.options)), np.int64)
        self._missing = Missing(np.zeros(MISSES, np.int64), np.zeros((MISSES, self._words), np.uint64))
