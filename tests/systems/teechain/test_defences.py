"""What each defence of Teechain for custody is good for: an attack without it, or a proof that others are enough."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from carnet_check.attacks.hunt import Hunt, attack_target, hunt
from carnet_check.loading.families import load
from carnet_check.results import Verdict
from carnet_spec.language import Finding
from tests.fixtures.carried_out import assert_attack

SOURCE = load("teechain")

ATTACKS = {
    "quote-bound": "members-genuine",
    "quote-certificate": "members-genuine",
    "quote-measurement": "members-genuine",
    "head-quote": "fail-over-after",
    "floor-handed": "fail-over-after",
    "issue-grows": "iv-unique",
    "log-grows": "frozen-silent",
    "increment-first": "no-rollback",
    "counter-check": "no-rollback",
    "launch-identity": "no-rollback",
    "freeze": "frozen-silent",
    "one-vote": "one-successor",
    "votes-for-members": "log-secret",
    "from-the-chain": "fail-over-after",
    "vote-bound": "one-successor",
    "newest-log": "fail-over-after",
    "quorum": "fail-over-after",
    "grant-holder": "grant-agreement",
    "holder-check": "grant-agreement",
}
"""For each defence, the claim that its removal breaks while TEEs hold."""
BROKEN = {"every-member": "nothing-lost"}
"""For each defence that is a second line while TEEs hold, the claim that its removal breaks where they do not."""
REDUNDANT = ("chain-order",)
"""While every member has to speak, their order is a second line."""
SEALED_ANYWAY = ("votes-for-members", "from-the-chain")
"""Attacks that the bytes do not allow: who is no member of a chain has no key for the logs of its members."""

REQUIREMENTS = {
    "quote-bound": "REQ-SETUP-03",
    "quote-certificate": "REQ-SETUP-04",
    "quote-measurement": "REQ-SETUP-04",
    "head-quote": "REQ-SETUP-05",
    "floor-handed": "REQ-SETUP-06",
    "issue-grows": "REQ-ISSUE-01",
    "log-grows": "REQ-ISSUE-03",
    "every-member": "REQ-ISSUE-04",
    "increment-first": "REQ-STORE-01",
    "counter-check": "REQ-STORE-02",
    "launch-identity": "REQ-STORE-02",
    "freeze": "REQ-TAKE-02",
    "one-vote": "REQ-TAKE-01",
    "votes-for-members": "REQ-TAKE-03",
    "from-the-chain": "REQ-TAKE-04",
    "vote-bound": "REQ-TAKE-05",
    "newest-log": "REQ-TAKE-06",
    "quorum": "REQ-TAKE-07",
    "grant-holder": "REQ-HOLDER-01",
    "holder-check": "REQ-HOLDER-02",
}
"""The requirement that each defence is what is done for."""


def hunted(without: tuple[str, ...] = (), threat: str = "platform", claim: str = "", variant: str = "") -> Hunt:
    target = attack_target(SOURCE, variant=variant, without=without, threat=threat, claim=claim)
    return hunt(target, jobs=1, progress=lambda _: None)


def test_every_defence_has_an_outcome() -> None:
    assert {*ATTACKS, *BROKEN, *REDUNDANT} == {defence.id for defence in SOURCE.protocol().defences}
    assert set(REQUIREMENTS) == {*ATTACKS, *BROKEN}


@pytest.mark.parametrize("without", ATTACKS)
def test_removing_it_opens_an_attack(without: str, record_property: Callable[[str, object], None]) -> None:
    record_property("verifies", f"teechain-{REQUIREMENTS[without]}")
    assert_attack(hunted((without,), claim=ATTACKS[without]), ATTACKS[without], stopped=without in SEALED_ANYWAY)


@pytest.mark.parametrize("without", BROKEN)
def test_removing_it_opens_an_attack_by_a_broken_backup(
    without: str, record_property: Callable[[str, object], None]
) -> None:
    record_property("verifies", f"teechain-{REQUIREMENTS[without]}")
    assert hunted((without,), claim=BROKEN[without]).verdict is Verdict.PROVED
    assert_attack(hunted((without,), "broken", BROKEN[without]), BROKEN[without])


@pytest.mark.parametrize("threat", ["platform", "broken"])
@pytest.mark.parametrize("without", REDUNDANT)
def test_it_is_proved_to_be_a_second_line(without: str, threat: str) -> None:
    assert hunted((without,), threat, "nothing-lost").verdict is Verdict.PROVED


def test_the_tail_alone_in_no_order_loses_an_entry(record_property: Callable[[str, object], None]) -> None:
    record_property("verifies", "teechain-REQ-ISSUE-02")
    assert_attack(hunted(("chain-order", "every-member"), claim="nothing-lost"), "nothing-lost")


@pytest.mark.parametrize("finding", SOURCE.family.findings, ids=lambda each: each.id)
def test_every_finding_is_found(finding: Finding) -> None:
    found = hunted(finding.without, finding.threat, finding.claim, finding.variant)
    assert_attack(found, finding.claim)
