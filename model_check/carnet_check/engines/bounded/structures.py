"""Finite structures and the runs in them, as the solver gives them: plain values that leave a worker process."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from carnet_check.engines.bounded.unrolling import Option
from carnet_check.exports.smtlib import member_name, sort_name
from carnet_spec.language import Instance, Row, Sort, Symbol
from carnet_spec.language.terms import Member
from carnet_spec.trace import TraceStep


@dataclass(frozen=True, slots=True)
class Wanted:
    """What is read of a model.

    Attributes:
        sorts: the sorts whose elements are open.
        rigid: the symbols that never change, by their names in the text.
        first: what has any value at first, by the names that the text has for the first state.
    """

    sorts: tuple[Sort, ...]
    rigid: tuple[tuple[str, Symbol], ...]
    first: tuple[tuple[str, Symbol], ...]


@dataclass(frozen=True, slots=True)
class Found:
    """A structure, and a run in it."""

    instance: Instance
    steps: tuple[TraceStep, ...]


def read(model: Any, wanted: Wanted, options: Sequence[Sequence[Option]]) -> Found:
    """Return the structure of ``model``, and of the ``options`` of each step the one that is taken."""
    return _Reading(model, wanted).found(options)


class _Reading:
    """One model; what it says nothing of may be anything, so it is false or the first element."""

    def __init__(self, model: Any, wanted: Wanted) -> None:
        self._model = model
        self._wanted = wanted
        self._given = {str(each.name()): each for each in model.decls()}
        self._universes = {sort: self._universe(sort) for sort in wanted.sorts}
        self._names = self._named()

    def found(self, options: Sequence[Sequence[Option]]) -> Found:
        rigid = self._wanted.rigid
        elements = {sort.name: tuple(self._names[sort].values()) for sort in self._wanted.sorts}
        instance = Instance(
            elements=elements,
            relations={symbol.name: self._rows(name, symbol) for name, symbol in rigid if symbol.is_relation},
            functions={symbol.name: self._table(name, symbol) for name, symbol in rigid if not symbol.is_relation},
            first={symbol.name: self._table(name, symbol) for name, symbol in self._wanted.first},
        )
        return Found(instance, tuple(map(self._step, options)))

    def _step(self, options: Sequence[Option]) -> TraceStep:
        option = next(each for each in options if self._is_true(self._value(each.chosen)))
        args = ((name, self._name(sort, self._value(constant))) for name, sort, constant in option.args)
        return TraceStep(option.action, option.by, tuple(args))

    # -- elements ----------------------------------------------------------------------------------

    def _universe(self, sort: Sort) -> list[Any]:
        """Return the elements of a sort; ``None`` is the one that a model need not mention."""
        places = (each for each in self._model.sorts() if str(each.name()) == sort_name(sort))
        return next((sorted(self._model.get_universe(place), key=str) for place in places), [None])

    def _named(self) -> dict[Sort, dict[str, str]]:
        """Name each element by a constant that equals it, if there is one."""
        taken: set[str] = set()
        names: dict[Sort, dict[str, str]] = {}
        for sort, universe in self._universes.items():
            constants = [
                (n, s) for n, s in self._wanted.rigid if not s.domain and s.result == sort and n in self._given
            ]
            called = {str(self._value(name)): symbol.name for name, symbol in reversed(constants)}
            names[sort] = {}
            for number, element in enumerate(universe):
                name = called.get(str(element), f"{sort.name.lower()}{number}")
                while name in taken:
                    name += "'"
                taken.add(name)
                names[sort][str(element)] = name
        return names

    def _name(self, sort: Sort, value: Any) -> str:
        if sort.members is None:
            return self._names[sort].get(str(value)) or next(iter(self._names[sort].values()))
        named = {member_name(Member(sort, member)): member for member in sort.members}
        return sort.members[0] if value is None else named[str(value.decl().name())]

    def _elements(self, sort: Sort, place: Any) -> list[tuple[str, Any]]:
        if sort.members is None:
            return [(self._names[sort][str(element)], element) for element in self._universes[sort]]
        members = [place.constructor(number)() for number in range(place.num_constructors())]
        return [(self._name(sort, member), member) for member in members]

    # -- values ------------------------------------------------------------------------------------

    def _rows(self, name: str, symbol: Symbol) -> frozenset[Row]:
        if name not in self._given:
            return frozenset()
        return frozenset(row for row, value in self._cells(name, symbol) if self._is_true(value))

    def _table(self, name: str, symbol: Symbol) -> Mapping[Row, str]:
        if name not in self._given:
            value = self._name(symbol.result, None)
            return dict.fromkeys(itertools.product(*map(self._of, symbol.domain)), value)
        return {row: self._name(symbol.result, value) for row, value in self._cells(name, symbol)}

    def _of(self, sort: Sort) -> Row:
        return sort.members if sort.members is not None else tuple(self._names[sort].values())

    def _cells(self, name: str, symbol: Symbol) -> Iterator[tuple[Row, Any]]:
        """Yield each row of a symbol with its value."""
        decl = self._given[name]
        places = [self._elements(sort, decl.domain(place)) for place, sort in enumerate(symbol.domain)]
        for cell in itertools.product(*places):
            yield tuple(named for named, _ in cell), self._evaluated(decl(*(element for _, element in cell)))

    def _value(self, constant: str) -> Any:
        """Return the value of a constant, or nothing where any will do."""
        return self._evaluated(self._given[constant]()) if constant in self._given else None

    def _evaluated(self, term: Any) -> Any:
        return self._model.eval(term, model_completion=True)

    def _is_true(self, value: Any) -> bool:
        import z3

        return value is not None and z3.is_true(value)
