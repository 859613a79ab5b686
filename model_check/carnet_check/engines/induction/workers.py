"""Worker processes for Z3: several questions to a task, and whatever becomes of one, the others are answered.

What a worker that was lost had not answered is asked again one by one, and what is lost even then is ``unknown``.
What was answered before, and is in the cache if there is one, is not asked, and neither is a text that was just proved:
most obligations of a variant are those of another, word for word.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from types import TracebackType
from typing import Self

from carnet_check.cache import Answers
from carnet_check.engines.induction.solving import Answer, Batch, Question, ask, attempt_text, solve
from carnet_check.engines.proving.composition import SolverAnswer, SolverOutcome
from carnet_check.engines.proving.solver import keep, known
from carnet_check.exports.obligation_text import digest
from carnet_command.worker import Lost
from carnet_command.workers import Pool, WorkerPool, only

BATCH = 8
"""The most questions in one task, however many workers there are: what is asked together may share out a core."""
PROVED = SolverOutcome.PROVED


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
        self._proved: dict[str, tuple[str, ...]] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._pool.__exit__(kind, error, traceback)

    def answers(self, batch: Batch) -> Iterator[SolverAnswer]:
        """Yield the answers to the questions of ``batch``, as they come; equal texts are asked once."""
        if batch.minimise:
            yield from self._asked(batch)
            return
        texts = {each.id: digest(attempt_text(batch, each, each.attempts[0])) for each in batch.questions}
        firsts: dict[str, Question] = {}
        for each in batch.questions:
            if texts[each.id] not in self._proved:
                firsts.setdefault(texts[each.id], each)
        for answer in self._unless_kept(replace(batch, questions=tuple(firsts.values()))):
            if answer.outcome is PROVED and answer.attempt == 0:
                self._proved[texts[answer.id]] = answer.core
            yield answer
        rest = [each for each in batch.questions if firsts.get(texts[each.id]) is not each]
        for each in rest:
            if texts[each.id] in self._proved:
                yield SolverAnswer(each.id, PROVED, self._proved[texts[each.id]], attempt=0)
        left = tuple(each for each in rest if texts[each.id] not in self._proved)
        yield from self._unless_kept(replace(batch, questions=left))

    def _unless_kept(self, batch: Batch) -> Iterator[SolverAnswer]:
        """Yield the answers, those first that the cache has."""
        if self._before is None:
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
            for part, answer in self._pool.results(self._solve, _split(asked, 1 if again else BATCH)):
                if isinstance(answer, Lost):
                    lost.update((question.id, answer.reason) for question in part.questions if question.id in lost)
                else:
                    del lost[answer.id]
                    yield answer
        yield from (SolverAnswer(id, SolverOutcome.UNKNOWN, reason=reason) for id, reason in lost.items())


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
    return json.dumps(question.attempts) + attempt_text(batch, question, question.attempts[-1])
