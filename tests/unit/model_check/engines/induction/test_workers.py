"""Worker processes for Z3: what is asked is answered, in another process, and batches are small enough to share."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import pytest

from carnet_check.engines.induction.solving import BATCH, Batch, Question, Workers
from carnet_check.engines.proving.composition import SolverAnswer, SolverOutcome
from carnet_check.exports.smtlib import Declarations, Statement, statement
from tests.unit.model_check.small import first

GOAL = statement("goal", first.term, Declarations())


def _batch(count: int) -> Batch:
    """Make questions whose texts differ, with one hypothesis or none."""
    own = [(Statement(f"own:{number}", "true", ()),) for number in range(count)]
    questions = (Question(f"q{number}", GOAL, said, ((said[0].name,), ())) for number, said in enumerate(own))
    return Batch(Declarations(), {}, tuple(questions))


def _told(batch: Batch) -> list[SolverAnswer]:
    """Answer each question with the process that was asked and how many were asked at once."""
    reason = f"{os.getpid()} {len(batch.questions)}"
    return [SolverAnswer(question.id, SolverOutcome.UNKNOWN, reason=reason) for question in batch.questions]


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Leave the folder of these solvers: workers import nothing from the current one."""
    monkeypatch.chdir(tmp_path)


def test_one_job_is_one_other_process() -> None:
    with Workers(1, solver=_told) as workers:
        answers = list(workers.answers(_batch(8)))
    assert [answer.id for answer in answers] == [f"q{number}" for number in range(8)]
    (told,) = {answer.reason for answer in answers}
    assert told.endswith(" 8")
    assert not told.startswith(f"{os.getpid()} ")


@pytest.mark.parametrize("jobs", [1, 2])
def test_what_is_asked_together_does_not_depend_on_the_workers(jobs: int) -> None:
    with Workers(jobs, solver=_told) as workers:
        answers = list(workers.answers(_batch(BATCH + 3)))
    assert sorted(answer.reason.split()[1] for answer in answers) == ["3"] * 3 + [str(BATCH)] * BATCH


def _proving(batch: Batch) -> list[SolverAnswer]:
    """Prove what is asked at the first attempt, but for the questions that are called so."""
    return [_proof(question.id, len(batch.questions)) for question in batch.questions]


def _proof(id: str, asked: int) -> SolverAnswer:
    if id.startswith("late"):
        return SolverAnswer(id, SolverOutcome.PROVED, ("inv:other",), attempt=1, reason=str(asked))
    if id.startswith("never"):
        return SolverAnswer(id, SolverOutcome.REFUTED, attempt=1, reason=str(asked))
    return SolverAnswer(id, SolverOutcome.PROVED, ("own:0",), attempt=0, reason=str(asked))


def _same(*ids: str) -> Batch:
    """Make questions that begin with one text, and end with texts of their own."""
    (question,) = _batch(1).questions
    return replace(_batch(1), questions=tuple(replace(question, id=id) for id in ids))


def test_a_text_that_was_proved_is_not_asked_again() -> None:
    with Workers(1, solver=_proving) as workers:
        first, second = workers.answers(_same("first", "second"))
        (third,) = workers.answers(_same("third"))
    assert first.reason == "1"
    assert (second, third) == tuple(
        SolverAnswer(id, SolverOutcome.PROVED, ("own:0",), attempt=0) for id in ("second", "third")
    )


@pytest.mark.parametrize("kind", ["late", "never"])
def test_what_took_more_than_its_first_text_says_nothing_of_another_question(kind: str) -> None:
    with Workers(1, solver=_proving) as workers:
        answers = {each.id: each for each in workers.answers(_same(kind, f"{kind} too", "first"))}
    assert set(answers) == {kind, f"{kind} too", "first"}
    assert [answers[id].attempt for id in (kind, f"{kind} too", "first")] == [1, 1, 0]


def test_texts_that_differ_in_a_declaration_alone_are_two() -> None:
    """The same words may speak of other sorts in another protocol."""
    (question,) = _batch(1).questions
    said = GOAL._replace(symbols=("now.f",))
    asked = []
    for sort in ("sort.A", "sort.B"):
        declarations = Declarations()
        declarations.functions["now.f"] = f"(declare-fun now.f ({sort}) Bool)"
        asked.append(Batch(declarations, {}, (replace(question, goal=said),)))
    with Workers(1, solver=_proving) as workers:
        reasons = [answer.reason for batch in asked for answer in workers.answers(batch)]
    assert reasons == ["1", "1"]


def test_at_least_one_job_is_needed() -> None:
    with pytest.raises(ValueError, match="at least one job is needed, not 0"):
        Workers(0)
