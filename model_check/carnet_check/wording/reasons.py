"""Why a trace is a violation: what fails in its last state, or what a run that goes on for ever waits for in vain."""

from __future__ import annotations

from collections.abc import Sequence

from carnet_check.semantics import Interpreter, State
from carnet_check.semantics.lassos import fairly, waiting_from
from carnet_check.wording.narrate import reason
from carnet_command.text import counted
from carnet_spec.language import Eventually, Invariant
from carnet_spec.language.notation import show
from carnet_spec.language.printing import fair_steps
from carnet_spec.trace import Trace


def reasons(judge: Interpreter, failing: Invariant | Eventually, trace: Trace, states: Sequence[State]) -> list[str]:
    """Say why ``failing`` fails along a trace; ``judge`` replayed it and found ``states``, the first one included."""
    if isinstance(failing, Invariant):
        return reason(judge, failing, states[-1])
    assert trace.loop is not None
    begin = waiting_from(judge, failing, states, trace.loop)
    since = "from the start" if begin == 0 else f"after {trace.steps[begin - 1].action}" if begin else "nowhere"
    told = (
        f"{told} {fairly(judge, failing, name, states, trace) or 'is treated unfairly'}"
        for name, told in zip(failing.fair, fair_steps(failing), strict=True)
    )
    repeated = sum(not judge.protocol.action(step.action).deduction for step in trace.steps[trace.loop :])
    rest = f"the last {counted(repeated, 'step')} are" if repeated > 1 else "the last step is"
    return [
        f"{failing.name} fails:",
        f"  {since} it holds that  {show(failing.trigger)}",
        f"  and it never comes that  {show(failing.response)}",
        f"  {rest} taken again and again" if repeated else "  nothing happens any more",
        *(f"  this is fair: {each}" for each in told),
        *([] if failing.fair else ["  this is fair: nobody has to act"]),
    ]
