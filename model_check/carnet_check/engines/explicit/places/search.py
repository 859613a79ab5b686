"""The search that has places expand states, level by level, and finds what a search in one place finds.

It begins here: a small search needs no other place, and a large one knows most of its bits by then. No place remembers
what a state was found from. A path is found backwards: every place is asked for a state of the level before.
"""

from __future__ import annotations

import sys
from bisect import bisect_right
from collections.abc import Callable, Sequence
from typing import Any, Protocol

from carnet_check.engines.explicit.bounds import Watch
from carnet_check.engines.explicit.model import Model
from carnet_check.engines.explicit.places.owner import Fields, Owner, Sent, Taken, owner_of
from carnet_check.engines.explicit.search import PackedSearch
from carnet_check.engines.explicit.symmetry.standing import Standing
from carnet_command.errors import LostWorkerError

HAND_OVER_AT = 16_000
"""How many states are found before places go on with them."""


class Places(Protocol):
    """Where owners are, and how they are asked."""

    def begin(self, again: Callable[[], Model], dominance: bool) -> int:
        """Have an owner in each place, whose model has no bits yet; return how many there are."""

    def each(self, method: str, *arguments: Sequence[Any]) -> list[Any]:
        """Call a method of every owner, each with its own arguments; return what they return.

        Raises:
            LostPlaceError: one is lost.
        """

    def lay_out_anew(self, fields: Fields) -> None:
        """Have every owner lay states out anew."""

    def held(self) -> int:
        """Return the bytes that other processes than this one hold for it."""


class LostPlaceError(LostWorkerError):
    """A place, and with it what it owned, is lost."""


class Here:
    """Places that are all in this process."""

    def __init__(self, number: int) -> None:
        self._number = number
        self._owners: list[Owner] = []

    def begin(self, again: Callable[[], Model], dominance: bool) -> int:
        """Make the owners."""
        self._again = again
        self._owners = [Owner(again(), self._number, dominance=dominance) for _ in range(self._number)]
        return self._number

    def each(self, method: str, *arguments: Sequence[Any]) -> list[Any]:
        """Call a method of one after the other."""
        return [getattr(owner, method)(*each) for owner, *each in zip(self._owners, *arguments, strict=True)]

    def lay_out_anew(self, fields: Fields) -> None:
        """Lay states out anew."""
        self._owners = [owner.laid_out_anew(self._again(), fields) for owner in self._owners]

    def held(self) -> int:
        """Return 0: no other process holds anything."""
        return 0


class _Total(Sequence[int]):
    """States that are elsewhere, and the few that were told of, each at a place of its level."""

    def __init__(self, states: list[int]) -> None:
        self._states = states
        self.size = len(states)
        self.told: dict[int, int] = {}

    def __len__(self) -> int:
        return self.size

    def __getitem__(self, place: Any) -> Any:
        return self._states[place] if place < len(self._states) else self.told[place]


class PlacesSearch(PackedSearch):
    """One search, from the first state on, which ``places`` go on with."""

    def __init__(
        self,
        model: Model,
        watch: Watch,
        *,
        enough: int,
        dominance: bool,
        places: Places,
        shelf: None = None,
        hand_over_at: int = HAND_OVER_AT,
    ) -> None:
        super().__init__(model, watch, enough=enough, dominance=dominance)
        self._dominance = dominance
        self._places = places
        self._hand_over_at = hand_over_at
        self._total: _Total | None = None
        self._number = 0
        self._stood_for = 0
        self._seen: list[tuple[int, int]] = []

    def run(self) -> str | None:
        """Search; return what stopped the search before everything was found, a place that is lost among it."""
        try:
            return super().run()
        except LostPlaceError:
            self.sightings = {number: place for number, place in self.sightings.items() if place < len(self.states)}
            return "a lost worker"

    def stood_for(self, standing: Standing) -> int:
        """Return how many states there are of those for which one that was found stands."""
        if self._total is None:
            return super().stood_for(standing)
        return sum(map(standing.size, self.states)) + self._stood_for - self.passed_over_for

    def _tidy(self) -> None:
        if self._total is not None:
            return
        super()._tidy()
        if len(self.found) >= self._hand_over_at and self.expanded == self.levels[-1]:
            self._hand_over()

    def _hand_over(self) -> None:
        """Give each place the states that fall to it; from here on a whole level is expanded at once."""
        self._tally_all()
        self._number = self._places.begin(self.model.again, self._dominance)
        self._places.each("lay_out", [self.model.layout.fields] * self._number)
        levels: list[list[list[int]]] = [[] for _ in range(self._number)]
        for begin, end in zip(self.levels, [*self.levels[1:], self.level_ends], strict=True):
            for place, level in enumerate(self._divided(self.states[begin:end])):
                levels[place].append(level)
        self._places.each("begin", levels)
        self._total = _Total(self.states)
        self.found = self._total
        self.chunk = sys.maxsize
        self.seen.clear()
        self.moving = []

    def _divided(self, states: Sequence[int]) -> list[list[int]]:
        boxes: list[list[int]] = [[] for _ in range(self._number)]
        for state in states:
            boxes[owner_of(state, self.model.layout.spent, self._number)].append(state)
        return boxes

    def _expand(self, begin: int, end: int) -> None:
        if self._total is None:
            super()._expand(begin, end)
            return
        sent = self._sent()
        for each in sent:
            for name, times in each.fired.items():
                self.fired[name] += times
        fired = {name for each in sent for name in each.rules}
        for rule in self.model.saturation.rules:
            rule.fired = rule.fired or rule.name in fired
        inboxes = [[state for each in sent for state in each.boxes[place]] for place in range(self._number)]
        taken: list[Taken] = self._places.each("taken", inboxes)
        self._total.size += sum(each.states for each in taken)
        self.dominated += sum(each.dominated for each in taken)
        self._stood_for += sum(each.stood_for for each in taken)
        self._seen = [pair for each in taken for pair in each.seen]
        self.watch.elsewhere = self._places.held()

    def _sent(self) -> list[Sent]:
        """Have every place expand its part of the level, until all of them lay states out alike."""
        layout = self.model.layout
        while True:
            sent: list[Sent] = self._places.each("sent")
            known = len(layout.fields)
            layout.give_fields(field for each in sent for field in each.fields[known:])
            if len(layout.fields) == known:
                return sent
            self._places.lay_out_anew(layout.fields)

    def _look(self) -> None:
        if self._total is None:
            super()._look()
            return
        for number, state in self._seen:
            if number not in self.sightings:
                self.sightings[number] = self._told(state, self.expanded)
        self._seen = []

    def _go_on_counting(self) -> None:
        if self._total is None:
            super()._go_on_counting()

    def _told(self, state: int, begin: int) -> int:
        """Return the number of a state of the level that begins at ``begin``, which a place told of."""
        assert self._total is not None
        place = begin
        while self._total.told.get(place, state) != state:
            place += 1
        self._total.told[place] = state
        return place

    def _pass_over(self) -> None:
        if self._total is None:
            super()._pass_over()
            return
        if not self.spent:
            return
        for places, stood_for in self._places.each("passed"):
            self.passed_over += places
            self.passed_over_for += stood_for

    def _origin(self, position: int) -> int:
        if position < len(self.parents):
            return super()._origin(position)
        level = bisect_right(self.levels, position) - 1
        asked = [self.found[position]] * self._number, [level - 1] * self._number
        found = [state for state in self._places.each("predecessor", *asked) if state is not None]
        begin = self.levels[level - 1]
        return self.states.index(found[0], begin) if begin < len(self.states) else self._told(found[0], begin)
