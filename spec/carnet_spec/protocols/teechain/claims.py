"""Claims: what holds for any number of replicas, chains, quorums, epochs and holders."""

from __future__ import annotations

from carnet_spec.language import Draft, Formula, implies
from carnet_spec.protocols.teechain.text import sentence
from carnet_spec.protocols.teechain.vocabulary import (
    Chain,
    Epoch,
    Holder,
    Replica,
    accepted,
    bar,
    belongs,
    earlier,
    follows,
    head,
    issued,
    last,
    leaked,
    listed,
    logged,
    opened,
    over,
    own,
    passed,
    sound,
    upto,
    vote,
)

THREATS = ("platform", "broken")
"""The threat models under which claims are made."""


def state_claims(draft: Draft) -> None:
    """Add the claims to ``draft``."""
    _custody(draft)
    _succession(draft)
    _replicas(draft)
    _members(draft)


def _custody(draft: Draft) -> None:
    @draft.claim(
        name="epoch-once",
        sentence=sentence("CLAIM-EPOCH-ONCE"),
        requirement="CLAIM-EPOCH-ONCE",
        source="Teechain, abstract; Carnet (double issue)",
        under=THREATS,
    )
    def epoch_once(c: Chain, d: Chain, e: Epoch, h: Holder, i: Holder) -> Formula:
        return implies(issued(c, e, h) & issued(d, e, i), (c == d) & (h == i))

    @draft.claim(
        name="one-holder",
        sentence=sentence("CLAIM-ONE-HOLDER"),
        requirement="CLAIM-ONE-HOLDER",
        source="Carnet (two holders)",
        under=THREATS,
    )
    def one_holder(c: Chain, d: Chain, e: Epoch, h: Holder, i: Holder) -> Formula:
        return implies(accepted(h, c, e) & accepted(i, d, e), h == i)

    @draft.claim(
        name="grant-agreement",
        sentence=sentence("CLAIM-GRANT-AGREEMENT"),
        requirement="CLAIM-GRANT-AGREEMENT",
        source="Carnet (who else could grant)",
        under=THREATS,
    )
    def grant_agreement(c: Chain, e: Epoch, h: Holder) -> Formula:
        return implies(accepted(h, c, e), issued(c, e, h))


def _succession(draft: Draft) -> None:
    @draft.claim(
        name="nothing-lost",
        sentence=sentence("CLAIM-NOTHING-LOST"),
        requirement="CLAIM-NOTHING-LOST",
        source="Teechain, abstract: replicates the state",
        under=THREATS,
    )
    def nothing_lost(c: Chain, e: Epoch, h: Holder, r: Replica) -> Formula:
        return implies(issued(c, e, h) & belongs(c, r) & sound(r), logged(r, c, e, h))

    @draft.claim(
        name="fail-over-after",
        sentence=sentence("CLAIM-FAIL-OVER-AFTER"),
        requirement="CLAIM-FAIL-OVER-AFTER",
        source="Carnet (fail-over)",
        under=THREATS,
    )
    def fail_over_after(c: Chain, e: Epoch, h: Holder, d: Chain) -> Formula:
        there = issued(c, e, h) & earlier(c, d) & opened(head(d), d)
        return implies(there, upto(e, last(head(d), d)))

    @draft.claim(
        name="one-successor",
        sentence=sentence("CLAIM-ONE-SUCCESSOR"),
        requirement="CLAIM-ONE-SUCCESSOR",
        source="Carnet (fork)",
        under=THREATS,
    )
    def one_successor(b: Chain, c: Chain, d: Chain) -> Formula:
        both = opened(head(c), c) & opened(head(d), d)
        return implies(both & follows(b, c) & follows(b, d), c == d)

    @draft.claim(
        name="no-late-grant",
        sentence=sentence("CLAIM-NO-LATE-GRANT"),
        requirement="CLAIM-NO-LATE-GRANT",
        source="Teechain: force-freeze",
        under=THREATS,
    )
    def no_late_grant(c: Chain, e: Epoch, h: Holder) -> Formula:
        return implies(issued(c, e, h) & over(c), upto(e, bar(c)))


def _replicas(draft: Draft) -> None:
    @draft.claim(
        name="frozen-silent",
        sentence=sentence("CLAIM-FROZEN-SILENT"),
        requirement="CLAIM-FROZEN-SILENT",
        source="Teechain: force-freeze",
        under=THREATS,
    )
    def frozen_silent(m: Replica, b: Chain, d: Chain, f: Epoch, e: Epoch, h: Holder) -> Formula:
        return implies(vote(m, b, d, f) & own(b, m) & logged(m, b, e, h), upto(e, f))

    @draft.claim(
        name="no-rollback",
        sentence=sentence("CLAIM-NO-ROLLBACK"),
        requirement="CLAIM-NO-ROLLBACK",
        source="Teechan: monotonic counters",
        under=THREATS,
    )
    def no_rollback(r: Replica, c: Chain, e: Epoch, h: Holder) -> Formula:
        return implies(passed(r, c, e, h) & own(c, r), logged(r, c, e, h))

    @draft.claim(
        name="iv-unique",
        sentence=sentence("CLAIM-IV-UNIQUE"),
        requirement="CLAIM-IV-UNIQUE",
        source="RFC 5116 section 3.1",
        under=THREATS,
    )
    def iv_unique(r: Replica, c: Chain, e: Epoch, h: Holder, i: Holder) -> Formula:
        return implies(passed(r, c, e, h) & passed(r, c, e, i) & own(c, r), h == i)


def _members(draft: Draft) -> None:
    @draft.claim(
        name="members-genuine",
        sentence=sentence("CLAIM-MEMBERS-GENUINE"),
        requirement="CLAIM-MEMBERS-GENUINE",
        source="Teechain, abstract: treasuries, protected by hardware TEEs",
        under=THREATS[:1],
    )
    def members_genuine(c: Chain, r: Replica) -> Formula:
        return implies(listed(c, r) & opened(head(c), c), own(c, r))

    @draft.claim(
        name="log-secret",
        sentence=sentence("CLAIM-LOG-SECRET"),
        requirement="CLAIM-LOG-SECRET",
        source="Carnet (entries hold keys)",
        under=THREATS[:1],
    )
    def log_secret(c: Chain) -> Formula:
        return implies(sound(head(c)), ~leaked(c))
