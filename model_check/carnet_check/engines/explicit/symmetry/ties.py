"""Bundles that are alike in what the state says of each alone: their order is decided by what it says of several.

What is said of several is the bits of places that have elements of more than one bundle in their row, or may hold an
element that moves. The state that is chosen is the one with the least such bits, among those in which the bundles are
ordered by their ranks, and within a rank by what others they are mentioned with. That is looked at again and again, as
far as it tells any apart; where it does not, each of them is tried, but only one of those whose exchange changes
nothing.

Source: B. McKay, "Practical Graph Isomorphism", Congressus Numerantium 30, 1981.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from carnet_check.engines.explicit.layout import Place, Value
from carnet_check.engines.explicit.symmetry.orbits import Orbits, Permutation

Ranks = tuple[int, ...]
"""For each bundle how many of its class come before it; those of which that is the same may still be in any order."""


@dataclass(frozen=True, slots=True)
class _Mention:
    """One place that holds something else than at first.

    Attributes:
        place: the place.
        value: what it holds.
        kind: numbers that are the same for whatever a permutation makes of it.
        bundles: those that it mentions, in order, the one that it holds an element of last.
    """

    place: Place
    value: Value
    kind: tuple[int, ...]
    bundles: tuple[int, ...]


class Ties:
    """Decides the order of bundles, where bits say something of several of them."""

    def __init__(self, orbits: Orbits) -> None:
        self._orbits = orbits
        self._kinds: dict[Place, int] = {}

    def take(self, orbit: Iterable[Place], kind: int) -> None:
        """Look at more places, which permutations carry to one another; ``kind`` is a number of their own."""
        self._kinds |= dict.fromkeys(orbit, kind)

    def least(self, bits: int, ranks: Ranks) -> tuple[int, int]:
        """Return what bits become, at the least, and how many permutations within the ranks leave them as they are."""
        return self._least(list(self._mentions(bits)), ranks)

    def _least(self, mentions: Sequence[_Mention], ranks: Ranks) -> tuple[int, int]:
        ranks = self._refined(mentions, ranks)
        tied = self._tied(ranks)
        if not tied:
            return self._image(mentions, self._by(ranks)), 1
        found: tuple[int, int] | None = None
        for one, times in self._different(mentions, tied):
            later = tuple(rank + (number in tied and number != one) for number, rank in enumerate(ranks))
            bits, same = self._least(mentions, later)
            if found is None or bits < found[0]:
                found = bits, 0
            if bits == found[0]:
                found = bits, found[1] + same * times
        assert found is not None
        return found

    def _mentions(self, bits: int) -> Iterator[_Mention]:
        for place, kind in self._kinds.items():
            held = bits & place.mask
            if held:
                number = held >> place.shift
                value = place.values[number]
                spots = [*self._orbits.spots(place), self._orbits.spot_of(place, value)]
                bundles = tuple(spot.bundle for spot in spots if spot is not None)
                yield _Mention(place, value, (kind, *self._orbits.what(place, value)), bundles)

    def _refined(self, mentions: Sequence[_Mention], ranks: Ranks) -> Ranks:
        """Tell bundles of a rank apart by the ranks of those that they are mentioned with, as long as that does."""
        while True:
            signs: list[list[tuple[int, ...]]] = [[] for _ in ranks]
            for each in mentions:
                others = tuple(ranks[number] for number in each.bundles)
                for number in dict.fromkeys(each.bundles):
                    signs[number].append((*each.kind, *others, *(other == number for other in each.bundles)))
            seen = [(rank, sorted(sign)) for rank, sign in zip(ranks, signs, strict=True)]
            refined = list(ranks)
            for numbers in self._orbits.classes:
                ordered = sorted(seen[number] for number in numbers)
                for number in numbers:
                    refined[number] = ordered.index(seen[number])
            if tuple(refined) == ranks:
                return ranks
            ranks = tuple(refined)

    def _tied(self, ranks: Ranks) -> list[int]:
        """Return the bundles of the first rank that several have."""
        for numbers in self._orbits.classes:
            for rank in range(len(numbers)):
                tied = [number for number in numbers if ranks[number] == rank]
                if len(tied) > 1:
                    return tied
        return []

    def _different(self, mentions: Sequence[_Mention], tied: Sequence[int]) -> Iterator[tuple[int, int]]:
        """Yield one of those bundles whose exchange changes nothing, and how many they are."""
        bits = self._image(mentions, self._orbits.unmoved)
        groups: list[list[int]] = []
        for number in tied:
            for group in groups:
                if self._image(mentions, self._orbits.exchange(group[0], number)) == bits:
                    group.append(number)
                    break
            else:
                groups.append([number])
        return ((group[0], len(group)) for group in groups)

    def _by(self, ranks: Ranks) -> list[int]:
        """Return the permutation that orders bundles by ranks of their own."""
        return [numbers[ranks[number]] for numbers in self._orbits.classes for number in numbers]

    def _image(self, mentions: Iterable[_Mention], permutation: Permutation) -> int:
        bits = 0
        for each in mentions:
            bits |= self._orbits.bits(each.place, each.value, permutation)
        return bits
