"""The same breadth-first search as the explicit engine's, with states as words once there are many.

It begins in Python: a small search needs nothing else, and a large one knows most of its bits soon. Then the states are
handed over, and the kernel expands them; what it lacks is worked out by the same memos. From then on no state keeps
where it was found from: it is known in which chunk that was, and these few are expanded again for a path.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from operator import itemgetter
from typing import Any

from carnet_check.engines.checkpoints import SearchCheckpoint
from carnet_check.engines.explicit.bounds import Watch
from carnet_check.engines.explicit.model import Model
from carnet_check.engines.explicit.search import (
    HALF,
    MANY,
    Group,
    PackedSearch,
    expander,
    most_answers,
    sample_of,
    split,
)
from carnet_check.engines.explicit.symmetry import Canonicalizer
from carnet_check.engines.explicit.walking import PackedWalks
from carnet_check.engines.exploration import Walks

HAND_OVER_AT = 16_000
"""How many states are found before the kernel goes on, which takes half a second to load."""
FIRST_ROOM, ROOM_AGAIN = 4, 1.2
"""For how many times the states that are there room is made when the kernel takes over, and when it goes on."""
CHUNK = 1 << 12
"""How many states are expanded before bounds are looked at, and again for each step of a path."""
PIECES = 4
"""How many pieces threads take a chunk in."""


class NativeSearch(PackedSearch):
    """One search, from the first state on."""

    def __init__(
        self,
        model: Model,
        watch: Watch,
        *,
        enough: int,
        dominance: bool,
        saved: SearchCheckpoint | None = None,
        hand_over_at: int = HAND_OVER_AT,
        threads: int = 1,
    ) -> None:
        super().__init__(model, watch, enough=enough, dominance=dominance, saved=saved)
        self._hand_over_at = hand_over_at
        self._threads = threads
        self._machine: Any = None  # its module is slow to import
        self._groups: list[Group] = list(zip(model.steps, self.expanders, strict=True))
        self._chunks: list[tuple[int, int, int]] = []
        """For each chunk that the kernel expanded which state was found next, and where it began and ended."""
        self._origins: dict[int, int] = {}
        """The states that others were found from, as far as paths were asked for: they begin with the same steps."""

    def run(self) -> str | None:
        """Search; return what stopped the search before everything was found, memory that is not there among it."""
        try:
            return super().run()
        except MemoryError:
            return "memory"

    def _stand_for(self, canonical: Canonicalizer, begin: int, end: int) -> int:
        if self._machine is None:
            return super()._stand_for(canonical, begin, end)
        return int(self._machine.stand_for(canonical, begin, end))

    def _origin(self, position: int) -> int:
        """Return the state that one was found from; the kernel expands the chunk again in which that was."""
        if position < len(self.parents):
            return super()._origin(position)
        if position not in self._origins:
            chunk = bisect_right(self._chunks, position, key=itemgetter(0)) - 1
            _, begin, end = self._chunks[chunk]
            self._origins[position] = self._machine.predecessor(begin, end, position)
        return self._origins[position]

    def _expand(self, begin: int, end: int) -> int:
        if self._machine is None:
            return super()._expand(begin, end)
        self._chunks.append((len(self.found), begin, end))
        self.dominated += self._machine.expand(begin, end, self.level_ends)
        # Count no time in which the kernel was compiled: the first search on a machine has the bounds of others
        from carnet_check.engines.native.compiling import seconds_compiling

        self.watch.leave_out(seconds_compiling())
        return end

    def _pass_over(self) -> None:
        if self._machine is None:
            super()._pass_over()
        elif self.spent:
            passed = self._machine.pass_over(self.levels[-1], self.level_ends)
            self.dominated += len(passed)
            self._count_passed_over(passed)

    def _look(self) -> None:
        if self._machine is None:
            super()._look()
            return
        for position in self._machine.sighted(self.looked, lambda: self.looking):
            for memo in self.looking:
                for number in memo.answer(self.found[position]):
                    self.sightings.setdefault(number, position)
            self._drop_what_is_seen()
        self.looked = len(self.found)

    def _tidy(self) -> None:
        if self._machine is None and len(self.found) >= self._hand_over_at:
            self._hand_over()
        super()._tidy()
        if self._machine is not None:
            self._machine.go_by(self.moving, self.looking)

    def _hand_over(self) -> None:
        from carnet_check.engines.native.machine import words_of
        from carnet_check.engines.native.store import packed

        self._tally_all()
        self._start(packed(self.states, words_of(self.model.layout)), FIRST_ROOM * len(self.states))
        if self.spent:
            self._machine.leave_out(self.levels[-1], self.level_ends, self._idle)
        self.states.clear()
        self.seen.clear()

    def _start(self, states: Iterable[Any], room: int) -> None:
        from carnet_check.engines.native.compiling import seconds_compiling
        from carnet_check.engines.native.machine import ALONE, Machine, Prefetcher

        seconds_compiling()  # those before this search began are none of its own
        size = max(1, CHUNK // PIECES)
        ahead = ALONE if self._threads == 1 else Prefetcher(self._threads, size)
        self._machine = Machine(self.model.layout, self.model.canonical, states, room, self.spent, ahead)
        self.found = self._machine.states
        self.chunk = PIECES * size
        self.rearrange_at = len(self.found)

    def _notes(self) -> dict[str, Any]:
        return {**super()._notes(), "batches": self._chunks}

    def _packed(self, begin: int) -> tuple[int, Iterator[bytes]]:
        if self._machine is None:
            return super()._packed(begin)
        return self._machine.states.bytes_each, (words.tobytes() for words in self._machine.states.words_from(begin))

    def _resume(self, saved: SearchCheckpoint, notes: Mapping[str, Any]) -> None:
        super()._resume(saved, notes)
        if self._machine is not None:
            self._machine.go_by(self.moving, self.looking)

    def _take_states(self, saved: SearchCheckpoint, notes: Mapping[str, Any]) -> None:
        if saved.items("origins") == saved.items("states"):
            super()._take_states(saved, notes)
            return
        from carnet_check.engines.native.machine import words_of
        from carnet_check.engines.native.store import widened

        words = words_of(self.model.layout)
        states = (widened(block, each, words) for each, block in saved.blocks("states", CHUNK))
        self._start(states, int(ROOM_AGAIN * saved.items("states")))
        self._take_origins(saved)
        self._chunks = [(found, begin, end) for found, begin, end in notes["batches"]]

    def _arrange(self) -> None:
        if self._machine is None:
            super()._arrange()
            return
        sample = sample_of(self.found)
        most = most_answers(len(self.found))
        memo_of = partial(expander, self.model, tally=self._tally)
        self._groups = split(self._groups, sample, most, memo_of, share=HALF, many=MANY)
        self.expanders = [memo for _, memo in self._groups]
        self._join(sample, most)

    def _tally_all(self) -> None:
        super()._tally_all()
        if self._machine is not None:
            for moves, visits in self._machine.tally():
                for name in moves.actions:
                    self.fired[name] += visits


# --------------------------------------------------------------------------------------------------
# The same random walks as the explicit engine's, step by step, taken by a kernel once there are many.
#
# They begin in Python: a few need nothing else. A walk can be handed over wherever it is, since the state and what is
# drawn next are all that it consists of.

WALKS_HAND_OVER_AT = 20_000
"""How many steps are taken before the kernel goes on, which takes half a second to load."""


class NativeWalks(PackedWalks):
    """Walks from the first state on."""

    def __init__(self, model: Model, watch: Watch, walks: Walks, *, hand_over_at: int = WALKS_HAND_OVER_AT) -> None:
        super().__init__(model, watch, walks)
        self._hand_over_at = hand_over_at
        self._machine: Any = None  # its module is slow to import

    def _go_on(self) -> None:
        if self._machine is None and self.steps >= self._hand_over_at:
            from carnet_check.engines.native.walk_machine import WalkMachine

            self._machine = WalkMachine(self)
        if self._machine is None:
            super()._go_on()
        elif self._machine.go_on():
            self._look()

    def _forget(self) -> None:
        super()._forget()
        if self._machine is not None:
            self._machine.begin()
