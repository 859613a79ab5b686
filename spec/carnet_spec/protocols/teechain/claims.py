"""Claims: what holds for any number of replicas, chains, quorums, epochs and holders."""

from __future__ import annotations

from carnet_spec.language import Draft, Formula, implies
from carnet_spec.language.authoring import Claims
from carnet_spec.language.requirements import text_beside
from carnet_spec.protocols.teechain.vocabulary import *

TEXT = text_beside(__file__)

THREATS = ("platform", "broken")
"""The threat models under which claims are made."""


def state_claims(draft: Draft) -> None:
    """Add the claims to ``draft``."""
    claim = Claims(draft, TEXT, THREATS)
    _custody(claim)
    _succession(claim)
    _replicas(claim)
    _members(claim)


def _custody(claim: Claims) -> None:
    @claim("epoch-once", "Teechain, abstract; Carnet (double issue)")
    def epoch_once(c: Chain, d: Chain, e: Epoch, h: Holder, i: Holder) -> Formula:
        return implies(issued(c, e, h) & issued(d, e, i), (c == d) & (h == i))

    @claim("one-holder", "Carnet (two holders)")
    def one_holder(c: Chain, d: Chain, e: Epoch, h: Holder, i: Holder) -> Formula:
        return implies(accepted(h, c, e) & accepted(i, d, e), h == i)

    @claim("grant-agreement", "Carnet (who else could grant)")
    def grant_agreement(c: Chain, e: Epoch, h: Holder) -> Formula:
        return implies(accepted(h, c, e), issued(c, e, h))


def _succession(claim: Claims) -> None:
    @claim("nothing-lost", "Teechain, abstract: replicates the state")
    def nothing_lost(c: Chain, e: Epoch, h: Holder, r: Replica) -> Formula:
        return implies(issued(c, e, h) & belongs(c, r) & sound(r), logged(r, c, e, h))

    @claim("fail-over-after", "Carnet (fail-over)")
    def fail_over_after(c: Chain, e: Epoch, h: Holder, d: Chain) -> Formula:
        there = issued(c, e, h) & earlier(c, d) & opened(head(d), d)
        return implies(there, upto(e, last(head(d), d)))

    @claim("one-successor", "Carnet (fork)")
    def one_successor(b: Chain, c: Chain, d: Chain) -> Formula:
        both = opened(head(c), c) & opened(head(d), d)
        return implies(both & follows(b, c) & follows(b, d), c == d)

    @claim("no-late-grant", "Teechain: force-freeze")
    def no_late_grant(c: Chain, e: Epoch, h: Holder) -> Formula:
        return implies(issued(c, e, h) & over(c), upto(e, bar(c)))


def _replicas(claim: Claims) -> None:
    @claim("frozen-silent", "Teechain: force-freeze")
    def frozen_silent(m: Replica, b: Chain, d: Chain, f: Epoch, e: Epoch, h: Holder) -> Formula:
        return implies(vote(m, b, d, f) & own(b, m) & logged(m, b, e, h), upto(e, f))

    @claim("no-rollback", "Teechan: monotonic counters")
    def no_rollback(r: Replica, c: Chain, e: Epoch, h: Holder) -> Formula:
        return implies(passed(r, c, e, h) & own(c, r), logged(r, c, e, h))

    @claim("iv-unique", "RFC 5116 section 3.1")
    def iv_unique(r: Replica, c: Chain, e: Epoch, h: Holder, i: Holder) -> Formula:
        return implies(passed(r, c, e, h) & passed(r, c, e, i) & own(c, r), h == i)


def _members(claim: Claims) -> None:
    @claim("members-genuine", "Teechain, abstract: treasuries, protected by hardware TEEs", under=THREATS[:1])
    def members_genuine(c: Chain, r: Replica) -> Formula:
        return implies(listed(c, r) & opened(head(c), c), own(c, r))

    @claim("log-secret", "Carnet (entries hold keys)", under=THREATS[:1])
    def log_secret(c: Chain) -> Formula:
        return implies(sound(head(c)), ~leaked(c))


# -- goals -------------------------------------------------------------------------------------------------------------
# What must be reachable, or claims would be empty.


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
