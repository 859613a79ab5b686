"""Layout: a state as one Python integer that has room only for what ever changed.

A **place** is one mutable symbol at one row. It gets a field of bits when a step first gives it another value than in
the first state; until then it is a constant. A field holds the number of the place's value, and number 0 is the value
in the first state: so the first state is 0, and a state keeps its integer when fields are added later.

Whoever reads places says which, by patterns, and is told of every field they get. What was worked out for some value of
the bits read so far stays true: only states that are 0 elsewhere come with the same value.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Protocol as Shape

from carnet_check.semantics import State
from carnet_spec.language import Instance, Protocol, Row, Symbol

Value = str | bool
"""What a place holds: an element of a sort, or whether a relation holds there."""

Pattern = tuple[frozenset[str] | None, ...]
"""For each argument, the elements it may be; nothing stands for any."""


def matches(pattern: Pattern, row: Row) -> bool:
    """Whether a row is one that the pattern describes."""
    return all(allowed is None or element in allowed for allowed, element in zip(pattern, row, strict=True))


@dataclass(eq=False, slots=True)
class Place:
    """One mutable symbol at one row; ``mask`` is 0 as long as it has no field."""

    symbol: Symbol
    row: Row
    values: tuple[Value, ...]
    shift: int = 0
    mask: int = 0
    unclear: dict[Callable[[], None], None] = field(default_factory=dict)
    """Whom to tell that writing the first value here is no longer nothing."""

    def bits(self, value: Value) -> int:
        """Return the field holding a value."""
        return self.values.index(value) << self.shift


class Table:
    """One symbol, in the form that generated code looks it up."""

    def __init__(self, symbol: Symbol, places: dict[Row, Place]) -> None:
        self.symbol = symbol
        self.places = places
        self.masks = dict.fromkeys(places, 0)
        """The bits of each place."""
        self.first = frozenset(row for row, place in places.items() if place.values[0] is True)
        """The rows for which a relation holds in the first state."""
        self.elements = {row: {0: place.values[0]} for row, place in places.items()}
        """The value of each place, by its field in place."""
        self._indexes: dict[tuple[int, ...], dict[Row, list[Row]]] = {}

    def index(self, known: tuple[int, ...]) -> dict[Row, list[Row]]:
        """Map what stands at the ``known`` positions to what may stand at the others where a relation holds."""
        if known not in self._indexes:
            self._indexes[known] = {}
            for row, mask in self.masks.items():
                if mask or row in self.first:
                    _enter(self._indexes[known], known, row)
        return self._indexes[known]

    def widen(self, place: Place) -> None:
        """Take notice that a place got a field."""
        self.masks[place.row] = place.mask
        self.elements[place.row] = {number << place.shift: value for number, value in enumerate(place.values)}
        if place.row not in self.first:
            for known, index in self._indexes.items():
                _enter(index, known, place.row)


def _enter(index: dict[Row, list[Row]], known: tuple[int, ...], row: Row) -> None:
    key = tuple(row[position] for position in known)
    rest = tuple(element for position, element in enumerate(row) if position not in known)
    index.setdefault(key, []).append(rest)


class Grouping(Shape):
    """Says which places get their fields together."""

    def orbit(self, place: Place) -> Sequence[Place]:
        """Return the places that do when one does, which is among them."""

    def take(self, orbit: Sequence[Place]) -> None:
        """Take note that they did."""


class Layout:
    """All places of a protocol on an instance; ``start`` is the first state before any deduction.

    Attributes:
        grouping: which places get their fields together; by default each alone.
    """

    def __init__(self, protocol: Protocol, instance: Instance, start: State) -> None:
        self.instance = instance
        self.tables = {
            symbol.name: Table(symbol, _places(symbol, instance, start))
            for symbol in protocol.symbols
            if symbol.mutable
        }
        budget = instance.budget
        self.spent = 0 if budget is None else (1 << budget.bit_length()) - 1
        """The lowest bits count what the adversary has spent."""
        self.bits = self.spent.bit_length()
        self.grouping: Grouping | None = None
        self._fields: list[Place] = []
        self._readers: dict[str, list[tuple[Pattern, Callable[[int], None]]]] = {}

    @property
    def fields(self) -> list[tuple[str, Row]]:
        """The places that have a field, in the order in which they got it: from it follows what states are like."""
        return [(place.symbol.name, place.row) for place in self._fields]

    def give_fields(self, fields: Iterable[tuple[str, Row]]) -> None:
        """Give places their fields as another layout of the same instance did.

        Raises:
            LookupError: there is no such place.
        """
        for name, row in fields:
            place = self.tables[name].places[row]
            if not place.mask:
                self._give_fields(place)

    def on_growth(self, symbol: str, pattern: Pattern, tell: Callable[[int], None]) -> None:
        """Call ``tell`` with the mask of every place matching the pattern that has a field, now and later."""
        self._readers.setdefault(symbol, []).append((pattern, tell))
        for place in self._fields:
            if place.symbol.name == symbol and matches(pattern, place.row):
                tell(place.mask)

    def written(self, writes: Iterable[tuple[Place, Value]], forget: Callable[[], None]) -> tuple[int, int]:
        """Return masks such that ``(s | first) ^ second`` is ``s`` after the writes, giving places fields.

        Once a place gets its field that was written its first value, ``forget`` is called: the masks leave it out.
        """
        touched = cleared = 0
        for place, value in writes:
            number = place.values.index(value)
            if not place.mask:
                if not number:
                    place.unclear[forget] = None
                    continue
                self._give_fields(place)
            touched |= place.mask
            cleared |= place.mask & ~(number << place.shift)
        return touched, cleared

    def encode(self, state: State) -> int:
        """Pack a state; places without a field are left out."""
        packed = state.spent if self.spent else 0
        for place in self._fields:
            name = place.symbol.name
            held: Value = (
                place.row in state.relations[name] if place.symbol.is_relation else state.functions[name][place.row]
            )
            packed |= place.bits(held)
        return packed

    def _give_fields(self, place: Place) -> None:
        if self.grouping is None:
            self._give_field(place)
            return
        orbit = self.grouping.orbit(place)
        for each in orbit:
            self._give_field(each)
        self.grouping.take(orbit)

    def _give_field(self, place: Place) -> None:
        width = (len(place.values) - 1).bit_length()
        place.shift = self.bits
        place.mask = ((1 << width) - 1) << place.shift
        self.bits += width
        self._fields.append(place)
        self.tables[place.symbol.name].widen(place)
        for pattern, tell in self._readers.get(place.symbol.name, ()):
            if matches(pattern, place.row):
                tell(place.mask)
        for forget in place.unclear:
            forget()
        place.unclear.clear()


def _places(symbol: Symbol, instance: Instance, start: State) -> dict[Row, Place]:
    places = {}
    for row in itertools.product(*(instance.of(sort) for sort in symbol.domain)):
        if symbol.is_relation:
            first = row in start.relations[symbol.name]
            values: Sequence[Value] = (first, not first)
        else:
            at = start.functions[symbol.name][row]
            values = (at, *(element for element in instance.of(symbol.result) if element != at))
        places[row] = Place(symbol, row, tuple(values))
    return places
