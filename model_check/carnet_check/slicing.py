"""Which steps of a run can go: pieces are deleted as long as the rest can still be taken and ends as it should."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Generic, TypeVar

Step = TypeVar("Step")
State = TypeVar("State")


class Slicer(Generic[State, Step]):
    """Deletes steps of runs that begin in ``start``.

    ``take`` returns the state after a step, or nothing if it cannot be taken; ``ends`` says whether a run should end in
    a state.
    """

    def __init__(
        self, start: State, take: Callable[[State, Step], State | None], ends: Callable[[State], bool]
    ) -> None:
        self._start = start
        self._take = take
        self._ends = ends

    def serves(self, steps: Sequence[Step]) -> bool:
        """Whether a run can be taken and ends as it should."""
        return self._serves(self._start, steps)

    def without_superfluous(self, steps: list[Step], longest_run: int) -> list[Step]:
        """Delete smaller and smaller pieces, from the end to the beginning; then short runs, wherever they start.

        ``longest_run`` is how many steps go together that only make sense together.
        """
        size = len(steps) // 2
        while size > 1:
            steps = self._pass(steps, size, size)
            size //= 2
        while True:
            shorter = steps
            for length in range(1, longest_run + 1):
                shorter = self._pass(shorter, length, 1)
            if len(shorter) == len(steps):
                return shorter
            steps = shorter

    def _pass(self, steps: list[Step], size: int, stride: int) -> list[Step]:
        """Try to delete every piece of ``size`` steps whose end is a multiple of ``stride`` from the end."""
        prefix = self._states(steps)
        end = len(steps)
        while end > 0:
            begin = max(0, end - size)
            if self._serves(prefix[begin], steps[end:]):
                steps = steps[:begin] + steps[end:]
                end = begin
            else:
                end -= stride
        return steps

    def _states(self, steps: Sequence[Step]) -> list[State]:
        states = [self._start]
        for step in steps:
            after = self._take(states[-1], step)
            assert after is not None, "a run that serves cannot be taken"
            states.append(after)
        return states

    def _serves(self, state: State, steps: Sequence[Step]) -> bool:
        at: State | None = state
        for step in steps:
            at = self._take(at, step) if at is not None else None
            if at is None:
                return False
        return at is not None and self._ends(at)
