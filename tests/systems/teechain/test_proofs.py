"""What Teechain for custody claims: proved for any number of everything, and looked at where it is small."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from carnet_check.engines.explicit import explore
from carnet_check.engines.induction import try_claims
from carnet_check.loading.families import load, violated_axioms
from carnet_check.semantics import Interpreter
from carnet_spec.language.lints import lint_family
from carnet_spec.protocols.teechain.design import FALLS

SOURCE = load("teechain")
THREATS = ("platform", "broken")
PROTOCOL = SOURCE.protocol()
QUICK = ("tail-alone", "any-survivor")
"""The readings whose proofs are made in every run; those of the others are long."""


def test_every_claim_is_proved(record_property: Callable[[str, object], None]) -> None:
    record_property("verifies", ", ".join(f"teechain-{claim.requirement}" for claim in PROTOCOL.claims))
    found = try_claims(PROTOCOL).claims
    assert set(found) == {(claim.name, threat) for claim in PROTOCOL.claims for threat in claim.under}
    assert {pair: proof.missing for pair, proof in found.items() if not proof.proved} == {}


@pytest.mark.parametrize(
    "variant", [each if each in QUICK else pytest.param(each, marks=pytest.mark.slow) for each in FALLS]
)
def test_what_a_reading_still_gives_is_proved(variant: str) -> None:
    protocol = SOURCE.protocol(variant)
    found = try_claims(protocol).claims
    assert set(found) == {(claim.name, threat) for claim in protocol.claims for threat in claim.under}
    assert {pair: proof.missing for pair, proof in found.items() if not proof.proved} == {}


@pytest.mark.parametrize("threat", THREATS)
@pytest.mark.parametrize("size", ["epochs", "backups"])
def test_every_claim_lemma_and_goal_is_looked_at_in_every_state(threat: str, size: str) -> None:
    """Two epochs, and a backup between the head and the tail where every member has to vote."""
    profile = SOURCE.profile(size)
    instance = SOURCE.instance(PROTOCOL, threat, profile)
    assert not violated_axioms(Interpreter(PROTOCOL, instance), PROTOCOL.threat(threat))
    invariants = [each for each in PROTOCOL.invariants if threat in getattr(each, "under", THREATS)]
    found = explore(PROTOCOL, instance, invariants=invariants, threat=threat)
    assert found.complete
    assert not found.violations


def test_the_readings_are_the_variants() -> None:
    assert set(FALLS) == set(SOURCE.family.variants) - set(SOURCE.family.main)


def test_nothing_is_wrong_with_the_text() -> None:
    assert not list(lint_family(SOURCE.family))
