"""Lassos: runs that go round for ever, and whether one refutes that something happens in the end."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from carnet_check.semantics.fairness import allowed, is_cut_short, is_open, part
from carnet_check.semantics.interpreter import Interpreter
from carnet_check.semantics.state import State
from carnet_spec.language import Eventually
from carnet_spec.trace import Trace, TraceStep


def objection(judge: Interpreter, live: Eventually, trace: Trace) -> str:
    """Say why ``trace`` is no fair run in which ``live`` waits in vain; nothing, if it is one.

    Args:
        judge: of the protocol with the rules as steps that decide about ``live``.
        live: what is said to fail.
        trace: a lasso, with all deductions written out or with none.

    Raises:
        NotEnabled: a step cannot be taken.
        SpecificationError: an action is unknown, or its arguments are not the action's.
    """
    states = judge.replay(trace)
    if trace.loop is None:
        return "it goes round nowhere"
    if states[trace.loop] != states[-1]:
        return "it does not return to the state in which it begins to go round"
    if judge.saturate(states[-1]) != states[-1]:
        return "a deduction is left out where it goes round"
    if waiting_from(judge, live, states, trace.loop) is None:
        return "it does not wait in vain"
    unfair = [name for name in live.fair if not fairly(judge, live, name, states, trace)]
    return f"it is not fair to {', '.join(unfair)}" if unfair else ""


def waiting_from(judge: Interpreter, live: Eventually, states: Sequence[State], loop: int) -> int | None:
    """Return the first place of a lasso from which it waits for ever, if it does."""
    begin = None
    for place, state in enumerate(states):
        if judge.holds(live.response, state):
            if place >= loop:
                return None
            begin = None
        elif begin is None and judge.holds(live.trigger, state):
            begin = place
    return begin


def fairly(judge: Interpreter, live: Eventually, name: str, states: Sequence[State], trace: Trace) -> str:
    """Say how the part of a lasso that is repeated is fair to an action that ``live`` names; nothing, if it is not."""
    assert trace.loop is not None
    action = part(judge.protocol.action(name), live)
    repeated = range(trace.loop, len(trace.steps))
    for place in repeated:
        taken = trace.steps[place]
        if (
            taken.action == name
            and states[place] != states[place + 1]
            and allowed(judge, action, states[place], dict(taken.args))
        ):
            return "is taken again and again"
    rests = (state for state in states[trace.loop :] if judge.saturate(state) == state)
    if any(not is_open(judge, action, state) and not is_cut_short(judge, action, state) for state in rests):
        return "cannot change anything, again and again" if repeated else "cannot change anything"
    return ""


def going_round(judge: Interpreter, stem: Iterable[TraceStep], repeated: Sequence[TraceStep], trace: Trace) -> Trace:
    """Return ``trace`` with the steps of a lasso: a way to where it begins, and steps that are taken again and again.

    Both list no deduction. What matters to a search returns after one round, and the whole state after some more.

    Raises:
        NotEnabled: a step cannot be taken.
    """
    written, state = judge.expanded_start()
    for step in stem:
        more, state = judge.expanded(state, step)
        written += more
    begins: dict[State, int] = {}
    while state not in begins:
        begins[state] = len(written)
        for step in repeated:
            more, state = judge.expanded(state, step)
            written += more
    return replace(trace, steps=tuple(written), loop=begins[state])
