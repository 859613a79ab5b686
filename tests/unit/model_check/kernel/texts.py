"""Obligations and certificates for tests, by hand."""

from __future__ import annotations

from collections.abc import Sequence

NAMES = ("rigid.eve", "rigid.mother", "enum.Phase.DAY", "enum.Phase.NIGHT")
DECLARED = (
    "(declare-sort sort.Person 0)",
    "(declare-datatypes ((sort.Phase 0)) (((enum.Phase.DAY) (enum.Phase.NIGHT))))",
    "(declare-const par.x.Person sort.Person)",
    "(declare-fun rigid.eve () sort.Person)",
    "(declare-fun rigid.mother (sort.Person) sort.Person)",
    "(declare-fun now.phase () sort.Phase)",
    "(declare-fun now.old (sort.Person) Bool)",
    "(declare-fun |now.it rains| () Bool)",
)
ALL_OLD = "(forall ((v.p.Person sort.Person)) (now.old v.p.Person))"
SOME_YOUNG = "(not (now.old (rigid.mother par.x.Person)))"


def obligation(*formulas: str, declared: Sequence[str] = DECLARED) -> str:
    """Return the text of an obligation with these hypotheses, the last of which is the goal."""
    names = [*(f"h {place}" for place in range(len(formulas) - 1)), "goal"]
    head = ("(set-option :produce-unsat-cores true)", "(set-logic ALL)", *declared)
    asserted = (f"(assert (! {formula} :named |{name}|))" for formula, name in zip(formulas, names, strict=True))
    return "\n".join((*head, *asserted, "(check-sat)", "(get-unsat-core)", ""))


PROVED = obligation(ALL_OLD, SOME_YOUNG)
CERTIFICATE = "u 0 i 0 1 f1 e0 u 1 x 2 0 1 0"
