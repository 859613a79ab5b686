"""Symmetry reduction: one state represents all that differ from it by a permutation of interchangeable elements.

All facts that distinguish elements are listed. Two elements are interchangeable if exchanging them maps facts to facts;
this is checked for each exchange, however it was guessed. Places of the state that such exchanges map to each other get
their fields together. The representative has the elements sorted by what the state says of each alone; ties are broken
by what it says of several elements together. The result does not depend on hashes.

A permutation of interchangeable elements maps steps to steps, since it preserves everything that steps are made of. So
the successors of a state are those of its representative, up to renaming, and the same invariants and goals hold in
both. Decided in docs/adr/0036-one-state-stands-for-those-that-differ-in-names.md.
"""

from __future__ import annotations

import functools
import itertools
import math
import operator
from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from carnet_check.engines.explicit.layout import Place, Relevance, Table, Value
from carnet_check.engines.explicit.memory import Memo
from carnet_check.engines.explicit.saturation import Change
from carnet_spec.language import Action, GuardKind, InLine, Instance, Row, Sort, Symbol, Term, Update
from carnet_spec.language.terms import Apply, IfThenElse, Member, subterms

# -- The representative of the states that differ by a permutation of interchangeable elements -----
#
# The row of most places has elements of one bundle only: the bits of such a place belong to the bundle, and the same
# places of another bundle have corresponding bits. Together these bits are a number for each bundle. In the
# representative, the bundles of each class are sorted by these numbers, the largest first; then the bits of places with
# elements of several bundles are made as small as possible (:class:`TieBreaker`).
#
# The first value of each place is number 0, and places that permutations map to each other get their fields at the same
# time. So a representative stays one when places get fields later: it has 0 there.

REMEMBERED = 1 << 18  #: The most broken ties that are memoised.


def canonicalizer_of(explored: SymmetryInput) -> Canonicalizer | None:
    """Return a canonicalizer, or ``None`` if no elements are interchangeable."""
    carried = explored.stored_elements()
    classes = interchangeable(explored.elements(), explored.facts())
    alike = [bundles for bundles in classes if any(not carried.isdisjoint(bundle) for bundle in bundles)]
    return Canonicalizer(alike, explored) if alike else None


class Bundle:
    """Elements permuted as a unit, and the state bits that mention only them."""

    def __init__(self) -> None:
        self.mask = 0  #: their bits in a state.
        #: for each place its mask, its shift, and the shift of its value in the bundle's number.
        self.parts: list[tuple[int, int, int]] = []
        self._size = 0

    def take(self, place: Place) -> None:
        """Add a place to the bundle."""
        self.mask |= place.mask
        self.parts.append((place.mask, place.shift, self._size))
        self._size += place.mask.bit_length() - place.shift

    def number(self, bits: int) -> int:
        """Return the number of the bundle for its bits in a state."""
        return sum((bits & mask) >> shift << to for mask, shift, to in self.parts)

    def bits(self, number: int) -> int:
        """Return the bits in a state for a number of the bundle."""
        return sum((number >> to << shift) & mask for mask, shift, to in self.parts)


class Tie(NamedTuple):
    """What a state says of several bundles together, and its counterpart in the representative."""

    shared: int  #: the bits about several bundles.
    ranks: tuple[int, ...]  #: for each bundle the number of bundles of its class that come before it.
    least: int  #: the bits in the representative instead of ``shared``.
    stabilizer: int  #: the number of permutations that leave the state unchanged.


class Remembered(dict[int, int]):
    """A memoised function from integers to integers."""

    def __init__(self, function: Callable[[int], int]) -> None:
        super().__init__()
        self._function = function

    def __missing__(self, argument: int) -> int:
        value = self[argument] = self._function(argument)
        return value


class Canonicalizer:
    """Computes the representative of a state, and the size of the state's orbit."""

    def __init__(self, alike: Sequence[BundleClass], explored: SymmetryInput) -> None:
        self.alike = alike  #: the bundles that may be permuted, class by class.
        self._orbits = orbits = Orbits(alike, explored.instance, explored.tables)
        #: the number of permutations.
        self.order = math.prod(math.factorial(len(numbers)) for numbers in orbits.classes)
        self.classes = [[Bundle() for _ in numbers] for numbers in orbits.classes]  #: the bundles of each class.
        self._numbers = [[Remembered(bundle.number) for bundle in bundles] for bundles in self.classes]
        self._spelled = [[Remembered(bundle.bits) for bundle in bundles] for bundles in self.classes]
        self._ties = TieBreaker(orbits)
        self._broken: dict[tuple[int, tuple[int, ...]], tuple[int, int]] = {}
        self._taken = 0
        self.moving = 0  #: the bits of a state that permutations move.
        self.shared = 0  #: those moving bits whose places have elements of several bundles.
        #: by moving bits, the change that turns a state into its representative.
        self.changes: Memo[Change] = Memo(self._change)

    def orbit(self, place: Place) -> Sequence[Place]:
        """Return the places that have to get their fields together with ``place``."""
        return self._orbits.orbit(place)

    def take(self, orbit: Sequence[Place]) -> None:
        """Update the canonicalizer after the places of an orbit got their fields."""
        bundles = set(self._orbits.bundles(orbit[0]))
        if not bundles and not self._orbits.holds_some(orbit[0]):
            return
        self._taken += 1
        alone = len(bundles) == 1 and not self._orbits.holds_some(orbit[0])
        every = list(itertools.chain.from_iterable(self.classes))
        for place in orbit:
            self.moving |= place.mask
            self.changes.grow(place.mask)
            if alone:
                every[next(self._orbits.bundles(place))].take(place)
            else:
                self.shared |= place.mask
        if not alone:
            self._ties.take(orbit, self._taken)

    def __call__(self, s: int) -> int:
        """Return the representative of a state."""
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

    def orbit_size(self, s: int) -> int:
        """Return the number of states that a state represents, itself included."""
        return self.order // self.tie(s).stabilizer

    def tie(self, s: int) -> Tie:
        """Return the bits of a state about several bundles, and how ties between bundles are broken."""
        every = [
            number[s & each.mask]
            for bundles, numbers in zip(self.classes, self._numbers, strict=True)
            for each, number in zip(bundles, numbers, strict=True)
        ]
        shared, ranks = s & self.shared, self._ranks(every)
        return Tie(shared, ranks, *self._broken_ties(shared, ranks))

    def _change(self, bits: int) -> Change:
        stands = self(bits)
        return (bits ^ stands, bits & ~stands) if bits != stands else None

    def _ranks(self, every: Sequence[int]) -> tuple[int, ...]:
        ranks: list[int] = []
        for numbers in self._orbits.classes:
            own = [every[number] for number in numbers]
            ordered = sorted(own, reverse=True)
            ranks += map(ordered.index, own)
        return tuple(ranks)

    def _broken_ties(self, shared: int, ranks: tuple[int, ...]) -> tuple[int, int]:
        """Return the least image of the shared bits, and the number of permutations that preserve the whole state."""
        if (shared, ranks) not in self._broken:
            if len(self._broken) >= REMEMBERED:
                self._broken.clear()
            self._broken[shared, ranks] = self._ties.least(shared, ranks)
        return self._broken[shared, ranks]


# --------------------------------------------------------------------------------------------------
# The facts that distinguish elements in a protocol on an instance; a permutation has to preserve them.
#
# * A formula that **names** an element, or a constant with the element as its value, distinguishes it from all others.
# * **Rigid** symbols distinguish elements. A strict linear order distinguishes all its elements.
# * The **first state** distinguishes elements.
# * An action may **choose** from some elements only, or **draw** unused ones in the order of its pool.
# * Places of some elements may be **relevant** while those of others are not.
#
# All other parts of a step treat all elements of a sort alike: variables, quantifiers, and the order of updates. Places
# that nothing reads distinguish nothing.


@dataclass(frozen=True)
class SymmetryInput:
    """Everything that a search depends on."""

    sorts: Sequence[Sort]  #: the sorts of elements.
    instance: Instance  #: the elements and rigid facts.
    steps: Sequence[tuple[Action, Sequence[Update]]]  #: each action, also deductions, with its relevant updates.
    sought: Sequence[Term]  #: the formulas that are checked in states.
    tables: Mapping[str, Table]  #: the places of each mutable symbol, with their first values.
    relevance: Relevance  #: the relevant places.
    told_apart: Set[Sort]  #: the sorts for which a draw tries every unused element.

    def elements(self) -> Sequence[Element]:
        """Return every element of every sort."""
        return [(sort.name, element) for sort in self.sorts for element in self.instance.of(sort)]

    def stored_elements(self) -> Set[Element]:
        """Return the elements in the rows or values of relevant places, besides those that a formula names."""
        found: set[Element] = set()
        for name, rows in self._rows.items():
            for place, sort in enumerate(self.tables[name].symbol.domain):
                found.update((sort.name, element) for element in {row[place] for row in rows})
        for _, updates in self.steps:
            for update in updates:
                if update.value is not None and not all(isinstance(each, Member) for each in _outcomes(update.value)):
                    sort = update.symbol.result
                    found.update((sort.name, element) for element in self.instance.of(sort))
        return found

    @cached_property
    def _rows(self) -> Mapping[str, Sequence[Row]]:
        return {name: [*self.relevance.places(table)] for name, table in self.tables.items()}

    def facts(self) -> Iterator[Fact]:
        """Yield all facts that distinguish elements."""
        terms = [*self.sought, *(term for action, updates in self.steps for term in _terms(action, updates))]
        parts = [part for term in terms for part in subterms(term)]
        for part in parts:
            if isinstance(part, Member):
                yield ("named", part.name), ((part.sort.name, part.name),)
        for symbol in {part.symbol for part in parts if isinstance(part, Apply) and not part.symbol.mutable}:
            yield from self._never_changing(symbol)
        for action, _ in self.steps:
            yield from self._choices(action)
        for name, table in self.tables.items():
            yield from self._at_first(name, table)
            for number, pattern in enumerate(self.relevance.patterns(name)):
                for position, (sort, allowed) in enumerate(zip(table.symbol.domain, pattern, strict=True)):
                    for element in allowed or ():
                        yield ("matters", name, number, position), _elements((sort,), (element,))

    def _never_changing(self, symbol: Symbol) -> Iterator[Fact]:
        if not symbol.is_relation:
            for row, value in self.instance.functions[symbol.name].items():
                yield ("is", symbol.name), _elements((*symbol.domain, symbol.result), (*row, value))
            return
        rows = self.instance.relations.get(symbol.name, frozenset())
        if isinstance(rows, InLine):
            for place, element in enumerate(rows.elements):
                yield ("in line", symbol.name, place), _elements(symbol.domain[:1], (element,))
        else:
            for row in rows:
                yield ("holds", symbol.name), _elements(symbol.domain, row)

    def _choices(self, action: Action) -> Iterator[Fact]:
        for var in action.params:
            drawn = var in action.fresh and var.sort not in self.told_apart
            every = self.instance.of(var.sort)
            pool = self.instance.pools.get((action.name, var.name), every)
            if not drawn and set(pool) == set(every):
                continue
            for place, element in enumerate(pool):
                yield ("pool", action.name, var.name, place if drawn else None), _elements((var.sort,), (element,))

    def _at_first(self, name: str, table: Table) -> Iterator[Fact]:
        """Yield the facts of the first state at relevant places; rows for which a relation is false are left out."""
        symbol = table.symbol
        for row in self._rows[name]:
            if not symbol.is_relation:
                value = str(table.places[row].values[0])
                yield ("first", name), _elements((*symbol.domain, symbol.result), (*row, value))
            elif row in table.first:
                yield ("first", name), _elements(symbol.domain, row)


def _terms(action: Action, updates: Iterable[Update]) -> Iterator[Term]:
    for guard in action.guards:
        if guard.kind is not GuardKind.FRESH:
            yield guard.formula
    for update in updates:
        yield from (*update.args, update.when)
        if update.value is not None:
            yield update.value


def _outcomes(value: Term) -> Iterator[Term]:
    """Yield the possible results of a term, for all outcomes of its conditions."""
    if isinstance(value, IfThenElse):
        yield from (*_outcomes(value.then), *_outcomes(value.otherwise))
    else:
        yield value


def _elements(sorts: Iterable[Sort], row: Row) -> tuple[Element, ...]:
    return tuple((sort.name, element) for sort, element in zip(sorts, row, strict=True))


# --------------------------------------------------------------------------------------------------
# Which elements are interchangeable: guess which other elements move when two are exchanged, and check the guess.
#
# A permutation is admitted only if it maps facts to facts. A poor guess only reduces the reduction.

Element = tuple[str, str]  #: The name of a sort, and an element of it.

Fact = tuple[Hashable, tuple[Element, ...]]  #: A label of a fact, and its elements in order.

Elements = tuple[Element, ...]  #: Elements of one or several sorts that move together.

#: Disjoint bundles, each of which can be exchanged with every other one, element by element.
BundleClass = tuple[Elements, ...]


def interchangeable(elements: Sequence[Element], facts: Iterable[Fact]) -> tuple[BundleClass, ...]:
    """Return classes of bundles; every permutation of the bundles of each class maps facts to facts.

    No element is in two classes. Elements that occur in no fact are interchangeable within their sort.
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


def _bundles(structure: _Structure, first: Element, others: Sequence[Element], taken: set[Element]) -> BundleClass:
    """Return the bundle of an element, and the bundles of later elements that can be exchanged with it."""
    bundles: list[Elements] = []
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
    """Elements and the facts about them."""

    def __init__(self, elements: Sequence[Element], facts: Iterable[Fact]) -> None:
        self._facts = frozenset(facts)
        self._about: dict[Element, list[Fact]] = defaultdict(list)
        for fact in sorted(self._facts, key=repr):
            for element in dict.fromkeys(fact[1]):
                self._about[element].append(fact)
        self._kinds = self._told_apart(elements)

    def exchange(self, one: Element, other: Element) -> dict[Element, Element] | None:
        """Return a small exchange of elements that includes exchanging ``one`` with ``other``.

        The keys are the elements that move together with ``one``. The result is None if no admitted exchange is found.
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
        # It is admitted if it maps each element to one of its sort and back, and facts to facts.
        fair = all(exchanged[its] == mine and mine[0] == its[0] for mine, its in exchanged.items())
        keeps = (_mapped(fact, exchanged) in self._facts for each in exchanged for fact in self._about[each])
        return moves if fair and all(keeps) else None

    def _counterpart(
        self, fact: Fact, candidates: Sequence[Fact], exchanged: Mapping[Element, Element]
    ) -> tuple[Element, ...]:
        """Return the elements of a candidate that could be the image of ``fact``, if more elements are exchanged."""

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
        """Number the elements by colour refinement; two with the same number are not distinguished by facts."""
        kinds: dict[Element, int] = dict.fromkeys(elements, 0)
        known: dict[Hashable, int] = {}
        while True:
            before, known = len(known), {}
            kinds = {each: known.setdefault(self._seen_of(each, kinds), len(known)) for each in elements}
            if len(known) == before:
                return kinds

    def _seen_of(self, element: Element, kinds: Mapping[Element, int]) -> Hashable:
        """Return the facts about an element, with other elements replaced by their kinds."""
        said = Counter(
            (label, tuple(kinds[each] for each in row), tuple(each == element for each in row))
            for label, row in self._about[element]
        )
        return element[0], kinds[element], frozenset(said.items())


def _mapped(fact: Fact, exchanged: Mapping[Element, Element]) -> Fact:
    return fact[0], tuple(exchanged.get(element, element) for element in fact[1])


# -- The action of a permutation of bundles on places and their values -----------------------------
#
# The bundles of all classes are numbered consecutively, so a permutation is a list with the new number of each.

#: For each bundle, by number, the number of the one whose place it takes, of the same class.
Permutation = Sequence[int]


@dataclass(frozen=True, slots=True)
class Spot:
    """The position of an element: its bundle, and its index in the bundle."""

    bundle: int
    position: int


class Orbits:
    """The bundles that may be permuted, and the places of a state."""

    def __init__(self, alike: Sequence[BundleClass], instance: Instance, tables: Mapping[str, Table]) -> None:
        self._instance = instance
        self._tables = tables
        self._bundles = [bundle for bundles in alike for bundle in bundles]
        self._spots = {
            element: Spot(number, position)
            for number, bundle in enumerate(self._bundles)
            for position, element in enumerate(bundle)
        }
        ends = [sum(len(bundles) for bundles in alike[: number + 1]) for number in range(len(alike))]
        #: for each class the numbers of its bundles.
        self.classes = [range(end - len(bundles), end) for end, bundles in zip(ends, alike, strict=True)]

    @cached_property
    def identity(self) -> list[int]:
        """Return the identity permutation."""
        return list(range(len(self._bundles)))

    def exchange(self, one: int, other: int) -> list[int]:
        """Return the permutation that exchanges two bundles."""
        found = list(self.identity)
        found[one], found[other] = other, one
        return found

    def spots(self, place: Place) -> tuple[Spot | None, ...]:
        """Return the spots of the arguments of a place: each is the position of an element among interchangeable ones.

        An element that no permutation moves has None.
        """
        return tuple(self._spots.get(each) for each in _elements(place.symbol.domain, place.row))

    def spot_of(self, place: Place, value: Value) -> Spot | None:
        """Return the spot of the element that is a place's value; None if no permutation moves it."""
        return self._spots.get((place.symbol.result.name, str(value)))

    def permutation_invariant(self, place: Place, value: Value) -> tuple[int, int]:
        """Return numbers for a place and its value that are invariant under permutations."""
        if place.symbol.is_relation:
            return 0, int(value)
        spot = self.spot_of(place, value)
        return (1, spot.position) if spot else (0, self._instance.of(place.symbol.result).index(str(value)))

    def holds_some(self, place: Place) -> bool:
        """Whether the value of a place may be an element that permutations move."""
        return not place.symbol.is_relation and any(self.spot_of(place, value) for value in place.values)

    def place(self, place: Place, permutation: Permutation) -> Place:
        """Return the image of a place."""
        elements = _elements(place.symbol.domain, place.row)
        return self._tables[place.symbol.name].places[tuple(self._moved(each, permutation) for each in elements)]

    def bits(self, place: Place, value: Value, permutation: Permutation) -> int:
        """Return the bits of the image of a place with its value; the image must have a field."""
        if not place.symbol.is_relation:
            value = self._moved((place.symbol.result.name, str(value)), permutation)
        return self.place(place, permutation).bits(value)

    def orbit(self, place: Place) -> tuple[Place, ...]:
        """Return all images of a place, sorted by the bundles in their rows."""
        exchanges = [self.exchange(one, one + 1) for numbers in self.classes for one in numbers[:-1]]
        found, waiting = {place: None}, [place]
        while waiting:
            each = waiting.pop()
            others = [self.place(each, exchange) for exchange in exchanges]
            waiting += (other for other in others if other not in found)
            found |= dict.fromkeys(others)
        return tuple(sorted(found, key=lambda each: [*self.bundles(each)]))

    def bundles(self, place: Place) -> Iterator[int]:
        """Yield the numbers of the bundles with elements in a place's row, in order."""
        return (spot.bundle for spot in self.spots(place) if spot is not None)

    def _moved(self, element: Element, permutation: Permutation) -> str:
        spot = self._spots.get(element)
        return element[1] if spot is None else self._bundles[permutation[spot.bundle]][spot.position][1]


# --------------------------------------------------------------------------------------------------
# Breaking ties between bundles with equal numbers, by the places that mention several bundles.
#
# These are the places with elements of more than one bundle in their row, or with a moving element as possible value.
# The representative is the state with the least such bits, among those in which the bundles are sorted by their ranks,
# and within a rank by the bundles with which they are mentioned. Ranks are refined repeatedly as long as that
# distinguishes bundles. Then each bundle of a rank is tried as the first, except that of bundles whose exchange changes
# nothing only one is.
#
# Source: B. McKay, "Practical Graph Isomorphism", Congressus Numerantium 30, 1981.

#: For each bundle, how many of its class come before it; bundles with equal ranks are not ordered yet.
Ranks = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class _Mention:
    """A place with another value than in the first state."""

    place: Place  #: the place.
    value: Value  #: its value.
    kind: tuple[int, ...]  #: numbers that are invariant under permutations.
    bundles: tuple[int, ...]  #: the bundles of the elements in its row, in order, and last that of its value.


class TieBreaker:
    """Orders bundles with equal numbers by the places that mention several bundles."""

    def __init__(self, orbits: Orbits) -> None:
        self._orbits = orbits
        self._kinds: dict[Place, int] = {}

    def take(self, orbit: Iterable[Place], kind: int) -> None:
        """Add the places of an orbit; ``kind`` is a number that identifies the orbit."""
        self._kinds |= dict.fromkeys(orbit, kind)

    def least(self, bits: int, ranks: Ranks) -> tuple[int, int]:
        """Return the least image of ``bits`` over permutations within ``ranks``, and the size of its stabilizer."""
        return self._least(list(self._mentions(bits)), ranks)

    def _least(self, mentions: Sequence[_Mention], ranks: Ranks) -> tuple[int, int]:
        ranks = self._refined(mentions, ranks)
        tied = self._tied(ranks)
        if not tied:
            return self._image(mentions, [each[ranks[number]] for each in self._orbits.classes for number in each]), 1
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
                yield _Mention(place, value, (kind, *self._orbits.permutation_invariant(place, value)), bundles)

    def _refined(self, mentions: Sequence[_Mention], ranks: Ranks) -> Ranks:
        """Refine ranks by the ranks of the bundles with which each is mentioned, until nothing changes."""
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
        for numbers in self._orbits.classes:
            for rank in range(len(numbers)):
                tied = [number for number in numbers if ranks[number] == rank]
                if len(tied) > 1:
                    return tied
        return []

    def _different(self, mentions: Sequence[_Mention], tied: Sequence[int]) -> Iterator[tuple[int, int]]:
        """Yield one bundle of each set of bundles whose exchange changes nothing, with the size of the set."""
        bits = self._image(mentions, self._orbits.identity)
        groups: list[list[int]] = []
        for number in tied:
            for group in groups:
                if self._image(mentions, self._orbits.exchange(group[0], number)) == bits:
                    group.append(number)
                    break
            else:
                groups.append([number])
        return ((group[0], len(group)) for group in groups)

    def _image(self, mentions: Iterable[_Mention], permutation: Permutation) -> int:
        bits = (self._orbits.bits(each.place, each.value, permutation) for each in mentions)
        return functools.reduce(operator.or_, bits, 0)
