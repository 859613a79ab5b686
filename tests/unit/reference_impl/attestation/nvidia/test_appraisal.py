"""Each step of the appraisal of an NVIDIA report refuses what it is there for, and nothing else refuses it first."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime
from typing import Any

import pytest
from cryptography import x509

from carnet_ref.attestation.anchors import default_anchors
from carnet_ref.attestation.appraisal import Appraisal
from carnet_ref.attestation.nvidia.appraisal import appraise_gpu
from carnet_ref.attestation.nvidia.policy import DEFAULT_POLICY, STEPS, Policy
from carnet_ref.attestation.nvidia.report import DebugState, DeviceMode, Mode
from tests.fixtures import nvidia_pki
from tests.fixtures.nvidia_pki import (
    AT,
    DAY,
    DRIVER_INDICES,
    END,
    FEATURE_FLAG,
    FIRMWARE_FIELD,
    NONCE,
    NOT_DEBUGGED,
    NVDEC0_STATUS,
    OPAQUE,
    PRODUCT,
    START,
    VBIOS_INDICES,
    Device,
    device,
    issue,
    measurement,
    ocsp_reply,
    rim_xml,
    sign_rim,
    world,
)

W = world()
EVERYTHING = frozenset(STEPS) - {"policy"}
report = functools.partial(nvidia_pki.report, stated=NOT_DEBUGGED)
PPCIE = {**OPAQUE, FEATURE_FLAG: b"\x02\0"}


def everything() -> dict[str, Any]:
    """Return evidence and questions under which every step is taken and holds."""
    return {
        "report": report(W.device.leaf, opaque=PPCIE),
        "chain": W.device.chain(),
        "at": AT,
        "policy": Policy(require=EVERYTHING, modes=frozenset({Mode.PROTECTED_PCIE})),
        "anchors": W.anchors,
        "nonce": NONCE,
        "rims": W.rims(),
        "ocsp": [*W.replies(), *W.rim_replies()],
    }


def appraised(**changes: Any) -> Appraisal:
    return appraise_gpu(**{**everything(), **changes})


def test_every_step_holds_for_good_evidence() -> None:
    appraisal = appraised()
    assert appraisal.accepted
    assert [step.id for step in appraisal.steps] == list(STEPS)
    assert all(step.ok for step in appraisal.steps)
    assert appraisal.claims["driver_version"] == "550.90.07"
    assert appraisal.claims["vbios_version"] == "96.00.9F.00.01"


def test_what_nobody_asked_for_is_listed_and_does_not_refuse() -> None:
    appraisal = appraised(nonce=None, rims=(), ocsp=(), policy=DEFAULT_POLICY)
    assert appraisal.accepted
    open_steps = [step.id for step in appraisal.steps if step.ok is None]
    assert open_steps == ["revocation", "nonce", "driver-rim", "vbios-rim", "rim-revocation", "measurements", "mode"]
    assert {step.detail for step in appraisal.steps if step.ok is None} == {"not requested"}


def _other_root() -> bytes:
    return device(issue("Test Device Identity CA", None)).chain()


def _short_path() -> Device:
    return Device((*W.device.path[:2], issue("GH100 A01 GSP FMC LF", W.device.path[1], ca=False)))


def _out_of_order() -> bytes:
    return Device((*W.device.path[:2], W.device.path[3], W.device.path[2], W.device.leaf)).chain()


def _issued_by_leaf() -> Device:
    return Device((*W.device.path[1:], issue("GH100 below a leaf", W.device.leaf, ca=False)))


def _too_deep() -> Device:
    root = issue("Test Device Identity CA", None)
    limited = issue("may have no authority below it", root, path_length=0)
    path = [root, limited, issue("b", limited)]
    path.append(issue("c", path[-1]))
    return Device((*path, issue("GH100 d", path[-1], ca=False)))


def _signed_by_authority() -> dict[str, Any]:
    authority = Device(W.device.path[:4])
    return {"report": report(authority.leaf, opaque=PPCIE), "chain": authority.chain()}


def _flipped(place: int) -> bytes:
    data = bytearray(everything()["report"])
    data[place] ^= 1
    return bytes(data)


def _driver(**golden: Any) -> dict[str, Any]:
    return {"rims": W.rims(**golden)}


def _rim(version: str, product: str = PRODUCT, **signer: Any) -> bytes:
    values = {index: [measurement(index)] for index in DRIVER_INDICES}
    return sign_rim(rim_xml(version, values, product), signer.get("by", W.rim_signer), W.rim_root)


def _replied(place: int, **how: Any) -> dict[str, Any]:
    replies = W.replies()
    path = W.device.path
    replies[place - 1] = ocsp_reply(path[place], path[place - 1], **how)
    return {"ocsp": [*replies, *W.rim_replies()]}


def _responder(**how: Any) -> Any:
    signing = x509.ExtendedKeyUsage([how.pop("purpose", x509.oid.ExtendedKeyUsageOID.OCSP_SIGNING)])
    under = how.pop("under", W.device.path[1])
    return issue("Test OCSP Responder", under, ca=False, **how, extensions=[(signing, False)])


REFUSED: dict[str, tuple[str, str, Callable[[], dict[str, Any]]]] = {
    "a byte after the report": ("parse", "nothing more", lambda: {"report": everything()["report"] + b"\0"}),
    "a report without its last byte": ("parse", "signature", lambda: {"report": everything()["report"][:-1]}),
    "no report": ("parse", "SPDM version", lambda: {"report": b""}),
    "a chain that is none": ("parse", "certificate chain", lambda: {"chain": b"-----BEGIN CERTIFICATE-----"}),
    "a RIM that is none": ("parse", "RIM", lambda: {"rims": (b"<a/>",)}),
    "an OCSP reply that is none": ("parse", "OCSP", lambda: {"ocsp": (b"\x30\0",)}),
    "two driver RIMs": ("parse", "two RIMs", lambda: {"rims": (W.rims()[0], W.rims()[0])}),
    "the production roots": ("chain", "no trust anchor", lambda: {"anchors": default_anchors()}),
    "another root of the same name": ("chain", "not issued by", lambda: {"chain": _other_root()}),
    "a path of three": ("chain", "5 certificates", lambda: {"chain": _short_path().chain()}),
    "certificates out of order": ("chain", "not issued by", lambda: {"chain": _out_of_order()}),
    "a certificate issued by a leaf": ("chain", "may not issue", lambda: {"chain": _issued_by_leaf().chain()}),
    "an authority's key as attestation key": ("chain", "signs evidence", _signed_by_authority),
    "a clock before the certificates": ("validity", "not at 2025-12-31", lambda: {"at": START - DAY}),
    "a clock after the certificates": ("validity", "not at 2027-01-02", lambda: {"at": END + DAY}),
    "a revoked provisioner": ("revocation", "is revoked", lambda: _replied(2, revoked=True)),
    "a reply past nextUpdate": ("revocation", "counts from", lambda: _replied(2, next_update=AT - DAY / 2)),
    "a reply from the future": ("revocation", "counts from", lambda: _replied(2, this_update=AT + DAY / 2)),
    "a reply without nextUpdate": ("revocation", "until when", lambda: _replied(2, next_update=None)),
    "a reply signed by a stranger": (
        "revocation",
        "signed neither",
        lambda: _replied(2, signer=_responder(under=W.rim_root)),
    ),
    "a reply signed by an expired responder": (
        "revocation",
        "signed by 'Test OCSP Responder', valid from 2026-01-01T00:00:00Z to 2026-02-28T12:00:00Z, not at 2026-03-01",
        lambda: _replied(2, signer=_responder(end=AT - DAY)),
    ),
    "a reply signed by whom the issuer certified for something else": (
        "revocation",
        "signed neither",
        lambda: _replied(2, signer=_responder(purpose=x509.oid.ExtendedKeyUsageOID.CLIENT_AUTH)),
    ),
    "a reply signed by whom the issuer certified for nothing special": (
        "revocation",
        "signed neither",
        lambda: _replied(2, signer=issue("Test Signer", W.device.path[1], ca=False)),
    ),
    "a reply signed by a device": ("revocation", "signed neither", lambda: _replied(2, signer=W.device.leaf)),
    "a missing reply": ("revocation", "no reply about", lambda: {"ocsp": W.replies()[:2]}),
    "a reply about another device": (
        "revocation",
        "no certificate of this evidence",
        lambda: {"ocsp": [*W.replies(), ocsp_reply(device(W.root).path[1], W.root)]},
    ),
    "a flipped measurement": ("signature", "does not verify", lambda: {"report": _flipped(60)}),
    "a flipped nonce": ("signature", "does not verify", lambda: {"report": _flipped(10)}),
    "a flipped signature": ("signature", "does not verify", lambda: {"report": _flipped(-1)}),
    "the chain of another device": (
        "signature",
        "does not verify",
        lambda: {"chain": device(W.root).chain(), "ocsp": ()},
    ),
    "another firmware id": (
        "firmware-id",
        "the certificate",
        lambda: {"report": report(W.device.leaf, opaque={**PPCIE, FIRMWARE_FIELD: bytes(48)})},
    ),
    "another nonce": ("nonce", "not 00", lambda: {"nonce": bytes(32)}),
    "a short nonce": ("nonce", "the report has", lambda: {"nonce": NONCE[:-1]}),
    "a driver RIM of another version": ("driver-rim", "version", lambda: {"rims": (_rim("550.90.08"), W.rims()[1])}),
    "a driver RIM of another chip": ("driver-rim", "product", lambda: {"rims": (_rim("550.90.07", "GB100"),)}),
    "a driver RIM signed by the device": (
        "driver-rim",
        "chain",
        lambda: {"rims": (_rim("550.90.07", by=W.device.leaf),), "ocsp": W.replies()},
    ),
    "a VBIOS RIM of another version": ("vbios-rim", "version", lambda: {"rims": (_rim("96.00.9F.00.02"),)}),
    "a measurement that no alternative has": (
        "measurements",
        "25 of 26 match; wrong: 9",
        lambda: _driver(driver={i: [bytes(48)] if i == 9 else [measurement(i)] for i in DRIVER_INDICES}),
    ),
    "measurements one place off": (
        "measurements",
        "wrong",
        lambda: _driver(driver={i + 1: [measurement(i)] for i in DRIVER_INDICES}),
    ),
    "an index active in both RIMs": (
        "measurements",
        "active in both",
        lambda: _driver(vbios={i: [measurement(i)] for i in [*VBIOS_INDICES, 7]}),
    ),
    "fewer measurements than the RIM has": (
        "measurements",
        "wrong",
        lambda: {"report": report(W.device.leaf, opaque=PPCIE, measurements=[measurement(i) for i in range(20)])},
    ),
    "RIMs without an active index": ("measurements", "no index", lambda: _driver(driver={}, vbios={})),
    "one RIM without an active index": ("measurements", "no index is active in the driver", lambda: _driver(driver={})),
    "another mode": ("mode", "accepted: SPT", lambda: {"policy": _policy(modes=frozenset({Mode.SINGLE_GPU}))}),
    "a mode that is not said": ("mode", "not said", lambda: {"report": report(W.device.leaf)}),
    "no mode accepted": ("mode", "accepted: none", lambda: {"policy": _policy(modes=frozenset())}),
    "a debug mode": ("debug", "INVASIVE", lambda: {"report": _debugged(DebugState.INVASIVE)}),
    "a debug mode that was left": (
        "debug",
        "NON_INVASIVE_SINCE_RESET",
        lambda: {"report": _debugged(DebugState.NON_INVASIVE_SINCE_RESET)},
    ),
    "a device mode asked for and not stated": (
        "policy",
        "not taken: debug",
        lambda: {"report": nvidia_pki.report(W.device.leaf, opaque=PPCIE)},
    ),
    "a revoked RIM signer": (
        "rim-revocation",
        "is revoked",
        lambda: {"ocsp": [*W.replies(), ocsp_reply(W.rim_signer, W.rim_root, revoked=True)]},
    ),
    "no reply about the RIM signer": ("policy", "not taken: rim-revocation", lambda: {"ocsp": W.replies()}),
    "revocation asked for and no reply about the RIM signer": (
        "policy",
        "not taken: rim-revocation",
        lambda: {"ocsp": W.replies(), "policy": Policy(require=frozenset({"revocation"}))},
    ),
    "no reply about the device": ("policy", "not taken: revocation", lambda: {"ocsp": W.rim_replies()}),
    "an empty policy": ("policy", "accepts nothing", lambda: {"policy": Policy()}),
    "a step asked for and not taken": ("policy", "not taken: nonce", lambda: {"nonce": None}),
    "a firmware id asked for and not sent": (
        "policy",
        "not taken: firmware-id",
        lambda: {"report": report(W.device.leaf, opaque={k: v for k, v in PPCIE.items() if k != FIRMWARE_FIELD})},
    ),
    "another product": ("policy", "the device is a GH100", lambda: {"policy": _policy(products=frozenset({"GB100"}))}),
    "an old driver": ("policy", "older than 550.100", lambda: {"policy": _policy(minimum_driver="550.100")}),
    "an old VBIOS": ("policy", "older than 96.00.A0", lambda: {"policy": _policy(minimum_vbios="96.00.A0.00.00")}),
}


def _debugged(state: DebugState) -> bytes:
    return report(W.device.leaf, opaque=PPCIE, stated=DeviceMode(4, 4, 31, state).encode())


def _policy(**changes: Any) -> Policy:
    return replace(Policy(require=EVERYTHING, modes=frozenset({Mode.PROTECTED_PCIE})), **changes)


@pytest.mark.mends("E5")
@pytest.mark.mends("E10")
@pytest.mark.parametrize("what", REFUSED)
def test_refused_at_its_step(what: str) -> None:
    step, reason, changes = REFUSED[what]
    appraisal = appraised(**changes())
    assert appraisal.failed_step == step
    assert reason in appraisal.steps[-1].detail
    assert not appraisal.accepted
    assert not appraisal.claims


def test_a_path_with_too_many_authorities_is_refused() -> None:
    deep = _too_deep()
    anchors = replace(W.anchors, by_role=dict.fromkeys(W.anchors.by_role, (deep.path[0].certificate,)))
    appraisal = appraised(chain=deep.chain(), anchors=anchors)
    assert (appraisal.failed_step, "below it" in appraisal.steps[-1].detail) == ("chain", True)


@pytest.mark.mends("E12")
def test_a_report_has_a_twin_so_its_hash_is_no_identity() -> None:
    """ECDSA accepts (r, n - s) for (r, s); everything that is signed and claimed is the same."""
    order = 0xFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFC7634D81F4372DDF581A0DB248B0A77AECEC196ACCC52973
    original = everything()["report"]
    twin = original[:-48] + (order - int.from_bytes(original[-48:], "big")).to_bytes(48, "big")
    assert twin != original
    assert appraised(report=twin).claims == appraised(report=original).claims


def test_revocation_asks_about_signers_of_reference_values_only_where_there_are_some() -> None:
    asked = Policy(require=frozenset({"revocation"}))
    assert appraised(rims=(), ocsp=W.replies(), policy=asked).accepted
    assert appraised(ocsp=[*W.replies(), *W.rim_replies()], policy=asked).accepted


@pytest.mark.parametrize("policy", [Policy(), Policy(minimum_driver="1", modes=frozenset(Mode))])
def test_a_policy_that_asks_for_no_step_accepts_nothing(policy: Policy) -> None:
    assert not appraised(policy=policy).accepted


def test_the_root_may_be_left_out_of_the_chain() -> None:
    assert appraised(chain=Device(W.device.path[1:]).chain()).accepted


def test_a_responder_that_the_issuer_appointed_may_answer_for_it() -> None:
    assert appraised(**_replied(2, signer=_responder())).accepted


@pytest.mark.mends("E5")
def test_a_revoked_rim_signer_is_refused_and_a_good_one_accepted() -> None:
    for revoked in (True, False):
        reply = ocsp_reply(W.rim_signer, W.rim_root, revoked=revoked)
        assert appraised(ocsp=[*W.replies(), reply]).accepted is not revoked


@pytest.mark.parametrize("state", [DebugState.INVASIVE, DebugState.NON_INVASIVE_SINCE_RESET])
def test_a_policy_may_allow_debugging(state: DebugState) -> None:
    allowed = _policy(allow_debug=True, require=EVERYTHING - {"debug"})
    appraisal = appraised(report=_debugged(state), policy=allowed)
    assert appraisal.accepted
    assert appraisal.claims["debugged"] is True


def test_debugging_before_the_last_reset_is_not_held_against_the_device() -> None:
    appraisal = appraised(report=_debugged(DebugState.INVASIVE_SINCE_MANUFACTURING))
    assert appraisal.accepted
    assert appraisal.claims["debugged"] is False


def test_a_value_may_match_any_alternative() -> None:
    golden = {i: [bytes(48), measurement(i)] for i in DRIVER_INDICES}
    assert appraised(rims=W.rims(driver=golden)).accepted


@pytest.mark.parametrize(("status", "accepted"), [(b"\x55", True), (b"\xaa", False), (b"", False)])
def test_the_measurement_of_a_decoder_that_is_off_is_not_held_against_the_device(status: bytes, accepted: bool) -> None:
    golden = {35: [bytes(48)], 7: [measurement(7)]}
    made = report(W.device.leaf, opaque={**PPCIE, NVDEC0_STATUS: status})
    appraisal = appraised(report=made, rims=W.rims(driver=golden))
    assert appraisal.accepted is accepted
    assert accepted or appraisal.failed_step == "measurements"


def test_opaque_fields_that_nobody_knows_are_kept() -> None:
    made = report(W.device.leaf, opaque={**PPCIE, 33: b"\x07\x07", 4711: b"new"})
    appraisal = appraised(report=made)
    assert appraisal.accepted
    assert appraisal.claims["unread_fields"] == [33, 4711]


def test_an_appraisal_is_a_function_of_its_arguments() -> None:
    given = everything()
    assert appraise_gpu(**given) == appraise_gpu(**given)
    assert isinstance(given["at"], datetime)
