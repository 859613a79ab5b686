"""Faults of the instances of an orchestrator: kills, old states and forks, at moments that a seed decides."""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from enum import Enum, auto

MOMENTS_PER_ROUND = 8
"""Moments at which something may happen, in a round with one backup; with more there are more."""


class Fault(Enum):
    """What the platform may do to the instances."""

    KILL_HEAD = auto()
    """The instance in charge is killed."""
    KILL_BACKUP = auto()
    """A backup is killed."""
    ROLL_BACK_HEAD = auto()
    """The instance in charge is killed, and started from an older state than its last."""
    ROLL_BACK_BACKUP = auto()
    """A backup is killed, and started from an older state than its last."""
    FORK = auto()
    """A backup takes over while the instance in charge runs on."""


@dataclass(slots=True)
class FaultInjection:
    """So many faults, spread over a run; the same seed gives the same.

    Args:
        left: how many there are to be.
        rounds: how long the run is.
        seed: what decides when, and which.
        kinds: which there may be.
    """

    left: int = 0
    rounds: int = 1
    seed: int = 0
    kinds: tuple[Fault, ...] = tuple(Fault)
    random: random.Random = field(init=False)
    _wait: int = field(init=False, default=0)

    def __post_init__(self) -> None:
        self.random = random.Random(self.seed)
        self._draw()

    def moment(self) -> Fault | None:
        """Return what happens at this moment, if anything does."""
        if not self.left:
            return None
        if self._wait:
            self._wait -= 1
            return None
        self.left -= 1
        self._draw()
        return self.random.choice(self.kinds)

    def _draw(self) -> None:
        most = 2 * self.rounds * MOMENTS_PER_ROUND // max(1, self.left)
        self._wait = self.random.randint(0, max(1, most))
