"""Never silence: a live line on a terminal, a heartbeat line on standard error anywhere else."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable
from types import TracebackType
from typing import Any, Protocol

from carnet_command.text import hanging

HEARTBEAT_SECONDS = 30.0


class Progress(Protocol):
    """Where long work says how far it is."""

    def status(self, text: str) -> None:
        """Say what is going on now; replaces what was said before."""

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
    """Return a live line if both streams are terminals, and a heartbeat on standard error if not."""
    if sys.stdout.isatty() and sys.stderr.isatty():
        return LiveLine()
    return Heartbeat()


class LiveLine:
    """A spinner and one line of text, by rich, on standard error."""

    def __init__(self) -> None:
        from rich.console import Console

        self._console: Any = Console(stderr=True, highlight=False, markup=False)
        self._status: Any = self._console.status("")

    def __enter__(self) -> LiveLine:
        self._status.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._status.stop()

    def status(self, text: str) -> None:
        """Replace the live line."""
        from rich.text import Text

        self._status.update(Text(text, no_wrap=True, overflow="ellipsis"))

    def line(self, text: str) -> None:
        """Print above the live line."""
        self._console.print(text)


class Heartbeat:
    """A line on standard error whenever nothing was said for a while, with what goes on."""

    def __init__(self, every: float = HEARTBEAT_SECONDS) -> None:
        self._every = every
        self._text = "working"
        self._began = self._spoke = time.monotonic()
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._beat, name="heartbeat", daemon=True)

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
        sys.stderr.write("\n".join(hanging(text)) + "\n")
        sys.stderr.flush()

    def _beat(self) -> None:
        while not self._stop.wait(min(self._every, 1.0) / 4):
            if time.monotonic() - self._spoke >= self._every:
                self.line(f"[{time.monotonic() - self._began:.0f} s] {self._text}")
