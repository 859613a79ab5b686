"""A simulated GPU: reports of NVIDIA's format under a chain of five test certificates.

Beside NVIDIA's 64 digests it reports the device mode of SPDM 1.2, which says whether it is debugged.

Source: as for the parser, `carnet_ref.attestation.nvidia.report`.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Final

from cryptography import x509
from cryptography.hazmat import asn1
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.utils import decode_dss_signature
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from carnet_ref.attestation.anchors import Anchors
from carnet_ref.attestation.nvidia import device_mode
from carnet_ref.attestation.nvidia.certificates import HOPPER_DICE, SHA_384
from carnet_ref.attestation.nvidia.device_mode import DebugState, DeviceMode
from carnet_ref.attestation.nvidia.policy import Firmware
from carnet_ref.attestation.nvidia.report import DIGEST_LENGTH, NONCE_LENGTH, SPDM_1_1, OpaqueType
from carnet_ref.attestation.simulated.authority import NO_END, Authority, Issued, derived
from carnet_ref.attestation.simulated.vendor import (
    BLOCKS,
    CHIP,
    CURRENT,
    DRIVER_INDICES,
    VBIOS_INDICES,
    SimulatedVendor,
)
from carnet_ref.spdm.measuring import Block
from carnet_ref.wire.reader import Reader

HALF: Final = 48
NORMAL_OPERATION: Final = 4
"""The bit of an operational mode that is neither manufacturing nor recovery. Source: DMTF DSP0274 1.2.1."""
OFF: Final = b"\x55"
_DIGEST: Final = 1
"""What NVIDIA's measurements are said to be of: the digest of mutable firmware."""


def gpu_request(nonce: bytes, slot: int = 0) -> bytes:
    """Return a GET_MEASUREMENTS request for all blocks, signed: 37 bytes."""
    assert len(nonce) == NONCE_LENGTH, "a nonce has 32 bytes"
    return SPDM_1_1 + b"\xe0\x01\xff" + nonce + bytes([slot])


class SimulatedGpu:
    """A GPU of a simulated vendor, or of one of its own.

    ``seed`` gives its keys and its own measurements, ``at`` the start of its certificates. ``firmware`` is what it
    runs; ``stated``, ``mode`` and ``debug`` are what its reports say of it. A fake measures what the devices of another
    vendor, whom it ``imitated``, measure.
    """

    def __init__(
        self,
        seed: bytes,
        at: datetime,
        *,
        vendor: SimulatedVendor | None = None,
        imitated: SimulatedVendor | None = None,
        firmware: Firmware = CURRENT,
        stated: Firmware | None = None,
        mode: int = 0,
        debug: DebugState = DebugState.NONE,
    ) -> None:
        self._seed = seed
        self._firmware = firmware
        self._stated = stated or firmware
        self._mode = mode
        self._debug = debug
        self.vendor = vendor or SimulatedVendor(seed, at)
        self._measured = imitated or self.vendor
        root, model, provisioner = self.vendor.devices
        authority = Authority(seed, ec.SECP384R1(), hashes.SHA384(), at, NO_END)
        boot_rom = authority.issue(f"{CHIP} TEST GSP BROM", provisioner, authority=True)
        extension = x509.UnrecognizedExtension(HOPPER_DICE, self._dice(boot_rom))
        self._leaf = authority.issue(f"{CHIP} TEST GSP FMC LF", boot_rom, authority=False, extensions=[extension])
        self._chain = (self._leaf, boot_rom, provisioner, model, root)

    @property
    def certificates(self) -> tuple[x509.Certificate, ...]:
        """The device's certificates, attestation key first, root last."""
        return tuple(issued.certificate for issued in self._chain)

    @property
    def chain_pem(self) -> bytes:
        """The device's certificates in PEM, attestation key first."""
        return b"".join(certificate.public_bytes(Encoding.PEM) for certificate in self.certificates)

    @property
    def key(self) -> ec.EllipticCurvePrivateKey:
        """The attestation key, on P-384."""
        return self._leaf.key

    @property
    def anchors(self) -> Anchors:
        """Trust in this GPU's vendor alone."""
        return self.vendor.anchors

    @property
    def firmware_id(self) -> bytes:
        """The SHA-384 that stands for the firmware."""
        return derived(self._seed, "firmware", DIGEST_LENGTH)

    @property
    def measurements(self) -> tuple[bytes, ...]:
        """The 64 values that a report carries, SHA-384 each: what its firmware determines, and its own."""
        return tuple(self._measurement(index) for index in range(BLOCKS))

    def _measurement(self, index: int) -> bytes:
        if index in VBIOS_INDICES or index in DRIVER_INDICES:
            return self._measured.measurement(index, self._firmware)
        return derived(self._seed, f"measurement {index}", DIGEST_LENGTH)

    @property
    def device_mode(self) -> DeviceMode:
        """What it says of debug modes, all of which it has."""
        every = sum(state.value for state in DebugState)
        return DeviceMode(NORMAL_OPERATION, NORMAL_OPERATION, every, self._debug)

    def report(self, request: bytes) -> bytes:
        """Return a report: the GET_MEASUREMENTS request and the answer to it.

        Raises:
            MalformedError: the request is none for all blocks with a signature.
        """
        return request + self.answer(request)

    def answer(self, request: bytes) -> bytes:
        """Answer a GET_MEASUREMENTS request with a MEASUREMENTS response, signed together with the request.

        Raises:
            MalformedError: the request is none for all blocks with a signature.
        """
        reader = Reader(request, "GET_MEASUREMENTS request")
        reader.constant(gpu_request(bytes(NONCE_LENGTH))[:4], "header")
        reader.take(NONCE_LENGTH + 1, "nonce and slot")
        reader.end()
        response = self._response(request)
        return response + self._signature(request + response)

    def _response(self, request: bytes) -> bytes:
        """Return the response up to its signature."""
        record = b"".join(block.encode() for block in self.blocks)
        opaque = self.opaque
        return b"".join(
            (
                SPDM_1_1 + b"\x60\0\0",
                bytes([BLOCKS + 1]),
                len(record).to_bytes(3, "little"),
                record,
                derived(self._seed + request, "responder nonce", NONCE_LENGTH),
                len(opaque).to_bytes(2, "little"),
                opaque,
            )
        )

    @property
    def blocks(self) -> tuple[Block, ...]:
        """The measurement blocks that a report carries."""
        mode = Block(device_mode.INDEX[0], device_mode.VALUE_TYPE[0], self.device_mode.encode())
        return (*(Block(index, _DIGEST, value) for index, value in enumerate(self.measurements, start=1)), mode)

    @property
    def opaque(self) -> bytes:
        """What a report says beside measurements."""
        numbers = [bytes.fromhex(part) for part in self._stated.vbios.split(".")]
        fields = {
            OpaqueType.VBIOS_VERSION: b"".join(reversed(numbers[:4])) + numbers[4] + bytes(3),
            OpaqueType.DRIVER_VERSION: self._stated.driver.encode() + b"\0",
            OpaqueType.NVDEC0_STATUS: OFF,
            OpaqueType.FIRMWARE_ID: self.firmware_id,
            OpaqueType.PROTECTED_PCIE_STATUS: OFF,
            OpaqueType.FEATURE_FLAG: self._mode.to_bytes(4, "little"),
        }
        return b"".join(
            kind.to_bytes(2, "little") + len(value).to_bytes(2, "little") + value for kind, value in fields.items()
        )

    def _signature(self, signed: bytes) -> bytes:
        algorithm = ec.ECDSA(hashes.SHA384(), deterministic_signing=True)
        r, s = decode_dss_signature(self._leaf.key.sign(signed, algorithm))
        return r.to_bytes(HALF, "big") + s.to_bytes(HALF, "big")

    def _dice(self, boot_rom: Issued) -> bytes:
        """Return the extension that binds the attestation key to the firmware."""
        public = boot_rom.key.public_key().public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
        return asn1.encode_der(
            CompositeDeviceId(
                version=1,
                device_key=asn1.decode_der(asn1.TLV, public),
                fwid=Fwid(hash_algorithm=SHA_384, digest=self.firmware_id),
            )
        )


@asn1.sequence
@dataclass(frozen=True)
class Fwid:
    """The digest of a firmware."""

    hash_algorithm: x509.ObjectIdentifier
    digest: bytes


@asn1.sequence
@dataclass(frozen=True)
class CompositeDeviceId:
    """Which firmware a device's key was derived for.

    Source: TCG, "DICE Layering Architecture", CompositeDeviceID.
    """

    version: int
    device_key: asn1.TLV
    fwid: Fwid
