"""The decisive step of an attack: the first that the design with nothing removed refuses, or takes to another outcome.

The attack is followed in that design from its own first state. What a defence refuses is found by the guard that does
not hold, and what it changes by the first state that is not the attacked design's.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from carnet_check.loading.families import Source
from carnet_check.semantics import Interpreter, State
from carnet_check.semantics.firing import NotEnabled
from carnet_check.wording.changes import changes
from carnet_check.wording.sentences import listed
from carnet_spec.language import Action, Instance, Protocol, SpecificationError
from carnet_spec.trace import Trace, TraceStep

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
        whole = source.family.drafted(attacked.variant).protocol(())
        return _parted(f"with {listed(lacking)}", whole, judge.instance, trace, states)
    whole = max(_others(source, attacked), key=lambda other: _alike(attacked, other), default=None)
    return None if whole is None else _parted(f"in {whole.variant}", whole, judge.instance, trace, states)


def _without(source: Source, variant: str) -> Sequence[str]:
    return source.family.variants[variant].without if variant in source.family.variants else ()


def _others(source: Source, attacked: Protocol) -> Iterator[Protocol]:
    return (source.protocol(name) for name in source.family.with_layers(source.family.main) if name != attacked.variant)


def _alike(one: Protocol, other: Protocol) -> int:
    """Count the actions that two designs share to the last guard."""
    named = {action.name: action for action in one.actions}
    return sum(named.get(action.name) == action for action in other.actions)


def _parted(name: str, whole: Protocol, instance: Instance, trace: Trace, states: Sequence[State]) -> Decisive | None:
    """Follow the attack in the whole design to where they part; they need not."""
    try:
        judge = Interpreter(whole, instance)
    except SpecificationError:
        return None  # the design has parts of which the instance says nothing
    literal = any(action.deduction for action in _known(whole, trace.steps))
    state = judge.start() if literal else judge.initial()
    other: Decisive | None = None
    for position, step in enumerate(trace.steps):
        try:
            action = whole.action(step.action)
            after = (judge.fire if literal else judge.step)(state, action, step.env)
        except NotEnabled as refused:
            return _refused(position, name, action, refused.guard)
        except SpecificationError:
            return Decisive(position, name, "", "", f"{name}, there is no such step")
        if other is None and (outcome := _outcome(whole, states[position + 1], after)):
            other = Decisive(position, name, "", "", f"{name}, also {outcome}")
        state = after
    return other


def _known(whole: Protocol, steps: Sequence[TraceStep]) -> Iterator[Action]:
    named = {action.name: action for action in whole.actions}
    return (named[step.action] for step in steps if step.action in named)


def _refused(position: int, name: str, action: Action, refused: str) -> Decisive:
    defences = [guard.defence for guard in action.guards if guard.name == refused and guard.defence]
    defence = defences[0] if defences else ""
    of = f" of {defence}" if defence and defence not in name else ""
    return Decisive(position, name, refused, defence, f"{name}, the guard '{refused}'{of} refuses this")


def _outcome(whole: Protocol, attacked: State, defended: State) -> str:
    """Say what the whole design does beside what the attacked one does, if it has the same fields."""
    if attacked.relations.keys() != defended.relations.keys() or attacked.functions.keys() != defended.functions.keys():
        return ""
    different = [change.text for change in changes(whole, attacked, defended)]
    more = ", …" if len(different) > MOST_CHANGES else ""
    return ", ".join(different[:MOST_CHANGES]) + more
