"""Ctrl-C belongs to the process that a person started: its workers never see it, and are stopped by it."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing import resource_tracker


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
