"""What each defence of the oblivious interface is good for: without it the host tells two runs apart."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from carnet_check.attacks.hunt import Hunt, attack_target, hunt
from carnet_check.loading.families import load
from carnet_spec.language import Finding
from tests.fixtures.carried_out import assert_attack

SOURCE = load("sgx-lkl")

ATTACKS = {
    "pad-frames": "size",
    "cut-to-frames": "size",
    "dummy-calls": "count",
    "fixed-order": "order",
    "constant-rate": "time",
    "fixed-scan": "address",
    "fresh-iv": "equality",
    "retry-alike": "refusal",
    "check-dummies": "error",
    "verify-answer": "verified",
    "fixed-end": "end",
    "uniform-status": "error",
    "pad-result": "result",
    "fill-chunks": "hand-over-count",
    "fixed-hand-over": "hand-over-end",
    "pad-chunks": "hand-over-size",
}
"""For each defence, the claim that its removal breaks."""

REQUIREMENTS = {
    "pad-frames": "REQ-SIZE-01",
    "cut-to-frames": "REQ-SIZE-02",
    "dummy-calls": "REQ-COUNT-01",
    "fixed-order": "REQ-ORDER-01",
    "constant-rate": "REQ-TIME-01",
    "fixed-scan": "REQ-ADDRESS-01",
    "fresh-iv": "REQ-CONTENT-01",
    "retry-alike": "REQ-REFUSAL-01",
    "check-dummies": "REQ-ERROR-02",
    "verify-answer": "REQ-ERROR-01",
    "fixed-end": "REQ-END-01",
    "uniform-status": "REQ-END-02",
    "pad-result": "REQ-END-03",
    "fill-chunks": "REQ-HAND-OVER-01",
    "fixed-hand-over": "REQ-HAND-OVER-03",
    "pad-chunks": "REQ-HAND-OVER-02",
}
"""The requirement that each defence is what is done for."""


def hunted(without: tuple[str, ...] = (), threat: str = "meddling", claim: str = "", variant: str = "") -> Hunt:
    target = attack_target(SOURCE, variant=variant, without=without, threat=threat, claim=claim)
    return hunt(target, jobs=1, progress=lambda _: None)


def test_every_defence_has_an_attack() -> None:
    assert set(ATTACKS) == set(REQUIREMENTS) == {defence.id for defence in SOURCE.protocol().defences}


@pytest.mark.parametrize("without", ATTACKS)
def test_removing_it_opens_an_attack(without: str, record_property: Callable[[str, object], None]) -> None:
    record_property("verifies", f"sgx-lkl-{REQUIREMENTS[without]}")
    assert_attack(hunted((without,), claim=ATTACKS[without]), ATTACKS[without])


def test_without_a_scan_what_comes_back_is_seen() -> None:
    assert_attack(hunted(("fixed-scan",), claim="revisits"), "revisits")


@pytest.mark.parametrize("finding", SOURCE.family.findings, ids=lambda each: each.id)
def test_every_finding_is_found(finding: Finding) -> None:
    found = hunted(finding.without, finding.threat, finding.claim, finding.variant)
    assert_attack(found, finding.claim)
