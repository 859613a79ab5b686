"""Finite instances: the elements, the rigid facts and the bounds that an explicit search works with.

Bounds are not part of the specification: an instance fixes the elements of each sort, the interpretation of the rigid
symbols, which elements an action may draw as fresh, and how many active adversary moves are allowed.
"""

import itertools
from collections.abc import Collection, Iterable, Iterator, Mapping, Set
from dataclasses import dataclass, field
from typing import TypeVar

from carnet_spec.language.errors import MisuseError, SpecificationError
from carnet_spec.language.naming import did_you_mean, nearest, require_fields
from carnet_spec.language.protocol import Protocol
from carnet_spec.language.terms import Sort

Member = TypeVar("Member")
Row = tuple[str, ...]  #: Element names, one for each argument of a symbol.
MOST_MOVES = (1 << 63) - 1  #: The largest budget; the amount spent is stored in one machine word.


class InLine(Set[Row]):
    """The rows of a strict linear order: each element with each later one. The pairs are computed, not stored."""

    __slots__ = ("_places", "elements")

    def __init__(self, elements: Row) -> None:
        self.elements = elements
        self._places = {element: place for place, element in enumerate(elements)}
        if len(self._places) < len(elements):
            raise MisuseError(f"a line names an element twice: {', '.join(map(str, elements))}")

    @classmethod
    def _from_iterable(cls, it: Iterable[Member]) -> Set[Member]:
        """Return the result of the operators of `Set`: a plain set, since it need not be a linear order."""
        return frozenset(it)

    def __contains__(self, row: object) -> bool:
        match row:
            case (str() as first, str() as second) if first in self._places and second in self._places:
                return self._places[first] < self._places[second]
        return False

    def __iter__(self) -> Iterator[Row]:
        return itertools.combinations(self.elements, 2)

    def __len__(self) -> int:
        return len(self.elements) * (len(self.elements) - 1) // 2

    __hash__ = Set._hash

    def place(self, element: str) -> int:
        """Return how many elements come before ``element``."""
        return self._places[element]

    def beside(self, element: str, *, after: bool) -> Collection[Row]:
        """Return the rows of an element with all later ones, or of all earlier ones with it."""
        return _RowsBeside(self, self._places[element], after)


@dataclass(frozen=True, slots=True)
class _RowsBeside(Collection[Row]):
    line: InLine
    place: int
    after: bool

    def __contains__(self, row: object) -> bool:
        at = 0 if self.after else 1
        return row in self.line and isinstance(row, tuple) and row[at] == self.line.elements[self.place]

    def __iter__(self) -> Iterator[Row]:
        elements, own = self.line.elements, self.line.elements[self.place]
        if self.after:
            return ((own, each) for each in itertools.islice(elements, self.place + 1, None))
        return ((each, own) for each in itertools.islice(elements, self.place))

    def __len__(self) -> int:
        return len(self.line.elements) - self.place - 1 if self.after else self.place


@dataclass(frozen=True)
class Instance:
    """One finite instance of a protocol under one threat model."""

    elements: Mapping[str, Row]  #: names of the elements of each uninterpreted sort.
    #: for each rigid relation, the rows for which it holds; a relation that is absent is empty.
    relations: Mapping[str, Set[Row]] = field(default_factory=dict)
    #: for each rigid function or constant, its value at each row (the empty row for a constant).
    functions: Mapping[str, Mapping[Row, str]] = field(default_factory=dict)
    #: for a mutable variable or function without an initial value, its first values; by default the first element of
    #: its sort.
    first: Mapping[str, Mapping[Row, str]] = field(default_factory=dict)
    #: for an action and one of its parameters, the elements that it may draw or choose, in order; by default all. A
    #: pool that is only a part of the sort is printed with every verdict.
    pools: Mapping[tuple[str, str], Row] = field(default_factory=dict)
    budget: int | None = None  #: the most active adversary moves, at most :data:`MOST_MOVES`; ``None`` is no bound.
    describes: str = ""  #: the author's words about the size; they are printed as such, together with the actual sizes.

    def __post_init__(self) -> None:
        require_fields(self, "Instance", elements={str: tuple}, relations={str: Set}, functions={str: Mapping})
        require_fields(self, "Instance", first={str: Mapping}, pools={tuple: tuple}, budget=int | None, describes=str)
        for key in self.pools:
            if len(key) != len(("action", "parameter")):
                raise MisuseError(f"Instance: a pool is of an action and one of its parameters, not of {key!r}")

    @property
    def sizes(self) -> dict[str, int]:
        """The number of elements of each uninterpreted sort."""
        return {sort: len(names) for sort, names in self.elements.items()}

    @property
    def words(self) -> str:
        """The sizes in words, with the author's description."""
        return in_words(self.sizes, self.describes)

    def of(self, sort: Sort) -> Row:
        """Return the elements of ``sort``; the members, for an enumeration."""
        if sort.members is not None:
            return sort.members
        try:
            return self.elements[sort.name]
        except KeyError:
            raise SpecificationError(f"the instance has no elements of sort {sort.name}") from None

    def check(self, protocol: Protocol) -> None:
        """Refuse an instance that names unknown elements, or leaves a rigid function undefined.

        Symbols that the protocol lacks are ignored: a family gives one instance to all its designs.

        Raises SpecificationError if the instance is refused; the message says why.
        """
        if self.budget is not None and not 0 <= self.budget <= MOST_MOVES:
            raise SpecificationError(
                f"a budget is between 0 and {MOST_MOVES} active adversary moves, not {self.budget}"
            )
        self._check_elements(protocol)
        rigid = {symbol.name: symbol for symbol in protocol.symbols if not symbol.mutable}
        for name, rows in [*self.relations.items(), *((n, frozenset(v)) for n, v in self.functions.items())]:
            if name not in rigid:
                continue
            each = zip(rows.elements, rows.elements, strict=True) if isinstance(rows, InLine) else rows
            self._check_rows(name, each, rigid[name].domain)
        for name, symbol in rigid.items():
            if symbol.is_relation:
                continue
            table = self.functions.get(name)
            if table is None:
                raise SpecificationError(f"the instance gives no value to {name}")
            self._check_rows(name, ((value,) for value in table.values()), (symbol.result,))
        self._check_first(protocol)
        for (action, parameter), pool in self.pools.items():
            for candidate in protocol.actions:
                for var in candidate.params:
                    if candidate.name == action and var.name == parameter:
                        self._check_rows(f"the pool of {action}", ((element,) for element in pool), (var.sort,))
                        _refuse_repeated(f"the pool of {action}", pool)

    def _check_first(self, protocol: Protocol) -> None:
        given = {initial.symbol.name for initial in protocol.initial}
        free = {s.name: s for s in protocol.symbols if s.mutable and not s.is_relation and s.name not in given}
        for name, table in self.first.items():
            if name not in free:
                asked = did_you_mean(name, free)
                raise SpecificationError(
                    f"the instance gives a first value to '{name}', which has one in the protocol or never changes"
                    f"{asked and '; ' + asked}"
                )
            self._check_rows(name, table, free[name].domain)
            self._check_rows(name, ((value,) for value in table.values()), (free[name].result,))

    def _check_elements(self, protocol: Protocol) -> None:
        strange = set(self.elements) - {sort.name for sort in protocol.sorts}
        for sort in protocol.sorts:
            misspelt = "" if sort.is_enumeration or sort.name in self.elements else nearest(sort.name, strange)
            if misspelt:
                raise SpecificationError(f"the instance has no sort '{misspelt}'; did you mean '{sort.name}'?")
            elements = self.of(sort)
            if not elements:
                raise SpecificationError(f"sort {sort.name} is empty, and logic has no empty sorts: give it an element")
            for element in elements:
                if not isinstance(element, str):
                    raise SpecificationError(f"sort {sort.name}: an element is a string, not {element!r}")
            _refuse_repeated(f"sort {sort.name}", elements)

    def _check_rows(self, name: str, rows: Iterable[Row], sorts: tuple[Sort, ...]) -> None:
        members: dict[Sort, frozenset[str]] = {}
        for row in rows:
            if not isinstance(row, tuple):
                raise SpecificationError(f"{name}: a row is a tuple of element names, as ('a',), not {row!r}")
            if len(row) != len(sorts):
                raise SpecificationError(f"{name} takes {len(sorts)} arguments, and the instance gives {row}")
            members = members or {sort: frozenset(self.of(sort)) for sort in sorts}
            for element, sort in zip(row, sorts, strict=True):
                if element not in members[sort]:
                    asked = did_you_mean(element, self.of(sort))
                    told = f"{name}: '{element}' is no element of sort {sort.name}"
                    raise SpecificationError(f"{told}{asked and '; ' + asked}")


def _refuse_repeated(what: str, elements: Row) -> None:
    if len(set(elements)) != len(elements):
        raise SpecificationError(f"{what} names an element twice: {', '.join(elements)}")


def in_words(sizes: Mapping[str, int], authors_words: str) -> str:
    """Return the number of elements of each sort in words; the author's description is marked as such."""
    counted = " · ".join(f"{number} {sort}" for sort, number in sizes.items())
    said = f'author: "{authors_words}"' if authors_words else ""
    return f"{counted} ({said})" if counted and said else counted or said
