"""Symmetry: of states that differ only in which interchangeable element is which, one stands for all.

What tells elements apart is listed as facts. Elements may change places if every fact then says of
others what is a fact, too; that is checked for each pair of them, whatever led to it. Places of the
state that elements carry to one another get their bits together. The state that stands for others is the
one with the elements in the order of what the state says of each alone; ties are broken by what it says of several
together, and nothing is left to a hash.

A permutation of interchangeable elements maps steps to steps, as it leaves everything as it is that steps are made of.
So what follows from a state is what follows from the one that stands for it, with other names, and the same invariants
and goals hold there. Decided in docs/adr/0036-one-state-stands-for-those-that-differ-in-names.md.
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

# -- Which state stands for those that differ only in which interchangeable element is which -------
#
# Of most places it is told by their row alone which bundle they belong to: their bits are those of the bundle, and the
# same places of another bundle have the same bits elsewhere. Taken together they make a number for each bundle. In the
# state that stands for others, the bundles of each class are ordered by these numbers, the largest first; what is said
# of several bundles is then as small as can be (:class:`TieBreaker`).
#
# The first value of each place is number 0 and what permutations carry to one another has its bits at the same time.
# So a state that has been found keeps standing for the same others when places get bits later: it has 0 there.

REMEMBERED = 1 << 18
"""How many ties are remembered that were broken."""


def canonicalizer_of(explored: SymmetryInput) -> Canonicalizer | None:
    """Return a canonicalizer, or ``None`` if no elements are interchangeable."""
    carried = explored.carried()
    classes = interchangeable(explored.elements(), explored.facts())
    alike = [bundles for bundles in classes if any(not carried.isdisjoint(bundle) for bundle in bundles)]
    return Canonicalizer(alike, explored) if alike else None


class Bundle:
    """Elements permuted as a unit, and the state bits that mention only them.

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

    def number(self, bits: int) -> int:
        """Return the number that the bundle's bits in a state make."""
        return sum((bits & mask) >> shift << to for mask, shift, to in self.parts)

    def bits(self, number: int) -> int:
        """Return the bits that make a number."""
        return sum((number >> to << shift) & mask for mask, shift, to in self.parts)


class Tie(NamedTuple):
    """What a state says of several bundles, and what becomes of that in the state that stands for it.

    Attributes:
        shared: the bits that say it.
        ranks: for each bundle how many of its class come before it.
        least: the bits that the state has instead that stands for it.
        stabilizer: how many permutations leave the whole state as it is.
    """

    shared: int
    ranks: tuple[int, ...]
    least: int
    stabilizer: int


class Remembered(dict[int, int]):
    """The values of a function, each worked out once."""

    def __init__(self, function: Callable[[int], int]) -> None:
        super().__init__()
        self._function = function

    def __missing__(self, argument: int) -> int:
        value = self[argument] = self._function(argument)
        return value


class Canonicalizer:
    """Finds the state that stands for another one, and for how many it does.

    Attributes:
        alike: the bundles that may be permuted, class by class.
        order: how many permutations there are.
        classes: the bundles of each class.
        moving: the bits of a state that permutations move.
        shared: those of them that say something of several bundles.
        changes: what a state has to become to stand for itself, by these bits.
    """

    def __init__(self, alike: Sequence[BundleClass], explored: SymmetryInput) -> None:
        self.alike = alike
        self._orbits = orbits = Orbits(alike, explored.instance, explored.tables)
        self.order = math.prod(math.factorial(len(numbers)) for numbers in orbits.classes)
        self.classes = [[Bundle() for _ in numbers] for numbers in orbits.classes]
        self._numbers = [[Remembered(bundle.number) for bundle in bundles] for bundles in self.classes]
        self._spelled = [[Remembered(bundle.bits) for bundle in bundles] for bundles in self.classes]
        self._ties = TieBreaker(orbits)
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
        """Return for how many states one stands, itself among them."""
        return self.order // self.tie(s).stabilizer

    def tie(self, s: int) -> Tie:
        """Return what a state says of several bundles, and how ties between these are broken."""
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
        """Return the least that shared bits become, and how many permutations leave the whole state as it is."""
        if (shared, ranks) not in self._broken:
            if len(self._broken) >= REMEMBERED:
                self._broken.clear()
            self._broken[shared, ranks] = self._ties.least(shared, ranks)
        return self._broken[shared, ranks]


# --------------------------------------------------------------------------------------------------
# What tells elements apart in a protocol on an instance, as facts that a permutation has to keep.
#
# * A formula **names** an element: it is told from all others. So is one that stands in for a constant.
# * What **never changes** holds of some elements and not of others. A strict order has no two elements alike.
# * The **first state** says something of some.
# * An action may **choose** some only, or **draws** unused ones in the order in which its pool has them.
# * What **matters** is a place of some, and no place of others.
#
# Everything else that a step is made of says the same of all elements of a sort: variables, quantifiers, and the order
# in which updates are written. What nothing reads tells nothing apart.


@dataclass(frozen=True)
class SymmetryInput:
    """What a search is made of.

    Attributes:
        sorts: what elements are of.
        instance: the elements, and what never changes.
        steps: each action with those of its updates that matter, deductions among them.
        sought: what is looked for in states.
        tables: the places of each symbol that changes, with what they hold at first.
        relevance: which of them matter.
        told_apart: the sorts of which a draw tries every unused element.
    """

    sorts: Sequence[Sort]
    instance: Instance
    steps: Sequence[tuple[Action, Sequence[Update]]]
    sought: Sequence[Term]
    tables: Mapping[str, Table]
    relevance: Relevance
    told_apart: Set[Sort]

    def elements(self) -> Sequence[Element]:
        """Return every element of every sort."""
        return [(sort.name, element) for sort in self.sorts for element in self.instance.of(sort)]

    def carried(self) -> Set[Element]:
        """Return the elements that a state may say anything of, beside those that a formula names."""
        found: set[Element] = set()
        for name, rows in self._rows.items():
            found.update(element for row in rows for element in _elements(self.tables[name].symbol.domain, row))
        for _, updates in self.steps:
            for update in updates:
                if update.value is not None and not all(isinstance(each, Member) for each in _outcomes(update.value)):
                    sort = update.symbol.result
                    found.update((sort.name, element) for element in self.instance.of(sort))
        return found

    @cached_property
    def _rows(self) -> Mapping[str, Sequence[Row]]:
        return {
            name: [row for row in table.places if self.relevance.of_place(name, row)]
            for name, table in self.tables.items()
        }

    def facts(self) -> Iterator[Fact]:
        """Yield everything that tells elements apart."""
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
        """Yield what the first state says where it matters; that a relation does not hold goes without saying."""
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
    """Yield what a term may stand for, whatever its conditions come to."""
    if isinstance(value, IfThenElse):
        yield from (*_outcomes(value.then), *_outcomes(value.otherwise))
    else:
        yield value


def _elements(sorts: Iterable[Sort], row: Row) -> tuple[Element, ...]:
    return tuple((sort.name, element) for sort, element in zip(sorts, row, strict=True))


# --------------------------------------------------------------------------------------------------
# Which elements are interchangeable: a guess at what moves along when two change places, and then a check of it.
#
# A permutation is admitted if it maps facts to facts, and for no other reason. A guess that is not good enough loses
# some of the reduction, and nothing else.

Element = tuple[str, str]
"""The name of a sort, and an element of it."""

Fact = tuple[Hashable, tuple[Element, ...]]
"""What is said, and of which elements, in order."""

Elements = tuple[Element, ...]
"""Elements of one or several sorts that move together."""

BundleClass = tuple[Elements, ...]
"""Bundles of which each may take the place of each other one, element by element; no element is in two."""


def interchangeable(elements: Sequence[Element], facts: Iterable[Fact]) -> tuple[BundleClass, ...]:
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


def _bundles(structure: _Structure, first: Element, others: Sequence[Element], taken: set[Element]) -> BundleClass:
    """Return the bundle of an element, and those of later ones that may each change places with it."""
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
        # It is admitted if it maps each element to one of its sort and back, and facts to facts.
        fair = all(exchanged[its] == mine and mine[0] == its[0] for mine, its in exchanged.items())
        keeps = (_mapped(fact, exchanged) in self._facts for each in exchanged for fact in self._about[each])
        return moves if fair and all(keeps) else None

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


# -- What a permutation of bundles does to places and to what they hold ----------------------------
#
# The bundles of all classes are numbered one after the other, so a permutation is a list: the number that each one
# gets.

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
        self.classes = [range(end - len(bundles), end) for end, bundles in zip(ends, alike, strict=True)]

    @cached_property
    def identity(self) -> list[int]:
        """The permutation that leaves everything where it is."""
        return list(range(len(self._bundles)))

    def exchange(self, one: int, other: int) -> list[int]:
        """Return the permutation that exchanges two bundles."""
        found = list(self.identity)
        found[one], found[other] = other, one
        return found

    def spots(self, place: Place) -> tuple[Spot | None, ...]:
        """Return where each element of a place's row is; nothing for one that stays where it is."""
        return tuple(self._spots.get(each) for each in _elements(place.symbol.domain, place.row))

    def spot_of(self, place: Place, value: Value) -> Spot | None:
        """Return where the element is that a place holds, if it may move."""
        return self._spots.get((place.symbol.result.name, str(value)))

    def permutation_invariant(self, place: Place, value: Value) -> tuple[int, int]:
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


# --------------------------------------------------------------------------------------------------
# Bundles that are alike in what the state says of each alone: their order is decided by what it says of several.
#
# What is said of several is the bits of places that have elements of more than one bundle in their row, or may hold an
# element that moves. The state that is chosen is the one with the least such bits, among those in which the bundles
# are ordered by their ranks, and within a rank by what others they are mentioned with. That is looked at again and
# again, as far as it tells any apart; where it does not, each of them is tried, but only one of those whose exchange
# changes nothing.
#
# Source: B. McKay, "Practical Graph Isomorphism", Congressus Numerantium 30, 1981.

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


class TieBreaker:
    """Decides the order of bundles, where bits say something of several of them."""

    def __init__(self, orbits: Orbits) -> None:
        self._orbits = orbits
        self._kinds: dict[Place, int] = {}

    def take(self, orbit: Iterable[Place], kind: int) -> None:
        """Look at more places, which permutations carry to one another; ``kind`` is a number of their own."""
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
        for numbers in self._orbits.classes:
            for rank in range(len(numbers)):
                tied = [number for number in numbers if ranks[number] == rank]
                if len(tied) > 1:
                    return tied
        return []

    def _different(self, mentions: Sequence[_Mention], tied: Sequence[int]) -> Iterator[tuple[int, int]]:
        """Yield one of those bundles whose exchange changes nothing, and how many they are."""
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
