"""The fewest steps that still break the same claim.

A search reports honest and adversary steps and leaves deductions to saturation. Here every deduction is written out,
and then every piece that the violation does not need is deleted, larger pieces first, until no single step can go.
"""

from __future__ import annotations

from dataclasses import replace

from carnet_check.errors import EngineError
from carnet_check.semantics import Interpreter, NotEnabled, State
from carnet_spec.language import Invariant
from carnet_spec.trace import Trace, TraceStep

LONGEST_RUN = 8
"""Steps that only make sense together, such as a whole loan, go together up to this length."""


def minimise(judge: Interpreter, invariant: Invariant, trace: Trace) -> Trace:
    """Return a trace without superfluous steps in which only the deductions that are needed are taken.

    Raises:
        EngineError: the trace does not break the invariant in the first place.
    """
    deductions = {action.name for action in judge.protocol.actions if action.deduction}
    written = any(step.action in deductions for step in trace.steps)
    steps = list(trace.steps) if written else judge.expand(trace.steps)
    slicer = _Slicer(judge, invariant)
    if not slicer.falls(judge.start(), steps):
        raise EngineError(f"the interpreter does not reproduce the violation of {invariant.name}")
    shorter = slicer.without_superfluous(steps)
    return replace(trace, steps=tuple(shorter))


class _Slicer:
    def __init__(self, judge: Interpreter, invariant: Invariant) -> None:
        self._judge = judge
        self._formula = invariant.formula
        self._actions = {action.name: action for action in judge.protocol.actions}

    def without_superfluous(self, steps: list[TraceStep]) -> list[TraceStep]:
        """Delete smaller and smaller pieces, from the end to the beginning; then short runs, wherever they start."""
        size = len(steps) // 2
        while size > 1:
            steps = self._pass(steps, size, size)
            size //= 2
        while True:
            shorter = steps
            for length in range(1, LONGEST_RUN + 1):
                shorter = self._pass(shorter, length, 1)
            if len(shorter) == len(steps):
                return shorter
            steps = shorter

    def _pass(self, steps: list[TraceStep], size: int, stride: int) -> list[TraceStep]:
        """Try to delete every piece of ``size`` steps whose end is a multiple of ``stride`` from the end."""
        prefix = self._states(steps)
        end = len(steps)
        while end > 0:
            begin = max(0, end - size)
            if self.falls(prefix[begin], steps[end:]):
                steps = steps[:begin] + steps[end:]
                end = begin
            else:
                end -= stride
        return steps

    def _states(self, steps: list[TraceStep]) -> list[State]:
        states = [self._judge.start()]
        for step in steps:
            states.append(self._fire(states[-1], step))
        return states

    def falls(self, state: State, steps: list[TraceStep]) -> bool:
        """Whether ``steps`` can be taken from ``state`` and end where the claim does not hold."""
        try:
            for step in steps:
                state = self._fire(state, step)
        except NotEnabled:
            return False
        return not self._judge.holds(self._formula, state)

    def _fire(self, state: State, step: TraceStep) -> State:
        return self._judge.fire(state, self._actions[step.action], step.env)
