"""The attestation report of an NVIDIA GPU or NVSwitch, as a typed value.

A report is a GET_MEASUREMENTS request and its MEASUREMENTS response, one after the other and little-endian. The
device signs everything before the signature, the request with the caller's nonce included.

A report may state the device mode: which operational mode a device is in, and whether it was debugged. That is a
measurement block of its own, at an index that no firmware uses. SPDM defines it from version 1.2 on; none of NVIDIA's
reports at hand has one, and there a debug fuse or debug firmware shows as a measurement that matches no reference
value. Simulated devices state it, so that a debug flag can be told from other firmware.

Source: DMTF DSP0274 1.1.0, "GET_MEASUREMENTS request and MEASUREMENTS response messages"; DSP0274 1.2.1, "Device mode
field of a measurement block" and index 0xFE of the measurement blocks; the types of opaque fields: NVIDIA nvtrust,
``local_gpu_verifier/src/verifier/attestation/spdm_msrt_resp_msg.py``.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum, IntFlag, StrEnum
from typing import Final

from carnet_ref.wire import MalformedError, Reader

MODE_INDEX: Final = b"\xfe"
MODE_VALUE_TYPE: Final = b"\x85"
"""A raw bit stream (bit 7), of the type "structured representation of debug and device mode" (5)."""
MODE_LENGTH: Final = 16
_MODE: Final = "device mode"
_MODE_WORD: Final = 4


class DebugState(IntFlag):
    """Which debug modes a device is in, or was in since its last reset."""

    NONE = 0
    NON_INVASIVE = 1
    INVASIVE = 2
    NON_INVASIVE_SINCE_RESET = 4
    INVASIVE_SINCE_RESET = 8
    INVASIVE_SINCE_MANUFACTURING = 16


SINCE_RESET: Final = (
    DebugState.NON_INVASIVE
    | DebugState.INVASIVE
    | DebugState.NON_INVASIVE_SINCE_RESET
    | DebugState.INVASIVE_SINCE_RESET
)
"""States in which a debugger may have read what is in the device now; a reset wipes what was there before."""


@dataclass(frozen=True, slots=True)
class DeviceMode:
    """What a device says of its modes; capabilities say which states it can be in.

    Attributes:
        operational_capabilities: the operational modes that the device has.
        operational: the operational mode that it is in.
        debug_capabilities: the debug modes that the device has.
        debug: the debug modes that it is or was in.
    """

    operational_capabilities: int
    operational: int
    debug_capabilities: int
    debug: DebugState

    @property
    def debugged(self) -> bool:
        """Whether a debug mode is active, or was since the last reset."""
        return bool(self.debug & SINCE_RESET)

    def encode(self) -> bytes:
        """Return the value of the measurement block."""
        words = (self.operational_capabilities, self.operational, self.debug_capabilities, self.debug.value)
        return b"".join(word.to_bytes(_MODE_WORD, "little") for word in words)


def parse_device_mode(value: bytes) -> DeviceMode:
    """Read the value of the measurement block.

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
NONCE_LENGTH = 32
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
    FEATURE_FLAG = 36


class DeviceKind(StrEnum):
    """What made the report."""

    GPU = "gpu"
    SWITCH = "switch"


class Mode(StrEnum):
    """How many GPUs one confidential VM has, and what protects the links between them."""

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
    """A parsed, not yet verified, GPU attestation report.

    Attributes:
        signed: the bytes that the signature is about.
        signature: r and s, 48 bytes each, big-endian.
        nonce: the requester's nonce, 32 bytes.
        slot: the certificate slot asked for.
        responder_nonce: the device's nonce, 32 bytes.
        measurements: the SHA-384 values; ``measurements[i]`` is SPDM block ``i + 1`` and RIM index ``i``.
        opaque: the opaque fields in their order, no type twice.
        device_mode: what the device says of debug modes; ``None`` where the report has no such block.
    """

    signed: bytes
    signature: bytes
    nonce: bytes
    slot: int
    responder_nonce: bytes
    measurements: tuple[bytes, ...]
    opaque: tuple[OpaqueField, ...]
    device_mode: DeviceMode | None = None

    def field(self, type_: OpaqueType) -> bytes | None:
        """Return the value of an opaque field, ``None`` where the report has none."""
        return next((field.value for field in self.opaque if field.type == type_), None)

    @property
    def kind(self) -> DeviceKind:
        """Whether a GPU or a switch made this: only GPUs have a driver version."""
        return DeviceKind.SWITCH if self.field(OpaqueType.DRIVER_VERSION) is None else DeviceKind.GPU

    @property
    def driver_version(self) -> str | None:
        """The version of the driver that asked for the report; ``None`` on switches."""
        return _text(self.field(OpaqueType.DRIVER_VERSION))

    @property
    def vbios_version(self) -> str | None:
        """The VBIOS version as XX.XX.XX.XX.XX; GPUs send it as a number of eight bytes, switches as text."""
        value = self.field(OpaqueType.VBIOS_VERSION)
        if value is None or len(value) != GPU_VBIOS_LENGTH:
            return _text(value)
        return ".".join(f"{value[place]:02X}" for place in (3, 2, 1, 0, 4))

    @property
    def firmware_id(self) -> bytes | None:
        """The DICE firmware id, 48 bytes; ``None`` with drivers of the 535 and 545 branches and on LS10 switches."""
        return self.field(OpaqueType.FIRMWARE_ID)

    @property
    def nvdec0_disabled(self) -> bool:
        """Whether the report says that video decoder 0 is off."""
        return self.field(OpaqueType.NVDEC0_STATUS) == DISABLED

    @property
    def mode(self) -> Mode | None:
        """The mode that the device says it is in; older drivers only say whether it is protected PCIe."""
        flag = self.field(OpaqueType.FEATURE_FLAG)
        if flag is not None:
            return FEATURES.get(int.from_bytes(flag, "little"))
        return Mode.PROTECTED_PCIE if self.field(OpaqueType.PROTECTED_PCIE_STATUS) == ENABLED else None


def _text(value: bytes | None) -> str | None:
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
