"""Finite structures: one state with the rigid facts around it, as the solver gave them.

What is true in a structure is for the interpreter to say. The constants that the prover made stand for parameters, so
they never get there: :meth:`Structure.chosen` reads them as the arguments of a step or of an invariant.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

from carnet_check.made import Purpose, stand_in
from carnet_check.semantics import Env, State
from carnet_spec.language import Instance, Protocol, Row, Sort, Symbol
from carnet_spec.language.terms import Var


@dataclass(frozen=True)
class Structure:
    """Elements of each sort and a value of each symbol at each row of elements.

    A symbol that is not mentioned may have any value: as a relation it holds nowhere, as a function it is the first
    element of its sort everywhere.

    Attributes:
        elements: names of the elements of each uninterpreted sort, by the sort's name.
        relations: the rows at which each relation holds.
        functions: the value of each function, variable or constant at each row.
    """

    elements: Mapping[str, Row]
    relations: Mapping[Symbol, frozenset[Row]]
    functions: Mapping[Symbol, Mapping[Row, str]]

    def of(self, sort: Sort) -> Row:
        """Return the elements of ``sort``."""
        return sort.members if sort.members is not None else self.elements[sort.name]

    def rows(self, symbol: Symbol) -> Iterator[Row]:
        """Yield every row of arguments of ``symbol``."""
        return itertools.product(*(self.of(sort) for sort in symbol.domain))

    def table(self, symbol: Symbol) -> Mapping[Row, str]:
        """Return the value of a function at each row."""
        found = self.functions.get(symbol)
        return dict.fromkeys(self.rows(symbol), self.of(symbol.result)[0]) if found is None else found

    def chosen(self, purpose: Purpose, params: Iterable[Var]) -> Env:
        """Return the elements that the constants made for ``params`` stand for."""
        return {param.name: self.table(stand_in(purpose, param).symbol)[()] for param in params}

    def instance(self, protocol: Protocol) -> Instance:
        """Return the elements and rigid facts as an instance; functions without a first value start as they are here.

        No update is left out and no draw is narrowed: the instance has neither pools nor a budget.
        """
        given = {initial.symbol for initial in protocol.initial}
        functions = [symbol for symbol in protocol.symbols if not symbol.is_relation]
        return Instance(
            elements=self.elements,
            relations={symbol.name: rows for symbol, rows in self.relations.items() if _is_rigid(symbol, protocol)},
            functions={symbol.name: self.table(symbol) for symbol in functions if not symbol.mutable},
            first={symbol.name: self.table(symbol) for symbol in functions if symbol.mutable and symbol not in given},
        )

    def state(self, protocol: Protocol) -> State:
        """Return the values of everything that changes as a state."""
        changing = [symbol for symbol in protocol.symbols if symbol.mutable]
        return State(
            {symbol.name: self.relations.get(symbol, frozenset()) for symbol in changing if symbol.is_relation},
            {symbol.name: self.table(symbol) for symbol in changing if not symbol.is_relation},
        )

    def moved(self, state: State) -> Structure:
        """Return the structure with the values of what changes taken from ``state``."""
        relations = {s: state.relations[s.name] if s.mutable else rows for s, rows in self.relations.items()}
        functions = {s: state.functions[s.name] if s.mutable else table for s, table in self.functions.items()}
        return replace(self, relations=relations, functions=functions)


def _is_rigid(symbol: Symbol, protocol: Protocol) -> bool:
    return not symbol.mutable and symbol in protocol.symbols
