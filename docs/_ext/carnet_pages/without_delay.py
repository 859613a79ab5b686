"""A run with each step taken as soon as it can be, so that a diagram of it reads in order."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from carnet_check.semantics import Interpreter
    from carnet_spec.trace import Trace, TraceStep


def without_delay(judge: Interpreter, trace: Trace) -> Trace:
    """Return a run to the same state with each step taken as soon as it can be; each role keeps the order of its steps.

    A search may let a message wait while others are sent. Then a diagram would show it received long after.
    """
    steps: list[TraceStep] = []
    for place, step in enumerate(trace.steps):
        own = max((at for at, each in enumerate(steps, 1) if each.by == step.by), default=0)
        rest = trace.steps[place + 1 :]
        early = ([*steps[:at], step, *steps[at:]] for at in range(own, place + 1))
        steps = next(each for each in early if _leads_there(judge, trace, (*each, *rest)))
    return replace(trace, steps=tuple(steps))


def _leads_there(judge: Interpreter, trace: Trace, steps: tuple[TraceStep, ...]) -> bool:
    from carnet_check.semantics import NotEnabled

    try:
        return judge.replay(replace(trace, steps=steps))[-1] == judge.replay(trace)[-1]
    except NotEnabled:
        return False
