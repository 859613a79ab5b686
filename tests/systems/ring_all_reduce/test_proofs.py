"""What ring all-reduce claims: proved for any number of everything, and looked at state by state where it is small."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from carnet_check.engines.explicit import explore
from carnet_check.engines.induction import try_claims
from carnet_check.loading.families import load, violated_axioms
from carnet_check.semantics import Interpreter
from carnet_spec.language import Profile
from carnet_spec.language.lints import lint_family
from carnet_spec.protocols.ring_all_reduce.design import FALLS, UNTRUE
from carnet_spec.protocols.ring_all_reduce.vocabulary import CERTIFICATE_ONLY

SOURCE = load("ring-all-reduce")
THREATS = ("links", "tenants")
PROTOCOL = SOURCE.protocol()


def test_every_claim_is_proved(record_property: Callable[[str, object], None]) -> None:
    record_property("verifies", ", ".join(f"ring-all-reduce-{claim.requirement}" for claim in PROTOCOL.claims))
    found = try_claims(PROTOCOL).claims
    assert set(found) == {(claim.name, threat) for claim in PROTOCOL.claims for threat in THREATS}
    assert {pair: proof.missing for pair, proof in found.items() if not proof.proved} == {}


@pytest.mark.parametrize("variant", FALLS)
def test_what_a_reading_still_gives_is_proved(variant: str) -> None:
    protocol = SOURCE.protocol(variant)
    found = try_claims(protocol).claims
    assert set(found) == {(claim.name, threat) for claim in protocol.claims for threat in claim.under}
    assert {pair: proof.missing for pair, proof in found.items() if not proof.proved} == {}


@pytest.mark.parametrize("name", ["chunks", "three"])
def test_every_claim_and_lemma_is_looked_at_in_every_state(name: str) -> None:
    """Three ranks: the second of a line is neither the first nor the last. Two chunks: lines begin elsewhere."""
    profile = SOURCE.profile(name)
    instance = SOURCE.instance(PROTOCOL, "links", profile)
    assert not violated_axioms(Interpreter(PROTOCOL, instance), PROTOCOL.threat("links"))
    found = explore(PROTOCOL, instance, invariants=PROTOCOL.invariants, threat="links")
    assert found.complete
    assert not found.violations


@pytest.mark.parametrize("threat", THREATS)
@pytest.mark.parametrize("ranks", [2, 3, 5])
def test_instances_are_rings(ranks: int, threat: str) -> None:
    profile = Profile("ring", {"ring_size": ranks, "chunks": ranks, "buckets": 2, "outsiders": 3})
    instance = SOURCE.instance(PROTOCOL, threat, profile)
    assert not violated_axioms(Interpreter(PROTOCOL, instance), PROTOCOL.threat(threat))


def test_the_readings_are_the_variants() -> None:
    variants = set(SOURCE.family.variants) - set(SOURCE.family.main)
    assert set(FALLS) == variants
    assert set(UNTRUE) == variants - {CERTIFICATE_ONLY}


def test_nothing_is_wrong_with_the_text() -> None:
    assert [each.rule for each in lint_family(SOURCE.family)] == ["own-writes"], "a group key is handed on in one step"
