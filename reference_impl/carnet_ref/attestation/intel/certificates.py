"""The certificate of a platform's provisioning certification key (PCK), what it says, and signatures over P-256.

Signatures and points are raw, as Intel writes them: big-endian halves of 32 bytes.

Source: Intel SGX PCK Certificate and CRL Profile Specification, section 1.3.5 (SGX extensions).
"""

from functools import lru_cache
from typing import Final, NamedTuple, TypeVar

from cryptography import x509
from cryptography.hazmat import asn1
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from carnet_ref.crypto.certificate_path import REMEMBERED, check_signature_is_whole, name, parse_pem_chain
from carnet_ref.crypto.primitives import KeyMaterialError
from carnet_ref.wire import MalformedError


def p256_point(raw: bytes) -> ec.EllipticCurvePublicKey:
    """Return the key whose point is x and y in ``raw``. Raises KeyMaterialError if the point is not on the curve."""
    try:
        return ec.EllipticCurvePublicKey.from_encoded_point(ec.SECP256R1(), b"\x04" + raw)
    except ValueError:
        raise KeyMaterialError("attestation key", "not a point of secp256r1") from None


def raw_point(key: ec.EllipticCurvePublicKey) -> bytes:
    """Return x and y of a public key's point, 32 bytes each."""
    return key.public_bytes(Encoding.X962, PublicFormat.UncompressedPoint)[1:]


SGX_EXTENSION: Final = "1.2.840.113741.1.13.1"
PCK_CERTIFICATE: Final = "Intel SGX PCK Certificate"
PCK_AUTHORITIES: Final = frozenset({"Intel SGX PCK Platform CA", "Intel SGX PCK Processor CA"})
PEM: Final = b"-----BEGIN CERTIFICATE-----"
TCB_SIGNING: Final = "Intel SGX TCB Signing"

Decoded = TypeVar("Decoded")


class PlatformTcb(NamedTuple):
    """The security version numbers that a PCK certificate was issued for: 16 components and that of the PCE."""

    components: tuple[int, ...]
    pcesvn: int


class PckCertificate(NamedTuple):
    """A PCK certificate with its SGX extension: PPID 16 bytes, PCEID 2, FMSPC 6."""

    certificate: x509.Certificate
    ppid: bytes
    tcb: PlatformTcb
    pceid: bytes
    fmspc: bytes


class PckChain(NamedTuple):
    """A PCK certificate, its issuer, and the root."""

    leaf: PckCertificate
    certificates: tuple[x509.Certificate, ...]

    @property
    def issuer(self) -> x509.Certificate:
        """The authority that issued the leaf: Intel's platform or processor CA."""
        return self.certificates[1]

    @property
    def root(self) -> x509.Certificate:
        """The last certificate of the chain."""
        return self.certificates[2]


@lru_cache(REMEMBERED)
def parse_pck_chain(pem: bytes) -> PckChain:
    """Read the three certificates that a quote carries: the PCK's, that of its authority, and the root.

    One NUL may end the text. The text must be exactly the PEM encoding of the certificates, so that no bit of it can
    be changed without notice.

    Raises MalformedError if it is something else.
    """
    text = pem.removesuffix(b"\0")
    if not text.startswith(PEM):
        raise MalformedError("PCK certificate chain", "PEM certificates", f"bytes that start with {text[:4].hex()}")
    certificates = parse_issuer_chain(text)
    if b"".join(map(_in_pem, certificates)) != text:
        raise MalformedError("PCK certificate chain", "PEM certificates and nothing else", "other text")
    for certificate in certificates:
        check_signature_is_whole(certificate)
    if len(certificates) != 3:
        raise MalformedError("PCK certificate chain", "3 certificates", f"{len(certificates)}")
    return PckChain(parse_pck_certificate(certificates[0]), certificates)


@lru_cache(REMEMBERED)
def _in_pem(certificate: x509.Certificate) -> bytes:
    return certificate.public_bytes(Encoding.PEM)


def parse_issuer_chain(pem: bytes) -> tuple[x509.Certificate, ...]:
    """Parse certificates in the order of quotes and of Intel's service: the signer first, the root last.

    Of the samples of Intel's library, those for TDX have it the other way round. One order is read, so that no two
    readers differ about the signer.

    Raises MalformedError if they are something else, or the root stands first.
    """
    certificates = parse_pem_chain(pem)
    if len(certificates) > 1 and certificates[0].subject == certificates[0].issuer:
        found = f"the root first, {name(certificates[0])}"
        raise MalformedError("issuer chain", "the signer's certificate first and the root last", found)
    return certificates


def parse_pck_certificate(certificate: x509.Certificate) -> PckCertificate:
    """Read the SGX extension of a PCK certificate.

    Raises MalformedError if it has none, or one that is not as specified.
    """
    try:
        extension = certificate.extensions.get_extension_for_oid(x509.ObjectIdentifier(SGX_EXTENSION)).value
    except x509.ExtensionNotFound:
        raise MalformedError("PCK certificate", f"the SGX extension {SGX_EXTENSION}", "none") from None
    assert isinstance(extension, x509.UnrecognizedExtension)
    sgx = _decoded(SgxExtension, extension.value)
    platform = _value(sgx.tcb, f"{SGX_EXTENSION}.2", TcbSequence)
    numbers = [
        _svn(getattr(platform, name), place)
        for place, name in enumerate(TcbSequence.__annotations__, start=1)
        if name != "cpusvn"
    ]
    return PckCertificate(
        certificate,
        ppid=_octets(sgx.ppid, 1, 16),
        tcb=PlatformTcb(tuple(numbers[:16]), numbers[16]),
        pceid=_octets(sgx.pceid, 3, 2),
        fmspc=_octets(sgx.fmspc, 4, 6),
    )


def p256_key(certificate: x509.Certificate) -> ec.EllipticCurvePublicKey:
    """Return the P-256 key of a certificate. Raises MalformedError if its key is of another kind."""
    key = certificate.public_key()
    if not isinstance(key, ec.EllipticCurvePublicKey) or not isinstance(key.curve, ec.SECP256R1):
        raise MalformedError("certificate", "a key on secp256r1", type(key).__name__)
    return key


@asn1.sequence
class SgxItem:
    """One named value of the SGX extension."""

    oid: x509.ObjectIdentifier
    value: asn1.TLV


@asn1.sequence
class TcbSequence:
    """The TCB of the SGX extension: values 1 to 18 below ``SGX_EXTENSION.2``."""

    component_01: SgxItem
    component_02: SgxItem
    component_03: SgxItem
    component_04: SgxItem
    component_05: SgxItem
    component_06: SgxItem
    component_07: SgxItem
    component_08: SgxItem
    component_09: SgxItem
    component_10: SgxItem
    component_11: SgxItem
    component_12: SgxItem
    component_13: SgxItem
    component_14: SgxItem
    component_15: SgxItem
    component_16: SgxItem
    pcesvn: SgxItem
    cpusvn: SgxItem


@asn1.sequence
class SgxExtension:
    """The SGX extension: values 1 to 7 below ``SGX_EXTENSION``; the last two only on platforms of several packages."""

    ppid: SgxItem
    tcb: SgxItem
    pceid: SgxItem
    fmspc: SgxItem
    sgx_type: SgxItem
    platform_instance_id: SgxItem | None
    configuration: SgxItem | None


def _decoded(kind: type[Decoded], data: bytes) -> Decoded:
    try:
        return asn1.decode_der(kind, data)
    except (ValueError, TypeError) as error:
        raise MalformedError("SGX extension", "its specified DER encoding", " ".join(str(error).split())) from None


def _value(item: SgxItem, oid: str, kind: type[Decoded]) -> Decoded:
    if item.oid.dotted_string != oid:
        raise MalformedError("SGX extension", f"value {oid}", item.oid.dotted_string)
    try:
        value: Decoded = item.value.parse(kind)
    except (ValueError, TypeError) as error:
        raise MalformedError("SGX extension", f"{kind.__name__} at {oid}", " ".join(str(error).split())) from None
    return value


def _octets(item: SgxItem, place: int, size: int) -> bytes:
    value = _value(item, f"{SGX_EXTENSION}.{place}", bytes)
    if len(value) != size:
        raise MalformedError("SGX extension", f"{size} bytes at {item.oid.dotted_string}", f"{len(value)}")
    return value


def _svn(item: SgxItem, place: int) -> int:
    value = _value(item, f"{SGX_EXTENSION}.2.{place}", int)
    if value < 0:
        raise MalformedError("SGX extension", f"a security version at {item.oid.dotted_string}", f"{value:#x}"[:40])
    return value
