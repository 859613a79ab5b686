"""An attack as a Mermaid sequence diagram: one lane per party, one arrow per message."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from carnet_check.attacks.narrate import silent
from carnet_check.report.words import filled, known
from carnet_check.semantics import State
from carnet_spec.language import Action, Protocol
from carnet_spec.language.terms import Apply, Var
from carnet_spec.trace import Step, Trace

MESSAGE = re.compile(r"^(?P<sender>.+?)\s*->\s*(?P<receiver>.+?)\s*:\s*(?P<text>.+)$")


@dataclass(frozen=True, slots=True)
class _Arrow:
    sender: str
    receiver: str
    text: str


def mermaid(protocol: Protocol, states: Sequence[State], trace: Trace) -> str:
    """Draw a trace; steps without a message, and what is learned, are notes over the party concerned."""
    lanes: dict[str, str] = {}
    body: list[str] = []
    for position, step in enumerate(trace.steps):
        action = protocol.action(step.action)
        arrow = _arrow(action, step)
        if arrow is not None:
            sender, receiver = _lane(lanes, arrow.sender), _lane(lanes, arrow.receiver)
            body.append(f"    {sender}->>{receiver}: {_plain(arrow.text)}")
        elif not silent(action):
            lane = _lane(lanes, _actor(action, step))
            body.append(f"    Note over {lane}: {_plain(filled(action.says, step.env))}")
        for knower, facts in known(protocol, states[position + 1], states[position]).items():
            body.append(f"    Note over {_lane(lanes, knower)}: learns {_plain(', '.join(facts))}")
    heads = [f"    participant {id} as {_plain(name)}" for name, id in lanes.items()]
    return "\n".join(["sequenceDiagram", "    autonumber", *heads, *body])


def _arrow(action: Action, step: Step) -> _Arrow | None:
    found = MESSAGE.match(action.message)
    if found is None:
        return None
    return _Arrow(*(filled(found[part], step.env) for part in ("sender", "receiver", "text")))


def _actor(action: Action, step: Step) -> str:
    match action.actor:
        case Var(name, _):
            return step.env.get(name, action.by.name)
        case Apply(symbol, ()):
            return symbol.name
        case _:
            return action.by.name


def _lane(lanes: dict[str, str], name: str) -> str:
    return lanes.setdefault(name, f"p{len(lanes)}")


def _plain(text: str) -> str:
    """Write ``text`` so that Mermaid takes no part of it for syntax."""
    return text.translate({ord("#"): "#35;", ord(";"): "#59;", ord("\n"): " "})
