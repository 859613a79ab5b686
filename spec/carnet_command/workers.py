"""Worker processes that can be killed, have bounded memory, and fail independently.

If a worker is lost, the part without an answer is reported, and a new worker continues with the other parts. The limit
in seconds only detects stuck workers: budgets are counted in work.

A worker that cannot be forked takes some 0.4 s to start, so a few idle workers are kept until this process ends. A
worker starts no workers: a pool in a worker answers in the worker's own process, which its parent can kill.
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
from carnet_command.worker import Answer, End, Lost, Part, StartNotice, Worker, answered_here, is_one, worker_kind

PATIENCE: Final = 120.0  #: Seconds without an answer after which a worker counts as stuck.
#: Bytes of address space that a worker may add to what it starts with; a typical one needs a tenth of that.
MEMORY: Final = 2 * 1024**3
KEPT: Final = 2  #: The most idle workers that are kept.

IsLast = Callable[[Part, Answer], bool]  #: Says whether an answer is the last one of its part.


def only(_part: object, _answer: object) -> bool:
    """Return that an answer is the last one of its part; for functions that give one answer for each part."""
    return True


@dataclass(slots=True)
class Work(Generic[Part]):
    """The part that a worker works on, and whether its last answer has come."""

    part: Part
    complete: bool = False

    def awaits(self, said: Any, last: IsLast[Part, Any] | None) -> bool:
        """Whether a message belongs to the results; the loss of a worker after its last answer does not."""
        if isinstance(said, Lost):
            return not self.complete
        self.complete = self.complete or (last is not None and last(self.part, said))
        return True


class Pool(ABC):
    """A context manager that runs parts of the work in processes that can be lost."""

    jobs: int  #: how many parts are worked on at once.

    def __enter__(self) -> Self:
        return self

    @abstractmethod
    def __exit__(
        self, kind: type[BaseException] | None, _error: BaseException | None, _traceback: TracebackType | None
    ) -> None:
        """End the processes that are still running."""

    @abstractmethod
    def results(
        self,
        function: Callable[[Part], Iterable[Answer]],
        parts: Iterable[Part],
        last: IsLast[Part, Answer] | None = None,
    ) -> Iterator[tuple[Part, Answer | Lost]]:
        """Yield the answers of ``function`` to each part as they arrive; `Lost` is the last answer of a part.

        Raises the exception that ``function`` raised.

        Args:
            function: a function that a fresh process can import.
            parts: the arguments of its calls; the next one is taken from the iterable when a worker is free.
            last: recognises the last answer of a part; the loss of the worker after it is not reported. Without
                ``last``, a part may be reported as lost after all its answers, as only the worker knows their number.
        """


class WorkerPool(Pool):
    """Up to ``jobs`` processes of this machine.

    Args:
        jobs: the most processes.
        patience: seconds without an answer after which a process counts as stuck.
        memory: bytes of address space that a process may add; ``None`` if the work itself is bounded.
        keep: whether idle processes may be kept for later pools; not if they cache what can change.
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
        """Yield the answers of local processes; see :meth:`Pool.results`."""
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
        """Return the same answers as :meth:`results`, computed while this process does something else."""
        return BackgroundWork(self, function, parts, last)

    def dispatch(self, function: Callable[[Part], Iterable[Any]], part: Part) -> Worker:
        """Send a part of the work to an idle worker, or to a new one, and return the worker."""
        shared = _kept if self.keep else []
        while self._idle or shared:
            worker = (self._idle or shared).pop()
            if worker.kind == worker_kind(self.memory) and worker.ask(function, part):
                return worker
            worker.end()
        worker = Worker(self.memory)
        worker.ask(function, part)
        return worker

    def release(self, worker: Worker) -> None:
        """Add a worker to the idle ones, for the next part."""
        self._idle.append(worker)


class PendingWork(Generic[Part, Answer]):
    """The parts that workers of a pool work on, and the parts that wait for a worker."""

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
        """Yield the answers so far, and further ones as they arrive. Raises the exception that a worker raised."""
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
        """Send the next parts to workers, up to ``jobs`` at once."""
        if self._error is None:
            for part in islice(self._waiting, self._pool.jobs - len(self.busy)):
                with defer_interrupts():
                    self.busy[self._pool.dispatch(self._function, part)] = Work(part)

    def hear(self, worker: Worker) -> None:
        """Process the next message of a worker."""
        said, work = worker.receive(self._pool.patience), self.busy[worker]
        if isinstance(said, Lost | End):
            del self.busy[worker]
        if isinstance(said, End):
            self._pool.release(worker)
            self._error = self._error or said.error
        elif not isinstance(said, StartNotice) and work.awaits(said, self._last):
            self._said.append((work.part, said))

    def end(self) -> None:
        """End the workers that are busy."""
        for worker in self.busy:
            worker.end()
        self.busy.clear()


class BackgroundWork(PendingWork[Part, Answer]):
    """A context manager for parts that workers answer while this process does something else.

    Whenever this process waits for any worker, the messages of these workers are processed, too, and they get the next
    parts. In a process that is a worker itself, nothing starts before the results are requested.
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
        """End the busy workers, and the pool."""
        if self in _beside:
            _beside.remove(self)
        super().end()
        self._pool.__exit__(None, None, None)


_beside: list[BackgroundWork[Any, Any]] = []


_kept: list[Worker] = []  #: The idle workers, which the next pool takes over.


def _hear(mine: PendingWork[Any, Any]) -> None:
    """Wait until a worker sends a message or has been silent for too long, and process that."""
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
