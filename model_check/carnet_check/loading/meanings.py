"""Every interpretation of rigid symbols, and every choice of first values, that the axioms allow, up to isomorphism.

The axioms seldom determine the rigid symbols: two constants may be equal or not, any party may be corrupt. A variable
or function without an initial value may begin with any value. Where the checker makes the instances, all of these are
explored: one interpretation of each isomorphism class, which is called a kind.

Symbols are decided one after the other. Tables of a symbol that a renaming of elements maps to each other are
represented by one of them; only renamings that preserve the tables decided before are used. So each kind is generated
exactly once. A relation of several elements is represented by the table that holds for the earliest ones, so a linear
order is that of the numbers in their names; every other symbol is represented by its smallest table.
"""

import itertools
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from carnet_check.errors import UsageError
from carnet_check.loading.default_instance import EACH, elements_of, is_constant
from carnet_check.loading.families import Source, axiom_violations
from carnet_check.semantics import Interpreter
from carnet_check.semantics.evaluation import Evaluation, State
from carnet_spec.language import Axiom, Instance, Profile, Protocol, Row, Scale, Sort, Symbol, Threat
from carnet_spec.language.terms import symbols_of, variables_in

MOST_TABLES = 1 << 16  #: The most tables of one symbol that are enumerated.
MOST_LOOKED_AT = 100_000  #: The most tables of all symbols together that are enumerated.
MOST_RENAMED = 6  #: The most elements of a sort that are renamed.
#: The most renamings that are tried; if there are more, some kinds are generated more than once.
MOST_RENAMINGS = 5_000

Table = tuple[int, ...]  #: The value of a symbol at each row, in order: the number of an element, or 0 and 1.
Tables = tuple[Table, ...]  #: A table of each symbol, in the order in which they are decided.
Renaming = Mapping[Sort, Table]
#: The effect of a renaming on a table: the row from which each row gets its value, and the new name of each value.
Effect = tuple[Table, Table]


class TooManyTables(Exception):
    """The symbols have more possible values (tables) than may be enumerated."""


def some_meaning(
    protocol: Protocol, axioms: Sequence[Axiom], elements: Mapping[str, Row], most: int
) -> Instance | None:
    """Return an instance that satisfies the axioms, or None if there is none with these elements.

    Raises TooManyTables if more than ``most`` tables were enumerated, or some symbol has too many.
    """
    meanings = Meanings(protocol, axioms, elements, (), most)
    return next(map(meanings.instance, meanings.any()), None)


def first_values(protocol: Protocol, instance: Instance, free: Sequence[Symbol]) -> Iterator[Instance]:
    """Yield ``instance`` with every choice of first values for the symbols in ``free``; elements keep their names.

    Raises TooManyTables if some symbol has too many tables.
    """
    tables = [list(_tables(symbol, _Sizes(protocol, instance.elements))) for symbol in free]
    for chosen in itertools.product(*tables):
        first = {symbol.name: _by_names(symbol, table, instance) for symbol, table in zip(free, chosen, strict=True)}
        yield replace(instance, first=first)


@dataclass(frozen=True)
class _Sizes:
    """The number of elements of each sort, and the position of a row in the table of a symbol."""

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
        raise TooManyTables(f"{symbol.name} has {values}^{rows} meanings")
    return itertools.product(range(values), repeat=rows)


def _by_names(symbol: Symbol, table: Table, instance: Instance) -> dict[Row, str]:
    """Return a table with the names of elements; for a relation, only the rows for which it holds."""
    rows = itertools.product(*(instance.of(sort) for sort in symbol.domain))
    if symbol.is_relation:
        return {row: "true" for row, value in zip(rows, table, strict=True) if value}
    return {row: instance.of(symbol.result)[value] for row, value in zip(rows, table, strict=True)}


class Meanings:
    """The interpretations of the rigid symbols over given elements, and the first values of the free symbols."""

    def __init__(
        self,
        protocol: Protocol,
        axioms: Sequence[Axiom],
        elements: Mapping[str, Row],
        free: Sequence[Symbol],
        most: int = MOST_LOOKED_AT,
    ) -> None:
        rigid = [symbol for symbol in protocol.symbols if not symbol.mutable]
        #: the symbols, in the order in which they are decided.
        self.symbols = sorted(rigid, key=lambda symbol: (symbol.is_relation, len(symbol.domain))) + list(free)
        self._left = most
        self._sizes = _Sizes(protocol, elements)
        self._elements = elements
        self._judge = _Judge(axioms, self.symbols, elements)
        self._possible: dict[int, list[Table]] = {}

    def each_kind(self) -> Iterator[Tables]:
        """Yield one interpretation of each kind. Raises TooManyTables if too many tables were enumerated."""
        return self._from_the_first(list(itertools.islice(self._renamings(), MOST_RENAMINGS)))

    def any(self) -> Iterator[Tables]:
        """Yield all interpretations, including those that only differ in the names of elements."""
        return self._from_the_first([])

    def instance(self, decided: Tables) -> Instance:
        """Return the instance of an interpretation; elements have the names of constants that denote them."""
        tables = dict(zip(self.symbols, decided, strict=True))
        plain = Instance(self._element_names(tables))
        written = {symbol: _by_names(symbol, table, plain) for symbol, table in tables.items()}
        return replace(
            plain,
            relations={s.name: frozenset(rows) for s, rows in written.items() if s.is_relation},
            functions={s.name: rows for s, rows in written.items() if not s.is_relation and not s.mutable},
            first={s.name: rows for s, rows in written.items() if s.mutable},
        )

    def tables_of(self, instance: Instance) -> Tables:
        """Return the interpretation of an instance over the same elements."""
        return tuple(self._table(symbol, instance) for symbol in self.symbols)

    def _table(self, symbol: Symbol, instance: Instance) -> Table:
        rows = itertools.product(*(instance.of(sort) for sort in symbol.domain))
        if symbol.is_relation:
            held = instance.relations.get(symbol.name, frozenset())
            return tuple(int(row in held) for row in rows)
        values = instance.of(symbol.result)
        table = (instance.first if symbol.mutable else instance.functions).get(symbol.name, {})
        return tuple(values.index(table.get(row, values[0])) for row in rows)

    def _renamings(self) -> Iterator[Renaming]:
        """Yield every way to rename elements; members of enumerations keep their names."""
        sorts = [sort for sort in self._sizes.protocol.sorts if not sort.is_enumeration]
        for chosen in itertools.product(*(_permutations(self._sizes.of(sort)) for sort in sorts)):
            yield dict(zip(sorts, chosen, strict=True))

    def _from_the_first(self, renamings: list[Renaming]) -> Iterator[Tables]:
        return self._decide((), renamings) if self._judge.allows_the_sizes else iter(())

    def _decide(self, decided: Tables, renamings: list[Renaming]) -> Iterator[Tables]:
        place = len(decided)
        if place == len(self.symbols):
            yield decided
            return
        symbol = self.symbols[place]
        effects: dict[Effect, list[Renaming]] = {}
        for renaming in renamings:
            effects.setdefault(self._effect(symbol, renaming), []).append(renaming)
        sign = -1 if symbol.is_relation and len(symbol.domain) > 1 else 1
        for table in self._tables(place):
            keeping = _keeping(table, effects, sign)
            if keeping is not None and self._judge.allows(place, table):
                yield from self._decide((*decided, table), keeping)

    def _tables(self, place: int) -> Iterator[Table]:
        """Yield the tables of a symbol that satisfy the axioms about it alone; the result is cached."""
        if place in self._possible:
            for table in self._possible[place]:
                self._look()
                yield table
            return
        found = []
        for table in _tables(self.symbols[place], self._sizes):
            self._look()
            if self._judge.allows_alone(place, table):
                found.append(table)
                yield table
        self._possible[place] = found

    def _look(self) -> None:
        """Count an enumerated table; raise TooManyTables if there are too many."""
        self._left -= 1
        if self._left < 0:
            raise TooManyTables("no more tables may be looked at")

    def _effect(self, symbol: Symbol, renaming: Renaming) -> Effect:
        rows = self._sizes.rows(symbol)
        moved = {
            tuple(_moved(sort, each, renaming) for sort, each in zip(symbol.domain, row, strict=True)): source
            for source, row in enumerate(rows)
        }
        values = range(self._sizes.values(symbol))
        new = values if symbol.is_relation else (_moved(symbol.result, value, renaming) for value in values)
        return tuple(moved[row] for row in rows), tuple(new)

    def _element_names(self, tables: Mapping[Symbol, Table]) -> dict[str, Row]:
        """Name each element by the first constant that denotes it, or by a number."""
        found = {}
        for sort, row in self._elements.items():
            constants = {s.name: t[0] for s, t in tables.items() if is_constant(s) and s.result.name == sort}
            names = {at: name for name, at in reversed(constants.items())}
            numbered = (f"{sort.lower()}{number}" for number in itertools.count(1))
            others = (name for name in numbered if name not in names.values())
            found[sort] = tuple(names.get(at) or next(others) for at in range(len(row)))
        return found


class _Judge:
    """Evaluates axioms over tables that it receives one after the other; all share one evaluation."""

    def __init__(self, axioms: Sequence[Axiom], symbols: Sequence[Symbol], elements: Mapping[str, Row]) -> None:
        self._symbols = symbols
        self._held: dict[str, set[Row]] = {s.name: set() for s in symbols if s.is_relation}
        self._values: dict[str, dict[Row, str]] = {s.name: {} for s in symbols if not s.is_relation}
        self._instance = Instance(elements, self._held, self._values)
        self._evaluation = Evaluation(self._instance)
        self._nothing = State({}, {})
        self._alone: dict[int, list[Axiom]] = {}
        self._due: dict[int, list[Axiom]] = {}
        unbound = []
        for axiom in axioms:
            places = sorted(symbols.index(symbol) for symbol in symbols_of(axiom.formula))
            if places:
                when = self._alone if len(places) == 1 else self._due
                when.setdefault(places[-1], []).append(axiom)
            else:
                unbound.append(axiom)
        self.allows_the_sizes = self._hold(unbound)

    def allows_alone(self, place: int, table: Table) -> bool:
        """Whether the axioms about one symbol alone hold if this is its table."""
        axioms = self._alone.get(place, [])
        if axioms:
            self._write(self._symbols[place], table)
        return self._hold(axioms)

    def allows(self, place: int, table: Table) -> bool:
        """Store a table; return whether the axioms about its symbol and those decided before hold."""
        self._write(self._symbols[place], table)
        return self._hold(self._due.get(place, []))

    def _hold(self, axioms: Iterable[Axiom]) -> bool:
        return all(self._evaluation.value(axiom.formula, self._nothing, {}) for axiom in axioms)

    def _write(self, symbol: Symbol, table: Table) -> None:
        if symbol.mutable:  # a first value, which no axiom mentions
            return
        rows = itertools.product(*(self._instance.of(sort) for sort in symbol.domain))
        if symbol.is_relation:
            self._held[symbol.name].clear()
            self._held[symbol.name].update(row for row, value in zip(rows, table, strict=True) if value)
        else:
            names = self._instance.of(symbol.result)
            self._values[symbol.name].update((row, names[value]) for row, value in zip(rows, table, strict=True))


def _keeping(table: Table, effects: Mapping[Effect, list[Renaming]], sign: int) -> list[Renaming] | None:
    """Return the renamings that preserve a table; None if one results in a smaller one, or, if negative, a greater."""
    keeping: list[Renaming] = []
    for (sources, values), renamings in effects.items():
        change = sign * next(
            (new - old for old, source in zip(table, sources, strict=True) if (new := values[table[source]]) != old), 0
        )
        if change < 0:
            return None
        if change == 0:
            keeping += renamings
    return keeping


def _permutations(size: int) -> Iterable[Table]:
    """Return every permutation of ``size`` elements, or only the identity if these are too many."""
    return itertools.permutations(range(size)) if size <= MOST_RENAMED else (tuple(range(size)),)


def _moved(sort: Sort, element: int, renaming: Renaming) -> int:
    return renaming[sort][element] if sort in renaming else element


# --------------------------------------------------------------------------------------------------
# Whether the axioms have a model: from contradictory axioms anything follows. No solver is used.
#
# The instance that a family gives is a model if it satisfies the axioms. Otherwise structures of a few elements are
# tried, by the interpreter and within a bound. If none is found, that does not mean that there is none.

#: The numbers of elements that are tried for every sort; then the number of constants, and one more than that.
ELEMENTS = (1, 2, 3)
#: How many choices are tried in which sorts have different numbers of elements, those with few elements first.
MOST_SCALES = 200
MOST_TRIED = 5_000  #: The most tables that are enumerated for structures of one size.


def has_model(source: Source, protocol: Protocol, threat: Threat, profile: Profile) -> bool:
    """Whether a model of the axioms and those of a threat model is known: the family's instance, or a small one."""
    return _is_given(source, protocol, threat, profile) or _is_small(protocol, threat)


def _is_given(source: Source, protocol: Protocol, threat: Threat, profile: Profile) -> bool:
    if source.instances_are_made:
        return False
    try:
        instance = source.instance(protocol, threat.id, profile)
    except UsageError:
        return False
    return not axiom_violations(Interpreter(protocol, instance), threat)


def _is_small(protocol: Protocol, threat: Threat) -> bool:
    axioms = (*protocol.axioms, *threat.axioms)
    # Symbols that the axioms do not mention may have any interpretation, and sorts any number of elements
    read = frozenset().union(*(symbols_of(axiom.formula) for axiom in axioms))
    symbols = tuple(symbol for symbol in protocol.symbols if symbol in read)
    of_symbols = {sort for symbol in symbols for sort in (*symbol.domain, symbol.result)}
    of_variables = {variable.sort for axiom in axioms for variable in variables_in(axiom.formula)}
    spoken = replace(
        protocol,
        sorts=tuple(sort for sort in protocol.sorts if sort in of_symbols | of_variables),
        symbols=symbols,
        actions=(),
        initial=(),
        claims=(),
        lemmas=(),
        goals=(),
        liveness=(),
        threats=(),
    )
    return any(_satisfied(spoken, axioms, scale) for scale in _scales(spoken))


def _scales(protocol: Protocol) -> Iterator[Scale]:
    names = [sort.name for sort in protocol.sorts if not sort.is_enumeration]
    for count in ELEMENTS:
        yield dict.fromkeys(names, count)
    for beside in (0, 1):
        yield {EACH: beside}
    for counts in itertools.islice(_different(len(names)), MOST_SCALES):
        yield dict(zip(names, counts, strict=True))


def _different(sorts: int) -> Iterator[Sequence[int]]:
    """Yield every choice of numbers of elements that are not all the same, those with the smallest sum first."""
    for more in range(sorts * (max(ELEMENTS) - 1)):
        for larger in itertools.combinations_with_replacement(range(sorts), more):
            counts = [1 + larger.count(sort) for sort in range(sorts)]
            if len({*counts}) > 1 and max(counts) in ELEMENTS:
                yield counts


def _satisfied(protocol: Protocol, axioms: Sequence[Axiom], scale: Scale) -> bool:
    """Whether some structure of a size satisfies the axioms; each is evaluated again in the finished structure."""
    elements = elements_of(protocol, scale)
    if not all(elements.values()):
        return False
    try:
        found = some_meaning(protocol, axioms, elements, MOST_TRIED)
    except TooManyTables:
        return False
    return found is not None and not Interpreter(protocol, found).violated_axioms(axioms)
