"""Never silence: a live line on a terminal, a heartbeat line on standard error anywhere else."""

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
ERASE = "\r\x1b[K"
"""Puts a terminal at the beginning of its line, and takes away what stands there."""


class Progress(Protocol):
    """Where long work says how far it is."""

    def status(self, text: str) -> None:
        """Say what is going on now; replaces what was said before. An empty text makes room for output."""

    def line(self, text: str) -> None:
        """Say something that stays."""

    def __enter__(self) -> Progress: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...


class Pace:
    """Says how long a count of like things will still take, once there is enough to go by."""

    ENOUGH = 5.0
    """Seconds that have to pass before a guess is worth making."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._began = clock()

    def left(self, done: int, total: int) -> str:
        """Return ``, about … left``, or nothing if it is too early to say; a count that starts again starts anew."""
        if done <= 1:
            self._began = self._clock()
            return ""
        passed = self._clock() - self._began
        seconds = passed / (done - 1) * (total - done)
        if passed < self.ENOUGH or done >= total:
            return ""
        return f", about {seconds:.0f} s left" if seconds < 100 else f", about {seconds / 60:.0f} min left"


def progress() -> Progress:
    """Return a live line if both streams are terminals that can write over it, and else a heartbeat."""
    live = sys.stdout.isatty() and sys.stderr.isatty() and os.environ.get("TERM") != "dumb"
    return LiveLine() if live else Heartbeat()


class Heartbeat:
    """A line on standard error whenever nothing was said for a while, with what goes on."""

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
        """Remember what goes on, for the next heartbeat."""
        self._text = text

    def line(self, text: str) -> None:
        """Say something now, which counts as a sign of life."""
        self._spoke = time.monotonic()
        _write("\n".join(hanging(text)) + "\n")

    def _remind(self, text: str) -> None:
        self.line(text)

    def _beat(self) -> None:
        while not self._stop.wait(min(self._every, 1.0) / 4):
            if time.monotonic() - self._spoke >= self._every:
                self._remind(f"[{time.monotonic() - self._began:.0f} s] {self._text}")


class LiveLine(Heartbeat):
    """A heartbeat on the last line of a terminal, where the next one is written over it."""

    def __init__(self) -> None:
        super().__init__(LIVE_SECONDS)
        self._shown = ""
        self._turn = threading.Lock()

    def __exit__(self, *_: object) -> None:
        super().__exit__()
        self._show("")

    def status(self, text: str) -> None:
        """Remember what goes on; an empty text takes the line away until the next."""
        super().status(text)
        if not text:
            self._show("")

    def line(self, text: str) -> None:
        """Print above the live line."""
        with self._turn:
            self._shown = ""
            _write(ERASE)
            super().line(text)

    def _remind(self, text: str) -> None:
        self._show(text if self._text else "")

    def _show(self, text: str) -> None:
        """Write over what is shown."""
        said = printable(text)[: shutil.get_terminal_size().columns - 1]
        with self._turn:
            if said != self._shown:
                _write(ERASE + said)
                self._shown = said


def is_heartbeat(thread: threading.Thread) -> bool:
    """Return whether a thread only writes progress, which it never does while a process is forked."""
    return thread.name == HEARTBEAT


_writing = threading.RLock()
os.register_at_fork(before=_writing.acquire, after_in_parent=_writing.release, after_in_child=_writing.release)


def _write(text: str) -> None:
    with _writing:
        sys.stderr.write(text)
        sys.stderr.flush()
