"""Finite structures: one state with the rigid facts around it, and the truth of formulas in it."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

from carnet_check.engines.induction.precondition import after_updates
from carnet_spec.language import Sort, Symbol, Update
from carnet_spec.language.terms import (
    And,
    Apply,
    Equal,
    Exists,
    Forall,
    IfThenElse,
    Implies,
    Member,
    Not,
    Or,
    Term,
    Truth,
    Var,
)

Row = tuple[str, ...]
Environment = Mapping[Var, str]


@dataclass(frozen=True)
class Structure:
    """Elements of each sort and a value of each symbol at each row of elements.

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

    def element(self, term: Term, env: Environment) -> str:
        """Return the element that ``term`` stands for."""
        match term:
            case Var():
                return env[term]
            case Member(_, name):
                return name
            case Apply(symbol, args):
                return self.functions[symbol][tuple(self.element(arg, env) for arg in args)]
            case IfThenElse(test, then, otherwise):
                return self.element(then if self.holds(test, env) else otherwise, env)
            case _:
                raise TypeError(f"{term!r} stands for no element")

    def holds(self, term: Term, env: Environment | None = None) -> bool:
        """Whether the formula ``term`` is true."""
        env = env or {}
        match term:
            case Truth(value):
                return value
            case Apply(symbol, args):
                return tuple(self.element(arg, env) for arg in args) in self.relations[symbol]
            case Equal(left, right):
                return self.element(left, env) == self.element(right, env)
            case Not(body):
                return not self.holds(body, env)
            case And(parts):
                return all(self.holds(part, env) for part in parts)
            case Or(parts):
                return any(self.holds(part, env) for part in parts)
            case Implies(premise, conclusion):
                return not self.holds(premise, env) or self.holds(conclusion, env)
            case IfThenElse(test, then, otherwise):
                return self.holds(then if self.holds(test, env) else otherwise, env)
            case Forall(bound, body):
                return all(self.holds(body, inner) for inner in self._assignments(bound, env))
            case Exists(bound, body):
                return any(self.holds(body, inner) for inner in self._assignments(bound, env))
            case _:
                raise TypeError(f"{term!r} is no formula")

    def _assignments(self, bound: tuple[Var, ...], env: Environment) -> Iterator[Environment]:
        for row in itertools.product(*(self.of(var.sort) for var in bound)):
            yield {**env, **dict(zip(bound, row, strict=True))}

    def updated(self, updates: Iterable[Update]) -> Structure:
        """Return the structure after ``updates``, whose terms have no variables but those of ``each``."""
        listed = tuple(updates)
        after = after_updates(listed)
        relations, functions = dict(self.relations), dict(self.functions)
        for symbol in {update.symbol for update in listed}:
            places = tuple(Var(f"place {at}", sort) for at, sort in enumerate(symbol.domain))
            value = after(Apply(symbol, places))
            cases = [(row, dict(zip(places, row, strict=True))) for row in self.rows(symbol)]
            if symbol.is_relation:
                relations[symbol] = frozenset(row for row, env in cases if self.holds(value, env))
            else:
                functions[symbol] = {row: self.element(value, env) for row, env in cases}
        return replace(self, relations=relations, functions=functions)

    def false_parts(self, formula: Term, env: Environment) -> list[Term]:
        """Return the smallest conjuncts of ``formula`` that make it false."""
        match formula:
            case And(parts):
                return [false for part in parts for false in self.false_parts(part, env)]
            case Implies(premise, conclusion) if self.holds(premise, env):
                return self.false_parts(conclusion, env)
            case _:
                return [] if self.holds(formula, env) else [formula]
