"""What is asked of a protocol: formulas that should hold always, and formulas that should hold somewhere."""

from __future__ import annotations

import itertools

from carnet_spec.language import Protocol, Sort, Term
from carnet_spec.language.terms import And, Exists, Forall, Implies


def sorts_of(protocol: Protocol) -> list[Sort]:
    """Return the sorts whose sizes are open, by name."""
    return sorted((sort for sort in protocol.sorts if not sort.is_enumeration), key=lambda sort: sort.name)


def all_sizes(protocol: Protocol, most: int, least: int = 1) -> list[dict[str, int]]:
    """Return every choice of sizes from ``least`` to ``most`` for the open sorts, small ones first."""
    names = [sort.name for sort in sorts_of(protocol)]
    choices = itertools.product(range(least, most + 1), repeat=len(names))
    return [dict(zip(names, choice, strict=True)) for choice in sorted(choices, key=lambda row: (sum(row), row))]


def always_asked(protocol: Protocol) -> dict[str, Term]:
    """Return the closed formulas that should hold always: claims by name, lemmas as ``lemma <name>``."""
    claims = {claim.name: claim.invariant.formula for claim in protocol.claims if claim.invariant}
    return claims | {f"lemma {lemma.name}": lemma.formula for lemma in protocol.lemmas}


def somewhere_asked(protocol: Protocol) -> dict[str, Term]:
    """Return the closed formulas that should hold somewhere: goals as ``goal <name>``, premises as ``<claim>/<n>``."""
    asked = {f"goal {goal.name}": Exists(goal.params, goal.body) for goal in protocol.goals}
    for claim in protocol.claims:
        if claim.invariant:
            for number, premise in enumerate(premises(claim.invariant.formula)):
                asked[f"{claim.name}/{number}"] = premise
    return asked


def premises(body: Term) -> list[Term]:
    """Return what must hold somewhere for each implication of a claim to apply, closed over what it quantifies.

    These are the implications that the claim asserts: those of its conjuncts, and those inside conclusions.
    """
    match body:
        case Forall(bound, inner):
            return [Exists(bound, premise) for premise in premises(inner)]
        case And(parts):
            return [premise for part in parts for premise in premises(part)]
        case Implies(premise, conclusion):
            return [premise, *(And((premise, inner)) for inner in premises(conclusion))]
        case _:
            return []
