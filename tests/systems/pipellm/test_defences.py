"""What each defence of PipeLLM is good for: the attack that its removal opens."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from carnet_check.attacks.hunt import Hunt, attack_target, hunt
from carnet_check.loading.families import load
from carnet_check.results import Verdict
from carnet_check.semantics import Interpreter
from carnet_spec.language import Finding
from carnet_spec.protocols.pipellm.readings import FALLS
from carnet_spec.protocols.pipellm.variants import FLUSHED

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


def assert_attack(found: Hunt, claim: str) -> None:
    """Replay the attack from its trace alone: the claim falls with the last step."""
    assert (found.verdict, found.claim) == (Verdict.VIOLATED, claim), found.detail
    assert found.trace is not None
    assert found.profile is not None
    protocol = SOURCE.protocol(found.trace.variant, found.target.removed)
    judge = Interpreter(protocol, SOURCE.instance(protocol, found.trace.threat, found.profile))
    states = judge.replay(found.trace)
    formula = protocol.claim(claim).checked.formula
    assert [judge.holds(formula, state) for state in states[-2:]] == [True, False]


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
