"""The fewest steps that still break the same claim.

A search reports honest and adversary steps and leaves deductions to saturation. Here every deduction is written out,
and then every piece that the violation does not need is deleted, larger pieces first, until no single step can go.
"""

from __future__ import annotations

from dataclasses import replace

from carnet_check.errors import EngineError
from carnet_check.semantics import Interpreter, NotEnabled, State
from carnet_check.slicing import Slicer
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
