"""Results of real appraisals: what is affirmed, warned of and contraindicated, for whom, and what they tell."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from carnet_ref.attestation.amd import appraisal as snp_policy
from carnet_ref.attestation.amd.appraisal import DEFAULT_POLICY as SNP_POLICY
from carnet_ref.attestation.amd.appraisal import Policy as SnpPolicy
from carnet_ref.attestation.amd.appraisal import appraise_report
from carnet_ref.attestation.amd.evidence import SnpEvidence
from carnet_ref.attestation.amd.format import RESULTS as SNP
from carnet_ref.attestation.amd.report import GuestPolicy
from carnet_ref.attestation.appraisal import Appraisal, AppraisalStep, unparsable
from carnet_ref.attestation.ear import parse_claims
from carnet_ref.attestation.intel import appraisal as intel
from carnet_ref.attestation.intel.appraisal import DEFAULT_POLICY as TDX_POLICY
from carnet_ref.attestation.intel.appraisal import POLICY_FORM as TDX_FORM
from carnet_ref.attestation.intel.appraisal import Policy as TdxPolicy
from carnet_ref.attestation.intel.appraisal import appraise_quote
from carnet_ref.attestation.intel.collateral import TcbStatus
from carnet_ref.attestation.intel.format import RESULTS as TDX
from carnet_ref.attestation.live.appraisal import AppraisalTerms, appraise_collection, live_profile, result_lifetime
from carnet_ref.attestation.live.collection import collect
from carnet_ref.attestation.nvidia import appraisal as nvidia
from carnet_ref.attestation.nvidia.appraisal import DEFAULT_POLICY, NodePolicy, Policy, appraise_gpu
from carnet_ref.attestation.nvidia.format import DEVICE, NODE
from carnet_ref.attestation.nvidia.node import appraise_node
from carnet_ref.attestation.nvidia.report import DebugState, DeviceEvidence, Mode
from carnet_ref.attestation.policies import Preset
from carnet_ref.attestation.results import (
    EXTENSION,
    AppraisalRecord,
    Profiles,
    ResultProfile,
    Tier,
    TrustClaim,
    attester_results,
    claims_set,
    encoded_nonce,
    measured_components,
    tier_of,
    worst,
)
from carnet_ref.attestation.simulated.gpu import SimulatedGpu, gpu_request
from tests.fixtures.simulated_machine import (
    NONCE,
    NOW,
    PLATFORM,
    SINCE,
    VENDOR,
    SimulatedNvml,
    amd,
    anchors,
    certificate_table,
    chip,
    gpu,
    machine,
    td,
)
from tests.fixtures.wrapped_evidence import EVENTS, event_log, logged_rtmrs

GPU = gpu()
ASKED = NONCE + bytes(32)
FULL = replace(DEFAULT_POLICY, modes=frozenset({Mode.SINGLE_GPU}))
MEASURED = replace(TDX_POLICY, measurements=(("mrtd", frozenset({bytes(48)})),))


def appraised_gpu(device: SimulatedGpu = GPU, policy: Policy = DEFAULT_POLICY, **given: Any) -> Appraisal:
    report = device.report(gpu_request(NONCE))
    return appraise_gpu(report, device.chain_pem, at=NOW, policy=policy, anchors=anchors(), **given)


def fully(policy: Policy = FULL, device: SimulatedGpu = GPU) -> Appraisal:
    rims = VENDOR.reference_values()
    return appraised_gpu(device, policy, nonce=NONCE, rims=rims, ocsp=replies(device))


def replies(device: SimulatedGpu) -> Sequence[bytes]:
    signers = tuple(each.certificate for each in reversed(VENDOR.signers))
    return (*VENDOR.answers(device.certificates, since=NOW), *VENDOR.answers(signers, since=NOW))


def appraised_td(policy: TdxPolicy = TDX_POLICY, *, debug: bool = False, **given: Any) -> Appraisal:
    quote = PLATFORM.td(debug=debug).quote(ASKED)
    return appraise_quote(quote, at=NOW, policy=policy, anchors=anchors(), report_data=ASKED, **given)


def fully_appraised_td() -> Appraisal:
    return appraise_quote(
        PLATFORM.td(rtmrs=logged_rtmrs()).quote(ASKED),
        at=NOW,
        policy=MEASURED,
        anchors=anchors(),
        collateral=PLATFORM.issue_collateral(SINCE),
        report_data=ASKED,
        event_log=json.dumps(event_log(*EVENTS)).encode(),
    )


def one(profile: ResultProfile) -> Profiles:
    return lambda name: None if name else profile


def devices(name: str) -> ResultProfile | None:
    return NODE if name else None


def made(appraisal: Appraisal, profiles: Profiles, kind: str = "gpu", nonce: bytes | None = NONCE) -> dict[str, Any]:
    claims = claims_set(AppraisalRecord(appraisal, kind, NOW, 600, nonce, {kind: "a policy"}), profiles)
    parse_claims(json.dumps(claims).encode())
    return claims


def vector(submodule: Mapping[str, Any]) -> dict[str, int]:
    return dict(submodule["ear_trustworthiness_vector"])


def test_a_gpu_is_affirmed_where_everything_was_compared_and_warned_of_otherwise() -> None:
    appraisal = fully()
    assert appraisal.not_compared == ()
    found = made(appraisal, one(DEVICE))
    assert (found["iat"], found["exp"] - found["iat"]) == (int(NOW.timestamp()), 600)
    assert (found["ear_status"], list(found["submods"])) == ("affirming", ["gpu"])
    submodule = found["submods"]["gpu"]
    assert vector(submodule) == {"hardware": 2, "instance-identity": 2, "executables": 3, "configuration": 2}
    assert submodule["ear_status"] == "affirming"
    assert submodule["ear_appraisal_policy_ids"] == ["a policy"]
    assert found["eat_nonce"] == submodule["eat_nonce"] == encoded_nonce(NONCE)
    assert submodule[EXTENSION]["claims"] == appraisal.claims
    assert (submodule[EXTENSION]["accepted"], submodule[EXTENSION]["not_compared"]) == (True, [])
    found = made(appraised_gpu(), one(DEVICE), nonce=None)
    submodule = found["submods"]["gpu"]
    assert (found["ear_status"], vector(submodule), "eat_nonce" in found) == ("warning", {"hardware": 2}, False)
    assert "not fresh" in submodule[EXTENSION]["not_compared"]


def test_a_device_that_is_debugged_is_contraindicated_although_a_policy_allows_it() -> None:
    debugged = SimulatedGpu(b"debugged", SINCE, vendor=VENDOR, debug=DebugState.INVASIVE)
    appraisal = fully(replace(FULL, allow_debug=True), debugged)
    found = made(appraisal, one(DEVICE))["submods"]["gpu"]
    assert appraisal.accepted
    assert (vector(found)["runtime-opaque"], found["ear_status"]) == (96, "contraindicated")
    assert "configuration" not in vector(found)


@pytest.mark.parametrize(
    ("appraisal", "expected"),
    [
        (appraised_gpu(nonce=bytes(32)), {"hardware": 0}),
        (appraised_gpu(policy=Policy()), {"hardware": 0}),
        (appraised_gpu(SimulatedGpu(b"stranger", SINCE)), {"hardware": 97}),
        (appraised_gpu(rims=VENDOR.reference_values(), policy=replace(FULL, modes=frozenset())), {"configuration": 96}),
        (
            appraised_gpu(ocsp=VENDOR.answers(gpu().certificates, gpu().certificates, since=NOW)),
            {"instance-identity": 96},
        ),
    ],
)
def test_refused_evidence_is_contraindicated_and_nothing_is_affirmed(
    appraisal: Appraisal, expected: dict[str, int]
) -> None:
    assert not appraisal.accepted
    found = made(appraisal, one(DEVICE))
    submodule = found["submods"]["gpu"]
    assert (found["ear_status"], submodule["ear_status"], vector(submodule)) == (
        "contraindicated",
        "contraindicated",
        expected,
    )
    told = submodule[EXTENSION]
    assert (told["accepted"], told["failed_step"], told["claims"]) == (False, appraisal.failed_step, {})
    assert told["reason"]
    assert "eat_nonce" not in submodule


def test_evidence_that_cannot_be_parsed_is_contraindicated() -> None:
    found = made(unparsable("no report"), devices, "node")
    assert list(found["submods"]) == ["node"]
    assert (found["ear_status"], found["submods"]["node"]["ear_status"]) == ("contraindicated", "contraindicated")


def node(*gpus: SimulatedGpu, **given: Any) -> Appraisal:
    evidence = [DeviceEvidence("", each.report(gpu_request(NONCE)), each.chain_pem) for each in gpus]
    return appraise_node(evidence, at=NOW, policy=NodePolicy(), anchors=anchors(), **given)


def test_every_device_of_a_node_has_a_result_of_its_own_or_none_has() -> None:
    found = made(node(gpu(0), gpu(1), nonce=NONCE), devices, "node")
    assert list(found["submods"]) == ["gpu0", "gpu1"]
    assert len({each[EXTENSION]["claims"]["ueid"] for each in found["submods"].values()}) == 2
    lacking = found["submods"]["gpu0"][EXTENSION]["not_compared"]
    assert {"number of devices not compared", "links not compared", "revocation not checked"} <= set(lacking)
    assert found["submods"]["gpu1"]["ear_appraisal_policy_ids"] == ["a policy"]
    found = made(node(gpu(0), SimulatedGpu(b"stranger", SINCE)), devices, "node")
    statuses = {name: each["ear_status"] for name, each in found["submods"].items()}
    assert (found["ear_status"], statuses) == ("contraindicated", {"gpu0": "none", "gpu1": "contraindicated"})
    assert vector(found["submods"]["gpu0"]) == {"hardware": 0}
    assert vector(found["submods"]["gpu1"]) == {"hardware": 97}
    found = made(node(gpu(0), gpu(0)), devices, "node")
    assert found["submods"]["gpu0"][EXTENSION]["failed_step"] == "distinct"
    assert {each["ear_status"] for each in found["submods"].values()} == {"contraindicated"}
    foreign = VENDOR.answers(SimulatedGpu(b"other", SINCE, vendor=VENDOR).certificates[:1] * 1, since=NOW)
    stranger = SimulatedGpu(b"stranger", SINCE)
    appraisal = node(gpu(0), ocsp=(*foreign, *stranger.vendor.answers(stranger.certificates, since=NOW)))
    found = made(appraisal, devices, "node")
    assert (appraisal.failed_step, list(found["submods"])) == ("revocation", ["node"])


def test_a_td_is_affirmed_with_collateral_measurements_and_log() -> None:
    bare = made(appraised_td(), one(TDX), "tdx")["submods"]["tdx"]
    assert (vector(bare), bare["ear_status"]) == ({"runtime-opaque": 2}, "warning")
    full = made(fully_appraised_td(), one(TDX), "tdx", ASKED)
    submodule = full["submods"]["tdx"]
    assert (submodule["ear_status"], submodule[EXTENSION]["not_compared"]) == ("affirming", [])
    assert vector(submodule) == {"hardware": 2, "instance-identity": 2, "executables": 3, "runtime-opaque": 2}
    assert submodule["eat_nonce"] == full["eat_nonce"] == encoded_nonce(ASKED)
    assert len(full["eat_nonce"]) == 86


def test_a_td_that_its_host_may_read_is_contraindicated_and_a_vulnerable_platform_warned_of() -> None:
    refused = made(appraised_td(debug=True), one(TDX), "tdx")["submods"]["tdx"]
    assert vector(refused) == {"runtime-opaque": 96}
    allowed = appraised_td(replace(TDX_POLICY, allow_debug=True), debug=True)
    found = made(allowed, one(TDX), "tdx")
    assert allowed.accepted
    assert (vector(found["submods"]["tdx"])["runtime-opaque"], found["ear_status"]) == (96, "contraindicated")
    collateral = PLATFORM.issue_collateral(SINCE, status=TcbStatus.SW_HARDENING_NEEDED, advisories=["INTEL-SA-1"])
    found = made(appraised_td(MEASURED, collateral=collateral), one(TDX), "tdx")["submods"]["tdx"]
    assert (vector(found)["hardware"], found["ear_status"]) == (32, "warning")
    noted = {"debug": False, "attributes": [], "tcb_status": "UpToDate", "advisories": ["INTEL-SA-1"]}
    assert TDX.noted(noted) == {TrustClaim.HARDWARE: 32}
    assert TDX.noted({**noted, "advisories": []}) == {}
    moved = {**noted, "attributes": ["MIGRATABLE", "SEPT_VE_DISABLE"], "advisories": []}
    assert TDX.noted(moved) == {TrustClaim.RUNTIME_OPAQUE: 96}, "a policy may allow it, and others are told of it"


def test_what_was_measured_is_told_as_measured_components() -> None:
    """In the form of draft-ietf-rats-eat-measured-component: a name, and a digest by the name of its algorithm."""
    told = made(fully_appraised_td(), one(TDX), "tdx", ASKED)["submods"]["tdx"][EXTENSION]
    components = {each["id"][0]: each["digested-measurement"] for each in told["measured_components"]}
    assert list(components) == ["mrtd", "mrseam", "rtmr0", "rtmr1", "rtmr2", "rtmr3"]
    assert components["mrtd"] == ["sha-384", "A" * 64]
    assert components["rtmr3"] == ["sha-384", encoded_nonce(logged_rtmrs()[3])]
    report = chip().report(ASKED)
    evidence = SnpEvidence(chip().sign(report), certificate_table())
    appraisal = appraise_report(evidence, at=NOW, policy=SNP_POLICY, anchors=amd().anchors, report_data=ASKED)
    told = made(appraisal, one(SNP), "snp", ASKED)["submods"]["snp"][EXTENSION]
    expected = {"id": ["measurement"], "digested-measurement": ["sha-384", encoded_nonce(report.measurement)]}
    assert told["measured_components"] == [expected]
    refused = made(appraised_td(debug=True), one(TDX), "tdx")["submods"]["tdx"]
    assert "measured_components" not in refused[EXTENSION]
    assert "measured_components" not in made(appraised_gpu(), one(DEVICE))["submods"]["gpu"][EXTENSION]


def test_registers_are_components_by_their_numbers_and_other_claims_are_none() -> None:
    claims = {"pcrs": {"0": "00" * 32, "11": "ff" * 64}, "mrtd": None, "debug": False}
    assert measured_components(claims, ("pcrs", "mrtd", "rtmr0", "debug")) == [
        {"id": ["pcrs0"], "digested-measurement": ["sha-256", "A" * 43]},
        {"id": ["pcrs11"], "digested-measurement": ["sha-512", "_" * 85 + "w"]},
    ]


def test_of_an_inventory_no_claim_is_made_whatever_else_was_checked() -> None:
    """Even where everything is given by which a device would be affirmed."""
    for accepted, profile, kind in (
        (fully(replace(FULL, preset=Preset.INVENTORY)), one(DEVICE), "gpu"),
        (appraised_td(TDX_FORM.preset(Preset.INVENTORY).policy, debug=True), one(TDX), "tdx"),
        (appraised_td(TDX_FORM.preset(Preset.INVENTORY).policy, collateral=PLATFORM.collateral), one(TDX), "tdx"),
    ):
        assert accepted.accepted
        found = made(accepted, profile, kind)
        submodule = found["submods"][kind]
        assert (vector(submodule), submodule["ear_status"], found["ear_status"]) == ({"hardware": 0}, "none", "none")
        assert submodule[EXTENSION]["not_compared"][0] == "inventory only"
        assert submodule[EXTENSION]["claims"]


def test_an_snp_guest_is_warned_of_and_one_that_is_debugged_contraindicated() -> None:
    report = chip().report(ASKED)
    evidence = SnpEvidence(chip().sign(report), certificate_table())
    appraisal = appraise_report(evidence, at=NOW, policy=SNP_POLICY, anchors=amd().anchors, report_data=ASKED)
    found = made(appraisal, one(SNP), "snp", ASKED)["submods"]["snp"]
    assert (vector(found), found["ear_status"]) == ({"runtime-opaque": 2}, "warning")
    assert "instance-identity" not in vector(found)


MOVABLE = replace(SNP_POLICY, allow_migration_agent=True)


@pytest.mark.parametrize(
    ("fields", "policy"),
    [
        ({"policy": GuestPolicy(chip().report(ASKED).policy.bits | 1 << 19)}, replace(SNP_POLICY, allow_debug=True)),
        ({"policy": GuestPolicy(chip().report(ASKED).policy.bits | 1 << 18)}, MOVABLE),
        ({"migration_agent_report_id": b"\x33" * 32}, MOVABLE),
    ],
)
def test_others_are_told_of_an_snp_guest_that_is_exposed_although_the_policy_allows_it(
    fields: dict[str, Any], policy: SnpPolicy
) -> None:
    evidence = SnpEvidence(chip().sign(replace(chip().report(ASKED), **fields)), certificate_table())
    appraisal = appraise_report(evidence, at=NOW, policy=policy, anchors=amd().anchors, report_data=ASKED)
    assert appraisal.accepted
    found = made(appraisal, one(SNP), "snp", ASKED)["submods"]["snp"]
    assert (vector(found), found["ear_status"]) == ({"runtime-opaque": 96}, "contraindicated")


def test_everything_of_a_machine_has_a_result(tmp_path: Path) -> None:
    collection = collect(machine(SimulatedNvml([gpu(0), gpu(1)]), td(tmp_path)), NONCE)
    policy = NodePolicy(device=replace(DEFAULT_POLICY, result_ttl=5))
    terms = AppraisalTerms(NOW, anchors(), {"node": policy}, {})
    appraisal = appraise_collection(collection, terms)
    claims = claims_set(AppraisalRecord(appraisal, "live", NOW, 5, NONCE, {"node": "one", "tdx": "two"}), live_profile)
    parse_claims(json.dumps(claims).encode())
    submodules: Any = claims["submods"]
    assert list(submodules) == ["node.gpu0", "node.gpu1", "tdx"]
    assert [each["ear_appraisal_policy_ids"] for each in submodules.values()] == [["one"], ["one"], ["two"]]
    assert submodules["node.gpu1"][EXTENSION]["claims"]["name"] == "gpu1"
    assert submodules["tdx"][EXTENSION]["claims"]["tee"] == "TDX"
    for each in submodules.values():
        assert "appraised by the machine itself" in each[EXTENSION]["not_compared"]
    assert "mode not compared" not in submodules["tdx"][EXTENSION]["not_compared"]
    assert (result_lifetime(collection, terms), result_lifetime(collection, replace(terms, policies={}))) == (5, 3600)


def test_a_machine_that_is_refused_as_a_whole_has_one_result(tmp_path: Path) -> None:
    collection = collect(machine(None, td(tmp_path)), NONCE)
    appraisal = appraise_collection(
        collection, AppraisalTerms(NOW + timedelta(1), anchors(), {"node": NodePolicy()}, {})
    )
    claims: Any = claims_set(AppraisalRecord(appraisal, "live", NOW, 5, NONCE, {}), live_profile)
    assert list(claims["submods"]) == ["live"]
    assert claims["submods"]["live"][EXTENSION]["failed_step"] == "expected"


def test_a_step_that_does_not_apply_and_lacks_nothing_hinders_no_claim() -> None:
    def of(*steps: AppraisalStep) -> dict[TrustClaim, int]:
        results = attester_results(Appraisal(steps, {"debugged": None}), one(DEVICE), "gpu")
        return dict(results["gpu"].vector)

    held, missing = AppraisalStep("mode", True, ""), AppraisalStep("debug", None, "", "", "debug not compared")
    inapplicable = AppraisalStep("debug", None, "the report states none")
    assert of(held, inapplicable) == {TrustClaim.CONFIGURATION: 2}
    assert of(held, missing) == of(held) == of(inapplicable) == {TrustClaim.HARDWARE: 0}


PROFILES = {"gpu": (DEVICE, nvidia.STEPS), "node": (NODE, nvidia.STEPS), "tdx": (TDX, intel.STEPS)}
PROFILES["snp"] = (SNP, snp_policy.STEPS)


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


def test_the_worst_tier_counts_and_a_failed_step_contradicts_its_claim() -> None:
    assert worst([]) is Tier.NONE
    assert worst([Tier.AFFIRMING, Tier.NONE]) is Tier.AFFIRMING
    assert worst([Tier.CONTRAINDICATED, Tier.WARNING, Tier.AFFIRMING]) is Tier.CONTRAINDICATED
    assert DEVICE.claims_of("chain") == {TrustClaim.HARDWARE: 97}
    assert DEVICE.claims_of("signature") == {TrustClaim.HARDWARE: 99}
    assert TDX.claims_of("event-log") == {TrustClaim.EXECUTABLES: 96}
    assert SNP.claims_of("chip-id") == {TrustClaim.HARDWARE: 96}
    assert DEVICE.claims_of("nonce") == {}


@pytest.mark.parametrize("name", PROFILES)
def test_a_profile_names_steps_of_its_format_each_once(name: str) -> None:
    profile, known = PROFILES[name]
    named = [step for row in profile.rows for step in row.failing]
    assert set(named) <= set(known)
    assert len(set(named)) == len(named)
    assert len({row.claim for row in profile.rows}) == len(profile.rows)
    assert all(row.needs and tier_of(row.affirmed) is Tier.AFFIRMING for row in profile.rows)
    assert {tier_of(value) for row in profile.rows for value in row.failing.values()} == {Tier.CONTRAINDICATED}


def test_a_policy_says_for_how_long_and_a_profile_of_its_own_lasts_an_hour() -> None:
    assert DEVICE.lasting(Policy(result_ttl=7)) == NODE.lasting(NodePolicy(Policy(result_ttl=7))) == 7
    assert TDX.lasting(intel.DEFAULT_POLICY) == SNP.lasting(snp_policy.DEFAULT_POLICY) == 3600
    plain = ResultProfile((), "nonce", "nonce")
    assert (plain.noted({}), plain.lasting(None), plain.grouped) == ({}, 3600, False)
