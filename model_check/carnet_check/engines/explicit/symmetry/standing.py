"""Which state stands for those that differ only in which interchangeable element is which.

Of most places it is told by their row alone which bundle they belong to: their bits are those of the bundle, and the
same places of another bundle have the same bits elsewhere. Taken together they make a number for each bundle. In the
state that stands for others, the bundles of each class are ordered by these numbers, the largest first; what is said of
several bundles is then as small as can be (:mod:`ties`).

The first value of each place is number 0 and what permutations carry to one another has its bits at the same time. So a
state that has been found keeps standing for the same others when places get bits later: it has 0 there.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from carnet_check.engines.explicit.layout import Place
from carnet_check.engines.explicit.memory import Memo
from carnet_check.engines.explicit.saturation import Change
from carnet_check.engines.explicit.symmetry.distinctions import Explored
from carnet_check.engines.explicit.symmetry.interchange import Alike, interchangeable
from carnet_check.engines.explicit.symmetry.orbits import Orbits
from carnet_check.engines.explicit.symmetry.ties import Ties

REMEMBERED = 1 << 18
"""How many ties are remembered that were broken."""


def standing_in(explored: Explored) -> Standing | None:
    """Return what finds the states that stand for others; nothing, where no elements are interchangeable."""
    carried = explored.carried()
    classes = interchangeable(explored.elements(), explored.facts())
    alike = [bundles for bundles in classes if any(not carried.isdisjoint(bundle) for bundle in bundles)]
    return Standing(alike, explored) if alike else None


class Bundle:
    """One bundle: the places that belong to it alone.

    Attributes:
        mask: their bits in a state.
        parts: for each place its mask, its shift, and the shift of what it holds in the bundle's number.
    """

    def __init__(self) -> None:
        self.mask = 0
        self.parts: list[tuple[int, int, int]] = []
        self._size = 0

    def take(self, place: Place) -> None:
        """Let one more place belong to the bundle."""
        self.mask |= place.mask
        self.parts.append((place.mask, place.shift, self._size))
        self._size += place.mask.bit_length() - place.shift


class Numbers(dict[int, int]):
    """The number that the bits of a bundle make, worked out once for each of their values."""

    def __init__(self, bundle: Bundle) -> None:
        super().__init__()
        self._parts = bundle.parts

    def __missing__(self, bits: int) -> int:
        number = sum((bits & mask) >> shift << to for mask, shift, to in self._parts)
        self[bits] = number
        return number


class Spelled(dict[int, int]):
    """The bits of a bundle that make a number, worked out once for each."""

    def __init__(self, bundle: Bundle) -> None:
        super().__init__()
        self._parts = bundle.parts

    def __missing__(self, number: int) -> int:
        bits = sum((number >> to << shift) & mask for mask, shift, to in self._parts)
        self[number] = bits
        return bits


class Standing:
    """Finds the state that stands for another one, and for how many it does.

    Attributes:
        alike: the bundles that may be permuted, class by class.
        order: how many permutations there are.
        classes: the bundles of each class.
        moving: the bits of a state that permutations move.
        shared: those of them that say something of several bundles.
        changes: what a state has to become to stand for itself, by these bits.
    """

    def __init__(self, alike: Sequence[Alike], explored: Explored) -> None:
        self.alike = alike
        self._orbits = orbits = Orbits(alike, explored.instance, explored.tables)
        self.order = math.prod(math.factorial(len(numbers)) for numbers in orbits.classes)
        self.classes = [[Bundle() for _ in numbers] for numbers in orbits.classes]
        self._numbers = [[Numbers(bundle) for bundle in bundles] for bundles in self.classes]
        self._spelled = [[Spelled(bundle) for bundle in bundles] for bundles in self.classes]
        self._ties = Ties(orbits)
        self._broken: dict[tuple[int, tuple[int, ...]], tuple[int, int]] = {}
        self._taken = 0
        self.moving = 0
        self.shared = 0
        self.changes: Memo[Change] = Memo(self._change)

    def orbit(self, place: Place) -> Sequence[Place]:
        """Return the places that have to get their bits together with one."""
        return self._orbits.orbit(place)

    def take(self, orbit: Sequence[Place]) -> None:
        """Take note of places that got their bits."""
        bundles = set(self._orbits.bundles(orbit[0]))
        if not bundles and not self._orbits.holds_some(orbit[0]):
            return
        self._taken += 1
        alone = len(bundles) == 1 and not self._orbits.holds_some(orbit[0])
        for place in orbit:
            self.moving |= place.mask
            self.changes.grow(place.mask)
            if alone:
                self._bundle(next(self._orbits.bundles(place))).take(place)
            else:
                self.shared |= place.mask
        if not alone:
            self._ties.take(orbit, self._taken)

    def __call__(self, s: int) -> int:
        """Return the state that stands for one."""
        moving = s & self.moving
        if not moving:
            return s
        stands = s ^ moving
        every: list[int] = []
        for bundles, numbers, spelled in zip(self.classes, self._numbers, self._spelled, strict=True):
            found = [number[moving & each.mask] for each, number in zip(bundles, numbers, strict=True)]
            every += found
            found.sort(reverse=True)
            for bits, number in zip(spelled, found, strict=True):
                if number:
                    stands |= bits[number]
        shared = moving & self.shared
        return stands | self._broken_ties(shared, self._ranks(every))[0] if shared else stands

    def size(self, s: int) -> int:
        """Return for how many states one stands, itself among them."""
        every = [
            number[s & each.mask]
            for bundles, numbers in zip(self.classes, self._numbers, strict=True)
            for each, number in zip(bundles, numbers, strict=True)
        ]
        return self.order // self._broken_ties(s & self.shared, self._ranks(every))[1]

    def _change(self, bits: int) -> Change:
        stands = self(bits)
        return (bits ^ stands, bits & ~stands) if bits != stands else None

    def _bundle(self, number: int) -> Bundle:
        return [bundle for bundles in self.classes for bundle in bundles][number]

    def _ranks(self, every: Sequence[int]) -> tuple[int, ...]:
        """Return how many bundles of its class come before each one, by their numbers."""
        ranks: list[int] = []
        for numbers in self._orbits.classes:
            own = [every[number] for number in numbers]
            ordered = sorted(own, reverse=True)
            ranks += map(ordered.index, own)
        return tuple(ranks)

    def _broken_ties(self, shared: int, ranks: tuple[int, ...]) -> tuple[int, int]:
        """Return the least that shared bits become, and how many permutations leave the whole state as it is."""
        if (shared, ranks) not in self._broken:
            if len(self._broken) >= REMEMBERED:
                self._broken.clear()
            self._broken[shared, ranks] = self._ties.least(shared, ranks)
        return self._broken[shared, ranks]
