"""The appraisal of an NVIDIA report: each step refuses what it is there for, by a policy, and until when."""

import functools
import json
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any

import pytest
from cryptography import x509
from hypothesis import given
from hypothesis import strategies as st

from carnet_ref.attestation.appraisal import AnchorRole, Anchors, Appraisal, default_anchors
from carnet_ref.attestation.nvidia.appraisal import (
    DEFAULT_POLICY,
    HOUR,
    STEPS,
    Policy,
    appraise_gpu,
    at_least,
    parse_policy,
    valid_until,
)
from carnet_ref.attestation.nvidia.report import (
    DebugState,
    DeviceMode,
    Mode,
    driver_rim_id,
    parse_report,
    vbios_rim_id,
)
from carnet_ref.attestation.policies import LARGEST
from carnet_ref.crypto.certificate_path import fingerprint, parse_pem_chain
from carnet_ref.wire import MalformedError
from tests.fixtures import nvidia_pki
from tests.fixtures import nvidia_pki as pki

W = pki.world()
EVERYTHING = frozenset(STEPS) - {"policy"}
report = functools.partial(nvidia_pki.report, stated=pki.NOT_DEBUGGED)
PPCIE = {**pki.OPAQUE, pki.FEATURE_FLAG: b"\x02\0"}


def everything() -> dict[str, Any]:
    """Return evidence and questions under which every step is taken and holds."""
    return {
        "report": report(W.device.leaf, opaque=PPCIE),
        "chain": W.device.chain(),
        "at": pki.AT,
        "policy": Policy(require=EVERYTHING, modes=frozenset({Mode.PROTECTED_PCIE})),
        "anchors": W.anchors,
        "nonce": pki.NONCE,
        "rims": W.rims(),
        "ocsp": [*W.replies(), *W.rim_replies()],
    }


def appraised(**changes: Any) -> Appraisal:
    return appraise_gpu(**{**everything(), **changes})


def test_what_nobody_asked_for_is_listed_and_does_not_refuse() -> None:
    appraisal = appraised(nonce=None, rims=(), ocsp=(), policy=DEFAULT_POLICY)
    assert appraisal.accepted
    open_steps = [step.id for step in appraisal.steps if step.ok is None]
    assert open_steps == ["revocation", "nonce", "driver-rim", "vbios-rim", "rim-revocation", "measurements", "mode"]
    assert all(step.detail.startswith("not requested") for step in appraisal.steps if step.ok is None)


def _other_root() -> bytes:
    return pki.device(pki.issue("Test Device Identity CA", None)).chain()


def _short_path() -> pki.Device:
    return pki.Device((*W.device.path[:2], pki.issue("GH100 A01 GSP FMC LF", W.device.path[1], ca=False)))


def _out_of_order() -> bytes:
    return pki.Device((*W.device.path[:2], W.device.path[3], W.device.path[2], W.device.leaf)).chain()


def _issued_by_leaf() -> pki.Device:
    return pki.Device((*W.device.path[1:], pki.issue("GH100 below a leaf", W.device.leaf, ca=False)))


def _too_deep() -> pki.Device:
    root = pki.issue("Test Device Identity CA", None)
    limited = pki.issue("may have no authority below it", root, path_length=0)
    path = [root, limited, pki.issue("b", limited)]
    path.append(pki.issue("c", path[-1]))
    return pki.Device((*path, pki.issue("GH100 d", path[-1], ca=False)))


def _signed_by_authority() -> dict[str, Any]:
    authority = pki.Device(W.device.path[:4])
    return {"report": report(authority.leaf, opaque=PPCIE), "chain": authority.chain()}


def _flipped(place: int) -> bytes:
    data = bytearray(everything()["report"])
    data[place] ^= 1
    return bytes(data)


def _driver(**golden: Any) -> dict[str, Any]:
    return {"rims": W.rims(**golden)}


def _rim(version: str, product: str = pki.PRODUCT, **signer: Any) -> bytes:
    values = {index: [pki.measurement(index)] for index in pki.DRIVER_INDICES}
    return pki.sign_rim(pki.rim_xml(version, values, product), signer.get("by", W.rim_signer), W.rim_root)


def _replied(place: int, **how: Any) -> dict[str, Any]:
    replies = W.replies()
    path = W.device.path
    replies[place - 1] = pki.ocsp_reply(path[place], path[place - 1], **how)
    return {"ocsp": [*replies, *W.rim_replies()]}


def _responder(**how: Any) -> Any:
    signing = x509.ExtendedKeyUsage([how.pop("purpose", x509.oid.ExtendedKeyUsageOID.OCSP_SIGNING)])
    under = how.pop("under", W.device.path[1])
    return pki.issue("Test OCSP Responder", under, ca=False, **how, extensions=[(signing, False)])


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
    "a clock before the certificates": ("validity", "not at 2025-12-31", lambda: {"at": pki.START - pki.DAY}),
    "a clock after the certificates": ("validity", "not at 2027-01-02", lambda: {"at": pki.END + pki.DAY}),
    "a revoked provisioner": ("revocation", "is revoked", lambda: _replied(2, revoked=True)),
    "a reply past nextUpdate": ("revocation", "counts from", lambda: _replied(2, next_update=pki.AT - pki.DAY / 2)),
    "a reply from the future": ("revocation", "counts from", lambda: _replied(2, this_update=pki.AT + pki.DAY / 2)),
    "a reply without nextUpdate": ("revocation", "until when", lambda: _replied(2, next_update=None)),
    "a reply signed by a stranger": (
        "revocation",
        "signed neither",
        lambda: _replied(2, signer=_responder(under=W.rim_root)),
    ),
    "a reply signed by an expired responder": (
        "revocation",
        "signed by 'Test OCSP Responder', valid from 2026-01-01T00:00:00Z to 2026-02-28T12:00:00Z, not at 2026-03-01",
        lambda: _replied(2, signer=_responder(end=pki.AT - pki.DAY)),
    ),
    "a reply signed by whom the issuer certified for something else": (
        "revocation",
        "signed neither",
        lambda: _replied(2, signer=_responder(purpose=x509.oid.ExtendedKeyUsageOID.CLIENT_AUTH)),
    ),
    "a reply signed by whom the issuer certified for nothing special": (
        "revocation",
        "signed neither",
        lambda: _replied(2, signer=pki.issue("Test Signer", W.device.path[1], ca=False)),
    ),
    "a reply signed by a device": ("revocation", "signed neither", lambda: _replied(2, signer=W.device.leaf)),
    "a missing reply": ("revocation", "no reply about", lambda: {"ocsp": W.replies()[:2]}),
    "a reply about another device": (
        "revocation",
        "no certificate of this evidence",
        lambda: {"ocsp": [*W.replies(), pki.ocsp_reply(pki.device(W.root).path[1], W.root)]},
    ),
    "a flipped measurement": ("signature", "does not verify", lambda: {"report": _flipped(60)}),
    "a flipped nonce": ("signature", "does not verify", lambda: {"report": _flipped(10)}),
    "a flipped signature": ("signature", "does not verify", lambda: {"report": _flipped(-1)}),
    "the chain of another device": (
        "signature",
        "does not verify",
        lambda: {"chain": pki.device(W.root).chain(), "ocsp": ()},
    ),
    "another firmware id": (
        "firmware-id",
        "the certificate",
        lambda: {"report": report(W.device.leaf, opaque={**PPCIE, pki.FIRMWARE_FIELD: bytes(48)})},
    ),
    "another nonce": ("nonce", "not 00", lambda: {"nonce": bytes(32)}),
    "a short nonce": ("nonce", "the report has", lambda: {"nonce": pki.NONCE[:-1]}),
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
        lambda: _driver(driver={i: [bytes(48)] if i == 9 else [pki.measurement(i)] for i in pki.DRIVER_INDICES}),
    ),
    "measurements one place off": (
        "measurements",
        "wrong",
        lambda: _driver(driver={i + 1: [pki.measurement(i)] for i in pki.DRIVER_INDICES}),
    ),
    "an index active in both RIMs": (
        "measurements",
        "active in both",
        lambda: _driver(vbios={i: [pki.measurement(i)] for i in [*pki.VBIOS_INDICES, 7]}),
    ),
    "fewer measurements than the RIM has": (
        "measurements",
        "wrong",
        lambda: {"report": report(W.device.leaf, opaque=PPCIE, measurements=[pki.measurement(i) for i in range(20)])},
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
        lambda: {"ocsp": [*W.replies(), pki.ocsp_reply(W.rim_signer, W.rim_root, revoked=True)]},
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
        lambda: {"report": report(W.device.leaf, opaque={k: v for k, v in PPCIE.items() if k != pki.FIRMWARE_FIELD})},
    ),
    "another product": ("policy", "the device is a GH100", lambda: {"policy": _policy(products=frozenset({"GB100"}))}),
    "an old driver": ("policy", "older than 550.100", lambda: {"policy": _policy(minimum_driver="550.100")}),
    "an old VBIOS": ("policy", "older than 96.00.A0", lambda: {"policy": _policy(minimum_vbios="96.00.A0.00.00")}),
}


PROJECT, PROJECT_SKU, CHIP_SKU, CHIP_INFO = 17, 18, 15, 35
BOARD = {PROJECT: b"1010\0", PROJECT_SKU: b"0200\0", CHIP_SKU: b"882\0\0\0\0\0\0"}
VBIOS_RIM = "NV_GPU_VBIOS_1010_0200_882_96009F0001"


def of_board(**further: bytes) -> dict[int, bytes]:
    return {**PPCIE, **BOARD, **{int(name[1:]): value for name, value in further.items()}}


def test_the_ids_of_reference_values_are_claims_and_said_where_they_lack() -> None:
    appraisal = appraised(
        report=report(W.device.leaf, opaque=of_board()), rims=(), ocsp=W.replies(), policy=DEFAULT_POLICY
    )
    claims, details = appraisal.claims, {step.id: step.detail for step in appraisal.steps}
    assert (claims["driver_rim_id"], claims["vbios_rim_id"]) == ("NV_GPU_DRIVER_GH100_550.90.07", VBIOS_RIM)
    assert (claims["project"], claims["project_sku"], claims["chip_sku"]) == ("1010", "0200", "882")
    assert details["driver-rim"] == "not requested; NVIDIA's RIM service has it as NV_GPU_DRIVER_GH100_550.90.07"
    assert details["vbios-rim"].endswith(VBIOS_RIM)


def test_a_refused_rim_says_the_id_of_the_one_that_fits() -> None:
    evidence = {"report": report(W.device.leaf, opaque=of_board()), "ocsp": W.replies()}
    for rim, wanted in ((_rim("550.90.08"), "NV_GPU_DRIVER_GH100_550.90.07"), (_rim("96.00.9F.00.02"), VBIOS_RIM)):
        assert appraised(**evidence, rims=(rim,)).steps[-1].detail.endswith(f"has that one as {wanted}")


@pytest.mark.parametrize(
    ("chip", "opaque", "driver", "vbios"),
    [
        ("GB100", of_board(), "NV_GPU_CC_DRIVER_GB100_550.90.07", VBIOS_RIM),
        ("GB100", of_board(_35=b"GB202\0\0"), "NV_GPU_CC_DRIVER_GB202_550.90.07", VBIOS_RIM),
        ("GB100", of_board(_35=b"../etc"), "NV_GPU_CC_DRIVER_GB100_550.90.07", VBIOS_RIM),
        ("GB20X", of_board(_35=b"GB202\0"), "NV_GPU_CC_DRIVER_GB202_550.90.07", VBIOS_RIM),
        ("GB20X", of_board(), None, VBIOS_RIM),
        ("GH100", of_board(_35=b"GB202\0"), "NV_GPU_DRIVER_GH100_550.90.07", VBIOS_RIM),
        ("GH100", PPCIE, "NV_GPU_DRIVER_GH100_550.90.07", None),
        ("GH100", of_board(_17=b"\xff\xff"), "NV_GPU_DRIVER_GH100_550.90.07", None),
        ("GH100", of_board(_18=b"a/b"), "NV_GPU_DRIVER_GH100_550.90.07", None),
        ("LS10", {6: b"96.10.55.00.01\0"}, None, "NV_SWITCH_BIOS_5612_0002_890_9610550001"),
        ("LS20", {6: b"96.10.55.00.01\0"}, None, None),
    ],
)
def test_ids_of_reference_values_are_made_of_what_the_report_states(
    chip: str, opaque: dict[int, bytes], driver: str | None, vbios: str | None
) -> None:
    """Text that could be no part of an id is left out, since an operator asks a service by it."""
    parsed = parse_report(nvidia_pki.report(W.device.leaf, opaque=opaque))
    assert (driver_rim_id(parsed, chip), vbios_rim_id(parsed, chip)) == (driver, vbios)


def _changed(**values: int) -> dict[str, Any]:
    """Return evidence whose measurements differ from the reference values at some indices."""
    own = [pki.measurement(index) for index in range(64)]
    for index in values.values():
        own[index] = bytes([index]) * 48
    return {"report": report(W.device.leaf, opaque=of_board(), measurements=own), "ocsp": W.replies()}


@pytest.mark.parametrize("index", [*pki.DRIVER_INDICES[:3], *pki.VBIOS_INDICES[:3]])
def test_a_measurement_that_differs_is_named_with_both_values_and_the_rim_that_expects_another(index: int) -> None:
    refused = appraised(**_changed(one=index))
    assert refused.failed_step == "measurements"
    (named,) = refused.steps[-1].differences
    of_driver = index in pki.DRIVER_INDICES
    assert (named.what, named.found) == (f"measurement {index} (m{index})", (bytes([index]) * 48).hex())
    assert named.expected == (pki.measurement(index).hex(),)
    assert named.details == {
        "index": index,
        "name": f"m{index}",
        "rim": "driver" if of_driver else "vbios",
        "rim_id": "NV_GPU_DRIVER_GH100_550.90.07" if of_driver else VBIOS_RIM,
        "rim_version": "550.90.07" if of_driver else "96.00.9F.00.01",
        "rim_tag": "550.90.07" if of_driver else "96.00.9F.00.01",
        "rim_signer_valid_from": f"{pki.START:%Y-%m-%dT%H:%M:%SZ}",
    }
    assert str(named.details["rim_id"]) in named.origin


def test_all_measurements_that_differ_are_named_in_order_and_all_alternatives_with_them() -> None:
    first, second = sorted(pki.DRIVER_INDICES)[:2]
    refused = appraised(**_changed(one=second, other=first))
    assert [each.details["index"] for each in refused.steps[-1].differences] == [first, second]
    alternatives = {i: [pki.measurement(i), bytes(48)] for i in pki.DRIVER_INDICES}
    refused = appraised(**_changed(one=first), rims=W.rims(driver=alternatives))
    (named,) = refused.steps[-1].differences
    assert named.expected == (pki.measurement(first).hex(), bytes(48).hex())


def test_a_measurement_that_the_report_does_not_have_is_none() -> None:
    few = report(W.device.leaf, opaque=PPCIE, measurements=[pki.measurement(i) for i in range(20)])
    refused = appraised(report=few)
    assert {each.found for each in refused.steps[-1].differences} == {"none"}
    assert {each.details["rim_id"] for each in refused.steps[-1].differences} <= {"NV_GPU_DRIVER_GH100_550.90.07", None}


def test_the_decoder_that_is_off_is_not_named() -> None:
    off = {**of_board(), 11: b"\x55"}
    own = [bytes(48) if index == 35 else pki.measurement(index) for index in range(64)]
    golden = {index: [pki.measurement(index)] for index in (9, 35)}
    own[9] = bytes(48)
    given = {"report": report(W.device.leaf, opaque=off, measurements=own), "ocsp": W.replies()}
    refused = appraised(**given, rims=W.rims(driver=golden))
    assert [each.details["index"] for each in refused.steps[-1].differences] == [9]


@pytest.mark.parametrize(
    ("changes", "step", "subject"),
    [
        ({"anchors": default_anchors()}, "chain", "Test Device Identity CA"),
        ({"at": pki.END + pki.DAY}, "validity", "Test Device Identity CA"),
        ({"rims": (_rim("550.90.07", by=W.device.leaf),), "ocsp": ()}, "driver-rim", "GH100 A01 GSP FMC LF"),
    ],
)
def test_the_certificate_to_blame_is_named_by_its_subject(changes: dict[str, Any], step: str, subject: str) -> None:
    refused = appraised(**changes)
    assert refused.failed_step == step
    subjects = [str(each.details["subject"]) for each in refused.steps[-1].differences]
    assert any(subject in each for each in subjects), subjects


def test_a_revoked_certificate_is_named_by_its_subject() -> None:
    refused = appraised(**_replied(2, revoked=True))
    (named,) = refused.steps[-1].differences
    assert (refused.failed_step, named.details["sha256"]) == ("revocation", fingerprint(W.device.path[2].certificate))
    assert "is revoked" in named.found


EXPIRED = pki.issue("Test RIM Signer of old", W.rim_root, ca=False, end=pki.AT - pki.DAY)
LATER = pki.issue("Test RIM Signer to come", W.rim_root, ca=False, start=pki.AT + pki.DAY)


def test_a_policy_lets_reference_values_outlive_their_signer_s_certificate_and_the_acceptance_says_so() -> None:
    given = {"rims": (_rim("550.90.07", by=EXPIRED),), "ocsp": W.replies(), "nonce": None}
    assert appraised(**given, policy=DEFAULT_POLICY).failed_step == "driver-rim"
    allowed = replace(DEFAULT_POLICY, allow_expired_rims=True)
    appraisal = appraised(**given, policy=allowed)
    assert appraisal.accepted
    assert "reference values by an expired certificate" in appraisal.not_compared
    (step,) = [step for step in appraisal.steps if step.id == "driver-rim"]
    assert "signed by a certificate that has run out" in step.detail
    assert "reference values by an expired certificate" not in appraised(policy=allowed).not_compared


@pytest.mark.parametrize(
    "rim",
    [
        lambda: _rim("550.90.07", by=LATER),
        lambda: _rim("550.90.07", by=EXPIRED).replace(pki.measurement(9).hex().encode(), bytes(48).hex().encode()),
        lambda: _rim("550.90.07", by=pki.issue("Test RIM Signer", W.root, ca=False, end=pki.AT - pki.DAY)),
        lambda: _rim("550.90.08", by=EXPIRED),
        lambda: _rim("550.90.07", by=W.device.leaf),
    ],
    ids=["not valid yet", "a changed value", "under another root", "another version", "signed by the device"],
)
def test_nothing_else_is_allowed_with_it(rim: Callable[[], bytes]) -> None:
    given = {"rims": (rim(),), "ocsp": W.replies(), "policy": replace(DEFAULT_POLICY, allow_expired_rims=True)}
    assert appraised(**given).failed_step == "driver-rim"


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
    anchors = W.anchors._replace(by_role=dict.fromkeys(W.anchors.by_role, (deep.path[0].certificate,)))
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


def test_a_root_left_out_an_appointed_responder_and_any_alternative_value_are_accepted() -> None:
    assert appraised(chain=pki.Device(W.device.path[1:]).chain()).accepted
    assert appraised(**_replied(2, signer=_responder())).accepted
    golden = {i: [bytes(48), pki.measurement(i)] for i in pki.DRIVER_INDICES}
    assert appraised(rims=W.rims(driver=golden)).accepted


@pytest.mark.mends("E5")
def test_a_revoked_rim_signer_is_refused_and_a_good_one_accepted() -> None:
    for revoked in (True, False):
        reply = pki.ocsp_reply(W.rim_signer, W.rim_root, revoked=revoked)
        assert appraised(ocsp=[*W.replies(), reply]).accepted is not revoked


@pytest.mark.parametrize("state", [DebugState.INVASIVE, DebugState.NON_INVASIVE_SINCE_RESET])
def test_a_policy_may_allow_debugging(state: DebugState) -> None:
    allowed = _policy(allow_debug=True, require=EVERYTHING - {"debug"})
    appraisal = appraised(report=_debugged(state), policy=allowed)
    assert appraisal.accepted
    assert appraisal.claims["debugged"] is True


@pytest.mark.parametrize(("status", "accepted"), [(b"\x55", True), (b"\xaa", False), (b"", False)])
def test_the_measurement_of_a_decoder_that_is_off_is_not_held_against_the_device(status: bytes, accepted: bool) -> None:
    golden = {35: [bytes(48)], 7: [pki.measurement(7)]}
    made = report(W.device.leaf, opaque={**PPCIE, pki.NVDEC0_STATUS: status})
    appraisal = appraised(report=made, rims=W.rims(driver=golden))
    assert appraisal.accepted is accepted
    assert accepted or appraisal.failed_step == "measurements"


@functools.cache
def _blackwell(line: str, chip: bytes) -> dict[str, Any]:
    device = pki.device(W.root, product=line)
    made = report(device.leaf, opaque={**PPCIE, 33: b"\x07\0", 34: b"\x01\0", 35: chip})
    return {"report": made, "chain": device.chain(), "ocsp": (), "policy": DEFAULT_POLICY}


@pytest.mark.parametrize(
    ("line", "chip", "rim", "accepted"),
    [
        ("GB20X", b"GB202\0", "GB202", True),
        ("GB20X", b"GB202\0", "GB20X", True),
        ("GB20X", b"GB205\0", "GB205", True),
        ("GB100", b"GB100\0", "GB100", True),
        ("GB20X", b"GB202\0", "GB203", False),
        ("GB20X", b"GB202\0", "GB100", False),
        ("GB20X", b"GB100\0", "GB100", False),
        ("GB100", b"GB102\0", "GB102", False),
        ("GB20X", b"GB202\0", "GH100", False),
    ],
)
def test_reference_values_are_for_the_chip_that_a_report_names_or_for_the_line_of_its_certificate(
    line: str, chip: bytes, rim: str, accepted: bool
) -> None:
    found = appraised(**_blackwell(line, chip), rims=(_rim(pki.DRIVER, rim),))
    assert (found.accepted, found.failed_step) == (accepted, None if accepted else "driver-rim")
    assert accepted or f"the RIM is for {rim}, the device is a " in found.steps[-1].detail


def test_a_policy_names_a_chip_or_its_line() -> None:
    for products, accepted in (({"GB202"}, True), ({"GB20X"}, True), ({"GB203", "GB100"}, False)):
        asked = replace(DEFAULT_POLICY, products=frozenset(products))
        found = appraised(**_blackwell("GB20X", b"GB202\0") | {"policy": asked, "rims": ()})
        assert (found.accepted, found.failed_step) == (accepted, None if accepted else "policy")
        assert accepted or "the device is a GB202 (GB20X); accepted: GB100, GB203" in found.steps[-1].detail
        assert not accepted or (found.claims["product"], found.claims["chip"]) == ("GB20X", "GB202")


def test_unknown_opaque_fields_and_debugging_before_the_last_reset_are_not_held_against_the_device() -> None:
    made = report(W.device.leaf, opaque={**PPCIE, 33: b"\x07\x07", 4711: b"new"})
    appraisal = appraised(report=made)
    assert appraisal.accepted
    assert appraisal.claims["unread_fields"] == [33, 4711]
    appraisal = appraised(report=_debugged(DebugState.INVASIVE_SINCE_MANUFACTURING))
    assert appraisal.accepted
    assert appraisal.claims["debugged"] is False


def test_every_step_holds_for_good_evidence() -> None:
    given = everything()
    assert appraise_gpu(**given) == appraise_gpu(**given)
    assert isinstance(given["at"], datetime)
    appraisal = appraised()
    assert appraisal.accepted
    assert [step.id for step in appraisal.steps] == list(STEPS)
    assert all(step.ok for step in appraisal.steps)
    assert appraisal.claims["driver_version"] == "550.90.07"
    assert appraisal.claims["vbios_version"] == "96.00.9F.00.01"


PATH = W.device.path
SOON = pki.AT + timedelta(hours=1)
SECOND = timedelta(seconds=1)
ASKED = frozenset({"chain", "validity", "revocation", "signature", "driver-rim", "vbios-rim", "rim-revocation"})


@dataclass(frozen=True)
class Shown:
    """What is shown about a device beside its report, and who is trusted."""

    leaf: pki.Authority
    chain: bytes
    rims: tuple[bytes, ...]
    ocsp: tuple[bytes, ...]
    anchors: Anchors

    @property
    def end(self) -> datetime:
        """Until when it counts."""
        return valid_until(parse_pem_chain(self.chain), self.rims, self.ocsp, self.anchors)

    def accepted(self, at: datetime) -> bool:
        """Say whether it is accepted at a time, with every step asked for that looks at the clock."""
        return appraise_gpu(
            pki.report(self.leaf),
            self.chain,
            at=at,
            policy=Policy(require=ASKED),
            anchors=self.anchors,
            rims=self.rims,
            ocsp=self.ocsp,
        ).accepted


def shown(
    path: tuple[pki.Authority, ...] = PATH, rim_root: pki.Authority = W.rim_root, signer: pki.Authority = W.rim_signer
) -> Shown:
    """Return evidence about a device with this path, root first, and with reference values of this signer."""
    roots = {AnchorRole.NVIDIA_DEVICE: (path[0].certificate,), AnchorRole.NVIDIA_RIM: (rim_root.certificate,)}
    made = replace(
        W, root=path[0], rim_root=rim_root, device=pki.Device(path), rim_signer=signer, anchors=Anchors(roots)
    )
    return Shown(path[-1], made.device.chain(), made.rims(), (*made.replies(), *made.rim_replies()), made.anchors)


def _leaf() -> Shown:
    leaf = pki.issue(
        "GH100 A01 GSP FMC LF", PATH[-2], ca=False, end=SOON, extensions=[(pki.dice(pki.FIRMWARE_ID), False)]
    )
    return shown((*PATH[:-1], leaf))


def _root_left_out() -> Shown:
    path = pki.device(pki.issue("Test Device Identity CA", None, end=SOON)).path
    return replace(shown(path), chain=pki.Device(path[1:]).chain())


def _rim_signer() -> Shown:
    return shown(signer=pki.issue("Test RIM Signer", W.rim_root, ca=False, end=SOON))


def _rim_root() -> Shown:
    root = pki.issue("Test RIM Root CA", None, end=SOON)
    return shown(rim_root=root, signer=pki.issue("Test RIM Signer", root, ca=False))


def _reply() -> Shown:
    other = pki.ocsp_reply(PATH[1], PATH[0], next_update=SOON)
    return replace(shown(), ocsp=(other, *W.replies()[1:], *W.rim_replies()))


def _reply_about_a_signer() -> Shown:
    other = pki.ocsp_reply(W.rim_signer, W.rim_root, next_update=SOON)
    return replace(shown(), ocsp=(*W.replies(), other))


def _expiring_responder() -> Shown:
    signing = x509.ExtendedKeyUsage([x509.oid.ExtendedKeyUsageOID.OCSP_SIGNING])
    appointed = pki.issue("Test OCSP Responder", PATH[0], ca=False, end=SOON, extensions=[(signing, False)])
    other = pki.ocsp_reply(PATH[1], PATH[0], appointed)
    return replace(shown(), ocsp=(other, *W.replies()[1:], *W.rim_replies()))


FIRST: dict[str, Callable[[], Shown]] = {
    "the device's certificate": _leaf,
    "a root that the chain leaves out": _root_left_out,
    "the certificate of a signer of reference values": _rim_signer,
    "the root of reference values, which the manifest names": _rim_root,
    "a reply about the device": _reply,
    "a reply about a signer of reference values": _reply_about_a_signer,
    "the certificate of an appointed responder": _expiring_responder,
}


@pytest.mark.parametrize("what", FIRST)
def test_evidence_counts_until_the_first_of_what_it_needs_runs_out(what: str) -> None:
    """It is accepted to the end, and not a second longer."""
    found = FIRST[what]()
    assert found.end == SOON
    assert (found.accepted(SOON), found.accepted(SOON + SECOND)) == (True, False)


def test_replies_run_out_before_certificates_which_decide_without_them() -> None:
    assert shown().end == pki.AT + pki.DAY
    leaf, silent = replace(_leaf(), ocsp=()), replace(shown(), ocsp=())
    assert leaf.end == SOON
    assert silent.end == min(each.certificate.not_valid_after_utc for each in (*PATH, W.rim_signer, W.rim_root))


def test_what_is_no_evidence_counts_for_no_time() -> None:
    with pytest.raises(MalformedError, match="OCSP reply"):
        _ = replace(shown(), ocsp=(b"",)).end
    with pytest.raises(MalformedError, match="RIM"):
        _ = replace(shown(), rims=(b"",)).end


def test_a_policy_is_read_attribute_by_attribute() -> None:
    assert parse_policy(b"{}") == Policy(result_ttl=HOUR)
    given = {
        "require": ["signature", "nonce"],
        "products": ["GH100"],
        "minimum_driver": "550.90.07",
        "minimum_vbios": "96.00.9F.00.01",
        "modes": ["SPT", "PPCIE"],
        "allow_debug": True,
        "result_ttl": 60,
        "allow_expired_rims": True,
    }
    read = parse_policy(json.dumps(given).encode())
    modes = frozenset({Mode.SINGLE_GPU, Mode.PROTECTED_PCIE})
    asked = DEFAULT_POLICY.require | {"nonce"}
    assert read == Policy(asked, frozenset({"GH100"}), "550.90.07", "96.00.9F.00.01", modes, True, 60, True)


WRONG: dict[str, tuple[bytes, str]] = {
    "no JSON": (b"{", "a JSON object"),
    "a list": (b"[]", "a JSON object"),
    "a key that is half a character": (rb'{"\udafb": 1}', r"'\\udafb'"),
    "an unknown key": (b'{"requires": []}', "requires"),
    "an unknown step": (b'{"require": ["signatures"]}', "signatures"),
    "a step that is no string": (b'{"require": [1]}', "a list of strings"),
    "no list": (b'{"require": "signature"}', "a list of strings"),
    "an unknown mode": (b'{"modes": ["DEBUG"]}', "DEBUG"),
    "a driver that is no version": (b'{"minimum_driver": "new"}', "a version"),
    "a driver that is a number": (b'{"minimum_driver": 550}', "a version"),
    "a VBIOS that is no version": (b'{"minimum_vbios": "96.00"}', "a version"),
    "debugging that is no truth value": (b'{"allow_debug": 1}', "true or false"),
    "expired RIMs that are no truth value": (b'{"allow_expired_rims": "yes"}', "true or false"),
    "no time to live": (b'{"result_ttl": 0}', "a whole number from 1"),
    "a time to live that is no number": (b'{"result_ttl": true}', "a whole number from 1"),
    "a key that comes twice": (b'{"minimum_driver": "999.0", "minimum_driver": null}', "comes twice"),
    "a list of steps that comes twice": (b'{"require": ["nonce"], "require": ["chain"]}', "comes twice"),
    "too long": (b" " * (LARGEST + 1), "at most"),
    "too deep": (b"[" * 20_000, "a JSON object"),
}


@pytest.mark.parametrize("what", WRONG)
def test_a_wrong_policy_is_a_typed_error(what: str) -> None:
    data, reason = WRONG[what]
    with pytest.raises(MalformedError, match=reason):
        parse_policy(data)


@pytest.mark.parametrize(
    ("version", "minimum", "base", "enough"),
    [
        ("550.90.07", "550.90.07", 10, True),
        ("550.144.03", "550.90.07", 10, True),
        ("550.90", "550.90.07", 10, False),
        ("535.86.09", "550", 10, False),
        ("96.00.9F.00.01", "96.00.74.00.1C", 16, True),
        ("96.00.9f.00.01", "96.00.A0.00.00", 16, False),
        ("no version", "1", 10, False),
        (None, "1", 10, False),
    ],
)
def test_versions_compare_as_numbers(version: str | None, minimum: str, base: int, enough: bool) -> None:
    assert at_least(version, minimum, base) is enough


@given(
    st.recursive(st.none() | st.booleans() | st.integers() | st.text(), st.lists, max_leaves=5), st.text(max_size=20)
)
def test_any_json_is_a_policy_or_a_typed_error(value: object, key: str) -> None:
    for name in (key, *Policy.__dataclass_fields__):
        try:
            parse_policy(json.dumps({name: value}).encode())
        except MalformedError:
            continue


@given(st.binary(max_size=100))
def test_any_bytes_are_a_typed_error(data: bytes) -> None:
    with pytest.raises(MalformedError):
        parse_policy(data)
