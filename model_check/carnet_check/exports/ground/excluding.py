"""Excluding: pairs of values that no state holds together, by a fixpoint over pairs that only adds.

What :mod:`.reaching` finds looks at each value alone, and so forgets what every counter and every "not yet" is about:
that two values were written by one step, or that a phase is over. Here a step counts as possible once its conditions
may hold pair by pair, and what it writes is possible together with what it leaves alone. Every pair that some state
holds is found. It is the analysis that planners know as h² (Haslum and Geffner, "Admissible heuristics for optimal
planning", AIPS 2000).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from carnet_check.exports.ground.conditions import Condition, Every, Fact, Place, Some, Value
from carnet_check.exports.ground.reading import Possible

Set = int
"""A set of values of places, a bit for each."""
ALWAYS: Set = 1
"""What is beside everything, so that a set is empty only where nothing can be."""


@dataclass(frozen=True, slots=True)
class Change:
    """What a step does to one place: each value it may get, and when; otherwise it keeps what it holds."""

    place: Place
    cases: tuple[tuple[Value, Condition], ...]
    keeps: Condition


@dataclass(frozen=True, slots=True)
class Move:
    """One step without variables: when it can be taken, and what it changes."""

    when: Condition
    changes: tuple[Change, ...]


class Pairs:
    """Which values some state may hold together; the first ones of ``possible`` are those of the first state."""

    def __init__(self, possible: Possible, moves: Sequence[Move]) -> None:
        self._possible = {place: values for place, values in possible.items() if len(values) > 1}
        self._rest = {place: list(values) for place, values in possible.items() if len(values) == 1}
        self._bits = {
            key: 1 << number
            for number, key in enumerate(
                ((place, value) for place, values in self._possible.items() for value in values), 1
            )
        }
        self._of_place = {
            place: sum(self._bits[place, value] for value in values) for place, values in self._possible.items()
        }
        self._with: dict[Set, Set] = dict.fromkeys([ALWAYS, *self._bits.values()], ALWAYS)
        first = ALWAYS | sum(self._bits[place, values[0]] for place, values in self._possible.items())
        self._reached: Set = ALWAYS
        for place, values in self._possible.items():
            self._join(self._bits[place, values[0]], first)
        self._until_nothing_is_new(moves)

    @property
    def possible(self) -> dict[Place, list[Value]]:
        """The values that each place may hold."""
        kept = {
            place: [value for value in values if self._reached & self._bits[place, value]]
            for place, values in self._possible.items()
        }
        return self._rest | kept

    def may_hold(self, condition: Condition) -> bool:
        """Whether a condition may hold in some state, as far as pairs say."""
        return bool(self._beside(condition, self._reached))

    def _until_nothing_is_new(self, moves: Sequence[Move]) -> None:
        self._grew = True
        while self._grew:
            self._grew = False
            for move in moves:
                self._take(move)

    def _take(self, move: Move) -> None:
        around = self._beside(move.when, self._reached)
        if not around:
            return
        written = kept = 0
        added: list[tuple[Set, Set]] = []
        for change in move.changes:
            for value, when in change.cases:
                beside = self._beside(when, around)
                if beside:
                    bit = self._bits[change.place, value]
                    added.append((bit, beside))
                    written |= bit
            if change.keeps is False:
                kept |= self._of_place[change.place]
        for bit, beside in added:
            self._join(bit, beside & ~kept | written)

    def _join(self, bit: Set, others: Set) -> None:
        """Note that a value may be held together with others, but not with another of its own place."""
        self._reached |= bit
        new = others & ~self._with[bit]
        if new:
            self._with[bit] |= new
            self._grew = True
            for other in _each(new):
                self._with[other] |= bit

    def _beside(self, condition: Condition, within: Set) -> Set:
        """Return the values, of those ``within``, that may be held where a condition holds."""
        match condition:
            case bool():
                return within if condition else 0
            case Fact():
                found = 0
                for bit in _each(self._options(condition) & within):
                    found |= self._with[bit]
                return found & within
            case Some(parts):
                found = 0
                for part in parts:
                    found |= self._beside(part, within)
                return found
            case Every(parts):
                for part in sorted(parts, key=lambda part: not isinstance(part, Fact)):
                    within = self._beside(part, within)
                    if not within:
                        return 0
                met = (self._options(part) & within for part in parts if isinstance(part, Fact))
                return within if all(met) else 0

    def _options(self, fact: Fact) -> Set:
        found = 0
        for value in self._possible[fact.place]:
            held = value == fact.value
            if held == fact.wanted:
                found |= self._bits[fact.place, value]
        return found


def _each(bits: Set) -> Iterator[Set]:
    while bits:
        lowest = bits & -bits
        yield lowest
        bits ^= lowest
