"""A counterexample from beginning to end: the steps, why the claim fails, what each party knows."""

from __future__ import annotations

from collections.abc import Sequence

from carnet_check.attacks.narrate import narrate, reason
from carnet_check.report.closing import wrapped
from carnet_check.report.words import known
from carnet_check.semantics import Interpreter, State
from carnet_spec.language import Invariant
from carnet_spec.trace import Trace


def told(
    judge: Interpreter, invariant: Invariant, trace: Trace, states: Sequence[State], full: bool = False
) -> list[str]:
    """Tell a minimised trace along which ``states`` were reached; ``full``: with the fields that each step changed."""
    lines = [*narrate(judge.protocol, states, trace, full), ""]
    lines += [f"  {line}" for line in reason(judge, invariant, states[-1])]
    facts_of = known(judge.protocol, states[-1])
    if facts_of:
        indent = max(len(name) for name in facts_of) + 8
        lines += ["", "  known at the end"]
        for name, facts in facts_of.items():
            lines += wrapped(f"    {name}", ", ".join(facts), indent)
    return [*lines, ""]
