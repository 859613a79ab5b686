"""Simulated hardware makes evidence of the real formats, and nobody takes it for real."""

import json
from datetime import UTC, datetime

import dcap_qvl
import pytest
from cryptography.hazmat.primitives.serialization import Encoding

from carnet_ref.attestation.anchors import AnchorRole, Anchors, default_anchors
from carnet_ref.attestation.appraisal import Appraisal
from carnet_ref.attestation.intel.appraisal import appraise_quote
from carnet_ref.attestation.intel.policy import DEFAULT_POLICY
from carnet_ref.attestation.nvidia import policy as nvidia_policy
from carnet_ref.attestation.nvidia.appraisal import appraise_gpu
from carnet_ref.attestation.simulated.authority import TEST
from carnet_ref.attestation.simulated.gpu import SimulatedGpu, gpu_request
from carnet_ref.attestation.simulated.td import SimulatedPlatform
from carnet_ref.wire import MalformedError

NOW = datetime(2026, 1, 1, tzinfo=UTC)
NONCE = bytes(range(32))
REPORT_DATA = bytes(range(64))
PLATFORM = SimulatedPlatform(b"a platform", NOW)
GPU = SimulatedGpu(b"a gpu", NOW)


def _quote_appraisal(anchors: Anchors) -> Appraisal:
    td = PLATFORM.td()
    return appraise_quote(
        td.quote(REPORT_DATA),
        at=NOW,
        policy=DEFAULT_POLICY,
        anchors=anchors,
        collateral=td.collateral,
        report_data=REPORT_DATA,
    )


def _gpu_appraisal(anchors: Anchors) -> Appraisal:
    report = GPU.report(gpu_request(NONCE))
    policy = nvidia_policy.DEFAULT_POLICY
    return appraise_gpu(report, GPU.chain_pem, at=NOW, policy=policy, anchors=anchors, nonce=NONCE)


def test_a_simulated_quote_is_accepted_with_its_test_root() -> None:
    appraisal = _quote_appraisal(PLATFORM.anchors)
    assert appraisal.accepted, appraisal.steps[-1]
    assert appraisal.claims["tcb_status"] == "UpToDate"


def test_another_verifier_accepts_a_simulated_quote_with_its_test_root() -> None:
    (root,) = PLATFORM.anchors.of(AnchorRole.INTEL_SGX)
    collateral = dcap_qvl.QuoteCollateralV3.from_json(PLATFORM.collateral.decode())
    quote = PLATFORM.td().quote(REPORT_DATA)
    verified = dcap_qvl.verify_with_root_ca(quote, collateral, root.public_bytes(Encoding.DER), int(NOW.timestamp()))
    assert json.loads(verified.to_json())["report"]["TD10"]["report_data"] == REPORT_DATA.hex()


def test_a_simulated_quote_is_refused_with_the_production_root() -> None:
    assert _quote_appraisal(default_anchors()).failed_step == "pck-chain"


def test_a_simulated_report_is_accepted_with_its_test_root() -> None:
    assert _gpu_appraisal(GPU.anchors).accepted


def test_a_simulated_report_is_refused_with_the_production_root() -> None:
    assert _gpu_appraisal(default_anchors()).failed_step == "chain"


def test_every_name_says_test() -> None:
    (root,) = PLATFORM.anchors.of(AnchorRole.INTEL_SGX)
    certificates = [*GPU.certificates, root, *(issued.certificate for issued in PLATFORM.pck_chain)]
    assert all(TEST in certificate.subject.rfc4514_string() for certificate in certificates)


def test_the_same_seed_makes_the_same_bytes() -> None:
    again = SimulatedPlatform(b"a platform", NOW)
    assert again.td().quote(REPORT_DATA) == PLATFORM.td().quote(REPORT_DATA)
    assert again.collateral == PLATFORM.collateral
    assert SimulatedGpu(b"a gpu", NOW).report(gpu_request(NONCE)) == GPU.report(gpu_request(NONCE))


def test_another_seed_makes_another_device() -> None:
    assert SimulatedGpu(b"another gpu", NOW).certificates[0] != GPU.certificates[0]
    assert SimulatedPlatform(b"another", NOW).td().quote(REPORT_DATA) != PLATFORM.td().quote(REPORT_DATA)


@pytest.mark.parametrize("request_", [b"", gpu_request(NONCE)[:-1], gpu_request(NONCE) + b"\0", b"\x12" * 37])
def test_a_simulated_gpu_answers_only_requests_for_signed_reports(request_: bytes) -> None:
    with pytest.raises(MalformedError):
        GPU.report(request_)
