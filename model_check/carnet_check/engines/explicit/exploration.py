"""What a search is asked and what it answers."""

from __future__ import annotations

import os
import resource
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from carnet_spec.trace import Step, Trace


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a running search has come."""

    states: int
    frontier: int
    """States found and not yet expanded."""
    depth: int
    seconds: float

    @property
    def states_per_second(self) -> float:
        """New states found per second since the search began."""
        return self.states / self.seconds if self.seconds > 0 else 0.0


@dataclass(frozen=True, slots=True)
class Exploration:
    """What a search covered and found.

    Attributes:
        states: distinct states reached, each saturated with deductions.
        transitions: steps taken between them; a step that changes nothing, or leads to a known state, counts.
        depth: the number of steps to the farthest state reached.
        complete: every reachable state of the instance was reached and every step from it taken.
        stopped_by: why not: "violation", "states", "memory" or "interrupt".
        violations: for each invariant that failed, a shortest trace to a state in which it fails; without traces
            (``want_trace=False``) the traces are empty.
        goals: for each goal that was reached, a shortest trace to it.
        fired: for each action, how many of the transitions it made; for each rule, 1 if its premises held in some
            state reached and 0 otherwise.
        reduction: what was left out because it cannot matter, by name of the reduction.
        peak_memory_bytes: of the whole process.
    """

    states: int
    transitions: int
    depth: int
    complete: bool
    stopped_by: str | None
    seconds: float
    peak_memory_bytes: int
    violations: Mapping[str, Trace]
    goals: Mapping[str, Trace]
    fired: Mapping[str, int]
    reduction: Mapping[str, int] = field(default_factory=dict)

    @property
    def states_per_second(self) -> float:
        """States found per second of the whole search."""
        return self.states / self.seconds if self.seconds > 0 else 0.0


Paths = dict[str, list[Step]]
"""A path to each thing found; deductions are left out."""


@dataclass
class Covered:
    """What an engine hands back; the fields mean what they mean in :class:`Exploration`."""

    states: int = 0
    transitions: int = 0
    depth: int = 0
    stopped_by: str | None = None
    violations: Paths = field(default_factory=dict)
    goals: Paths = field(default_factory=dict)
    fired: dict[str, int] = field(default_factory=dict)
    reduction: dict[str, int] = field(default_factory=dict)


class Watch:
    """Holds a running search to its bounds and reports on it about once a second."""

    def __init__(
        self,
        *,
        max_states: int | None,
        max_memory: int | None,
        progress: Callable[[Progress], None] | None,
        workers: int = 1,
    ) -> None:
        self.max_states = max_states
        self._max_memory = max_memory
        self._workers = workers
        self._progress = progress
        self._began = time.monotonic()
        self._reported = self._began

    @property
    def seconds(self) -> float:
        """Seconds since the search began."""
        return time.monotonic() - self._began

    def exceeded(self, states: int) -> str | None:
        """Return the bound that ``states`` states go beyond, if any."""
        if self.max_states is not None and states >= self.max_states:
            return "states"
        if self._max_memory is not None and self._holds_more_than(self._max_memory):
            return "memory"
        return None

    def _holds_more_than(self, memory: int) -> bool:
        """Whether the workers together hold more, and this one more than its share: one that does not goes on."""
        own = resident_bytes()
        return own * self._workers > memory and (self._workers == 1 or own + _resident_in_siblings() > memory)

    def report(self, states: int, frontier: int, depth: int) -> None:
        """Call the progress function, if a second has passed since it was called last."""
        now = time.monotonic()
        if self._progress is not None and now - self._reported >= 1.0:
            self._reported = now
            self._progress(Progress(states, frontier, depth, now - self._began))


def resident_bytes() -> int:
    """Return the memory this process holds now."""
    return _resident_of("self")


def _resident_in_siblings() -> int:
    """Return the memory that the other children of this process's parent hold."""
    family = Path(f"/proc/{os.getppid()}/task")
    children = {child for thread in family.glob("*/children") for child in thread.read_text().split()}
    return sum(_resident_of(child) for child in children - {str(os.getpid())})


def _resident_of(process: str) -> int:
    try:
        return int(Path(f"/proc/{process}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except OSError:  # it has ended
        return 0


def peak_bytes() -> int:
    """Return the most memory this process ever held."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024
