"""The weakest precondition of a formula for a step, and its meaning in the first state, without simplification.

Every application of a symbol is replaced by its value after the step. The value of a function may depend on whether an
assignment takes place; this conditional is lifted out of its atom, that of the leftmost argument outermost.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from carnet_spec.language import Effect, Symbol, Term, terms

_A = TypeVar("_A")
_B = TypeVar("_B")


@dataclass(frozen=True, slots=True)
class Conditional(Generic[_A]):
    """One of two values, depending on a test."""

    test: Term
    yes: Choice[_A]
    no: Choice[_A]


@dataclass(frozen=True, slots=True)
class Sure(Generic[_A]):
    """An unconditional value."""

    value: _A


Choice = Sure[_A] | Conditional[_A]


def _and_then(choice: Choice[_A], next: Callable[[_A], Choice[_B]]) -> Choice[_B]:
    if isinstance(choice, Sure):
        return next(choice.value)
    return Conditional(choice.test, _and_then(choice.yes, next), _and_then(choice.no, next))


def _in_order(choices: Sequence[Choice[_A]], done: tuple[_A, ...] = ()) -> Choice[tuple[_A, ...]]:
    left = choices[len(done) :]
    sure = tuple([choice.value for choice in left if isinstance(choice, Sure)])
    if len(sure) == len(left):
        return Sure((*done, *sure))
    return _and_then(left[0], lambda value: _in_order(choices, (*done, value)))


def _as_term(choice: Choice[Term]) -> Term:
    if isinstance(choice, Sure):
        return choice.value
    return terms.IfThenElse(choice.test, _as_term(choice.yes), _as_term(choice.no))


Functions = Callable[[Symbol, tuple[Term, ...]], Choice[Term]]
Relations = Callable[[Symbol, tuple[Term, ...]], Term]


def _replaced_term(term: Term, function_is: Functions) -> Choice[Term]:
    if not isinstance(term, terms.Apply):
        return Sure(term)
    args = _in_order([_replaced_term(arg, function_is) for arg in term.args])
    return _and_then(args, lambda row: function_is(term.symbol, row))


def _is_kept(term: Term, stays: Callable[[Symbol], bool]) -> bool:
    """Whether no symbol in an atom or a term is replaced."""
    match term:
        case terms.Apply(symbol, args):
            return stays(symbol) and all(_is_kept(arg, stays) for arg in args)
        case terms.Equal(left, right):
            return _is_kept(left, stays) and _is_kept(right, stays)
        case _:
            return True


def _replaced(formula: Term, stays: Callable[[Symbol], bool], function_is: Functions, relation_is: Relations) -> Term:
    """Replace every application in ``formula`` by its value in the other state, unless its symbol ``stays``."""
    match formula:
        case terms.Apply() | terms.Equal() if _is_kept(formula, stays):
            return formula
        case terms.Apply(symbol, args):
            row = _in_order([_replaced_term(arg, function_is) for arg in args])
            return _as_term(_and_then(row, lambda found: Sure(relation_is(symbol, found))))
        case terms.Equal(left, right):
            sides = _in_order([_replaced_term(left, function_is), _replaced_term(right, function_is)])
            return _as_term(_and_then(sides, lambda found: Sure(terms.Equal(*found))))
        case _:
            return terms.rebuild(formula, lambda part: _replaced(part, stays, function_is, relation_is))


# -- after a step ----------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False, slots=True)
class Change:
    """An update whose parameters are constants: a place of its pattern is a term, or open and matches any argument."""

    symbol: Symbol
    effect: Effect
    pattern: tuple[Term | None, ...]
    opened: tuple[terms.Var, ...]  # the variables of the open places, in order
    when: Term
    value: Term | None

    def applies(self, row: tuple[Term, ...]) -> Term:
        """Return the formula that the update takes place at ``row``."""
        asked = terms.substitute(self.when, self._matched(row))
        for place, arg in reversed(tuple(zip(self.pattern, row, strict=True))):
            if place is not None:
                asked = terms.And((terms.Equal(arg, place), asked))
        return asked

    def relation(self, row: tuple[Term, ...], before: Term) -> Term:
        """Return the formula that the relation holds at ``row`` after the update; ``before`` is that for before it."""
        applies = self.applies(row)
        return terms.Or((before, applies)) if self.effect is Effect.INSERT else terms.And((before, terms.Not(applies)))

    def function(self, row: tuple[Term, ...], before: Choice[Term]) -> Choice[Term]:
        """Return the value of the function at ``row`` after the update, given its value ``before``."""
        if self.value is None:
            return before
        return Conditional(self.applies(row), Sure(terms.substitute(self.value, self._matched(row))), before)

    def _matched(self, row: tuple[Term, ...]) -> dict[terms.Var, Term]:
        found = [arg for place, arg in zip(self.pattern, row, strict=True) if place is None]
        return dict(zip(self.opened, found, strict=True))


def precondition(claim: Term, changes: Mapping[str, Sequence[Change]]) -> Term:
    """Return the weakest precondition of ``claim`` for a step; ``changes`` has the updates of each symbol."""

    def function_then(symbol: Symbol, row: tuple[Term, ...]) -> Choice[Term]:
        value: Choice[Term] = Sure(terms.Apply(symbol, row))
        for change in changes.get(symbol.name, ()):
            value = change.function(row, value)
        return value

    def relation_then(symbol: Symbol, row: tuple[Term, ...]) -> Term:
        holds: Term = terms.Apply(symbol, row)
        for change in changes.get(symbol.name, ()):
            holds = change.relation(row, holds)
        return holds

    return _replaced(claim, lambda symbol: symbol.name not in changes, function_then, relation_then)


# -- in the first state ----------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Start:
    """The first value of a symbol, as a term over ``params``."""

    params: tuple[terms.Var, ...]
    value: Term

    def at(self, row: tuple[Term, ...]) -> Term:
        """Return the value at ``row``."""
        return terms.substitute(self.value, dict(zip(self.params, row, strict=True)))


def initially(claim: Term, starts: Mapping[str, Start]) -> Term:
    """Return ``claim`` with first values in place of symbols; a relation without a first value is empty."""

    def function_first(symbol: Symbol, row: tuple[Term, ...]) -> Choice[Term]:
        start = starts.get(symbol.name)
        return Sure(start.at(row) if start else terms.Apply(symbol, row))

    def relation_first(symbol: Symbol, row: tuple[Term, ...]) -> Term:
        if symbol.name in starts:
            return starts[symbol.name].at(row)
        return terms.FALSE if symbol.mutable else terms.Apply(symbol, row)

    return _replaced(claim, lambda _: False, function_first, relation_first)
