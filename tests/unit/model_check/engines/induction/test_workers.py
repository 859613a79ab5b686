"""Worker processes for Z3: what is asked is answered, in another process, and batches are small enough to share."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from carnet_check.engines.induction.solving import Batch, Question
from carnet_check.engines.induction.workers import BATCH, Workers
from carnet_check.engines.proving.answers import SolverAnswer, SolverOutcome
from carnet_check.exports.smtlib import Declarations, statement
from tests.unit.model_check.small import first

GOAL = statement("goal", first.term, Declarations())


def _batch(count: int) -> Batch:
    return Batch(Declarations(), {}, tuple(Question(f"q{number}", GOAL, (), ()) for number in range(count)))


def _told(batch: Batch) -> list[SolverAnswer]:
    """Answer each question with the process that was asked and how many were asked at once."""
    reason = f"{os.getpid()} {len(batch.questions)}"
    return [SolverAnswer(question.id, SolverOutcome.UNKNOWN, reason=reason) for question in batch.questions]


def test_one_job_is_one_other_process(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)  # workers import nothing from the current folder, and this solver is in this one
    with Workers(1, solver=_told) as workers:
        answers = list(workers.answers(_batch(8)))
    assert [answer.id for answer in answers] == [f"q{number}" for number in range(8)]
    (told,) = {answer.reason for answer in answers}
    assert told.endswith(" 2")
    assert not told.startswith(f"{os.getpid()} ")


@pytest.mark.parametrize(
    ("jobs", "questions", "at_once"),
    [(2, 1, 1), (2, 16, 2), (2, 10_000, BATCH), (8, 64, 2)],
)
def test_each_worker_gets_several_tasks_and_none_gets_too_much(jobs: int, questions: int, at_once: int) -> None:
    assert Workers(jobs, solver=_told)._batch_size(_batch(questions)) == at_once


def test_at_least_one_job_is_needed() -> None:
    with pytest.raises(ValueError, match="at least one job is needed, not 0"):
        Workers(0)
