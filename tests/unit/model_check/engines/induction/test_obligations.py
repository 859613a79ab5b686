"""Which obligations there are, and what they say."""

from __future__ import annotations

import pytest
import z3

from carnet_check.engines.induction import obligations, prove
from carnet_check.exports.smtlib import Declarations, quoted
from carnet_spec.language import (
    Draft,
    Formula,
    Individual,
    Kind,
    Role,
    Sort,
    SpecificationError,
    Step,
    Symbol,
    forall,
    relation,
)
from carnet_spec.language.notation import show
from carnet_spec.language.terms import BOOL
from tests.unit.model_check.engines.induction.lessons import blamed, draft, knows, teacher
from tests.unit.model_check.small import Key, claimed, drafted, paired

LESSON = draft().protocol()


class Int(Individual):
    """A sort with an unfortunate name."""


def _ids(threat: str | None = None) -> list[str]:
    return [each.id for each in obligations(LESSON, LESSON.threat(threat) if threat else None)]


def test_a_pair_is_left_out_if_the_action_changes_nothing_that_the_invariant_reads() -> None:
    assert "step/tell/quiet" in _ids()
    assert "step/learn/secrecy" in _ids()
    assert "step/tell/secrecy" not in _ids()
    assert "step/learn/told_are_honest" not in _ids()


def test_every_invariant_has_an_obligation_for_the_first_state() -> None:
    assert {id for id in _ids() if id.startswith("init/")} == {
        f"init/{name}" for name in ("secrecy", "quiet", "wrong", "told_are_honest")
    }


def test_what_holds_under_one_threat_model_only_is_no_hypothesis_of_the_general_proof() -> None:
    assert not [id for id in _ids() if "no-blame" in id]
    assert not [id for id in _ids("anyone") if "no-blame" in id]
    assert "step/blame/no-blame" in _ids("honest")
    general = obligations(LESSON)[-1]
    assert "inv:no-blame" not in general.shared
    assert not [name for name in general.shared if name.startswith("threat:")]


def test_a_lemma_can_be_limited_to_a_threat_model() -> None:
    limited = draft()

    @limited.lemma_under("honest")
    def nobody_is_blamed() -> Formula:
        return ~blamed(teacher)

    protocol = limited.protocol()
    assert "init/nobody_is_blamed" not in {each.id for each in obligations(protocol)}
    assert "init/nobody_is_blamed" in {each.id for each in obligations(protocol, protocol.threat("honest"))}


def test_the_goal_is_the_precondition_at_arbitrary_constants() -> None:
    (goal,) = [each.goal for each in obligations(LESSON) if each.id == "step/tell/quiet"]
    assert show(goal) == "mood = CROSS → ¬(told($any.x.Person) ∨ $any.x.Person = $par.to.Person)"


def draw_two(step: Step, one: Key, other: Key) -> None:
    step.fresh(one)
    step.fresh(other)
    step.insert(paired(one, other))


def test_values_that_one_step_draws_differ() -> None:
    protocol = claimed(drafted(draw_two), apart=lambda: forall(lambda k: ~paired(k, k), Key))
    step = next(each for each in obligations(protocol) if each.action is not None)
    assert show(step.own["fresh:values differ"]) == "$par.one.Key ≠ $par.other.Key"
    assert prove(protocol, jobs=1).claim("apart").proved


def test_a_file_stands_on_its_own_and_says_what_it_is() -> None:
    (obligation,) = [each for each in obligations(LESSON) if each.id == "step/tell/told_are_honest"]
    text = obligation.smtlib()
    assert text.startswith("; lesson, variant main\n; obligation step/tell/told_are_honest")
    assert "(set-logic ALL)" in text
    assert ":named guard:screened" in text.replace("|", "")
    assert "(get-unsat-core)" in text
    solver = z3.Solver(ctx=z3.Context())
    solver.from_string(text.partition("(check-sat)")[0])
    assert str(solver.check()) == "unsat"


def test_words_of_smt_lib_are_ordinary_names_in_a_specification() -> None:
    told = relation("and", Int, kind=Kind.MESSAGE)
    clumsy = Draft("clumsy", "Clumsy")

    @clumsy.action(by=Role("writer"), says="s", source="s")
    def let(step: Step, forall: Int) -> None:
        step.insert(told(forall), name="odd name: (1)")

    @clumsy.claim(name="select store", sentence="s", requirement="R", source="s", under=())
    def _(exists: Int) -> Formula:
        return ~told(exists)

    for each in obligations(clumsy.protocol()):
        solver = z3.Solver(ctx=z3.Context())
        solver.from_string(each.smtlib().partition("(check-sat)")[0])
        assert str(solver.check()) == ("unsat" if each.action is None else "sat")


def test_a_name_that_smt_lib_cannot_write_is_refused() -> None:
    with pytest.raises(SpecificationError, match="contains"):
        quoted("a|b")


def test_one_name_means_one_thing() -> None:
    declarations = Declarations()
    declarations.sort(Sort("Phase", ("A", "B")))
    with pytest.raises(SpecificationError, match="Phase"):
        declarations.sort(Sort("Phase", ("A",)))
    declarations.symbol(Symbol("told", (), BOOL, Kind.STATE, mutable=True))
    with pytest.raises(SpecificationError, match="told"):
        declarations.symbol(Symbol("told", (Sort("Key"),), BOOL, Kind.STATE, mutable=True))


def test_two_invariants_of_one_name_are_refused() -> None:
    twice = draft()

    @twice.lemma
    def quiet() -> Formula:
        return ~knows(teacher)

    with pytest.raises(SpecificationError, match="quiet"):
        obligations(twice.protocol())
