"""The premises of a claim, each as a goal: what must be reachable for the claim to say anything."""

from __future__ import annotations

from collections.abc import Iterator

from carnet_spec.language import Eventually, Goal, Invariant
from carnet_spec.language.terms import And, Forall, Implies, Term, Var, conjunction

PREMISE = "$premise "
"""Begins the name of the goal that a claim's premise is turned into: its number and the claim's name follow.

No goal of a specification is called so: the lint ``spelling`` sees to that.
"""


def premises_of(invariant: Invariant) -> tuple[Goal, ...]:
    """Return what must be reachable for each implication in the invariant to say anything.

    Implications are looked for under "for every", in conjunctions and in what other implications conclude; a denied
    conjunction says everything by itself and has no premise.
    """
    found = tuple(dict.fromkeys(_premises(invariant.body, invariant.params, ())))
    return tuple(
        Goal(f"{PREMISE}{number} {invariant.name}", params, premise, "the premise can hold")
        for number, (params, premise) in enumerate(found, 1)
    )


def trigger_of(live: Eventually) -> Goal:
    """Return what must be reachable for a liveness property to say anything."""
    return Goal(f"{PREMISE}1 {live.name}", (), live.trigger, "what is answered can happen")


def _premises(body: Term, params: tuple[Var, ...], given: tuple[Term, ...]) -> Iterator[tuple[tuple[Var, ...], Term]]:
    match body:
        case Forall(bound, inner):
            yield from _premises(inner, params + bound, given)
        case And(parts):
            for part in parts:
                yield from _premises(part, params, given)
        case Implies(premise, conclusion):
            inside = tuple(_premises(conclusion, params, (*given, premise)))
            yield from inside or [(params, conjunction((*given, premise)))]
