"""What interrupts work: Ctrl-C, which belongs to the process that a person started, and a limit of time."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing import resource_tracker
from types import FrameType

from carnet_check.errors import UsageError


@contextmanager
def held_back() -> Iterator[None]:
    """Hold interrupts back: processes and threads that are started meanwhile inherit that, and keep it from birth.

    A handler that a worker sets is too late: an interrupt while it still imports would end it with a traceback.
    """
    resource_tracker.ensure_running()  # when it starts by itself, it lets interrupts through again
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


@contextmanager
def no_longer_than(seconds: float, what: str) -> Iterator[None]:
    """End foreign code that goes on for too long; other threads than the first have no limit.

    Raises:
        UsageError: the time was over.
    """
    left, _ = signal.getitimer(signal.ITIMER_REAL)
    if threading.current_thread() is not threading.main_thread() or 0 < left <= seconds:
        yield
        return

    def over(_signal: int, _frame: FrameType | None) -> None:
        raise UsageError(f"{what} took more than {seconds:g} s: a specification is read, not waited for")

    before, began = signal.signal(signal.SIGALRM, over), time.monotonic()
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        rest = left - (time.monotonic() - began) if left else 0.0
        signal.signal(signal.SIGALRM, before)
        signal.setitimer(signal.ITIMER_REAL, max(rest, 0.001) if left else 0.0)
