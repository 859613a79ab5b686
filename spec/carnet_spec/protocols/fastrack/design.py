"""The design put together: axioms, threat models, assumptions, defences and variants of Fastrack."""

from __future__ import annotations

from carnet_spec.language import Draft, Formula, forall, implies
from carnet_spec.language.requirements import Level
from carnet_spec.protocols.fastrack.adversary import specify_adversary
from carnet_spec.protocols.fastrack.claims import state_claims
from carnet_spec.protocols.fastrack.defences import declare_defences
from carnet_spec.protocols.fastrack.goals import state_goals
from carnet_spec.protocols.fastrack.lemmas import state_lemmas
from carnet_spec.protocols.fastrack.readings import expect_falls
from carnet_spec.protocols.fastrack.receiving import specify_receiving
from carnet_spec.protocols.fastrack.sending import specify_sending
from carnet_spec.protocols.fastrack.setup import specify_setup
from carnet_spec.protocols.fastrack.text import TEXT
from carnet_spec.protocols.fastrack.variants import MAIN
from carnet_spec.protocols.fastrack.vocabulary import (
    Code,
    Gpu,
    Key,
    Position,
    Transfer,
    before,
    certified,
    closed,
    confidential,
    corrupt,
    cpu,
    expected,
    extent,
    first,
    genuine,
    leaks,
    vetted,
)

ID = "fastrack"
TITLE = "Fastrack: a user's data goes to the GPU directly, in chunks that are verified in parallel"

BUILT_IN = ("A1", "A2", "A3", "A5")
"""Assumptions in the shape of the steps: what a tag verifies for, what is out of reach, what a kernel does."""


def fastrack(variant: str = MAIN[0]) -> Draft:
    """Draft the named variant of Fastrack."""
    draft = Draft(ID, TITLE, variant)
    _assume(draft)
    draft.threat(
        "outsider", "the CPU TEE follows the protocol; host, network and other users do not", cpu_honest=~corrupt(cpu)
    )
    draft.threat("collusion", "the CPU TEE may be corrupt, too, and colludes with all others")
    declare_defences(draft)
    _start(draft)
    specify_setup(draft)
    specify_sending(draft)
    specify_receiving(draft)
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
    draft.axiom("certificates tell", forall(lambda g: implies(certified(g), genuine(g)), Gpu), assumption="A4")
    draft.axiom("reviewed code", forall(lambda c: implies(vetted(c), ~leaks(c)), Code), assumption="A6")
    draft.axiom("places do not loop", forall(lambda u: ~before(u, u), Position), assumption="A7")
    draft.axiom(
        "places are ordered",
        forall(lambda u, v, w: implies(before(u, v) & before(v, w), before(u, w)), Position, Position, Position),
        assumption="A7",
    )
    draft.axiom(
        "places are in line",
        forall(lambda u, v: before(u, v) | (u == v) | before(v, u), *(Position, Position)),
        assumption="A7",
    )
    draft.axiom("places have a start", forall(lambda u: ~before(u, first), Position), assumption="A7")


def _start(draft: Draft) -> None:
    def nothing_said(k: Key, x: Transfer) -> Position:
        return first

    def nothing_told(g: Gpu, k: Key, x: Transfer) -> Position:
        return first

    def mode_at_first(g: Gpu) -> Formula:
        return closed(g)

    draft.initially(confidential, mode_at_first)
    draft.initially(extent, nothing_said)
    draft.initially(expected, nothing_told)
