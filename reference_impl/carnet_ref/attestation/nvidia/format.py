"""The format of NVIDIA's reports: ``carnet attest gpu``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from carnet_command.errors import UsageError
from carnet_ref.attestation.appraisal import Appraisal
from carnet_ref.attestation.encodings import DeviceEvidence, decode, decode_pem, device_evidence
from carnet_ref.attestation.formats import Against, Format, Given, Option, OptionKind
from carnet_ref.attestation.nvidia.appraisal import appraise_gpu
from carnet_ref.attestation.nvidia.policy import DEFAULT_POLICY, Policy, parse_policy

NONCE_BYTES: Final = 32


@dataclass(frozen=True, slots=True)
class ReportEvidence:
    """A report with its certificates in PEM, and what OCSP responders said of them."""

    report: bytes
    chain: bytes
    ocsp: tuple[bytes, ...]


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
    return ReportEvidence(
        device.report, certificates, tuple(decode(reply, "OCSP reply") for reply in given.files("ocsp"))
    )


def appraise(evidence: ReportEvidence, given: Given, against: Against[Policy]) -> Appraisal:
    """Appraise the report, its certificates and the replies."""
    return appraise_gpu(
        evidence.report,
        evidence.chain,
        at=against.at,
        policy=against.policy,
        anchors=against.anchors,
        nonce=given.octets("nonce"),
        rims=given.files("rim"),
        ocsp=evidence.ocsp,
    )


def _chosen(devices: tuple[DeviceEvidence, ...], device: int | None) -> DeviceEvidence:
    if device is None and len(devices) > 1:
        raise UsageError(f"the bundle has {len(devices)} devices: choose one with --device 0 … {len(devices) - 1}")
    if (device or 0) >= len(devices):
        raise UsageError(f"there is no device {device}: the bundle has {len(devices)}")
    return devices[device or 0]


FORMAT: Final = Format(
    argument="report",
    help="""Appraise REPORT: raw, hexadecimal or base64, or a JSON bundle of several devices.

    Without --nonce, --rim or --ocsp the steps that need them are listed as not requested. The default policy asks for a
    genuine report: certificates up to NVIDIA's root, valid at --at, the signature, and the firmware id where sent.
    """,
    options=(
        Option("chain", OptionKind.FILE, "The device's certificates; a bundle has its own."),
        Option("device", OptionKind.NUMBER, "Which device of a bundle, from 0."),
        Option("nonce", OptionKind.HEX, "The nonce that the report was asked with.", NONCE_BYTES),
        Option("rim", OptionKind.FILES, "Reference values; may be repeated."),
        Option("ocsp", OptionKind.FILES, "An OCSP reply; may be repeated."),
    ),
    default_policy=DEFAULT_POLICY,
    parse_policy=parse_policy,
    recognise=recognise,
    appraise=appraise,
)
"""NVIDIA's reports."""
