"""Worker processes: what is asked is answered, in this process for one job, and batches are small enough to share."""

from __future__ import annotations

import os

import pytest

from carnet_check.engines.induction.solving import Batch, Question, SolverAnswer, SolverOutcome
from carnet_check.engines.induction.workers import BATCH, Workers
from carnet_check.exports.smtlib import Declarations, statement
from tests.unit.model_check.small import first

GOAL = statement("goal", first.term, Declarations())


def _batch(count: int) -> Batch:
    return Batch(Declarations(), {}, tuple(Question(f"q{number}", GOAL, (), ()) for number in range(count)))


def _told(batch: Batch) -> list[SolverAnswer]:
    """Answer each question with the process that was asked and how many were asked at once."""
    reason = f"{os.getpid()} {len(batch.questions)}"
    return [SolverAnswer(question.id, SolverOutcome.UNKNOWN, reason=reason) for question in batch.questions]


def test_one_job_stays_in_this_process_and_asks_one_by_one() -> None:
    with Workers(1, solver=_told) as workers:
        answers = list(workers.answers(_batch(3)))
    assert [answer.id for answer in answers] == ["q0", "q1", "q2"]
    assert {answer.reason for answer in answers} == {f"{os.getpid()} 1"}


@pytest.mark.parametrize(
    ("jobs", "questions", "at_once"),
    [(2, 1, 1), (2, 16, 2), (2, 10_000, BATCH), (8, 64, 2)],
)
def test_each_worker_gets_several_tasks_and_none_gets_too_much(jobs: int, questions: int, at_once: int) -> None:
    assert Workers(jobs, solver=_told)._batch_size(_batch(questions)) == at_once


def test_at_least_one_job_is_needed() -> None:
    with pytest.raises(ValueError, match="at least one job is needed, not 0"):
        Workers(0)
