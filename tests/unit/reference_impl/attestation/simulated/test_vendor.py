"""A simulated vendor issues documents that parsers of real ones read; each single deviation is refused by its step."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import Any

import pytest

from carnet_ref.attestation.anchors import AnchorRole, default_anchors
from carnet_ref.attestation.appraisal import Appraisal
from carnet_ref.attestation.nvidia.appraisal import appraise_gpu
from carnet_ref.attestation.nvidia.ocsp import RevocationError, check_not_revoked, parse_ocsp
from carnet_ref.attestation.nvidia.policy import STEPS, Policy
from carnet_ref.attestation.nvidia.report import DebugState, Mode, parse_report
from carnet_ref.attestation.nvidia.rim import RimKind, appraise_rim, parse_rim
from carnet_ref.attestation.simulated.authority import TEST
from carnet_ref.attestation.simulated.gpu import CURRENT, OUTDATED, SimulatedGpu, SimulatedVendor, answer, gpu_request

NOW = datetime(2026, 1, 1, tzinfo=UTC)
DAY = timedelta(days=1)
NONCE = bytes(range(32))
VENDOR = SimulatedVendor(b"a vendor", NOW)
STRANGER = SimulatedVendor(b"another vendor", NOW)
GPU = SimulatedGpu(b"a gpu", NOW, vendor=VENDOR)
SIGNERS = tuple(each.certificate for each in reversed(VENDOR.signers))
EVERYTHING = Policy(frozenset(STEPS) - {"policy"}, modes=frozenset({Mode.SINGLE_GPU}))
RIMS = VENDOR.reference_values()
DEVICE_ANSWERS, RIM_ANSWERS = VENDOR.answers(GPU.certificates), VENDOR.answers(SIGNERS)


def appraised(gpu: SimulatedGpu = GPU, **changes: Any) -> Appraisal:
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
    for gpu in (GPU, other):
        measured = parse_report(gpu.report(gpu_request(NONCE))).measurements
        assert all(values == (measured[index],) for rim in (driver, vbios) for index, values in rim.golden.items())
    assert GPU.measurements != other.measurements


@pytest.mark.parametrize(("chain", "answers"), [(GPU.certificates, DEVICE_ANSWERS), (SIGNERS, RIM_ANSWERS)])
def test_each_certificate_of_an_authority_has_an_answer(chain: Any, answers: tuple[bytes, ...]) -> None:
    pairs = [(below, above) for below, above in pairwise(chain) if below != GPU.certificates[0]]
    assert len(answers) == len(pairs)
    for reply, pair in zip(map(parse_ocsp, answers), pairs, strict=True):
        assert reply.is_about(*pair)
        check_not_revoked(reply, *pair, NOW)
        with pytest.raises(RevocationError, match="counts from"):
            check_not_revoked(reply, *pair, NOW + 2 * DAY)


def _unknown() -> dict[str, Any]:
    issuer = VENDOR.devices[2]
    about = answer(GPU.certificates[1], issuer, issuer, NOW, known=False)
    return {"ocsp": (about, *DEVICE_ANSWERS[1:], *RIM_ANSWERS)}


def _wrongly_signed() -> dict[str, Any]:
    about = answer(GPU.certificates[1], VENDOR.devices[2], STRANGER.devices[2], NOW)
    return {"ocsp": (about, *DEVICE_ANSWERS[1:], *RIM_ANSWERS)}


def _without(*steps: str, **changes: Any) -> Policy:
    return replace(EVERYTHING, require=EVERYTHING.require - set(steps), **changes)


def _relabelled() -> SimulatedGpu:
    """Return a device with outdated firmware that says it is current."""
    return SimulatedGpu(b"a gpu", NOW, vendor=VENDOR, firmware=OUTDATED, stated=CURRENT)


VALUES = ("driver-rim", "vbios-rim", "rim-revocation", "measurements")
REVOKED = VENDOR.answers(GPU.certificates, {GPU.certificates[1]})
STALE = VENDOR.answers(GPU.certificates, since=NOW - 2 * DAY)
OLD_RIMS = VENDOR.reference_values(OUTDATED)
OLD = SimulatedGpu(b"a gpu", NOW, vendor=VENDOR, firmware=OUTDATED)
NEWEST = replace(EVERYTHING, minimum_vbios=CURRENT.vbios)
UNASKED = {"ocsp": RIM_ANSWERS, "policy": _without("revocation")}
WITHOUT_VALUES = {"rims": (), "ocsp": DEVICE_ANSWERS, "policy": _without(*VALUES)}

DEVIATIONS: dict[str, tuple[str, str, Callable[[], tuple[SimulatedGpu, dict[str, Any]]], dict[str, Any]]] = {
    "a revoked device": (
        "revocation",
        "is revoked",
        lambda: (GPU, {"ocsp": (*REVOKED, *RIM_ANSWERS)}),
        UNASKED,
    ),
    "stale answers": ("revocation", "counts from", lambda: (GPU, {"ocsp": (*STALE, *RIM_ANSWERS)}), UNASKED),
    "an answer of somebody else": ("revocation", "signed neither", lambda: (GPU, _wrongly_signed()), UNASKED),
    "an answer that knows nothing": ("revocation", "is unknown", lambda: (GPU, _unknown()), UNASKED),
    "a missing answer": (
        "revocation",
        "no reply about",
        lambda: (GPU, {"ocsp": (*DEVICE_ANSWERS[1:], *RIM_ANSWERS)}),
        UNASKED,
    ),
    "no answers": ("policy", "not taken: revocation", lambda: (GPU, {"ocsp": RIM_ANSWERS}), UNASKED),
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
        lambda: (GPU, {"rims": STRANGER.reference_values(), "ocsp": DEVICE_ANSWERS}),
        WITHOUT_VALUES,
    ),
    "a manifest signed by a device's authority": (
        "driver-rim",
        "chain",
        lambda: (GPU, {"rims": VENDOR.reference_values(signer=VENDOR.devices[2]), "ocsp": DEVICE_ANSWERS}),
        WITHOUT_VALUES,
    ),
    "no manifest": (
        "policy",
        "not taken: driver-rim",
        lambda: (GPU, {"rims": (), "ocsp": DEVICE_ANSWERS}),
        WITHOUT_VALUES,
    ),
    "a revoked signer of manifests": (
        "rim-revocation",
        "is revoked",
        lambda: (GPU, {"ocsp": (*DEVICE_ANSWERS, *VENDOR.answers(SIGNERS, {SIGNERS[0]}))}),
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
