"""What can ever happen, in an instance of any size, by an engine that can tell.

What is asked is weaker than reachability, so "never" is established for every instance, while "perhaps" says nothing.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from types import MappingProxyType

from carnet_check.engines.interface import DecidesPossibility
from carnet_check.engines.registry import able
from carnet_spec.language import Action, Goal, Protocol, Threat
from carnet_spec.language.terms import Term, conjunction

Known = Mapping[str, Term]
"""Formulas that are proved to hold in every reachable state, by name."""


def possible(protocol: Protocol, threat: Threat | None, known: Known, seen: Collection[str]) -> tuple[Action, ...]:
    """Return the actions that may ever be taken; the others never are, in no instance.

    Those called as one of ``seen`` were taken already, so nobody has to ask.
    """
    found = tuple(action for action in protocol.actions if action.name in seen)
    while True:
        more = tuple(
            action
            for action in protocol.actions
            if action in found or satisfiable(protocol, threat, taking(action), found, known)
        )
        if more == found:
            return found
        found = more


def taking(action: Action) -> Goal:
    """Return what must be reached for ``action`` to be taken."""
    return Goal(action.name, action.params, conjunction(tuple(guard.formula for guard in action.guards)), "")


def satisfiable(
    protocol: Protocol,
    threat: Threat | None,
    premise: Goal,
    taken: Sequence[Action] | None,
    known: Known = MappingProxyType({}),
) -> bool:
    """Whether ``premise`` may hold when only the actions of ``taken`` are ever taken; unsure counts as yes."""
    return able(DecidesPossibility).satisfiable(protocol, threat, premise, taken, known)
