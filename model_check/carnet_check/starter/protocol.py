"""Tickets: an office issues them, a door admits a guest who shows one. Change it step by step into one of your own."""

from __future__ import annotations

from carnet_spec.language import (
    Draft,
    Formula,
    Individual,
    Kind,
    Role,
    Step,
    exists,
    function,
    implies,
    relation,
    rigid_relation,
    used,
)


class Guest(Individual):
    """Somebody who wants to come in; there may be any number."""


class Ticket(Individual, fresh=True):
    """A ticket; ``fresh`` says that a step can draw one that was never used."""


OFFICE = Role("office")
DOOR = Role("door")
THIEF = Role("thief", honest=False)

corrupt = rigid_relation("corrupt", Guest, kind=Kind.TRUTH, says="passes tickets on")
knows = relation("knows", Guest, Ticket, kind=Kind.KNOWLEDGE, says="can show the ticket")
owner = function("owner", Ticket, to=Guest, kind=Kind.GHOST, says="whom the ticket was issued to")
entered = relation("entered", Guest, Ticket, kind=Kind.STATE, of=DOOR, says="came in with the ticket")
void = relation("void", Ticket, kind=Kind.STATE, of=DOOR, says="the door takes the ticket no more")

draft = Draft("tickets", "Tickets that admit one guest")

# -- who may be corrupt, and what can be taken away ------------------------------------------------

draft.threat("collusion", "any guest may be corrupt")
draft.defence("fresh-ticket", "Every guest is issued a ticket of their own.")
draft.defence("void-after-entry", "A ticket is void once somebody came in with it.")

# -- what happens ----------------------------------------------------------------------------------


@draft.action(
    by=OFFICE, says="The office issues {ticket} to {to}.", message="office -> {to}: {ticket}", source="README.md"
)
def issue(step: Step, to: Guest, ticket: Ticket) -> None:
    """Issue a ticket over a channel that nobody else reads."""
    step.fresh(ticket, defence="fresh-ticket")
    step.set(owner(ticket), to)
    step.insert(knows(to, ticket))


@draft.action(by=DOOR, says="{guest} comes in with {ticket}.", message="{guest} -> door: {ticket}", source="README.md")
def admit(step: Step, guest: Guest, ticket: Ticket) -> None:
    """Admit a guest who shows a ticket that is not void."""
    step.given("shown", knows(guest, ticket))
    step.require("not void", ~void(ticket), defence="void-after-entry")
    step.insert(entered(guest, ticket))
    step.insert(void(ticket))


@draft.rule(by=THIEF, says="{guest} passes {ticket} on to {friend}.", source="README.md")
def pass_on(step: Step, guest: Guest, friend: Guest, ticket: Ticket) -> None:
    """Corrupt guests share what they know with each other."""
    step.given("both corrupt", corrupt(guest) & corrupt(friend))
    step.given("known", knows(guest, ticket))
    step.insert(knows(friend, ticket))


# -- what is claimed -------------------------------------------------------------------------------


@draft.claim(
    name="own-ticket",
    sentence="Nobody comes in with the ticket of an honest guest but that guest.",
    requirement="REQ-1",
    source="README.md",
    under=("collusion",),
)
def own_ticket(x: Guest, t: Ticket) -> Formula:
    """State who may come in with a ticket."""
    return implies(entered(x, t) & ~corrupt(owner(t)), x == owner(t))


@draft.claim(
    name="one-entry",
    sentence="No two guests come in with one ticket.",
    requirement="REQ-2",
    source="README.md",
    under=("collusion",),
)
def one_entry(x: Guest, y: Guest, t: Ticket) -> Formula:
    """State how often a ticket admits."""
    return implies(entered(x, t) & entered(y, t), x == y)


# -- what helps the proofs, and what has to be possible --------------------------------------------


@draft.lemma
def known_tickets_are_used(x: Guest, t: Ticket) -> Formula:
    """Nobody knows a ticket before it is issued."""
    return implies(knows(x, t), used(t))


@draft.lemma
def honest_guests_keep_their_tickets(x: Guest, t: Ticket) -> Formula:
    """Nobody else knows the ticket of an honest guest."""
    return implies(knows(x, t) & ~corrupt(owner(t)), x == owner(t))


@draft.lemma
def entered_tickets_are_void(x: Guest, t: Ticket) -> Formula:
    """A ticket is void once somebody came in with it, and it was known before."""
    return implies(entered(x, t), void(t) & used(t))


@draft.goal(sentence="A guest comes in.")
def somebody_enters(x: Guest) -> Formula:
    """State what has to be possible, so that no claim holds because nothing ever happens."""
    return exists(lambda t: entered(x, t), Ticket)
