"""What protocols of a few lines are written with: tests add the actions that they need."""

from collections.abc import Callable
from dataclasses import replace

from carnet_spec.language import *


class Party(Individual):
    """Somebody who takes part."""


class Key(Individual, fresh=True):
    """A key."""


class Phase(Individual):
    """How far a run has come."""

    EARLY = member()
    LATE = member()
    OVER = member()


HOLDER = Role("holder")
SPY = Role("spy", honest=False)

first, second, third = (flag(name, of=HOLDER) for name in ("first", "second", "third"))
phase = variable("phase", Phase, of=HOLDER)
last = variable("last", Party, of=HOLDER)
current = variable("current", Key, of=HOLDER)
friend = function("friend", Party, to=Party, kind=Kind.STATE, of=HOLDER)
seen = relation("seen", Party, kind=Kind.STATE, of=HOLDER)
known = relation("known", Party, kind=Kind.KNOWLEDGE)
paired = relation("paired", Key, Key, kind=Kind.STATE, of=HOLDER)
ahead = relation("ahead", Party, Party, kind=Kind.STATE, of=HOLDER)
before = rigid_relation("before", Party, Party)
corrupt = rigid_relation("corrupt", Party, kind=Kind.TRUTH)
leader = rigid_function("leader", Party, to=Party)
alice, bob = constant("alice", Party), constant("bob", Party)

Body = Callable[..., None]


def drafted(*honest: Body, costly: tuple[Body, ...] = (), rules: tuple[Body, ...] = ()) -> Draft:
    """Return a draft in which honest steps, steps that cost a move, and rules do what their functions say."""
    draft = Draft("small", "A few lines")
    for body in honest:
        draft.action(by=HOLDER, says="it happens", source="tests")(body)
    for body in costly:
        draft.action(by=SPY, says="it happens", source="tests", cost=1)(body)
    for body in rules:
        draft.rule(by=SPY, says="it follows", source="tests")(body)
    return draft


def claimed(draft: Draft, **bodies: Callable[..., Formula]) -> Protocol:
    """Return the protocol, with claims under every threat model that it declares."""
    under = tuple(threat.id for threat in draft.protocol().threats)
    for name, body in bodies.items():
        draft.claim(name=name, sentence="It holds.", requirement="R-1", source="tests", under=under)(body)
    return draft.protocol()


def reordered(protocol: Protocol, names: tuple[str, ...]) -> Protocol:
    return replace(protocol, actions=tuple(protocol.action(name) for name in names))
