"""A trace as a sequence chart: steps and messages between named parties, as diagrams and the report draw them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from carnet_check.semantics import State
from carnet_check.wording import Change, changes, filled, known, silent
from carnet_spec.language import Action, Protocol
from carnet_spec.language.terms import Apply, Var
from carnet_spec.trace import Trace, TraceStep

MESSAGE = re.compile(r"^(?P<sender>.+?)\s*->\s*(?P<receiver>.+?)\s*:\s*(?P<text>.+)$")


@dataclass(frozen=True, slots=True)
class Arrow:
    """One message from one party to another."""

    sender: str
    receiver: str
    text: str


@dataclass(frozen=True, slots=True)
class ShownStep:
    """One step of a trace as people look at it.

    ``number`` counts what happens; what the adversary merely works out has none. ``known`` is everything that each
    party knows after the step, ``learned`` what it did not know before.
    """

    number: int | None
    step: TraceStep
    action: Action
    sentence: str
    actor: str
    arrow: Arrow | None
    changes: tuple[Change, ...]
    learned: Mapping[str, Sequence[str]]
    known: Mapping[str, Sequence[str]]


@dataclass(frozen=True, slots=True)
class SequenceChart:
    """The parties of a trace, in the order in which they appear, and its steps."""

    parties: tuple[str, ...]
    steps: tuple[ShownStep, ...]


def sequence_chart(protocol: Protocol, states: Sequence[State], trace: Trace) -> SequenceChart:
    """Draw up ``trace``, along which ``states`` were reached."""
    steps = _one_name_each(protocol, list(_shown_steps(protocol, states, trace)))
    parties = dict.fromkeys(party for shown in steps for party in _parties(shown))
    return SequenceChart(tuple(parties), tuple(steps))


def _shown_steps(protocol: Protocol, states: Sequence[State], trace: Trace) -> Iterator[ShownStep]:
    number = 0
    for position, step in enumerate(trace.steps):
        action = protocol.action(step.action)
        before, after = states[position], states[position + 1]
        number += not silent(action)
        yield ShownStep(
            number=None if silent(action) else number,
            step=step,
            action=action,
            sentence=filled(action.says, step.env),
            actor=_actor(action, step),
            arrow=_arrow(action, step),
            changes=tuple(changes(protocol, before, after)),
            learned=known(protocol, after, before),
            known=known(protocol, after),
        )


def _parties(shown: ShownStep) -> Iterator[str]:
    if shown.arrow is not None:
        yield from (shown.arrow.sender, shown.arrow.receiver)
    elif shown.number is not None:
        yield shown.actor
    yield from shown.learned


def _one_name_each(protocol: Protocol, steps: Sequence[ShownStep]) -> list[ShownStep]:
    """Where a role has one player in the whole trace, call the role by the player's name: gpu is gpu1."""
    roles = {action.by.name for action in protocol.actions}
    players: dict[str, set[str]] = {}
    for shown in steps:
        players.setdefault(shown.action.by.name, set()).add(shown.actor)
    named = {role: min(those) for role, those in players.items() if role in roles and len(those) == 1}
    return [
        replace(
            shown,
            arrow=shown.arrow
            and Arrow(
                named.get(shown.arrow.sender, shown.arrow.sender),
                named.get(shown.arrow.receiver, shown.arrow.receiver),
                shown.arrow.text,
            ),
        )
        for shown in steps
    ]


def _arrow(action: Action, step: TraceStep) -> Arrow | None:
    found = MESSAGE.match(action.message)
    if found is None:
        return None
    return Arrow(*(filled(found[part], step.env) for part in ("sender", "receiver", "text")))


def _actor(action: Action, step: TraceStep) -> str:
    match action.actor:
        case Var(name, _):
            return step.env.get(name, action.by.name)
        case Apply(symbol, ()):
            return symbol.name
        case _:
            return action.by.name
