"""What tells elements apart in a protocol on an instance, as facts that a permutation has to keep.

* A formula **names** an element: it is told from all others. So is one that stands in for a constant.
* What **never changes** holds of some elements and not of others. A strict order has no two elements alike.
* The **first state** says something of some.
* An action may **choose** some only, or **draws** unused ones in the order in which its pool has them.
* What **matters** is a place of some, and no place of others.

Everything else that a step is made of says the same of all elements of a sort: variables, quantifiers, and the order in
which updates are written. What nothing reads tells nothing apart.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from functools import cached_property

from carnet_check.engines.explicit.layout import Table
from carnet_check.engines.explicit.relevance import Relevance
from carnet_check.engines.explicit.symmetry.interchange import Element, Fact
from carnet_spec.language import Action, GuardKind, InLine, Instance, Row, Sort, Symbol, Term, Update
from carnet_spec.language.terms import Apply, IfThenElse, Member, subterms


@dataclass(frozen=True)
class Explored:
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
        """The rows of each symbol that matter."""
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
            yield from self._mattering(name, table.symbol)

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

    def _mattering(self, name: str, symbol: Symbol) -> Iterator[Fact]:
        for number, pattern in enumerate(self.relevance.patterns(name)):
            for position, (sort, allowed) in enumerate(zip(symbol.domain, pattern, strict=True)):
                for element in allowed or ():
                    yield ("matters", name, number, position), _elements((sort,), (element,))


def _terms(action: Action, updates: Iterable[Update]) -> Iterator[Term]:
    """Yield what decides about a step and what it does; what is drawn is looked at as a choice."""
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
