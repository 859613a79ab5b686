"""Following a trace: one step after another, going back where an argument that was left out was chosen wrongly."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass

from carnet_check.conformance.machine import Machine, Move
from carnet_check.errors import CarnetError
from carnet_spec.trace import Step

MOST_BACKTRACKS = 10_000
"""How often a trace with missing arguments may be taken back and tried another way."""


class AmbiguousTraceError(CarnetError):
    """A trace leaves out so much that it was not decided whether it is a run of the spec."""

    kind = "unknown"
    exit_code = 3


@dataclass(frozen=True, slots=True)
class Divergence:
    """The first event that no run of the spec explains, and why; ``index`` counts events from 0."""

    index: int
    step: Step
    why: str


@dataclass(frozen=True, slots=True)
class _Branch:
    """A point from which a trace could go on in other ways."""

    taken: int
    """Steps taken before it."""
    changes: int
    """Changes kept in the journal before it."""
    others: list[Move]


class Follower:
    """Takes the steps of one trace, each once it is known, in a machine of its own.

    Where missing arguments allow for several moves, one is followed; the others wait until it does not work out.
    """

    def __init__(self, machine: Machine) -> None:
        self._machine = machine
        self._branches: list[_Branch] = []
        self._steps: list[Step] = []
        """The steps since the first branch that is open."""
        self._since = 0
        self._taken = 0
        self._backtracks = 0
        self._furthest: Divergence | None = None

    def take(self, step: Step) -> Divergence | None:
        """Take the next step; return the divergence if no run of the spec explains the trace up to here.

        Raises:
            AmbiguousTraceError: too much is missing from the trace to decide it.
        """
        if self._branches:
            self._steps.append(step)
        ahead = deque((step,))
        while ahead:
            current = ahead.popleft()
            moves = self._machine.moves(current)
            if not isinstance(moves, str):
                self._go(moves, current, ahead)
                continue
            if self._furthest is None or self._taken > self._furthest.index:
                self._furthest = Divergence(self._taken, current, moves)
            if not self._branches:
                return self._furthest
            ahead = self._back()
        return None

    def _go(self, moves: list[Move], step: Step, ahead: deque[Step]) -> None:
        first, *others = moves
        if others and not self._branches:
            self._steps = [step, *ahead]
            self._since = self._taken
            self._machine.journal = []
        if others:
            self._branches.append(_Branch(self._taken, len(self._machine.journal or ()), others))
        self._machine.make(first)
        self._taken += 1

    def _back(self) -> deque[Step]:
        """Take the last branch's next way, and return the steps to be taken again after it."""
        self._backtracks += 1
        if self._backtracks > MOST_BACKTRACKS:
            raise AmbiguousTraceError(
                f"undecided after going back {MOST_BACKTRACKS:,} times: the trace leaves out too many arguments"
            )
        branch = self._branches[-1]
        journal = self._machine.journal
        assert journal is not None
        while len(journal) > branch.changes:
            journal.pop()()
        move = branch.others.pop(0)
        if not branch.others:
            self._branches.pop()
        if not self._branches:
            self._machine.journal = None
        self._machine.make(move)
        self._taken = branch.taken + 1
        return deque(self._steps[self._taken - self._since :])
