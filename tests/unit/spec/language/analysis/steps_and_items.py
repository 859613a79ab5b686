"""The vocabulary of the tests of what is read before it is written: agents who keep items, in phases."""

from __future__ import annotations

from typing import Any

from carnet_spec.language import (
    Draft,
    Individual,
    Kind,
    Role,
    Step,
    constant,
    flag,
    function,
    member,
    relation,
    rigid_relation,
    variable,
)

PARTY = Role("party")


class Agent(Individual):
    """An agent."""


class Item(Individual, fresh=True):
    """An item."""


class Phase(Individual):
    """A phase."""

    START = member()
    MIDDLE = member()
    END = member()


boss = constant("boss", Agent)
phase = variable("phase", Phase, of=PARTY)
item = variable("item", Item, of=PARTY)
ready = flag("ready", of=PARTY)
local_phase = function("local_phase", Agent, to=Phase, kind=Kind.STATE, of=PARTY)
local_item = function("local_item", Agent, to=Item, kind=Kind.STATE, of=PARTY)
ticket = relation("ticket", Agent, kind=Kind.STATE, of=PARTY)
stored = relation("stored", Agent, Item, kind=Kind.STATE, of=PARTY)
owner = function("owner", Item, to=Agent, kind=Kind.GHOST)
fine = rigid_relation("fine", Item)
taken = relation("taken", Item, kind=Kind.MESSAGE)


def start(a: Agent) -> Phase:
    """Return the phase in which every agent begins."""
    return Phase.START


def write(step: Step, i: Item) -> None:
    """Write the party's item, once."""
    step.require("start", phase == Phase.START)
    step.set(item, i)
    step.set(phase, Phase.MIDDLE)


def drafted(*bodies: Any) -> Draft:
    """Return a draft that begins in the first phases and has these actions of the party."""
    draft = Draft("test", "Test")
    draft.initially(phase, Phase.START)
    draft.initially(local_phase, start)
    for body in bodies:
        draft.action(by=PARTY, says="x", source="y")(body)
    return draft
