"""What each defence of PipeLLM is good for: the attack that its removal opens, found and carried out."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from carnet_check.attacks.hunt import Hunt, attack_target, hunt
from carnet_check.loading.families import load
from carnet_spec.language import Finding
from carnet_spec.protocols.pipellm.design import FALLS
from carnet_spec.protocols.pipellm.vocabulary import FLUSHED
from tests.fixtures.carried_out import assert_attack

SOURCE = load("pipellm")

ATTACKS = {
    "own-key": ("confidentiality", "REQ-KEY-01"),
    "new-key": ("iv-unique", "REQ-KEY-02"),
    "private-staging": ("iv-unique", "REQ-STAGE-01"),
    "write-invalidates": ("copy-agreement", "REQ-WRITE-01"),
    "write-waits": ("copy-agreement", "REQ-WRITE-02"),
    "in-order": ("order-kept", "REQ-ORDER-01"),
    "page-checked": ("copy-agreement", "REQ-SEND-01"),
    "behind-anew": ("no-passed-iv", "REQ-SEND-02"),
    "pad-first": ("in-step", "REQ-SEND-03"),
    "miss-advances": ("iv-unique", "REQ-SEND-04"),
    "pad-advances": ("counters-agree", "REQ-SEND-04"),
    "pad-discarded": ("copy-agreement", "REQ-PAD-01"),
    "implicit-counter": ("copy-agreement", "REQ-RECEIVE-01"),
    "tag-checked": ("copy-agreement", "REQ-RECEIVE-02"),
    "command-counted": ("order-kept", "REQ-RECEIVE-03"),
    "fail-closed": ("no-gap", "REQ-RECEIVE-04"),
}
"""For each defence a claim that its removal breaks, and the requirement that it is what is done for."""


def hunted(without: tuple[str, ...] = (), threat: str = "lone-host", claim: str = "", variant: str = "") -> Hunt:
    target = attack_target(SOURCE, variant=variant, without=without, threat=threat, claim=claim)
    return hunt(target, jobs=1, progress=lambda _: None)


def test_every_defence_has_an_attack() -> None:
    assert set(ATTACKS) == {defence.id for defence in SOURCE.protocol().defences}


@pytest.mark.parametrize("without", ATTACKS)
def test_removing_it_opens_an_attack(without: str, record_property: Callable[[str, object], None]) -> None:
    claim, requirement = ATTACKS[without]
    record_property("verifies", f"pipellm-{requirement}")
    assert_attack(hunted((without,), claim=claim), claim)


@pytest.mark.parametrize("without", ["new-key", "private-staging", "behind-anew", "pad-first", "miss-advances"])
def test_an_iv_that_is_used_twice_tells_the_data(without: str) -> None:
    assert_attack(hunted((without,), claim="confidentiality"), "confidentiality")


def test_a_key_that_another_tenant_has_is_no_key_of_its_own() -> None:
    assert_attack(hunted(("own-key",), claim="key-isolation"), "key-isolation")


def test_flushing_rests_on_encrypting_once() -> None:
    assert_attack(hunted(("encrypt-once",), claim="confidentiality", variant=FLUSHED), "confidentiality")


@pytest.mark.parametrize(
    ("variant", "claim"), [(variant, claim) for variant, falls in FALLS.items() for claim in falls]
)
def test_what_a_reading_loses_is_attacked(variant: str, claim: str) -> None:
    assert_attack(hunted(claim=claim, variant=variant), claim)


@pytest.mark.parametrize("finding", SOURCE.family.findings, ids=lambda each: each.id)
def test_every_finding_is_found(finding: Finding) -> None:
    found = hunted(finding.without, finding.threat, finding.claim, finding.variant)
    assert_attack(found, finding.claim)
