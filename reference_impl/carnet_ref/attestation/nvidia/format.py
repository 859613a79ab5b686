"""The format of NVIDIA's reports: ``carnet attest gpu``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from carnet_command.errors import UsageError
from carnet_ref.attestation.appraisal import Appraisal
from carnet_ref.attestation.encodings import decode, decode_pem
from carnet_ref.attestation.formats import Against, Format, Given, Option, OptionKind
from carnet_ref.attestation.nvidia.appraisal import appraise_gpu
from carnet_ref.attestation.nvidia.policy import DEFAULT_POLICY, Policy, parse_policy
from carnet_ref.attestation.nvidia.results import DEVICE
from carnet_ref.attestation.nvidia.wrappers import DeviceEvidence, device_evidence

NONCE_BYTES: Final = 32
REFERENCES: Final = (
    Option("rim", OptionKind.FILES, "Reference values, or a folder of them; may be repeated."),
    Option("ocsp", OptionKind.FILES, "An OCSP reply, or a folder of them; may be repeated."),
)
"""What a device and a whole node are compared with."""


@dataclass(frozen=True, slots=True)
class ReportEvidence:
    """A report with its certificates in PEM, what OCSP responders said of them, and what it was found in."""

    report: bytes
    chain: bytes
    ocsp: tuple[bytes, ...]
    found_in: str | None


def recognise(data: bytes, given: Given) -> ReportEvidence:
    """Return the report that is asked for, with its certificates.

    Raises:
        MalformedError: ``data``, the certificates or a reply have no known form.
        UsageError: it is not said which report, or where its certificates are.
    """
    device = _chosen(device_evidence(data), given.number("device"))
    chain = given.octets("chain")
    certificates = device.chain if chain is None else decode_pem(chain, "certificate chain")
    if certificates is None:
        raise UsageError("a report alone needs --chain")
    replies = tuple(decode(reply, "OCSP reply") for reply in given.files("ocsp"))
    return ReportEvidence(device.report, certificates, replies, device.found_in)


def appraise(evidence: ReportEvidence, given: Given, against: Against[Policy]) -> Appraisal:
    """Appraise the report, its certificates and the replies."""
    appraisal = appraise_gpu(
        evidence.report,
        evidence.chain,
        at=against.at,
        policy=against.policy,
        anchors=against.anchors,
        nonce=given.octets("nonce"),
        rims=given.files("rim"),
        ocsp=evidence.ocsp,
    )
    return appraisal.found_in(evidence.found_in)


def _chosen(devices: tuple[DeviceEvidence, ...], device: int | None) -> DeviceEvidence:
    if device is None and len(devices) > 1:
        raise UsageError(f"the document has {len(devices)} devices: choose one with --device 0 … {len(devices) - 1}")
    if (device or 0) >= len(devices):
        raise UsageError(f"there is no device {device}: the document has {len(devices)}")
    return devices[device or 0]


FORMAT: Final = Format(
    argument="report",
    help="""Appraise REPORT: raw, hexadecimal or base64, or a JSON document with one or several devices.

    Known documents: evidence as NVIDIA's SDKs and Python verifier write it, one object with evidence and certificate,
    requests to NVIDIA's remote attestation service, and answers with a list of evidences or an nvidia_payload. The
    first step names the document.

    Without --nonce, --rim or --ocsp the steps that need them are listed as not requested. The default policy asks for a
    genuine report: certificates up to NVIDIA's root, valid at --at, the signature, and the firmware id where sent.
    """,
    options=(
        Option("chain", OptionKind.FILE, "The device's certificates; a document has its own."),
        Option("device", OptionKind.NUMBER, "Which device of a document, from 0."),
        Option("nonce", OptionKind.HEX, "The nonce that the report was asked with.", NONCE_BYTES),
        *REFERENCES,
    ),
    default_policy=DEFAULT_POLICY,
    parse_policy=parse_policy,
    recognise=recognise,
    appraise=appraise,
    results=DEVICE,
)
"""NVIDIA's reports."""
