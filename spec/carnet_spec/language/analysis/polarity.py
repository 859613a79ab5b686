"""The polarity with which formulas read symbols, and the symbols into which rules insert."""

from collections.abc import Iterator

from carnet_spec.language import terms
from carnet_spec.language.actions import Effect
from carnet_spec.language.protocol import Protocol


def deduced_symbols(protocol: Protocol) -> frozenset[terms.Symbol]:
    """Return the symbols into which rules insert, and those whose insertion is conditioned on one of these."""
    found = {update.symbol for action in protocol.actions if action.deduction for update in action.updates}
    conditions = [
        (update.symbol, terms.symbols_of(update.when))
        for action in protocol.actions
        for update in action.updates
        if update.effect is Effect.INSERT
    ]
    while more := {symbol for symbol, read in conditions if read & found} - found:
        found |= more
    return frozenset(found)


def signed_parts(term: terms.Term, wanted: bool = True) -> list[tuple[terms.Term, bool]]:
    """Split a formula, or its negation, into formulas with the truth values that together are equivalent to it."""
    match term:
        case terms.Not(body):
            return signed_parts(body, not wanted)
        case terms.And(parts) if wanted:
            return [each for part in parts for each in signed_parts(part, True)]
        case terms.Or(parts) if not wanted:
            return [each for part in parts for each in signed_parts(part, False)]
        case terms.Implies(premise, conclusion) if not wanted:
            return signed_parts(premise, True) + signed_parts(conclusion, False)
        case _:
            return [(term, wanted)]


def signed_symbols(term: terms.Term, positive: bool = True) -> Iterator[tuple[terms.Symbol, bool]]:
    """Yield each symbol of ``term`` with its polarity; a symbol inside an equality has both."""
    match term:
        case terms.Apply(symbol, args):
            yield symbol, positive
            for arg in args:
                yield from _both_signs(arg)
        case terms.Not(body):
            yield from signed_symbols(body, not positive)
        case terms.Implies(premise, conclusion):
            yield from signed_symbols(premise, not positive)
            yield from signed_symbols(conclusion, positive)
        case terms.Equal() | terms.IfThenElse():
            yield from _both_signs(term)
        case _:
            for child in terms.children(term):
                yield from signed_symbols(child, positive)


def _both_signs(term: terms.Term) -> Iterator[tuple[terms.Symbol, bool]]:
    for symbol in terms.symbols_of(term):
        yield symbol, True
        yield symbol, False
