"""A distributed search: each process, called a place, owns a part of the states, and stores and expands only these."""

from __future__ import annotations

import sys
from bisect import bisect_right
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from carnet_check.cache import source_digest
from carnet_check.engines.explicit.bounds import Watch, resident_bytes
from carnet_check.engines.explicit.model import Model
from carnet_check.engines.explicit.search import PackedSearch
from carnet_check.engines.explicit.symmetry import Canonicalizer
from carnet_check.engines.runner import connected_ray
from carnet_check.errors import UsageError
from carnet_command.errors import LostWorkerError
from carnet_command.worker import STARTING
from carnet_spec.language import Row

# --------------------------------------------------------------------------------------------------
# The coordinator of a distributed search, level by level; its result is that of a search in one place.
#
# It begins in this process: a small search needs no other place, and a large one has most of its fields by then. No
# place stores the predecessors of states. A path is found backwards: every place is asked for a predecessor in the
# level before.

HAND_OVER_AT = 16_000  #: The number of states after which the search is handed over to places.


class Places(Protocol):
    """The interface to the owners in all places."""

    def begin(self, again: Callable[[], Model], dominance: bool) -> int:
        """Create an owner in each place, with a model without fields; return the number of places."""

    def each(self, method: str, *arguments: Sequence[Any]) -> list[Any]:
        """Call a method of every owner, each with its own arguments; return what they return.

        Raises LostPlaceError if a place is lost.
        """

    def lay_out_anew(self, fields: Fields) -> None:
        """Let every owner rebuild its states with a new layout."""

    def held(self) -> int:
        """Return the memory in bytes that other processes use for the search."""


class LostPlaceError(LostWorkerError):
    """A place is lost, with the states that it owned."""


class _Total(Sequence[int]):
    """The sequence of all states, most of them stored elsewhere; only a few are known here."""

    def __init__(self, states: list[int]) -> None:
        self._states = states
        self.size = len(states)
        self.told: dict[int, int] = {}

    def __len__(self) -> int:
        return self.size

    def __getitem__(self, place: Any) -> Any:
        return self._states[place] if place < len(self._states) else self.told[place]


class PlacesSearch(PackedSearch):
    """A search that begins in this process, and continues in ``places``."""

    def __init__(
        self,
        model: Model,
        watch: Watch,
        *,
        enough: int,
        dominance: bool,
        places: Places,
        saved: None = None,
        hand_over_at: int = HAND_OVER_AT,
    ) -> None:
        super().__init__(model, watch, enough=enough, dominance=dominance)
        self._dominance = dominance
        self._places = places
        self._hand_over_at = hand_over_at
        self._total: _Total | None = None
        self._number = 0
        self._represented = 0
        self._seen: list[tuple[int, int]] = []

    def run(self) -> str | None:
        """Search; return what stopped the search before it was complete, such as a lost place, or None."""
        try:
            return super().run()
        except LostPlaceError:
            self.sightings = {number: place for number, place in self.sightings.items() if place < len(self.states)}
            return "a lost worker"

    def represented(self, canonical: Canonicalizer) -> int:
        """Return the number of states that the found ones represent, by symmetry."""
        if self._total is None:
            return super().represented(canonical)
        return sum(map(canonical.orbit_size, self.states)) + self._represented - self.passed_over_for

    def _tidy(self) -> None:
        if self._total is not None:
            return
        super()._tidy()
        if len(self.found) >= self._hand_over_at and self.expanded == self.levels[-1]:
            self._hand_over()

    def _hand_over(self) -> None:
        """Send each place its states; from here on a whole level is expanded at once."""
        self._tally_all()
        self._number = self._places.begin(self.model.again, self._dominance)
        self._places.each("lay_out", [self.model.layout.fields] * self._number)
        levels: list[list[list[int]]] = [[] for _ in range(self._number)]
        for begin, end in zip(self.levels, [*self.levels[1:], self.level_ends], strict=True):
            for level in levels:
                level.append([])
            for state in self.states[begin:end]:
                levels[owner_of(state, self.model.layout.spent, self._number)][-1].append(state)
        self._places.each("begin", levels)
        self._total = _Total(self.states)
        self.found = self._total
        self.chunk = sys.maxsize
        self.seen.clear()
        self.moving = []

    def _expand(self, begin: int, end: int) -> int:
        if self._total is None:
            return super()._expand(begin, end)
        sent = self._sent()
        for each in sent:
            for name, times in each.fired.items():
                self.fired[name] += times
        fired = {name for each in sent for name in each.rules}
        for rule in self.model.saturation.rules:
            rule.fired = rule.fired or rule.name in fired
        inboxes = [[state for each in sent for state in each.boxes[place]] for place in range(self._number)]
        taken: list[NewStates] = self._places.each("add_level", inboxes)
        self._total.size += sum(each.states for each in taken)
        self.dominated += sum(each.dominated for each in taken)
        self._represented += sum(each.represented for each in taken)
        self._seen = [pair for each in taken for pair in each.seen]
        self.watch.elsewhere = self._places.held()
        return end

    def _sent(self) -> list[Successors]:
        """Let every place expand its part of the level, repeated until all places have the same layout."""
        layout = self.model.layout
        while True:
            sent: list[Successors] = self._places.each("expand_level")
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
        """Return the number for a state, reported by a place, of the level that begins at ``begin``."""
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
        for places, represented in self._places.each("drop_dominated"):
            self.passed_over += places
            self.passed_over_for += represented

    def _origin(self, position: int) -> int:
        if position < len(self.parents):
            return super()._origin(position)
        level = bisect_right(self.levels, position) - 1
        asked = [self.found[position]] * self._number, [level - 1] * self._number
        found = [state for state in self._places.each("predecessor", *asked) if state is not None]
        begin = self.levels[level - 1]
        return self.states.index(found[0], begin) if begin < len(self.states) else self._told(found[0], begin)


# --------------------------------------------------------------------------------------------------
# The owner of a part of a search's states, in one place.
#
# All owners have the same layout, so that a state is the same integer everywhere: fields are given in one order. If
# expanding a level needs new fields, the results of that level are dropped, every owner adopts the new common layout,
# and the level is expanded again. States found before keep their integers.

Fields = Sequence[tuple[str, Row]]  #: The places of a protocol that have fields, in the order in which they got them.
_PRIME = 1_000_003  #: The owner of a state depends on its remainder modulo this prime, and so on each of its bits.


@dataclass(frozen=True, slots=True)
class Successors:
    """The successors of the states of one level that a place owns."""

    fields: Fields  #: the fields of its layout; if there are new ones, the other attributes have no meaning.
    boxes: Sequence[Sequence[int]]  #: for each place, the states that it owns.
    fired: dict[str, int]  #: how often each action was taken.
    rules: Sequence[str]  #: the deductions that concluded anything so far.


@dataclass(frozen=True, slots=True)
class NewStates:
    """The new states among those that were sent to a place."""

    states: int  #: the number of new states.
    represented: int  #: the number of states that they represent, themselves included.
    dominated: int  #: the number of states that were found before at less cost.
    #: each monitor that holds in a state of this place for the first time, with the state.
    seen: Sequence[tuple[int, int]]


def owner_of(state: int, spent: int, places: int) -> int:
    """Return the place that owns a state; it does not depend on the cost at which the state is found."""
    return (state & ~spent) % _PRIME % places


class Owner(PackedSearch):
    """Owns the states of one of ``places`` places."""

    def __init__(self, model: Model, places: int, *, dominance: bool) -> None:
        super().__init__(model, Watch(), enough=0, dominance=dominance)
        self._places = places
        self._boxes: list[set[int]] = []

    def begin(self, levels: Sequence[Sequence[int]]) -> None:
        """Store the states of each level that this place owns; the last level is expanded next."""
        for level in levels:
            self.levels.append(len(self.states))
            self._add(level)
        self.level_ends = self.looked = len(self.states)
        self._pass_over()

    def lay_out(self, fields: Fields) -> None:
        """Give places of the protocol their fields in this order; they have none yet."""
        self.model.layout.give_fields(fields)

    def laid_out_anew(self, model: Model, fields: Fields) -> Owner:
        """Return an owner of the same states, with a new model and layout."""
        other = Owner(model, self._places, dominance=bool(self.spent))
        other.lay_out(fields)
        other.states, other.seen, other.parents = self.states, self.seen, self.parents
        other.found = other.states
        other.levels, other.level_ends, other.looked = self.levels, self.level_ends, self.looked
        other._idle = self._idle
        other.passed_over, other.passed_over_for = self.passed_over, self.passed_over_for
        other.sightings.update(self.sightings)
        for rule, before in zip(other.model.saturation.rules, self.model.saturation.rules, strict=True):
            rule.fired = before.fired
        other._drop_what_is_seen()
        return other

    def expand_level(self) -> Successors:
        """Expand the last level, and return the successors, sorted by their owners."""
        known = len(self.model.layout.fields)
        self._tidy()
        self._boxes = [set() for _ in range(self._places)]
        self.fired = dict.fromkeys(self.fired, 0)
        for begin in range(self.levels[-1], self.level_ends, self.chunk):
            self._expand(begin, min(begin + self.chunk, self.level_ends))
        self._tally_all()
        fields = self.model.layout.fields
        boxes = [[*box] for box in self._boxes] if len(fields) == known else []
        return Successors(fields, boxes, self.fired, [rule.name for rule in self.model.saturation.rules if rule.fired])

    def add_level(self, states: Iterable[int]) -> NewStates:
        """Add those of ``states`` that are new as the next level, and check the monitors in them."""
        before, known = self.dominated, set(self.sightings)
        self.levels.append(len(self.states))
        self._add(state for state in states if state not in self.seen)
        self.level_ends = len(self.states)
        self._look()
        fresh = [(number, self.states[place]) for number, place in self.sightings.items() if number not in known]
        new = self.states[self.levels[-1] :]
        canonical = self.model.canonical
        represented = len(new) if canonical is None else sum(map(canonical.orbit_size, new))
        return NewStates(len(new), represented, self.dominated - before, fresh)

    def drop_dominated(self) -> tuple[int, int]:
        """Drop the dominated states of the last level; return their number, and that of the states they represent."""
        before = self.passed_over, self.passed_over_for
        self._pass_over()
        return self.passed_over - before[0], self.passed_over_for - before[1]

    def predecessor(self, target: int, level: int) -> int | None:
        """Return a predecessor of a state in a level, if this place has one, else None."""
        end = self.levels[level + 1] if level + 1 < len(self.levels) else self.level_ends
        for place in range(self.levels[level], end):
            self._boxes = [set() for _ in range(self._places)]
            self._expand(place, place + 1)
            if any(target in box for box in self._boxes):
                return self.states[place]
        return None

    def memory(self) -> int:
        """Return the memory in bytes that the process of this place uses."""
        return resident_bytes()

    def _add(self, states: Iterable[int]) -> None:
        for state in states:
            if state & self.spent and self._is_dominated(state):
                continue
            self.seen.add(state)
            self.states.append(state)

    def _expand(self, begin: int, end: int) -> int:
        places = [place for place in range(begin, end) if place not in self._idle]
        chunk = [self.states[place] for place in places]
        canonical, spent, boxes = self.model.canonical, self.model.layout.spent, self._boxes
        for memo in self.moving:
            for s, moves in zip(chunk, map(memo.answer, chunk), strict=True):
                if moves is None:
                    continue
                moves.visits += 1
                for touched, cleared, deductions in moves.effects:
                    t = (s | touched) ^ cleared
                    if deductions is not None:
                        more = deductions.answer(t)
                        t = t if more is None else (t | more[0]) ^ more[1]
                    if t != s:
                        t = t if canonical is None else canonical(t)
                        boxes[owner_of(t, spent, len(boxes))].add(t)
        return end


# -- Places on the machines of a Ray cluster, one for each of its processors -----------------------
#
# A place must run the same code as this process. If a place is lost, its states are lost, too, so the search ends and
# reports that.

BEGINNING = 2 * STARTING  #: Seconds that the cluster may take to start on all its processors.


class RayPlaces:
    """Places of a Ray cluster.

    Raises UsageError if Ray is not installed, or there is no cluster.

    Args:
        address: the address of the cluster.
    """

    def __init__(self, address: str) -> None:
        self._ray = connected_ray(address)
        self._keepers: list[Any] = []

    def begin(self, again: Callable[[], Model], dominance: bool) -> int:
        """Make an owner on each processor.

        Raises UsageError if the cluster has other code; LostPlaceError if a processor stays busy with other work.
        """
        number = max(1, int(self._ray.cluster_resources().get("CPU", 1)))
        made = self._ray.remote(num_cpus=1, max_restarts=0)(OwnerActor)
        self._keepers = [made.remote(again, number, dominance) for _ in range(number)]
        for there in self._asked([keeper.code.remote() for keeper in self._keepers], BEGINNING):
            if there != source_digest():
                raise UsageError(
                    f"expected the cluster to have Carnet's code {source_digest()[:16]}, and it has {there[:16]}"
                )
        return number

    def each(self, method: str, *arguments: Sequence[Any]) -> list[Any]:
        """Call a method of all owners in parallel; raise LostPlaceError if one is lost."""
        calls = zip(self._keepers, *arguments, strict=True)
        return self._asked([keeper.call.remote(method, *each) for keeper, *each in calls])

    def lay_out_anew(self, fields: Fields) -> None:
        """Let every owner rebuild its states with a new layout; raise LostPlaceError if one is lost."""
        self._asked([keeper.lay_out_anew.remote(fields) for keeper in self._keepers])

    def held(self) -> int:
        """Return the memory in bytes of all places; raise LostPlaceError if one is lost."""
        return sum(self.each("memory"))

    def _asked(self, calls: Sequence[Any], patience: float | None = None) -> list[Any]:
        errors = self._ray.exceptions
        try:
            return list(self._ray.get(calls, timeout=patience))
        except errors.RayTaskError as error:
            raise error.cause from None
        except errors.RayError as error:
            raise LostPlaceError(f"the cluster lost a worker: {type(error).__name__}") from None


class OwnerActor:
    """The Ray actor of a place: it has an owner, which can be replaced by one with another layout."""

    def __init__(self, again: Callable[[], Model], places: int, dominance: bool) -> None:
        self._again = again
        self._owner = Owner(again(), places, dominance=dominance)

    def code(self) -> str:
        """Return the digest of Carnet's code on this machine."""
        return source_digest()

    def call(self, method: str, *arguments: Any) -> Any:
        """Call a method of the owner."""
        return getattr(self._owner, method)(*arguments)

    def lay_out_anew(self, fields: Fields) -> None:
        """Replace the owner by one with a new layout."""
        self._owner = self._owner.laid_out_anew(self._again(), fields)
