"""Interrupts belong to the process that a person started: its workers never see them, and are stopped by it.

Ctrl-C, a terminal that goes away (SIGHUP) and a request to end (SIGTERM) are one thing: what runs is stopped where it
is, workers are ended, temporary files are removed, and one line says what was covered. The exit code is 130 for all.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import TYPE_CHECKING

from carnet_check.errors import CarnetError
from carnet_command.text import counted

if TYPE_CHECKING:
    from carnet_command.progress import Progress

ENDING = (signal.SIGTERM, signal.SIGHUP)
"""What ends a command beside Ctrl-C."""


class InterruptedRunError(CarnetError):
    """Somebody stopped a command; the message says how far it was."""

    kind = "interrupted"
    exit_code = 130


@contextmanager
def like_ctrl_c() -> Iterator[None]:
    """Let SIGTERM and SIGHUP do meanwhile what Ctrl-C does; whatever is ignored already, as by nohup, stays ignored.

    Those that follow the first are ignored: a service manager may send both, and what they ask for is under way.
    """
    if threading.current_thread() is not threading.main_thread():
        yield  # only the main thread may say what signals do
        return
    before = {each: signal.getsignal(each) for each in ENDING if signal.getsignal(each) is not signal.SIG_IGN}

    def end(_signal: int, _frame: FrameType | None) -> None:
        for each in before:
            signal.signal(each, signal.SIG_IGN)
        raise KeyboardInterrupt

    try:
        for each in before:
            signal.signal(each, end)
        yield
    finally:
        for each, handler in before.items():
            signal.signal(each, handler)


@contextmanager
def held_back() -> Iterator[None]:
    """Hold interrupts back: processes and threads that are started meanwhile inherit that, and keep it from birth.

    A handler that a worker sets is too late: an interrupt while it still imports would end it with a traceback. SIGTERM
    is let through, since it is what a pool ends its workers by.
    """
    from multiprocessing import resource_tracker

    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGHUP})
    try:
        resource_tracker.ensure_running()  # when it starts by itself, it lets interrupts through again
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


class Covered:
    """Shows progress, and remembers how far it went for the line that an interrupt prints."""

    def __init__(self, shown: Progress | None) -> None:
        self._shown = shown
        self._status = "beginning"
        self._ended = 0

    def status(self, text: str) -> None:
        """Say what is going on now."""
        self._status = text
        if self._shown is not None:
            self._shown.status(text)

    def line(self, text: str) -> None:
        """Say what was established."""
        self._ended += 1
        if self._shown is not None:
            self._shown.line(text)

    def told(self) -> str:
        """Return what was covered, in a few words."""
        ended = f"{counted(self._ended, 'part')} of the run had ended, " if self._ended else ""
        return f"{ended}at work on: {self._status}"


@contextmanager
def covering(shown: Progress | None = None) -> Iterator[Covered]:
    """Say what was covered when what follows is interrupted.

    Raises:
        InterruptedRunError: it was.
    """
    covered = Covered(shown)
    try:
        yield covered
    except KeyboardInterrupt:
        raise InterruptedRunError(f"interrupted: {covered.told()}; what was to be written is not whole") from None
