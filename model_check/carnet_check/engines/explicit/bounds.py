"""The bounds of a running search: states, memory, and how often it reports."""

import os
import resource
import time
from collections.abc import Callable
from pathlib import Path

from carnet_check.engines.exploration import NO_CAPS, Caps
from carnet_command.interrupts import require_uninterrupted

Report = Callable[[int, int], None]  #: Called about once a second with the states found and the depth reached.


class Watch:
    """Checks the bounds of a running search, and reports its progress about once a second."""

    def __init__(self, caps: Caps = NO_CAPS, progress: Report | None = None) -> None:
        self._caps = caps
        self._progress = progress
        self.elsewhere = 0  #: the memory in bytes that other processes use for this search alone.
        self._began = time.monotonic()
        self._reported = self._began

    @property
    def seconds(self) -> float:
        """Seconds since the search began, without excluded ones."""
        return time.monotonic() - self._began

    def leave_out(self, seconds: float) -> None:
        """Exclude some seconds from the time of the search: those of work that is done once on a machine."""
        self._began += seconds

    def exceeded_bound(self, states: int) -> str | None:
        """Return the bound that is exceeded with ``states`` states, or None.

        Raises KeyboardInterrupt if a signal came, even if other code swallowed its exception.
        """
        require_uninterrupted()
        caps = self._caps
        if caps.states is not None and states >= caps.states:
            return "states"
        if caps.memory is not None:
            # The workers together exceed the limit, and this one exceeds its share; the other workers continue.
            own = resident_bytes() + self.elsewhere
            if own * caps.workers > caps.memory and (caps.workers == 1 or own + _resident_in_siblings() > caps.memory):
                return "memory"
        if caps.seconds is not None and self.seconds >= caps.seconds:
            return "time"
        return None

    def report(self, states: int, depth: int) -> None:
        """Call the progress function, if the last call was a second ago."""
        now = time.monotonic()
        if self._progress is not None and now - self._reported >= 1.0:
            self._reported = now
            self._progress(states, depth)


def resident_bytes() -> int:
    """Return the memory that this process uses now."""
    return _resident_of("self")


def _resident_in_siblings() -> int:
    family = Path(f"/proc/{os.getppid()}/task")
    children = {child for thread in family.glob("*/children") for child in thread.read_text().split()}
    return sum(_resident_of(child) for child in children - {str(os.getpid())})


def _resident_of(process: str) -> int:
    try:
        return int(Path(f"/proc/{process}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except OSError:  # the process has ended
        return 0


def peak_bytes() -> int:
    """Return the peak memory of this process."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if os.uname().sysname == "Darwin" else peak * 1024
