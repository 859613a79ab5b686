"""Every key schedule has its verdict: a proof, an attack, or a proof of less than is claimed."""

from __future__ import annotations

import pytest

from carnet_check.engines.induction import houdini
from carnet_check.results import Verdict
from tests.fixtures.travelling import COLLUSION, FAMILY, SOURCE, hunted, stated

LEAKING = ("none", "ratchet", "wrapped-under-old")
PROVED = ("engine-per-holder", "sealed-under-master")


def test_the_schedules_that_are_proved_are_the_main_variants() -> None:
    """Their proofs are in test_gpu_travelling."""
    assert FAMILY.main == PROVED


def test_without_any_rotation_honest_data_is_learned() -> None:
    assert hunted("none", claim="confidentiality").verdict is Verdict.VIOLATED


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize("variant", [name for name in LEAKING if name != "none"])
def test_where_keys_follow_from_keys_honest_data_is_learned(variant: str) -> None:
    assert hunted(variant, claim="confidentiality").verdict is Verdict.VIOLATED


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_a_reset_before_every_journey_keeps_data_confidential() -> None:
    protocol = SOURCE.protocol("reset")
    proof = houdini(protocol, protocol.threat(COLLUSION), claims=["confidentiality"])
    assert proof.claim("confidentiality").proved


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_a_reset_before_every_journey_does_not_keep_code_verified() -> None:
    """The stock ratchet on the way in gives the last holder the link in which code is checked."""
    found = hunted("reset", claim="trains-verified")
    assert (found.verdict, found.claim) == (Verdict.VIOLATED, "trains-verified")


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_an_inner_key_helps_against_recording() -> None:
    """With the link key never rotated, and against an adversary that does nothing but listen."""
    protocol = SOURCE.protocol("inner-key")
    claims = stated(protocol, "recording")
    proof = houdini(protocol, protocol.threat("recording"), claims=claims)
    assert "confidentiality" in claims
    assert [name for name in claims if not proof.claim(name).proved] == []


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_an_inner_key_is_no_help_against_interference() -> None:
    assert hunted("inner-key", claim="confidentiality").verdict is Verdict.VIOLATED
