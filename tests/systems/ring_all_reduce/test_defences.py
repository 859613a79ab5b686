"""What each defence of ring all-reduce is good for: an attack without it, or a proof that another one is enough."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from carnet_check.attacks.hunt import Hunt, attack_target, hunt
from carnet_check.loading.families import load
from carnet_check.results import Verdict
from carnet_spec.language import Finding
from tests.fixtures.carried_out import assert_attack

SOURCE = load("ring-all-reduce")

ATTACKS = {
    "hop-key": ("iv-unique", "REQ-SETUP-01"),
    "report-bound": ("neighbour-genuine", "REQ-SETUP-02, REQ-SETUP-03"),
    "gpu-certificate": ("confidentiality", "REQ-SETUP-04"),
    "mode-check": ("confidentiality", "REQ-SETUP-05"),
    "code-check": ("confidentiality", "REQ-SETUP-06"),
    "neighbour-check": ("neighbour-genuine", "REQ-SETUP-07"),
    "iteration-once": ("confidentiality", "REQ-SEND-03"),
    "seal-once": ("iv-unique", "REQ-SEND-02"),
    "verify-first": ("nothing-else", "REQ-REDUCE-02, REQ-GATHER-01"),
    "bound-iteration": ("nothing-else", "REQ-SEND-01"),
    "bound-chunk": ("partial-sum-agreement", "REQ-SEND-01"),
    "add-once": ("counted-once", "REQ-REDUCE-03"),
    "wait-for-sum": ("whole-sum", "REQ-REDUCE-04"),
    "whole-iteration": ("whole-sum", "REQ-GATHER-02"),
    "alarm-final": ("alarm-heeded", "REQ-ALARM-02"),
}
"""For each defence, the claim that its removal breaks, and the requirements that it is what is done for."""
REDUNDANT = ("bound-step", "bound-phase")
"""The hop key says who sent a message, and the sub-step says in which phase."""
SECOND_LINES = {
    ("hop-key", "bound-step"): "partial-sum-agreement",
    ("bound-phase", "bound-step"): "sum-agreement",
}
"""What falls without a defence and the one that stands in for it."""


def hunted(without: tuple[str, ...] = (), threat: str = "tenants", claim: str = "", variant: str = "") -> Hunt:
    target = attack_target(SOURCE, variant=variant, without=without, threat=threat, claim=claim)
    return hunt(target, jobs=1, progress=lambda _: None)


def test_every_defence_has_an_outcome() -> None:
    assert {*ATTACKS, *REDUNDANT} == {defence.id for defence in SOURCE.protocol().defences}


@pytest.mark.parametrize("without", ATTACKS)
def test_removing_it_opens_an_attack(without: str, record_property: Callable[[str, object], None]) -> None:
    claim, requirements = ATTACKS[without]
    record_property("verifies", ", ".join(f"ring-all-reduce-{id}" for id in requirements.split(", ")))
    assert_attack(hunted((without,), claim=claim), claim)


@pytest.mark.parametrize("without", REDUNDANT)
def test_another_defence_is_proved_to_be_enough(without: str) -> None:
    assert hunted((without,)).verdict is Verdict.PROVED


@pytest.mark.parametrize("without", SECOND_LINES)
def test_without_either_it_falls(without: tuple[str, str]) -> None:
    assert_attack(hunted(without, claim=SECOND_LINES[without]), SECOND_LINES[without])


@pytest.mark.parametrize(("variant", "claim"), [("group-key", "hop-isolation"), ("any-phase", "same-sum")])
def test_what_a_reading_loses_is_attacked(variant: str, claim: str) -> None:
    assert_attack(hunted(claim=claim, variant=variant), claim)


@pytest.mark.parametrize("finding", SOURCE.family.findings, ids=lambda each: each.id)
def test_every_finding_is_found(finding: Finding) -> None:
    found = hunted(finding.without, finding.threat, finding.claim, finding.variant)
    assert_attack(found, finding.claim)
