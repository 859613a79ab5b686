"""Reading: a term, with elements for its variables, as a condition on places.

What a place can never hold is worked in, so what a formula comes to depends on what is known of that so far.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence

from carnet_check.exports.ground.conditions import Condition, Fact, Place, Value, denied, every, some
from carnet_check.semantics import Env
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

Possible = Mapping[Place, Sequence[Value]]
"""The values that each place may hold."""
Cases = list[tuple[str, Condition]]
"""The elements that a term may stand for, and when it stands for each; one of them always applies."""


class Reading:
    """Reads terms on one instance."""

    def __init__(self, instance: Instance, possible: Possible) -> None:
        self.instance = instance
        self.possible = possible

    def condition(self, term: Term, env: Env) -> Condition:
        """Return when a formula holds."""
        match term:
            case Truth(value):
                return value
            case Apply(symbol, args):
                return some(every((when, self._fact(symbol, row))) for row, when in self.rows(args, env))
            case Equal(left, right):
                return self._equal(self.cases(left, env), self.cases(right, env))
            case Not(body):
                return denied(self.condition(body, env))
            case And(parts):
                return self._every(((part, env) for part in parts), True)
            case Or(parts):
                return denied(self._every(((part, env) for part in parts), False))
            case Implies(premise, conclusion):
                before = self.condition(premise, env)
                return True if before is False else some((denied(before), self.condition(conclusion, env)))
            case Forall(bound, body):
                return self._every(((body, inner) for inner in self.assignments(bound, env)), True)
            case Exists(bound, body):
                return denied(self._every(((body, inner) for inner in self.assignments(bound, env)), False))
            case IfThenElse(test, then, otherwise):
                when = self.condition(test, env)
                first, second = self.condition(then, env), self.condition(otherwise, env)
                return some((every((when, first)), every((denied(when), second))))
            case _:
                raise TypeError(f"{term} is no formula")

    def cases(self, term: Term, env: Env) -> Cases:
        """Return the elements that a term may stand for."""
        match term:
            case Var(name):
                return [(env[name], True)]
            case Member(_, name):
                return [(name, True)]
            case Apply(symbol, args):
                found = (
                    (value, every((when, holds)))
                    for row, when in self.rows(args, env)
                    for value, holds in self._values(symbol, row)
                )
                return _joined(found)
            case IfThenElse(test, then, otherwise):
                when = self.condition(test, env)
                parts = ((then, when), (otherwise, denied(when)))
                return _joined(
                    (value, every((chosen, holds)))
                    for part, chosen in parts
                    if chosen is not False
                    for value, holds in self.cases(part, env)
                )
            case _:
                raise TypeError(f"{term} is no individual")

    def rows(self, args: Sequence[Term], env: Env) -> Iterator[tuple[Row, Condition]]:
        """Yield the rows that arguments may amount to, each with when they do."""
        for chosen in itertools.product(*(self.cases(arg, env) for arg in args)):
            when = every(holds for _, holds in chosen)
            if when is not False:
                yield tuple(element for element, _ in chosen), when

    def assignments(self, variables: Sequence[Var], env: Env) -> Iterator[Env]:
        """Yield every way to choose elements for variables, beside what is chosen already."""
        names = [var.name for var in variables]
        for row in itertools.product(*(self.instance.of(var.sort) for var in variables)):
            yield {**env, **dict(zip(names, row, strict=True))}

    def _every(self, parts: Iterable[tuple[Term, Env]], wanted: bool) -> Condition:
        """Return when all formulas hold, or, unless ``wanted``, when none does; one that decides it comes last."""
        found = []
        for term, env in parts:
            condition = self.condition(term, env)
            found.append(condition if wanted else denied(condition))
            if found[-1] is False:
                return False
        return every(found)

    def _fact(self, symbol: Symbol, row: Row) -> Condition:
        if not symbol.mutable:
            return row in self.instance.relations.get(symbol.name, frozenset())
        place = Place(symbol.name, row)
        values = self.possible[place]
        return Fact(place, True) if len(values) > 1 else values[0] is True

    def _values(self, symbol: Symbol, row: Row) -> Cases:
        if not symbol.mutable:
            return [(self.instance.functions[symbol.name][row], True)]
        place = Place(symbol.name, row)
        values = self.possible[place]
        return [(str(value), len(values) == 1 or Fact(place, value)) for value in values]

    def _equal(self, left: Cases, right: Cases) -> Condition:
        others = dict(right)
        return some(every((when, others[value])) for value, when in left if value in others)


def _joined(cases: Iterable[tuple[str, Condition]]) -> Cases:
    found: dict[str, list[Condition]] = {}
    for value, when in cases:
        if when is not False:
            found.setdefault(value, []).append(when)
    return [(value, some(whens)) for value, whens in found.items()]
