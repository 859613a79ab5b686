"""Interrupts (Ctrl-C, SIGTERM, SIGHUP): the process that a person started receives them and ends its workers.

Ctrl-C, a closed terminal (SIGHUP) and a request to end (SIGTERM) have the same effect: the work stops, workers are
ended, temporary files are removed, and one line says what was covered. The exit code is 130 for all of them.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from carnet_command.errors import InterruptedRunError
from carnet_command.text import plural

if TYPE_CHECKING:
    from carnet_command.progress import Progress

ENDING: Final = (signal.SIGTERM, signal.SIGHUP)  #: The signals that end a command, other than Ctrl-C.
SIGNALS: Final = (signal.SIGINT, *ENDING)


@dataclass(slots=True)
class _Stop:
    """Whether a signal has arrived, and whether signals are deferred."""

    came: bool = False
    waits: bool = False

    def take(self, _number: int, _frame: object) -> None:
        """Handle a signal: the first one stops the work, later ones are ignored and do not disturb the clean-up."""
        again, self.came = self.came, True
        if not (again or self.waits):
            raise KeyboardInterrupt


_stop = _Stop()


@contextmanager
def stoppable(signals: Sequence[signal.Signals] = SIGNALS, *, to_the_end: bool = False) -> Iterator[None]:
    """Raise ``KeyboardInterrupt`` once, at the first of these signals.

    A service manager may send several; those after the first are ignored. A signal that was ignored before, as SIGHUP
    is under ``nohup``, stays ignored. Any other exception after a signal becomes an interrupt, too: libraries raise
    errors of their own when they are interrupted.

    When the block ends, the earlier handlers are restored. But if a signal came and ``to_the_end`` says that the
    process ends with this block, signals are ignored from then on, so that it ends with its own exit code. A block
    inside another one leaves all this to the outer one.
    """
    if threading.current_thread() is not threading.main_thread():
        yield  # only the main thread may set signal handlers
        return
    before = {each: signal.getsignal(each) for each in signals if signal.getsignal(each) is not signal.SIG_IGN}
    inside = _stop.take in before.values()
    try:
        for each in before:
            signal.signal(each, _stop.take)
        yield
    except InterruptedRunError:
        raise
    except Exception as error:
        if _stop.came:
            raise KeyboardInterrupt from error
        raise
    finally:
        for each, handler in before.items():
            signal.signal(each, signal.SIG_IGN if _stop.came and to_the_end else handler)
        _stop.came = _stop.came and inside


def require_uninterrupted() -> None:
    """Raise ``KeyboardInterrupt`` again if a signal came: code of a library may have caught the first one.

    Long-running loops call this now and then. Compilers and callbacks from C are known to swallow exceptions.
    """
    if _stop.came and not _stop.waits:
        raise KeyboardInterrupt


def let_signals_end_this_process() -> None:
    """Restore the default signal handlers in a forked process, which inherits those of its parent."""
    _stop.came = _stop.waits = False
    for each in SIGNALS:
        signal.signal(each, signal.SIG_DFL)


@contextmanager
def defer_interrupts() -> Iterator[None]:
    """Defer signals to the end of the block, so that a process started in it is always registered with its owner."""
    before, _stop.waits = _stop.came, True
    try:
        yield
    finally:
        _stop.waits = False
    if _stop.came and not before:
        raise KeyboardInterrupt


@contextmanager
def block_interrupts() -> Iterator[None]:
    """Block interrupts for the processes and threads that are started in the block; they inherit the signal mask.

    A handler that the worker itself sets comes too late: an interrupt during its imports would end it with a traceback.
    SIGTERM is not blocked, because a pool ends its workers with it.
    """
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT, signal.SIGHUP})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


class TrackedProgress:
    """Shows progress, and stores how far the work is, for the line that an interrupt prints."""

    def __init__(self, shown: Progress | None) -> None:
        self._shown = shown
        self._status = "beginning"
        self._ended = 0

    def status(self, text: str) -> None:
        """Show the current activity."""
        self._status = text
        if self._shown is not None:
            self._shown.status(text)

    def line(self, text: str) -> None:
        """Show a result."""
        self._ended += 1
        if self._shown is not None:
            self._shown.line(text)

    @property
    def summary(self) -> str:
        """A few words that say what was covered."""
        ended = f"{plural(self._ended, 'part')} of the run had ended, " if self._ended else ""
        return f"{ended}at work on: {self._status}"


@contextmanager
def track_progress(shown: Progress | None = None) -> Iterator[TrackedProgress]:
    """Report what was covered if the work in the block is interrupted.

    Raises InterruptedRunError if the work was interrupted.
    """
    covered = TrackedProgress(shown)
    try:
        yield covered
    except KeyboardInterrupt:
        raise InterruptedRunError(f"interrupted: {covered.summary}; the output is incomplete") from None
