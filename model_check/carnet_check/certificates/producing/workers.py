"""Worker processes that look for certificates: each can be killed at the cost of one answer."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from types import TracebackType
from typing import Self

from carnet_check.certificates.producing.work import Answer, Question, answers
from carnet_command.worker import Lost
from carnet_command.workers import PATIENCE, WorkerPool, only

MEMORY = 4 << 30
"""Bytes of address space that a worker may take."""
Searcher = Callable[[Question], Iterable[Answer]]
"""What a worker runs; a function that a fresh process can import."""


class Workers:
    """A pool of worker processes, to be used as a context manager."""

    def __init__(
        self, jobs: int, *, patience: float = PATIENCE, memory: int = MEMORY, search: Searcher = answers
    ) -> None:
        self._pool = WorkerPool(jobs, patience=patience, memory=memory, keep=False)
        self._search = search

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._pool.__exit__(kind, error, traceback)

    def answers(self, questions: Sequence[Question]) -> Iterator[Answer]:
        """Yield the answers to ``questions``, as they come."""
        for question, said in self._pool.results(self._search, questions, only):
            yield Answer(question, reason=said.reason) if isinstance(said, Lost) else said
