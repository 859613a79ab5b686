"""A place where some of the states of a search are kept and expanded; the others are other places'.

All places lay states out alike, so that a state is the same number everywhere: the places of the protocol get their
bits in one order. Where a level gives more of them bits, what was found of that level is dropped, every place lays out
anew in the order that is agreed on then, and the level is expanded again. States found before keep their numbers.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from carnet_check.engines.explicit.bounds import Watch, resident_bytes
from carnet_check.engines.explicit.model import Model
from carnet_check.engines.explicit.search import PackedSearch
from carnet_spec.language import Row

Fields = Sequence[tuple[str, Row]]
"""The places of a protocol that have bits, in the order in which they got them."""
_PRIME = 1_000_003
"""By the rest of a division by it, states fall to places: each bit of a state has a say in it."""


@dataclass(frozen=True, slots=True)
class Sent:
    """What follows the states that a place owns of one level.

    Attributes:
        fields: what has bits there now; if more than before, the rest says nothing.
        boxes: for each place the states that fall to it.
        fired: how often each action was taken.
        rules: the deductions that concluded anything so far.
    """

    fields: Fields
    boxes: Sequence[Sequence[int]]
    fired: dict[str, int]
    rules: Sequence[str]


@dataclass(frozen=True, slots=True)
class Taken:
    """What was new to a place of what was sent to it.

    Attributes:
        states: how many states were,
        stood_for: and how many there are of those for which they stand.
        dominated: how many others were found before at less cost.
        seen: each monitor that this place sees hold for the first time, with a state in which it does.
    """

    states: int
    stood_for: int
    dominated: int
    seen: Sequence[tuple[int, int]]


def owner_of(state: int, spent: int, places: int) -> int:
    """Return the place that owns a state; at whatever cost it is found, it is the same."""
    return (state & ~spent) % _PRIME % places


class Owner(PackedSearch):
    """Owns the states that fall to one of so many ``places``."""

    def __init__(self, model: Model, places: int, *, dominance: bool) -> None:
        super().__init__(model, Watch(max_states=None, max_memory=None, progress=None), enough=0, dominance=dominance)
        self._places = places
        self._boxes: list[set[int]] = []

    def begin(self, levels: Sequence[Sequence[int]]) -> None:
        """Take over the states that this place owns of each level; the last one is expanded next."""
        for level in levels:
            self.levels.append(len(self.states))
            self._add(level)
        self.level_ends = self.looked = len(self.states)
        self._pass_over()

    def lay_out(self, fields: Fields) -> None:
        """Give places of the protocol their bits in this order; they have none yet."""
        self.model.layout.give_fields(fields)

    def laid_out_anew(self, model: Model, fields: Fields) -> Owner:
        """Return what owns the same states, by a model that has no bits yet."""
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

    def sent(self) -> Sent:
        """Expand the last level."""
        known = len(self.model.layout.fields)
        self._tidy()
        self._boxes = [set() for _ in range(self._places)]
        self.fired = dict.fromkeys(self.fired, 0)
        for begin in range(self.levels[-1], self.level_ends, self.chunk):
            self._expand(begin, min(begin + self.chunk, self.level_ends))
        self._tally_all()
        fields = self.model.layout.fields
        boxes = [[*box] for box in self._boxes] if len(fields) == known else []
        return Sent(fields, boxes, self.fired, [rule.name for rule in self.model.saturation.rules if rule.fired])

    def taken(self, states: Iterable[int]) -> Taken:
        """Add what is new of the next level, and look at it."""
        before, known = self.dominated, set(self.sightings)
        self.levels.append(len(self.states))
        self._add(state for state in states if state not in self.seen)
        self.level_ends = len(self.states)
        self._look()
        fresh = [(number, self.states[place]) for number, place in self.sightings.items() if number not in known]
        new = self.states[self.levels[-1] :]
        standing = self.model.standing
        stood_for = len(new) if standing is None else sum(map(standing.size, new))
        return Taken(len(new), stood_for, self.dominated - before, fresh)

    def passed(self) -> tuple[int, int]:
        """Leave out what is dominated of the last level; return how many states, and for how many they would stand."""
        before = self.passed_over, self.passed_over_for
        self._pass_over()
        return self.passed_over - before[0], self.passed_over_for - before[1]

    def predecessor(self, target: int, level: int) -> int | None:
        """Return a state of a level that another one follows, if this place has one."""
        end = self.levels[level + 1] if level + 1 < len(self.levels) else self.level_ends
        for place in range(self.levels[level], end):
            self._boxes = [set() for _ in range(self._places)]
            self._expand(place, place + 1)
            if any(target in box for box in self._boxes):
                return self.states[place]
        return None

    def memory(self) -> int:
        """Return the bytes that the process of this place holds."""
        return resident_bytes()

    def _add(self, states: Iterable[int]) -> None:
        for state in states:
            if state & self.spent and self._is_dominated(state):
                continue
            self.seen.add(state)
            self.states.append(state)

    def _expand(self, begin: int, end: int) -> None:
        """Put what follows some states into the boxes of their owners."""
        places = [place for place in range(begin, end) if place not in self._idle]
        chunk = [self.states[place] for place in places]
        standing, spent, boxes = self.model.standing, self.model.layout.spent, self._boxes
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
                        t = t if standing is None else standing(t)
                        boxes[owner_of(t, spent, len(boxes))].add(t)
