"""Explorations in a cache: what is kept of one, and what is believed when it is read back.

Every trace that is read back is replayed in the interpreter, as one that was just found is. That there is no other is
believed.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence, Set
from dataclasses import astuple, dataclass
from typing import Any

from carnet_check.cache import Answers, NotAnAnswerError
from carnet_check.engines.exploration import Caps, Exploration
from carnet_check.engines.interface import DecidesLiveness, Explores
from carnet_check.engines.premises import premises_of, trigger_of
from carnet_command.worker import tell
from carnet_spec.language import Goal, Instance, Invariant, Protocol
from carnet_spec.language.instance import InLine
from carnet_spec.trace import Trace, TraceStep

ENDED = (None, "violation")
"""How an exploration ended that is kept: it saw everything, or all that it looked for fell."""


@dataclass(frozen=True)
class Remembering:
    """Explores as an engine does, except where it did before; in a worker, tells how often it knew."""

    explorer: Explores
    before: Answers

    def explore(self, protocol: Protocol, instance: Instance, *, caps: Caps, **asked: Any) -> Exploration:
        """Return what was found before, or explore now and keep what is found."""
        text = question(protocol, instance, **asked)
        if text is None:
            return self.explorer.explore(protocol, instance, caps=caps, **asked)
        here = Answers(self.before.folder, self.before.who)
        found = here.known(text, str(caps.states), lambda kept: _read(kept, protocol, **asked))
        if found is None:
            found = self.explorer.explore(protocol, instance, caps=caps, **asked)
            if found.stopped_by in ENDED and not found.problems:
                here.keep(text, str(caps.states), _written(found))
        tell(here.used)
        return found

    def lassos(self, protocol: Protocol, instance: Instance, **asked: Any) -> Exploration:
        """Look for lassos anew: none is kept."""
        assert isinstance(self.explorer, DecidesLiveness)
        return self.explorer.lassos(protocol, instance, **asked)


def question(
    protocol: Protocol,
    instance: Instance,
    *,
    invariants: Sequence[Invariant],
    goals: Sequence[Goal] = (),
    **asked: Any,
) -> str | None:
    """Return all that an exploration depends on, if the names of invariants and goals say what these are."""
    premises = (premise for each in invariants for premise in premises_of(each))
    known = {*protocol.goals, *premises, *map(trigger_of, protocol.liveness)}
    if not (set(invariants) <= set(protocol.invariants) and set(goals) <= known):
        return None
    options = {name: asked[name] for name in sorted(asked.keys() - {"watch"})}
    named = [[each.name for each in listed] for listed in (invariants, goals)]
    return json.dumps([protocol.digest, _plain(vars(instance)), named, options], sort_keys=True)


def _plain(value: Any) -> Any:
    """Return a value as JSON values that differ where it differs."""
    match value:
        case InLine():
            return {"in line": list(value.elements)}
        case Mapping():
            return sorted([_plain(key), _plain(each)] for key, each in value.items())
        case Set():
            return sorted(map(_plain, value))
        case tuple():
            return [_plain(each) for each in value]
    return value


def _written(found: Exploration) -> dict[str, Any]:
    """Return an exploration as JSON values; what has an order keeps it, since verdicts are written in it."""
    traces = {"violations": found.violations, "goals": found.goals}
    return {
        "states": found.states,
        "transitions": found.transitions,
        "depth": found.depth,
        "stopped_by": found.stopped_by,
        "fired": [*found.fired.items()],
        "reduction": [*found.reduction.items()],
        **{name: [(each, [*map(astuple, kept[each].steps)]) for each in kept] for name, kept in traces.items()},
    }


def _read(
    kept: Mapping[str, Any],
    protocol: Protocol,
    *,
    invariants: Sequence[Invariant],
    goals: Sequence[Goal] = (),
    threat: str = "",
    **_: Any,
) -> Exploration:
    """Return an exploration that was kept; it speaks of nothing that was not asked."""
    asked = {"violations": {each.name for each in invariants}, "goals": {each.name for each in goals}}
    asked |= {"fired": {each.name for each in protocol.actions}}
    for name, names in asked.items():
        if not names.issuperset(each for each, _ in kept[name]):
            raise NotAnAnswerError("it speaks of what was not asked")
    if kept["stopped_by"] not in ENDED:
        raise NotAnAnswerError("it is not definite")

    def traces(name: str) -> dict[str, Trace]:
        steps = {each: tuple(map(_step, listed)) for each, listed in kept[name]}
        return {
            each: Trace(protocol.id, protocol.variant, protocol.without, threat, found) for each, found in steps.items()
        }

    return Exploration(
        states=_count(kept["states"]),
        transitions=_count(kept["transitions"]),
        depth=_count(kept["depth"]),
        stopped_by=kept["stopped_by"],
        violations=traces("violations"),
        goals=traces("goals"),
        fired={name: _count(each) for name, each in kept["fired"]},
        reduction={str(name): _count(each) for name, each in kept["reduction"]},
    )


def _step(written: Sequence[Any]) -> TraceStep:
    action, by, args = written
    return TraceStep.from_json({"action": action, "by": by, "args": dict(args)})


def _count(value: object) -> int:
    if type(value) is not int or value < 0:
        raise NotAnAnswerError("a count in it is none")
    return value
