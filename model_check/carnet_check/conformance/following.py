"""Following a trace: one step after another, going back where an argument that was left out was chosen wrongly."""

from __future__ import annotations

import itertools
from collections import deque
from collections.abc import Collection
from dataclasses import dataclass

from carnet_check.conformance.machine import Machine, Move
from carnet_check.conformance.tables import CHANGE, MOST_KEPT, MOST_WAYS, AmbiguousTraceError, Work
from carnet_spec.trace import TraceCheck, TraceEnd, TraceStep


@dataclass(frozen=True, slots=True)
class Divergence:
    """The first event that no run of the spec explains, and why; ``index`` counts events from 0."""

    index: int
    step: TraceStep | TraceCheck | TraceEnd
    why: str


@dataclass(slots=True)
class _Branch:
    """A point from which a trace could go on in other ways."""

    taken: int
    """Steps taken before it."""
    changes: int
    """Changes kept in the journal before it, those included that were forgotten since."""
    others: list[Move]
    """The last one is tried next."""


class Follower:
    """Takes the steps of one trace, each once it is known, in a machine of its own.

    Where missing arguments allow for several moves, one is followed; the others wait until it does not work out. Of
    too many that wait, those that wait longest are forgotten: a trace that could only go on from them is undecided.
    """

    def __init__(self, machine: Machine, ignored: Collection[str] = ()) -> None:
        """Follow a trace in ``machine``; steps of ``ignored`` actions are no evidence and change nothing."""
        self._machine = machine
        self._ignored = ignored
        self._branches: deque[_Branch] = deque()
        self._steps: deque[TraceStep] = deque()
        """The steps since the first branch that is open."""
        self._since = 0
        self._forgotten = 0
        """Changes that the journal had and has no more."""
        self._waiting = 0
        """Changes of the moves that wait."""
        self._left_out = False
        self._taken = 0
        self._furthest: Divergence | None = None

    @property
    def work(self) -> Work:
        """What may still be spent."""
        return self._machine.work

    @property
    def open(self) -> int:
        """In how many places the trace could have gone on in another way."""
        return len(self._branches)

    @property
    def remembered(self) -> int:
        """How many changes are kept, to be taken back or to be made instead."""
        return len(self._machine.journal or ()) + self._waiting

    def take(self, step: TraceStep) -> Divergence | None:
        """Take the next step; return the divergence if no run of the spec explains the trace up to here.

        Raises:
            AmbiguousTraceError: too much is missing from the trace to decide it.
        """
        self.work.allow_event()
        misfit = self._machine.misfit(step)
        if misfit:
            return Divergence(self._taken, step, misfit)
        if self._branches:
            self._steps.append(step)
        ahead = deque((step,))
        while ahead:
            current = ahead.popleft()
            moves = self._moves(current)
            if moves:
                self._go(moves, current, ahead)
                continue
            if self._furthest is None or self._taken > self._furthest.index:
                self._furthest = Divergence(self._taken, current, self._machine.why_not(current))
            if not self._branches:
                return self._diverged(self._furthest)
            ahead = self._back()
        return None

    def _moves(self, step: TraceStep) -> list[Move]:
        return [Move(())] if step.action in self._ignored else self._machine.moves(step)

    def _diverged(self, found: Divergence) -> Divergence:
        if self._left_out:
            raise AmbiguousTraceError(
                f"undecided at event {found.index}: the trace leaves out so many arguments that not every way to "
                "choose them was tried"
            )
        return found

    def _go(self, moves: list[Move], step: TraceStep, ahead: deque[TraceStep]) -> None:
        if len(moves) > MOST_WAYS:
            self._left_out = True
            moves.pop()
        first, *others = moves
        if others and not self._branches:
            self._steps = deque((step, *ahead))
            self._since = self._taken
            self._machine.journal = deque()
            self._forgotten = 0
        if others:
            others.reverse()
            self._branches.append(_Branch(self._taken, self._kept(), others))
            self._waiting += sum(len(move.changes) for move in others)
        self._machine.take(first)
        self._taken += 1
        self._forget()

    def _kept(self) -> int:
        return self._forgotten + len(self._machine.journal or ())

    def _back(self) -> deque[TraceStep]:
        """Take the last branch's next way, and return the steps to be taken again after it."""
        branch = self._branches[-1]
        journal = self._machine.journal
        assert journal is not None
        while self._kept() > branch.changes:
            self.work.spend(CHANGE)
            journal.pop()()
        move = branch.others.pop()
        self._waiting -= len(move.changes)
        if not branch.others:
            self._branches.pop()
        if not self._branches:
            self._machine.journal = None
        self._machine.take(move)
        self._taken = branch.taken + 1
        ahead = deque[TraceStep]()  # from the end, which is near: what comes before may be all of a long trace
        ahead.extendleft(itertools.islice(reversed(self._steps), len(self._steps) - (self._taken - self._since)))
        return ahead

    def _forget(self) -> None:
        """Forget the branches that wait longest, until no more is remembered than may be."""
        journal = self._machine.journal
        while journal is not None and self.remembered > MOST_KEPT:
            self._left_out = True
            self._waiting -= sum(len(move.changes) for move in self._branches.popleft().others)
            if not self._branches:
                self._machine.journal = None
                return
            first = self._branches[0]
            for _ in range(first.changes - self._forgotten):
                journal.popleft()
            self._forgotten = first.changes
            for _ in range(first.taken - self._since):
                self._steps.popleft()
            self._since = first.taken
