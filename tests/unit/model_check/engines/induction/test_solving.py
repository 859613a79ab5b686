"""Asking the solver: what counts as an answer, which attempt decides, and what a core names."""

from __future__ import annotations

import itertools
from dataclasses import replace

from carnet_check.engines.induction.solving import Batch, Question, ask, solve
from carnet_check.engines.proving.composition import SolverOutcome
from carnet_check.engines.proving.solver import solver_version
from carnet_check.exports.smtlib import Declarations, Statement, statement
from carnet_spec.language import Formula
from tests.unit.model_check.small import first, second, third

DECLARED = Declarations()


def _said(name: str, formula: Formula) -> Statement:
    return statement(name, formula.term, DECLARED)


HYPOTHESES = {
    "inv:one": _said("inv:one", first),
    "inv:both": _said("inv:both", first & second),
    "inv:beside": _said("inv:beside", third),
}


def _batch(goal: Formula, *attempts: tuple[str, ...], avoid: tuple[str, ...] = (), **options: object) -> Batch:
    question = Question("step/act/goal", _said("goal", ~goal), (_said("guard:own", ~third),), attempts, avoid)
    return Batch(DECLARED, HYPOTHESES, (question,), **options)  # type: ignore[arg-type] # rlimit or minimise


EVERY = ("inv:one", "inv:both")


def test_a_contradiction_is_a_proof_and_names_what_it_used() -> None:
    (answer,) = solve(_batch(second, EVERY))
    assert (answer.outcome, answer.core, answer.attempt) == (SolverOutcome.PROVED, ("inv:both",), 0)


def test_a_model_is_a_refutation_and_has_no_core() -> None:
    (answer,) = solve(_batch(third, EVERY))
    assert (answer.outcome, answer.core) == (SolverOutcome.REFUTED, ())


def test_too_few_hypotheses_refute_nothing_as_long_as_an_attempt_is_left() -> None:
    (answer,) = solve(_batch(second, ("inv:one",), (), EVERY))
    assert (answer.outcome, answer.attempt) == (SolverOutcome.PROVED, 2)


def test_a_proof_from_few_hypotheses_is_a_proof_and_no_more_are_tried() -> None:
    (answer,) = solve(_batch(first, ("inv:one",), ("no such hypothesis",)))
    assert (answer.outcome, answer.attempt, answer.core) == (SolverOutcome.PROVED, 0, ("inv:one",))


def test_an_obligations_own_hypotheses_take_part_where_they_are_named() -> None:
    assert [next(solve(_batch(~third, names))).outcome for names in (("guard:own",), EVERY)] == [
        SolverOutcome.PROVED,
        SolverOutcome.REFUTED,
    ]


def test_a_core_does_without_what_is_to_be_avoided_if_that_is_possible() -> None:
    (avoided,) = solve(_batch(first, EVERY, avoid=("inv:both",), minimise=True))
    assert avoided.core == ("inv:one",)
    (needed,) = solve(_batch(second, EVERY, avoid=("inv:both",), minimise=True))
    assert (needed.outcome, needed.core) == (SolverOutcome.PROVED, ("inv:both",))


def test_without_an_attempt_nothing_is_known() -> None:
    (answer,) = solve(_batch(first))
    assert (answer.outcome, answer.reason) == (SolverOutcome.UNKNOWN, "nothing was tried")


def test_questions_are_answered_in_order_and_know_nothing_of_each_other() -> None:
    contradictory = Question("one", _said("goal", first & ~first), (), ((),))
    harmless = Question("other", _said("goal", first), (), ((),))
    answers = solve(Batch(DECLARED, {}, (contradictory, harmless, contradictory)))
    assert [(answer.id, answer.outcome) for answer in answers] == [
        ("one", SolverOutcome.PROVED),
        ("other", SolverOutcome.REFUTED),
        ("one", SolverOutcome.PROVED),
    ]


def test_the_goal_is_in_no_core() -> None:
    outcome, core, _ = ask("(declare-fun p () Bool)\n(assert (! p :named goal))\n(assert (! (not p) :named |h|))")
    assert (outcome, core) == (SolverOutcome.PROVED, ("h",))


def test_the_solver_says_which_one_it_is() -> None:
    name, version = solver_version().split()
    assert name == "Z3"
    assert version[0].isdigit()


def test_the_budget_counts_for_each_question_anew() -> None:
    """All questions of a batch share a context; what earlier ones took is not taken off."""
    one = _pigeons(6)
    enough = next(units for units in range(1_000, 1_000_000, 1_000) if _proved(replace(one, rlimit=units)) == 1)
    assert enough > 2_000
    many = replace(one, rlimit=2 * enough, questions=one.questions * 8)
    assert _proved(many) == 8


def _proved(batch: Batch) -> int:
    return sum(answer.outcome is SolverOutcome.PROVED for answer in solve(batch))


def _pigeons(count: int) -> Batch:
    """Ask for a proof that so many pigeons do not fit into holes of which there is one less: it takes some work."""
    declared, holes = Declarations(), range(count - 1)
    names = [[f"p{pigeon}.{hole}" for hole in holes] for pigeon in range(count)]
    declared.functions.update((name, f"(declare-fun {name} () Bool)") for row in names for name in row)
    sits = [f"(or {' '.join(row)})" for row in names]
    apart = [f"(not (and {one[hole]} {two[hole]}))" for one, two in itertools.combinations(names, 2) for hole in holes]
    goal = Statement("goal", f"(and {' '.join((*sits, *apart))})", tuple(itertools.chain(*names)))
    return Batch(declared, {}, (Question("pigeons", goal, (), ((),)),))
