"""The design put together: axioms, threat models, assumptions, defences and variants of TensorTEE."""

from __future__ import annotations

from carnet_spec.language import Draft, forall, implies
from carnet_spec.language.requirements import Level
from carnet_spec.protocols.tensortee.adversary import specify_adversary
from carnet_spec.protocols.tensortee.claims import state_claims
from carnet_spec.protocols.tensortee.cpu import specify_cpu
from carnet_spec.protocols.tensortee.defences import declare_defences
from carnet_spec.protocols.tensortee.exporting import specify_exporting
from carnet_spec.protocols.tensortee.goals import state_goals
from carnet_spec.protocols.tensortee.lemmas import state_lemmas
from carnet_spec.protocols.tensortee.npu import specify_npu
from carnet_spec.protocols.tensortee.readings import expect_falls
from carnet_spec.protocols.tensortee.setup import specify_setup
from carnet_spec.protocols.tensortee.text import TEXT
from carnet_spec.protocols.tensortee.variants import MAIN
from carnet_spec.protocols.tensortee.vocabulary import (
    Agent,
    Key,
    Tensor,
    Version,
    before,
    corrupt,
    cpu_version,
    follows,
    host,
    npu_version,
    zero,
)

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
    declare_defences(draft)
    _start(draft)
    specify_setup(draft)
    specify_cpu(draft)
    specify_npu(draft)
    specify_exporting(draft)
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
    draft.axiom("versions do not loop", forall(lambda u: ~before(u, u), Version), assumption="A7")
    draft.axiom(
        "versions are ordered",
        forall(lambda u, v, w: implies(before(u, v) & before(v, w), before(u, w)), Version, Version, Version),
        assumption="A7",
    )
    draft.axiom("versions have a start", forall(lambda u: ~before(u, zero), Version), assumption="A7")
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
