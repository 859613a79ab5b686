"""The signature of a protocol: the symbols and sorts that it speaks of, collected from its parts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from carnet_spec.language.errors import SpecificationError
from carnet_spec.language.protocol import Protocol, listed, terms_of_action
from carnet_spec.language.terms import BOOL, Apply, Exists, Forall, Member, Sort, Symbol, Term, Var, sort_of, subterms


def signature_of(
    protocol: Protocol, symbols: Iterable[Symbol] = (), sorts: Iterable[Sort] = ()
) -> tuple[tuple[Symbol, ...], tuple[Sort, ...]]:
    """Return the symbols and the sorts of a protocol, in an order that every reader sees.

    Symbols stand in order of first appearance; sorts are those of the symbols, of parameters, of bound variables and
    of members, in this order.

    Args:
        protocol: what speaks of them.
        symbols: what is declared besides.
        sorts: what is declared besides.

    Raises:
        SpecificationError: two different symbols have one name.
    """
    found: dict[Symbol, None] = {}
    bound: set[Var] = set()
    members: set[Member] = set()
    for part in _spoken(protocol):
        if isinstance(part, Symbol):
            found.setdefault(part)
            continue
        for sub in subterms(part):
            if isinstance(sub, Apply):
                found.setdefault(sub.symbol)
            elif isinstance(sub, Var):
                bound.add(sub)
            elif isinstance(sub, Forall | Exists):
                bound.update(sub.bound)
            elif isinstance(sub, Member):
                members.add(sub)
    names = [symbol.name for symbol in found]
    clashes = sorted({name for name in names if names.count(name) > 1})
    if clashes:
        raise SpecificationError(f"symbols declared twice with different meaning: {listed(clashes)}")
    named = [sort for symbol in (*found, *symbols) for sort in (*symbol.domain, symbol.result)]
    named += [sort_of(param) for action in protocol.actions for param in action.params]
    named += [param.sort for invariant in protocol.invariants for param in invariant.params]
    named += [param.sort for goal in protocol.goals for param in goal.params]
    named += [var.sort for var in sorted(bound, key=lambda var: (var.name, var.sort.name))]
    named += [member.sort for member in sorted(members, key=lambda member: (member.sort.name, member.name))]
    used = tuple(sort for sort in dict.fromkeys((*named, *sorts)) if sort.name != BOOL.name)
    return tuple(dict.fromkeys((*found, *symbols))), used


def _spoken(protocol: Protocol) -> Iterator[Term | Symbol]:
    """Yield every formula and term of a protocol, and the symbols that it gives values to."""
    yield from (axiom.formula for axiom in protocol.axioms)
    for action in protocol.actions:
        yield from terms_of_action(action)
        yield from (update.symbol for update in action.updates)
    yield from (axiom.formula for threat in protocol.threats for axiom in threat.axioms)
    yield from (invariant.body for invariant in protocol.invariants)
    yield from (goal.body for goal in protocol.goals)
    yield from (term for live in protocol.liveness for term in live.terms)
    for initial in protocol.initial:
        yield initial.symbol
        yield initial.value
