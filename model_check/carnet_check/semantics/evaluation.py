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
    free_variables,
)

Part = tuple[Term, bool]
"""A part of a formula, and whether it has to be true or false."""


class Evaluation:
    """Terms and formulas over the elements and rigid facts of one instance.

    A conjunction of nothing is true and a disjunction of nothing is false; so is what holds for all, or for some,
    elements of a sort that has none.
    """

    def __init__(self, instance: Instance) -> None:
        self.instance = instance
        self._listed: dict[tuple[int, tuple[Var, ...], bool], tuple[Term, list[list[Part]]]] = {}

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
                return self.first(bound, body, state, env, wanted=False) is None
            case Exists(bound, body):
                return self.first(bound, body, state, env, wanted=True) is not None

    def assignments(self, variables: Sequence[Var]) -> Iterator[dict[str, str]]:
        """Yield every way to choose elements for ``variables``, the last one changing fastest."""
        names = [var.name for var in variables]
        for row in itertools.product(*(self.instance.of(var.sort) for var in variables)):
            yield dict(zip(names, row, strict=True))

    def rows(self, symbol: Symbol) -> Iterator[Row]:
        """Yield every row of arguments of ``symbol``."""
        return itertools.product(*(self.instance.of(sort) for sort in symbol.domain))

    def first(
        self, variables: Sequence[Var], body: Term, state: State, env: Env | None = None, *, wanted: bool
    ) -> Env | None:
        """Return ``env`` with the first choice of elements for which a formula is as ``wanted``, or nothing.

        Elements are chosen one by one, the last one changing fastest. What has to be so for the formula to be as
        wanted is looked at as soon as its variables are chosen.
        """
        parts = self._parts(tuple(variables), body, wanted)

        def choose(position: int, chosen: Env) -> Env | None:
            if not all(bool(self.value(part, state, chosen)) is truth for part, truth in parts[position]):
                return None
            if position == len(variables):
                return chosen
            var = variables[position]
            further = (choose(position + 1, {**chosen, var.name: each}) for each in self.instance.of(var.sort))
            return next((found for found in further if found is not None), None)

        return choose(0, env or {})

    def _parts(self, variables: tuple[Var, ...], body: Term, wanted: bool) -> list[list[Part]]:
        """List what must be true, or false, by the number of variables that must be chosen to look at it.

        What was listed is kept by the identity of the formula, which is kept with it: to compare two formulas takes
        as long as to list their parts.
        """
        known = self._listed.get((id(body), variables, wanted))
        if known is None:
            parts: list[list[Part]] = [[] for _ in range(len(variables) + 1)]
            for part, truth in _needed(body, wanted):
                names = {var.name for var in free_variables(part)}
                last = [position for position, var in enumerate(variables, 1) if var.name in names]
                parts[max(last, default=0)].append((part, truth))
            known = self._listed[id(body), variables, wanted] = (body, parts)
        return known[1]

    def _at(self, symbol: Symbol, row: Row, state: State) -> str | bool:
        if symbol.is_relation:
            held = state.relations if symbol.mutable else self.instance.relations
            return row in held.get(symbol.name, frozenset())
        tables = state.functions if symbol.mutable else self.instance.functions
        return tables[symbol.name][row]


def _needed(term: Term, wanted: bool) -> Iterator[Part]:
    """Yield parts which, all together, are what makes a formula true, or false, as ``wanted``."""
    match term:
        case Not(body):
            yield from _needed(body, not wanted)
        case And(parts) if wanted:
            for part in parts:
                yield from _needed(part, True)
        case Or(parts) if not wanted:
            for part in parts:
                yield from _needed(part, False)
        case Implies(premise, conclusion) if not wanted:
            yield from _needed(premise, True)
            yield from _needed(conclusion, False)
        case _:
            yield term, wanted
