"""One worker process, and the pipe to it.

It is asked a function and a part of the work, and sends every answer as soon as it has it. One that dies, fills its
memory or says nothing for too long is ended, and what it had not answered is lost. It ends when the process that
started it has ended, however that happened.
"""

from __future__ import annotations

import contextlib
import gc
import multiprocessing
import os
import pickle
import resource
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, Final, TypeVar

from carnet_command.garbage import look_rarely
from carnet_command.interrupts import block_interrupts, let_signals_end_this_process
from carnet_command.processes import worker_context

STARTING: Final = 60.0
"""Seconds for a process to start, before its patience begins."""
GRACE: Final = 1.0
"""Seconds for a process to end that has closed its pipe."""
OUT_OF_MEMORY: Final = "the worker needs more memory than it may have"

Part = TypeVar("Part")
Answer = TypeVar("Answer")


@dataclass(frozen=True, slots=True)
class Lost:
    """Stands for the answers that a worker did not give, and says why."""

    reason: str


@dataclass(frozen=True, slots=True)
class StartNotice:
    """What a worker says before its first answer: only now can it be slow."""


@dataclass(frozen=True, slots=True)
class End:
    """What a worker says after its last answer: nothing, or what went wrong."""

    error: Exception | None = None


class Worker:
    """A process and the pipe to it."""

    def __init__(self, memory: int | None) -> None:
        context = worker_context()
        self.kind = kind_of(memory)
        self.pipe, theirs = context.Pipe()
        self.deadline = 0.0
        self._process = context.Process(target=_serve, args=(theirs, memory), daemon=True)
        with block_interrupts():
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
            return self._failure()
        self.deadline = time.monotonic() + patience
        if isinstance(said, End) and isinstance(said.error, MemoryError):
            self.end()
            return Lost(OUT_OF_MEMORY)
        return said

    def _failure(self) -> Lost:
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


def kind_of(memory: int | None) -> tuple[object, ...]:
    """Tell workers apart that cannot stand in for each other: a process imports from where it was started."""
    return (memory, str(Path.cwd()), *sys.path)


def is_one() -> bool:
    """Whether this process is a worker: it starts no others."""
    return multiprocessing.current_process().daemon


def answered_here(
    function: Callable[[Part], Iterable[Answer]], parts: Iterable[Part]
) -> Iterator[tuple[Part, Answer | Lost]]:
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
    let_signals_end_this_process()
    gc.freeze()  # what a parent has built is never garbage here
    look_rarely()
    if memory is not None:
        _limit_address_space(memory)
    _asking.append(pipe)
    threading.Thread(target=_end_with_parent, name="parent", daemon=True).start()
    with contextlib.suppress(EOFError, OSError):
        while True:
            asked = pipe.recv_bytes()
            pipe.send(_answered(pipe, asked))


def _limit_address_space(more: int) -> None:
    """Allow this process so many bytes beside those that it began with, as far as the system tells them."""
    told = Path("/proc/self/statm")
    pages = int(told.read_text().split()[0]) if told.exists() else 0
    _, most = resource.getrlimit(resource.RLIMIT_AS)
    limit = pages * resource.getpagesize() + more
    limit = limit if most == resource.RLIM_INFINITY else min(limit, most)
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))


def _end_with_parent() -> None:
    """End this process once the one that started it has ended: what it is at is for nobody."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


def _answered(pipe: Connection, asked: bytes) -> End:
    """Send the answers, and return how it ended."""
    try:
        function, part = pickle.loads(asked)
        pipe.send(StartNotice())
        for answer in function(part):
            pipe.send(answer)
    except Exception as error:  # whatever it is, the process that asked hears of it
        return End(error)
    return End()
