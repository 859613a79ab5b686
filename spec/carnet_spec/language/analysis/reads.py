"""What an action reads, and on what condition it matters."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from carnet_spec.language.actions import Action
from carnet_spec.language.terms import And, Apply, Implies, Or, Symbol, Term, children, negation

Row = tuple[Term, ...]
"""The arguments that a symbol is applied to."""


@dataclass(frozen=True, slots=True)
class Read:
    """A use of ``symbol`` at ``row`` that matters only if all of ``assuming`` holds."""

    symbol: Symbol
    row: Row
    where: str
    assuming: tuple[Term, ...]


def reads(action: Action) -> Iterator[Read]:
    """Yield the uses of variables and functions that change, in guards and then in updates."""
    guards = tuple(guard.formula for guard in action.guards)
    for guard in action.guards:
        yield from _reads_in(guard.formula, f"guard '{guard.name}'", guards)
    for update in action.updates:
        where = f"update '{update.name}'"
        yield from _reads_in(update.when, where, guards)
        for term in (*update.args, *([] if update.value is None else [update.value])):
            yield from _reads_in(term, where, (*guards, update.when))


def _reads_in(term: Term, where: str, assuming: tuple[Term, ...]) -> Iterator[Read]:
    match term:
        case And(parts) | Or(parts):
            for position, part in enumerate(parts):
                others = (*parts[:position], *parts[position + 1 :])
                beside = others if isinstance(term, And) else tuple(map(negation, others))
                yield from _reads_in(part, where, (*assuming, *beside))
        case Implies(premise, conclusion):
            yield from _reads_in(premise, where, (*assuming, negation(conclusion)))
            yield from _reads_in(conclusion, where, (*assuming, premise))
        case _:
            if isinstance(term, Apply) and term.symbol.mutable and not term.symbol.is_relation:
                yield Read(term.symbol, term.args, where, assuming)
            for child in children(term):
                yield from _reads_in(child, where, assuming)
