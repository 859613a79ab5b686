"""Which elements are interchangeable: a guess at what moves along when two change places, and then a check of it.

A permutation is admitted if it maps facts to facts, and for no other reason. A guess that is not good enough loses some
of the reduction, and nothing else.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Hashable, Iterable, Mapping, Sequence

Element = tuple[str, str]
"""The name of a sort, and an element of it."""

Fact = tuple[Hashable, tuple[Element, ...]]
"""What is said, and of which elements, in order."""

Bundle = tuple[Element, ...]
"""Elements of one or several sorts that move together."""

Alike = tuple[Bundle, ...]
"""Bundles of which each may take the place of each other one, element by element; no element is in two."""


def interchangeable(elements: Sequence[Element], facts: Iterable[Fact]) -> tuple[Alike, ...]:
    """Return classes of bundles; however those of each class are permuted, facts are mapped to facts.

    No element is in two classes. What the facts do not name is interchangeable within its sort.
    """
    structure = _Structure(elements, facts)
    taken: set[Element] = set()
    classes = []
    for place, first in enumerate(elements):
        bundles = _bundles(structure, first, elements[place + 1 :], taken)
        if len(bundles) > 1:
            classes.append(bundles)
            taken.update(element for bundle in bundles for element in bundle)
    return tuple(classes)


def _bundles(structure: _Structure, first: Element, others: Sequence[Element], taken: set[Element]) -> Alike:
    """Return the bundle of an element, and those of later ones that may each change places with it."""
    bundles: list[Bundle] = []
    held = set(taken)
    for other in others if first not in taken else ():
        moves = structure.exchange(first, other)
        if moves is None or not held.isdisjoint(moves.values()):
            continue
        if not bundles and taken.isdisjoint(moves):
            bundles.append(tuple(moves))
            held.update(moves)
        if bundles and set(bundles[0]) == moves.keys():
            bundles.append(tuple(moves[element] for element in bundles[0]))
            held.update(moves.values())
    return tuple(bundles)


class _Structure:
    """Elements and what is said of them."""

    def __init__(self, elements: Sequence[Element], facts: Iterable[Fact]) -> None:
        self._facts = frozenset(facts)
        self._about: dict[Element, list[Fact]] = defaultdict(list)
        for fact in sorted(self._facts, key=repr):
            for element in dict.fromkeys(fact[1]):
                self._about[element].append(fact)
        self._kinds = self._told_apart(elements)

    def exchange(self, one: Element, other: Element) -> dict[Element, Element] | None:
        """Return what changes places with what if ``one`` does with ``other``, as little as is found to do.

        The keys are what moves along with ``one``. Nothing is returned if no exchange is found that is admitted.
        """
        if self._kinds[one] != self._kinds[other]:
            return None
        moves, exchanged, waiting = {one: other}, {one: other, other: one}, [one]
        while waiting:
            element = waiting.pop()
            for fact in self._about[element]:
                if _mapped(fact, exchanged) in self._facts:
                    continue
                others = self._counterpart(fact, self._about[exchanged[element]], exchanged)
                for mine, its in zip(fact[1], others, strict=False):
                    if exchanged.get(mine, mine) != its:
                        moves[mine] = exchanged[mine] = its
                        exchanged[its] = mine
                        waiting.append(mine)
        return moves if self._admits(exchanged) else None

    def _admits(self, exchanged: Mapping[Element, Element]) -> bool:
        """Whether an exchange maps each element to one of its sort and back, and facts to facts."""
        fair = all(exchanged[its] == mine and mine[0] == its[0] for mine, its in exchanged.items())
        return fair and all(_mapped(fact, exchanged) in self._facts for each in exchanged for fact in self._about[each])

    def _counterpart(
        self, fact: Fact, candidates: Sequence[Fact], exchanged: Mapping[Element, Element]
    ) -> tuple[Element, ...]:
        """Return the elements of a fact that may be what another one becomes, if more elements are exchanged."""

        def fits(mine: Element, its: Element) -> bool:
            if mine in exchanged or its in exchanged:
                return exchanged.get(mine) == its
            return self._kinds[mine] == self._kinds[its]

        for label, row in candidates:
            same = label == fact[0] and len(row) == len(fact[1]) and all(map(fits, fact[1], row))
            if same and _mapped((label, row), exchanged) not in self._facts:
                return row
        return ()

    def _told_apart(self, elements: Sequence[Element]) -> dict[Element, int]:
        """Number the elements; two have the same number if nothing tells them apart, however far one looks."""
        kinds: dict[Element, int] = dict.fromkeys(elements, 0)
        known: dict[Hashable, int] = {}
        while True:
            before, known = len(known), {}
            kinds = {each: known.setdefault(self._seen_of(each, kinds), len(known)) for each in elements}
            if len(known) == before:
                return kinds

    def _seen_of(self, element: Element, kinds: Mapping[Element, int]) -> Hashable:
        """Return all that facts say of an element, others known by their kinds alone."""
        said = Counter(
            (label, tuple(kinds[each] for each in row), tuple(each == element for each in row))
            for label, row in self._about[element]
        )
        return element[0], kinds[element], frozenset(said.items())


def _mapped(fact: Fact, exchanged: Mapping[Element, Element]) -> Fact:
    return fact[0], tuple(exchanged.get(element, element) for element in fact[1])
