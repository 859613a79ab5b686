"""A finite instance for a protocol without instances, so that a first draft can be checked.

Every sort gets its named constants and two more elements. Rigid symbols get values that the axioms allow, chosen so
that the instance is interesting: public relations hold wherever the axioms permit, a property of one element (such as
being corrupt) holds of the last one only, and functions take different values.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

from carnet_check.errors import UsageError
from carnet_check.loading.extent import refuse_choices, refuse_sizes
from carnet_spec.language import Axiom, Instance, Kind, Protocol, Row, Scale, Sort, Symbol, terms

BESIDE_CONSTANTS = 2
EACH = "each"  #: The name in a scale for every sort: the number of elements besides the sort's constants.
MOST_DECISIONS = 200_000  #: The most queries to the solver for all drawn instances together.


def default_instance(protocol: Protocol, threat: str, scale: Scale) -> Instance:
    """Return an instance of ``protocol`` in which its axioms and those of ``threat`` hold.

    Raises UsageError if the scale names no sort of the protocol, or no instance of that size satisfies the axioms.
    """
    return next(drawn_instances(protocol, axioms_under(protocol, threat), elements_of(protocol, scale), (), 1))


def drawn_instances(
    protocol: Protocol, axioms: Sequence[Axiom], elements: Mapping[str, Row], free: Sequence[Symbol], most: int
) -> Iterator[Instance]:
    """Yield the default instance, then random ones that satisfy the axioms; every call yields the same sequence.

    The ``free`` symbols, which have no initial value, have random first values in all but the default instance. Fewer
    than ``most`` instances are yielded if one takes many decisions; an instance may be repeated.

    Raises UsageError if no instance of that size satisfies the axioms.
    """
    refuse_choices(protocol, Instance(elements), [axiom.formula for axiom in axioms])
    rigid = [symbol for symbol in protocol.symbols if not symbol.mutable]
    assignment = Assignment(protocol, elements, rigid, axioms)
    yield _instance(elements, assignment.decide(_by_default(assignment, rigid)))
    for number in range(1, min(most, MOST_DECISIONS // max(1, len(assignment.choices)))):
        chance = random.Random(number)
        drawn = _instance(elements, assignment.decide(_drawn(assignment, chance)))
        first = {s.name: {row: chance.choice(assignment.of(s.result)) for row in assignment.rows(s)} for s in free}
        yield replace(drawn, first=first)


def axioms_under(protocol: Protocol, threat: str) -> list[Axiom]:
    """Return the axioms of a protocol and of one of its threat models."""
    return [*protocol.axioms, *(axiom for model in protocol.threats if model.id == threat for axiom in model.axioms)]


def elements_of(protocol: Protocol, scale: Scale) -> dict[str, Row]:
    """Return the elements of each sort: its constants, and as many others as the scale says.

    Raises UsageError if the scale names no sort of the protocol.
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
        constants = [s.name for s in protocol.symbols if is_constant(s) and s.result == sort]
        beside = scale.get(EACH, BESIDE_CONSTANTS)
        count = scale.get(sort.name, len(constants) + beside)
        numbered = (f"{sort.name.lower()}{number}" for number in itertools.count(1))
        others = (name for name in numbered if name not in constants)
        found[sort.name] = tuple(itertools.islice(itertools.chain(constants, others), count))
    return found


def is_constant(symbol: Symbol) -> bool:
    """Whether a symbol is a rigid individual."""
    return not symbol.mutable and not symbol.domain and not symbol.is_relation


# -- preferred values -----------------------------------------------------------------------------


def _instance(elements: Mapping[str, Row], decided: Decided) -> Instance:
    return Instance(elements, relations_in(decided), functions_in(decided))


def _drawn(assignment: Assignment, chance: random.Random) -> Iterator[tuple[Choice, bool]]:
    """Yield preferences in random order: each value of a function, and a random truth of each row of a relation."""
    choices = chance.sample(assignment.choices, len(assignment.choices))
    return ((choice, choice.value is not None or chance.random() < 1 / 2) for choice in choices)


def _by_default(assignment: Assignment, rigid: Sequence[Symbol]) -> Iterator[tuple[Choice, bool]]:
    """Yield preferences for functions before those for relations, the preferred value of each function first."""
    for symbol in rigid:
        if symbol.is_relation:
            continue
        constants = [s.name for s in rigid if is_constant(s) and s.result == symbol.result]
        values = assignment.of(symbol.result)
        if symbol.domain:
            values = tuple(sorted(values, key=lambda value: value in constants))
        for number, row in enumerate(assignment.rows(symbol)):
            first = constants.index(symbol.name) if not symbol.domain else number
            turned = [values[(first + i) % len(values)] for i in range(len(values))]
            yield from ((Choice(symbol, row, value), True) for value in turned)
    for symbol in rigid:
        if symbol.is_relation:
            last = assignment.of(symbol.domain[0])[-1] if len(symbol.domain) == 1 else None
            public = symbol.kind is not Kind.TRUTH
            yield from ((Choice(symbol, row), public or row[:1] == (last,)) for row in assignment.rows(symbol))


# --------------------------------------------------------------------------------------------------
# The interpretations of rigid symbols over given elements, as Boolean unknowns of a solver.
#
# The caller gives a preference for each choice; a choice that the axioms determine ignores the preference.


@dataclass(frozen=True, slots=True)
class Choice:
    """A Boolean unknown: whether a relation holds of a row, or whether a function has a value there."""

    symbol: Symbol
    row: Row
    value: str | None = None


Decided = Mapping[Choice, bool]  #: Every choice with its truth value.


class Assignment:
    """Values of symbols over finite sorts, as Boolean unknowns of a solver that knows the axioms.

    Raises UsageError if no values satisfy the axioms.
    """

    def __init__(
        self, protocol: Protocol, elements: Mapping[str, Row], symbols: Sequence[Symbol], axioms: Iterable[Axiom]
    ) -> None:
        import z3

        self._z3: Any = z3
        self._context = z3.Context()
        self._true = z3.BoolVal(True, self._context)
        self._false = z3.BoolVal(False, self._context)
        self._elements = elements
        self._symbols = symbols
        self._unknowns = {choice: z3.Bool(f"c{number}", self._context) for number, choice in enumerate(self._choices())}
        self._solver = z3.SolverFor("QF_FD", ctx=self._context)
        for axiom in axioms:
            self._solver.add(self._formula(axiom.formula, {}))
        for symbol in self._symbols:
            for row in () if symbol.is_relation else self.rows(symbol):
                values = [self._unknowns[Choice(symbol, row, value)] for value in self.of(symbol.result)]
                self._solver.add(self._z3.PbEq([(value, 1) for value in values], 1))
        if self._solver.check() != z3.sat:
            sizes = ", ".join(f"{len(names)} {sort}" for sort, names in elements.items())
            raise UsageError(
                f"no instance of '{protocol.id}' with {sizes} satisfies the axioms; "
                "try other sizes with --set SORT=N; if they contradict each other, an engine of `carnet verify` that "
                "proves can say so"
            )

    @property
    def choices(self) -> Sequence[Choice]:
        """All choices, in order."""
        return tuple(self._unknowns)

    def decide(self, wishes: Iterable[tuple[Choice, bool]]) -> Decided:
        """Decide every choice in turn: as preferred, if the axioms and earlier decisions allow that."""
        self._solver.push()
        decided = {choice: self._decide(choice, wish) for choice, wish in wishes}
        self._solver.pop()
        return decided

    def of(self, sort: Sort) -> Row:
        """Return the elements of a sort."""
        return sort.members if sort.members is not None else self._elements[sort.name]

    def rows(self, symbol: Symbol) -> Iterator[Row]:
        """Yield every row of arguments of a symbol."""
        return product(*(self.of(sort) for sort in symbol.domain))

    def _decide(self, choice: Choice, wish: bool) -> bool:
        unknown = self._unknowns[choice]
        literal = unknown if wish else self._z3.Not(unknown)
        possible = bool(self._solver.check(literal) == self._z3.sat)
        self._solver.add(literal if possible else self._z3.Not(literal))
        return wish == possible

    def _choices(self) -> Iterator[Choice]:
        for symbol in self._symbols:
            for row in self.rows(symbol):
                if symbol.is_relation:
                    yield Choice(symbol, row)
                else:
                    yield from (Choice(symbol, row, value) for value in self.of(symbol.result))

    # -- formulas over the unknowns ---------------------------------------------------------------

    def _formula(self, term: terms.Term, env: Mapping[terms.Var, str]) -> Any:
        z3 = self._z3
        match term:
            case terms.Truth(value):
                return self._true if value else self._false
            case terms.Not(body):
                return z3.Not(self._formula(body, env))
            case terms.And(parts):
                return z3.And(*(self._formula(part, env) for part in parts), self._true)
            case terms.Or(parts):
                return z3.Or(*(self._formula(part, env) for part in parts), self._false)
            case terms.Implies(premise, conclusion):
                return z3.Implies(self._formula(premise, env), self._formula(conclusion, env))
            case terms.Forall(bound, body):
                return z3.And(*self._instances(bound, body, env), self._true)
            case terms.Exists(bound, body):
                return z3.Or(*self._instances(bound, body, env), self._false)
            case terms.Equal(left, right):
                return self._any(
                    z3.And(one, other)
                    for value, one in self._value(left, env)
                    for twin, other in self._value(right, env)
                    if value == twin
                )
            case terms.Apply(symbol, args) if symbol.is_relation:
                return self._any(
                    z3.And(when, self._unknowns[Choice(symbol, row)]) for row, when in self._arguments(args, env)
                )
            case _:
                raise UsageError(f"an axiom cannot be read: {term!r}")

    def _value(self, term: terms.Term, env: Mapping[terms.Var, str]) -> Iterator[tuple[str, Any]]:
        """Yield each value that ``term`` may have, with the condition under which it has this value."""
        match term:
            case terms.Var():
                yield env[term], self._true
            case terms.Member(_, name):
                yield name, self._true
            case terms.Apply(symbol, args):
                for row, when in self._arguments(args, env):
                    for value in self.of(symbol.result):
                        unknown = self._unknowns[Choice(symbol, row, value)]
                        yield value, self._z3.And(when, unknown)
            case terms.IfThenElse(test, then, otherwise):
                holds = self._formula(test, env)
                for value, when in self._value(then, env):
                    yield value, self._z3.And(holds, when)
                for value, when in self._value(otherwise, env):
                    yield value, self._z3.And(self._z3.Not(holds), when)
            case _:
                raise UsageError(f"an axiom cannot be read: {term!r}")

    def _arguments(self, args: tuple[terms.Term, ...], env: Mapping[terms.Var, str]) -> Iterator[tuple[Row, Any]]:
        for combination in product(*(tuple(self._value(arg, env)) for arg in args)):
            row = tuple(value for value, _ in combination)
            yield row, self._z3.And(*(when for _, when in combination), self._true)

    def _instances(self, bound: tuple[terms.Var, ...], body: terms.Term, env: Mapping[terms.Var, str]) -> Iterator[Any]:
        for row in product(*(self.of(var.sort) for var in bound)):
            yield self._formula(body, {**env, **dict(zip(bound, row, strict=True))})

    def _any(self, parts: Iterator[Any]) -> Any:
        return self._z3.Or(*parts, self._false)


def relations_in(decided: Decided) -> dict[str, frozenset[Row]]:
    """Return the rows for which each relation holds."""
    symbols = dict.fromkeys(choice.symbol for choice in decided if choice.symbol.is_relation)
    return {s.name: frozenset(c.row for c, holds in decided.items() if holds and c.symbol == s) for s in symbols}


def functions_in(decided: Decided) -> dict[str, dict[Row, str]]:
    """Return the table of each function."""
    tables: dict[str, dict[Row, str]] = {}
    for choice, holds in decided.items():
        if holds and choice.value is not None:
            tables.setdefault(choice.symbol.name, {})[choice.row] = choice.value
    return tables
