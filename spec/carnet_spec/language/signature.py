"""The signature of a protocol: the symbols and sorts that it speaks of, collected from its parts."""

from __future__ import annotations

from collections.abc import Iterator

from carnet_spec.language.errors import SpecificationError
from carnet_spec.language.protocol import Protocol, listed, terms_of_action
from carnet_spec.language.terms import Apply, Exists, Forall, Member, Sort, Symbol, Term, Var, sort_of, subterms


def symbols_in(protocol: Protocol) -> tuple[Symbol, ...]:
    """Return the symbols in order of first appearance, so that every reader sees the same order.

    Raises:
        SpecificationError: two different symbols have one name.
    """
    found: dict[Symbol, None] = {}

    def visit(term: Term) -> None:
        for sub in subterms(term):
            if isinstance(sub, Apply):
                found.setdefault(sub.symbol)

    for axiom in protocol.axioms:
        visit(axiom.formula)
    for action in protocol.actions:
        for term in terms_of_action(action):
            visit(term)
        for update in action.updates:
            found.setdefault(update.symbol)
    for threat in protocol.threats:
        for axiom in threat.axioms:
            visit(axiom.formula)
    for invariant in protocol.invariants:
        visit(invariant.body)
    for goal in protocol.goals:
        visit(goal.body)
    for live in protocol.liveness:
        for term in live.terms:
            visit(term)
    for initial in protocol.initial:
        found.setdefault(initial.symbol)
        visit(initial.value)
    names = [symbol.name for symbol in found]
    clashes = sorted({name for name in names if names.count(name) > 1})
    if clashes:
        raise SpecificationError(f"symbols declared twice with different meaning: {listed(clashes)}")
    return tuple(found)


def _named(protocol: Protocol) -> Iterator[Var | Member]:
    """Yield parameters, and by name what formulas bind or name, where no symbol tells the sort."""
    terms = [term for action in protocol.actions for term in terms_of_action(action)]
    terms += [axiom.formula for axiom in (*protocol.axioms, *(a for t in protocol.threats for a in t.axioms))]
    stated = [(each.params, each.body) for each in protocol.invariants]
    stated += [(goal.params, goal.body) for goal in protocol.goals]
    for params, body in stated:
        yield from params
        terms.append(body)
    terms += [initial.value for initial in protocol.initial]
    terms += [part for live in protocol.liveness for part in live.terms]
    bound: set[Var] = set()
    members: set[Member] = set()
    for sub in (sub for term in terms for sub in subterms(term)):
        match sub:
            case Var():
                bound.add(sub)
            case Forall(variables, _) | Exists(variables, _):
                bound.update(variables)
            case Member():
                members.add(sub)
    yield from sorted(bound, key=lambda var: (var.name, var.sort.name))
    yield from sorted(members, key=lambda member: (member.sort.name, member.name))


def sorts_in(protocol: Protocol, symbols: tuple[Symbol, ...]) -> tuple[Sort, ...]:
    """Return the sorts of ``symbols``, of parameters, of bound variables and of members, in this order."""
    found: dict[Sort, None] = {}
    for symbol in symbols:
        for sort in (*symbol.domain, symbol.result):
            found.setdefault(sort)
    for action in protocol.actions:
        for param in action.params:
            found.setdefault(sort_of(param))
    for each in _named(protocol):
        found.setdefault(each.sort)
    return tuple(sort for sort in found if sort.name != "Bool")
