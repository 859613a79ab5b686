"""The same breadth-first search as the explicit engine's, with states as words once there are many.

It begins in Python: a small search needs nothing else, and a large one knows most of its bits soon. Then the states are
handed over, and the kernel expands them; what it lacks is worked out by the same memos. No state keeps where it was
found from: a path is searched for backwards, level by level.
"""

from __future__ import annotations

from bisect import bisect_right
from typing import Any

from carnet_check.engines.explicit.bounds import Watch
from carnet_check.engines.explicit.model import Model
from carnet_check.engines.explicit.search import PackedSearch
from carnet_spec.trace import TraceStep

HAND_OVER_AT = 20_000
"""How many states are found before the kernel goes on, which takes half a second to load."""
CHUNK = 1 << 14
"""How many states are expanded before bounds are looked at."""


class NativeSearch(PackedSearch):
    """One search, from the first state on."""

    def __init__(
        self, model: Model, watch: Watch, *, enough: int, dominance: bool, hand_over_at: int = HAND_OVER_AT
    ) -> None:
        super().__init__(model, watch, enough=enough, dominance=dominance)
        self._hand_over_at = hand_over_at
        self._machine: Any = None  # its module is slow to import
        self._before: dict[int, int] = {}
        """The state that a state follows, as far as paths were asked for: they have their beginnings in common."""

    def run(self) -> str | None:
        """Search; return what stopped the search before everything was found, memory that is not there among it."""
        try:
            return super().run()
        except MemoryError:
            return "memory"

    def path(self, position: int) -> list[TraceStep]:
        """Return the steps to a state found."""
        if self._machine is None:
            return super().path(position)
        steps = []
        begins = [*self.levels, self.level_ends]
        while position:
            if position not in self._before:
                level = bisect_right(begins, position) - 1
                self._before[position] = self._machine.predecessor(begins[level - 1], begins[level], position)
            before = self._before[position]
            steps.append(self._step_to(position, before))
            position = before
        return steps[::-1]

    def _expand(self, begin: int, end: int) -> None:
        if self._machine is None:
            super()._expand(begin, end)
        else:
            self.dominated += self._machine.expand(begin, end)

    def _pass_over(self) -> None:
        if self._machine is None:
            super()._pass_over()
        elif self.spent:
            self.passed_over += self._machine.pass_over(self.levels[-1], self.level_ends)

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
        super()._tidy()
        if self._machine is None and len(self.found) >= self._hand_over_at:
            self._hand_over()
        if self._machine is not None:
            self._machine.go_by(self.moving, self.looking)

    def _hand_over(self) -> None:
        """Give the states to the kernel."""
        from carnet_check.engines.native.machine import Machine

        self._tally_all()
        self._machine = Machine(self.model.layout, self.states, self.spent)
        if self.spent:
            self._machine.leave_out(self.levels[-1], self.level_ends, self._idle)
        self.found = self._machine.states
        self.states.clear()
        self.chunk = CHUNK
        self.seen.clear()
        del self.parents[:]

    def _tally_all(self) -> None:
        super()._tally_all()
        if self._machine is not None:
            for moves, visits in self._machine.tally():
                for name in moves.actions:
                    self.fired[name] += visits
