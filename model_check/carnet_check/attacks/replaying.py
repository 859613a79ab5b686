"""Replay attacks on an implementation, if one is installed that supports it.

An implementation offers a function in the entry-point group ``carnet.replay``, under the protocol's id. If it has
several protocols, it may offer one function under the name ``ANY`` that returns the function of a protocol, or None.
The function gets what ``carnet attack --json`` prints. It takes the steps with real bytes, first in the design that was
attacked and then with every defence on, and returns both outcomes. If the implementation cannot take a step of the
shortest attack, another attack is looked for: the function's ``realisable`` says which steps to leave out.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from importlib.metadata import entry_points
from typing import Any

from carnet_check.attacks.hunt import Hunt
from carnet_check.engines.exploration import Caps
from carnet_check.engines.interface import Explores
from carnet_check.engines.registry import able
from carnet_check.minimise import minimise
from carnet_check.results import steps_as_json
from carnet_check.semantics import Interpreter
from carnet_check.wording import is_deduction, step_place
from carnet_command.text import plural, wrap_text
from carnet_spec.language import Action, Guard, Protocol
from carnet_spec.language.terms import Equal, Member
from carnet_spec.trace import Trace

GROUP = "carnet.replay"
ANY = "any"
MOST_STATES = 400_000  #: The most states in which another attack is looked for, for each size of instance.

#: For each action that is limited in a search: the arguments that it may have, or None to leave it out.
Limits = Mapping[str, Mapping[str, str] | None]


def replay_attack(attack: Mapping[str, Any], found: Hunt, memory: int | None = None) -> dict[str, Any] | None:
    """Return the outcome of an attack on the implementation; None if no implementation of its protocol is installed.

    If the implementation replayed another attack on the same claim instead, its steps are in the result.
    """
    replay = _replay(attack["protocol"])
    if replay is None:
        return None
    outcome: dict[str, Any] = replay(attack)
    limits = getattr(replay, "realisable", None)
    if outcome["reproduced"] or limits is None:
        return outcome
    steps = _another(found, limits([action.name for action in found.target.protocol.actions]), memory)
    if steps is None:
        return outcome
    again: dict[str, Any] = replay({**attack, "steps": steps})
    return {**again, "steps": steps} if again["reproduced"] else outcome


Replay = Callable[[Mapping[str, Any]], dict[str, Any]]


def _replay(protocol: str) -> Replay | None:
    offered = entry_points(group=GROUP)
    for entry in offered.select(name=protocol):
        loaded: Replay = entry.load()
        return loaded
    found = (entry.load()(protocol) for entry in offered.select(name=ANY))
    return next((replay for replay in found if replay is not None), None)


def _another(found: Hunt, limits: Limits, memory: int | None) -> list[dict[str, Any]] | None:
    """Look for an attack on the same claim within ``limits``, and return its steps."""
    target = found.target
    narrow = restricted_protocol(target.protocol, limits)
    claim = target.protocol.claim(found.claim).checked
    family = target.source.family
    for profile in family.hunts or family.sizes_to_hunt(target.protocol.variant):
        instance = target.source.instance(narrow, target.threat.id, profile)
        explored = able(Explores).explore(
            narrow,
            instance,
            invariants=(claim,),
            caps=Caps(states=MOST_STATES, memory=memory),
            stop_at_first=True,
            threat=target.threat.id,
        )
        trace: Trace | None = explored.violations.get(claim.name)
        if trace is not None:
            judge = Interpreter(target.protocol, instance)
            return steps_as_json(minimise(judge, claim, trace).steps)
    return None


def restricted_protocol(protocol: Protocol, limits: Limits) -> Protocol:
    """Return ``protocol`` without some actions and with further guards on others: each run is a run of ``protocol``."""
    kept = (
        _guarded(action, limits.get(action.name) or {})
        for action in protocol.actions
        if limits.get(action.name, {}) is not None
    )
    return replace(protocol, actions=tuple(kept))


def _guarded(action: Action, arguments: Mapping[str, str]) -> Action:
    guards: Sequence[Guard] = [
        Guard(f"only {name}", Equal(var, Member(var.sort, arguments[name])))
        for var in action.params
        if (name := var.name) in arguments
    ]
    return replace(action, guards=(*action.guards, *guards))


def describe_replay(
    outcome: Mapping[str, Any] | None, protocol: Protocol, steps: Sequence[Mapping[str, Any]]
) -> Iterator[str]:
    """Describe the outcome of a replay on two designs.

    Args:
        outcome: what :func:`replay_attack` returned.
        protocol: the design that was attacked.
        steps: those of the attack; if another attack was replayed, its steps are in the outcome.
    """
    if outcome is None:
        yield "replay       no implementation of this protocol is installed"
        return
    actions = [protocol.action(step["action"]) for step in outcome.get("steps", steps)]
    if outcome["reproduced"]:
        number = sum(not is_deduction(action) for action in actions)
        other = f", by another attack of {plural(number, 'step')}" if "steps" in outcome else ""
        yield from wrap_text("replay", f"reproduced with real bytes{other}: {outcome['recovered']}")
    else:
        yield from wrap_text("replay", f"not reproduced: {_describe_stop(outcome['stopped'], actions)}")
    defended = outcome["defended"]
    if defended["reproduced"]:
        yield from wrap_text("defended", f"still reproduced: {defended['recovered']}")
    elif _stopped_together(outcome["stopped"], defended["stopped"]):
        same = f"it stops at the same step, so that shows nothing of the defence: {defended['stopped']['why']}"
        yield from wrap_text("defended", f"with every defence on, {same}")
    else:
        yield from wrap_text("defended", f"with every defence on, {_describe_stop(defended['stopped'], actions)}")


def _stopped_together(one: Mapping[str, Any] | None, other: Mapping[str, Any] | None) -> bool:
    """Whether both runs stopped, and at the same step: then no defence stopped the second one."""
    return one is not None and other is not None and one["index"] == other["index"]


def _describe_stop(stopped: Mapping[str, Any] | None, actions: Sequence[Action]) -> str:
    if stopped is None:
        return "every step is taken, and the claim holds"
    return f"stopped {step_place(actions, stopped['index'])}, {stopped['step']['action']}: {stopped['why']}"
