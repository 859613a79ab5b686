"""Progress of long work: a live line on a terminal, heartbeat lines on standard error anywhere else."""

from __future__ import annotations

import os
import shutil
import sys
import threading
import time
from collections.abc import Callable
from types import TracebackType
from typing import Protocol

from carnet_command.printable import printable
from carnet_command.text import hanging

HEARTBEAT_SECONDS = 30.0
LIVE_SECONDS = 0.4
HEARTBEAT = "heartbeat"
ERASE = "\r\x1b[K"  #: The control sequence that moves to the beginning of the line and erases it.


class Progress(Protocol):
    """The interface to which long work reports its progress."""

    def status(self, text: str) -> None:
        """Show the current activity instead of the earlier one; an empty text clears the line for output."""

    def line(self, text: str) -> None:
        """Print a line that stays."""

    def __enter__(self) -> Progress: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...


class Pace:
    """Estimates the time that a count of similar items still takes, once enough of them are done."""

    ENOUGH = 5.0  #: Seconds that have to pass before the first estimate.

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._began = clock()

    def left(self, done: int, total: int) -> str:
        """Return ``, about … left``, or an empty text if it is too early; a smaller count than before starts again."""
        if done <= 1:
            self._began = self._clock()
            return ""
        passed = self._clock() - self._began
        seconds = passed / (done - 1) * (total - done)
        if passed < self.ENOUGH or done >= total:
            return ""
        return f", about {seconds:.0f} s left" if seconds < 100 else f", about {seconds / 60:.0f} min left"


def progress() -> Progress:
    """Return a live line if both streams are terminals that can overwrite a line, else a heartbeat."""
    live = sys.stdout.isatty() and sys.stderr.isatty() and os.environ.get("TERM") != "dumb"
    return LiveLine() if live else Heartbeat()


class Heartbeat:
    """Prints the current activity on standard error whenever nothing was printed for a while."""

    def __init__(self, every: float = HEARTBEAT_SECONDS) -> None:
        self._every = every
        self._text = "working"
        self._began = self._spoke = time.monotonic()
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._beat, name=HEARTBEAT, daemon=True)

    def __enter__(self) -> Heartbeat:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()

    def status(self, text: str) -> None:
        """Store the current activity for the next heartbeat."""
        self._text = text

    def line(self, text: str) -> None:
        """Print a line now, which also postpones the next heartbeat."""
        self._spoke = time.monotonic()
        _write("\n".join(hanging(text)) + "\n")

    def _remind(self, text: str) -> None:
        self.line(text)

    def _beat(self) -> None:
        while not self._stop.wait(min(self._every, 1.0) / 4):
            if time.monotonic() - self._spoke >= self._every:
                self._remind(f"[{time.monotonic() - self._began:.0f} s] {self._text}")


class LiveLine(Heartbeat):
    """Shows the current activity on the last line of a terminal, and overwrites it there."""

    def __init__(self) -> None:
        super().__init__(LIVE_SECONDS)
        self._shown = ""
        self._turn = threading.Lock()

    def __exit__(self, *_: object) -> None:
        super().__exit__()
        self._show("")

    def status(self, text: str) -> None:
        """Store the current activity; an empty text removes the line until the next one."""
        super().status(text)
        if not text:
            self._show("")

    def line(self, text: str) -> None:
        """Print a line above the live line."""
        with self._turn:
            self._shown = ""
            _write(ERASE)
            super().line(text)

    def _remind(self, text: str) -> None:
        self._show(text if self._text else "")

    def _show(self, text: str) -> None:
        """Overwrite the live line."""
        said = printable(text)[: shutil.get_terminal_size().columns - 1]
        with self._turn:
            if said != self._shown:
                _write(ERASE + said)
                self._shown = said


def is_heartbeat(thread: threading.Thread) -> bool:
    """Return whether a thread only writes progress; such a thread holds no lock while a process is forked."""
    return thread.name == HEARTBEAT


_writing = threading.RLock()
os.register_at_fork(before=_writing.acquire, after_in_parent=_writing.release, after_in_child=_writing.release)


def _write(text: str) -> None:
    with _writing:
        sys.stderr.write(text)
        sys.stderr.flush()
