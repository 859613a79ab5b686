"""What can ever happen, in an instance of any size, by an engine that can tell.

What is asked is weaker than reachability, so "never" is established for every instance, while "perhaps" says nothing.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from types import MappingProxyType

from carnet_check.engines.interface import DecidesPossibility, Possibilities
from carnet_check.engines.registry import able
from carnet_check.engines.runner import HERE, Runner
from carnet_spec.language import Action, Goal, Protocol, Threat
from carnet_spec.language.terms import Term, conjunction

Known = Mapping[str, Term]
"""Formulas that are proved to hold in every reachable state, by name."""
NOTHING_KNOWN: Known = MappingProxyType({})


def possibilities(
    protocol: Protocol, threat: Threat | None, known: Known = NOTHING_KNOWN, runner: Runner = HERE
) -> Possibilities:
    """Return what answers whether something may ever happen, in instances of any size."""
    return able(DecidesPossibility).possibilities(protocol, threat, known, runner)


def possible(protocol: Protocol, asked: Possibilities, seen: Collection[str]) -> tuple[Action, ...]:
    """Return the actions that may ever be taken; the others never are, in no instance.

    Those called as one of ``seen`` were taken already, so nobody has to ask.
    """
    found = [action for action in protocol.actions if action.name in seen]
    waiting = [action for action in protocol.actions if action.name not in seen]
    grew = True
    while grew:
        grew = False
        for action in tuple(waiting):
            if asked.may(taking(action), found):
                found.append(action)
                waiting.remove(action)
                grew = True
    return tuple(action for action in protocol.actions if action in found)


def taking(action: Action) -> Goal:
    """Return what must be reached for ``action`` to be taken."""
    return Goal(action.name, action.params, conjunction(tuple(guard.formula for guard in action.guards)), "")
