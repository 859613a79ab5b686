"""One worker process, and the pipe to it.

The worker receives a function and a part of the work, and sends each answer as soon as it has it. A worker that
crashes, exceeds its memory or is silent for too long is killed, and its further answers are lost. A worker ends when
the process that started it has ended, in whatever way.
"""

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

STARTING: Final = 60.0  #: Seconds that a process may take to start, before the limit on its silence applies.
GRACE: Final = 1.0  #: Seconds that a process may take to end after it closed its pipe.
OUT_OF_MEMORY: Final = "the worker needs more memory than it may have"

Part = TypeVar("Part")
Answer = TypeVar("Answer")


@dataclass(frozen=True, slots=True)
class Lost:
    """Replaces the answers that a worker did not give, and says why."""

    reason: str


@dataclass(frozen=True, slots=True)
class StartNotice:
    """The message of a worker before its first answer; from now on the limit on its silence applies."""


@dataclass(frozen=True, slots=True)
class End:
    """The message of a worker after its last answer, with the exception that ended the work, if there was one."""

    error: Exception | None = None


class Worker:
    """A process and the pipe to it."""

    def __init__(self, memory: int | None) -> None:
        context = worker_context()
        self.kind = worker_kind(memory)
        self.pipe, theirs = context.Pipe()
        self.deadline = 0.0
        self._process = context.Process(target=_serve, args=(theirs, memory), daemon=True)
        with block_interrupts():
            self._process.start()
        theirs.close()

    def ask(self, function: Callable[[Part], Iterable[Any]], part: Part) -> bool:
        """Send the process a part of the work; return whether the process is alive to take it."""
        self.deadline = time.monotonic() + STARTING
        try:
            self.pipe.send((function, part))
        except OSError:
            return False
        return self._process.is_alive()

    def receive(self, patience: float) -> Any:
        """Return the next message of the process, or `Lost` if it ended or was silent for ``patience`` seconds."""
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
        """Return how the process ended, after its pipe was closed."""
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


def worker_kind(memory: int | None) -> tuple[object, ...]:
    """Return the kind of worker that this process needs: workers of other kinds have another limit or import path."""
    return (memory, str(Path.cwd()), *sys.path)


def is_one() -> bool:
    """Whether this process is a worker; a worker starts no other workers."""
    return multiprocessing.current_process().daemon


def answered_here(
    function: Callable[[Part], Iterable[Answer]], parts: Iterable[Part]
) -> Iterator[tuple[Part, Answer | Lost]]:
    """Answer in this process, which is a worker itself; news of these parts are not sent, as nothing awaits them."""
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


#: In a worker: the pipe to the process that started it; empty elsewhere, and then news go nowhere.
_asking: list[Connection] = []


def tell(news: object) -> None:
    """Send a message besides the answers of the function that the worker runs; that function calls this.

    The message arrives like an answer, before all later answers. Outside a worker it goes nowhere.
    """
    for pipe in _asking:
        pipe.send(news)


def _serve(pipe: Connection, memory: int | None) -> None:
    """Answer the requests from the pipe, until it is closed."""
    let_signals_end_this_process()
    gc.freeze()  # objects of the parent never become garbage here
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
    """Limit the address space of this process to its present size, if the system tells it, plus ``more`` bytes."""
    told = Path("/proc/self/statm")
    pages = int(told.read_text().split()[0]) if told.exists() else 0
    _, most = resource.getrlimit(resource.RLIMIT_AS)
    limit = pages * resource.getpagesize() + more
    limit = limit if most == resource.RLIM_INFINITY else min(limit, most)
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))


def _end_with_parent() -> None:
    """End this process once the process that started it has ended, as nothing awaits its answers."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


def _answered(pipe: Connection, asked: bytes) -> End:
    """Send the answers to a request, and return how the work ended."""
    try:
        function, part = pickle.loads(asked)
        pipe.send(StartNotice())
        for answer in function(part):
            pipe.send(answer)
    except Exception as error:  # any exception is sent to the process that asked
        return End(error)
    return End()
