"""Simulated GPUs, and the vendor who certifies them, signs their reference values, and answers for certificates.

The vendor issues signed documents of the formats that NVIDIA's services issue: certificates of devices, reference
integrity manifests (SWID tags with an XML signature) and OCSP replies. A GPU makes reports of NVIDIA's format under a
chain of five test certificates; beside NVIDIA's 64 digests it reports the device mode of SPDM 1.2, which says whether
it is debugged. A verifier reads all of it by the same code as real evidence.

Source: as for the parsers, `carnet_ref.attestation.nvidia`.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cached_property
from itertools import pairwise
from typing import Final

from cryptography import x509
from cryptography.hazmat import asn1
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from cryptography.x509 import ocsp
from lxml import etree

from carnet_ref.attestation.appraisal import AnchorRole, Anchors
from carnet_ref.attestation.nvidia import report
from carnet_ref.attestation.nvidia.appraisal import Firmware
from carnet_ref.attestation.nvidia.report import HOPPER_DICE, SHA_384
from carnet_ref.attestation.simulated.authority import NO_END, Authority, Issued, derive_bytes
from carnet_ref.crypto.primitives import sign_p384
from carnet_ref.spdm.session import Block
from carnet_ref.wire import Reader

CHIP: Final = "GH100"
BLOCKS: Final = 64  #: How many digests a report has, and how many rows a reference integrity manifest.
VBIOS_INDICES: Final = range(5)
#: The measurements that a VBIOS and a driver determine; the others are a device's own.
DRIVER_INDICES: Final = range(7, 28)
ANSWERS_LAST: Final = timedelta(days=1)
_SWID: Final = "http://standards.iso.org/iso/19770/-2/2015/schema.xsd"
_SHA384: Final = "http://www.w3.org/2001/04/xmlenc#sha384"


CURRENT: Final = Firmware("550.90.07", "96.00.9F.00.01")
#: Firmware with a known flaw, of which the vendor published reference values when it was new.
OUTDATED: Final = Firmware("550.90.07", "96.00.5E.00.01")


@dataclass(frozen=True)
class SimulatedVendor:
    """A vendor with roots of its own; ``seed`` gives keys and measurements, ``at`` is when its certificates start."""

    seed: bytes
    at: datetime

    @cached_property
    def authority(self) -> Authority:
        """The authority that issues the vendor's certificates."""
        return Authority(self.seed, ec.SECP384R1(), hashes.SHA384(), self.at, NO_END)

    @cached_property
    def devices(self) -> tuple[Issued, Issued, Issued]:
        """The authorities above every device: root, model, provisioner."""
        root = self.authority.issue("TEST root of simulated GPUs", None, authority=True)
        model = self.authority.issue(f"TEST {CHIP} Identity", root, authority=True)
        return root, model, self.authority.issue(f"TEST {CHIP} Provisioner ICA 1", model, authority=True)

    @cached_property
    def signers(self) -> tuple[Issued, Issued, Issued]:
        """The authorities of reference values: root, intermediate, and the signer."""
        root = self.authority.issue("TEST root of reference values", None, authority=True)
        intermediate = self.authority.issue("TEST RIM Intermediate", root, authority=True)
        return root, intermediate, self.authority.issue("TEST RIM Signer", intermediate, authority=False)

    @property
    def anchors(self) -> Anchors:
        """Trust anchors: the roots of this vendor only."""
        return Anchors(
            {
                AnchorRole.NVIDIA_DEVICE: (self.devices[0].certificate,),
                AnchorRole.NVIDIA_RIM: (self.signers[0].certificate,),
            }
        )

    def measurement(self, index: int, firmware: Firmware) -> bytes:
        """Return the measurement at an index that the firmware determines, equal on all devices with this firmware."""
        version = firmware.vbios if index in VBIOS_INDICES else firmware.driver
        return derive_bytes(self.seed, f"measurement {index} of {version}", report.DIGEST_LENGTH)

    def reference_values(self, firmware: Firmware = CURRENT, signer: Issued | None = None) -> tuple[bytes, bytes]:
        """Return the signed manifests of a driver and a VBIOS, by the vendor's signer or by another."""
        return (
            self._manifest(firmware.driver, DRIVER_INDICES, firmware, signer),
            self._manifest(firmware.vbios, VBIOS_INDICES, firmware, signer),
        )

    def _manifest(self, version: str, indices: range, firmware: Firmware, signer: Issued | None) -> bytes:
        golden = {index: self.measurement(index, firmware) for index in indices}
        return signed_manifest(manifest(version, golden), signer or self.signers[2], self.signers[1::-1])

    def answers(
        self,
        chain: Sequence[x509.Certificate],
        revoked: Collection[x509.Certificate] = (),
        *,
        since: datetime | None = None,
    ) -> tuple[bytes, ...]:
        """Return the OCSP replies about each certificate of a chain, leaf first, that an authority of it issued.

        They count from ``since``, or from the start of the vendor's certificates, for a day.
        """
        issuers = {each.certificate: each for each in (*self.devices, *self.signers)}
        pairs = [(below, issuers[above]) for below, above in pairwise(chain) if above in issuers]
        start = since or self.at
        return tuple(
            answer(certificate, issuer, self._responder(issuer), start, revoked=certificate in revoked)
            for certificate, issuer in pairs
        )

    def _responder(self, issuer: Issued) -> Issued:
        """Return the OCSP responder of an authority."""
        name = f"TEST OCSP responder of {issuer.certificate.serial_number:x}"
        purposes = x509.ExtendedKeyUsage([x509.oid.ExtendedKeyUsageOID.OCSP_SIGNING])
        return self.authority.issue(name, issuer, authority=False, extensions=[purposes])


def manifest(version: str, golden: Mapping[int, bytes], product: str = CHIP) -> etree._Element:
    """Return an unsigned manifest; indices without a value are present and not active."""
    names = {"swid": _SWID, "SHA384": _SHA384}
    root = etree.Element(f"{{{_SWID}}}SoftwareIdentity", nsmap=names, name=product, tagId=f"TEST {version}")
    etree.SubElement(root, f"{{{_SWID}}}Meta", colloquialVersion=version, product=product)
    payload = etree.SubElement(root, f"{{{_SWID}}}Payload")
    for index in range(BLOCKS):
        row = etree.SubElement(payload, f"{{{_SWID}}}Resource", type="Measurement", index=f"{index}", size="48")
        row.set("active", f"{index in golden}")
        row.set("alternatives", "1")
        row.set(f"{{{_SHA384}}}Hash0", golden.get(index, bytes(report.DIGEST_LENGTH)).hex())
    return root


def signed_manifest(unsigned: etree._Element, signer: Issued, above: Sequence[Issued]) -> bytes:
    """Return a manifest with an enveloped signature, and the certificates of its signer and of those ``above``."""
    from signxml.algorithms import CanonicalizationMethod, DigestAlgorithm, SignatureMethod
    from signxml.signer import XMLSigner

    method = XMLSigner(
        signature_algorithm=SignatureMethod.ECDSA_SHA384,
        digest_algorithm=DigestAlgorithm.SHA384,
        c14n_algorithm=CanonicalizationMethod.CANONICAL_XML_1_1,
    )
    chain = [each.certificate.public_bytes(Encoding.PEM).decode("ascii") for each in (signer, *above)]
    return bytes(etree.tostring(method.sign(unsigned, key=signer.key, cert=chain, always_add_key_value=False)))


def answer(
    certificate: x509.Certificate,
    issuer: Issued,
    responder: Issued,
    since: datetime,
    *,
    revoked: bool = False,
    known: bool = True,
) -> bytes:
    """Return an OCSP reply of ``responder`` about a certificate: good, revoked or, if it is not ``known``, unknown."""
    status = ocsp.OCSPCertStatus.REVOKED if revoked else ocsp.OCSPCertStatus.GOOD
    builder = ocsp.OCSPResponseBuilder().add_response(
        certificate,
        issuer.certificate,
        hashes.SHA384(),
        status if known else ocsp.OCSPCertStatus.UNKNOWN,
        since,
        since + ANSWERS_LAST,
        since if revoked and known else None,
        None,
    )
    builder = builder.responder_id(ocsp.OCSPResponderEncoding.HASH, responder.certificate)
    builder = builder.certificates([responder.certificate])
    return builder.sign(responder.key, responder.hash).public_bytes(Encoding.DER)


#: The bit of an operational mode that is neither manufacturing nor recovery. Source: DMTF DSP0274 1.2.1.
NORMAL_OPERATION: Final = 4
OFF: Final = b"\x55"
_DIGEST: Final = 1  #: What NVIDIA's measurements are said to be of: the digest of mutable firmware.


def gpu_request(nonce: bytes, slot: int = 0) -> bytes:
    """Return a GET_MEASUREMENTS request for all blocks, signed: 37 bytes."""
    assert len(nonce) == report.NONCE_LENGTH, "a nonce has 32 bytes"
    return report.SPDM_1_1 + b"\xe0\x01\xff" + nonce + bytes([slot])


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
        debug: report.DebugState = report.DebugState.NONE,
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
        """Trust anchors: the roots of this GPU's vendor only."""
        return self.vendor.anchors

    @property
    def firmware_id(self) -> bytes:
        """The SHA-384 of the firmware."""
        return derive_bytes(self._seed, "firmware", report.DIGEST_LENGTH)

    @property
    def measurements(self) -> tuple[bytes, ...]:
        """The 64 measurements in a report, SHA-384 each: some are the firmware's, the others the device's own."""
        return tuple(self._measurement(index) for index in range(BLOCKS))

    def _measurement(self, index: int) -> bytes:
        if index in VBIOS_INDICES or index in DRIVER_INDICES:
            return self._measured.measurement(index, self._firmware)
        return derive_bytes(self._seed, f"measurement {index}", report.DIGEST_LENGTH)

    @property
    def device_mode(self) -> report.DeviceMode:
        """The device mode of a report: whether each debug mode is on; the device supports all of them."""
        every = sum(state.value for state in report.DebugState)
        return report.DeviceMode(NORMAL_OPERATION, NORMAL_OPERATION, every, self._debug)

    def report(self, request: bytes) -> bytes:
        """Return a report: the GET_MEASUREMENTS request and the answer to it.

        Raises MalformedError if the request is none for all blocks with a signature.
        """
        return request + self.answer(request)

    def answer(self, request: bytes) -> bytes:
        """Answer a GET_MEASUREMENTS request with a MEASUREMENTS response, signed together with the request.

        Raises MalformedError if the request is none for all blocks with a signature.
        """
        reader = Reader(request, "GET_MEASUREMENTS request")
        reader.constant(gpu_request(bytes(report.NONCE_LENGTH))[:4], "header")
        reader.take(report.NONCE_LENGTH + 1, "nonce and slot")
        reader.end()
        # The response up to its signature
        record = b"".join(block.encode() for block in self.blocks)
        opaque = self.opaque
        response = b"".join(
            (
                report.SPDM_1_1 + b"\x60\0\0",
                bytes([BLOCKS + 1]),
                len(record).to_bytes(3, "little"),
                record,
                derive_bytes(self._seed + request, "responder nonce", report.NONCE_LENGTH),
                len(opaque).to_bytes(2, "little"),
                opaque,
            )
        )
        return response + sign_p384(self._leaf.key, request + response, deterministic=True)

    @property
    def blocks(self) -> tuple[Block, ...]:
        """The measurement blocks of a report, encoded."""
        mode = Block(report.MODE_INDEX[0], report.MODE_VALUE_TYPE[0], self.device_mode.encode())
        return (*(Block(index, _DIGEST, value) for index, value in enumerate(self.measurements, start=1)), mode)

    @property
    def opaque(self) -> bytes:
        """The opaque data of a report, encoded."""
        numbers = [bytes.fromhex(part) for part in self._stated.vbios.split(".")]
        fields = {
            report.OpaqueType.VBIOS_VERSION: b"".join(reversed(numbers[:4])) + numbers[4] + bytes(3),
            report.OpaqueType.DRIVER_VERSION: self._stated.driver.encode() + b"\0",
            report.OpaqueType.NVDEC0_STATUS: OFF,
            report.OpaqueType.FIRMWARE_ID: self.firmware_id,
            report.OpaqueType.PROTECTED_PCIE_STATUS: OFF,
            report.OpaqueType.FEATURE_FLAG: self._mode.to_bytes(4, "little"),
        }
        return b"".join(
            kind.to_bytes(2, "little") + len(value).to_bytes(2, "little") + value for kind, value in fields.items()
        )

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
    """The DICE identity of a device: the firmware that its key was derived for.

    Source: TCG, "DICE Layering Architecture", CompositeDeviceID.
    """

    version: int
    device_key: asn1.TLV
    fwid: Fwid
