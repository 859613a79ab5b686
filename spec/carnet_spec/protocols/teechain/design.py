"""The design put together: axioms, threat models, assumptions, defences and variants of Teechain for custody."""

from __future__ import annotations

from carnet_spec.language import Draft, forall, implies
from carnet_spec.language.requirements import Level
from carnet_spec.protocols.teechain.adversary import specify_adversary
from carnet_spec.protocols.teechain.claims import state_claims
from carnet_spec.protocols.teechain.defences import declare_defences
from carnet_spec.protocols.teechain.goals import state_goals
from carnet_spec.protocols.teechain.issuing import specify_issuing
from carnet_spec.protocols.teechain.lemmas import state_lemmas
from carnet_spec.protocols.teechain.readings import expect_falls
from carnet_spec.protocols.teechain.setup import specify_setup
from carnet_spec.protocols.teechain.taking_over import specify_taking_over
from carnet_spec.protocols.teechain.text import TEXT
from carnet_spec.protocols.teechain.variants import MAIN
from carnet_spec.protocols.teechain.vocabulary import (
    Chain,
    Epoch,
    Quorum,
    Replica,
    ahead,
    bar,
    before,
    belongs,
    counter,
    credible,
    earlier,
    follows,
    head,
    last,
    meet,
    origin,
    quorum,
    sound,
    tail,
    within,
    zero,
)

ID = "teechain"
TITLE = "Teechain for custody: a log in a chain of replicas, which freezes before another chain goes on"

BUILT_IN = ("A1", "A2", "A3")
"""Assumptions in the shape of the steps: what a signature says, who is broken, what a counter does."""


def teechain(variant: str = MAIN[0]) -> Draft:
    """Draft the named variant of Teechain for custody."""
    draft = Draft(ID, TITLE, variant)
    _assume(draft)
    draft.threat(
        "platform",
        "the platform owns network and storage, and kills and launches enclaves; TEEs hold",
        tees_hold=forall(lambda r: implies(credible(r), sound(r)), Replica),
    )
    draft.threat("broken", "TEEs of backups may be broken, too, as far as quorums allow")
    declare_defences(draft)
    _start(draft)
    specify_setup(draft)
    specify_issuing(draft)
    specify_taking_over(draft)
    specify_adversary(draft)
    state_claims(draft)
    state_lemmas(draft)
    state_goals(draft)
    expect_falls(draft)
    return draft


def _assume(draft: Draft) -> None:
    for id, requirement in TEXT.requirements().items():
        if requirement.level is Level.ASSUMPTION:
            draft.assumption(id, requirement.sentence, built_in=id in BUILT_IN)
    _epochs(draft)
    _chains(draft)
    _quorums(draft)


def _epochs(draft: Draft) -> None:
    draft.axiom("epochs do not loop", forall(lambda u: ~before(u, u), Epoch), assumption="A4")
    draft.axiom(
        "epochs are ordered",
        forall(lambda u, v, w: implies(before(u, v) & before(v, w), before(u, w)), *(Epoch, Epoch, Epoch)),
        assumption="A4",
    )
    draft.axiom(
        "epochs are in line",
        forall(lambda u, v: before(u, v) | (u == v) | before(v, u), *(Epoch, Epoch)),
        assumption="A4",
    )
    draft.axiom("epochs have a start", forall(lambda u: ~before(u, zero), Epoch), assumption="A4")


def _chains(draft: Draft) -> None:
    draft.axiom("a head is a member", forall(lambda c: belongs(c, head(c)), Chain), assumption="A5")
    draft.axiom(
        "all are before the tail",
        forall(lambda c, r: implies(belongs(c, r), (r == tail(c)) | ahead(c, r, tail(c))), *(Chain, Replica)),
        assumption="A5",
    )
    draft.axiom(
        "none is before the head", forall(lambda c, r: ~ahead(c, r, head(c)), *(Chain, Replica)), assumption="A5"
    )
    draft.axiom(
        "the head is before all",
        forall(lambda c, r: implies(belongs(c, r), (r == head(c)) | ahead(c, head(c), r)), *(Chain, Replica)),
        assumption="A5",
    )
    draft.axiom("a tail is a member", forall(lambda c: belongs(c, tail(c)), Chain), assumption="A5")
    draft.axiom("chains do not loop", forall(lambda c: ~earlier(c, c), Chain), assumption="A5")
    draft.axiom("none is before the first", forall(lambda c: ~earlier(c, origin), Chain), assumption="A5")
    draft.axiom(
        "chains are ordered",
        forall(lambda a, b, c: implies(earlier(a, b) & earlier(b, c), earlier(a, c)), *(Chain, Chain, Chain)),
        assumption="A5",
    )
    draft.axiom(
        "one step is a step",
        forall(lambda b, c: implies(follows(b, c), earlier(b, c)), *(Chain, Chain)),
        assumption="A5",
    )
    draft.axiom(
        "one chain is next before",
        forall(
            lambda a, b, c: implies(earlier(a, c) & follows(b, c), (a == b) | earlier(a, b)), *(Chain, Chain, Chain)
        ),
        assumption="A5",
    )


def _quorums(draft: Draft) -> None:
    draft.axiom(
        "a quorum is of members",
        forall(lambda c, q, r: implies(quorum(c, q) & within(q, r), belongs(c, r)), *(Chain, Quorum, Replica)),
        assumption="A6",
    )
    draft.axiom(
        "quorums meet",
        forall(
            lambda c, q, s: implies(quorum(c, q) & quorum(c, s), within(q, meet(q, s)) & within(s, meet(q, s))),
            *(Chain, Quorum, Quorum),
        ),
        assumption="A6",
    )
    draft.axiom("heads hold", forall(lambda c: implies(credible(head(c)), sound(head(c))), Chain), assumption="A7")
    draft.axiom(
        "quorums hold",
        forall(lambda q, s: implies(credible(meet(q, s)), sound(meet(q, s))), *(Quorum, Quorum)),
        assumption="A7",
    )


def _start(draft: Draft) -> None:
    def nothing_logged(r: Replica, c: Chain) -> Epoch:
        return zero

    def nothing_barred(c: Chain) -> Epoch:
        return zero

    draft.initially(last, nothing_logged)
    draft.initially(counter, nothing_logged)
    draft.initially(bar, nothing_barred)
