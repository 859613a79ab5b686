"""What a formula means in a finite structure: the textbook definition, a case for each kind of term.

This is the slow and plain half of the oracle. Replays use it, and the compiled half is compared with it. Nothing
here or in its neighbours imports an engine or the interpreter of ``carnet_check``: only the terms of the language.
"""

import itertools
from collections.abc import Mapping
from dataclasses import dataclass

from carnet_spec.language import Protocol, Sort, Term, terms
from carnet_spec.language.protocol import terms_of_action
from carnet_spec.language.terms import And, Exists, Forall, Implies, Not, Or, Var, disjunction, subterms

Sizes = Mapping[str, int]  #: How many elements each uninterpreted sort has, by name.
Row = tuple[int, ...]  #: Elements, as numbers from zero within their sorts.
Value = int | bool


@dataclass(frozen=True)
class Structure:
    """One state with everything in it: for each symbol, rigid or not, its value at every row."""

    sizes: Sizes
    tables: Mapping[terms.Symbol, Mapping[Row, Value]]


def size_of(sort: terms.Sort, sizes: Sizes) -> int:
    """Return the number of elements of ``sort``: of an enumeration, its members."""
    if sort == terms.BOOL:
        return 2
    return len(sort.members) if sort.members is not None else sizes[sort.name]


def rows(symbol: terms.Symbol, sizes: Sizes) -> list[Row]:
    """Return every row of arguments that ``symbol`` can be applied to."""
    return list(itertools.product(*(range(size_of(sort, sizes)) for sort in symbol.domain)))


def value(term: terms.Term, env: Mapping[terms.Var, int], structure: Structure) -> Value:
    """Return the value of ``term`` in ``structure``, with ``env`` as the values of its free variables."""
    match term:
        case terms.Var():
            return env[term]
        case terms.Member(sort, name):
            return (sort.members or ()).index(name)
        case terms.Truth(truth):
            return truth
        case terms.Apply(symbol, args):
            return structure.tables[symbol][tuple(int(value(arg, env, structure)) for arg in args)]
        case terms.Equal(left, right):
            return value(left, env, structure) == value(right, env, structure)
        case terms.Not(body):
            return not value(body, env, structure)
        case terms.And(parts):
            return all(value(part, env, structure) for part in parts)
        case terms.Or(parts):
            return any(value(part, env, structure) for part in parts)
        case terms.Implies(premise, conclusion):
            return not value(premise, env, structure) or bool(value(conclusion, env, structure))
        case terms.IfThenElse(test, then, otherwise):
            return value(then if value(test, env, structure) else otherwise, env, structure)
        case terms.Forall(bound, body):
            return all(value(body, inner, structure) for inner in extensions(bound, env, structure.sizes))
        case terms.Exists(bound, body):
            return any(value(body, inner, structure) for inner in extensions(bound, env, structure.sizes))


def extensions(bound: tuple[terms.Var, ...], env: Mapping[terms.Var, int], sizes: Sizes) -> list[dict[terms.Var, int]]:
    """Return ``env`` with every choice of elements for the ``bound`` variables, which hide outer ones."""
    choices = itertools.product(*(range(size_of(var.sort, sizes)) for var in bound))
    return [{**env, **dict(zip(bound, choice, strict=True))} for choice in choices]


# -- what is asked of a protocol -------------------------------------------------------------------------


def sorts_of(protocol: Protocol) -> list[Sort]:
    """Return the sorts whose sizes are open, by name: those of symbols, and those that only variables have."""
    bound = [var.sort for term in terms_in(protocol) for var in _bound_in(term)]
    params = [var.sort for action in protocol.actions for var in action.params]
    params += [var.sort for invariant in protocol.invariants for var in invariant.params]
    params += [var.sort for goal in protocol.goals for var in goal.params]
    params += [var.sort for live in protocol.liveness for var in live.params]
    found = {sort for sort in (*protocol.sorts, *bound, *params) if not sort.is_enumeration}
    return sorted(found, key=lambda sort: sort.name)


def terms_in(protocol: Protocol) -> list[Term]:
    """Return every term that ``protocol`` has anywhere, outermost ones."""
    terms: list[Term] = [axiom.formula for axiom in protocol.axioms]
    terms += [axiom.formula for threat in protocol.threats for axiom in threat.axioms]
    terms += [term for action in protocol.actions for term in terms_of_action(action)]
    terms += [invariant.body for invariant in protocol.invariants]
    terms += [goal.body for goal in protocol.goals] + [term for live in protocol.liveness for term in live.terms]
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

    These are the implications that the claim asserts: those of its conjuncts, and those inside conclusions. To deny one
    thing or assert another is one, too.
    """
    match body:
        case Forall(bound, inner):
            return [Exists(bound, premise) for premise in premises(inner)]
        case And(parts):
            return [premise for part in parts for premise in premises(part)]
        case Implies(_, terms.Truth(False)):  # another way to write "not"
            return []
        case Implies(premise, conclusion):
            return [premise, *(And((premise, inner)) for inner in premises(conclusion))]
        case Or(parts) if 0 < (denials := sum(isinstance(part, Not) for part in parts)) < len(parts):
            body = disjunction(tuple(part for part in parts if not isinstance(part, Not)))
            both = tuple(part.body for part in parts if isinstance(part, Not))
            return premises(Implies(both[0] if denials == 1 else And(both), body))
        case _:
            return []


# -- what the oracle says when it has no answer ----------------------------------------------------------


class TooBigError(Exception):
    """There is more to look at than the budget allows: there is no answer."""


class NotASpecificationError(Exception):
    """The language gives this protocol no meaning."""
