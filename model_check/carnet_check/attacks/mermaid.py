"""An attack as a Mermaid sequence diagram: one lane per party, one arrow per message."""

from __future__ import annotations

from collections.abc import Sequence

from carnet_check.attacks.sequence import sequence_chart
from carnet_check.semantics import State
from carnet_spec.language import Protocol
from carnet_spec.trace import Trace


def mermaid(protocol: Protocol, states: Sequence[State], trace: Trace) -> str:
    """Draw a trace; steps without a message, and what is learned, are notes over the party concerned."""
    chart = sequence_chart(protocol, states, trace)
    lanes = {party: f"p{number}" for number, party in enumerate(chart.parties)}
    body: list[str] = []
    for shown in chart.steps:
        if shown.arrow is not None:
            sender, receiver = lanes[shown.arrow.sender], lanes[shown.arrow.receiver]
            body.append(f"    {sender}->>{receiver}: {_plain(shown.arrow.text)}")
        elif shown.number is not None:
            body.append(f"    Note over {lanes[shown.actor]}: {_plain(shown.sentence)}")
        for knower, facts in shown.learned.items():
            body.append(f"    Note over {lanes[knower]}: learns {_plain(', '.join(facts))}")
    heads = [f"    participant {id} as {_plain(name)}" for name, id in lanes.items()]
    return "\n".join(["sequenceDiagram", "    autonumber", *heads, *body])


def _plain(text: str) -> str:
    """Write ``text`` so that Mermaid takes no part of it for syntax."""
    return text.translate({ord("#"): "#35;", ord(";"): "#59;", ord("\n"): " "})
