"""What the kernel of random walks works with, and the way back to the memos where it has no answer."""

from __future__ import annotations

import numpy as np

from carnet_check.engines.explicit.walking import PackedWalks
from carnet_check.engines.native import kernel, walk_kernel
from carnet_check.engines.native.book import ASKED, Book
from carnet_check.engines.native.store import WORD, row_of
from carnet_check.engines.native.tables import COUNTERS, MISSES, Missing, Number

STEPS = 1 << 17
"""How many steps are taken before bounds are looked at."""
OFFERED = 1 << 10
"""How many steps may be offered at first in a state."""


class WalkMachine:
    """Goes on with walks, and leaves in them how far it came."""

    def __init__(self, walks: PackedWalks) -> None:
        self._walks = walks
        self._order = np.zeros(OFFERED, np.int64)
        self._looking = walks.looking
        self.begin()

    def begin(self) -> None:
        """Begin a book, as wide as states are: it knows nothing that memos have forgotten."""
        self._words = 1 + self._walks.model.layout.bits // WORD
        self._book = Book(self._words, self._walks.offers.memos, self._looking)
        self._missing = Missing(np.zeros(ASKED, np.int64), np.zeros(ASKED * self._words, np.uint64))

    def go_on(self) -> bool:
        """Take steps until an answer is missing, something is seen or it was enough; return whether it is seen."""
        walks = self._walks
        if self._looking is not walks.looking:
            self._looking = walks.looking
            self._book.look_for(self._looking)
        course, counters = self._course(), np.zeros(COUNTERS, np.int64)
        why = walk_kernel.walk(
            walks.walks.number,
            walks.walks.depth,
            STEPS,
            np.uint64(walks.walks.seed),
            self._book.looking,
            course,
            self._book.tables,
            self._missing,
            counters,
        )
        walks.state, walks.chance.state = int.from_bytes(course.state.tobytes(), "little"), int(course.chance[0])
        walks.number, walks.taken, walks.steps, walks.longest, walks.stuck = course.told.tolist()
        walks.fired = course.taken.tolist()
        self._resolve(why, int(counters[MISSES]))
        return bool(why == kernel.SIGHTED)

    def _course(self) -> walk_kernel.Course:
        """Return where the walks are."""
        walks = self._walks
        return walk_kernel.Course(
            start=row_of(walks.start, self._words),
            state=row_of(walks.state, self._words),
            after=np.zeros(self._words, np.uint64),
            changed=np.zeros(self._words, np.uint64),
            key=np.zeros(self._words, np.uint64),
            chance=np.array([walks.chance.state], np.uint64),
            chosen=np.zeros(len(walks.offers.memos), np.int64),
            order=self._order,
            taken=np.array(walks.fired, np.int64),
            told=np.array([walks.number, walks.taken, walks.steps, walks.longest, walks.stuck], np.int64),
        )

    def _resolve(self, why: Number, misses: int) -> None:
        """Provide what the kernel came back for."""
        if why == kernel.NARROW:
            self._order = np.zeros(2 * len(self._order), np.int64)
        elif why == kernel.MISSING and not self._book.work_out(self._missing, misses, self._walks.model.layout):
            self.begin()
