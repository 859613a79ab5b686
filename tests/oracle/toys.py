"""Words to build protocols from that are small enough to count by hand."""

from __future__ import annotations

from collections.abc import Callable

from carnet_spec.language import (
    Draft,
    Formula,
    Individual,
    Kind,
    Role,
    Step,
    constant,
    flag,
    function,
    member,
    relation,
    rigid_function,
    rigid_relation,
    true,
    variable,
)
from tests.oracle.enumerate import Answers, Witness, enumerate_at


class Party(Individual):
    """Somebody."""


class Key(Individual, fresh=True):
    """Something that is drawn."""


class Phase(Individual):
    """Where somebody is."""

    IDLE = member()
    BUSY = member()
    DONE = member()


SOMEBODY = Role("somebody")
Body = Callable[..., None]
ready = relation("ready", Party, kind=Kind.STATE, of=SOMEBODY)
held = relation("held", Party, Key, kind=Kind.STATE, of=SOMEBODY)
seen = relation("seen", Key, kind=Kind.KNOWLEDGE)
corrupt = rigid_relation("corrupt", Party, kind=Kind.TRUTH)
on = flag("on", of=SOMEBODY)
off = flag("off", of=SOMEBODY)
turn = variable("turn", Party, of=SOMEBODY)
phase = variable("phase", Phase, of=SOMEBODY)
friend = function("friend", Party, to=Party, kind=Kind.STATE, of=SOMEBODY)
boss, deputy = constant("boss", Party), constant("deputy", Party)
mother = rigid_function("mother", Party, to=Party)


def drafted(*bodies: Body, rules: tuple[Body, ...] = ()) -> Draft:
    """A draft with an action for each body."""
    draft = Draft("small", "Small")
    for body in bodies:
        draft.action(by=SOMEBODY, says="it happens", source="here")(body)
    for body in rules:
        draft.rule(by=Role("thief", honest=False), says="it follows", source="here")(body)
    return draft


def claim(draft: Draft, body: Callable[..., Formula], *under: str, name: str = "claimed") -> None:
    """Claim ``body`` of all its parameters."""
    draft.claim(name=name, sentence="So it is.", requirement="TOY", source="here", under=under)(body)


def judged(draft: Draft, **sizes: int) -> Answers:
    """What is true of the draft at ``sizes``."""
    return enumerate_at(draft.protocol(), sizes)


def holds(draft: Draft, body: Callable[..., Formula], **sizes: int) -> bool:
    """Whether ``body`` is true of all states."""
    claim(draft, body)
    return not judged(draft, **sizes).violated


def steps(witness: Witness) -> list[str]:
    """The names of the actions taken."""
    return [name for name, _ in witness.steps]


def enter(step: Step, me: Party) -> None:
    step.require("not in", ~ready(me))
    step.insert(ready(me))


def with_everybody_ready(draft: Draft) -> Draft:
    """Start with all parties ready."""

    def everybody(x: Party) -> Formula:
        return true

    draft.initially(ready, everybody)
    return draft


def draw(step: Step, me: Party, key: Key) -> None:
    step.fresh(key)
    step.insert(held(me, key))


def corrupt_ones(x: Party) -> Formula:
    return corrupt(x)
