"""The design put together: what one run does, and two of it side by side."""

from __future__ import annotations

from carnet_spec.language import Draft, TwoRuns, forall, implies
from carnet_spec.language.requirements import Level
from carnet_spec.protocols.sgx_lkl.calling import specify_calls
from carnet_spec.protocols.sgx_lkl.claims import state_claims, state_claims_of_one
from carnet_spec.protocols.sgx_lkl.defences import declare_defences
from carnet_spec.protocols.sgx_lkl.ending import specify_end
from carnet_spec.protocols.sgx_lkl.goals import state_goals_of_both, state_goals_of_one
from carnet_spec.protocols.sgx_lkl.handing_over import specify_hand_over
from carnet_spec.protocols.sgx_lkl.host import specify_host
from carnet_spec.protocols.sgx_lkl.lemmas import state_lemmas_of_both, state_lemmas_of_one
from carnet_spec.protocols.sgx_lkl.readings import expect_falls
from carnet_spec.protocols.sgx_lkl.text import TEXT
from carnet_spec.protocols.sgx_lkl.variants import MAIN, ON_DEMAND, SHUFFLED
from carnet_spec.protocols.sgx_lkl.vocabulary import (
    Block,
    Ending,
    Message,
    Moment,
    Operation,
    Phase,
    Size,
    Tick,
    address,
    before,
    bound,
    carried,
    chunk_size,
    deadline,
    dummy,
    edge,
    extent,
    filled,
    fits,
    hostile,
    manifest,
    moment,
    now,
    operation,
    phase,
    result_size,
    shuffled,
    size,
    start,
    status,
    sweep,
    turn,
)

ID = "sgx-lkl"
TITLE = "SGX-LKL: what the host sees of an enclave does not depend on its data"

BUILT_IN = ("A1", "A2", "A3", "A4")
"""Assumptions in the shape of the steps: what encryption hides, what a tick is, and what both runs have in common."""
OWN = {"plan": ("n",), "call": ("m",), "emit": ("m",), "finish": ("m",)}
"""What each run chooses for itself: data, calls, what a frame carries, and the result."""


def oblivious(variant: str = MAIN[0]) -> TwoRuns:
    """Draft two runs of the named variant, which differ in their data."""
    runs = TwoRuns(one_run(variant), secret=(extent,), own=OWN)
    state_claims(runs)
    state_lemmas_of_both(runs)
    state_goals_of_both(runs)
    expect_falls(runs)
    return runs


def one_run(variant: str = MAIN[0]) -> Draft:
    """Draft one run of the named variant."""
    draft = Draft(ID, TITLE, variant)
    _assume(draft)
    draft.threat("watching", "the host serves every call, and watches", serves=~hostile)
    draft.threat("meddling", "the host also refuses calls, and makes answers up")
    declare_defences(draft)
    _start(draft)
    specify_hand_over(draft)
    specify_calls(draft)
    specify_end(draft)
    specify_host(draft)
    state_claims_of_one(draft)
    state_lemmas_of_one(draft)
    state_goals_of_one(draft)
    return draft


def _assume(draft: Draft) -> None:
    for id, requirement in TEXT.requirements().items():
        if requirement.level is Level.ASSUMPTION:
            draft.assumption(id, requirement.sentence, built_in=id in BUILT_IN)
    draft.axiom("ticks do not loop", forall(lambda u: ~before(u, u), Tick), assumption="A5")
    draft.axiom(
        "ticks are ordered",
        forall(lambda u, v, w: implies(before(u, v) & before(v, w), before(u, w)), Tick, Tick, Tick),
        assumption="A5",
    )
    draft.axiom(
        "ticks are in line", forall(lambda u, v: before(u, v) | (u == v) | before(v, u), Tick, Tick), assumption="A5"
    )
    draft.axiom("ticks have a start", forall(lambda u: ~before(u, start), Tick), assumption="A5")
    draft.axiom("the run comes after the hand-over", before(manifest, deadline), assumption="A5")
    draft.axiom("a dummy fits", fits(dummy), assumption="A6")
    draft.axiom("where blocks are", shuffled if draft.variant == SHUFFLED else ~shuffled, assumption="A7")
    disk = ~filled(Operation.READ) & ~filled(Operation.WRITE)
    network = filled(Operation.PACKET)
    draft.axiom("which turns are filled", disk & (network if draft.variant == ON_DEMAND else ~network), assumption="A7")


def _start(draft: Draft) -> None:
    draft.initially(phase, Phase.PLANNED)
    draft.initially(now, start)
    draft.initially(extent, start)
    draft.initially(status, Ending.NONE)
    draft.initially(result_size, bound)

    def one_size(t: Tick) -> Size:
        return bound

    def one_moment(t: Tick) -> Moment:
        return edge

    def its_turn(t: Tick) -> Operation:
        return turn(t)

    def its_block(t: Tick) -> Block:
        return sweep(t)

    def nothing(t: Tick) -> Message:
        return dummy

    draft.initially(chunk_size, one_size)
    draft.initially(size, one_size)
    draft.initially(moment, one_moment)
    draft.initially(operation, its_turn)
    draft.initially(address, its_block)
    draft.initially(carried, nothing)
