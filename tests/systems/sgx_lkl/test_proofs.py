"""What is claimed of two runs: proved for any number of everything, and looked at state by state where it is small."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from carnet_check.engines.explicit import explore
from carnet_check.engines.induction import try_claims
from carnet_check.loading.families import load, violated_axioms
from carnet_check.semantics import Interpreter
from carnet_spec.language.lints import lint_family
from carnet_spec.language.terms import symbols_of
from carnet_spec.protocols.sgx_lkl.design import FALLS, oblivious

SOURCE = load("sgx-lkl")
THREATS = ("watching", "meddling")
PROTOCOL = SOURCE.protocol()


def test_every_claim_is_proved(record_property: Callable[[str, object], None]) -> None:
    record_property("verifies", ", ".join(f"sgx-lkl-{claim.requirement}" for claim in PROTOCOL.claims))
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
    instance = SOURCE.instance(PROTOCOL, threat, SOURCE.profile("tiny"))
    assert not violated_axioms(Interpreter(PROTOCOL, instance), PROTOCOL.threat(threat))
    found = explore(PROTOCOL, instance, invariants=PROTOCOL.invariants, reduction=False, threat=threat)
    assert found.complete
    assert not found.violations


def test_nothing_that_the_host_sees_is_left_out() -> None:
    """Some claim speaks of every message that may depend on a secret, and of every step that is compared."""
    runs = oblivious()
    spoken = {symbol.name for claim in PROTOCOL.claims for symbol in symbols_of(claim.checked.body)}
    assert {f"left_{symbol.name}" for symbol in runs.seen} <= spoken
    assert {f"apart_{action}" for action in runs.secretly_possible} <= spoken
    assert len(runs.seen) == 10


def test_the_readings_are_the_variants() -> None:
    assert set(FALLS) == set(SOURCE.family.variants) - set(SOURCE.family.main)


def test_nothing_is_wrong_with_the_text() -> None:
    assert not list(lint_family(SOURCE.family))
