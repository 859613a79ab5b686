"""What is asked of a protocol: formulas that should hold always, and formulas that should hold somewhere."""

from __future__ import annotations

import itertools

from carnet_spec.language import Protocol, Sort, Term
from carnet_spec.language.protocol import terms_of_action
from carnet_spec.language.terms import And, Exists, Forall, Implies, Var, subterms


def sorts_of(protocol: Protocol) -> list[Sort]:
    """Return the sorts whose sizes are open, by name: those of symbols, and those that only variables have."""
    bound = [var.sort for term in terms_in(protocol) for var in _bound_in(term)]
    params = [var.sort for action in protocol.actions for var in action.params]
    params += [var.sort for invariant in protocol.invariants for var in invariant.params]
    params += [var.sort for goal in protocol.goals for var in goal.params]
    found = {sort for sort in (*protocol.sorts, *bound, *params) if not sort.is_enumeration}
    return sorted(found, key=lambda sort: sort.name)


def terms_in(protocol: Protocol) -> list[Term]:
    """Return every term that ``protocol`` has anywhere, outermost ones."""
    terms: list[Term] = [axiom.formula for axiom in protocol.axioms]
    terms += [axiom.formula for threat in protocol.threats for axiom in threat.axioms]
    terms += [term for action in protocol.actions for term in terms_of_action(action)]
    terms += [invariant.body for invariant in protocol.invariants]
    terms += [goal.body for goal in protocol.goals]
    return terms + [initial.value for initial in protocol.initial]


def _bound_in(term: Term) -> list[Var]:
    return [var for sub in subterms(term) if isinstance(sub, Forall | Exists) for var in sub.bound]


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
    asked: dict[str, Term] = {f"goal {goal.name}": Exists(goal.params, goal.body) for goal in protocol.goals}
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
