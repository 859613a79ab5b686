"""Parts of actions: the steps that are fair for a liveness property, and the other steps."""

from collections.abc import Sequence
from dataclasses import replace

from carnet_spec.language.actions import Action, Guard, GuardKind
from carnet_spec.language.protocol import Protocol
from carnet_spec.language.statements import Eventually
from carnet_spec.language.terms import TRUE, Term, negation

OTHERWISE = " otherwise"  #: The suffix of the name of an action's other part.


def part(action: Action, live: Eventually) -> Action:
    """Return the action restricted to the steps that are fair for ``live``."""
    condition = live.condition(action.name, action.params)
    return action if condition == TRUE else _limited_to(action, condition)


def divide_fair_steps(protocol: Protocol, liveness: Sequence[Eventually]) -> Protocol:
    """Return the protocol in which the fair steps of an action are one action, and its other steps another.

    All properties of ``liveness`` name the same fair steps of an action. :func:`whole_name` returns the original names.
    """
    return replace(protocol, actions=tuple(each for action in protocol.actions for each in _parts(action, liveness)))


def _parts(action: Action, liveness: Sequence[Eventually]) -> tuple[Action, ...]:
    conditions = {live.condition(action.name, action.params) for live in liveness if action.name in live.fair}
    condition = conditions.pop() if conditions else TRUE
    if condition == TRUE:
        return (action,)
    rest = _limited_to(action, negation(condition))
    return _limited_to(action, condition), replace(rest, name=action.name + OTHERWISE)


def whole_name(name: str) -> str:
    """Return the name of the action to which a part belongs."""
    return name.removesuffix(OTHERWISE)


def _limited_to(action: Action, condition: Term) -> Action:
    return replace(action, guards=(*action.guards, Guard("given", condition, GuardKind.GIVEN)))
