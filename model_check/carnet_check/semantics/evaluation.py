"""Evaluation: what a term stands for in a state, by recursion over its shape."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence

from carnet_check.semantics.state import Env, State
from carnet_spec.language import Instance, Row, Symbol, Term
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
    Truth,
    Var,
)


class Evaluation:
    """Terms and formulas over the elements and rigid facts of one instance.

    A conjunction of nothing is true and a disjunction of nothing is false; so is what holds for all, or for some,
    elements of a sort that has none.
    """

    def __init__(self, instance: Instance) -> None:
        self.instance = instance

    def value(self, term: Term, state: State, env: Env) -> str | bool:
        """Return the element that a term stands for, or whether a formula is true.

        ``env`` names an element for each variable that is free in it.
        """
        match term:
            case Var():
                return env[term.name]
            case Member(_, name):
                return name
            case Truth(value):
                return value
            case Apply(symbol, args):
                row = tuple(str(self.value(arg, state, env)) for arg in args)
                return self._at(symbol, row, state)
            case Equal(left, right):
                return self.value(left, state, env) == self.value(right, state, env)
            case Not(body):
                return not self.value(body, state, env)
            case And(parts):
                return all(self.value(part, state, env) for part in parts)
            case Or(parts):
                return any(self.value(part, state, env) for part in parts)
            case Implies(premise, conclusion):
                return not self.value(premise, state, env) or self.value(conclusion, state, env)
            case IfThenElse(test, then, otherwise):
                return self.value(then if self.value(test, state, env) else otherwise, state, env)
            case Forall(bound, body):
                return all(self.value(body, state, {**env, **more}) for more in self.assignments(bound))
            case Exists(bound, body):
                return any(self.value(body, state, {**env, **more}) for more in self.assignments(bound))

    def assignments(self, variables: Sequence[Var]) -> Iterator[dict[str, str]]:
        """Yield every way to choose elements for ``variables``, the last one changing fastest."""
        names = [var.name for var in variables]
        for row in itertools.product(*(self.instance.of(var.sort) for var in variables)):
            yield dict(zip(names, row, strict=True))

    def rows(self, symbol: Symbol) -> Iterator[Row]:
        """Yield every row of arguments of ``symbol``."""
        return itertools.product(*(self.instance.of(sort) for sort in symbol.domain))

    def first(self, variables: Sequence[Var], body: Term, state: State, *, wanted: bool) -> Env | None:
        """Return the first choice of elements for which a formula is as ``wanted``, or nothing."""
        for env in self.assignments(variables):
            if bool(self.value(body, state, env)) is wanted:
                return env
        return None

    def _at(self, symbol: Symbol, row: Row, state: State) -> str | bool:
        if symbol.is_relation:
            held = state.relations if symbol.mutable else self.instance.relations
            return row in held.get(symbol.name, frozenset())
        tables = state.functions if symbol.mutable else self.instance.functions
        return tables[symbol.name][row]
