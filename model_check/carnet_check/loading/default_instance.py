"""A finite instance for a protocol that comes without one, so that a first draft can be checked.

Every sort gets its named constants and two elements beside them. Rigid symbols are given values that the axioms
allow, chosen so that the instance is interesting: public relations hold wherever they may, a truth about one element
(who is corrupt) holds of the last one only, and functions spread over their range.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import product
from typing import Any

from carnet_check.errors import UsageError
from carnet_check.loading.extent import refuse_choices, refuse_sizes
from carnet_spec.language import Axiom, Instance, Kind, Protocol, Row, Scale, Sort, Symbol
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

BESIDE_CONSTANTS = 2
EACH = "each"
"""The name in a scale that stands for every sort: how many elements beside its constants."""


def default_instance(protocol: Protocol, threat: str, scale: Scale) -> Instance:
    """Build an instance of ``protocol`` in which its axioms and those of ``threat`` hold.

    Raises:
        UsageError: the scale names no sort of the protocol, or no instance of that size satisfies the axioms.
    """
    elements = elements_of(protocol, scale)
    axioms = [*protocol.axioms]
    for model in protocol.threats:
        if model.id == threat:
            axioms += model.axioms
    refuse_choices(protocol, Instance(elements), [axiom.formula for axiom in axioms])
    relations, functions = _Assignment(protocol, elements).solve(axioms)
    return Instance(elements, relations, functions)


def sizes_of(instance: Instance) -> str:
    """Say how many elements each sort has, for an instance that nobody describes."""
    return " · ".join(f"{len(names)} {sort}" for sort, names in instance.elements.items())


def elements_of(protocol: Protocol, scale: Scale) -> dict[str, Row]:
    """Return the elements of each sort: its constants, and as many beside them as the scale says.

    Raises:
        UsageError: the scale names no sort of the protocol.
    """
    refuse_sizes(scale)
    sorts = [sort for sort in protocol.sorts if not sort.is_enumeration]
    known = {sort.name for sort in sorts}
    for name in scale:
        if name not in known and name != EACH:
            raise UsageError(
                f"'{protocol.id}' has no size '{name}'; the sizes of a protocol without instances of "
                f"its own are its sorts: {', '.join(sorted(known)) or 'none'}"
            )
    found = {}
    for sort in sorts:
        constants = [s.name for s in protocol.symbols if _is_constant(s) and s.result == sort]
        beside = scale.get(EACH, BESIDE_CONSTANTS)
        count = scale.get(sort.name, len(constants) + beside)
        numbered = (f"{sort.name.lower()}{number}" for number in itertools.count(1))
        others = (name for name in numbered if name not in constants)
        found[sort.name] = tuple(itertools.islice(itertools.chain(constants, others), count))
    return found


def _is_constant(symbol: Symbol) -> bool:
    return not symbol.mutable and not symbol.domain and not symbol.is_relation


@dataclass(frozen=True, slots=True)
class _Choice:
    """One thing to decide: whether a relation holds of a row, or that a function has a value there."""

    symbol: Symbol
    row: Row
    value: str | None = None


class _Assignment:
    """Values of the rigid symbols over finite sorts, as Boolean unknowns of a solver."""

    def __init__(self, protocol: Protocol, elements: Mapping[str, Row]) -> None:
        import z3

        self._z3: Any = z3
        self._context = z3.Context()
        self._true = z3.BoolVal(True, self._context)
        self._false = z3.BoolVal(False, self._context)
        self._elements = elements
        self._protocol = protocol
        self._rigid = [symbol for symbol in protocol.symbols if not symbol.mutable]
        self._unknowns = {choice: z3.Bool(f"c{number}", self._context) for number, choice in enumerate(self._choices())}

    def solve(self, axioms: list[Axiom]) -> tuple[dict[str, frozenset[Row]], dict[str, dict[Row, str]]]:
        """Decide everything, in order, by preference where the axioms leave a choice."""
        solver = self._z3.SolverFor("QF_FD", ctx=self._context)
        for axiom in axioms:
            solver.add(self._formula(axiom.formula, {}))
        for symbol in self._rigid:
            for row in () if symbol.is_relation else self._rows(symbol):
                values = [self._unknowns[_Choice(symbol, row, v)] for v in self._of(symbol.result)]
                solver.add(self._z3.PbEq([(value, 1) for value in values], 1))
        if solver.check() != self._z3.sat:
            sizes = ", ".join(f"{len(names)} {sort}" for sort, names in self._elements.items())
            raise UsageError(
                f"no instance of '{self._protocol.id}' with {sizes} satisfies the axioms; "
                "try other sizes with --set SORT=N; if they contradict each other, an engine of `carnet verify` that "
                "proves can say so"
            )
        decided = {choice: self._decide(solver, choice) for choice in self._in_order()}
        return _tables(self._rigid, decided)

    def _decide(self, solver: Any, choice: _Choice) -> bool:
        unknown = self._unknowns[choice]
        wished = choice.value is not None or self._wished(choice)
        literal = unknown if wished else self._z3.Not(unknown)
        possible = bool(solver.check(literal) == self._z3.sat)
        solver.add(literal if possible else self._z3.Not(literal))
        return wished == possible

    def _wished(self, choice: _Choice) -> bool:
        symbol = choice.symbol
        if symbol.kind is not Kind.TRUTH:
            return True
        return len(symbol.domain) == 1 and choice.row[0] == self._of(symbol.domain[0])[-1]

    def _choices(self) -> Iterator[_Choice]:
        for symbol in self._rigid:
            for row in self._rows(symbol):
                if symbol.is_relation:
                    yield _Choice(symbol, row)
                else:
                    yield from (_Choice(symbol, row, value) for value in self._of(symbol.result))

    def _in_order(self) -> Iterator[_Choice]:
        """Yield functions before relations, and of a function's values the preferred one first."""
        for symbol in self._rigid:
            if symbol.is_relation:
                continue
            constants = [s.name for s in self._rigid if _is_constant(s) and s.result == symbol.result]
            values = self._of(symbol.result)
            if symbol.domain:
                values = tuple(sorted(values, key=lambda value: value in constants))
            for number, row in enumerate(self._rows(symbol)):
                first = constants.index(symbol.name) if not symbol.domain else number
                turned = [values[(first + i) % len(values)] for i in range(len(values))]
                yield from (_Choice(symbol, row, value) for value in turned)
        for symbol in self._rigid:
            if symbol.is_relation:
                yield from (_Choice(symbol, row) for row in self._rows(symbol))

    def _of(self, sort: Sort) -> Row:
        return sort.members if sort.members is not None else self._elements[sort.name]

    def _rows(self, symbol: Symbol) -> Iterator[Row]:
        return product(*(self._of(sort) for sort in symbol.domain))

    # -- formulas over the unknowns ---------------------------------------------------------------

    def _formula(self, term: Term, env: Mapping[Var, str]) -> Any:
        z3 = self._z3
        match term:
            case Truth(value):
                return self._true if value else self._false
            case Not(body):
                return z3.Not(self._formula(body, env))
            case And(parts):
                return z3.And(*(self._formula(part, env) for part in parts), self._true)
            case Or(parts):
                return z3.Or(*(self._formula(part, env) for part in parts), self._false)
            case Implies(premise, conclusion):
                return z3.Implies(self._formula(premise, env), self._formula(conclusion, env))
            case Forall(bound, body):
                return z3.And(*self._instances(bound, body, env), self._true)
            case Exists(bound, body):
                return z3.Or(*self._instances(bound, body, env), self._false)
            case Equal(left, right):
                return self._any(
                    z3.And(one, other)
                    for value, one in self._value(left, env)
                    for twin, other in self._value(right, env)
                    if value == twin
                )
            case Apply(symbol, args) if symbol.is_relation:
                return self._any(
                    z3.And(when, self._unknowns[_Choice(symbol, row)]) for row, when in self._arguments(args, env)
                )
            case _:
                raise UsageError(f"an axiom cannot be read: {term!r}")

    def _value(self, term: Term, env: Mapping[Var, str]) -> Iterator[tuple[str, Any]]:
        """Yield each value that ``term`` may have and when it has it."""
        match term:
            case Var():
                yield env[term], self._true
            case Member(_, name):
                yield name, self._true
            case Apply(symbol, args):
                for row, when in self._arguments(args, env):
                    for value in self._of(symbol.result):
                        unknown = self._unknowns[_Choice(symbol, row, value)]
                        yield value, self._z3.And(when, unknown)
            case IfThenElse(test, then, otherwise):
                holds = self._formula(test, env)
                for value, when in self._value(then, env):
                    yield value, self._z3.And(holds, when)
                for value, when in self._value(otherwise, env):
                    yield value, self._z3.And(self._z3.Not(holds), when)
            case _:
                raise UsageError(f"an axiom cannot be read: {term!r}")

    def _arguments(self, args: tuple[Term, ...], env: Mapping[Var, str]) -> Iterator[tuple[Row, Any]]:
        for combination in product(*(tuple(self._value(arg, env)) for arg in args)):
            row = tuple(value for value, _ in combination)
            yield row, self._z3.And(*(when for _, when in combination), self._true)

    def _instances(self, bound: tuple[Var, ...], body: Term, env: Mapping[Var, str]) -> Iterator[Any]:
        for row in product(*(self._of(var.sort) for var in bound)):
            yield self._formula(body, {**env, **dict(zip(bound, row, strict=True))})

    def _any(self, parts: Iterator[Any]) -> Any:
        return self._z3.Or(*parts, self._false)


def _tables(
    rigid: list[Symbol], decided: Mapping[_Choice, bool]
) -> tuple[dict[str, frozenset[Row]], dict[str, dict[Row, str]]]:
    relations = {}
    functions: dict[str, dict[Row, str]] = {}
    for symbol in rigid:
        held = [choice for choice, holds in decided.items() if holds and choice.symbol == symbol]
        if symbol.is_relation:
            relations[symbol.name] = frozenset(choice.row for choice in held)
        else:
            functions[symbol.name] = {c.row: c.value for c in held if c.value is not None}
    return relations, functions
