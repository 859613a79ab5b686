"""The design put together: axioms, threat models, assumptions, defences and variants of PipeLLM."""

from __future__ import annotations

from carnet_spec.language import Draft, forall, implies
from carnet_spec.language.requirements import Level
from carnet_spec.protocols.pipellm.adversary import specify_adversary
from carnet_spec.protocols.pipellm.application import specify_application
from carnet_spec.protocols.pipellm.claims import state_claims
from carnet_spec.protocols.pipellm.defences import declare_defences
from carnet_spec.protocols.pipellm.goals import state_goals
from carnet_spec.protocols.pipellm.gpu import specify_gpu
from carnet_spec.protocols.pipellm.lemmas import state_lemmas
from carnet_spec.protocols.pipellm.readings import expect_falls
from carnet_spec.protocols.pipellm.runtime import specify_runtime
from carnet_spec.protocols.pipellm.text import TEXT
from carnet_spec.protocols.pipellm.variants import MAIN
from carnet_spec.protocols.pipellm.vocabulary import (
    Agent,
    Block,
    Copy,
    Iv,
    Key,
    Page,
    before,
    content,
    corrupt,
    counter,
    due,
    earlier,
    follows,
    host,
    latest,
    none,
    owner,
    start,
    zeros,
)

ID = "pipellm"
TITLE = "PipeLLM: blocks are encrypted before they are asked for, under the IV that will be due then"

BUILT_IN = ("A1", "A2", "A3", "A4", "A5")
"""Assumptions in the shape of the steps: what verifies, what is out of reach, and that a write is seen."""


def pipellm(variant: str = MAIN[0]) -> Draft:
    """Draft the named variant of PipeLLM."""
    draft = Draft(ID, TITLE, variant)
    _assume(draft)
    alone = forall(lambda a: implies(corrupt(a), a == host), Agent)
    draft.threat("lone-host", "the host sees and changes shared memory; every tenant follows the protocol", alone=alone)
    draft.threat("collusion", "tenants may be corrupt, too, and collude with the host")
    declare_defences(draft)
    _start(draft)
    specify_application(draft)
    specify_runtime(draft)
    specify_gpu(draft)
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
    draft.axiom("the host is corrupt", corrupt(host), assumption="A2")
    draft.axiom("zeros are no secret", owner(zeros) == host, assumption="A6")
    _in_line(draft)


def _in_line(draft: Draft) -> None:
    draft.axiom("IVs do not loop", forall(lambda i: ~before(i, i), Iv), assumption="A7")
    draft.axiom(
        "IVs are ordered",
        forall(lambda i, j, m: implies(before(i, j) & before(j, m), before(i, m)), Iv, Iv, Iv),
        assumption="A7",
    )
    draft.axiom("IVs are in line", forall(lambda i, j: before(i, j) | (i == j) | before(j, i), Iv, Iv), assumption="A7")
    draft.axiom("IVs have a start", forall(lambda i: ~before(i, start), Iv), assumption="A7")
    draft.axiom(
        "nothing is between an IV and the next",
        forall(
            lambda i, j, m: implies(follows(i, j), before(i, j) & implies(before(i, m), (m == j) | before(j, m))),
            *(Iv, Iv, Iv),
        ),
        assumption="A7",
    )
    draft.axiom("copies do not loop", forall(lambda r: ~earlier(r, r), Copy), assumption="A7")
    draft.axiom(
        "copies are ordered",
        forall(lambda r, s, t: implies(earlier(r, s) & earlier(s, t), earlier(r, t)), Copy, Copy, Copy),
        assumption="A7",
    )
    draft.axiom(
        "copies are in line",
        forall(lambda r, s: earlier(r, s) | (r == s) | earlier(s, r), Copy, Copy),
        assumption="A7",
    )
    draft.axiom("copies have a start", forall(lambda r: ~earlier(r, none), Copy), assumption="A7")


def _start(draft: Draft) -> None:
    def at_the_start(k: Key) -> Iv:
        return start

    def not_asked(k: Key) -> Copy:
        return none

    def not_written(p: Page) -> Block:
        return zeros

    draft.initially(due, at_the_start)
    draft.initially(counter, at_the_start)
    draft.initially(latest, not_asked)
    draft.initially(content, not_written)
