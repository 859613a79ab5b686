"""A limit of time for foreign code, such as a specification that never ends its import."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

from carnet_check.errors import UsageError

AGAIN = 1.0
"""Seconds after which code that went on regardless is told once more."""


class _OverError(BaseException):
    """The time is over; no error of the foreign code's, which may go on after any of its own."""


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
        signal.setitimer(signal.ITIMER_REAL, AGAIN)
        raise _OverError

    before, began = signal.signal(signal.SIGALRM, over), time.monotonic()
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    except _OverError:
        raise UsageError(f"{what} took more than {seconds:g} s: a specification is read, not waited for") from None
    finally:
        rest = left - (time.monotonic() - began) if left else 0.0
        signal.signal(signal.SIGALRM, before)
        signal.setitimer(signal.ITIMER_REAL, max(rest, 0.001) if left else 0.0)
