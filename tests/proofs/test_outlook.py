"""The deck's outlook and two neighbours: what a mechanism or other hardware gives, and which half of it matters."""

from __future__ import annotations

import pytest

from carnet_check.engines.induction import try_claims
from carnet_check.results import Verdict
from carnet_spec.language.family import Variant
from tests.fixtures.travelling import COLLUSION, FAMILY, SOURCE, expected_to_fall, hunted, stated

WHOLE = ("confined-holder", "pcie-switch", "backup-orchestrator", "retire-then-open")
GIVEN_UP = ("trains-verified", "model-integrity", "provenance", "participation")


def test_what_the_outlook_names_are_variants() -> None:
    assert set(WHOLE) <= set(FAMILY.variants)
    assert isinstance(FAMILY.variants["pcie-switch"], Variant)


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize("variant", WHOLE)
def test_every_claim_is_proved(variant: str) -> None:
    protocol = SOURCE.protocol(variant)
    found = try_claims(protocol).claims
    made = [(claim, threat.id) for threat in protocol.threats for claim in stated(protocol, threat.id)]
    assert ("confidentiality", COLLUSION) in made
    assert [pair for pair in made if not found[pair].proved] == []


def test_a_confined_holder_is_claimed_never_to_see_the_model() -> None:
    protocol = SOURCE.protocol("confined-holder")
    assert "model-confidentiality" in stated(protocol, COLLUSION)
    assert "model-confidentiality" in expected_to_fall(SOURCE.protocol("pcie-switch"), COLLUSION)


def test_a_hidden_address_gives_up_what_is_claimed_of_the_model() -> None:
    protocol = SOURCE.protocol("hidden-address")
    assert set(GIVEN_UP) <= expected_to_fall(protocol, COLLUSION)
    assert not set(GIVEN_UP) & set(stated(protocol, "outsider"))


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_a_hidden_model_is_overwritten_blindly() -> None:
    found = hunted("hidden-address", claim="trains-verified")
    assert found.verdict is Verdict.VIOLATED
    assert found.trace is not None
    assert "overwrite" in {step.action for step in found.trace.steps}


def test_a_dropped_retirement_leaves_two_keys_live() -> None:
    found = hunted("retire-then-open", ("retire-before-open",))
    assert (found.verdict, found.claim) == (Verdict.VIOLATED, "single-custody")


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_two_instances_in_charge_are_a_fork() -> None:
    found = hunted("backup-orchestrator", ("one-instance",), claim="handoff-agreement")
    assert found.verdict is Verdict.VIOLATED


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_an_old_record_drops_a_holder() -> None:
    found = hunted("backup-orchestrator", ("whole-hand-over",), claim="participation")
    assert found.verdict is Verdict.VIOLATED
    assert found.trace is not None
    assert found.trace.steps[-1].action == "take_over"
