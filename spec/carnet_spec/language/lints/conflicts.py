"""The lint that no step assigns two values to one symbol at one row.

Updates of one symbol apply in the order in which they are written. That order is clear if a narrow update follows one
that covers its place: first the slot is empty, then one party is in it. Otherwise the last update would silently win.
So two updates of one symbol are refused unless one covers the other, an argument of theirs provably differs, or they
cannot both happen.
"""

import itertools
from collections.abc import Iterator
from dataclasses import replace

from carnet_spec.language.actions import Action, Effect, Update
from carnet_spec.language.lints.common import Findings, at
from carnet_spec.language.protocol import Protocol
from carnet_spec.language.terms import And, Equal, Implies, Member, Not, Or, Term, Var, negation, sort_of, substitute


def conflicts(protocol: Protocol) -> Findings:
    """Yield the pairs of updates of one action that may change one place in two ways."""
    for action in protocol.actions:
        for first, second in itertools.combinations(action.updates, 2):
            if first.symbol != second.symbol:
                continue
            one, other = _at_one_place(first, second)
            if _disagree(one, other) and not _never_same_place(action, one, other):
                yield (
                    at(action, second),
                    f"may undo what update '{first.name}' makes of {first.symbol.name}: require that their arguments "
                    "differ, let their conditions exclude each other, or let a sweep over 'each' come first",
                )


def _at_one_place(first: Update, second: Update) -> tuple[Update, Update]:
    """Return the two updates restricted to their common places: an 'each' becomes the other update's argument.

    Two updates may share an 'each'; it is the same element only if it is the same argument of both.
    """
    ours: dict[Var, Term] = {}
    theirs: dict[Var, Term] = {}
    for one, other in zip(first.args, second.args, strict=True):
        if isinstance(other, Var) and other in second.each:
            theirs[other] = one
        elif isinstance(one, Var) and one in first.each:
            ours[one] = other
    return _standing_for(first, ours), _standing_for(second, theirs)


def _standing_for(update: Update, values: dict[Var, Term]) -> Update:
    value = None if update.value is None else substitute(update.value, values)
    args = tuple(substitute(arg, values) for arg in update.args)
    return replace(update, args=args, value=value, when=substitute(update.when, values))


def _disagree(first: Update, second: Update) -> bool:
    """Whether the updates give a place different values, and the second is no exception to a wider first one."""
    exception = len(second.each) < len(first.each)
    if first.effect is Effect.ASSIGN:
        return first.value != second.value and not exception
    return first.effect is not second.effect and not exception


def _never_same_place(action: Action, first: Update, second: Update) -> bool:
    """Whether the updates provably never change the same place in one step."""
    if _never_together(first, second) or _never_together(second, first):
        return True
    known = [fact for guard in action.guards for fact in _facts(guard.formula)]
    ours, theirs = set(_facts(first.when)), set(_facts(second.when))
    if any(_contradict(one, other) for one in (*known, *ours) for other in theirs | ours):
        return True
    facts = {*known, *ours, *theirs}
    pairs = zip(first.args, second.args, strict=True)
    return any(_differ(action, facts, one, other) for one, other in pairs)


def _never_together(first: Update, second: Update) -> bool:
    """Whether one update exists only with a defence, and the other only without it."""
    return first.defence is not None and first.defence == second.unless


def _facts(term: Term) -> Iterator[Term]:
    """Yield facts that are implied by ``term``, as far as its form shows them."""
    match term:
        case And(parts):
            for part in parts:
                yield from _facts(part)
        case Not(Or(parts)):
            for part in parts:
                yield from _facts(negation(part))
        case Not(Implies(premise, conclusion)):
            yield from _facts(premise)
            yield from _facts(negation(conclusion))
        case _:
            yield term


def _contradict(one: Term, other: Term) -> bool:
    if one == negation(other):
        return True
    values = [(place, value) for fact in (one, other) for place, value in _value_of(fact)]
    return any(p == q and v != w for (p, v), (q, w) in itertools.combinations(values, 2))


def _value_of(fact: Term) -> Iterator[tuple[Term, Member]]:
    """Yield the term and the member that a fact says are equal."""
    match fact:
        case Equal(Member() as value, place) | Equal(place, Member() as value):
            yield place, value


def _differ(action: Action, facts: set[Term], one: Term, other: Term) -> bool:
    if isinstance(one, Member) and isinstance(other, Member):
        return one != other
    drawn = [var for var in (one, other) if isinstance(var, Var) and var in action.fresh]
    if len(drawn) == 2 and one != other and sort_of(one) == sort_of(other):
        return True
    return negation(Equal(one, other)) in facts or negation(Equal(other, one)) in facts
