"""What each defence of Fastrack is good for: an attack without it, or a proof that another one is enough."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from carnet_check.attacks.hunt import Hunt, attack_target, hunt
from carnet_check.loading.families import load
from carnet_check.results import Verdict
from carnet_spec.language import Finding
from tests.fixtures.carried_out import assert_attack

SOURCE = load("fastrack")

ATTACKS = {
    "direct-key": "confidentiality",
    "report-bound": "confidentiality",
    "gpu-certificate": "confidentiality",
    "mode-check": "confidentiality",
    "kernel-named": "confidentiality",
    "transfer-fresh": "iv-unique",
    "chunk-once": "iv-unique",
    "tag-transfer": "chunk-agreement",
    "tag-place": "chunk-agreement",
    "transfer-once": "no-replay",
    "one-fetch": "verified-release",
    "private-staging": "verified-release",
    "verify-first": "verified-release",
    "whole-transfer": "whole-transfer",
    "answer-bound": "answer-agreement",
}
"""For each defence, the claim that its removal breaks."""
REDUNDANT = ("tag-number", "tag-last")
"""Either is enough to tell how long a transfer is."""


REQUIREMENTS = {
    "direct-key": "REQ-SETUP-01",
    "report-bound": "REQ-SETUP-03",
    "gpu-certificate": "REQ-SETUP-04",
    "mode-check": "REQ-SETUP-05",
    "kernel-named": "REQ-KERNEL-01",
    "transfer-fresh": "REQ-SEND-01",
    "chunk-once": "REQ-SEND-02",
    "tag-transfer": "REQ-SEND-03, REQ-RECEIVE-04",
    "tag-place": "REQ-SEND-03, REQ-RECEIVE-04",
    "transfer-once": "REQ-RECEIVE-01",
    "one-fetch": "REQ-RECEIVE-02",
    "private-staging": "REQ-RECEIVE-03",
    "verify-first": "REQ-RECEIVE-05",
    "whole-transfer": "REQ-RECEIVE-06",
    "answer-bound": "REQ-ANSWER-01",
}
"""The requirement that each defence is what is done for."""


def hunted(without: tuple[str, ...] = (), threat: str = "collusion", claim: str = "", variant: str = "") -> Hunt:
    target = attack_target(SOURCE, variant=variant, without=without, threat=threat, claim=claim)
    return hunt(target, jobs=1, progress=lambda _: None)


def test_every_defence_has_an_outcome() -> None:
    assert {*ATTACKS, *REDUNDANT} == {defence.id for defence in SOURCE.protocol().defences}
    assert set(REQUIREMENTS) == set(ATTACKS)


@pytest.mark.parametrize("without", ATTACKS)
def test_removing_it_opens_an_attack(without: str, record_property: Callable[[str, object], None]) -> None:
    record_property("verifies", ", ".join(f"fastrack-{id}" for id in REQUIREMENTS[without].split(", ")))
    assert_attack(hunted((without,), claim=ATTACKS[without]), ATTACKS[without])


@pytest.mark.parametrize("without", ["transfer-fresh", "chunk-once"])
def test_an_iv_that_is_used_twice_tells_the_data(without: str) -> None:
    assert_attack(hunted((without,), claim="confidentiality"), "confidentiality")


@pytest.mark.parametrize("without", REDUNDANT)
def test_number_or_last_is_proved_to_be_enough(without: str) -> None:
    assert hunted((without,)).verdict is Verdict.PROVED


def test_neither_number_nor_last_cuts_a_transfer_short() -> None:
    assert_attack(hunted(REDUNDANT), "whole-transfer")


@pytest.mark.parametrize("finding", SOURCE.family.findings, ids=lambda each: each.id)
def test_every_finding_is_found(finding: Finding) -> None:
    found = hunted(finding.without, finding.threat, finding.claim, finding.variant)
    assert_attack(found, finding.claim)
