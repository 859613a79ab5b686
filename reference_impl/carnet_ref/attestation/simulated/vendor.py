"""A simulated vendor of GPUs: who certifies devices, signs their reference values, and answers for certificates.

It issues signed documents of the formats that NVIDIA's services issue: certificates of devices, reference integrity
manifests (SWID tags with an XML signature) and OCSP replies. A verifier reads them by the same code as real ones.

Source: as for the parsers, `carnet_ref.attestation.nvidia.rim` and `carnet_ref.attestation.nvidia.ocsp`.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cached_property
from itertools import pairwise
from typing import Final

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding
from cryptography.x509 import ocsp
from lxml import etree

from carnet_ref.attestation.anchors import AnchorRole, Anchors
from carnet_ref.attestation.nvidia.policy import Firmware
from carnet_ref.attestation.nvidia.report import DIGEST_LENGTH
from carnet_ref.attestation.simulated.authority import NO_END, Authority, Issued, derived

CHIP: Final = "GH100"
BLOCKS: Final = 64
"""How many digests a report has, and how many rows a reference integrity manifest."""
VBIOS_INDICES: Final = range(5)
DRIVER_INDICES: Final = range(7, 28)
"""The measurements that a VBIOS and a driver determine; the others are a device's own."""
ANSWERS_LAST: Final = timedelta(days=1)
_SWID: Final = "http://standards.iso.org/iso/19770/-2/2015/schema.xsd"
_SHA384: Final = "http://www.w3.org/2001/04/xmlenc#sha384"


CURRENT: Final = Firmware("550.90.07", "96.00.9F.00.01")
OUTDATED: Final = Firmware("550.90.07", "96.00.5E.00.01")
"""Firmware with a known flaw, of which the vendor published reference values when it was new."""


@dataclass(frozen=True)
class SimulatedVendor:
    """A vendor with roots of its own; ``seed`` gives keys and measurements, ``at`` is when its certificates start."""

    seed: bytes
    at: datetime

    @cached_property
    def authority(self) -> Authority:
        """What issues its certificates."""
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
        """Trust in this vendor alone."""
        return Anchors(
            {
                AnchorRole.NVIDIA_DEVICE: (self.devices[0].certificate,),
                AnchorRole.NVIDIA_RIM: (self.signers[0].certificate,),
            }
        )

    def measurement(self, index: int, firmware: Firmware) -> bytes:
        """Return what every device with this firmware measures at an index that the firmware determines."""
        version = firmware.vbios if index in VBIOS_INDICES else firmware.driver
        return derived(self.seed, f"measurement {index} of {version}", DIGEST_LENGTH)

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
        """Return whom an authority lets answer for it."""
        name = f"TEST OCSP responder of {issuer.certificate.serial_number:x}"
        purposes = x509.ExtendedKeyUsage([x509.oid.ExtendedKeyUsageOID.OCSP_SIGNING])
        return self.authority.issue(name, issuer, authority=False, extensions=[purposes])


def manifest(version: str, golden: Mapping[int, bytes], product: str = CHIP) -> etree._Element:
    """Return a manifest that nobody signed; indices without a value are there and not active."""
    names = {"swid": _SWID, "SHA384": _SHA384}
    root = etree.Element(f"{{{_SWID}}}SoftwareIdentity", nsmap=names, name=product, tagId=f"TEST {version}")
    etree.SubElement(root, f"{{{_SWID}}}Meta", colloquialVersion=version, product=product)
    payload = etree.SubElement(root, f"{{{_SWID}}}Payload")
    for index in range(BLOCKS):
        row = etree.SubElement(payload, f"{{{_SWID}}}Resource", type="Measurement", index=f"{index}", size="48")
        row.set("active", f"{index in golden}")
        row.set("alternatives", "1")
        row.set(f"{{{_SHA384}}}Hash0", golden.get(index, bytes(DIGEST_LENGTH)).hex())
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
    """Return what ``responder`` says of a certificate: good, revoked or, if it is not ``known``, unknown."""
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
