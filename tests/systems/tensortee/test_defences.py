"""What each defence of TensorTEE is good for: an attack without it, which real bytes carry out as well."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from carnet_check.attacks.hunt import Hunt, attack_target, hunt
from carnet_check.loading.families import load
from carnet_spec.language import Finding
from tests.fixtures.carried_out import assert_attack

SOURCE = load("tensortee")

ATTACKS = {
    "npu-attested": ("key-isolation", "REQ-KEY-01"),
    "job-key": ("confidentiality", "REQ-KEY-02"),
    "new-key": ("iv-unique", "REQ-KEY-03"),
    "one-writer": ("iv-unique", "REQ-WRITE-01"),
    "version-advances": ("iv-unique", "REQ-WRITE-02"),
    "line-once": ("iv-unique", "REQ-WRITE-03"),
    "mac-tensor": ("line-agreement", "REQ-MAC-01, REQ-READ-01"),
    "mac-line": ("tensor-agreement", "REQ-MAC-01"),
    "mac-version": ("line-agreement", "REQ-MAC-01, REQ-READ-01"),
    "mac-nonlinear": ("tensor-agreement", "REQ-MAC-01"),
    "table-protected": ("no-rollback", "REQ-TABLE-01"),
    "whole-write": ("whole-hand-over", "REQ-HAND-01"),
    "descriptor-sealed": ("hand-over-agreement", "REQ-HAND-02"),
    "descriptor-fresh": ("no-rollback", "REQ-HAND-03"),
    "settle-first": ("verified-hand-over", "REQ-LOAD-01"),
    "one-fetch": ("tensor-agreement", "REQ-LOAD-02"),
    "every-line": ("whole-tensor", "REQ-VERIFY-01"),
    "mac-compared": ("tensor-agreement", "REQ-VERIFY-02"),
    "taint-passed-on": ("verified-export", "REQ-TAINT-01"),
    "taint-kept": ("verified-export", "REQ-TAINT-01"),
    "verified-hand-over": ("verified-hand-over", "REQ-EXPORT-01"),
    "verified-release": ("verified-export", "REQ-EXPORT-01"),
    "fail-stop": ("failure-heeded", "REQ-VERIFY-03"),
}
"""For each defence, the claim that its removal breaks, and the requirements that it is there for."""


def hunted(without: tuple[str, ...] = (), threat: str = "neighbour", claim: str = "", variant: str = "") -> Hunt:
    target = attack_target(SOURCE, variant=variant, without=without, threat=threat, claim=claim)
    return hunt(target, jobs=1, progress=lambda _: None)


def test_every_defence_has_an_outcome() -> None:
    assert set(ATTACKS) == {defence.id for defence in SOURCE.protocol().defences}


@pytest.mark.parametrize("without", ATTACKS)
def test_removing_it_opens_an_attack(without: str, record_property: Callable[[str, object], None]) -> None:
    claim, requirements = ATTACKS[without]
    record_property("verifies", ", ".join(f"tensortee-{id}" for id in requirements.split(", ")))
    assert assert_attack(hunted((without,), claim=claim), claim)["defended"]["stopped"]


@pytest.mark.parametrize("finding", SOURCE.family.findings, ids=lambda each: each.id)
def test_every_finding_is_found(finding: Finding) -> None:
    found = hunted(finding.without, finding.threat, finding.claim, finding.variant)
    assert assert_attack(found, finding.claim)["defended"]["stopped"]


@pytest.mark.parametrize("without", ["whole-write", "descriptor-sealed", "one-writer", "verified-hand-over"])
def test_removing_it_lets_the_cpu_read_what_was_computed_from_a_changed_line(without: str) -> None:
    assert assert_attack(hunted((without,), claim="verified-hand-over"), "verified-hand-over")["defended"]["stopped"]


@pytest.mark.parametrize("without", ["new-key", "one-writer", "version-advances", "line-once"])
def test_an_iv_that_is_used_twice_tells_the_data(without: str) -> None:
    assert assert_attack(hunted((without,), claim="confidentiality"), "confidentiality")["defended"]["stopped"]


def test_one_key_for_the_machine_is_read_by_honest_neighbours_too() -> None:
    """The threat model in which every job follows the protocol has the attack as well."""
    assert assert_attack(hunted(("job-key",), "bus", "confidentiality"), "confidentiality")["defended"]["stopped"]
