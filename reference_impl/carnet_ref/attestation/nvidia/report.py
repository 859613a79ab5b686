"""The attestation report of an NVIDIA GPU or NVSwitch and the certificates of the device, as typed values.

A report is a GET_MEASUREMENTS request and its MEASUREMENTS response, one after the other and little-endian. The
device signs everything before the signature, the request with the caller's nonce included.

A report may state the device mode: which operational mode a device is in, and whether it was debugged. That is a
measurement block of its own, at an index that no firmware uses. SPDM defines it from version 1.2 on; none of NVIDIA's
reports at hand has one, and there a debug fuse or debug firmware shows as a measurement that matches no reference
value. Simulated devices state it, so that a debug flag can be told from other firmware.

A device's chain has five certificates: attestation key (leaf), boot ROM, provisioner, model, root. The leaf binds the
key to the firmware by the DICE extension of its generation.

Services and tools deliver reports in documents, with their certificates. Nobody signs such a document. Out of it come a
report and certificates for each device, and these are appraised as if they had come alone. Nothing else in it is
believed, such as its version numbers. A nonce beside a report has to be that of the report.

Source: DMTF DSP0274 1.1.0, "GET_MEASUREMENTS request and MEASUREMENTS response messages"; DSP0274 1.2.1, "Device mode
field of a measurement block" and index 0xFE of the measurement blocks; the types of opaque fields: NVIDIA nvtrust,
``local_gpu_verifier/src/verifier/attestation/spdm_msrt_resp_msg.py``; TCG, "DICE Attestation Architecture" (TcbInfo,
2.23.133.5.4.1.1) and, before it, "DICE Layering Architecture" (CompositeDeviceID, 2.23.133.5.4.1); NVIDIA attestation
SDK, serialised evidence; NVIDIA Remote Attestation Service API, version 3, "attest/gpu"; local verifier of nvtrust
(objects written by jsonpickle); answers of dstack's and Phala's services; evidence of Google's virtual machines.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum, IntFlag, StrEnum
from typing import Annotated, Final, NamedTuple

from cryptography import x509
from cryptography.hazmat import asn1

from carnet_ref.attestation.documents import LARGEST, decode, decode_pem
from carnet_ref.attestation.kinds import NVIDIA_REPORT, OTHER_TEXT, kind_of_value, known_kind
from carnet_ref.attestation.protojson import Message
from carnet_ref.wire import MalformedError, Reader, bounded_json

HOPPER_DICE = x509.ObjectIdentifier("2.23.133.5.4.1")
BLACKWELL_DICE = x509.ObjectIdentifier("2.23.133.5.4.1.1")
SHA_384 = x509.ObjectIdentifier("2.16.840.1.101.3.4.2.2")
ANY: Final = "X"  #: What stands for the last digit where a certificate is for a line of chips.
CHIP: Final = re.compile(rb"([A-Z][0-9A-Z]{2,11})\0*")


@asn1.sequence
@dataclass(frozen=True)
class _Fwid:
    hash_algorithm: x509.ObjectIdentifier
    digest: bytes


@asn1.sequence
@dataclass(frozen=True)
class _CompositeDeviceId:
    version: int
    device_key: asn1.TLV
    fwid: _Fwid


@asn1.sequence
@dataclass(frozen=True)
class _TcbInfo:
    vendor: Annotated[str | None, asn1.Implicit(0)]
    model: Annotated[str | None, asn1.Implicit(1)]
    version: Annotated[str | None, asn1.Implicit(2)]
    svn: Annotated[int | None, asn1.Implicit(3)]
    layer: Annotated[int | None, asn1.Implicit(4)]
    index: Annotated[int | None, asn1.Implicit(5)]
    fwids: Annotated[list[_Fwid] | None, asn1.Implicit(6)]
    flags: Annotated[asn1.BitString | None, asn1.Implicit(7)]
    vendor_info: Annotated[bytes | None, asn1.Implicit(8)]
    type: Annotated[bytes | None, asn1.Implicit(9)]


def firmware_id(leaf: x509.Certificate) -> bytes | None:
    """Return the SHA-384 of the firmware that the leaf's key was derived for; ``None`` without a DICE extension.

    Where the extension lists several, the first is the firmware's; the others are zero on the devices seen.

    Raises MalformedError if the extension is not what its number says.
    """
    found = _extension(leaf, BLACKWELL_DICE), _extension(leaf, HOPPER_DICE)
    try:
        if found[0] is not None:
            fwids = asn1.decode_der(_TcbInfo, found[0]).fwids or []
        elif found[1] is not None:
            fwids = [asn1.decode_der(_CompositeDeviceId, found[1]).fwid]
        else:
            return None
    except ValueError as error:
        raise MalformedError("DICE extension", "TcbInfo or CompositeDeviceID", str(error)) from None
    if not fwids or fwids[0].hash_algorithm != SHA_384:
        raise MalformedError("DICE extension", "a SHA-384 firmware id", "none")
    return fwids[0].digest


def _extension(certificate: x509.Certificate, oid: x509.ObjectIdentifier) -> bytes | None:
    try:
        value = certificate.extensions.get_extension_for_oid(oid).value
    except x509.ExtensionNotFound:
        return None
    assert isinstance(value, x509.UnrecognizedExtension), f"{oid.dotted_string} is known only here"
    return value.value


def product(leaf: x509.Certificate) -> str:
    """Return the chip that the leaf was issued for, such as ``GH100`` or ``LS10``: the first word of its name."""
    names = leaf.subject.get_attributes_for_oid(x509.NameOID.COMMON_NAME)
    words = str(names[0].value).split() if names else []
    return words[0].replace("_", "") if words else ""


def chips(report: GpuReport, leaf: x509.Certificate) -> frozenset[str]:
    """Return the names that reference values and policies may have for the chip.

    One is what the leaf was issued for. Of Blackwell's workstation chips that is the line, ``GB20X``, and the report
    names the one of it, ``GB202``; what a report names outside its leaf's line does not count.
    """
    line, chip = product(leaf), report.chip
    of_the_line = chip is not None and line.endswith(ANY) and re.fullmatch(f"{re.escape(line[:-1])}[0-9]", chip)
    return frozenset({line, chip} if chip is not None and of_the_line else {line})


def ueid(leaf: x509.Certificate) -> str:
    """Return the number of the unit in decimal, as NVIDIA's attestation service writes ``ueid``: the serial number."""
    return str(leaf.serial_number)


MODE_INDEX: Final = b"\xfe"
#: A raw bit stream (bit 7), of the type "structured representation of debug and device mode" (5).
MODE_VALUE_TYPE: Final = b"\x85"
MODE_LENGTH: Final = 16
_MODE: Final = "device mode"
_MODE_WORD: Final = 4


class DebugState(IntFlag):
    """The debug modes that a device is in, or was in since its last reset."""

    NONE = 0
    NON_INVASIVE = 1
    INVASIVE = 2
    NON_INVASIVE_SINCE_RESET = 4
    INVASIVE_SINCE_RESET = 8
    INVASIVE_SINCE_MANUFACTURING = 16


#: States in which a debugger may have read what is in the device now; a reset wipes what was there before.
SINCE_RESET: Final = (
    DebugState.NON_INVASIVE
    | DebugState.INVASIVE
    | DebugState.NON_INVASIVE_SINCE_RESET
    | DebugState.INVASIVE_SINCE_RESET
)


@dataclass(frozen=True, slots=True)
class DeviceMode:
    """The modes that a device states; capabilities are the modes that it can be in."""

    operational_capabilities: int  #: the operational modes that the device has.
    operational: int  #: the operational mode that it is in.
    debug_capabilities: int  #: the debug modes that the device has.
    debug: DebugState  #: the debug modes that it is or was in.

    @property
    def is_debugged(self) -> bool:
        """Whether a debug mode is active, or was since the last reset."""
        return bool(self.debug & SINCE_RESET)

    def encode(self) -> bytes:
        """Return the value of the measurement block with the device mode."""
        words = (self.operational_capabilities, self.operational, self.debug_capabilities, self.debug.value)
        return b"".join(word.to_bytes(_MODE_WORD, "little") for word in words)


def parse_device_mode(value: bytes) -> DeviceMode:
    """Parse the value of the measurement block with the device mode.

    Raises MalformedError if it is something else; a bit that stands for nothing could hide a state, so it is refused.
    """
    reader = Reader(value, _MODE)
    names = ("operational capabilities", "operational state", "debug capabilities", "debug state")
    capabilities, operational, can_debug, debug = (reader.number(_MODE_WORD, name) for name in names)
    reader.end()
    known = sum(state.value for state in DebugState)
    if debug & ~known:
        raise MalformedError(_MODE, "debug states that are defined", f"{debug:#010x}")
    return DeviceMode(capabilities, operational, can_debug, DebugState(debug))


WHAT = "attestation report"
NONCE_START, NONCE_LENGTH = 4, 32
DIGEST_LENGTH = 48
SIGNATURE_LENGTH = 96
SPDM_1_1 = b"\x11"
GET_MEASUREMENTS = b"\xe0"
MEASUREMENTS = b"\x60"
SIGNATURE_REQUESTED = b"\x01"
ALL_BLOCKS = b"\xff"
DMTF_MEASUREMENT = b"\x01"
GPU_VBIOS_LENGTH = 8
_BLOCK_LENGTH = 4 + 3 + DIGEST_LENGTH


class OpaqueType(IntEnum):
    """The opaque fields that are read here; every other one is kept as it is."""

    DRIVER_VERSION = 3
    VBIOS_VERSION = 6
    NVDEC0_STATUS = 11
    BOARD_ID = 14
    CHIP_SKU = 15
    PROJECT = 17
    PROJECT_SKU = 18
    FIRMWARE_ID = 20
    PROTECTED_PCIE_STATUS = 21
    SWITCH_PDI = 22
    LOCK_STATUS = 25
    SWITCH_GPU_PDIS = 26
    CHIP_INFO = 35
    FEATURE_FLAG = 36


class DeviceKind(StrEnum):
    """The kind of device that made a report."""

    GPU = "gpu"
    SWITCH = "switch"


class Mode(StrEnum):
    """The number of GPUs of one confidential VM, and the protection of the links between them."""

    SINGLE_GPU = "SPT"
    MULTI_GPU = "MPT"
    PROTECTED_PCIE = "PPCIE"


ENABLED = b"\xaa"
DISABLED = b"\x55"
FEATURES = {0: Mode.SINGLE_GPU, 1: Mode.MULTI_GPU, 2: Mode.PROTECTED_PCIE}


@dataclass(frozen=True, slots=True)
class OpaqueField:
    """One field of the opaque data: NVIDIA's type number and the bytes."""

    type: int
    value: bytes


@dataclass(frozen=True, slots=True)
class GpuReport:
    """A parsed, not yet verified, GPU attestation report."""

    signed: bytes  #: the bytes that the signature is about.
    signature: bytes  #: r and s, 48 bytes each, big-endian.
    nonce: bytes  #: the requester's nonce, 32 bytes.
    slot: int  #: the certificate slot asked for.
    responder_nonce: bytes  #: the device's nonce, 32 bytes.
    #: the SHA-384 values; ``measurements[i]`` is SPDM block ``i + 1`` and RIM index ``i``.
    measurements: tuple[bytes, ...]
    opaque: tuple[OpaqueField, ...]  #: the opaque fields in their order, no type twice.
    #: what the device says of debug modes; ``None`` where the report has no such block.
    device_mode: DeviceMode | None = None

    def field(self, type_: OpaqueType) -> bytes | None:
        """Return the value of an opaque field, ``None`` where the report has none."""
        return next((field.value for field in self.opaque if field.type == type_), None)

    @property
    def kind(self) -> DeviceKind:
        """The kind of device that made the report: only GPUs have a driver version."""
        return DeviceKind.SWITCH if self.field(OpaqueType.DRIVER_VERSION) is None else DeviceKind.GPU

    @property
    def driver_version(self) -> str | None:
        """The version of the driver that asked for the report; ``None`` on switches."""
        return _ascii(self.field(OpaqueType.DRIVER_VERSION))

    @property
    def vbios_version(self) -> str | None:
        """The VBIOS version as XX.XX.XX.XX.XX; GPUs send it as a number of eight bytes, switches as text."""
        value = self.field(OpaqueType.VBIOS_VERSION)
        if value is None or len(value) != GPU_VBIOS_LENGTH:
            return _ascii(value)
        return ".".join(f"{value[place]:02X}" for place in (3, 2, 1, 0, 4))

    @property
    def firmware_id(self) -> bytes | None:
        """The DICE firmware id, 48 bytes; ``None`` with drivers of the 535 and 545 branches and on LS10 switches."""
        return self.field(OpaqueType.FIRMWARE_ID)

    @property
    def chip(self) -> str | None:
        """The chip that the report names, such as ``GB202``; ``None`` before Blackwell."""
        named = CHIP.fullmatch(self.field(OpaqueType.CHIP_INFO) or b"")
        return named[1].decode("ascii") if named else None

    @property
    def nvdec0_disabled(self) -> bool:
        """Whether the report says that video decoder 0 is off."""
        return self.field(OpaqueType.NVDEC0_STATUS) == DISABLED

    @property
    def mode(self) -> Mode | None:
        """The mode that the device states; older drivers only state whether it is protected PCIe."""
        flag = self.field(OpaqueType.FEATURE_FLAG)
        if flag is not None:
            return FEATURES.get(int.from_bytes(flag, "little"))
        return Mode.PROTECTED_PCIE if self.field(OpaqueType.PROTECTED_PCIE_STATUS) == ENABLED else None


HOPPER: Final = "GH100"
#: The project, its SKU and the chip's SKU of an LS10 switch, whose reports do not state them.
LS10_BOARD: Final = ("5612", "0002", "890")
_RIM_WORD: Final = re.compile(r"[0-9A-Za-z.]{1,32}")


def driver_rim_id(report: GpuReport, chip: str) -> str | None:
    """Return the id by which NVIDIA's RIM service has the reference values of the driver; ``None`` if unknown.

    The id has the driver's version and a chip: GH100 for Hopper, and for later devices the one that the report names,
    or else ``chip``, which its certificate names. It is unknown if the report has no version of use, or if only the
    line of chips is known, whose name ends in X.

    Source: NVIDIA, attestation-sdk 1.1, GPU evidence, ``generate_driver_rim_id``.
    """
    version = _rim_word(report.field(OpaqueType.DRIVER_VERSION))
    if version is None:
        return None
    if chip == HOPPER:
        return f"NV_GPU_DRIVER_{HOPPER}_{version}"
    named = report.chip or chip
    return None if named.endswith(ANY) else f"NV_GPU_CC_DRIVER_{named}_{version}"


def vbios_rim_id(report: GpuReport, chip: str) -> str | None:
    """Return the id by which NVIDIA's RIM service has the reference values of the VBIOS; ``None`` if unknown.

    Source: as for the driver; "NVIDIA Reference Integrity Manifest service", the list of ids.
    """
    version = report.vbios_version
    stated = board(report) if report.kind is DeviceKind.GPU else LS10_BOARD if chip == "LS10" else (None,)
    if version is None or not _RIM_WORD.fullmatch(version) or None in stated:
        return None
    kind = "GPU_VBIOS" if report.kind is DeviceKind.GPU else "SWITCH_BIOS"
    return "_".join(("NV", kind, *map(str, stated), version.replace(".", "").upper()))


def board(report: GpuReport) -> tuple[str | None, str | None, str | None]:
    """Return the project, its SKU and the chip's SKU that a report states, each ``None`` where it does not."""
    project, sku, chip = OpaqueType.PROJECT, OpaqueType.PROJECT_SKU, OpaqueType.CHIP_SKU
    return _rim_word(report.field(project)), _rim_word(report.field(sku)), _rim_word(report.field(chip))


def _rim_word(value: bytes | None) -> str | None:
    """Return a field that may be a part of an id; zeros follow its text."""
    text = (value or b"").rstrip(b"\0").decode("ascii", "replace")
    return text if _RIM_WORD.fullmatch(text) else None


def _ascii(value: bytes | None) -> str | None:
    return None if value is None else value.removesuffix(b"\0").decode("ascii")


def parse_report(data: bytes) -> GpuReport:
    """Read a report; nothing may follow its signature. Raises MalformedError if ``data`` is something else."""
    reader = Reader(data, WHAT)
    reader.constant(SPDM_1_1, "SPDM version of the request")
    reader.constant(GET_MEASUREMENTS, "request code GET_MEASUREMENTS")
    reader.constant(SIGNATURE_REQUESTED, "attributes asking for a signature")
    reader.constant(ALL_BLOCKS, "operation asking for all blocks")
    nonce, slot = reader.take(NONCE_LENGTH, "requester nonce"), reader.number(1, "slot")
    measurements, stated = _read_measurements(reader)
    responder_nonce = reader.take(NONCE_LENGTH, "responder nonce")
    opaque = _read_opaque(reader.take(reader.number(2, "length of opaque data"), "opaque data"))
    signed = data[: reader.position]
    signature = reader.take(SIGNATURE_LENGTH, "signature")
    reader.end()
    return GpuReport(signed, signature, nonce, slot, responder_nonce, measurements, opaque, stated)


def _read_measurements(reader: Reader) -> tuple[tuple[bytes, ...], DeviceMode | None]:
    reader.constant(SPDM_1_1, "SPDM version of the response")
    reader.constant(MEASUREMENTS, "response code MEASUREMENTS")
    reader.take(2, "parameters of the response")
    count = reader.number(1, "number of blocks")
    length = reader.number(3, "length of the measurement record")
    record = Reader(reader.take(length, "measurement record"), "measurement record")
    digests_only = record.remaining == count * _BLOCK_LENGTH
    measurements = tuple(_read_block(record, index) for index in range(1, count + digests_only))
    stated = None if digests_only or not count else _read_device_mode(record)
    record.end()
    return measurements, stated


def _read_device_mode(record: Reader) -> DeviceMode:
    """Read the last block, which is no digest."""
    record.constant(MODE_INDEX, "index of the device mode")
    record.constant(DMTF_MEASUREMENT, "measurement specification")
    record.constant((3 + MODE_LENGTH).to_bytes(2, "little"), "block size")
    record.constant(MODE_VALUE_TYPE, "value type")
    record.constant(MODE_LENGTH.to_bytes(2, "little"), "value size")
    return parse_device_mode(record.take(MODE_LENGTH, "device mode"))


def _read_block(record: Reader, index: int) -> bytes:
    record.constant(bytes([index]), "block index")
    record.constant(DMTF_MEASUREMENT, "measurement specification")
    record.constant((3 + DIGEST_LENGTH).to_bytes(2, "little"), "block size")
    record.take(1, "value type")
    record.constant(DIGEST_LENGTH.to_bytes(2, "little"), "value size")
    return record.take(DIGEST_LENGTH, "value")


def _read_opaque(data: bytes) -> tuple[OpaqueField, ...]:
    reader = Reader(data, "opaque data")
    fields: list[OpaqueField] = []
    while reader.remaining:
        type_ = reader.number(2, "field type")
        fields.append(OpaqueField(type_, reader.take(reader.number(2, "field size"), "field value")))
    types = [field.type for field in fields]
    if len(set(types)) != len(types):
        raise MalformedError("opaque data", "each field once", "a type twice")
    texts = [f for f in fields if f.type in (OpaqueType.DRIVER_VERSION, OpaqueType.VBIOS_VERSION)]
    for field in texts:
        binary = field.type == OpaqueType.VBIOS_VERSION and len(field.value) == GPU_VBIOS_LENGTH
        if not binary and not all(0x20 < byte < 0x7F for byte in field.value.removesuffix(b"\0")):
            raise MalformedError("opaque data", "a version in ASCII", field.value.hex())
    firmware_ids = [field.value for field in fields if field.type == OpaqueType.FIRMWARE_ID]
    if any(len(value) != DIGEST_LENGTH for value in firmware_ids):
        raise MalformedError("opaque data", f"a firmware id of {DIGEST_LENGTH} bytes", f"{len(firmware_ids[0])}")
    return tuple(fields)


MOST_DEVICES: Final = 256  #: Of a document; the largest machines at hand have twelve.
DOCUMENT: Final = "GPU evidence"
REPORT: Final = "attestation report"
CHAIN: Final = "certificate chain"
EXPECTED: Final = (
    "a report, or JSON with devices: a list or one object with evidence and certificate, "
    "evidence_list, device_evidence_list, gpus, evidences, gpu, nvgpu, nvidia_payload or deviceReports"
)

SERIALISED: Final = "a list of devices as NVIDIA's SDKs write it"
ONE_DEVICE: Final = "an object with the evidence and certificate of one device"
REQUEST: Final = "a request to NVIDIA's remote attestation service"
VERIFIER: Final = "the objects of NVIDIA's Python verifier"
TRUST_AUTHORITY: Final = "a request to Intel Trust Authority"
EVIDENCES: Final = "an attestation document with a list of evidences"
PAYLOAD: Final = "an attestation answer with an nvidia_payload"
CONTAINERS: Final = "the evidence of a Confidential Containers guest about its devices"
BESIDE_A_MACHINE: Final = "the devices beside the evidence of a machine with the name of its platform"
GOOGLE: Final = "the evidence of a virtual machine of Google"
#: Names under which a list of devices lies, and what documents have them.
LISTS: Final = {
    "evidence_list": REQUEST,
    "evidences": EVIDENCES,
    "gpu_evidence": EVIDENCES,
    "device_evidence_list": CONTAINERS,
}
#: Names of which a document has one: what has its devices.
KNOWN: Final = (
    *(*LISTS, "evidence", "gpus", "gpu", "nvgpu", "nvidia_payload", "device_reports", "deviceReports"),
    "nvidia_gpu",
)


@dataclass(frozen=True, slots=True)
class DeviceEvidence:
    """One device's part of a document, or a report that came alone."""

    name: str  #: the place of the device in the document, from 0.
    report: bytes  #: the report, raw.
    chain: bytes | None  #: the certificates in PEM; ``None`` where the evidence is a report alone.
    #: what kind of document the report lay in, and where in it; ``None`` where it came alone.
    found_in: str | None = None


class _Encoded(NamedTuple):
    """A report in base64 with its certificates in PEM or base64 of PEM, and the nonces in hexadecimal beside it."""

    report: bytes
    chain: Sequence[bytes]
    nonces: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class _Found:
    """The devices of a document."""

    document: str
    devices: Sequence[_Encoded]


def device_evidence(data: bytes) -> tuple[DeviceEvidence, ...]:
    """Return the reports in ``data``, with their certificates if it is a JSON document.

    Raises MalformedError if ``data`` is another document, evidence of another kind, or text of no known form.
    """
    if data.lstrip()[:1] not in (b"{", b"["):
        return (_alone(data),)
    found = _found(bounded_json(data, "evidence document", LARGEST))
    if not found.devices:
        raise MalformedError(found.document, "at least one device", "none")
    return tuple(_device(found, place) for place in range(len(found.devices)))


def _alone(data: bytes) -> DeviceEvidence:
    kind = known_kind(data)
    if kind not in (NVIDIA_REPORT, OTHER_TEXT, None):
        raise MalformedError(REPORT, NVIDIA_REPORT, kind)
    return DeviceEvidence("report", decode(data, REPORT), None)


def _device(found: _Found, place: int) -> DeviceEvidence:
    report, chain, nonces = found.devices[place]
    where = f", device {place} of {len(found.devices)}" if len(found.devices) > 1 else ""
    raw, asked = decode(report, REPORT), slice(NONCE_START, NONCE_START + NONCE_LENGTH)
    other = next((nonce for nonce in nonces if nonce.lower() != raw[asked].hex()), None)
    if other is not None:
        wanted = f"a report that was asked with the nonce beside it, {ascii(other)[:70]}"
        raise MalformedError(found.document + where, wanted, raw[asked].hex())
    pem = b"".join(decode_pem(certificate, CHAIN) for certificate in chain)
    return DeviceEvidence(f"{place}", raw, pem, found.document + where)


def _found(document: object) -> _Found:
    """Return the devices of any document that is known."""
    if isinstance(document, list) or not isinstance(document, Mapping):
        return _plain(document)
    of_a_machine = isinstance(document.get("evidence"), Mapping) and "platform" in document
    known = [name for name in KNOWN if name in document and not (of_a_machine and name == "evidence")]
    if "nvswitches" in document and "gpus" not in known:
        known.append("gpus")
    if len(known) > 1:
        raise MalformedError(
            DOCUMENT, "one set of devices", f"{' and '.join(known)}: readers may differ in which counts"
        )
    match known:
        case ["gpus"]:
            return _verifier_objects(document)
        case ["gpu"]:
            return _by_kind(document)
        case ["nvgpu"]:
            devices = _at(document["nvgpu"], "evidence_list", TRUST_AUTHORITY)
            return _Found(TRUST_AUTHORITY, _entries(devices, TRUST_AUTHORITY, _nonces(document["nvgpu"], "gpu_nonce")))
        case ["nvidia_gpu"]:
            return _beside_a_machine(document["nvidia_gpu"])
        case ["device_reports"] | ["deviceReports"]:
            return _of_google(document)
        case ["nvidia_payload"]:
            payload = document["nvidia_payload"]
            inner = bounded_json(payload, "nvidia_payload", LARGEST) if isinstance(payload, str) else payload
            found = _plain(inner)
            return _Found(f"{PAYLOAD}, {found.document}", found.devices)
        case _:
            return _plain(document)


def _plain(document: object) -> _Found:
    """Return the devices of a document that is a list, has one by a known name, or is itself one device."""
    match document:
        case [{"evidence": _}, *_] | [{"certificate": _}, *_]:
            return _Found(SERIALISED, _entries(document, SERIALISED))
        case []:
            return _Found(SERIALISED, ())
        case {"evidence": str()} | {"certificate": str()}:
            return _Found(ONE_DEVICE, [_entry(document, ONE_DEVICE)])
        case Mapping():
            name = next((name for name in LISTS if name in document), None)
            if name is not None:
                nonces = _nonces(document) if LISTS[name] == REQUEST else ()
                return _Found(LISTS[name], _entries(document[name], LISTS[name], nonces))
    raise MalformedError(DOCUMENT, EXPECTED, kind_of_value(document))


def _by_kind(document: Mapping[str, object]) -> _Found:
    """Return the devices of a document that has a list of evidences for GPUs, and perhaps one for switches."""
    lists = [_at(document[name], "evidences", EVIDENCES) for name in ("gpu", "nvswitch") if name in document]
    return _Found(EVIDENCES, [entry for each in lists for entry in _entries(each, EVIDENCES)])


def _beside_a_machine(bundle: object) -> _Found:
    """Return the devices in a bundle; how their nonces come from the relying party's is not believed.

    Source: confidential-dot-ai/attestation-rs at 67ee36f8, ``crates/attestation/src/types.rs``.
    """
    what = BESIDE_A_MACHINE
    devices = _so_many(_at(bundle, "devices", what), what)
    names = ("evidence_b64", "cert_chain_b64")
    found = [[_text(each, name, what) for name in names] for each in devices]
    return _Found(what, [_Encoded(report, [chain]) for report, chain in found])


def _of_google(document: Mapping[str, object]) -> _Found:
    """Return the GPUs of a virtual machine: one that it has for itself, or several.

    Source: GoogleCloudPlatform, confidential-space at 9bae6bf, ``server/proto/attestation.proto``; go-tpm-tools at
    67670e5c, ``launcher/internal/gpu/attestation.go`` (certificates in PEM, attestation key first).
    """
    found: list[Message] = []
    for report in Message(document, GOOGLE).messages("device_reports"):
        nvidia = report.message("nvidia_report")
        if nvidia.has("spt") == nvidia.has("mpt"):
            raise MalformedError(GOOGLE, "spt or mpt", "both" if nvidia.has("spt") else "neither")
        alone = nvidia.has("spt")
        found += [nvidia.message("spt").message("gpu_quote")] if alone else nvidia.message("mpt").messages("gpu_quotes")
    if len(found) > MOST_DEVICES:
        raise MalformedError(GOOGLE, f"at most {MOST_DEVICES} devices", f"{len(found)}")
    names = ("attestation_report", "attestation_certificate_chain")
    devices = [[base64.b64encode(gpu.octets(name)) for name in names] for gpu in found]
    return _Found(GOOGLE, [_Encoded(report, [chain]) for report, chain in devices])


def _verifier_objects(document: Mapping[str, object]) -> _Found:
    gpus = [
        (_at(gpu, "AttestationReport"), _at(_at(gpu, "CertificateChains"), "GpuAttestationCertificateChain"))
        for gpu in _so_many(document.get("gpus", []), VERIFIER)
    ]
    switches = [
        (_at(switch, "attestation_report"), _at(switch, "attestation_cert_chain"))
        for switch in _so_many(document.get("nvswitches", []), VERIFIER)
    ]
    devices = [
        _Encoded(
            _text(report, "py/b64", VERIFIER),
            [_text(certificate, "pem", VERIFIER) for certificate in _list(chain, VERIFIER)],
        )
        for report, chain in (*gpus, *switches)
    ]
    return _Found(VERIFIER, devices)


def _entries(entries: object, what: str, nonces: tuple[str, ...] = ()) -> list[_Encoded]:
    return [_entry(entry, what, nonces) for entry in _so_many(entries, what)]


def _entry(entry: object, what: str, nonces: tuple[str, ...] = ()) -> _Encoded:
    """Return a device of a list, with its own nonce and those of all."""
    report, chain = _text(entry, "evidence", what), _text(entry, "certificate", what)
    return _Encoded(report, [chain], (*nonces, *_nonces(entry)))


def _nonces(value: object, name: str = "nonce") -> tuple[str, ...]:
    """Return the nonce of an object, where it has one."""
    nonce = value.get(name) if isinstance(value, Mapping) else None
    return () if nonce in (None, "") else (nonce if isinstance(nonce, str) else ascii(nonce),)


def _so_many(devices: object, what: str) -> list[object]:
    found = _list(devices, what)
    if len(found) > MOST_DEVICES:
        raise MalformedError(what, f"at most {MOST_DEVICES} devices", f"{len(found)}")
    return found


def _at(value: object, key: str, what: str = VERIFIER) -> object:
    if not isinstance(value, Mapping) or key not in value:
        raise MalformedError(what, f"an object with {key}", kind_of_value(value))
    found: object = value[key]
    return found


def _list(value: object, what: str) -> list[object]:
    if not isinstance(value, list):
        raise MalformedError(what, "a list", kind_of_value(value))
    return value


def _text(value: object, key: str, what: str) -> bytes:
    text = _at(value, key, what)
    if not isinstance(text, str):
        raise MalformedError(what, f"{key} to be text", kind_of_value(text))
    try:
        return text.encode("ascii")
    except UnicodeEncodeError:
        raise MalformedError(what, f"{key} in ASCII", "other characters") from None
