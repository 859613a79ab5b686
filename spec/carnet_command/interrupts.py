"""Interrupts belong to the process that a person started: its workers never see them, and are stopped by it.

Ctrl-C, a terminal that goes away (SIGHUP) and a request to end (SIGTERM) are one thing: the work stops, workers are
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
from carnet_command.text import counted

if TYPE_CHECKING:
    from carnet_command.progress import Progress

ENDING: Final = (signal.SIGTERM, signal.SIGHUP)
"""What ends a command beside Ctrl-C."""
SIGNALS: Final = (signal.SIGINT, *ENDING)


@dataclass(slots=True)
class _Stop:
    """Whether a signal came, and whether it has to wait."""

    came: bool = False
    waits: bool = False

    def take(self, _number: int, _frame: object) -> None:
        """Stop at the first signal; a second one does not disturb the clean-up after it."""
        again, self.came = self.came, True
        if not (again or self.waits):
            raise KeyboardInterrupt


_stop = _Stop()


@contextmanager
def stoppable(signals: Sequence[signal.Signals] = SIGNALS, *, to_the_end: bool = False) -> Iterator[None]:
    """Raise ``KeyboardInterrupt`` once, at the first of these signals.

    A service manager may send several; those after the first are ignored. A signal that was ignored stays ignored, as
    SIGHUP is under ``nohup``. What fails because of a signal is an interrupt, too: libraries make other errors of it.

    Afterwards signals do what they did before; where a signal came and the process only has ``to_the_end`` to go, they
    are ignored, so that it ends with its own exit code. A block inside another one leaves that to the outer one.
    """
    if threading.current_thread() is not threading.main_thread():
        yield  # only the main thread may say what signals do
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
    """Raise ``KeyboardInterrupt`` again if a signal came: code that is not ours may have caught the first one.

    A loop that runs for long calls this now and then. Compilers and callbacks from C are known to swallow exceptions.
    """
    if _stop.came and not _stop.waits:
        raise KeyboardInterrupt


def let_signals_end_this_process() -> None:
    """Undo in a forked process what its parent does at a signal."""
    _stop.came = _stop.waits = False
    for each in SIGNALS:
        signal.signal(each, signal.SIG_DFL)


@contextmanager
def defer_interrupts() -> Iterator[None]:
    """Let a signal wait until the end of the block, so that no process is started and then forgotten."""
    before, _stop.waits = _stop.came, True
    try:
        yield
    finally:
        _stop.waits = False
    if _stop.came and not before:
        raise KeyboardInterrupt


@contextmanager
def block_interrupts() -> Iterator[None]:
    """Block interrupts for the processes and threads that are started in the block; they keep that from birth.

    A handler that a worker sets is too late: an interrupt while it still imports would end it with a traceback. SIGTERM
    is let through, because a pool ends its workers with it.
    """
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT, signal.SIGHUP})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


class TrackedProgress:
    """Shows progress, and remembers how far the work was for the line that an interrupt prints."""

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

    @property
    def summary(self) -> str:
        """What was covered, in a few words."""
        ended = f"{counted(self._ended, 'part')} of the run had ended, " if self._ended else ""
        return f"{ended}at work on: {self._status}"


@contextmanager
def track_progress(shown: Progress | None = None) -> Iterator[TrackedProgress]:
    """Say what was covered when the work in the block is interrupted.

    Raises:
        InterruptedRunError: it was.
    """
    covered = TrackedProgress(shown)
    try:
        yield covered
    except KeyboardInterrupt:
        raise InterruptedRunError(f"interrupted: {covered.summary}; the output is incomplete") from None
