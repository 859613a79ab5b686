"""Trustworthiness claims: which tier a value is in, and that profiles name steps that there are."""

from __future__ import annotations

import pytest

from carnet_ref.attestation.amd import policy as amd
from carnet_ref.attestation.amd.format import RESULTS as SNP
from carnet_ref.attestation.intel import policy as intel
from carnet_ref.attestation.intel.format import RESULTS as TDX
from carnet_ref.attestation.nvidia import policy as nvidia
from carnet_ref.attestation.nvidia.format import DEVICE, NODE
from carnet_ref.attestation.nvidia.policy import NodePolicy, Policy
from carnet_ref.attestation.results import ResultProfile, Tier, TrustClaim, tier_of, worst

PROFILES = {"gpu": (DEVICE, nvidia.STEPS), "node": (NODE, nvidia.STEPS), "tdx": (TDX, intel.STEPS)}
PROFILES["snp"] = (SNP, amd.STEPS)


@pytest.mark.parametrize(
    ("tier", "values"),
    [
        (Tier.NONE, (-1, 0, 1)),
        (Tier.AFFIRMING, (2, 31, -2, -32)),
        (Tier.WARNING, (32, 95, -33, -96)),
        (Tier.CONTRAINDICATED, (96, 127, -97, -128)),
    ],
)
def test_a_value_is_in_the_tier_of_the_standard(tier: Tier, values: tuple[int, ...]) -> None:
    assert {tier_of(value) for value in values} == {tier}


def test_the_worst_tier_counts() -> None:
    assert worst([]) is Tier.NONE
    assert worst([Tier.AFFIRMING, Tier.NONE]) is Tier.AFFIRMING
    assert worst([Tier.CONTRAINDICATED, Tier.WARNING, Tier.AFFIRMING]) is Tier.CONTRAINDICATED


@pytest.mark.parametrize("name", PROFILES)
def test_a_profile_names_steps_of_its_format_each_once(name: str) -> None:
    profile, known = PROFILES[name]
    named = [step for row in profile.rows for step in row.failing]
    assert set(named) <= set(known)
    assert len(set(named)) == len(named)
    assert len({row.claim for row in profile.rows}) == len(profile.rows)
    assert all(row.needs and tier_of(row.affirmed) is Tier.AFFIRMING for row in profile.rows)
    assert {tier_of(value) for row in profile.rows for value in row.failing.values()} == {Tier.CONTRAINDICATED}


def test_a_failed_step_contradicts_its_claim() -> None:
    assert DEVICE.claims_of("chain") == {TrustClaim.HARDWARE: 97}
    assert DEVICE.claims_of("signature") == {TrustClaim.HARDWARE: 99}
    assert TDX.claims_of("event-log") == {TrustClaim.EXECUTABLES: 96}
    assert SNP.claims_of("chip-id") == {TrustClaim.HARDWARE: 96}
    assert DEVICE.claims_of("nonce") == {}


def test_a_policy_says_for_how_long() -> None:
    assert DEVICE.lasting(Policy(result_ttl=7)) == NODE.lasting(NodePolicy(Policy(result_ttl=7))) == 7
    assert TDX.lasting(intel.DEFAULT_POLICY) == SNP.lasting(amd.DEFAULT_POLICY) == 3600


def test_a_profile_of_its_own_notes_nothing_and_lasts_an_hour() -> None:
    plain = ResultProfile((), "nonce", "nonce")
    assert (plain.noted({}), plain.lasting(None), plain.grouped) == ({}, 3600, False)
