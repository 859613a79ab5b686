"""Layout: a state as one Python integer, with a field of bits for each place.

A field holds the number of the place's value; a relation is a bit, 1 where it holds. What the adversary has spent lies
above all fields.
"""

from __future__ import annotations

from collections.abc import Iterable

from carnet_check.explicit.formulas import Conjunction, Disjunction, Formula, Places, Test
from carnet_check.semantics import State


class Layout:
    """Where each of the given places lies, and how formulas are tested there."""

    def __init__(self, places: Places, kept: Iterable[int]) -> None:
        self.places = places
        self._shift: dict[int, int] = {}
        self._width: dict[int, int] = {}
        offset = 0
        for place in sorted(kept):
            self._shift[place] = offset
            self._width[place] = (len(places.values[place]) - 1).bit_length()
            offset += self._width[place]
        self.bits = offset
        self.spent_unit = 1 << offset
        """One unit of the adversary's budget; larger than any combination of fields."""

    def field(self, place: int) -> int:
        """Return the mask of the place's field."""
        return ((1 << self._width[place]) - 1) << self._shift[place]

    def bits_of(self, place: int, value: int) -> int:
        """Return the field of the place holding a value."""
        return value << self._shift[place]

    def is_bit(self, place: int) -> bool:
        """Whether the place has two possible values."""
        return self._width[place] == 1

    def mask(self, places: Iterable[int]) -> int:
        """Return the mask of the fields of several places."""
        mask = 0
        for place in places:
            mask |= self.field(place)
        return mask

    def encode(self, state: State) -> int:
        """Pack a state; what is not laid out is left out."""
        packed = state.spent * self.spent_unit
        for place in self._shift:
            symbol, row = self.places.names[place]
            if symbol in state.relations:
                packed |= self.bits_of(place, self.places.values[place].index(row in state.relations[symbol]))
            else:
                packed |= self.bits_of(place, self.places.values[place].index(state.functions[symbol][row]))
        return packed

    def cube(self, tests: Iterable[Test]) -> tuple[int, int]:
        """Return mask and value such that ``s & mask == value`` says that all tests hold, each of them exact."""
        mask = value = 0
        for test in tests:
            mask |= self.field(test.place)
            value |= self.bits_of(test.place, test.value)
        return mask, value

    def source(self, formula: Formula) -> str:
        """Return Python source that tests the formula in the state ``s``; it may stand in any expression."""
        match formula:
            case Test(place, value, wanted):
                return self._compare(self.field(place), self.bits_of(place, value), wanted)
            case Conjunction(parts):
                return self._conjunction(parts)
            case Disjunction(parts):
                return self._disjunction(parts)

    def _conjunction(self, parts: tuple[Formula, ...]) -> str:
        exact: list[Test] = []
        found = []
        for part in parts:
            if isinstance(part, Test) and part.wanted:
                exact.append(part)
            else:
                found.append(self.source(part))
        if exact:
            found.insert(0, self._compare(*self.cube(exact), wanted=True))
        return f"({' and '.join(found)})" if found else "True"

    def _disjunction(self, parts: tuple[Formula, ...]) -> str:
        ones = zeros = 0
        found = []
        for part in parts:
            if isinstance(part, Test) and part.wanted and self.is_bit(part.place):
                ones |= self.bits_of(part.place, part.value)
                zeros |= self.field(part.place) if part.value == 0 else 0
            else:
                found.append(self.source(part))
        found += [f"s & {zeros:#x} != {zeros:#x}"] if zeros else []
        found += [f"s & {ones:#x}"] if ones else []
        return f"({' or '.join(found)})" if found else "False"

    def _compare(self, mask: int, value: int, wanted: bool) -> str:
        if mask == value and mask.bit_count() == 1:
            return f"s & {mask:#x}" if wanted else f"not s & {mask:#x}"
        return f"s & {mask:#x} {'==' if wanted else '!='} {value:#x}"
