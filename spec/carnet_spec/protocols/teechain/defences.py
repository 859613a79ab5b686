"""Defences: the guards and updates that can be taken away one by one, to see what each is for."""

from __future__ import annotations

from carnet_spec.language import Draft

DEFENCES = (
    ("quote-bound", "the head takes a quote only for the key that came with it"),
    ("quote-certificate", "the head checks the certificate chain of a member's quote"),
    ("quote-measurement", "the head checks that a member runs the custody program"),
    ("head-quote", "a member checks the quote of the head before it joins"),
    ("floor-handed", "a member's log starts where the head says that the chain starts"),
    ("issue-grows", "a primary proposes an epoch only after the last one in its log"),
    ("log-grows", "a backup logs an epoch only after the last one in its log"),
    ("chain-order", "a backup logs only what every replica before it passed on"),
    ("every-member", "the primary issues only what every member passed on"),
    ("increment-first", "a replica increments its counter before it passes anything on"),
    ("counter-check", "a replica starts only from the sealed state that its counter stands for"),
    ("launch-identity", "a launch without the sealed state has no key of the replica"),
    ("freeze", "a replica that voted logs nothing more"),
    ("one-vote", "a replica votes for one next chain"),
    ("votes-for-members", "a replica votes only for a chain whose head is a listed member"),
    ("from-the-chain", "only a member of a chain collects votes to take it over"),
    ("vote-bound", "a vote counts for the next chain that it names only"),
    ("newest-log", "the next chain starts after the newest log that voters handed over"),
    ("quorum", "a chain is taken over with the votes of a whole quorum"),
    ("grant-holder", "a holder takes only a grant that names it"),
    ("holder-check", "a holder checks the quote of the head before it takes a grant"),
)


def declare_defences(draft: Draft) -> None:
    """Declare every defence."""
    for id, title in DEFENCES:
        draft.defence(id, title)
