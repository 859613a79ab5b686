"""Worker processes for Z3: many questions to a task, and whatever becomes of one, the others are answered.

What a worker that was lost had not answered is asked again one by one, and what is lost even then is ``unknown``.
What was answered before, and is in the cache if there is one, is not asked.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from types import TracebackType
from typing import Self

from carnet_check.cache import Answers
from carnet_check.engines.induction.solving import Answer, Batch, Question, ask, solve
from carnet_check.engines.proving.answers import SolverAnswer, SolverOutcome
from carnet_check.engines.proving.remembering import keep, known
from carnet_check.exports.smtlib import problem
from carnet_command.workers import Lost, Pool, WorkerPool, only

BATCH = 40
"""The most questions in one task."""


Solver = Callable[[Batch], Iterable[SolverAnswer]]
"""What a worker runs; a function that a fresh process can import."""


class Workers:
    """Solver processes, to be used as a context manager.

    Args:
        jobs: how many.
        pool: other processes than those of this machine.
        answers: what was answered before.
        solver: what they run.
    """

    def __init__(
        self, jobs: int = 2, *, pool: Pool | None = None, answers: Answers | None = None, solver: Solver | None = None
    ) -> None:
        self._pool = pool or WorkerPool(jobs)
        self._before = answers
        self._solve = solver or solve

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._pool.__exit__(kind, error, traceback)

    def answers(self, batch: Batch) -> Iterator[SolverAnswer]:
        """Yield the answers to the questions of ``batch``, as they come."""
        if self._before is None or batch.minimise:
            yield from self._asked(batch)
            return
        texts = {question.id: _text(batch, question) for question in batch.questions}
        names = {question.id: question.attempts[-1] for question in batch.questions}
        found = {id: known(self._before, id, text, batch.rlimit, names[id]) for id, text in texts.items()}
        yield from (answer for answer in found.values() if answer is not None)
        rest = replace(batch, questions=tuple(each for each in batch.questions if found[each.id] is None))
        for answer in self._asked(rest):
            keep(self._before, answer, texts[answer.id], batch.rlimit)
            yield answer

    def _asked(self, batch: Batch) -> Iterator[SolverAnswer]:
        lost: dict[str, str] = {}
        for again in (False, True):
            asked = replace(batch, questions=tuple(q for q in batch.questions if q.id in lost)) if again else batch
            lost = {question.id: "" for question in asked.questions}
            for part, answer in self._pool.results(self._solve, _split(asked, 1 if again else self._batch_size(asked))):
                if isinstance(answer, Lost):
                    lost.update((question.id, answer.reason) for question in part.questions if question.id in lost)
                else:
                    del lost[answer.id]
                    yield answer
        yield from (SolverAnswer(id, SolverOutcome.UNKNOWN, reason=reason) for id, reason in lost.items())

    def _batch_size(self, batch: Batch) -> int:
        """Give every worker several tasks, so that a slow one does not keep the others waiting for long."""
        return max(1, min(BATCH, len(batch.questions) // (4 * self._pool.jobs)))


def ask_apart(text: str) -> Answer:
    """Ask Z3 in a worker process; see :func:`~carnet_check.engines.induction.solving.ask`."""
    with WorkerPool(1) as pool:
        ((_, answer),) = pool.results(_asked, [text], only)
    return (SolverOutcome.UNKNOWN, (), answer.reason) if isinstance(answer, Lost) else answer


def _asked(text: str) -> list[Answer]:
    return [ask(text)]


def _split(batch: Batch, size: int) -> Sequence[Batch]:
    questions = batch.questions
    return [replace(batch, questions=questions[start : start + size]) for start in range(0, len(questions), size)]


def _text(batch: Batch, question: Question) -> str:
    """Return all that the answer to a question depends on: its text with every hypothesis, and which are tried first.

    The last attempt has all hypotheses, and the others are parts of it.
    """
    own = {said.name: said for said in question.own}
    statements = [own.get(name) or batch.hypotheses[name] for name in question.attempts[-1]]
    return json.dumps(question.attempts) + problem(batch.declarations, [*statements, question.goal])
