"""A bond holds if it is implied, each premise is needed, and it says something; what is unknown never counts."""

from __future__ import annotations

import pytest

from carnet_check.engines.interface import ComparesFormulas
from carnet_check.engines.registry import able
from carnet_check.verification.composition import BondStatus, cases, conjunct_set, judge
from carnet_spec.language import Formula, exists, false, forall, implies
from carnet_spec.language.interpretation import Interpretation
from carnet_spec.language.notation import show
from tests.fixtures.composed import Guest, Visitor, composed, inside, invited, let_in, listed, masked, thief

BONDS = {
    "the same formula": (composed("claim seen"), BondStatus.EQUAL, ()),
    "by two": (composed("claim known", "axiom faces"), BondStatus.IMPLIED, ()),
    "by a lemma": (composed("lemma same_again", "assumption B1"), BondStatus.IMPLIED, ()),
    "one is missing": (
        composed("claim known"),
        BondStatus.OPEN,
        ("what is established does not imply what is assumed",),
    ),
    "one is too many": (composed("claim seen", "claim known"), BondStatus.OPEN, ("claim known is not needed",)),
    "either of two": (
        composed("claim seen", "claim known", "axiom faces"),
        BondStatus.OPEN,
        ("claim seen is not needed", "claim known is not needed", "axiom faces is not needed"),
    ),
}


@pytest.mark.parametrize("name", BONDS)
def test_a_bond_is_judged(name: str) -> None:
    composition, standing, reasons = BONDS[name]
    (bond,) = composition.built()
    judgement = judge(bond)
    assert (judgement.standing, judgement.reasons) == (standing, reasons)
    assert judgement.holds is (standing is not BondStatus.OPEN)


def test_a_bond_that_says_nothing_does_not_hold() -> None:
    reading = Interpretation("a guest is a visitor", sorts={Guest: Visitor})

    @reading.reads(invited)
    def never(v: Visitor) -> Formula:
        return listed(v) & masked(v)

    reading.renames(thief, masked)
    (bond,) = composed("axiom faces", reading=reading).built()
    judgement = judge(bond)
    assert judgement.standing is BondStatus.OPEN
    assert judgement.reasons == (
        "says nothing that is known to matter: it is never so that ∃g: Visitor. listed(g) ∧ masked(g)",
    )


def test_what_holds_by_the_reading_alone_is_said() -> None:
    """Of three that nobody is, as far as the reading goes, nothing is established."""
    reading = Interpretation("a guest is a visitor", sorts={Guest: Visitor})

    @reading.reads(invited)
    def somebody(v: Visitor) -> Formula:
        return let_in(v)

    @reading.reads(thief)
    def nobody(v: Visitor) -> Formula:
        return false

    (bond,) = composed("claim seen", reading=reading).built()
    judgement = judge(bond)
    assert judgement.standing is BondStatus.OPEN
    assert "all that is assumed holds by the reading alone" in judgement.reasons
    assert [show(part) for part in judgement.by_reading] == ["∀g: Visitor. let_in(g) → ¬false"]


@pytest.mark.parametrize("unknown", range(4))
def test_what_is_unknown_never_counts(unknown: int) -> None:
    """The questions are in this order: implied, needed, by the reading alone, possible."""
    good = [True, False, False, False]
    answers = iter([None if place == unknown else each for place, each in enumerate(good)])
    (bond,) = composed("claim seen").built()
    judgement = judge(bond, lambda _: next(answers))
    assert not judgement.holds
    assert len(judgement.reasons) == 1
    assert "the solver does not know whether " in judgement.reasons[0]


def test_a_solver_that_gives_up_leaves_a_bond_open() -> None:
    """Its own answers count as unknown, too, and not as a contradiction that was not found."""
    (bond,) = composed("claim known", "axiom faces").built()
    engine = able(ComparesFormulas)
    short = engine.limited(1)
    assert short.contradictory(dict(bond.worlds["street"])) is None
    assert not judge(bond, short.contradictory).holds
    assert judge(bond, engine.contradictory).holds


def test_the_cases_of_a_formula_are_what_its_conclusions_need() -> None:
    said = forall(
        lambda g: implies(invited(g), inside(g) & implies(inside(g), ~thief(g))) & ~(thief(g) & inside(g)), Guest
    )
    assert [show(case) for case in cases(said.term)] == [
        "∃g: Guest. invited(g)",
        "∃g: Guest. invited(g) ∧ inside(g)",
        "∃g: Guest. inside(g) ∨ thief(g)",
    ]


def test_formulas_are_the_same_up_to_the_names_of_variables() -> None:
    one = forall(lambda a: implies(let_in(a), exists(lambda b: listed(b) & (a != b), Visitor)), Visitor)
    other = forall(lambda x: implies(let_in(x), exists(lambda y: listed(y) & (x != y), Visitor)), Visitor)
    swapped = forall(lambda x: implies(let_in(x), exists(lambda y: listed(x) & (x != y), Visitor)), Visitor)
    assert conjunct_set([one.term]) == conjunct_set([other.term])
    assert conjunct_set([one.term]) != conjunct_set([swapped.term])
    both = forall(lambda x: implies(let_in(x), listed(x)) & implies(masked(x), listed(x)), Visitor)
    apart = (
        forall(lambda y: implies(masked(y), listed(y)), Visitor),
        forall(lambda z: implies(let_in(z), listed(z)), Visitor),
    )
    assert conjunct_set([both.term]) == conjunct_set(each.term for each in apart)
