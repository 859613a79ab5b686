"""The certificate of an endorsement key: a chip's own (VCEK) or one loaded for a cloud (VLEK), and the path above it.

The path has three certificates: endorsement key, the line's signing key (ASK for VCEKs, ASVK for VLEKs), and the line's
root (ARK). The signing keys of AMD are at hand here, so the endorsement key alone suffices; they are no trust anchors,
and each path is followed to a root.

Files have certificates in PEM, DER, several DER in a row, or the certificate table of an extended report, which a guest
gets beside its report from its host: entries of a GUID, an offset and a length, the last one zero, then certificates in
DER. Entries of other kinds than certificates are passed over.

Source: AMD, Versioned Chip Endorsement Key (VCEK) Certificate and KDS Interface Specification 57230, chapter 3; AMD,
SEV-ES Guest-Hypervisor Communication Block Standardization 56421, SNP Extended Guest Request.
"""

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cache, lru_cache
from typing import Final, TypeVar

from cryptography import x509
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat import asn1
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec, padding

from carnet_ref.attestation.amd.report import NOT_READ, VENICE, Product, TcbVersion, tcb_parts
from carnet_ref.attestation.appraisal import certificate_of, certificate_rows
from carnet_ref.attestation.documents import PEM, decode
from carnet_ref.crypto import certificate_path
from carnet_ref.wire import MalformedError, Reader

AMD_CERTIFICATES: Final = "certificates of AMD"
TABLE: Final = "certificate table"
LARGEST_FILE: Final = 64 * 1024
VCEK: Final = uuid.UUID("63da758d-e664-4564-adc5-f4b93be8accd")
VLEK: Final = uuid.UUID("a8074bc2-a25a-483e-aae6-39c045a0b8a1")
ASK: Final = uuid.UUID("4ab7b379-bbac-4fe4-a02f-05aef327c782")
ARK: Final = uuid.UUID("c0b406a4-a803-4952-9743-3fb6014cd0ae")
CERTIFICATES: Final = frozenset({VCEK, VLEK, ASK, ARK})
TABLE_STARTS: Final = frozenset(each.bytes for each in CERTIFICATES)  #: How tables of nothing but certificates begin.
ENTRY_BYTES: Final = 24
MOST_ENTRIES: Final = 64
#: How the DER of anything from 256 to 65535 bytes begins, as every certificate here does.
SEQUENCE: Final = b"\x30\x82"


@lru_cache(certificate_path.REMEMBERED)
def parse_certificates(data: bytes) -> tuple[x509.Certificate, ...]:
    """Return the certificates in a file, in its order; those in a table are DER or PEM.

    Raises MalformedError if it has none, or something else is in it.
    """
    raw = data if PEM in data else decode(data, AMD_CERTIFICATES)
    if len(raw) > LARGEST_FILE:
        raise MalformedError(AMD_CERTIFICATES, f"at most {LARGEST_FILE} bytes", f"{len(raw)}")
    if raw[:16] in TABLE_STARTS:
        return tuple(each for entry in _in_a_table(raw) for each in _in_an_entry(entry))
    if PEM in raw:
        if not raw.isascii():
            raise MalformedError(AMD_CERTIFICATES, "PEM and nothing but text around it", "raw bytes")
        return certificate_path.parse_pem_chain(raw, zero_serial=True)
    encoded = _in_a_row(raw) if raw.startswith(SEQUENCE) else _in_a_table(raw)
    return certificate_path.parse_der_chain(encoded, zero_serial=True)


def _in_an_entry(entry: bytes) -> tuple[x509.Certificate, ...]:
    if entry.startswith(PEM):
        return certificate_path.parse_pem_chain(entry, zero_serial=True)
    return certificate_path.parse_der_chain([entry], zero_serial=True)


def _in_a_row(data: bytes) -> list[bytes]:
    """Split DER encodings that follow each other at the lengths that they state."""
    reader = Reader(data, AMD_CERTIFICATES, "big")
    found: list[bytes] = []
    while reader.remaining and len(found) <= certificate_path.LONGEST_PATH:
        reader.constant(SEQUENCE, "the start of a certificate")
        length = reader.take(2, "length")
        found.append(SEQUENCE + length + reader.take(int.from_bytes(length, "big"), "certificate"))
    return found


def _in_a_table(data: bytes) -> list[bytes]:
    """Return the certificates that the table has, by the places that its entries name."""
    reader = Reader(data, TABLE)
    found: list[bytes] = []
    kinds: list[uuid.UUID] = []
    for _ in range(MOST_ENTRIES):
        entry = reader.take(ENTRY_BYTES, "entry")
        if not any(entry):
            break
        kind = uuid.UUID(bytes=entry[:16])
        offset, length = (int.from_bytes(entry[place : place + 4], "little") for place in (16, 20))
        if kind in kinds:
            raise MalformedError(TABLE, "each kind of certificate once", f"{kind} twice")
        if offset + length > len(data):
            raise MalformedError(TABLE, f"entries inside its {len(data)} bytes", f"{offset + length}")
        kinds.append(kind)
        if kind in CERTIFICATES:
            found.append(data[offset : offset + length])
    else:
        raise MalformedError(TABLE, f"at most {MOST_ENTRIES} entries", "more")
    if not found:
        raise MalformedError(
            AMD_CERTIFICATES, "PEM, DER or a certificate table with certificates of AMD", "none of them"
        )
    return found


WHAT: Final = "endorsement key certificate"
ARC: Final = "1.3.6.1.4.1.3704.1"
PRODUCT_NAME: Final = f"{ARC}.2"
SECURITY_VERSIONS: Final = f"{ARC}.3"
HARDWARE_ID: Final = f"{ARC}.4"
CLOUD: Final = f"{ARC}.5"
#: The last number of the extension that has a part's security version.
PLACES: Final[Mapping[str, int]] = {"bootloader": 1, "tee": 2, "snp": 3, "microcode": 8, "fmc": 9}
RESERVED_PLACES: Final = (4, 5, 6, 7)
HARDWARE_ID_BYTES: Final[Mapping[Product, int]] = {Product.MILAN: 64, Product.GENOA: 64, Product.TURIN: 8}
OCTET_STRING: Final = b"\x04"
SALT_BYTES: Final = 48

_Decoded = TypeVar("_Decoded")


class KeyKind(StrEnum):
    """The kind of an endorsement key: a chip's own, or one that AMD issued to a cloud."""

    VCEK = "VCEK"
    VLEK = "VLEK"


#: The common names of the signing keys, but for the line.
AUTHORITIES: Final[Mapping[KeyKind, str]] = {KeyKind.VCEK: "SEV-{}", KeyKind.VLEK: "SEV-VLEK-{}"}


@dataclass(frozen=True, slots=True)
class EndorsementKey:
    """An endorsement key's certificate, and the processor or cloud that it was issued for.

    ``hardware_id`` is the chip's, 64 or 8 bytes, and ``None`` for a VLEK; ``cloud`` is ``None`` for a VCEK.
    """

    certificate: x509.Certificate
    kind: KeyKind
    product: Product
    product_name: str
    tcb: TcbVersion
    hardware_id: bytes | None
    cloud: str | None

    @property
    def key(self) -> ec.EllipticCurvePublicKey:
        """The P-384 key."""
        key = self.certificate.public_key()
        assert isinstance(key, ec.EllipticCurvePublicKey)
        return key


@dataclass(frozen=True, slots=True)
class EndorsementPath:
    """An endorsement key, its signing authority, and the root that it leads to."""

    leaf: EndorsementKey
    authority: x509.Certificate
    anchor: x509.Certificate

    @property
    def certificates(self) -> tuple[x509.Certificate, ...]:
        """The certificates from the endorsement key to the anchor, which may be the authority itself."""
        above = (self.authority,) if self.authority == self.anchor else (self.authority, self.anchor)
        return (self.leaf.certificate, *above)


@cache
def known_authorities() -> tuple[x509.Certificate, ...]:
    """Return AMD's signing keys: an ASK and an ASVK for each line.

    Source: the ``source`` of each row of ``authorities.json``.
    """
    assert __package__ is not None
    return tuple(map(certificate_of, certificate_rows(__package__, "authorities.json")))


def endorsement_key(certificates: Sequence[x509.Certificate], kind: KeyKind | None) -> EndorsementKey:
    """Return the endorsement key among ``certificates``; of two kinds, the one called ``kind``.

    Raises MalformedError if there is none, it is not clear which one counts, or it does not follow AMD's profile.
    """
    keys = [parse_endorsement_key(each) for each in certificates if not certificate_path.is_authority(each)]
    chosen = keys if len(keys) == 1 else [key for key in keys if key.kind is kind]
    if len(chosen) != 1:
        raise MalformedError("certificate chain", "one endorsement key, VCEK or VLEK", f"{len(keys)}")
    return chosen[0]


@lru_cache(certificate_path.REMEMBERED)
def parse_endorsement_key(certificate: x509.Certificate) -> EndorsementKey:
    """Read the extensions of an endorsement key's certificate.

    Raises MalformedError if one is missing, or not as specified, or the key is not on P-384.
    """
    certificate_path.check_signature_is_whole(certificate)
    found = {extension.oid.dotted_string: extension.value for extension in certificate.extensions}
    ours = {oid: value.value for oid, value in found.items() if isinstance(value, x509.UnrecognizedExtension)}
    key = certificate.public_key()
    if not isinstance(key, ec.EllipticCurvePublicKey) or not isinstance(key.curve, ec.SECP384R1):
        raise MalformedError(WHAT, "a key on secp384r1", type(key).__name__)
    product_name = _decoded(ours, PRODUCT_NAME, asn1.IA5String).as_str()
    # The line out of a product name, which may have a stepping behind it, as in ``Milan-B0``
    line = product_name.partition("-")[0]
    if line == VENICE:
        raise MalformedError(WHAT, f"a product out of {', '.join(Product)}", NOT_READ)
    if line not in set(Product):
        raise MalformedError(WHAT, f"a product out of {', '.join(Product)}", ascii(product_name)[:100])
    product = Product(line)
    hardware_id = _hardware_id(ours[HARDWARE_ID], product) if HARDWARE_ID in ours else None
    cloud = _decoded(ours, CLOUD, asn1.IA5String).as_str() if CLOUD in ours else None
    if (hardware_id is None) == (cloud is None):
        both = "neither" if cloud is None else "both"
        raise MalformedError(WHAT, "either a hardware id (VCEK) or a cloud (VLEK)", both)
    kind = KeyKind.VLEK if hardware_id is None else KeyKind.VCEK
    return EndorsementKey(certificate, kind, product, product_name, _tcb(ours, product), hardware_id, cloud)


def _hardware_id(value: bytes, product: Product) -> bytes:
    """Return the chip's id; AMD's service has written it both as bytes alone and as an OCTET STRING."""
    size = HARDWARE_ID_BYTES[product]
    wrapped = OCTET_STRING + bytes([size])
    if len(value) == len(wrapped) + size and value.startswith(wrapped):
        return value[len(wrapped) :]
    if len(value) != size:
        raise MalformedError(WHAT, f"a hardware id of {size} bytes for {product}", f"{len(value)}")
    return value


def _tcb(ours: Mapping[str, bytes], product: Product) -> TcbVersion:
    """Return the security versions that the key was derived for; places without a meaning have to be zero."""
    parts = {part: _security_version(ours, PLACES[part]) for part in tcb_parts(product)}
    others = [*RESERVED_PLACES, *(place for part, place in PLACES.items() if part not in parts)]
    for place in others:
        if f"{SECURITY_VERSIONS}.{place}" in ours and _security_version(ours, place):
            raise MalformedError(WHAT, f"zero at {SECURITY_VERSIONS}.{place}, which {product} reserves", "another")
    return TcbVersion(product, parts)


def _security_version(ours: Mapping[str, bytes], place: int) -> int:
    oid = f"{SECURITY_VERSIONS}.{place}"
    version = _decoded(ours, oid, int)
    if not 0 <= version <= 0xFF:
        raise MalformedError(WHAT, f"a security version from 0 to 255 at {oid}", f"{version:#x}"[:40])
    return version


def _decoded(ours: Mapping[str, bytes], oid: str, kind: type[_Decoded]) -> _Decoded:
    if oid not in ours:
        raise MalformedError(WHAT, f"the extension {oid}", "none")
    try:
        return asn1.decode_der(kind, ours[oid])
    except (ValueError, TypeError) as error:
        raise MalformedError(WHAT, f"{kind.__name__} at {oid}", " ".join(str(error).split())[:200]) from None


def endorsement_path(
    leaf: EndorsementKey, given: Sequence[x509.Certificate], anchors: Sequence[x509.Certificate]
) -> EndorsementPath:
    """Return the path from an endorsement key to a trusted root, over a given or known signing key.

    Raises PathError if the key leads to none, or a link is not signed as AMD signs.
    """
    return EndorsementPath(leaf, *_authorities(leaf.certificate, tuple(given), tuple(anchors)))


@lru_cache(certificate_path.REMEMBERED)
def _authorities(
    certificate: x509.Certificate, given: tuple[x509.Certificate, ...], anchors: tuple[x509.Certificate, ...]
) -> tuple[x509.Certificate, x509.Certificate]:
    """Return the signing key of an endorsement key's certificate, and the root above it."""
    # The candidate that signed ``issued``, or else the first that has its issuer's name
    named = [*_named(certificate.issuer, given), *_authorities_named(certificate.issuer, anchors)]
    authority = next(
        (each for each in named if certificate_path.is_issued_by(certificate, each)), named[0] if named else None
    )
    if authority is None:
        subject, issuer = certificate_path.name(certificate), certificate_path.name_of(certificate.issuer)
        raise certificate_path.PathError(f"{subject} is issued by {issuer}, which is not AMD's, nor given", certificate)
    anchor = certificate_path.check_path([certificate, authority], anchors, unstated_usage=True)
    for issued in (certificate,) if authority == anchor else (certificate, authority):
        _check_algorithm(issued)
    return authority, anchor


def _named(subject: x509.Name, certificates: Sequence[x509.Certificate]) -> tuple[x509.Certificate, ...]:
    return tuple(each for each in certificates if each.subject == subject)


@lru_cache(certificate_path.REMEMBERED)
def _authorities_named(subject: x509.Name, anchors: tuple[x509.Certificate, ...]) -> tuple[x509.Certificate, ...]:
    """Return those of AMD's signing keys and of the anchors that have a name."""
    return _named(subject, (*known_authorities(), *anchors))


def _check_algorithm(certificate: x509.Certificate) -> None:
    if not signed_as_amd_signs(certificate):
        raise certificate_path.PathError(
            f"{certificate_path.name(certificate)} is not signed with RSASSA-PSS and SHA-384", certificate
        )


def signed_as_amd_signs(signed: x509.Certificate | x509.CertificateRevocationList) -> bool:
    """Return whether a signature uses AMD's profile: RSASSA-PSS, SHA-384 (also in the mask), 48 bytes of salt."""
    try:
        parameters = signed.signature_algorithm_parameters
    except (ValueError, UnsupportedAlgorithm):
        return False
    return (
        isinstance(parameters, padding.PSS)
        and isinstance(signed.signature_hash_algorithm, hashes.SHA384)
        and parameters == padding.PSS(padding.MGF1(hashes.SHA384()), SALT_BYTES)
    )
