"""Every meaning that an instance leaves open: what never changes, and what begins anywhere.

Axioms say what rigid symbols may mean, and seldom leave one meaning only: constants may be one element or two, anybody
may be corrupt. A variable or function without an initial value may begin with anything. An instance that the checker
makes by itself stands for all of these together, so each is explored, one of each kind that differs in more than the
names of elements.

Symbols are decided one after the other. Of the tables that a symbol may have, one is kept for all that a renaming of
elements turns into it, where only such renamings count as leave alone what was decided before. So each kind comes
exactly once.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from carnet_check.semantics import Interpreter
from carnet_spec.language import Axiom, Instance, Protocol, Row, Sort, Symbol
from carnet_spec.language.terms import symbols_of

MOST_TABLES = 1 << 12
"""How many tables of one symbol are looked at."""
MOST_RENAMED = 6
"""How many elements of a sort are renamed."""
MOST_RENAMINGS = 5_000
"""How many renamings are tried; with fewer than there are, some kinds come more than once."""

Table = tuple[int, ...]
"""The value of a symbol at each row, in order: the number of an element, or 0 and 1."""
Renaming = Mapping[Sort, Table]


class TooMany(Exception):
    """There are more meanings than can be looked at."""


def every_meaning(
    protocol: Protocol, axioms: Sequence[Axiom], elements: Mapping[str, Row], free: Sequence[Symbol]
) -> Iterator[Instance]:
    """Yield an instance for each meaning of the rigid symbols that the axioms allow, and of what is ``free`` at first.

    Raises:
        TooMany: some symbol has too many tables.
    """
    return _Search(protocol, axioms, elements, free).instances()


def some_meaning(
    protocol: Protocol, axioms: Sequence[Axiom], elements: Mapping[str, Row], most: int
) -> Instance | None:
    """Return an instance that the axioms allow, or nothing if there is none with these elements.

    Raises:
        TooMany: some symbol has too many tables, or ``most`` were looked at.
    """
    return next(_Search(protocol, axioms, elements, (), most).any(), None)


def first_values(protocol: Protocol, instance: Instance, free: Sequence[Symbol]) -> Iterator[Instance]:
    """Yield ``instance`` with every choice of first values for the symbols in ``free``, none of them renamed.

    Raises:
        TooMany: some symbol has too many tables.
    """
    tables = [list(_tables(symbol, _Sizes(protocol, instance.elements))) for symbol in free]
    for chosen in itertools.product(*tables):
        first = {symbol.name: _written(symbol, table, instance) for symbol, table in zip(free, chosen, strict=True)}
        yield replace(instance, first=first)


@dataclass(frozen=True)
class _Sizes:
    """How many elements each sort has, and where a row of a symbol stands in its table."""

    protocol: Protocol
    elements: Mapping[str, Row]

    def of(self, sort: Sort) -> int:
        return len(sort.members) if sort.members is not None else len(self.elements[sort.name])

    def rows(self, symbol: Symbol) -> list[Table]:
        return list(itertools.product(*(range(self.of(sort)) for sort in symbol.domain)))

    def values(self, symbol: Symbol) -> int:
        return 2 if symbol.is_relation else self.of(symbol.result)


def _tables(symbol: Symbol, sizes: _Sizes) -> Iterator[Table]:
    rows, values = math.prod(sizes.of(sort) for sort in symbol.domain), sizes.values(symbol)
    if rows * math.log2(max(values, 1)) > math.log2(MOST_TABLES):
        raise TooMany(f"{symbol.name} has {values}^{rows} meanings")
    return itertools.product(range(values), repeat=rows)


def _written(symbol: Symbol, table: Table, instance: Instance) -> dict[Row, str]:
    rows = itertools.product(*(instance.of(sort) for sort in symbol.domain))
    return {row: instance.of(symbol.result)[value] for row, value in zip(rows, table, strict=True)}


class _Search:
    def __init__(
        self,
        protocol: Protocol,
        axioms: Sequence[Axiom],
        elements: Mapping[str, Row],
        free: Sequence[Symbol],
        most: float = math.inf,
    ) -> None:
        self.left = most
        rigid = [symbol for symbol in protocol.symbols if not symbol.mutable]
        self.symbols = sorted(rigid, key=lambda symbol: (symbol.is_relation, len(symbol.domain))) + list(free)
        self.sizes = _Sizes(protocol, elements)
        self.elements = elements
        self.bare = replace(protocol, actions=(), initial=(), claims=(), lemmas=(), goals=(), liveness=())
        self.due = _due(axioms, self.symbols)

    def instances(self) -> Iterator[Instance]:
        return self._decide(0, (), list(itertools.islice(self._renamings(), MOST_RENAMINGS)))

    def any(self) -> Iterator[Instance]:
        """Yield instances of all kinds, none of them left out for another that differs in names alone."""
        return self._decide(0, (), list(itertools.islice(self._renamings(), 1)))

    def _renamings(self) -> Iterator[Renaming]:
        """Yield every way to rename elements, the identity first; members of enumerations keep their names."""
        sorts = [sort for sort in self.sizes.protocol.sorts if not sort.is_enumeration]
        for chosen in itertools.product(*(_permutations(self.sizes.of(sort)) for sort in sorts)):
            yield dict(zip(sorts, chosen, strict=True))

    def _decide(self, place: int, decided: tuple[Table, ...], renamings: list[Renaming]) -> Iterator[Instance]:
        if place == len(self.symbols):
            yield self._instance(decided)
            return
        symbol = self.symbols[place]
        rows = self.sizes.rows(symbol)
        for table in _tables(symbol, self.sizes):
            self._look()
            images = [self._renamed(symbol, rows, table, renaming) for renaming in renamings]
            if min(images) == table and self._allowed(place, (*decided, table)):
                keeping = [renaming for renaming, image in zip(renamings, images, strict=True) if image == table]
                yield from self._decide(place + 1, (*decided, table), keeping)

    def _look(self) -> None:
        """Count a table that is looked at."""
        self.left -= 1
        if self.left < 0:
            raise TooMany("no more tables may be looked at")

    def _renamed(self, symbol: Symbol, rows: list[Table], table: Table, renaming: Renaming) -> Table:
        new = dict.fromkeys(rows, 0)
        for row, value in zip(rows, table, strict=True):
            at = tuple(_moved(sort, each, renaming) for sort, each in zip(symbol.domain, row, strict=True))
            new[at] = value if symbol.is_relation else _moved(symbol.result, value, renaming)
        return tuple(new[row] for row in rows)

    def _allowed(self, place: int, decided: tuple[Table, ...]) -> bool:
        """Whether the axioms hold that speak of what is decided, the last of them first decided here."""
        due = self.due[place]
        if not due:
            return True
        known = tuple(symbol for symbol in self.symbols[: place + 1] if not symbol.mutable)
        rigid = replace(self._instance(decided), first={})
        return not Interpreter(replace(self.bare, symbols=known), rigid).violated(due)

    def _instance(self, decided: tuple[Table, ...]) -> Instance:
        tables = dict(zip(self.symbols, decided, strict=False))
        plain = Instance(self._named(tables))
        relations = {
            symbol.name: frozenset(row for row, value in _held(symbol, table, plain) if value)
            for symbol, table in tables.items()
            if symbol.is_relation
        }
        functions = {s.name: _written(s, table, plain) for s, table in tables.items() if not s.is_relation}
        first = {s.name: functions.pop(s.name) for s in tables if s.mutable}
        return replace(plain, relations=relations, functions=functions, first=first)

    def _named(self, tables: Mapping[Symbol, Table]) -> dict[str, Row]:
        """Name each element by the first constant that stands for it, or by a number."""
        found = {}
        for sort, row in self.elements.items():
            constants = {s.name: t[0] for s, t in tables.items() if _is_constant(s) and s.result.name == sort}
            names = {at: name for name, at in reversed(constants.items())}
            numbered = (f"{sort.lower()}{number}" for number in itertools.count(1))
            others = (name for name in numbered if name not in names.values())
            found[sort] = tuple(names.get(at) or next(others) for at in range(len(row)))
        return found


def _permutations(size: int) -> Iterable[Table]:
    """Return every order of so many elements, or, where these are too many, the one that changes nothing."""
    return itertools.permutations(range(size)) if size <= MOST_RENAMED else (tuple(range(size)),)


def _is_constant(symbol: Symbol) -> bool:
    return not symbol.mutable and not symbol.domain and not symbol.is_relation


def _moved(sort: Sort, element: int, renaming: Renaming) -> int:
    return renaming[sort][element] if sort in renaming else element


def _held(symbol: Symbol, table: Table, instance: Instance) -> Iterator[tuple[Row, int]]:
    rows = itertools.product(*(instance.of(sort) for sort in symbol.domain))
    return zip(rows, table, strict=True)


def _due(axioms: Sequence[Axiom], symbols: Sequence[Symbol]) -> list[list[Axiom]]:
    """Return, for each symbol, the axioms that can be judged once it is decided."""
    due: list[list[Axiom]] = [[] for _ in symbols]
    for axiom in axioms:
        places = [symbols.index(symbol) for symbol in symbols_of(axiom.formula)]
        if symbols:
            due[max(places, default=0)].append(axiom)
    return due
