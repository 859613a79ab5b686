"""States, and the value of a term in a state, by a function that is compiled once for the term."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any

from carnet_spec.language import Instance, Row, Symbol, Term, terms

# -- States: the value of everything that changes --------------------------------------------------

#: The element chosen for each parameter or bound variable, by name; an inner one hides an outer one.
Env = Mapping[str, str]

Relation = frozenset[Row]
Function = Mapping[Row, str]


def _fixed(table: Function) -> Function:
    return table if isinstance(table, MappingProxyType) else MappingProxyType(dict(table))


class State:
    """The value of every mutable symbol, and the part of the adversary's budget that is spent.

    States are immutable, compare by value and hash.
    """

    __slots__ = ("_functions", "_hash", "_relations", "_spent")

    def __init__(self, relations: Mapping[str, Relation], functions: Mapping[str, Function], spent: int = 0) -> None:
        self._relations = MappingProxyType(dict(relations))
        self._functions = MappingProxyType({name: _fixed(table) for name, table in functions.items()})
        self._spent = spent
        self._hash: int | None = None

    @property
    def relations(self) -> Mapping[str, Relation]:
        """The rows for which each relation holds."""
        return self._relations

    @property
    def functions(self) -> Mapping[str, Function]:
        """The value of each function at each row; a variable is a function with the empty row only."""
        return self._functions

    @property
    def spent(self) -> int:
        """The sum of the costs of the actions taken, if a budget bounds it."""
        return self._spent

    def with_values(self, relations: Mapping[str, Relation], functions: Mapping[str, Function], cost: int = 0) -> State:
        """Return this state with new values of some symbols, and with ``cost`` more spent."""
        after = State.__new__(State)
        after._relations = MappingProxyType({**self._relations, **relations}) if relations else self._relations
        fixed = {name: _fixed(table) for name, table in functions.items()}
        after._functions = MappingProxyType({**self._functions, **fixed}) if fixed else self._functions
        after._spent = self._spent + cost
        after._hash = None
        return after

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, State)
            and self._spent == other._spent
            and self._relations == other._relations
            and self._functions == other._functions
        )

    def __hash__(self) -> int:
        if self._hash is None:
            tables = ((name, frozenset(table.items())) for name, table in self._functions.items())
            self._hash = hash((frozenset(self._relations.items()), frozenset(tables), self._spent))
        return self._hash

    def __repr__(self) -> str:
        facts = [f"{name}({', '.join(row)})" for name, rows in self._relations.items() for row in sorted(rows)]
        values = [
            f"{name}({', '.join(row)})={value}" if row else f"{name}={value}"
            for name, table in self._functions.items()
            for row, value in sorted(table.items())
        ]
        return f"State({', '.join([*values, *facts, f'spent={self._spent}'])})"


# --------------------------------------------------------------------------------------------------
# The value of a term in a state, by a function that is compiled once for the term.

Value = Callable[[State, Env], Any]  #: Returns the value of a term in a state: an element, or the truth of a formula.
Part = tuple[Value, bool]  #: A part of a formula, and the truth value that it has to have.


KEPT = 2  #: The most evaluations that are kept for later interpreters of their instances.
_evaluations: list[Evaluation] = []
FOUND = 256  #: The most results of formulas in states that an evaluation caches.


def evaluation_of(instance: Instance) -> Evaluation:
    """Return the evaluation over an instance; those of the latest instances are kept.

    The search of an instance and the judge of what it found compile the same terms.
    """
    found = next((each for each in _evaluations if each.instance is instance), None) or Evaluation(instance)
    _evaluations[:] = [found, *(each for each in _evaluations if each is not found)][:KEPT]
    return found


class Evaluation:
    """Terms and formulas over the elements and rigid facts of one instance.

    An empty conjunction is true and an empty disjunction is false. Likewise, over a sort without elements, a *for all*
    is true and a *there is* is false.
    """

    def __init__(self, instance: Instance) -> None:
        self.instance = instance
        self._made: dict[int, tuple[Term, Value]] = {}
        self._listed: dict[tuple[int, tuple[terms.Var, ...], bool], tuple[Term, list[list[Part]]]] = {}
        self._found: dict[tuple[int, tuple[terms.Var, ...], bool, State], Env | None] = {}

    def value(self, term: Term, state: State, env: Env) -> str | bool:
        """Return the element that is the value of a term, or the truth of a formula.

        ``env`` has an element for each free variable.
        """
        found: str | bool = self.function(term)(state, env)
        return found

    def function(self, term: Term) -> Value:
        """Return the compiled function of a term, cached by the term's identity; the cache keeps the term alive.

        Functions of quantified formulas are not cached: closing a formula over its parameters makes a new term each
        time.
        """
        if isinstance(term, terms.Forall | terms.Exists):
            return self._make(term)
        known = self._made.get(id(term))
        if known is None:
            known = self._made[id(term)] = (term, self._make(term))
        return known[1]

    def _make(self, term: Term) -> Value:
        return _MAKERS[type(term)](self, term)

    def assignments(self, variables: Sequence[terms.Var]) -> Iterator[dict[str, str]]:
        """Yield every assignment of elements to ``variables``; the last variable changes fastest."""
        names = [var.name for var in variables]
        for row in itertools.product(*(self.instance.of(var.sort) for var in variables)):
            yield dict(zip(names, row, strict=True))

    def rows(self, symbol: Symbol) -> Iterator[Row]:
        """Yield every row of arguments of ``symbol``."""
        return itertools.product(*(self.instance.of(sort) for sort in symbol.domain))

    def first(
        self, variables: Sequence[terms.Var], body: Term, state: State, env: Env | None = None, *, wanted: bool
    ) -> Env | None:
        """Return ``env`` with the first choice of elements that gives a formula the truth value ``wanted``, or None.

        Elements are chosen one by one; the last variable changes fastest. Parts that the formula needs for the wanted
        value are evaluated as soon as their variables are chosen. Without ``env``, the last results are cached by the
        identity of the formula and the value of the state: a search and the judge of its traces ask the same.
        """
        if env is not None:
            return self._chosen(variables, body, state, env, wanted)
        asked = id(body), tuple(variables), wanted, state
        if asked not in self._found:
            if len(self._found) >= FOUND:
                self._found.clear()
            self._found[asked] = self._chosen(variables, body, state, {}, wanted)
        return self._found[asked]

    def _chosen(
        self, variables: Sequence[terms.Var], body: Term, state: State, env: Env, wanted: bool
    ) -> dict[str, str] | None:
        parts = self._parts(tuple(variables), body, wanted)
        choices = [(var.name, self.instance.of(var.sort)) for var in variables]
        chosen = {**env}

        def choose(position: int) -> bool:
            for part, truth in parts[position]:
                if (not part(state, chosen)) is truth:
                    return False
            if position == len(choices):
                return True
            name, elements = choices[position]
            for element in elements:
                chosen[name] = element
                if choose(position + 1):
                    return True
            return False

        return chosen if choose(0) else None

    def _parts(self, variables: tuple[terms.Var, ...], body: Term, wanted: bool) -> list[list[Part]]:
        """Return the parts with required truth values, by the number of variables that must be chosen to evaluate them.

        The result is cached by the identity of the formula, which the cache keeps alive: comparing two formulas would
        take as long as listing their parts.
        """
        known = self._listed.get((id(body), variables, wanted))
        if known is None:
            parts: list[list[Part]] = [[] for _ in range(len(variables) + 1)]
            for part, truth in _needed_parts(body, wanted):
                names = {var.name for var in terms.free_variables(part)}
                last = [position for position, var in enumerate(variables, 1) if var.name in names]
                parts[max(last, default=0)].append((self.function(part), truth))
            known = self._listed[id(body), variables, wanted] = (body, parts)
        return known[1]


# -- How each kind of term is compiled -------------------------------------------------------------


def _make_applied(evaluation: Evaluation, term: terms.Apply) -> Value:
    name, row, instance = term.symbol.name, _row([evaluation.function(arg) for arg in term.args]), evaluation.instance
    if term.symbol.is_relation:
        held = instance.relations.get(name, frozenset())
        if term.symbol.mutable:
            return lambda state, env: row(state, env) in state.relations.get(name, ())
        return lambda state, env: row(state, env) in held
    if term.symbol.mutable:
        return lambda state, env: state.functions[name][row(state, env)]
    return lambda state, env: instance.functions[name][row(state, env)]


def _make_var(_: Evaluation, term: terms.Var) -> Value:
    name = term.name
    return lambda _, env: env[name]


def _make_member(_: Evaluation, term: terms.Member) -> Value:
    name = term.name
    return lambda _state, _env: name


def _make_truth(_: Evaluation, term: terms.Truth) -> Value:
    value = term.value
    return lambda _state, _env: value


def _make_equal(evaluation: Evaluation, term: terms.Equal) -> Value:
    one, other = evaluation.function(term.left), evaluation.function(term.right)
    return lambda state, env: one(state, env) == other(state, env)


def _make_not(evaluation: Evaluation, term: terms.Not) -> Value:
    inner = evaluation.function(term.body)
    return lambda state, env: not inner(state, env)


def _make_and(evaluation: Evaluation, term: terms.And) -> Value:
    conjuncts = [evaluation.function(part) for part in term.parts]
    return lambda state, env: all(part(state, env) for part in conjuncts)


def _make_or(evaluation: Evaluation, term: terms.Or) -> Value:
    disjuncts = [evaluation.function(part) for part in term.parts]
    return lambda state, env: any(part(state, env) for part in disjuncts)


def _make_implies(evaluation: Evaluation, term: terms.Implies) -> Value:
    condition, consequence = evaluation.function(term.premise), evaluation.function(term.conclusion)
    return lambda state, env: not condition(state, env) or consequence(state, env)


def _make_choice(evaluation: Evaluation, term: terms.IfThenElse) -> Value:
    test, then, otherwise = map(evaluation.function, (term.test, term.then, term.otherwise))
    return lambda state, env: then(state, env) if test(state, env) else otherwise(state, env)


def _make_forall(evaluation: Evaluation, term: terms.Forall) -> Value:
    bound, body = term.bound, term.body
    return lambda state, env: evaluation.first(bound, body, state, env, wanted=False) is None


def _make_exists(evaluation: Evaluation, term: terms.Exists) -> Value:
    bound, body = term.bound, term.body
    return lambda state, env: evaluation.first(bound, body, state, env, wanted=True) is not None


_MAKERS: Mapping[type, Callable[[Evaluation, Any], Value]] = {
    terms.Apply: _make_applied,
    terms.Var: _make_var,
    terms.Member: _make_member,
    terms.Truth: _make_truth,
    terms.Equal: _make_equal,
    terms.Not: _make_not,
    terms.And: _make_and,
    terms.Or: _make_or,
    terms.Implies: _make_implies,
    terms.IfThenElse: _make_choice,
    terms.Forall: _make_forall,
    terms.Exists: _make_exists,
}


def _row(args: Sequence[Value]) -> Callable[[State, Env], Row]:
    """Return the function for a row of arguments; those of one and of two, which are most, need no list."""
    match args:
        case [one]:
            return lambda state, env: (one(state, env),)
        case [one, other]:
            return lambda state, env: (one(state, env), other(state, env))
        case _:
            return lambda state, env: tuple([arg(state, env) for arg in args])


def _needed_parts(term: Term, wanted: bool) -> Iterator[tuple[Term, bool]]:
    """Yield parts with truth values that are together equivalent to a formula's having the truth value ``wanted``."""
    match term:
        case terms.Not(body):
            yield from _needed_parts(body, not wanted)
        case terms.And(parts) if wanted:
            for part in parts:
                yield from _needed_parts(part, True)
        case terms.Or(parts) if not wanted:
            for part in parts:
                yield from _needed_parts(part, False)
        case terms.Implies(premise, conclusion) if not wanted:
            yield from _needed_parts(premise, True)
            yield from _needed_parts(conclusion, False)
        case _:
            yield term, wanted
