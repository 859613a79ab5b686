"""What Fastrack claims: proved for any number of everything, and looked at state by state where it is small."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from carnet_check.engines.explicit import explore
from carnet_check.engines.induction import try_claims
from carnet_check.loading.families import load, violated_axioms
from carnet_check.semantics import Interpreter
from carnet_spec.language.lints import lint_family
from carnet_spec.protocols.fastrack.design import FALLS, UNTRUE
from carnet_spec.protocols.fastrack.vocabulary import THROUGH_THE_CPU

SOURCE = load("fastrack")
THREATS = ("outsider", "collusion")
PROTOCOL = SOURCE.protocol()


def test_every_claim_is_proved(record_property: Callable[[str, object], None]) -> None:
    record_property("verifies", ", ".join(f"fastrack-{claim.requirement}" for claim in PROTOCOL.claims))
    found = try_claims(PROTOCOL).claims
    assert set(found) == {(claim.name, threat) for claim in PROTOCOL.claims for threat in THREATS}
    assert {pair: proof.missing for pair, proof in found.items() if not proof.proved} == {}


@pytest.mark.parametrize("variant", FALLS)
def test_what_a_reading_still_gives_is_proved(variant: str) -> None:
    protocol = SOURCE.protocol(variant)
    found = try_claims(protocol).claims
    assert set(found) == {(claim.name, threat) for claim in protocol.claims for threat in claim.under}
    assert {pair: proof.missing for pair, proof in found.items() if not proof.proved} == {}


@pytest.mark.parametrize("threat", THREATS)
def test_every_claim_lemma_and_goal_is_looked_at_in_every_state(threat: str) -> None:
    """Transfers of up to three chunks: the second place is neither the first nor the last."""
    profile = SOURCE.profile("ci")
    instance = SOURCE.instance(PROTOCOL, threat, profile)
    assert not violated_axioms(Interpreter(PROTOCOL, instance), PROTOCOL.threat(threat))
    found = explore(PROTOCOL, instance, invariants=PROTOCOL.invariants, reduction=False, threat=threat)
    assert found.complete
    assert not found.violations


def test_the_readings_are_the_variants() -> None:
    variants = set(SOURCE.family.variants) - set(SOURCE.family.main)
    assert set(FALLS) == variants
    assert set(UNTRUE) == variants - {THROUGH_THE_CPU}


def test_nothing_is_wrong_with_the_text() -> None:
    assert not list(lint_family(SOURCE.family))
