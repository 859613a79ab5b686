"""Rewriting a formula in one place at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from carnet_spec.language import Action, Term
from carnet_spec.language.terms import (
    TRUE,
    And,
    Apply,
    Equal,
    Forall,
    Implies,
    Member,
    Not,
    Or,
    Var,
    children,
    rebuild,
    sort_of,
    subterms,
)

Rewriting = tuple[str, Term]
"""What was done, in a few words, and what came out."""


def rewritten(term: Term, change: Callable[[Term], Iterable[Rewriting]]) -> Iterator[Rewriting]:
    """Yield ``term`` with ``change`` made in one place: at ``term`` itself first, then inside it, left to right."""
    yield from change(term)
    for place, child in enumerate(children(term)):
        for what, new in rewritten(child, change):
            yield what, _with_child(term, place, new)


def _with_child(term: Term, place: int, new: Term) -> Term:
    numbers = iter(range(len(children(term))))
    return rebuild(term, lambda child: new if next(numbers) == place else child)


def weakened(formula: Term) -> Iterator[Rewriting]:
    """Yield ``formula`` without one of its parts: of a conjunction, a disjunction or an implication."""
    match formula:
        case And(parts) | Or(parts):
            for place in range(len(parts)):
                left = (*parts[:place], *parts[place + 1 :])
                what = "conjunct" if isinstance(formula, And) else "alternative"
                yield f"drop {what} {place + 1}", left[0] if len(left) == 1 else type(formula)(left)
        case Implies(_, conclusion):
            yield "drop premise", conclusion
        case Forall(bound, body):
            yield from ((what, Forall(bound, new)) for what, new in weakened(body))
        case _:
            return


class Replacements:
    """What may stand in the place of a term of one action: something of the same sort that the action speaks of too."""

    def __init__(self, action: Action, terms: Iterable[Term]) -> None:
        spoken = (sub for term in terms for sub in subterms(term) if isinstance(sub, Apply) and not sub.args)
        constants = (sub for sub in spoken if not sub.symbol.is_relation)
        self._others: tuple[Term, ...] = tuple(dict.fromkeys([*action.params, *constants]))

    def __call__(self, term: Term) -> Iterator[Rewriting]:
        """Yield what may stand for ``term`` alone."""
        match term:
            case Member(sort, name):
                members = sort.members or ()
                place = members.index(name)
                near = (members[(place + 1) % len(members)], members[place - 1])
                yield from (
                    (f"{name} → {other}", Member(sort, other)) for other in dict.fromkeys(near) if other != name
                )
            case Var() | Apply(_, ()) if term in self._others:
                same = (other for other in self._others if other != term and sort_of(other) == sort_of(term))
                yield from ((f"{_named(term)} → {_named(other)}", other) for other in same)


def _named(term: Term) -> str:
    return term.name if isinstance(term, Var) else term.symbol.name if isinstance(term, Apply) else ""


# -- telling formulas apart -----------------------------------------------------------------------


def canonical(term: Term) -> Term:
    """Return ``term`` with the sides of equations and the parts of conjunctions and disjunctions in one order."""
    inner = rebuild(term, canonical)
    match inner:
        case Equal(left, right):
            return TRUE if left == right else Equal(*sorted((left, right), key=repr))
        case And(parts) | Or(parts):
            return type(inner)(tuple(sorted(dict.fromkeys(parts), key=repr)))
        case Not(Not(body)):
            return body
        case _:
            return inner
