"""Sorts, roles and symbols that the tests of the language share."""

from __future__ import annotations

from collections.abc import Callable

from carnet_spec.language import (
    Draft,
    Individual,
    Kind,
    Role,
    constant,
    flag,
    function,
    member,
    relation,
    rigid_flag,
    rigid_function,
    rigid_relation,
    variable,
)


class Agent(Individual):
    """An agent."""


class Key(Individual, fresh=True):
    """A key."""


class Phase(Individual):
    """A phase."""

    START = member()
    MIDDLE = member()
    END = member()


PARTY = Role("party")
OTHER = Role("other")
ADVERSARY = Role("adversary", honest=False)

corrupt = rigid_relation("corrupt", Agent, kind=Kind.TRUTH)
enrolled = rigid_relation("enrolled", Agent)
backdoor = rigid_flag("backdoor")
home = rigid_function("home", Key, to=Agent)
boss = constant("boss", Agent)
phase = variable("phase", Phase, of=PARTY)
chosen = variable("chosen", Key, of=PARTY)
peer = variable("peer", Agent, of=PARTY)
ready = flag("ready", of=PARTY)
own = relation("own", Agent, Key, kind=Kind.STATE, of=PARTY)
theirs = relation("theirs", Agent, Key, kind=Kind.STATE, of=OTHER)
sent = relation("sent", Agent, Key, kind=Kind.MESSAGE)
owner = function("owner", Key, to=Agent, kind=Kind.GHOST)
seen = relation("seen", Agent, kind=Kind.GHOST)
knows = relation("knows", Agent, Key, kind=Kind.KNOWLEDGE)


def drafted(*parts: Callable[[Draft], object]) -> Draft:
    """Return a draft that holds what ``parts`` put into it, and is otherwise in order."""
    draft = Draft("test", "Test")
    draft.threat("any", "anyone may be corrupt")
    draft.initially(phase, Phase.START)
    for part in parts:
        part(draft)
    return draft
