"""The format of a whole node of NVIDIA devices: ``carnet attest node``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from carnet_command.errors import UsageError
from carnet_ref.attestation.appraisal import Appraisal
from carnet_ref.attestation.encodings import decode
from carnet_ref.attestation.formats import Against, Format, Given, Option, OptionKind
from carnet_ref.attestation.nvidia.format import NONCE_BYTES, REFERENCES
from carnet_ref.attestation.nvidia.node import appraise_node
from carnet_ref.attestation.nvidia.node_policy import DEFAULT_POLICY, NodePolicy, parse_node_policy
from carnet_ref.attestation.nvidia.results import NODE
from carnet_ref.attestation.nvidia.wrappers import MOST_DEVICES, DeviceEvidence, device_evidence
from carnet_ref.wire.reader import MalformedError


@dataclass(frozen=True, slots=True)
class NodeEvidence:
    """The devices of a node, and what OCSP responders said of their certificates."""

    devices: tuple[DeviceEvidence, ...]
    ocsp: tuple[bytes, ...]


def recognise(data: bytes, given: Given) -> NodeEvidence:
    """Return the devices in one file.

    Raises:
        MalformedError: ``data`` or a reply has no known form.
        UsageError: ``data`` is a report without its certificates.
    """
    devices = device_evidence(data)
    if any(device.chain is None for device in devices):
        raise UsageError("a report alone has no certificates: give documents that have both")
    return NodeEvidence(devices, tuple(decode(reply, "OCSP reply") for reply in given.files("ocsp")))


def combine(files: Sequence[NodeEvidence]) -> NodeEvidence:
    """Return the devices of all files as one node.

    Raises:
        MalformedError: they are more than any node has.
    """
    devices = tuple(device for file in files for device in file.devices)
    if len(devices) > MOST_DEVICES:
        raise MalformedError("node", f"at most {MOST_DEVICES} devices", f"{len(devices)}")
    return NodeEvidence(devices, files[0].ocsp)


def appraise(evidence: NodeEvidence, given: Given, against: Against[NodePolicy]) -> Appraisal:
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


FORMAT: Final = Format(
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
    default_policy=DEFAULT_POLICY,
    parse_policy=parse_node_policy,
    recognise=recognise,
    combine=combine,
    appraise=appraise,
    results=NODE,
)
"""Nodes of NVIDIA devices."""
