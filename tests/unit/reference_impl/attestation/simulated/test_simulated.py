"""Simulated hardware makes evidence of the real formats, and nobody takes it for real."""

import json
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import Any

import dcap_qvl
import pytest
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.utils import encode_dss_signature
from cryptography.hazmat.primitives.serialization import Encoding

from carnet_ref.attestation.amd import report as amd_report
from carnet_ref.attestation.amd.certificates import KeyKind
from carnet_ref.attestation.amd.report import REPORT_BYTES, SIGNED_BYTES, Product
from carnet_ref.attestation.appraisal import AnchorRole, Anchors, Appraisal, default_anchors
from carnet_ref.attestation.intel.appraisal import DEFAULT_POLICY, appraise_quote
from carnet_ref.attestation.nvidia import appraisal as nvidia_policy
from carnet_ref.attestation.nvidia.appraisal import STEPS, Policy, appraise_gpu
from carnet_ref.attestation.nvidia.ocsp import RevocationError, check_not_revoked, parse_ocsp
from carnet_ref.attestation.nvidia.report import DebugState, Mode, parse_report
from carnet_ref.attestation.nvidia.rim import RimKind, appraise_rim, parse_rim
from carnet_ref.attestation.simulated.authority import TEST
from carnet_ref.attestation.simulated.gpu import CURRENT, OUTDATED, SimulatedGpu, SimulatedVendor, answer, gpu_request
from carnet_ref.attestation.simulated.td import SimulatedPlatform
from carnet_ref.wire import MalformedError
from tests.fixtures import simulated_snp
from tests.fixtures.simulated_snp import KINDS, TCBS, SimulatedAmd, amd, chip, encode_report, endorsement, signed

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


def test_simulated_evidence_is_accepted_with_its_test_root_alone() -> None:
    appraisal = _quote_appraisal(PLATFORM.anchors)
    assert appraisal.accepted, appraisal.steps[-1]
    assert appraisal.claims["tcb_status"] == "UpToDate"
    assert _quote_appraisal(default_anchors()).failed_step == "pck-chain"
    assert _gpu_appraisal(GPU.anchors).accepted
    assert _gpu_appraisal(default_anchors()).failed_step == "chain"


def test_another_verifier_accepts_a_simulated_quote_with_its_test_root() -> None:
    (root,) = PLATFORM.anchors.of(AnchorRole.INTEL_SGX)
    collateral = dcap_qvl.QuoteCollateralV3.from_json(PLATFORM.collateral.decode())
    quote = PLATFORM.td().quote(REPORT_DATA)
    verified = dcap_qvl.verify_with_root_ca(quote, collateral, root.public_bytes(Encoding.DER), int(NOW.timestamp()))
    assert json.loads(verified.to_json())["report"]["TD10"]["report_data"] == REPORT_DATA.hex()


def test_every_name_says_that_it_is_of_a_test() -> None:
    (root,) = PLATFORM.anchors.of(AnchorRole.INTEL_SGX)
    certificates = [*GPU.certificates, root, *(issued.certificate for issued in PLATFORM.pck_chain)]
    assert all(TEST in certificate.subject.rfc4514_string() for certificate in certificates)
    for product, kind in KINDS:
        for certificate in (endorsement(product, kind), amd(product).authority(kind), amd(product).root):
            assert f"O={TEST}" in certificate.subject.rfc4514_string()


def test_the_same_seed_makes_the_same_bytes_and_another_another_device() -> None:
    again = SimulatedPlatform(b"a platform", NOW)
    assert again.td().quote(REPORT_DATA) == PLATFORM.td().quote(REPORT_DATA)
    assert again.collateral == PLATFORM.collateral
    assert SimulatedGpu(b"a gpu", NOW).report(gpu_request(NONCE)) == GPU.report(gpu_request(NONCE))
    assert SimulatedGpu(b"another gpu", NOW).certificates[0] != GPU.certificates[0]
    assert SimulatedPlatform(b"another", NOW).td().quote(REPORT_DATA) != PLATFORM.td().quote(REPORT_DATA)


@pytest.mark.parametrize("request_", [b"", gpu_request(NONCE)[:-1], gpu_request(NONCE) + b"\0", b"\x12" * 37])
def test_a_simulated_gpu_answers_only_requests_for_signed_reports(request_: bytes) -> None:
    with pytest.raises(MalformedError):
        GPU.report(request_)


DAY = timedelta(days=1)
VENDOR = SimulatedVendor(b"a vendor", NOW)
STRANGER = SimulatedVendor(b"another vendor", NOW)
ISSUED = SimulatedGpu(b"a gpu", NOW, vendor=VENDOR)
SIGNERS = tuple(each.certificate for each in reversed(VENDOR.signers))
EVERYTHING = Policy(frozenset(STEPS) - {"policy"}, modes=frozenset({Mode.SINGLE_GPU}))
RIMS = VENDOR.reference_values()
DEVICE_ANSWERS, RIM_ANSWERS = VENDOR.answers(ISSUED.certificates), VENDOR.answers(SIGNERS)


def appraised(gpu: SimulatedGpu = ISSUED, **changes: Any) -> Appraisal:
    """Return the appraisal of a GPU's report, with everything that a verifier may have, less what is changed."""
    given = {
        "at": NOW,
        "policy": EVERYTHING,
        "anchors": VENDOR.anchors,
        "nonce": NONCE,
        "rims": RIMS,
        "ocsp": (*DEVICE_ANSWERS, *RIM_ANSWERS),
    }
    return appraise_gpu(gpu.report(gpu_request(NONCE)), gpu.chain_pem, **{**given, **changes})


def test_every_step_holds_for_a_device_of_the_vendor() -> None:
    appraisal = appraised()
    assert appraisal.accepted
    assert [(step.id, step.ok) for step in appraisal.steps] == [(step, True) for step in STEPS]


@pytest.mark.parametrize("document", RIMS, ids=["driver", "VBIOS"])
def test_a_manifest_is_a_real_one_of_a_test_root(document: bytes) -> None:
    trusted, real = VENDOR.anchors.of(AnchorRole.NVIDIA_RIM), default_anchors().of(AnchorRole.NVIDIA_RIM)
    assert appraise_rim(document, at=NOW, anchors=trusted).accepted
    assert appraise_rim(document, at=NOW, anchors=real).failed_step == "chain"
    assert all(TEST in certificate.subject.rfc4514_string() for certificate in parse_rim(document).certificates)


def test_manifests_say_what_every_device_measures() -> None:
    other = SimulatedGpu(b"another gpu", NOW, vendor=VENDOR)
    driver, vbios = map(parse_rim, RIMS)
    assert (driver.kind, vbios.kind) == (RimKind.DRIVER, RimKind.VBIOS)
    for gpu in (ISSUED, other):
        measured = parse_report(gpu.report(gpu_request(NONCE))).measurements
        assert all(values == (measured[index],) for rim in (driver, vbios) for index, values in rim.golden.items())
    assert ISSUED.measurements != other.measurements


@pytest.mark.parametrize(("chain", "answers"), [(ISSUED.certificates, DEVICE_ANSWERS), (SIGNERS, RIM_ANSWERS)])
def test_each_certificate_of_an_authority_has_an_answer(chain: Any, answers: tuple[bytes, ...]) -> None:
    pairs = [(below, above) for below, above in pairwise(chain) if below != ISSUED.certificates[0]]
    assert len(answers) == len(pairs)
    for reply, pair in zip(map(parse_ocsp, answers), pairs, strict=True):
        assert reply.is_about(*pair)
        check_not_revoked(reply, *pair, NOW)
        with pytest.raises(RevocationError, match="counts from"):
            check_not_revoked(reply, *pair, NOW + 2 * DAY)


def _unknown() -> dict[str, Any]:
    issuer = VENDOR.devices[2]
    about = answer(ISSUED.certificates[1], issuer, issuer, NOW, known=False)
    return {"ocsp": (about, *DEVICE_ANSWERS[1:], *RIM_ANSWERS)}


def _wrongly_signed() -> dict[str, Any]:
    about = answer(ISSUED.certificates[1], VENDOR.devices[2], STRANGER.devices[2], NOW)
    return {"ocsp": (about, *DEVICE_ANSWERS[1:], *RIM_ANSWERS)}


def _without(*steps: str, **changes: Any) -> Policy:
    return replace(EVERYTHING, require=EVERYTHING.require - set(steps), **changes)


def _relabelled() -> SimulatedGpu:
    """Return a device with outdated firmware that says it is current."""
    return SimulatedGpu(b"a gpu", NOW, vendor=VENDOR, firmware=OUTDATED, stated=CURRENT)


VALUES = ("driver-rim", "vbios-rim", "rim-revocation", "measurements")
REVOKED = VENDOR.answers(ISSUED.certificates, {ISSUED.certificates[1]})
STALE = VENDOR.answers(ISSUED.certificates, since=NOW - 2 * DAY)
OLD_RIMS = VENDOR.reference_values(OUTDATED)
OLD = SimulatedGpu(b"a gpu", NOW, vendor=VENDOR, firmware=OUTDATED)
NEWEST = replace(EVERYTHING, minimum_vbios=CURRENT.vbios)
UNASKED = {"ocsp": RIM_ANSWERS, "policy": _without("revocation")}
WITHOUT_VALUES = {"rims": (), "ocsp": DEVICE_ANSWERS, "policy": _without(*VALUES)}

DEVIATIONS: dict[str, tuple[str, str, Callable[[], tuple[SimulatedGpu, dict[str, Any]]], dict[str, Any]]] = {
    "a revoked device": ("revocation", "is revoked", lambda: (ISSUED, {"ocsp": (*REVOKED, *RIM_ANSWERS)}), UNASKED),
    "stale answers": ("revocation", "counts from", lambda: (ISSUED, {"ocsp": (*STALE, *RIM_ANSWERS)}), UNASKED),
    "an answer of somebody else": ("revocation", "signed neither", lambda: (ISSUED, _wrongly_signed()), UNASKED),
    "an answer that knows nothing": ("revocation", "is unknown", lambda: (ISSUED, _unknown()), UNASKED),
    "a missing answer": (
        "revocation",
        "no reply about",
        lambda: (ISSUED, {"ocsp": (*DEVICE_ANSWERS[1:], *RIM_ANSWERS)}),
        UNASKED,
    ),
    "no answers": ("policy", "not taken: revocation", lambda: (ISSUED, {"ocsp": RIM_ANSWERS}), UNASKED),
    "outdated firmware": ("vbios-rim", "version", lambda: (OLD, {}), WITHOUT_VALUES),
    "outdated firmware that lies": ("measurements", "wrong: 0", lambda: (_relabelled(), {}), WITHOUT_VALUES),
    "outdated firmware with its own manifest": (
        "policy",
        "older than",
        lambda: (OLD, {"rims": OLD_RIMS, "policy": NEWEST}),
        WITHOUT_VALUES,
    ),
    "a manifest of another signer": (
        "driver-rim",
        "chain",
        lambda: (ISSUED, {"rims": STRANGER.reference_values(), "ocsp": DEVICE_ANSWERS}),
        WITHOUT_VALUES,
    ),
    "a manifest signed by a device's authority": (
        "driver-rim",
        "chain",
        lambda: (ISSUED, {"rims": VENDOR.reference_values(signer=VENDOR.devices[2]), "ocsp": DEVICE_ANSWERS}),
        WITHOUT_VALUES,
    ),
    "no manifest": (
        "policy",
        "not taken: driver-rim",
        lambda: (ISSUED, {"rims": (), "ocsp": DEVICE_ANSWERS}),
        WITHOUT_VALUES,
    ),
    "a revoked signer of manifests": (
        "rim-revocation",
        "is revoked",
        lambda: (ISSUED, {"ocsp": (*DEVICE_ANSWERS, *VENDOR.answers(SIGNERS, {SIGNERS[0]}))}),
        WITHOUT_VALUES,
    ),
    "a debugged device": (
        "debug",
        "INVASIVE",
        lambda: (SimulatedGpu(b"a gpu", NOW, vendor=VENDOR, debug=DebugState.INVASIVE), {}),
        {"policy": _without("debug", allow_debug=True)},
    ),
    "a device out of confidential mode": (
        "mode",
        "not said",
        lambda: (SimulatedGpu(b"a gpu", NOW, vendor=VENDOR, mode=0xFF), {}),
        {"policy": _without("mode", modes=None)},
    ),
}


@pytest.mark.parametrize("what", DEVIATIONS)
def test_a_single_deviation_is_refused_by_its_step_alone(what: str) -> None:
    step, reason, made, waived = DEVIATIONS[what]
    gpu, changes = made()
    refused = appraised(gpu, **changes)
    assert (refused.failed_step, reason in refused.steps[-1].detail) == (step, True), refused.steps[-1]
    assert not refused.claims
    assert appraised(gpu, **{**changes, **waived}).accepted


@pytest.mark.parametrize(("product", "kind"), KINDS)
def test_a_simulated_report_is_accepted_with_its_test_root_alone(product: Product, kind: KeyKind) -> None:
    assert simulated_snp.appraised(product=product, kind=kind).accepted
    assert simulated_snp.appraised(product=product, kind=kind, anchors=default_anchors()).failed_step == "chain"
    other = amd(next(line for line in Product if line is not product)).anchors
    assert simulated_snp.appraised(product=product, kind=kind, anchors=other).failed_step == "chain"


def test_a_report_is_signed_as_amd_writes_it() -> None:
    """Checked with the parts of `cryptography` alone: r and s are little-endian, in fields of 72 bytes."""
    report = signed()
    assert len(report) == REPORT_BYTES
    r, s = (int.from_bytes(report[place : place + 72], "little") for place in (0x2A0, 0x2E8))
    key = endorsement().public_key()
    assert isinstance(key, ec.EllipticCurvePublicKey)
    key.verify(encode_dss_signature(r, s), report[:SIGNED_BYTES], ec.ECDSA(hashes.SHA384()))


def test_a_chip_has_a_key_for_each_tcb_and_kind_and_another_id_than_other_chips() -> None:
    tcb = TCBS[Product.MILAN]
    newer = type(tcb)(Product.MILAN, {**tcb.parts, "snp": 25})
    keys = [chip().key(kind, version) for kind in KeyKind for version in (tcb, newer)]
    assert len({key.public_numbers() for key in [*keys, chip(seed=b"another chip").key()]}) == 5
    assert chip().hardware_id != chip(seed=b"another chip").hardware_id
    assert [len(chip(product).hardware_id) for product in Product] == [64, 64, 8]


def test_reports_are_the_same_for_the_same_seed_and_other_bytes_can_be_signed_too() -> None:
    again = SimulatedAmd(Product.MILAN, simulated_snp.NOW).chip(b"a chip")
    assert again.sign(again.report(simulated_snp.REPORT_DATA)) == signed()
    assert again.key().public_numbers() == chip().key().public_numbers()
    with pytest.raises(ValueError, match="version"):
        amd_report.parse_report(chip().sign_bytes(bytes(SIGNED_BYTES)))
    report = chip().report(simulated_snp.REPORT_DATA)
    assert chip().sign_bytes(encode_report(report)) == chip().sign(report)
