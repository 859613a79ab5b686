"""A counterexample from beginning to end: the steps, why the claim fails, what each party knows."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from carnet_check.attacks.brief import brief
from carnet_check.semantics import Interpreter, State
from carnet_check.wording import known, narrate, reasons
from carnet_command.text import wrapped
from carnet_spec.language import Eventually, Invariant
from carnet_spec.trace import Trace

OPENING = re.compile(r"\s*(\d+(-\d+)?\.\s+|>>> |<<< |given that  |it is false that  )?")
"""The number or the words before a sentence or a formula."""


def describe_attack(
    judge: Interpreter,
    failing: Invariant | Eventually,
    trace: Trace,
    states: Sequence[State],
    full: bool = False,
    remarks: Mapping[int, str] | None = None,
) -> list[str]:
    """Describe a minimised trace along which ``states`` were reached.

    Args:
        judge: replayed the trace.
        failing: the invariant that fails in the last state, or what a lasso waits for in vain.
        trace: the steps.
        states: those along the trace, the first one included.
        full: add the fields that each step changed.
        remarks: words to put below a step, by its position.
    """
    story = narrate(judge.protocol, states, trace, full, remarks)
    why = [f"  {line}" for line in reasons(judge, failing, trace, states)]
    lines = [part for line in [*story, "", *why] for part in _folded(line)]
    facts_of = known(judge.protocol, states[-1])
    if facts_of:
        indent = max(len(name) for name in facts_of) + 8
        lines += ["", "  known at the end"]
        for name, facts in facts_of.items():
            lines += wrapped(f"    {name}", ", ".join(facts), indent)
    return [*lines, ""]


def describe_briefly(
    judge: Interpreter, failing: Invariant, trace: Trace, states: Sequence[State], remarks: Mapping[int, str]
) -> list[str]:
    """Describe a minimised trace in a few lines; the arguments are those of `describe_attack`."""
    why, *_ = reasons(judge, failing, trace, states)
    lines = [*brief(judge.protocol, states, trace, remarks), "", f"  {why.removesuffix(':')}"]
    return [*(part for line in lines for part in _folded(line)), ""]


def _folded(line: str) -> list[str]:
    """Fold a line at the width of the report; later lines begin below the sentence or formula."""
    opening = OPENING.match(line)
    begins = opening.end() if opening else 0
    return wrapped(line[:begins], line[begins:], begins)
