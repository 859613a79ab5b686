"""Goals: what must be reachable, or claims would be empty."""

from __future__ import annotations

from carnet_spec.language import Draft, Formula
from carnet_spec.protocols.teechain.vocabulary import (
    Chain,
    Epoch,
    Holder,
    Replica,
    accepted,
    before,
    counter,
    frozen,
    head,
    imposed,
    issued,
    last,
    listed,
    logged,
    opened,
    over,
    own,
    passed,
    sound,
    tail,
    zero,
)


def state_goals(draft: Draft) -> None:
    """Add the goals to ``draft``."""

    @draft.goal(sentence="A holder takes custody from a chain that has a backup.")
    def custody_taken(h: Holder, c: Chain, e: Epoch) -> Formula:
        return accepted(h, c, e) & sound(head(c)) & (tail(c) != head(c))

    @draft.goal(sentence="A backup logs an epoch that the head has not granted yet.")
    def in_flight(r: Replica, c: Chain, e: Epoch, h: Holder) -> Formula:
        return (r != head(c)) & passed(r, c, e, h) & own(c, r) & ~issued(c, e, h)

    @draft.goal(sentence="A chain is taken over after it granted an epoch, and the next one starts after that.")
    def taken_over(c: Chain, d: Chain, e: Epoch, h: Holder) -> Formula:
        return issued(c, e, h) & sound(head(c)) & over(c) & opened(head(d), d) & (c != d) & (last(head(d), d) == e)

    @draft.goal(sentence="A chain is taken over while an epoch is under way.")
    def under_way(r: Replica, c: Chain, d: Chain, e: Epoch, h: Holder) -> Formula:
        return (
            frozen(r, c)
            & sound(r)
            & (r != head(c))
            & opened(head(d), d)
            & (c != d)
            & logged(r, c, e, h)
            & ~issued(c, e, h)
        )

    @draft.goal(sentence="A log is ahead of its counter.")
    def not_counted(r: Replica, c: Chain, e: Epoch, h: Holder) -> Formula:
        return logged(r, c, e, h) & (counter(r, c) == zero) & before(zero, e)

    @draft.goal(sentence="The platform answers in place of a replica, and is not listed.")
    def not_listed(c: Chain, r: Replica) -> Formula:
        return imposed(c, r) & opened(head(c), c) & sound(r) & ~listed(c, r)
