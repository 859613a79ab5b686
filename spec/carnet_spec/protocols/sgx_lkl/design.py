"""The design put together: what one run does, and two of it side by side."""

from __future__ import annotations

from carnet_spec.language import Draft, TwoRuns
from carnet_spec.language.authoring import Falls, Findings, assumptions_from, declare_defences, expect_falls
from carnet_spec.protocols.sgx_lkl.claims import (
    TEXT,
    THREATS,
    state_claims,
    state_claims_of_one,
    state_goals_of_both,
    state_goals_of_one,
)
from carnet_spec.protocols.sgx_lkl.lemmas import state_lemmas_of_both, state_lemmas_of_one
from carnet_spec.protocols.sgx_lkl.protocol import specify_calls, specify_end, specify_hand_over, specify_host
from carnet_spec.protocols.sgx_lkl.vocabulary import *
from carnet_spec.theories.linear_order import StrictOrder

# -- defences ----------------------------------------------------------------------------------------------------------
# The guards and updates that can be taken away one by one, to see what each is for.

DEFENCES = (
    ("pad-frames", "every frame is padded to one size"),
    ("cut-to-frames", "what is longer than a frame is cut"),
    ("dummy-calls", "where there is nothing to say, a dummy leaves"),
    ("fixed-order", "what a frame asks for, the schedule says"),
    ("constant-rate", "a frame leaves at the end of its tick, whenever it was ready"),
    ("fixed-scan", "blocks are swept in a fixed order, whichever is needed"),
    ("fresh-iv", "every frame has an IV of its own"),
    ("retry-alike", "a dummy that was refused is sent again, as a call is"),
    ("check-dummies", "the answer to a dummy is verified as every answer is"),
    ("verify-answer", "the application takes an answer only if it verifies"),
    ("fixed-end", "a run ends at its deadline"),
    ("uniform-status", "the status tells what the host did, and nothing of the application"),
    ("pad-result", "the result is padded to one size"),
    ("fill-chunks", "chunks are sent up to the manifest's bound, with filler after the data"),
    ("fixed-hand-over", "the hand-over is over when the manifest says"),
    ("pad-chunks", "every chunk is padded to one size"),
)


# -- what falls --------------------------------------------------------------------------------------------------------
# Every claim that is not named for a variant holds in it, and is proved.

_MEDDLING = THREATS[1:]

FALLS: Falls = {
    SHUFFLED: {"revisits": THREATS},
    ON_DEMAND: {"count": THREATS},
    "protected-only": dict.fromkeys(("size", "count", "order", "time", "address", "revisits"), THREATS),
    "early-end": dict.fromkeys(("end", "schedule"), THREATS),
    "needed-retry": {"refusal": _MEDDLING},
    "calls-checked": {"error": _MEDDLING},
    "bare-hand-over": dict.fromkeys(
        ("hand-over-count", "hand-over-end", "hand-over-size", "schedule", "begun"), THREATS
    ),
}
"""For each variant the claims that fall, and under which threat models."""

UNTRUE: dict[str, tuple[str, ...]] = {"bare-hand-over": ("frames_have_their_time",)}
"""For each variant the lemmas that do not hold in it."""


# -- findings ----------------------------------------------------------------------------------------------------------
# What "oblivious" needs, which the abstract of the paper does not say.
# Each is an attack on a reading of the abstract, or on a hand-over that nobody pads. The paper itself may exclude it.

ABSTRACT = "the abstract of the paper, read literally"
HAND_OVER = "a hand-over of GPU Travelling that nobody pads"

_finding = Findings("watching", ABSTRACT)

FINDINGS = (
    _finding(1, SHUFFLED, "revisits")(
        "blocks in an order that nobody knows: the host still sees which are fetched again"
    ),
    _finding(2, ON_DEMAND, "count")(
        "a constant bit rate of the network alone: whether the disk is asked tells of the workload"
    ),
    _finding(3, "protected-only", "size")("encryption hides what is said, and not how much of it"),
    _finding(4, "early-end", "end")("how long a run takes tells what it worked on"),
    _finding(5, "needed-retry", "refusal", threat="meddling")(
        "the host refuses a call, and sees by the retry that it was none of the dummies"
    ),
    _finding(6, "calls-checked", "error", threat="meddling")(
        "the host spoils an answer, and sees by the error that it was read"
    ),
    _finding(7, "bare-hand-over", "hand-over-count", about=HAND_OVER)(
        "the number of chunks tells how much data the holder has"
    ),
    _finding(8, "bare-hand-over", "hand-over-size", about=HAND_OVER)(
        "the last chunk tells how much data the holder has, to the byte"
    ),
)


# -- design ------------------------------------------------------------------------------------------------------------

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
    expect_falls(runs, THREATS, FALLS, UNTRUE)
    return runs


def one_run(variant: str = MAIN[0]) -> Draft:
    """Draft one run of the named variant."""
    draft = Draft(ID, TITLE, variant)
    assumptions_from(draft, TEXT, BUILT_IN)
    StrictOrder("ticks", Tick, before, "A5").assume_linear(draft, start)
    draft.axiom("the run comes after the hand-over", before(manifest, deadline), assumption="A5")
    draft.axiom("a dummy fits", fits(dummy), assumption="A6")
    draft.axiom("where blocks are", shuffled if draft.variant == SHUFFLED else ~shuffled, assumption="A7")
    disk = ~filled(Operation.READ) & ~filled(Operation.WRITE)
    network = filled(Operation.PACKET)
    draft.axiom("which turns are filled", disk & (network if draft.variant == ON_DEMAND else ~network), assumption="A7")
    draft.threat("watching", "the host serves every call, and watches", serves=~hostile)
    draft.threat("meddling", "the host also refuses calls, and makes answers up")
    declare_defences(draft, DEFENCES)
    draft.initially(phase, Phase.PLANNED)
    draft.initially(now, start)
    draft.initially(extent, start)
    draft.initially(status, Ending.NONE)
    draft.initially(result_size, bound)

    draft.initially(chunk_size, lambda t: bound)
    draft.initially(size, lambda t: bound)
    draft.initially(moment, lambda t: edge)
    draft.initially(operation, lambda t: turn(t))
    draft.initially(address, lambda t: sweep(t))
    draft.initially(carried, lambda t: dummy)
    specify_hand_over(draft)
    specify_calls(draft)
    specify_end(draft)
    specify_host(draft)
    state_claims_of_one(draft)
    state_lemmas_of_one(draft)
    state_goals_of_one(draft)
    return draft
