"""Patterns: which places a formula reads and an update writes, whatever its variables stand for."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from carnet_check.engines.explicit.folding import Folding, conditions_in
from carnet_check.engines.explicit.layout import Pattern
from carnet_spec.language import Action, GuardKind, Instance, Row, Term, Update
from carnet_spec.language.expressions import used_symbol
from carnet_spec.language.terms import Apply, Exists, Forall, Member, Var, children

Domains = Mapping[str, Row]
"""The elements that each variable may stand for."""

Read = tuple[str, Pattern]
"""The name of a mutable symbol, and the rows that are read there."""


def read_by(term: Term, domains: Domains, folding: Folding) -> Iterator[Read]:
    """Yield what a term reads."""
    match term:
        case Exists(bound, body):
            domains = {**domains, **folding.domains(bound, conditions_in(body, True))}
        case Forall(bound, body):
            domains = {**domains, **folding.domains(bound, conditions_in(body, False))}
        case Apply(symbol, args) if symbol.mutable:
            yield symbol.name, pattern_of(args, domains, folding.instance)
    for child in children(term):
        yield from read_by(child, domains, folding)


def read_by_guards(action: Action, domains: Domains, folding: Folding) -> Iterator[Read]:
    """Yield what decides whether an action can be taken."""
    for guard in action.guards:
        if guard.kind is not GuardKind.FRESH:
            yield from read_by(guard.formula, domains, folding)
    for var in action.fresh:
        yield used_symbol(var.sort).name, (frozenset(domains[var.name]),)


def read_by_update(update: Update, domains: Domains, folding: Folding) -> Iterator[Read]:
    """Yield what decides whether, where and what an update writes."""
    for term in (*update.args, update.when, *([] if update.value is None else [update.value])):
        yield from read_by(term, domains, folding)


def pattern_of(args: Iterable[Term], domains: Domains, instance: Instance) -> Pattern:
    """Return the rows that arguments may amount to."""
    return tuple(_elements(arg, domains, instance) for arg in args)


def overlap(one: Pattern, other: Pattern) -> bool:
    """Whether some row may match both patterns."""
    pairs = zip(one, other, strict=True)
    return all(left is None or right is None or not left.isdisjoint(right) for left, right in pairs)


def _elements(term: Term, domains: Domains, instance: Instance) -> frozenset[str] | None:
    match term:
        case Var(name, sort):
            known = domains.get(name)
            return None if known is None or known == instance.of(sort) else frozenset(known)
        case Member(_, name):
            return frozenset((name,))
        case _:
            return None
