"""Grounding: from terms over variables to formulas over places, for one instance.

Rigid symbols are looked up, equalities between known elements decided, quantifiers spread over the elements. A
function at arguments that are themselves state (``gpu_key(session_gpu)``) becomes one case for each value these may
have. Variables are chosen one after another, and a choice is given up as soon as one part of what must hold is false.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from carnet_check.explicit.formulas import (
    FALSE,
    TRUE,
    Formula,
    Places,
    both,
    conjunction,
    conjuncts_of,
    disjunction,
)
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

Env = Mapping[str, str]
Case = tuple[Formula, str]
"""A value, and when a term has it; the cases of a term exclude one another and leave nothing out."""


@dataclass(frozen=True, slots=True)
class Check:
    """Something that must hold of a choice of variables, checked once all of ``variables`` are chosen."""

    variables: frozenset[str]
    formula: Callable[[Env], Formula]


Plan = list[tuple[str, list[Check]]]
"""Variables in the order they are chosen, each after the checks made before that choice; the last has no name."""


class Grounder:
    """Grounds terms by the values that are possible at the time."""

    def __init__(self, instance: Instance, places: Places) -> None:
        self.instance = instance
        self.places = places
        self._plans: dict[tuple[int, bool], tuple[Term, Plan]] = {}

    def formula(self, term: Term, env: Env, wanted: bool = True) -> Formula:
        """Ground a formula, or its negation unless ``wanted``."""
        match term:
            case Truth(value):
                return TRUE if value is wanted else FALSE
            case Apply(symbol, args):
                return self._relation(symbol, args, env, wanted)
            case Equal(left, right):
                return self._signed(self._equal(left, right, env), wanted)
            case Not(body):
                return self.formula(body, env, not wanted)
            case And(parts):
                return self._join(((part, wanted) for part in parts), env, all_of=wanted)
            case Or(parts):
                return self._join(((part, wanted) for part in parts), env, all_of=not wanted)
            case Implies(premise, conclusion):
                return self._join(((premise, not wanted), (conclusion, wanted)), env, all_of=not wanted)
            case Exists(bound, body):
                return self._signed(self._exists(bound, body, env, True), wanted)
            case Forall(bound, body):
                return self._signed(self._exists(bound, body, env, False), not wanted)
            case IfThenElse(test, then, otherwise):
                first = conjunction((self.formula(test, env), self.formula(then, env, wanted)))
                second = conjunction((self.formula(test, env, False), self.formula(otherwise, env, wanted)))
                return disjunction((first, second))
            case _:
                raise TypeError(f"{term} is no formula")

    def cases(self, term: Term, env: Env) -> list[Case]:
        """Return the values that an individual may have, each with its condition."""
        match term:
            case Var(name, _):
                return [(TRUE, env[name])]
            case Member(_, name):
                return [(TRUE, name)]
            case Apply(symbol, args) if not symbol.mutable:
                table = self.instance.functions[symbol.name]
                return [(condition, table[row]) for condition, row in self.rows(args, env)]
            case Apply(symbol, args):
                return [case for condition, row in self.rows(args, env) for case in self._at(symbol, row, condition)]
            case IfThenElse(test, then, otherwise):
                return [
                    (joined, value)
                    for branch, wanted in ((then, True), (otherwise, False))
                    for condition, value in self.cases(branch, env)
                    if (joined := conjunction((self.formula(test, env, wanted), condition))) != FALSE
                ]
            case _:
                raise TypeError(f"{term} is no individual")

    def rows(self, args: Sequence[Term], env: Env) -> list[tuple[Formula, Row]]:
        """Return the rows that arguments may amount to, each with its condition."""
        found: list[tuple[Formula, Row]] = [(TRUE, ())]
        for arg in args:
            found = [
                (joined, (*row, value))
                for condition, row in found
                for more, value in self.cases(arg, env)
                if (joined := both(condition, more)) != FALSE
            ]
        return found

    def checks(self, term: Term, wanted: bool = True) -> list[Check]:
        """Split a formula (or its negation) into parts that must all hold."""
        match term:
            case Not(body):
                return self.checks(body, not wanted)
            case And(parts) if wanted:
                return [check for part in parts for check in self.checks(part, True)]
            case Or(parts) if not wanted:
                return [check for part in parts for check in self.checks(part, False)]
            case Implies(premise, conclusion) if not wanted:
                return self.checks(premise, True) + self.checks(conclusion, False)
            case _:
                names = frozenset(var.name for var in free_variables(term))
                return [Check(names, lambda env: self.formula(term, env, wanted))]

    def solutions(
        self, domains: Mapping[str, Sequence[str]], checks: Sequence[Check], env: Env
    ) -> Iterator[tuple[Env, tuple[Formula, ...]]]:
        """Yield the choices for which no check is false, each with what remains to be tested, in order."""
        return self._choices(domains, plan(domains, checks), env)

    def _choices(
        self, domains: Mapping[str, Sequence[str]], order: Plan, env: Env
    ) -> Iterator[tuple[Env, tuple[Formula, ...]]]:
        def choose(position: int, chosen: Env, left: tuple[Formula, ...]) -> Iterator[tuple[Env, tuple[Formula, ...]]]:
            name, ready = order[position]
            for check in ready:
                more = check.formula(chosen)
                if more is TRUE:
                    continue
                formula = conjunction((*left, more))
                if formula == FALSE:
                    return
                left = conjuncts_of(formula)
            if position == len(domains):
                yield chosen, left
            else:
                for element in domains[name]:
                    yield from choose(position + 1, {**chosen, name: element}, left)

        return choose(0, env, ())

    def _exists(self, bound: Sequence[Var], body: Term, env: Env, wanted: bool) -> Formula:
        domains = {var.name: self.instance.of(var.sort) for var in bound}
        key = (id(body), wanted)
        if key not in self._plans:
            self._plans[key] = (body, plan(domains, self.checks(body, wanted)))
        found = []
        for _, left in self._choices(domains, self._plans[key][1], env):
            if not left:
                return TRUE
            found.append(conjunction(left))
        return disjunction(found)

    def _join(
        self, parts: Iterator[tuple[Term, bool]] | Sequence[tuple[Term, bool]], env: Env, *, all_of: bool
    ) -> Formula:
        found = []
        for part, wanted in parts:
            formula = self.formula(part, env, wanted)
            if formula == (FALSE if all_of else TRUE):
                return formula
            found.append(formula)
        return conjunction(found) if all_of else disjunction(found)

    def _relation(self, symbol: Symbol, args: Sequence[Term], env: Env, wanted: bool) -> Formula:
        parts = []
        for condition, row in self.rows(args, env):
            if symbol.mutable:
                fact = self.places.test(self.places.numbers[symbol.name, row], True, wanted)
            else:
                held = row in self.instance.relations.get(symbol.name, frozenset())
                fact = TRUE if held is wanted else FALSE
            parts.append(both(condition, fact))
        return parts[0] if len(parts) == 1 else disjunction(parts)

    def _equal(self, left: Term, right: Term, env: Env) -> Formula:
        return disjunction(
            conjunction((condition, other))
            for condition, value in self.cases(left, env)
            for other, same in self.cases(right, env)
            if value == same
        )

    def _at(self, symbol: Symbol, row: Row, condition: Formula) -> Iterator[Case]:
        place = self.places.numbers[symbol.name, row]
        for value in self.places.values[place]:
            joined = both(condition, self.places.test(place, value))
            if joined != FALSE:
                yield joined, str(value)

    def _signed(self, formula: Formula, wanted: bool) -> Formula:
        return formula if wanted else self.places.negation(formula)


def plan(domains: Mapping[str, Sequence[str]], checks: Sequence[Check]) -> Plan:
    """Order the variables so that checks come early: before each choice, what can be checked by then."""
    unknown = dict(domains)
    left = list(checks)
    order: Plan = []
    while True:
        ready = [check for check in left if check.variables.isdisjoint(unknown)]
        left = [check for check in left if not check.variables.isdisjoint(unknown)]
        if not unknown:
            return [*order, ("", ready)]
        name = min(unknown, key=lambda name: _delay(name, left, unknown))
        order.append((name, ready))
        del unknown[name]


def _delay(name: str, checks: Sequence[Check], unknown: Mapping[str, Sequence[str]]) -> tuple[int, int]:
    """How many choices a check waits for after this one; ties go to small sorts."""
    waiting = [len(check.variables & unknown.keys()) - 1 for check in checks if name in check.variables]
    return min(waiting, default=len(unknown)), len(unknown[name])
