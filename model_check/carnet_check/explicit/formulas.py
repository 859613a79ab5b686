"""Ground formulas: what is left of a formula once its variables have elements and its rigid parts values.

A **place** is one mutable symbol at one row. It holds one of the values found possible for it so far, known by their
numbers; a relation that may or may not hold is number 1 where it holds. A formula is a test of one place, a
conjunction or a disjunction; negation is pushed down to the tests.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from carnet_spec.language import Row

Value = str | bool
"""What a place holds: an element of a sort, or whether a relation holds there."""


@dataclass(frozen=True, slots=True)
class Test:
    """The place holds the value; or, unless ``wanted``, any other one."""

    place: int
    value: int
    wanted: bool = True


@dataclass(frozen=True, slots=True)
class Conjunction:
    """All parts hold."""

    parts: tuple[Formula, ...]


@dataclass(frozen=True, slots=True)
class Disjunction:
    """Some part holds."""

    parts: tuple[Formula, ...]


Formula = Test | Conjunction | Disjunction

TRUE = Conjunction(())
FALSE = Disjunction(())


@dataclass
class Places:
    """The places met so far, and the values found possible for each."""

    names: list[tuple[str, Row]] = field(default_factory=list)
    values: list[list[Value]] = field(default_factory=list)
    numbers: dict[tuple[str, Row], int] = field(default_factory=dict)

    def add(self, symbol: str, row: Row, first: Value) -> int:
        """Add a place with its value in the first state."""
        place = len(self.names)
        self.names.append((symbol, row))
        self.values.append([first])
        self.numbers[symbol, row] = place
        return place

    def allow(self, place: int, value: Value) -> bool:
        """Find a value possible; return whether that is new."""
        possible = self.values[place]
        if value in possible:
            return False
        possible.append(value)
        if isinstance(value, bool):
            possible.sort()
        return True

    @property
    def changing(self) -> list[int]:
        """The places with more than one possible value."""
        return [place for place, values in enumerate(self.values) if len(values) > 1]

    def test(self, place: int, value: Value, wanted: bool = True) -> Formula:
        """Return the formula that the place holds the value (or does not), by what is possible there."""
        possible = self.values[place]
        if value not in possible:
            return FALSE if wanted else TRUE
        return self._test(place, possible.index(value), wanted)

    def negation(self, formula: Formula) -> Formula:
        """Return the opposite of a formula."""
        match formula:
            case Test(place, value, wanted):
                return self._test(place, value, not wanted)
            case Conjunction(parts):
                return disjunction(self.negation(part) for part in parts)
            case Disjunction(parts):
                return conjunction(self.negation(part) for part in parts)

    def _test(self, place: int, value: int, wanted: bool) -> Formula:
        count = len(self.values[place])
        if count == 1:
            return TRUE if wanted else FALSE
        if count == 2 and not wanted:
            return Test(place, 1 - value)
        return Test(place, value, wanted)


def both(left: Formula, right: Formula) -> Formula:
    """Join two formulas by and, at no cost where one is TRUE."""
    if left is TRUE:
        return right
    return left if right is TRUE else conjunction((left, right))


def conjunction(formulas: Iterable[Formula]) -> Formula:
    """Join formulas by and; FALSE when two tests exclude each other."""
    parts: dict[Formula, None] = {}
    holds: dict[int, int] = {}
    for part in _flat(formulas, Conjunction):
        if isinstance(part, Disjunction) and not part.parts:
            return FALSE
        if isinstance(part, Test):
            if part.wanted and holds.setdefault(part.place, part.value) != part.value:
                return FALSE
            if Test(part.place, part.value, not part.wanted) in parts:
                return FALSE
        parts.setdefault(part)
    if len(parts) > 1:
        return Conjunction(tuple(parts))
    return next(iter(parts)) if parts else TRUE


def disjunction(formulas: Iterable[Formula]) -> Formula:
    """Join formulas by or; TRUE when one test is the opposite of another."""
    parts: dict[Formula, None] = {}
    for part in _flat(formulas, Disjunction):
        if part == TRUE:
            return TRUE
        if isinstance(part, Test) and Test(part.place, part.value, not part.wanted) in parts:
            return TRUE
        parts.setdefault(part)
    return next(iter(parts)) if len(parts) == 1 else Disjunction(tuple(parts))


def _flat(formulas: Iterable[Formula], kind: type[Conjunction] | type[Disjunction]) -> Iterable[Formula]:
    for formula in formulas:
        if isinstance(formula, kind):
            yield from formula.parts
        else:
            yield formula


def tests_of(formula: Formula) -> Iterable[Test]:
    """Yield every test that occurs in a formula."""
    if isinstance(formula, Test):
        yield formula
    else:
        for part in formula.parts:
            yield from tests_of(part)


def places_of(formula: Formula) -> set[int]:
    """Return the places that a formula reads."""
    return {test.place for test in tests_of(formula)}


def conjuncts_of(formula: Formula) -> tuple[Formula, ...]:
    """Return the parts of a conjunction, or the formula alone."""
    return formula.parts if isinstance(formula, Conjunction) else (formula,)
