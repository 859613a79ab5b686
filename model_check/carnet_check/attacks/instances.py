"""The instance that an attack was found in, as plain JSON values, so that it can be replayed in that very one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from typing import Any

from carnet_spec.language import Instance, Protocol, Row, SpecificationError

Rows = Sequence[Sequence[str]]
Structure = Mapping[str, Mapping[str, Sequence[Any]]]
"""The ``elements`` of each sort, and the rows of rigid ``relations``, of rigid ``functions`` and of ``first`` values.

A row of a function ends with its value.
"""


def structure_of(instance: Instance, protocol: Protocol) -> dict[str, dict[str, Any]]:
    """Return the elements of an instance and what it says of the symbols of ``protocol``."""
    rigid = [symbol for symbol in protocol.symbols if not symbol.mutable]
    relations = {
        symbol.name: instance.relations.get(symbol.name, frozenset()) for symbol in rigid if symbol.is_relation
    }
    functions = {symbol.name: instance.functions[symbol.name] for symbol in rigid if not symbol.is_relation}
    return {
        "elements": {sort: list(names) for sort, names in instance.elements.items()},
        "relations": {name: _listed(rows) for name, rows in relations.items()},
        "functions": {name: _valued(table) for name, table in functions.items()},
        "first": {name: _valued(table) for name, table in instance.first.items()},
    }


def instance_of(structure: Structure, budget: int | None) -> Instance:
    """Return the instance that :func:`structure_of` wrote, with the most active moves that the adversary has.

    Raises:
        SpecificationError: it is no such structure.
    """
    try:
        return Instance(
            elements={sort: tuple(names) for sort, names in structure["elements"].items()},
            relations={name: frozenset(map(tuple, rows)) for name, rows in structure["relations"].items()},
            functions={name: _table(rows) for name, rows in structure["functions"].items()},
            first={name: _table(rows) for name, rows in structure["first"].items()},
            budget=budget,
        )
    except KeyError as missing:
        raise SpecificationError(f"expected elements, relations, functions and first; {missing} is missing") from None


def require_about(structure: Structure, protocol: Protocol) -> None:
    """Insist that a structure says something of each symbol that never changes, and of nothing else.

    Raises:
        SpecificationError: it does not, so that it is an instance of another protocol.
    """
    for part, relations in (("relations", True), ("functions", False)):
        rigid = {each.name for each in protocol.symbols if not each.mutable and each.is_relation is relations}
        for name in sorted(rigid ^ structure[part].keys()):
            lacks = "says nothing of" if name in rigid else "speaks of what the protocol does not know:"
            raise SpecificationError(f"the instance that the attack was found in {lacks} '{name}'; write the test anew")


def _listed(rows: Set[Row]) -> list[list[str]]:
    return [list(row) for row in sorted(rows)]


def _valued(table: Mapping[Row, str]) -> list[list[str]]:
    return [[*row, value] for row, value in sorted(table.items())]


def _table(rows: Rows) -> dict[Row, str]:
    return {tuple(row[:-1]): row[-1] for row in rows}
