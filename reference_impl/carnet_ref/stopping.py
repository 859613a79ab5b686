"""Stopping a command from outside: a hang-up and a request to end do what Ctrl-C does."""

from __future__ import annotations

import contextlib
import signal
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

SIGNALS: Final = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@dataclass(slots=True)
class _Stop:
    """Whether a signal came, and whether it has to wait."""

    came: bool = False
    waits: bool = False

    def take(self, _number: int, _frame: object) -> None:
        """Stop at the first signal; what is then put in order is not disturbed by a second one."""
        again, self.came = self.came, True
        if not (again or self.waits):
            raise KeyboardInterrupt


_stop = _Stop()


@contextlib.contextmanager
def stoppable() -> Iterator[None]:
    """Raise ``KeyboardInterrupt`` once, at the first of these signals.

    A signal that was ignored stays ignored, as SIGHUP is under ``nohup``.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {each: signal.getsignal(each) for each in SIGNALS}
    taken = [each for each, handler in before.items() if handler is not signal.SIG_IGN]
    try:
        for each in taken:
            signal.signal(each, _stop.take)
        yield
    finally:
        for each in taken:
            signal.signal(each, before[each])
        _stop.came = False


@contextlib.contextmanager
def undisturbed() -> Iterator[None]:
    """Let a signal wait until the end of the block, so that no process is started and then forgotten."""
    before, _stop.waits = _stop.came, True
    try:
        yield
    finally:
        _stop.waits = False
    if _stop.came and not before:
        raise KeyboardInterrupt
