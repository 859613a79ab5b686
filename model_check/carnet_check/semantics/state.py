"""States: the value of everything that changes."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from carnet_spec.language import Row

Env = Mapping[str, str]
"""The element chosen for each parameter or bound variable, by name; an inner one hides an outer one."""

Relation = frozenset[Row]
Function = Mapping[Row, str]


def _fixed(table: Function) -> Function:
    """Return a function that nobody can change."""
    return table if isinstance(table, MappingProxyType) else MappingProxyType(dict(table))


class State:
    """The value of every mutable symbol, and what the adversary has spent of its budget.

    States are immutable, compare by value and hash.
    """

    __slots__ = ("_functions", "_hash", "_relations", "_spent")

    def __init__(self, relations: Mapping[str, Relation], functions: Mapping[str, Function], spent: int = 0) -> None:
        self._relations = MappingProxyType(dict(relations))
        self._functions = MappingProxyType({name: _fixed(table) for name, table in functions.items()})
        self._spent = spent
        tables = ((name, frozenset(table.items())) for name, table in self._functions.items())
        self._hash = hash((frozenset(self._relations.items()), frozenset(tables), spent))

    @property
    def relations(self) -> Mapping[str, Relation]:
        """The rows for which each relation holds."""
        return self._relations

    @property
    def functions(self) -> Mapping[str, Function]:
        """The value of each function at each row; a variable has the empty row only."""
        return self._functions

    @property
    def spent(self) -> int:
        """The sum of the costs of the actions taken, where a budget bounds it."""
        return self._spent

    def changed(self, relations: Mapping[str, Relation], functions: Mapping[str, Function], cost: int = 0) -> State:
        """Return this state with some symbols replaced, and ``cost`` more spent."""
        return State({**self._relations, **relations}, {**self._functions, **functions}, self._spent + cost)

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, State)
            and self._hash == other._hash
            and self._spent == other._spent
            and self._relations == other._relations
            and self._functions == other._functions
        )

    def __hash__(self) -> int:
        return self._hash

    def __repr__(self) -> str:
        facts = [f"{name}({', '.join(row)})" for name, rows in self._relations.items() for row in sorted(rows)]
        values = [
            f"{name}({', '.join(row)})={value}" if row else f"{name}={value}"
            for name, table in self._functions.items()
            for row, value in sorted(table.items())
        ]
        return f"State({', '.join([*values, *facts, f'spent={self._spent}'])})"
