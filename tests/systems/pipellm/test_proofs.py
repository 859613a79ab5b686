"""What PipeLLM claims: proved for any number of everything, and looked at state by state where it is small."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from carnet_check.engines.explicit import explore
from carnet_check.engines.induction import try_claims
from carnet_check.loading.families import load, violated_axioms
from carnet_check.semantics import Interpreter
from carnet_spec.language.lints import lint_family
from carnet_spec.protocols.pipellm.design import FALLS, UNTRUE
from carnet_spec.protocols.pipellm.vocabulary import FLUSHED

SOURCE = load("pipellm")
THREATS = ("lone-host", "collusion")
PROTOCOL = SOURCE.protocol()
VERIFIES = Callable[[str, object], None]


def test_every_claim_is_proved(record_property: VERIFIES) -> None:
    record_property("verifies", ", ".join(f"pipellm-{claim.requirement}" for claim in PROTOCOL.claims))
    found = try_claims(PROTOCOL).claims
    assert set(found) == {(claim.name, threat) for claim in PROTOCOL.claims for threat in THREATS}
    assert {pair: proof.missing for pair, proof in found.items() if not proof.proved} == {}


@pytest.mark.parametrize("variant", FALLS)
def test_what_a_reading_still_gives_is_proved(variant: str, record_property: VERIFIES) -> None:
    """Guesses that are flushed may wait in shared memory: nothing falls."""
    if variant == FLUSHED:
        record_property("verifies", "pipellm-REQ-FLUSH-01")
    protocol = SOURCE.protocol(variant)
    found = try_claims(protocol).claims
    assert set(found) == {(claim.name, threat) for claim in protocol.claims for threat in claim.under}
    assert {pair: proof.missing for pair, proof in found.items() if not proof.proved} == {}


@pytest.mark.parametrize("threat", THREATS)
@pytest.mark.parametrize("variant", [*SOURCE.family.main, FLUSHED])
def test_every_claim_and_lemma_is_looked_at_in_every_state(variant: str, threat: str) -> None:
    """Three messages: the second IV is neither the first nor the last."""
    protocol = SOURCE.protocol(variant)
    instance = SOURCE.instance(protocol, threat, SOURCE.profile("ci"))
    assert not violated_axioms(Interpreter(protocol, instance), protocol.threat(threat))
    found = explore(protocol, instance, invariants=protocol.invariants, reduction=False, threat=threat)
    assert found.complete
    assert not found.violations


def test_the_readings_are_the_variants() -> None:
    variants = set(SOURCE.family.variants) - set(SOURCE.family.main)
    assert set(FALLS) == variants
    assert set(UNTRUE) == variants


def test_nothing_is_wrong_with_the_text() -> None:
    assert not lint_family(SOURCE.family)
