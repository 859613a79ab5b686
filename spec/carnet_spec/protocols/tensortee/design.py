"""The design put together: axioms, threat models, assumptions, defences and variants of TensorTEE."""

from __future__ import annotations

from functools import partial

from carnet_spec.language import Draft, forall, implies
from carnet_spec.language.authoring import Falls, assumptions_from, declare_defences, expect_falls
from carnet_spec.language.family import Finding
from carnet_spec.protocols.tensortee.claims import TEXT, THREATS, state_claims, state_goals
from carnet_spec.protocols.tensortee.lemmas import state_lemmas
from carnet_spec.protocols.tensortee.protocol import (
    specify_adversary,
    specify_cpu,
    specify_exporting,
    specify_npu,
    specify_setup,
)
from carnet_spec.protocols.tensortee.vocabulary import *
from carnet_spec.theories.linear_order import StrictOrder

# -- defences ----------------------------------------------------------------------------------------------------------
# The guards and updates that can be taken away one by one, to see what each is for.

DEFENCES = (
    ("npu-attested", "the CPU enclave shares a key with an NPU that it attested only"),
    ("job-key", "each job has a key of its own"),
    ("new-key", "a session that starts again has a new key, since its versions start again"),
    ("one-writer", "one side alone writes a tensor"),
    ("version-advances", "a pass takes the next version before its first line is written"),
    ("line-once", "a line is written once in a pass"),
    ("mac-tensor", "the MAC binds the tensor"),
    ("mac-line", "the MAC binds the place of each line"),
    ("mac-version", "the MAC binds the version"),
    ("mac-nonlinear", "the MACs of lines that are added up are no linear function of the lines"),
    ("table-protected", "an entry that leaves the table is under a counter tree"),
    ("whole-write", "a tensor is handed over when every line of the pass is written"),
    ("descriptor-sealed", "a descriptor is authenticated under the key"),
    ("descriptor-fresh", "a descriptor is taken only if its version is newer than the last"),
    ("settle-first", "a tensor that awaits its MAC is neither read again nor written"),
    ("one-fetch", "the line that is computed with is the line that is added to the MAC"),
    ("every-line", "a MAC is compared when every line has arrived"),
    ("mac-compared", "a tensor is verified only if its MAC is the same"),
    ("taint-passed-on", "a result awaits whatever it was computed from"),
    ("taint-kept", "a result that was in memory awaits what it awaited before"),
    ("verified-hand-over", "a result is handed over when it awaits nothing"),
    ("verified-release", "a result is given out when it awaits nothing"),
    ("fail-stop", "after a MAC that failed, nothing is handed over or given out"),
)


# -- what falls --------------------------------------------------------------------------------------------------------
# Every claim that is not named for a variant holds in it, and is proved.

_NEIGHBOUR = THREATS[1:]

FALLS: Falls = {
    "two-counters": {
        "confidentiality": THREATS,
        "iv-unique": THREATS,
        "hand-over-agreement": THREATS,
        "verified-hand-over": THREATS,
    },
    "predict-and-export": {"verified-export": THREATS, "verified-hand-over": THREATS},
    "own-mac-only": {"verified-export": THREATS, "verified-hand-over": THREATS},
    "verify-by-second-pass": {"tensor-agreement": THREATS, "verified-export": THREATS, "verified-hand-over": THREATS},
    "sum-of-tags": {"tensor-agreement": THREATS, "verified-export": THREATS, "verified-hand-over": THREATS},
    "bare-lines": {
        "line-agreement": THREATS,
        "tensor-agreement": THREATS,
        "verified-export": THREATS,
        "verified-hand-over": THREATS,
    },
    "spilled-table": {
        "confidentiality": THREATS,
        "iv-unique": THREATS,
        "whole-hand-over": THREATS,
        "no-rollback": THREATS,
    },
    MACHINE_KEY: {
        "confidentiality": THREATS,
        "key-isolation": THREATS,
        "line-agreement": _NEIGHBOUR,
        "tensor-agreement": _NEIGHBOUR,
        "hand-over-agreement": _NEIGHBOUR,
        "verified-export": _NEIGHBOUR,
        "verified-hand-over": _NEIGHBOUR,
    },
}
"""For each variant the claims that fall, and under which threat models."""

UNTRUE: dict[str, tuple[str, ...]] = {
    "two-counters": ("written_by_the_cpu", "written_by_the_npu", "inputs_were_handed_over", "handed_over_is_clean"),
    "predict-and-export": ("handed_over_is_clean",),
    "own-mac-only": ("spoilt_awaits", "handed_over_is_clean"),
    "verify-by-second-pass": ("matched_is_written", "spoilt_awaits", "handed_over_is_clean"),
    "sum-of-tags": ("matched_is_written", "spoilt_awaits", "handed_over_is_clean"),
    "bare-lines": ("matched_is_written", "spoilt_awaits", "handed_over_is_clean"),
    "spilled-table": ("written_by_the_cpu", "lines_of_the_cpu_are_filled"),
}
"""For each variant the lemmas that do not hold in it."""


# -- findings ----------------------------------------------------------------------------------------------------------
# What tensor granularity and delayed verification need, which the abstract of the paper does not say.
# Each is an attack on a reading of the abstract. The paper itself may exclude it.

ABSTRACT = "the abstract of the paper, read literally"

_finding = partial(Finding, threat="bus", about=ABSTRACT)

FINDINGS = (
    _finding(
        "finding-1",
        "one scheme and one key on both sides: CPU and NPU write one tensor in one version, under one IV",
        claim="confidentiality",
        variant="two-counters",
    ),
    _finding(
        "finding-2",
        "computation runs ahead of the MAC, and so does what it exports",
        claim="verified-export",
        variant="predict-and-export",
    ),
    _finding(
        "finding-3",
        "a result of unverified data goes through memory, and its own MAC verifies",
        claim="verified-export",
        variant="own-mac-only",
    ),
    _finding(
        "finding-4",
        "the delayed MAC is computed from a second read: what was verified is not what was computed with",
        claim="verified-export",
        variant="verify-by-second-pass",
    ),
    _finding(
        "finding-5",
        "line tags that are linear are summed up to a tensor's MAC: the same change in two lines cancels",
        claim="tensor-agreement",
        variant="sum-of-tags",
    ),
    _finding(
        "finding-6",
        "lines that are authenticated without their address change places",
        claim="tensor-agreement",
        variant="bare-lines",
    ),
    _finding(
        "finding-7",
        "the table of versions overflows to memory, and memory gives an old entry back",
        claim="iv-unique",
        variant="spilled-table",
    ),
    _finding(
        "finding-8",
        "both enclaves use the machine's key: another job on the machine has it, too",
        threat="neighbour",
        claim="confidentiality",
        variant="machine-key",
    ),
)


# -- design ------------------------------------------------------------------------------------------------------------

ID = "tensortee"
TITLE = "TensorTEE: CPU and NPU protect memory by the tensor, and the NPU verifies after it computed"

BUILT_IN = ("A1", "A2", "A3", "A4", "A5", "A6")
"""Assumptions in the shape of the steps: what a MAC verifies for, what is out of reach, where a tensor ends."""


def tensortee(variant: str = MAIN[0]) -> Draft:
    """Draft the named variant of TensorTEE."""
    draft = Draft(ID, TITLE, variant)
    _assume(draft)
    alone = forall(lambda p: implies(corrupt(p), p == host), Agent)
    draft.threat("bus", "the adversary has host software, memory and link; all jobs follow the protocol", alone=alone)
    draft.threat("neighbour", "other jobs on the same CPU and NPU may be corrupt, too, and collude with the host")
    declare_defences(draft, DEFENCES)
    _start(draft)
    specify_setup(draft)
    specify_cpu(draft)
    specify_npu(draft)
    specify_exporting(draft)
    specify_adversary(draft)
    state_claims(draft)
    state_lemmas(draft)
    state_goals(draft)
    expect_falls(draft, THREATS, FALLS, UNTRUE)
    return draft


def _assume(draft: Draft) -> None:
    assumptions_from(draft, TEXT, BUILT_IN)
    StrictOrder("versions", Version, before, "A7").assume(draft, zero)
    draft.axiom(
        "the next version is larger",
        forall(lambda u, v: implies(follows(u, v), before(u, v)), Version, Version),
        assumption="A7",
    )


def _start(draft: Draft) -> None:
    def never_written(k: Key, t: Tensor) -> Version:
        return zero

    draft.initially(cpu_version, never_written)
    draft.initially(npu_version, never_written)
