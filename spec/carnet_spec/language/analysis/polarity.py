"""The polarity with which formulas read symbols, and the symbols into which rules insert."""

from collections.abc import Iterator

from carnet_spec.language.actions import Effect
from carnet_spec.language.protocol import Protocol
from carnet_spec.language.terms import (
    And,
    Apply,
    Equal,
    IfThenElse,
    Implies,
    Not,
    Or,
    Symbol,
    Term,
    children,
    symbols_of,
)


def deduced_symbols(protocol: Protocol) -> frozenset[Symbol]:
    """Return the symbols into which rules insert, and those whose insertion is conditioned on one of these."""
    found = {update.symbol for action in protocol.actions if action.deduction for update in action.updates}
    conditions = [
        (update.symbol, symbols_of(update.when))
        for action in protocol.actions
        for update in action.updates
        if update.effect is Effect.INSERT
    ]
    while more := {symbol for symbol, read in conditions if read & found} - found:
        found |= more
    return frozenset(found)


def signed_parts(term: Term, wanted: bool = True) -> list[tuple[Term, bool]]:
    """Split a formula, or its negation, into formulas with the truth values that together are equivalent to it."""
    match term:
        case Not(body):
            return signed_parts(body, not wanted)
        case And(parts) if wanted:
            return [each for part in parts for each in signed_parts(part, True)]
        case Or(parts) if not wanted:
            return [each for part in parts for each in signed_parts(part, False)]
        case Implies(premise, conclusion) if not wanted:
            return signed_parts(premise, True) + signed_parts(conclusion, False)
        case _:
            return [(term, wanted)]


def signed_symbols(term: Term, positive: bool = True) -> Iterator[tuple[Symbol, bool]]:
    """Yield each symbol of ``term`` with its polarity; a symbol inside an equality has both."""
    match term:
        case Apply(symbol, args):
            yield symbol, positive
            for arg in args:
                yield from _both_signs(arg)
        case Not(body):
            yield from signed_symbols(body, not positive)
        case Implies(premise, conclusion):
            yield from signed_symbols(premise, not positive)
            yield from signed_symbols(conclusion, positive)
        case Equal() | IfThenElse():
            yield from _both_signs(term)
        case _:
            for child in children(term):
                yield from signed_symbols(child, positive)


def _both_signs(term: Term) -> Iterator[tuple[Symbol, bool]]:
    for symbol in symbols_of(term):
        yield symbol, True
        yield symbol, False
