"""The appraisal of a whole node: every GPU and switch by itself, and then all of them together.

A node is accepted if every device is. What one report cannot show is asked of all: that no device stands for two, that
they answer the same question, run the same driver in the same mode, and are linked to each other.

Reference values and OCSP replies are given once for the node. Each device gets those that are about it, and one that is
about no device is refused.

A GPU's signed report names the switch at the other end of each of its links, by the switch's device identifier (PDI). A
switch's report has its own identifier and those of eight GPUs. Hopper's reports do not state the GPU's own identifier,
so only the number of GPUs that a switch names can be compared. What follows the identifiers in a switch's list, a byte
for each port, is not read: its meaning is not public.

Source: as for `carnet_ref.attestation.nvidia.appraisal`; NVIDIA nvtrust, PPCIE verifier, "topology checks"; an unused
link has the identifier zero, and a switch writes its own with its bytes the other way round.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from cryptography import x509

from carnet_ref.attestation.appraisal import AnchorRole, Anchors, Appraisal, Checklist, RefusedError
from carnet_ref.attestation.nvidia.appraisal import NodePolicy, appraise_gpu
from carnet_ref.attestation.nvidia.ocsp import OcspReply, device_pairs, parse_ocsp, rim_pairs
from carnet_ref.attestation.nvidia.report import (
    DeviceEvidence,
    DeviceKind,
    GpuReport,
    Mode,
    OpaqueType,
    chips,
    parse_report,
    product,
    ueid,
)
from carnet_ref.attestation.nvidia.rim import Rim, RimKind, parse_rim
from carnet_ref.crypto.certificate_path import PathError, check_path, parse_pem_chain
from carnet_ref.wire import MalformedError

LINKS: Final = "links"
TOPOLOGY: Final = "NVIDIA nvtrust, PPCIE verifier, topology checks"
NO_LINKS: Final = "links not compared"
SWITCHES: Final = "evidence"  #: The argument by which evidence of switches is given.
PDI_BYTES: Final = 8
UNUSED: Final = bytes(PDI_BYTES)
GPUS_OF_A_SWITCH: Final = 8 * PDI_BYTES
PORTS: Final = 64  #: The sizes of the two parts of what a switch says of its links.

Names = frozenset[bytes]


def check_links(steps: Checklist, gpus: Sequence[GpuReport], switches: Sequence[GpuReport]) -> None:
    """Check that the GPUs are linked to the given switches, and the switches to as many GPUs as are given.

    Where no GPU names a switch, or no switch is here, the step is left out.

    Raises RefusedError if devices differ about their links, or do not say how they are linked.
    """
    named = [_identifiers(steps, gpu.field(OpaqueType.SWITCH_PDI) or b"") for gpu in gpus]
    if not any(named):
        steps.left_out(LINKS, "no GPU names a switch that it is linked to", TOPOLOGY, lacking=NO_LINKS)
        return
    if len(set(named)) > 1:
        steps.refuse(LINKS, "the GPUs differ in which switches they are linked to", TOPOLOGY)
    if not switches:
        why = f"the GPUs name {len(named[0])} switches, of which no evidence is given"
        steps.left_out(LINKS, why, TOPOLOGY, lacking=NO_LINKS, without=(SWITCHES,))
        return
    _check_switches(steps, named[0], switches)
    _check_gpus(steps, len(gpus), switches)
    steps.passed(LINKS, f"every GPU to the {len(switches)} switches, every switch to {len(gpus)} GPUs", TOPOLOGY)


def _check_switches(steps: Checklist, named: Names, switches: Sequence[GpuReport]) -> None:
    own = [_own(steps, switch) for switch in switches]
    if len(set(own)) < len(own):
        steps.refuse(LINKS, "two switches have the same identifier", TOPOLOGY)
    absent = sorted(named - set(own))
    if absent:
        steps.refuse(LINKS, f"the GPUs are linked to switch {absent[0].hex()}, which shows no evidence", TOPOLOGY)
    foreign = sorted(set(own) - named)
    if foreign:
        steps.refuse(LINKS, f"switch {foreign[0].hex()} is linked to none of the GPUs", TOPOLOGY)


def _check_gpus(steps: Checklist, gpus: int, switches: Sequence[GpuReport]) -> None:
    ends = [_gpus_of(steps, switch) for switch in switches]
    if len(set(ends)) > 1:
        steps.refuse(LINKS, "the switches differ in which GPUs they are linked to", TOPOLOGY)
    if len(ends[0]) != gpus:
        steps.refuse(LINKS, f"the switches are linked to {len(ends[0])} GPUs, and {gpus} show evidence", TOPOLOGY)


def _own(steps: Checklist, switch: GpuReport) -> bytes:
    """Return the identifier of a switch as GPUs write it."""
    value = switch.field(OpaqueType.SWITCH_PDI)
    if value is None or len(value) != PDI_BYTES:
        steps.refuse(LINKS, "a switch does not state its identifier", TOPOLOGY)
    return value[::-1]


def _gpus_of(steps: Checklist, switch: GpuReport) -> Names:
    """Return the identifiers of the GPUs that a switch is linked to."""
    value = switch.field(OpaqueType.SWITCH_GPU_PDIS) or b""
    if len(value) != GPUS_OF_A_SWITCH + PORTS:
        steps.refuse(LINKS, "a switch does not say which GPUs it is linked to", TOPOLOGY)
    return _identifiers(steps, value[:GPUS_OF_A_SWITCH])


def _identifiers(steps: Checklist, value: bytes) -> Names:
    """Return the identifiers in a list of them, without those of unused links."""
    if len(value) % PDI_BYTES:
        steps.refuse(LINKS, f"{len(value)} bytes are no list of identifiers of {PDI_BYTES} bytes", TOPOLOGY)
    every = (value[place : place + PDI_BYTES] for place in range(0, len(value), PDI_BYTES))
    return frozenset(each for each in every if each != UNUSED)


SOURCE: Final = "NVIDIA nvtrust, PPCIE verifier"
ALONE: Final = "give the evidence of its GPUs, too, or appraise one switch by carnet attest gpu FILE --device 0"


@dataclass(frozen=True, slots=True)
class _Device:
    """A device by the name that its steps have, with its evidence as it came and as it was read."""

    name: str
    evidence: DeviceEvidence
    report: GpuReport
    chain: tuple[x509.Certificate, ...]

    @property
    def is_gpu(self) -> bool:
        return self.report.kind is DeviceKind.GPU

    @property
    def pem(self) -> bytes:
        assert self.evidence.chain is not None, "a report without certificates was refused when it was read"
        return self.evidence.chain

    def fits(self, rim: Rim) -> bool:
        """Return whether a RIM is about devices of this kind, in whatever version."""
        return rim.product in chips(self.report, self.chain[0]) and (self.is_gpu or rim.kind is RimKind.VBIOS)

    def is_the_same_as(self, other: _Device) -> bool:
        """Return whether two devices have a serial number or an attestation key in common."""
        mine, theirs = self.chain[0], other.chain[0]
        return mine.serial_number == theirs.serial_number or mine.public_key() == theirs.public_key()

    def version(self, kind: RimKind) -> str | None:
        return self.report.driver_version if kind is RimKind.DRIVER else self.report.vbios_version


@dataclass(frozen=True, slots=True)
class _Given:
    """What was given about the node, as it came and as it was read."""

    rims: tuple[tuple[bytes, Rim], ...]
    replies: tuple[tuple[bytes, OcspReply], ...]


def appraise_node(
    devices: Sequence[DeviceEvidence],
    *,
    at: datetime,
    policy: NodePolicy,
    anchors: Anchors,
    nonce: bytes | None = None,
    rims: Sequence[bytes] = (),
    ocsp: Sequence[bytes] = (),
) -> Appraisal:
    """Appraise the devices of a node, each with its certificates.

    The steps of a device's own appraisal are listed with its name and a dot before their ids, such as ``gpu0.nonce``.

    ``at`` is when they are appraised, with a time zone; ``nonce`` are the 32 bytes that the verifier asked every device
    with, if it knows. ``rims`` are reference values of drivers and VBIOSes; ``ocsp`` are replies in DER, about
    certificates of devices or of RIM signers.
    """
    steps = Checklist()
    claims: list[Mapping[str, object]] = []
    try:
        node, given = _parse(steps, devices, rims, ocsp)
        _check_count(steps, node, policy)
        shares = _shares(steps, node, given, anchors)
        for device, (own_rims, own_replies) in zip(node, shares, strict=True):
            asked = policy.device if device.is_gpu else policy.switch
            appraisal = appraise_gpu(
                device.evidence.report,
                device.pem,
                at=at,
                policy=asked,
                anchors=anchors,
                nonce=nonce,
                rims=own_rims,
                ocsp=own_replies,
            ).found_in(device.evidence.found_in)
            steps.adopt(appraisal, device.name)
            claims.append({"name": device.name, **appraisal.claims})
        _check_together(steps, node)
        _check_links(steps, node, policy)
    except RefusedError:
        return steps.conclude({})
    return steps.conclude(_claims(node, claims))


def _parse(
    steps: Checklist, devices: Sequence[DeviceEvidence], rims: Sequence[bytes], ocsp: Sequence[bytes]
) -> tuple[list[_Device], _Given]:
    read: list[tuple[DeviceEvidence, GpuReport, tuple[x509.Certificate, ...]]] = []
    for place, device in enumerate(devices):
        try:
            if device.chain is None:
                raise MalformedError("evidence", "a report with its certificates", "a report alone")
            read.append((device, parse_report(device.report), parse_pem_chain(device.chain)))
        except MalformedError as error:
            steps.refuse("parse", f"device {place}: {error}")
    with steps.refusing("parse", MalformedError):
        given = _Given(
            tuple((rim, parse_rim(rim)) for rim in dict.fromkeys(rims)),
            tuple((reply, parse_ocsp(reply)) for reply in dict.fromkeys(ocsp)),
        )
    counts = dict.fromkeys(DeviceKind, 0)
    node = []
    for evidence, report, chain in read:
        node.append(_Device(f"{report.kind}{counts[report.kind]}", evidence, report, chain))
        counts[report.kind] += 1
    steps.passed("parse", f"{len(node)} devices, each a report with its certificates")
    return node, given


def _check_count(steps: Checklist, node: Sequence[_Device], policy: NodePolicy) -> None:
    """Tell how many devices there are, and compare it with how many the policy expects."""
    found = {"GPU": sum(device.is_gpu for device in node), "switch": sum(not device.is_gpu for device in node)}
    told = f"GPUs: {found['GPU']}, switches: {found['switch']}"
    expected = {"GPU": policy.gpus, "switch": policy.switches}
    if not found["GPU"]:
        steps.refuse("count", f"{told}: a node has a GPU; {ALONE}")
    wrong = next((kind for kind, count in expected.items() if count is not None and count != found[kind]), None)
    if wrong is not None:
        steps.refuse("count", f"{told}; the policy expects {expected[wrong]} of the kind {wrong}")
    if None in expected.values():
        steps.left_out("count", told, lacking="number of devices not compared")
    else:
        steps.passed("count", told)


_Shares = list[tuple[list[bytes], list[bytes]]]  #: For each device, the RIMs and the OCSP replies that are about it.


def _shares(steps: Checklist, node: Sequence[_Device], given: _Given, anchors: Anchors) -> _Shares:
    """Share out what was given, and insist that nothing of it is about no device."""
    for _, rim in given.rims:
        if not any(device.fits(rim) for device in node):
            steps.refuse("rims", f"the {rim.kind} RIM {rim.version} for {rim.product} is about no device of the node")
    if given.rims:
        steps.passed("rims", f"{len(given.rims)}, each about a kind of device of the node", without=("rim",))
    else:
        steps.left_out("rims", "no reference values are given", without=("rim",))
    chosen = [_chosen_rims(device, given) for device in node]
    found = [_root_of(device, anchors) for device in node]
    needed = [
        [*(device_pairs(device.chain, root) if root else ()), *rim_pairs([rim for _, rim in rims], anchors)]
        for device, rims, root in zip(node, chosen, found, strict=True)
    ]
    for place, (_, reply) in enumerate(given.replies, start=1):
        about = any(reply.is_about(*pair) for pairs in needed for pair in pairs)
        if not about and None not in found:  # a chain under no root is refused at its own step
            steps.refuse("revocation", f"reply {place} is about no certificate of the node", without=("rim",))
    if given.replies:
        steps.passed("revocation", f"{len(given.replies)}, each about a certificate of the node", without=("ocsp",))
    else:
        steps.left_out("revocation", "no OCSP replies are given", without=("ocsp",))
    replies = [[data for data, reply in given.replies if any(reply.is_about(*p) for p in pairs)] for pairs in needed]
    return [([data for data, _ in rims], own) for rims, own in zip(chosen, replies, strict=True)]


def _chosen_rims(device: _Device, given: _Given) -> list[tuple[bytes, Rim]]:
    """Return the RIM of each kind for a device: that of its version, or one of another, which its step then refuses."""
    chosen = []
    for kind in RimKind:
        fitting = [(data, rim) for data, rim in given.rims if rim.kind is kind and device.fits(rim)]
        version = (device.version(kind) or "").lower()
        same = [(data, rim) for data, rim in fitting if rim.version.lower() == version]
        chosen += (same or fitting)[:1] if len(same) < 2 else same
    return chosen


def _root_of(device: _Device, anchors: Anchors) -> x509.Certificate | None:
    try:
        return check_path(device.chain, anchors.of(AnchorRole.NVIDIA_DEVICE))
    except PathError:
        return None


def _check_together(steps: Checklist, node: Sequence[_Device]) -> None:
    """Take the steps about all devices, of which each has been appraised by now."""
    for place, device in enumerate(node):
        known = next((other for other in node[:place] if device.is_the_same_as(other)), None)
        if known is not None:
            steps.refuse("distinct", f"{device.name} and {known.name} are one device, unit {ueid(device.chain[0])}")
    steps.passed("distinct", f"{len(node)} devices, no serial number or key twice")
    gpus = [device for device in node if device.is_gpu]
    products = {product(gpu.chain[0]) for gpu in gpus}
    posing = next((device for device in node if not device.is_gpu and product(device.chain[0]) in products), None)
    if posing is not None:
        steps.refuse("kinds", f"{posing.name} is a {product(posing.chain[0])} and states no driver, as a switch would")
    steps.passed("kinds", "no GPU passes for a switch")
    _check_one(steps, "one-nonce", "nonce", [device.report.nonce.hex() for device in node])
    _check_one(steps, "one-driver", "driver", [gpu.report.driver_version for gpu in gpus])
    _check_one(steps, "one-mode", "mode", [gpu.report.mode for gpu in gpus])


def _check_one(steps: Checklist, step: str, what: str, values: Sequence[str | None]) -> None:
    """Insist that devices do not differ in something."""
    different = sorted({value or "none" for value in values})
    otherwise = f"the devices differ in their {what}: {', '.join(different)}"
    steps.require(len(different) == 1, step, f"every {what} is {different[0]}", otherwise, SOURCE)


def _check_links(steps: Checklist, node: Sequence[_Device], policy: NodePolicy) -> None:
    gpus, switches = ([each.report for each in node if each.is_gpu is kind] for kind in (True, False))
    check_links(steps, gpus, switches)
    linked = len(gpus) > 1 and gpus[0].mode is Mode.PROTECTED_PCIE
    asked = linked if policy.require_links is None else policy.require_links
    if asked and LINKS not in steps.held:
        why = "" if policy.require_links else ", which GPUs in the mode PPCIE need unless the policy says otherwise"
        steps.refuse("policy", f"asked for and not taken: {LINKS}{why}", without=(SWITCHES,))
    steps.passed("policy", "every device was accepted, and all together")


def _claims(node: Sequence[_Device], devices: Sequence[Mapping[str, object]]) -> dict[str, object]:
    first = next(device.report for device in node if device.is_gpu)
    return {
        "gpus": sum(device.is_gpu for device in node),
        "switches": sum(not device.is_gpu for device in node),
        "nonce": first.nonce.hex(),
        "driver_version": first.driver_version,
        "mode": first.mode.value if first.mode else None,
        "devices": [dict(device) for device in devices],
    }
