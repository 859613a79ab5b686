"""Whether a bond of a composition holds: what one protocol establishes implies what the other one assumes.

A solver decides this for instances of any size. A bond holds only if all of the following is shown; an unknown answer
shows nothing. The premises imply the assumption, translated by the reading. Each premise is needed: without it the
others do not imply the assumption. Each case of the assumption is possible: it has a state that satisfies everything
that is assumed and proved of the other protocol under one of the threat models. The cases are the premises of
implications, and the parts of negated conjunctions. Parts of the assumption may be valid by the reading alone, which is
reported; if all parts are, the bond does not hold.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum

from carnet_check.engines.interface import ComparesFormulas
from carnet_check.engines.registry import able
from carnet_spec.language import terms
from carnet_spec.language.composition import BuiltBond
from carnet_spec.language.notation import show

#: Returns whether named formulas contradict each other, or None if that is unknown.
Contradictory = Callable[[Mapping[str, terms.Term]], bool | None]
GOAL = "goal"


class BondStatus(StrEnum):
    """The possible results for a bond."""

    EQUAL = "equal"  #: Both formulas are equal, up to the names of variables.
    IMPLIED = "implied"
    OPEN = "open"


@dataclass(frozen=True, slots=True)
class Judgement:
    """The result for a bond, why it is open if it is, and which parts of it are valid by the reading alone."""

    bond: str
    standing: BondStatus
    reasons: tuple[str, ...] = ()
    by_reading: tuple[terms.Term, ...] = ()

    @property
    def holds(self) -> bool:
        """Whether the bond holds."""
        return self.standing is not BondStatus.OPEN


def judge(bond: BuiltBond, contradictory: Contradictory | None = None) -> Judgement:
    """Judge ``bond``; by default with the first engine that compares formulas."""
    asked = contradictory or able(ComparesFormulas).contradictory
    goal = terms.conjunction(tuple(bond.read.values()))
    reasons = [*_not_implied(bond, goal, asked), *_not_needed(bond, goal, asked)]
    parts = {part: asked({GOAL: terms.negation(part)}) for part in _conjuncts(goal)}
    by_reading = tuple(part for part, empty in parts.items() if empty)
    reasons += [
        f"the solver does not know whether this holds by the reading alone: {show(part)}"
        for part, empty in parts.items()
        if empty is None
    ]
    if len(by_reading) == len(parts):
        reasons.append("all that is assumed holds by the reading alone")
    reasons += _never_so(bond, goal, asked)
    if reasons:
        return Judgement(bond.bond.name, BondStatus.OPEN, tuple(reasons), by_reading)
    same = conjunct_set(bond.read.values()) == conjunct_set(bond.premises.values())
    return Judgement(bond.bond.name, BondStatus.EQUAL if same else BondStatus.IMPLIED, (), by_reading)


def _not_implied(bond: BuiltBond, goal: terms.Term, asked: Contradictory) -> Iterator[str]:
    """Yield the reasons why it is not shown that the premises imply the goal."""
    implied = asked({**bond.premises, GOAL: terms.negation(goal)})
    if implied is None:
        yield "the solver does not know whether what is established implies what is assumed"
    elif not implied:
        yield "what is established does not imply what is assumed"


def _not_needed(bond: BuiltBond, goal: terms.Term, asked: Contradictory) -> Iterator[str]:
    """Yield each premise that is not shown to be needed."""
    for name in bond.premises:
        others = {other: term for other, term in bond.premises.items() if other != name}
        implied = asked({**others, GOAL: terms.negation(goal)})
        if implied is None:
            yield f"the solver does not know whether {name} is needed"
        elif implied:
            yield f"{name} is not needed"


def _never_so(bond: BuiltBond, goal: terms.Term, asked: Contradictory) -> Iterator[str]:
    """Yield each case of the goal that is not shown to be possible together with everything that is proved."""
    for case in dict.fromkeys(cases(goal)):
        answers = {asked({**world, GOAL: case}) for world in bond.hypotheses_by_threat.values()}
        if False not in answers:
            why = "the solver does not know whether it can be so" if None in answers else "it is never so"
            yield f"says nothing that is known to matter: {why} that {show(case)}"


def cases(formula: terms.Term) -> Iterator[terms.Term]:
    """Yield, for each conclusion of ``formula``, the condition under which it applies.

    A negated conjunction concludes that one part is false if the others are true.
    """
    match formula:
        case terms.And(parts):
            for part in parts:
                yield from cases(part)
        case terms.Implies(premise, conclusion):
            yield from (terms.conjunction((premise, case)) for case in cases(conclusion))
        case terms.Forall(bound, body):
            yield from (case if case == terms.TRUE else terms.Exists(bound, case) for case in cases(body))
        case terms.Not(terms.And(parts)):
            yield terms.disjunction(
                tuple(terms.conjunction(parts[:place] + parts[place + 1 :]) for place in range(len(parts)))
            )
        case _:
            yield terms.TRUE


def conjunct_set(formulas: Iterable[terms.Term]) -> frozenset[terms.Term]:
    """Return ``formulas`` as a set of conjuncts whose variables are named by their binders.

    Equal sets are equivalent formulas; equivalent formulas may have different sets.
    """
    return frozenset(_named(part, {}) for formula in formulas for part in _conjuncts(formula))


def _conjuncts(formula: terms.Term) -> Iterator[terms.Term]:
    match formula:
        case terms.And(parts):
            for part in parts:
                yield from _conjuncts(part)
        case terms.Forall(bound, body):
            for part in _conjuncts(body):
                yield (
                    terms.Forall((*bound, *part.bound), part.body)
                    if isinstance(part, terms.Forall)
                    else terms.Forall(bound, part)
                )
        case terms.Not(terms.Or(parts)):
            for part in parts:
                yield from _conjuncts(terms.negation(part))
        case _:
            yield formula


def _named(term: terms.Term, names: Mapping[terms.Var, terms.Var]) -> terms.Term:
    match term:
        case terms.Var():
            return names.get(term, term)
        case terms.Forall(bound, body) | terms.Exists(bound, body):
            depth = len(names)
            new = tuple(terms.Var(f"#{depth + place}", var.sort) for place, var in enumerate(bound))
            return type(term)(new, _named(body, {**names, **dict(zip(bound, new, strict=True))}))
        case _:
            return terms.rebuild(term, lambda child: _named(child, names))
