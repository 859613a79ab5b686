"""Worker processes: killable, bound in memory, and none takes another one along.

Where one is lost, what it had not answered is reported, and a new worker goes on with the rest. The limit in seconds
exists for that alone: budgets are counted in work.

A worker that cannot be forked takes some 0.4 s to start, so a few that have nothing to do are kept until this process
ends. A worker starts no workers: what is asked there is answered there, and the process that started it can kill it.
"""

from __future__ import annotations

import math
import time
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from multiprocessing.connection import wait
from types import TracebackType
from typing import Any, Final, Generic, Self

from carnet_command.interrupts import defer_interrupts
from carnet_command.worker import Answer, End, Lost, Part, StartNotice, Worker, answered_here, is_one, kind_of

PATIENCE: Final = 120.0
"""Seconds without an answer after which a worker counts as stuck."""
MEMORY: Final = 2 * 1024**3
"""Bytes of address space that a worker may have beside what it begins with; a typical one needs a tenth of that."""
KEPT: Final = 2
"""How many workers without work are kept."""

IsLast = Callable[[Part, Answer], bool]
"""Says whether an answer is the last one of its part."""


def only(_part: object, _answer: object) -> bool:
    """Say that an answer is the last one of its part: it has no other."""
    return True


@dataclass(slots=True)
class Work(Generic[Part]):
    """A part that a worker is at, and whether it has given the last answer."""

    part: Part
    complete: bool = False

    def awaits(self, said: Any, last: IsLast[Part, Any] | None) -> bool:
        """Whether anybody waits for what was said: nothing is lost with a worker that has given the last answer."""
        if isinstance(said, Lost):
            return not self.complete
        self.complete = self.complete or (last is not None and last(self.part, said))
        return True


class Pool(ABC):
    """Something that answers parts of the work in processes that can be lost, to be used as a context manager.

    Attributes:
        jobs: how many parts are worked on at once.
    """

    jobs: int

    def __enter__(self) -> Self:
        return self

    @abstractmethod
    def __exit__(
        self, kind: type[BaseException] | None, _error: BaseException | None, _traceback: TracebackType | None
    ) -> None:
        """End what is still running."""

    @abstractmethod
    def results(
        self,
        function: Callable[[Part], Iterable[Answer]],
        parts: Iterable[Part],
        last: IsLast[Part, Answer] | None = None,
    ) -> Iterator[tuple[Part, Answer | Lost]]:
        """Yield, as they come, the answers of ``function`` to each of ``parts``; after a lost one, none of that part.

        Args:
            function: one that a fresh process can import.
            parts: what it is called with, once each; the next one is made when there is somebody to take it.
            last: knows the last answer of a part, which nothing is lost after. Without it, a part of which all answers
                have come may be reported as lost, since only its worker knows that these are all.

        Raises:
            Exception: what ``function`` raised.
        """


class WorkerPool(Pool):
    """Up to ``jobs`` processes of this machine.

    Args:
        jobs: how many.
        patience: seconds without an answer after which one counts as stuck.
        memory: bytes of address space that one may have; ``None`` where the work itself keeps within a bound.
        keep: whether some may be kept when they have nothing to do; not if they remember what can change.
    """

    def __init__(
        self, jobs: int = 2, *, patience: float = PATIENCE, memory: int | None = MEMORY, keep: bool = True
    ) -> None:
        if jobs < 1:
            raise ValueError(f"at least one job is needed, not {jobs}")
        self.jobs = jobs
        self.patience = patience
        self.memory = memory
        self.keep = keep
        self._idle: list[Worker] = []

    def __exit__(
        self,
        kind: type[BaseException] | None,
        _error: BaseException | None,
        _traceback: TracebackType | None,
    ) -> None:
        while self._idle:
            worker = self._idle.pop()
            if kind is None and self.keep and len(_kept) < KEPT:
                _kept.append(worker)
            else:
                worker.end()

    def results(
        self,
        function: Callable[[Part], Iterable[Answer]],
        parts: Iterable[Part],
        last: IsLast[Part, Answer] | None = None,
    ) -> Iterator[tuple[Part, Answer | Lost]]:
        """Yield the answers of processes of this machine; see :meth:`Pool.results`."""
        under_way = PendingWork(self, function, parts, last)
        try:
            yield from under_way.results()
        finally:
            under_way.end()

    def begun(
        self,
        function: Callable[[Part], Iterable[Answer]],
        parts: Iterable[Part],
        last: IsLast[Part, Answer] | None = None,
    ) -> BackgroundWork[Part, Answer]:
        """Return the same answers, to be found while this process does something else; see :meth:`Pool.results`."""
        return BackgroundWork(self, function, parts, last)

    def asked(self, function: Callable[[Part], Iterable[Any]], part: Part) -> Worker:
        """Ask a worker that is there, or a new one."""
        shared = _kept if self.keep else []
        while self._idle or shared:
            worker = (self._idle or shared).pop()
            if worker.kind == kind_of(self.memory) and worker.ask(function, part):
                return worker
            worker.end()
        worker = Worker(self.memory)
        worker.ask(function, part)
        return worker

    def rests(self, worker: Worker) -> None:
        """Keep a worker that has nothing to do for the next part."""
        self._idle.append(worker)


class PendingWork(Generic[Part, Answer]):
    """Parts that the workers of a pool are at, and those that wait for one."""

    def __init__(
        self,
        pool: WorkerPool,
        function: Callable[[Part], Iterable[Answer]],
        parts: Iterable[Part],
        last: IsLast[Part, Answer] | None,
    ) -> None:
        self._pool, self._function, self._last = pool, function, last
        self._waiting = iter(parts)
        self._said: deque[tuple[Part, Answer | Lost]] = deque()
        self._error: Exception | None = None
        self.busy: dict[Worker, Work[Part]] = {}

    def results(self) -> Iterator[tuple[Part, Answer | Lost]]:
        """Yield what was answered, and everything else as it comes.

        Raises:
            Exception: what a worker raised.
        """
        if is_one():
            yield from answered_here(self._function, self._waiting)
            return
        while True:
            while self._said:
                yield self._said.popleft()
            if self._error is not None:
                raise self._error
            self.go_on()
            if not self.busy:
                return
            _hear(self)

    def go_on(self) -> None:
        """Give the next parts to workers that have none."""
        if self._error is None:
            for part in islice(self._waiting, self._pool.jobs - len(self.busy)):
                with defer_interrupts():
                    self.busy[self._pool.asked(self._function, part)] = Work(part)

    def hear(self, worker: Worker) -> None:
        """Take note of what a worker said."""
        said, work = worker.said(self._pool.patience), self.busy[worker]
        if isinstance(said, Lost | End):
            del self.busy[worker]
        if isinstance(said, End):
            self._pool.rests(worker)
            self._error = self._error or said.error
        elif not isinstance(said, StartNotice) and work.awaits(said, self._last):
            self._said.append((work.part, said))

    def end(self) -> None:
        """End the workers that are at work."""
        for worker in self.busy:
            worker.end()
        self.busy.clear()


class BackgroundWork(PendingWork[Part, Answer]):
    """Parts that are answered while this process does something else, to be used as a context manager.

    Whoever waits for other workers takes note of what these have said, and gives them the next parts. In a process that
    is a worker itself nothing begins before it is asked for.
    """

    def __enter__(self) -> Self:
        _beside.append(self)
        try:
            if not is_one():
                self.go_on()
        except BaseException:
            self.end()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.end()

    def end(self) -> None:
        """End what is under way, and the workers of the pool."""
        if self in _beside:
            _beside.remove(self)
        super().end()
        self._pool.__exit__(None, None, None)


_beside: list[BackgroundWork[Any, Any]] = []


_kept: list[Worker] = []
"""Workers without work, which the next ones who need some take over."""


def _hear(mine: PendingWork[Any, Any]) -> None:
    """Wait until something was heard of a worker, or one has been silent for too long, and take note of it."""
    heard = _beside if mine in _beside else [mine, *_beside]
    busy = {worker: each for each in heard for worker in each.busy}
    soonest = min(worker.deadline for worker in busy) - time.monotonic()
    ready = wait([worker.pipe for worker in busy], None if math.isinf(soonest) else max(0.0, soonest))
    now = time.monotonic()
    for worker, each in busy.items():
        if worker.pipe in ready or worker.deadline <= now:
            each.hear(worker)
    for each in _beside:
        if each is not mine:
            each.go_on()
