"""Worker processes: killable, bound in memory, and none takes another one along.

Each has a pipe of its own. It is asked a function and a part of the work, and sends every answer as soon as it has it.
One that dies, fills its memory or says nothing for too long is ended; what it had not answered is reported as lost, and
a new worker goes on with the rest. The limit in seconds exists for that alone: budgets are counted in work. A worker
ends when the process that started it has ended, however that happened.

Starting a worker takes some 0.4 s, so a few that have nothing to do can be kept until this process ends. A worker
starts no workers: what is asked there is answered there, and the process that started it can kill it.
"""

from __future__ import annotations

import contextlib
import math
import multiprocessing
import os
import pickle
import resource
import sys
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from multiprocessing.connection import Connection, wait
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Generic, Self, TypeVar

from carnet_command.interrupts import held_back, undisturbed
from carnet_command.processes import isolated_spawn

PATIENCE: Final = 120.0
"""Seconds without an answer after which a worker counts as stuck."""
MEMORY: Final = 2 * 1024**3
"""Bytes of address space that a worker may have; a typical one has a quarter of a gigabyte."""
KEPT: Final = 2
"""How many workers without work are kept."""
STARTING: Final = 60.0
"""Seconds for a process to start, before its patience begins."""
GRACE: Final = 1.0
"""Seconds for a process to end that has closed its pipe."""
OUT_OF_MEMORY: Final = "the worker needs more memory than it may have"

Part = TypeVar("Part")
Answer = TypeVar("Answer")
IsLast = Callable[[Part, Answer], bool]
"""Says whether an answer is the last one of its part."""


def only(_part: object, _answer: object) -> bool:
    """Say that an answer is the last one of its part: it has no other."""
    return True


@dataclass(frozen=True, slots=True)
class Lost:
    """Stands for the answers that a worker did not give, and says why."""

    reason: str


@dataclass(frozen=True, slots=True)
class _Begun:
    """What a worker says before its first answer: only now can it be slow."""


@dataclass(frozen=True, slots=True)
class _End:
    """What a worker says after its last answer: nothing, or what went wrong."""

    error: Exception | None = None


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
        self._idle: list[_Worker] = []

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
        if multiprocessing.current_process().daemon:
            yield from _here(function, parts)
            return
        waiting = iter(parts)
        busy: dict[_Worker, Work[Part]] = {}
        try:
            while True:
                for part in islice(waiting, self.jobs - len(busy)):
                    with undisturbed():
                        busy[self._asked(function, part)] = Work(part)
                if not busy:
                    return
                for worker in _heard(busy):
                    said, work = worker.said(self.patience), busy[worker]
                    if isinstance(said, Lost | _End):
                        del busy[worker]
                    if isinstance(said, _End):
                        self._idle.append(worker)
                        if said.error is not None:
                            raise said.error
                    elif not isinstance(said, _Begun) and work.awaits(said, last):
                        yield work.part, said
        finally:
            for worker in busy:
                worker.end()

    def _asked(self, function: Callable[[Part], Iterable[Any]], part: Part) -> _Worker:
        """Ask a worker that is there, or a new one."""
        shared = _kept if self.keep else []
        while self._idle or shared:
            worker = (self._idle or shared).pop()
            if worker.kind == _kind(self.memory) and worker.ask(function, part):
                return worker
            worker.end()
        worker = _Worker(self.memory)
        worker.ask(function, part)
        return worker


class _Worker:
    """A process and the pipe to it."""

    def __init__(self, memory: int | None) -> None:
        context = isolated_spawn()
        self.kind = _kind(memory)
        self.pipe, theirs = context.Pipe()
        self.deadline = 0.0
        self._process = context.Process(target=_serve, args=(theirs, memory), daemon=True)
        with held_back():
            self._process.start()
        theirs.close()

    def ask(self, function: Callable[[Part], Iterable[Any]], part: Part) -> bool:
        """Give the process something to do, and say whether it was there to take it."""
        self.deadline = time.monotonic() + STARTING
        try:
            self.pipe.send((function, part))
        except OSError:
            return False
        return self._process.is_alive()

    def said(self, patience: float) -> Any:
        """Return what the process said, or what became of it."""
        if not self.pipe.poll():
            self.end()
            return Lost(f"the worker said nothing for {patience:g} s")
        try:
            said = self.pipe.recv()
        except (EOFError, OSError):
            return self._gone()
        self.deadline = time.monotonic() + patience
        if isinstance(said, _End) and isinstance(said.error, MemoryError):
            self.end()
            return Lost(OUT_OF_MEMORY)
        return said

    def _gone(self) -> Lost:
        """Say how the process ended, which its pipe told first."""
        self._process.join(GRACE)
        code = self._process.exitcode
        self.end()
        how = f"was killed by signal {-code}" if code is not None and code < 0 else f"ended with exit code {code}"
        return Lost(f"the worker {how}")

    def end(self) -> None:
        """End the process, whatever it is doing."""
        self._process.kill()
        self._process.join()
        self.pipe.close()


def _kind(memory: int | None) -> tuple[object, ...]:
    """Tell workers apart that cannot stand in for each other: a process imports from where it was started."""
    return (memory, str(Path.cwd()), *sys.path)


_kept: list[_Worker] = []
"""Workers without work, which the next ones who need some take over."""


def _here(function: Callable[[Part], Iterable[Answer]], parts: Iterable[Part]) -> Iterator[tuple[Part, Answer | Lost]]:
    """Answer in this process, which is a worker itself; what asked it awaits other news than these parts have."""
    for part in parts:
        asking, _asking[:] = _asking[:], []
        said: list[Answer | Lost] = []
        try:
            said += function(part)
        except MemoryError:
            said.append(Lost(OUT_OF_MEMORY))
        finally:
            _asking[:] = asking
        yield from ((part, each) for each in said)


def _heard(busy: Iterable[_Worker]) -> list[_Worker]:
    """Wait until something was heard of a worker, or one has been silent for too long, and return such workers."""
    soonest = min(worker.deadline for worker in busy) - time.monotonic()
    ready = wait([worker.pipe for worker in busy], None if math.isinf(soonest) else max(0.0, soonest))
    now = time.monotonic()
    return [worker for worker in busy if worker.pipe in ready or worker.deadline <= now]


_asking: list[Connection] = []
"""In a worker: the pipe to the process that asks; without one, nobody is told any news."""


def tell(news: object) -> None:
    """Send something besides the answers of the function that calls this, from the worker that runs it.

    It arrives as an answer does, before those that come later. Outside a worker it goes nowhere.
    """
    for pipe in _asking:
        pipe.send(news)


def _serve(pipe: Connection, memory: int | None) -> None:
    """Answer what is asked, until nobody is left who asks."""
    if memory is not None:
        _, most = resource.getrlimit(resource.RLIMIT_AS)
        limit = memory if most == resource.RLIM_INFINITY else min(memory, most)
        resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    _asking.append(pipe)
    threading.Thread(target=_end_with_parent, name="parent", daemon=True).start()
    with contextlib.suppress(EOFError, OSError):
        while True:
            asked = pipe.recv_bytes()
            pipe.send(_answered(pipe, asked))


def _end_with_parent() -> None:
    """End this process once the one that started it has ended: what it is at is for nobody."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


def _answered(pipe: Connection, asked: bytes) -> _End:
    """Send the answers, and return how it ended."""
    try:
        function, part = pickle.loads(asked)
        pipe.send(_Begun())
        for answer in function(part):
            pipe.send(answer)
    except Exception as error:  # whatever it is, the process that asked hears of it
        return _End(error)
    return _End()
