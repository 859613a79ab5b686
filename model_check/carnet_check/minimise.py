"""Minimising a run: steps are deleted as long as the others can still be taken and end in a required state."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Generic, TypeVar

from carnet_check.errors import EngineError
from carnet_check.semantics import Interpreter, NotEnabled, State
from carnet_spec.language import Invariant
from carnet_spec.trace import Trace, TraceStep

StepT = TypeVar("StepT")
StateT = TypeVar("StateT")


class Slicer(Generic[StateT, StepT]):
    """Deletes steps of runs that begin in ``start``.

    ``take`` returns the state after a step, or None if the step cannot be taken. ``ends`` says whether a run may end in
    a state.
    """

    def __init__(
        self, start: StateT, take: Callable[[StateT, StepT], StateT | None], ends: Callable[[StateT], bool]
    ) -> None:
        self._start = start
        self._take = take
        self._ends = ends

    def serves(self, steps: Sequence[StepT]) -> bool:
        """Whether all steps can be taken and lead to a state in which a run may end."""
        return self._serves(self._start, steps)

    def without_superfluous(self, steps: list[StepT], longest_run: int) -> list[StepT]:
        """Delete smaller and smaller pieces, from the end to the beginning; then short sequences, at every position.

        ``longest_run`` is the length of the longest such sequence: some steps can only be deleted together.
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

    def _pass(self, steps: list[StepT], size: int, stride: int) -> list[StepT]:
        """Try to delete every piece of ``size`` steps whose end is a multiple of ``stride`` from the end."""
        prefix = [self._start]
        for step in steps:
            after = self._take(prefix[-1], step)
            assert after is not None, "a run that serves cannot be taken"
            prefix.append(after)
        end = len(steps)
        while end > 0:
            begin = max(0, end - size)
            if self._serves(prefix[begin], steps[end:]):
                steps = steps[:begin] + steps[end:]
                end = begin
            else:
                end -= stride
        return steps

    def _serves(self, state: StateT, steps: Sequence[StepT]) -> bool:
        at: StateT | None = state
        for step in steps:
            at = self._take(at, step) if at is not None else None
            if at is None:
                return False
        return at is not None and self._ends(at)


# --------------------------------------------------------------------------------------------------
# Minimising an attack: few steps that still violate the same claim.
#
# A search reports honest and adversary steps, without the deductions of saturation. Here every deduction is made an
# explicit step. Then every piece that the violation does not need is deleted, larger pieces first, until no single step
# can be deleted.


LONGEST_RUN = 8  #: The longest sequence of steps, such as a whole loan, that is tried to be deleted as one.


def minimise(judge: Interpreter, invariant: Invariant, trace: Trace) -> Trace:
    """Return a trace without superfluous steps, with only the deductions that the violation needs.

    Raises EngineError if the given trace does not violate the invariant.
    """
    deductions = {action.name for action in judge.protocol.actions if action.deduction}
    written = any(step.action in deductions for step in trace.steps)
    steps = list(trace.steps) if written else judge.expand(trace.steps)
    names = {action.name: action for action in judge.protocol.actions}

    def take(state: State, step: TraceStep) -> State | None:
        try:
            return judge.fire(state, names[step.action], step.env)
        except NotEnabled:
            return None

    slicer = Slicer(judge.start(), take, lambda state: not judge.holds(invariant.formula, state))
    if not slicer.serves(steps):
        raise EngineError(f"the interpreter does not reproduce the violation of {invariant.name}")
    return replace(trace, steps=tuple(slicer.without_superfluous(steps, LONGEST_RUN)))
