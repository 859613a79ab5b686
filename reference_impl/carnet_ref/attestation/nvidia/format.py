"""The formats of NVIDIA's evidence: ``carnet attest gpu``, ``carnet attest node`` and ``carnet attest rim``.

Of run-time memory only a debug mode says something to others: a GPU keeps others out of its memory and does not encrypt
it.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from carnet_command.errors import UsageError
from carnet_ref.attestation import results
from carnet_ref.attestation.appraisal import AnchorRole, Appraisal
from carnet_ref.attestation.documents import decode, decode_pem
from carnet_ref.attestation.formats import AppraisalContext, Format, NeedsOptionError, Option, OptionKind, OptionValues
from carnet_ref.attestation.kinds import Layer, LayerRole
from carnet_ref.attestation.nvidia.appraisal import (
    NODE_POLICY_FORM,
    POLICY_FORM,
    NodePolicy,
    Policy,
    appraise_gpu,
)
from carnet_ref.attestation.nvidia.node import appraise_node
from carnet_ref.attestation.nvidia.report import MOST_DEVICES, DeviceEvidence, device_evidence, parse_report, product
from carnet_ref.attestation.nvidia.rim import appraise_rim, parse_rim
from carnet_ref.crypto.certificate_path import parse_pem_chain
from carnet_ref.wire import MalformedError


def _noted(claims: Mapping[str, object]) -> Mapping[results.TrustClaim, int]:
    return {results.TrustClaim.RUNTIME_OPAQUE: results.CONTRADICTED} if claims["debugged"] else {}


def _lasting(policy: Policy) -> int:
    return policy.result_ttl


def _lasting_of_node(policy: NodePolicy) -> int:
    return policy.device.result_ttl


FIRMWARE: Final = ("firmware-id", "driver-rim", "vbios-rim", "rim-revocation", "measurements")
ROWS: Final = (
    results.TrustRow(
        results.TrustClaim.HARDWARE,
        {"chain": results.UNRECOGNISED, "validity": results.NOT_VERIFIED, "signature": results.NOT_VERIFIED},
    ),
    results.TrustRow(results.TrustClaim.INSTANCE_IDENTITY, {"revocation": results.CONTRADICTED}),
    results.TrustRow(
        results.TrustClaim.EXECUTABLES, dict.fromkeys(FIRMWARE, results.CONTRADICTED), affirmed=results.BOOTED
    ),
    results.TrustRow(results.TrustClaim.CONFIGURATION, dict.fromkeys(("mode", "debug"), results.CONTRADICTED)),
)
DEVICE: Final = results.ResultProfile(ROWS, "nonce", "nonce", _noted, _lasting)  #: Of one device.
#: Of every device of a node.
NODE: Final = results.ResultProfile(ROWS, "nonce", "nonce", _noted, _lasting_of_node, grouped=True)


NONCE_BYTES: Final = 32
#: What a device and a whole node are compared with.
REFERENCES: Final = (
    Option("rim", OptionKind.FILES, "Reference values, or a folder of them; may be repeated."),
    Option("ocsp", OptionKind.FILES, "An OCSP reply, or a folder of them; may be repeated."),
)


@dataclass(frozen=True, slots=True)
class ReportEvidence:
    """A report with its certificates in PEM, what OCSP responders said of them, and what it was found in."""

    report: bytes
    chain: bytes
    ocsp: tuple[bytes, ...]
    found_in: str | None


def recognise_report(data: bytes, given: OptionValues) -> ReportEvidence:
    """Return the report that is asked for, with its certificates.

    Raises MalformedError if ``data``, the certificates or a reply have no known form; UsageError if it is not said
    which report, or where its certificates are.
    """
    device = _chosen(device_evidence(data), given.number("device"))
    chain = given.octets("chain")
    certificates = device.chain if chain is None else decode_pem(chain, "certificate chain")
    if certificates is None:
        raise NeedsOptionError("a report alone needs --chain", "chain")
    replies = tuple(decode(reply, "OCSP reply") for reply in given.files("ocsp"))
    return ReportEvidence(device.report, certificates, replies, device.found_in)


def describe_report(evidence: ReportEvidence) -> Iterator[Layer]:
    """Yield the document, the versions that the report states, and the chip that its certificate names."""
    if evidence.found_in is not None:
        yield Layer(LayerRole.DOCUMENT, evidence.found_in)
    yield from _device_layers(evidence.report, evidence.chain)


def _device_layers(report: bytes, chain: bytes) -> Iterator[Layer]:
    stated = parse_report(report)
    versions = {"driver": stated.driver_version, "VBIOS": stated.vbios_version}
    said = ", ".join(f"{part} {version}" for part, version in versions.items() if version is not None)
    if said:
        yield Layer(LayerRole.VERSION, said)
    yield Layer(LayerRole.PRODUCT, f"{product(parse_pem_chain(chain)[0])} {stated.kind}")


def appraise_report(evidence: ReportEvidence, given: OptionValues, against: AppraisalContext[Policy]) -> Appraisal:
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
        raise NeedsOptionError(
            f"the document has {len(devices)} devices: choose one with --device 0 … {len(devices) - 1}", "device"
        )
    if (device or 0) >= len(devices):
        raise UsageError(f"there is no device {device}: the document has {len(devices)}")
    return devices[device or 0]


#: NVIDIA's reports.
DEVICE_FORMAT: Final = Format(
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
    policy=POLICY_FORM,
    recognise=recognise_report,
    appraise=appraise_report,
    describe=describe_report,
    results=DEVICE,
)


@dataclass(frozen=True, slots=True)
class NodeEvidence:
    """The devices of a node, and what OCSP responders said of their certificates."""

    devices: tuple[DeviceEvidence, ...]
    ocsp: tuple[bytes, ...]


def recognise_node(data: bytes, given: OptionValues) -> NodeEvidence:
    """Return the devices in one file.

    Raises MalformedError if ``data`` or a reply has no known form; UsageError if ``data`` is a report without its
    certificates.
    """
    devices = device_evidence(data)
    if any(device.chain is None for device in devices):
        raise NeedsOptionError("a report alone has no certificates: give documents that have both", "evidence")
    return NodeEvidence(devices, tuple(decode(reply, "OCSP reply") for reply in given.files("ocsp")))


def combine_nodes(files: Sequence[NodeEvidence]) -> NodeEvidence:
    """Return the devices of all files as one node. Raises MalformedError if they are more than any node has."""
    devices = tuple(device for file in files for device in file.devices)
    if len(devices) > MOST_DEVICES:
        raise MalformedError("node", f"at most {MOST_DEVICES} devices", f"{len(devices)}")
    return NodeEvidence(devices, files[0].ocsp)


def describe_node(evidence: NodeEvidence) -> Iterator[Layer]:
    """Yield the document of the first device, and what the devices are, each once."""
    if evidence.devices[0].found_in is not None:
        yield Layer(LayerRole.DOCUMENT, evidence.devices[0].found_in.partition(",")[0])
    layers = (layer for device in evidence.devices for layer in _device_layers(device.report, device.chain or b""))
    yield from dict.fromkeys(layers)


def appraise_node_evidence(
    evidence: NodeEvidence, given: OptionValues, against: AppraisalContext[NodePolicy]
) -> Appraisal:
    """Appraise the devices and what they are together."""
    return appraise_node(
        evidence.devices,
        at=against.at,
        policy=against.policy,
        anchors=against.anchors,
        nonce=given.octets("nonce"),
        rims=given.files("rim"),
        ocsp=evidence.ocsp,
    )


#: Nodes of NVIDIA devices.
NODE_FORMAT: Final = Format(
    argument="evidence",
    help="""Appraise every GPU and NVSwitch of a node: EVIDENCE is one or several JSON documents with their reports.

    The node is accepted if every device is, no device comes twice, all answer the same nonce, and the GPUs have the
    same driver and mode. Where reports say how devices are linked, as in protected PCIe mode, GPUs and switches have to
    name each other. Give --rim and --ocsp once for the node: each device gets what is about it.

    The policy has the keys of one for `carnet attest gpu`, and gpus, switches and require_links.
    """,
    options=(
        Option("nonce", OptionKind.HEX, "The nonce that every device was asked with.", NONCE_BYTES),
        *REFERENCES,
    ),
    policy=NODE_POLICY_FORM,
    recognise=recognise_node,
    combine=combine_nodes,
    appraise=appraise_node_evidence,
    describe=describe_node,
    results=NODE,
)


def recognise_rim(data: bytes, given: OptionValues) -> bytes:
    """Return the manifest as it is: the appraisal reads it in its first step."""
    del given
    return data


def describe_rim(evidence: bytes) -> Iterator[Layer]:
    """Yield what the reference values are for."""
    rim = parse_rim(evidence)
    yield Layer(LayerRole.VERSION, f"{rim.kind} {rim.version}")
    yield Layer(LayerRole.PRODUCT, rim.product)


def appraise_rim_file(evidence: bytes, given: OptionValues, against: AppraisalContext[None]) -> Appraisal:
    """Appraise the manifest: its certificates and its signature."""
    del given
    return appraise_rim(evidence, at=against.at, anchors=against.anchors.of(AnchorRole.NVIDIA_RIM))


#: NVIDIA's reference values, by themselves.
RIM_FORMAT: Final = Format(
    argument="rim",
    help="""Appraise RIM: one file of reference values, as NVIDIA publishes them in XML.

    It is accepted if NVIDIA signed it, by certificates valid at --at. What a GPU measured is compared with it by
    `carnet attest gpu --rim`.
    """,
    options=(),
    recognise=recognise_rim,
    appraise=appraise_rim_file,
    describe=describe_rim,
)
