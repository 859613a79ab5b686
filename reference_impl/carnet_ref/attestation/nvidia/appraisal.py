"""The appraisal of one NVIDIA report: bytes and a time in, numbered steps and claims out. Nothing else is read.

* The signature comes before everything that the report says, because until then nobody has said it.
* What the verifier was not given (nonce, reference values, OCSP replies) is listed as not requested; a policy may ask.
* NVIDIA's reports at hand have no debug flag: a debug fuse or firmware shows as a measurement that matches no RIM. A
  report that does state a device mode is held to it, and a policy may insist that it states one.
* The report is not bound to a session or to a confidential VM; that is for the composite appraisal.

A policy is what a relying party asks of a GPU or switch, and of a whole node, as data. One that asks for no step
accepts nothing. The steps ``parse``, ``chain``, ``validity`` and ``signature`` are taken whatever the policy says, and
so is every step that evidence was given for; a policy names the steps without which it will not accept.

Source: NVIDIA, "Attestation" (docs.nvidia.com/attestation), the steps of the local verifier; RFC 9334, section 8.
"""

import hmac
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Final

from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec

from carnet_ref.attestation.appraisal import (
    NO_FIRMWARE,
    NO_REVOCATION,
    NOT_FRESH,
    POLICY,
    X509_PATH,
    X509_TIME,
    AnchorRole,
    Anchors,
    Appraisal,
    Checklist,
    Difference,
    RefusedError,
)
from carnet_ref.attestation.nvidia.ocsp import (
    OCSP,
    OcspReply,
    check_replies,
    device_pairs,
    parse_ocsp,
    rim_pairs,
    with_issuers,
)
from carnet_ref.attestation.nvidia.report import (
    DeviceKind,
    GpuReport,
    Mode,
    OpaqueType,
    board,
    chips,
    driver_rim_id,
    firmware_id,
    parse_report,
    product,
    ueid,
    vbios_rim_id,
)
from carnet_ref.attestation.nvidia.rim import EXPIRED_RIM, Rim, RimKind, check_rim, parse_rim
from carnet_ref.attestation.policies import (
    AppraisalPolicy,
    Flag,
    Number,
    PolicyForm,
    Preset,
    Text,
    Texts,
    Words,
    declared_keys,
    policy_form,
    policy_key,
)
from carnet_ref.crypto.certificate_path import TIME, PathError, check_path, name, parse_pem_chain, validity
from carnet_ref.crypto.primitives import CryptoError, verify_p384
from carnet_ref.wire import MalformedError

STEPS = (
    "parse",
    "chain",
    "validity",
    "revocation",
    "signature",
    "firmware-id",
    "nonce",
    "driver-rim",
    "vbios-rim",
    "rim-revocation",
    "measurements",
    "mode",
    "debug",
    "policy",
)
DEFAULT_STEPS = frozenset({"chain", "validity", "signature"})
DRIVER = Text(r"[0-9]{1,5}(\.[0-9]{1,5}){0,4}", "a version such as 550.90.07")
VBIOS = Text(r"[0-9A-Fa-f]{2}(\.[0-9A-Fa-f]{2}){4}", "a version such as 96.00.9F.00.01")
HOUR = 3600


@dataclass(frozen=True, slots=True)
class Policy(AppraisalPolicy):
    """The demands on a device; each key documents its meaning."""

    require: frozenset[str] = policy_key(
        Words(STEPS),
        frozenset(),
        "the steps that have to be taken and hold, beside those of the preset; where reference values are given, "
        "revocation covers their signers, too",
    )
    products: frozenset[str] | None = policy_key(Texts(), None, "the chips accepted, such as GH100")
    minimum_driver: str | None = policy_key(DRIVER, None, "the oldest driver accepted, such as 550.90.07")
    minimum_vbios: str | None = policy_key(VBIOS, None, "the oldest VBIOS accepted, such as 96.00.9F.00.01")
    modes: frozenset[Mode] | None = policy_key(Words(tuple(Mode)), None, "the modes accepted")
    allow_debug: bool = policy_key(
        Flag(), False, "whether a device may say that it is debugged, or was since its last reset"
    )
    result_ttl: int = policy_key(Number(1), HOUR, "for how many seconds a result may be relied on")
    allow_expired_rims: bool = policy_key(
        Flag(), False, "whether reference values count whose signer's certificates have run out since they were signed"
    )


@dataclass(frozen=True, slots=True)
class Firmware:
    """The versions of the driver's part and the VBIOS of a device."""

    driver: str
    vbios: str


COMPARED = frozenset(
    {"nonce", "revocation", "firmware-id", "driver-rim", "vbios-rim", "rim-revocation", "measurements"}
)
STRICT = {"require": DEFAULT_STEPS | COMPARED | {"mode"}, "modes": frozenset(Mode)}
INVENTORY = {"require": DEFAULT_STEPS, "allow_debug": True}
POLICY_FORM = policy_form(Policy, default={"require": DEFAULT_STEPS}, strict=STRICT, inventory=INVENTORY)
DEFAULT_POLICY = POLICY_FORM.default_policy
parse_policy = POLICY_FORM.parse


def at_least(version: str | None, minimum: str, base: int) -> bool:
    """Whether ``version`` is ``minimum`` or newer, both being numbers in ``base`` with dots between them."""
    if version is None:
        return False
    try:
        return [int(part, base) for part in version.split(".")] >= [int(part, base) for part in minimum.split(".")]
    except ValueError:
        return False


#: Steps for which the reports of switches have nothing.
ONLY_GPUS: Final = frozenset({"driver-rim", "mode", "firmware-id"})


@dataclass(frozen=True, slots=True)
class NodePolicy:
    """The demands on each GPU, as ``device``, and on all devices together."""

    device: Policy = DEFAULT_POLICY
    gpus: int | None = policy_key(Number(1), None, "how many GPUs there have to be")
    switches: int | None = policy_key(Number(), None, "how many switches there have to be")
    require_links: bool | None = policy_key(
        Flag(),
        None,
        "whether links between GPUs and switches have to be compared; null: of several GPUs in protected PCIe mode",
    )

    @property
    def switch(self) -> Policy:
        """What is asked of each switch: the same, but for what only GPUs state; always that it signed its report."""
        asked = self.device.require and (self.device.require - ONLY_GPUS) | {"signature"}
        return replace(self.device, require=asked, modes=None)


DEVICE_KEYS: Final = declared_keys(Policy)


def _node_policy(values: Mapping[str, Any], preset: Preset) -> NodePolicy:
    device = {name: value for name, value in values.items() if name in DEVICE_KEYS}
    node = {name: value for name, value in values.items() if name not in DEVICE_KEYS}
    return NodePolicy(Policy(**device, preset=preset), **node)


NODE_POLICY_FORM: Final = PolicyForm(
    declared_keys(Policy, NodePolicy),
    _node_policy,
    default=POLICY_FORM.default,
    strict=STRICT,
    inventory={**INVENTORY, "require_links": False},
)
DEFAULT_NODE_POLICY: Final = NODE_POLICY_FORM.default_policy
parse_node_policy: Final = NODE_POLICY_FORM.parse


SPDM_SIGNATURE = "DMTF DSP0274 1.1.0, MEASUREMENTS response, Signature"
DEVICE_MODE = "DMTF DSP0274 1.2.1, device mode"
DICE = "TCG DICE Attestation Architecture, TcbInfo fwids"
GOLDEN = "NVIDIA nvtrust, local verifier, verify_measurements"
PATH_LENGTH = 5  # attestation key, boot ROM, provisioner, model, root
NO_FIRMWARE_ID = "firmware id not stated"
NO_SIGNERS = "revocation of RIM signers not checked"
NO_RIM = {RimKind.DRIVER: "driver not compared", RimKind.VBIOS: "VBIOS not compared"}
NVDEC0_INDEX = 35  # the measurement of video decoder 0, which means nothing where that is off


@dataclass(frozen=True, slots=True)
class _Evidence:
    """Everything given, parsed."""

    report: GpuReport
    chain: tuple[x509.Certificate, ...]
    rims: tuple[Rim, ...]
    replies: tuple[OcspReply, ...]
    leaf_firmware_id: bytes | None

    def rim(self, kind: RimKind) -> Rim | None:
        return next((rim for rim in self.rims if rim.kind is kind), None)

    @property
    def chips(self) -> frozenset[str]:
        return chips(self.report, self.chain[0])

    @property
    def chip(self) -> str:
        """The chip in words, by its longest known name."""
        line = product(self.chain[0])
        return f"{self.report.chip} ({line})" if len(self.chips) > 1 else line

    @property
    def rim_ids(self) -> Mapping[RimKind, str | None]:
        """The ids of the reference values for what the device says that it is; ``None`` where it does not say."""
        chip = product(self.chain[0])
        return {RimKind.DRIVER: driver_rim_id(self.report, chip), RimKind.VBIOS: vbios_rim_id(self.report, chip)}

    @property
    def without(self) -> tuple[str, ...]:
        """The option that would add reference values, where there is something that none of those here is about."""
        whole = {RimKind.VBIOS} if self.report.kind is DeviceKind.SWITCH else set(RimKind)
        return ("rim",) if whole - {rim.kind for rim in self.rims} else ()


def appraise_gpu(
    report: bytes,
    chain: bytes,
    *,
    at: datetime,
    policy: Policy,
    anchors: Anchors,
    nonce: bytes | None = None,
    rims: Sequence[bytes] = (),
    ocsp: Sequence[bytes] = (),
) -> Appraisal:
    """Appraise the report of a GPU or switch.

    ``chain`` has the device's certificates in PEM, attestation key first; ``at`` is when it is appraised, with a time
    zone. ``nonce`` are the 32 bytes that the verifier asked with, if it knows. ``rims`` are the reference values of the
    driver and of the VBIOS, either or both; ``ocsp`` are replies in DER, about certificates of the device or of RIM
    signers.
    """
    steps = Checklist()
    try:
        evidence = _parse(steps, report, chain, rims, ocsp)
        _check_device(steps, evidence, at, anchors)
        _check_report(steps, evidence, nonce)
        _check_reference_values(steps, evidence, at, anchors, policy)
        _check_policy(steps, evidence, policy)
    except RefusedError:
        return steps.conclude({})
    return steps.conclude(_claims(evidence))


def valid_until(
    chain: Sequence[x509.Certificate], rims: Sequence[bytes], ocsp: Sequence[bytes], anchors: Anchors
) -> datetime:
    """Return the time until which accepted evidence counts: the first expiry of anything that the appraisal used.

    That is a certificate of the device, of a signer of reference values or of a responder, a root, or an OCSP reply.

    Raises MalformedError if a RIM or a reply is none; PathError if certificates lead to no root.
    """
    replies = [parse_ocsp(reply) for reply in ocsp]
    paths = [(chain, AnchorRole.NVIDIA_DEVICE)]
    paths += [(parse_rim(rim).certificates, AnchorRole.NVIDIA_RIM) for rim in rims]
    certificates = [each for path, role in paths for each in (*path, check_path(path, anchors.of(role)))]
    responders = [each for reply in replies for each in reply.responders]
    ends = [reply.next_update for reply in replies if reply.next_update is not None]
    return min([validity([*certificates, *responders])[1], *ends])


def _parse(steps: Checklist, report: bytes, chain: bytes, rims: Sequence[bytes], ocsp: Sequence[bytes]) -> _Evidence:
    with steps.refusing("parse", MalformedError):
        parsed = parse_report(report)
        certificates = parse_pem_chain(chain)
        evidence = _Evidence(
            parsed,
            certificates,
            tuple(parse_rim(rim) for rim in rims),
            tuple(parse_ocsp(reply) for reply in ocsp),
            firmware_id(certificates[0]),
        )
    kinds = [rim.kind for rim in evidence.rims]
    if len(set(kinds)) != len(kinds):
        steps.refuse("parse", "two RIMs are about the same thing; which of them counts is not for the evidence to say")
    detail = f"{parsed.kind} report of {len(report)} bytes, {len(parsed.measurements)} measurements"
    steps.passed("parse", f"{detail}, {len(certificates)} certificates")
    return evidence


def _check_device(steps: Checklist, evidence: _Evidence, at: datetime, anchors: Anchors) -> None:
    """Take the steps about the device's certificates."""
    with steps.refusing("chain", PathError, X509_PATH):
        anchor = check_path(evidence.chain, anchors.of(AnchorRole.NVIDIA_DEVICE))
    length = len(with_issuers(evidence.chain, anchor)) + 1
    if length != PATH_LENGTH:
        steps.refuse("chain", f"a device's path has {PATH_LENGTH} certificates, this one {length}", X509_PATH)
    steps.passed("chain", f"{name(evidence.chain[0])} up to {name(anchor)}", X509_PATH)
    steps.require_valid([*evidence.chain, anchor], at)
    _check_revocation(steps, evidence, at, anchor, anchors)


def _check_revocation(
    steps: Checklist, evidence: _Evidence, at: datetime, anchor: x509.Certificate, anchors: Anchors
) -> None:
    """Check the replies about the device: they must cover each certificate between the leaf and the root.

    Replies about signers of RIMs have a step of their own; one about neither is refused here.
    """
    needed = device_pairs(evidence.chain, anchor)
    known = [*needed, *rim_pairs(evidence.rims, anchors)]
    for place, reply in enumerate(evidence.replies, start=1):
        if not any(reply.is_about(*pair) for pair in known):
            stray = f"reply {place} is about no certificate of this evidence"
            steps.refuse("revocation", stray, OCSP, without=("rim",))
    missing = check_replies(steps, "revocation", needed, evidence.replies, at, NO_REVOCATION)
    if missing:
        steps.refuse("revocation", f"no reply about {missing}", OCSP, without=("ocsp",))


def _check_report(steps: Checklist, evidence: _Evidence, nonce: bytes | None) -> None:
    """Take the steps about what the device signed."""
    report = evidence.report
    steps.require(
        _is_signed(report, evidence.chain[0]),
        "signature",
        f"ECDSA P-384 over {len(report.signed)} bytes",
        f"the signature does not verify with the key of {name(evidence.chain[0])}, unit {ueid(evidence.chain[0])}",
        SPDM_SIGNATURE,
    )
    _check_firmware_id(steps, evidence)
    if nonce is None:
        steps.not_requested("nonce", "nonce", lacking=NOT_FRESH)
        return
    found = f"the report has {report.nonce.hex()}, not {nonce.hex()}"
    steps.require(hmac.compare_digest(report.nonce, nonce), "nonce", "the nonce asked with", found, SPDM_SIGNATURE)


def _is_signed(report: GpuReport, leaf: x509.Certificate) -> bool:
    key = leaf.public_key()
    if not isinstance(key, ec.EllipticCurvePublicKey):
        return False
    try:
        verify_p384(key, report.signature, report.signed)
    except CryptoError:
        return False
    return True


def _check_firmware_id(steps: Checklist, evidence: _Evidence) -> None:
    said, certified = evidence.report.firmware_id, evidence.leaf_firmware_id
    if said is None:
        steps.left_out(
            "firmware-id",
            "the report has none, as with drivers before 550 and LS10 switches",
            DICE,
            lacking=NO_FIRMWARE_ID,
        )
        return
    otherwise = f"the report says {said.hex()}, the certificate {certified.hex() if certified else 'nothing'}"
    steps.require(said == certified, "firmware-id", "the one that the key was derived for", otherwise, DICE)


def _check_reference_values(
    steps: Checklist, evidence: _Evidence, at: datetime, anchors: Anchors, policy: Policy
) -> None:
    """Take the steps about the RIMs and about the measurements that they expect."""
    report = evidence.report
    for kind in RimKind:
        rim = evidence.rim(kind)
        if rim is not None:
            _check_rim(steps, rim, evidence, at, anchors, policy)
        elif kind is RimKind.DRIVER and report.kind is DeviceKind.SWITCH:
            steps.left_out("driver-rim", "a switch has no driver", without=("rim",))
        else:
            lacking = NO_RIM[kind] if evidence.rims else NO_FIRMWARE
            wanted = evidence.rim_ids[kind]
            told = f"not requested; NVIDIA's RIM service has it as {wanted}" if wanted else "not requested"
            steps.left_out(f"{kind}-rim", told, lacking=lacking, without=("rim",))
    _check_signers_revocation(steps, evidence, at, anchors)
    if evidence.rims:
        _check_measurements(steps, evidence)
    else:
        steps.not_requested("measurements", "rim", lacking=NO_FIRMWARE)


def _check_signers_revocation(steps: Checklist, evidence: _Evidence, at: datetime, anchors: Anchors) -> None:
    if not evidence.rims:
        steps.not_requested("rim-revocation", "rim", OCSP, lacking=NO_FIRMWARE)
        return
    lacking = NO_SIGNERS if "revocation" in steps.held else NO_REVOCATION
    signers = rim_pairs(evidence.rims, anchors)
    without = evidence.without
    unanswered = check_replies(steps, "rim-revocation", signers, evidence.replies, at, lacking, without)
    if unanswered:
        why = f"no reply about {unanswered}"
        steps.left_out("rim-revocation", why, OCSP, lacking=NO_SIGNERS, without=("ocsp",))


def _check_rim(steps: Checklist, rim: Rim, evidence: _Evidence, at: datetime, anchors: Anchors, policy: Policy) -> None:
    step, source = f"{rim.kind}-rim", "TCG RIM Information Model 1.01"
    version = evidence.report.driver_version if rim.kind is RimKind.DRIVER else evidence.report.vbios_version
    fits = version is not None and rim.version.lower() == version.lower()
    without = () if fits else ("rim",)  # that of the device's version
    signed = Checklist()
    try:
        trusted = anchors.of(AnchorRole.NVIDIA_RIM)
        check_rim(signed, rim, at=at, anchors=trusted, allow_expired=policy.allow_expired_rims)
    except RefusedError as error:
        why, blamed = f"{error.step.id}: {error.step.detail}", error.step.differences
        steps.refuse(step, why, error.step.source, without=without, differences=blamed)
    if rim.product not in evidence.chips:
        steps.refuse(step, f"product: the RIM is for {rim.product}, the device is a {evidence.chip}", source)
    if not fits:
        wanted = evidence.rim_ids[rim.kind]
        wrong = f"version: the RIM is for {rim.version}, the report says {version}"
        wrong += f"; NVIDIA's RIM service has that one as {wanted}" if wanted else ""
        steps.refuse(step, wrong, source, without=without)
    if "validity" in signed.held:
        steps.passed(step, f"{rim.version} for {rim.product}, signed and valid", source)
    else:
        steps.passed(step, f"{rim.version} for {rim.product}, signed by a certificate that has run out", source)
        steps.left_out(f"{step}-validity", "the policy allows it", X509_TIME, lacking=EXPIRED_RIM)


def _check_measurements(steps: Checklist, evidence: _Evidence) -> None:
    """Compare each active index with the measurement of that place; SPDM numbers the same block one higher."""
    report, rims = evidence.report, evidence.rims
    empty = next((rim for rim in rims if not rim.golden), None)
    if empty is not None:
        steps.refuse("measurements", f"no index is active in the {empty.kind} RIM")
    indices = [index for rim in rims for index in rim.golden]
    twice = sorted({index for index in indices if indices.count(index) > 1})
    if twice:
        steps.refuse("measurements", f"index {twice[0]} is active in both RIMs")
    golden = {index: values for rim in rims for index, values in rim.golden.items()}
    wrong = [
        index
        for index, values in sorted(golden.items())
        if not (index < len(report.measurements) and report.measurements[index] in values)
    ]
    ignored = [index for index in wrong if index == NVDEC0_INDEX and report.nvdec0_disabled]
    counted = [index for index in wrong if index not in ignored]
    detail = f"{len(golden) - len(wrong)} of {len(golden)} match"
    if ignored:
        detail += f"; index {NVDEC0_INDEX} is not held against a device whose video decoder 0 is off"
    if counted:
        different = [_difference(evidence, rim, index) for index in counted for rim in rims if index in rim.golden]
        told = f"{detail}; wrong: {', '.join(map(str, counted))}"
        steps.refuse("measurements", told, GOLDEN, differences=different)
    steps.passed("measurements", detail, GOLDEN, without=evidence.without)


def _difference(evidence: _Evidence, rim: Rim, index: int) -> Difference:
    """Return what a device measured at an index, and what a RIM expects there.

    A RIM has no date of its own; that from which on its signer's certificate counts says how old it is at most.
    """
    measured, called = evidence.report.measurements, rim.names.get(index)
    since = rim.certificates[0].not_valid_before_utc
    rim_id = evidence.rim_ids[rim.kind]
    return Difference(
        f"measurement {index}" + (f" ({called})" if called else ""),
        measured[index].hex() if index < len(measured) else "none",
        tuple(value.hex() for value in rim.golden[index]),
        f"the {rim.kind} RIM {rim_id or rim.version}, signed by a certificate of {since:{TIME}}",
        {
            "index": index,
            "name": called,
            "rim": rim.kind.value,
            "rim_id": rim_id,
            "rim_version": rim.version,
            "rim_tag": rim.tag_id,
            "rim_signer_valid_from": f"{since:{TIME}}",
        },
    )


def _check_policy(steps: Checklist, evidence: _Evidence, policy: Policy) -> None:
    """Take the steps about what the relying party asks."""
    mode = evidence.report.mode
    if policy.modes is None:
        steps.not_requested("mode", POLICY, lacking="mode not compared")
    else:
        said = mode or "not said"
        otherwise = f"the mode is {said}; accepted: {', '.join(sorted(policy.modes)) or 'none'}"
        steps.require(mode in policy.modes, "mode", f"the mode is {said}", otherwise)
    _check_debug(steps, evidence.report, policy)
    problem = _policy_problem(evidence, policy)
    if problem is not None:
        steps.refuse("policy", problem)
    signers = {"rim-revocation"} if evidence.rims and "revocation" in policy.require else frozenset()
    steps.require_taken(policy, signers, without=evidence.without if "revocation" in policy.require else ())


def _check_debug(steps: Checklist, report: GpuReport, policy: Policy) -> None:
    if report.device_mode is None:
        steps.left_out("debug", "the report states no device mode", DEVICE_MODE)
    elif policy.allow_debug:
        steps.not_requested("debug", POLICY, DEVICE_MODE, lacking="debug mode not compared")
    else:
        state = report.device_mode.debug
        otherwise = f"the device is or was debugged since its reset: {state.name or state.value}"
        steps.require(
            not report.device_mode.is_debugged, "debug", "no debug mode since the reset", otherwise, DEVICE_MODE
        )


def _policy_problem(evidence: _Evidence, policy: Policy) -> str | None:
    report = evidence.report
    if policy.products is not None and not evidence.chips & policy.products:
        return f"the device is a {evidence.chip}; accepted: {', '.join(sorted(policy.products)) or 'none'}"
    driver = policy.minimum_driver if report.kind is DeviceKind.GPU else None
    if driver is not None and not at_least(report.driver_version, driver, 10):
        return f"driver {report.driver_version} is older than {driver}"
    if policy.minimum_vbios is not None and not at_least(report.vbios_version, policy.minimum_vbios, 16):
        return f"VBIOS {report.vbios_version} is older than {policy.minimum_vbios}"
    return None


def _claims(evidence: _Evidence) -> dict[str, object]:
    report, leaf = evidence.report, evidence.chain[0]
    firmware = report.firmware_id
    return {
        "kind": report.kind.value,
        "product": product(leaf),
        "chip": report.chip,
        "ueid": ueid(leaf),
        "nonce": report.nonce.hex(),
        "driver_version": report.driver_version,
        "vbios_version": report.vbios_version,
        **dict(zip(("project", "project_sku", "chip_sku"), board(report), strict=True)),
        **{f"{kind}_rim_id": rim_id for kind, rim_id in evidence.rim_ids.items()},
        "firmware_id": firmware.hex() if firmware else None,
        "mode": report.mode.value if report.mode else None,
        "debugged": None if report.device_mode is None else report.device_mode.is_debugged,
        "unread_fields": sorted({field.type for field in report.opaque} - set(OpaqueType)),
    }
