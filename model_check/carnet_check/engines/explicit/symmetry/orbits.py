"""What a permutation of bundles does to places and to what they hold.

The bundles of all classes are numbered one after the other, so a permutation is a list: the number that each one gets.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from carnet_check.engines.explicit.layout import Place, Table, Value
from carnet_check.engines.explicit.symmetry.interchange import Alike, Element
from carnet_spec.language import Instance, Sort

Permutation = Sequence[int]
"""For each bundle, by number, the number of the one whose place it takes, of the same class."""


@dataclass(frozen=True, slots=True)
class Spot:
    """Where an element is: in which bundle, and which of its elements it is."""

    bundle: int
    position: int


class Orbits:
    """The bundles that may be permuted, and the places of a state.

    Attributes:
        classes: for each class the numbers of its bundles.
    """

    def __init__(self, alike: Sequence[Alike], instance: Instance, tables: Mapping[str, Table]) -> None:
        self._instance = instance
        self._tables = tables
        self._bundles = [bundle for bundles in alike for bundle in bundles]
        self._spots = {
            element: Spot(number, position)
            for number, bundle in enumerate(self._bundles)
            for position, element in enumerate(bundle)
        }
        ends = [sum(len(bundles) for bundles in alike[: number + 1]) for number in range(len(alike))]
        self.classes = [range(end - len(bundles), end) for end, bundles in zip(ends, alike, strict=True)]

    @cached_property
    def unmoved(self) -> list[int]:
        """The permutation that leaves everything where it is."""
        return list(range(len(self._bundles)))

    def exchange(self, one: int, other: int) -> list[int]:
        """Return the permutation that exchanges two bundles."""
        found = list(self.unmoved)
        found[one], found[other] = other, one
        return found

    def spots(self, place: Place) -> tuple[Spot | None, ...]:
        """Return where each element of a place's row is; nothing for one that stays where it is."""
        return tuple(self._spots.get(each) for each in _elements(place.symbol.domain, place.row))

    def spot_of(self, place: Place, value: Value) -> Spot | None:
        """Return where the element is that a place holds, if it may move."""
        return self._spots.get((place.symbol.result.name, str(value)))

    def what(self, place: Place, value: Value) -> tuple[int, int]:
        """Return numbers for what a place holds that are the same for whatever a permutation makes of it."""
        if place.symbol.is_relation:
            return 0, int(value)
        spot = self.spot_of(place, value)
        return (1, spot.position) if spot else (0, self._instance.of(place.symbol.result).index(str(value)))

    def holds_some(self, place: Place) -> bool:
        """Whether a place may hold an element that moves."""
        return not place.symbol.is_relation and any(self.spot_of(place, value) for value in place.values)

    def place(self, place: Place, permutation: Permutation) -> Place:
        """Return the place that another one becomes."""
        elements = _elements(place.symbol.domain, place.row)
        return self._tables[place.symbol.name].places[tuple(self._moved(each, permutation) for each in elements)]

    def bits(self, place: Place, value: Value, permutation: Permutation) -> int:
        """Return the bits of what a place and what it holds become; there have to be some."""
        if not place.symbol.is_relation:
            value = self._moved((place.symbol.result.name, str(value)), permutation)
        return self.place(place, permutation).bits(value)

    def orbit(self, place: Place) -> tuple[Place, ...]:
        """Return every place that one may become, ordered by the bundles that are in their rows."""
        exchanges = [self.exchange(one, one + 1) for numbers in self.classes for one in numbers[:-1]]
        found, waiting = {place: None}, [place]
        while waiting:
            each = waiting.pop()
            others = [self.place(each, exchange) for exchange in exchanges]
            waiting += (other for other in others if other not in found)
            found |= dict.fromkeys(others)
        return tuple(sorted(found, key=lambda each: [*self.bundles(each)]))

    def bundles(self, place: Place) -> Iterator[int]:
        """Yield the numbers of the bundles that a place's row has elements of, in order."""
        return (spot.bundle for spot in self.spots(place) if spot is not None)

    def _moved(self, element: Element, permutation: Permutation) -> str:
        spot = self._spots.get(element)
        return element[1] if spot is None else self._bundles[permutation[spot.bundle]][spot.position][1]


def _elements(sorts: Sequence[Sort], row: Sequence[str]) -> Iterator[Element]:
    return ((sort.name, element) for sort, element in zip(sorts, row, strict=True))
