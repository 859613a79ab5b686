"""Worker processes for the solver: many questions to a task, killable, deterministic in what they answer.

A worker that does not come back is killed; the questions it held are asked again one by one, and the one that does not
come back even then is ``unknown``. The wall-clock limit exists for that alone: budgets are counted in work.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, as_completed
from dataclasses import replace
from types import TracebackType
from typing import TYPE_CHECKING, Self

from carnet_check.engines.induction.solving import Batch, SolverAnswer, SolverOutcome, solve
from carnet_command.interrupts import held_back
from carnet_command.processes import isolated_spawn

if TYPE_CHECKING:
    from pebble import ProcessPool

BATCH = 40
"""The most questions in one task."""
PATIENCE = 120.0
"""Seconds after which a worker counts as stuck."""


Solver = Callable[[Batch], list[SolverAnswer]]
"""What a worker runs; a function that a fresh process can import."""


class Workers:
    """A pool of solver processes, to be used as a context manager; with one job everything stays in this process."""

    def __init__(self, jobs: int = 2, *, patience: float = PATIENCE, solver: Solver = solve) -> None:
        if jobs < 1:
            raise ValueError(f"at least one job is needed, not {jobs}")
        self.jobs = jobs
        self._patience = patience
        self._solve = solver
        self._pool: ProcessPool | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        _error: BaseException | None,
        _traceback: TracebackType | None,
    ) -> None:
        if self._pool is None:
            return
        if kind is None:
            self._pool.close()  # type: ignore[no-untyped-call] # pebble has no types
        else:
            self._pool.stop()  # type: ignore[no-untyped-call] # pebble has no types
        self._pool.join()
        self._pool = None

    def answers(self, batch: Batch) -> Iterator[SolverAnswer]:
        """Yield the answers to the questions of ``batch``, as they come."""
        if self.jobs == 1:
            for question in batch.questions:
                yield from self._solve(replace(batch, questions=(question,)))
            return
        lost: list[Batch] = []
        for part, future in self._scheduled(_split(batch, self._batch_size(batch))):
            answers = _result(future)
            if answers is None:
                lost.append(part)
            else:
                yield from answers
        for part in lost:
            for single, future in self._scheduled(_split(part, 1)):
                (question,) = single.questions
                reason = f"the solver did not come back within {self._patience:g} s"
                yield from _result(future) or [SolverAnswer(question.id, SolverOutcome.UNKNOWN, reason=reason)]

    def _batch_size(self, batch: Batch) -> int:
        """Give every worker several tasks, so that a slow one does not keep the others waiting for long."""
        return max(1, min(BATCH, len(batch.questions) // (4 * self.jobs)))

    def _scheduled(self, batches: Sequence[Batch]) -> Iterator[tuple[Batch, Future[list[SolverAnswer]]]]:
        pool = self._started()
        with held_back():
            tasks: dict[Future[list[SolverAnswer]], Batch] = {
                pool.schedule(self._solve, args=(batch,), timeout=self._patience): batch for batch in batches
            }
        for future in as_completed(tasks):
            yield tasks[future], future

    def _started(self) -> ProcessPool:
        if self._pool is None:
            from pebble import ProcessPool

            self._pool = ProcessPool(max_workers=self.jobs, context=isolated_spawn())
        return self._pool


def _split(batch: Batch, size: int) -> list[Batch]:
    questions = batch.questions
    return [replace(batch, questions=questions[start : start + size]) for start in range(0, len(questions), size)]


def _result(future: Future[list[SolverAnswer]]) -> list[SolverAnswer] | None:
    """Return the answers, or nothing if the worker was killed or died."""
    from pebble import ProcessExpired

    try:
        return future.result()
    except (TimeoutError, ProcessExpired):
        return None
