"""The decisive step of an attack: the first that the design with nothing removed refuses, or takes to another outcome.

The attack is followed in that design from its own first state. What a defence refuses is found by the guard that does
not hold, and what it changes by the first state that is not the attacked design's.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from carnet_check.loading.families import Source
from carnet_check.semantics import Interpreter, State
from carnet_check.semantics.interpreter import NotEnabled
from carnet_check.wording import changes, listed
from carnet_spec.language import Action, Protocol, SpecificationError
from carnet_spec.trace import Trace

MOST_CHANGES = 3
"""How many fields are named in which two outcomes differ."""


@dataclass(frozen=True, slots=True)
class Decisive:
    """The step of an attack at which the whole design does something else."""

    position: int
    """Of the step in the trace, from 0."""
    design: str
    """What is compared with: the variant, or the defences that were put back."""
    guard: str
    """The guard that refuses the step there; empty if the step is taken, or does not exist."""
    defence: str
    """The defence that the guard belongs to, if it belongs to one."""
    says: str
    """In a sentence, what happens there instead."""

    @property
    def remark(self) -> Mapping[int, str]:
        """The words to put below the step."""
        return {self.position: f"decisive: {self.says}"}


def decisive_step(
    source: Source,
    attacked: Protocol,
    removed: Sequence[str],
    judge: Interpreter,
    trace: Trace,
    states: Sequence[State],
) -> Decisive | None:
    """Return the step at which an attack and the whole design part.

    A variant that lacks no defence is another design: it is compared with the main variant that shares most actions.

    Args:
        source: where the designs are from.
        attacked: the protocol of the attack.
        removed: the defences that were removed from its variant.
        judge: replayed the attack.
        trace: the steps.
        states: those along the trace, the first one included.

    Returns:
        Nothing if the whole design takes every step to the same end, or cannot be followed in the instance.
    """
    lacking = (*_without(source, attacked.variant), *removed)
    if lacking:
        return _parted(
            f"with {listed(lacking)}", source.family.drafted(attacked.variant).protocol(()), judge, trace, states
        )
    others = sorted(_others(source, attacked), key=lambda other: _alike(attacked, other))
    return _parted(f"in {others[-1].variant}", others[-1], judge, trace, states) if others else None


def _without(source: Source, variant: str) -> Sequence[str]:
    return source.family.variants[variant].without if variant in source.family.variants else ()


def _others(source: Source, attacked: Protocol) -> Iterator[Protocol]:
    return (source.protocol(name) for name in source.family.with_layers(source.family.main) if name != attacked.variant)


def _alike(one: Protocol, other: Protocol) -> int:
    """Count the actions that two designs share to the last guard."""
    named = {action.name: action for action in one.actions}
    return sum(named.get(action.name) == action for action in other.actions)


def _parted(
    name: str, whole: Protocol, attacker: Interpreter, trace: Trace, states: Sequence[State]
) -> Decisive | None:
    """Follow the attack in the whole design to where they part; they need not."""
    try:
        judge = Interpreter(whole, attacker.instance)
    except SpecificationError:
        return None  # the design has parts of which the instance says nothing
    actions = {action.name: action for action in whole.actions}
    literal = any(attacker.protocol.action(step.action).deduction for step in trace.steps)
    state, take = (judge.start(), judge.fire) if literal else (judge.initial(), judge.step)
    outcome: Decisive | None = None
    for position, step in enumerate(trace.steps):
        action = actions.get(step.action)
        if action is None or {var.name for var in action.params} != step.env.keys():
            return Decisive(position, name, "", "", f"{name}, there is no such step")
        try:
            state = take(state, action, step.env)
        except NotEnabled as refused:
            return _refused(position, name, action, refused.guard)
        if outcome is None and (more := _difference(whole, states[position + 1], state)):
            outcome = Decisive(position, name, "", "", f"{name}, also {more}")
    return outcome


def _refused(position: int, name: str, action: Action, refused: str) -> Decisive:
    defences = [guard.defence for guard in action.guards if guard.name == refused and guard.defence]
    defence = defences[0] if defences else ""
    of = f" of {defence}" if defence and defence not in name else ""
    return Decisive(position, name, refused, defence, f"{name}, the guard '{refused}'{of} refuses this")


def _difference(whole: Protocol, attacked: State, defended: State) -> str:
    """Say what the whole design does beside what the attacked one does, if it has the same fields."""
    if attacked.relations.keys() != defended.relations.keys() or attacked.functions.keys() != defended.functions.keys():
        return ""
    different = [change.text for change in changes(whole, attacked, defended)]
    more = ", …" if len(different) > MOST_CHANGES else ""
    return ", ".join(different[:MOST_CHANGES]) + more
