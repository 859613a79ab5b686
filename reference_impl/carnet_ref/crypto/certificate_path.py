"""Certificates and the path from one of them up to a trust anchor.

The links are checked one by one, because the verifier of `cryptography` holds every certificate to the rules of the
Web: NVIDIA's RIM certificates write dates before 2050 as GeneralizedTime and are refused there. Signatures and names
are still checked by `cryptography`; the few rules of RFC 5280 that remain are the ones below.

What a certificate is for, role by role:

* Who signs evidence, RIMs or Intel's collateral is an end entity whose key makes digital signatures. RFC 5280 has no
  extended key usage for any of these, and genuine certificates list none; one that lists purposes is for those alone,
  unless any purpose is among them.
* Who issues such certificates is an authority that may sign certificates, and lists no other purposes either.
* Who answers OCSP requests for an authority is an end entity, too, and lists that purpose by name.

AMD's endorsement keys differ: their certificates have the serial number 0 and do not say what the key is for. Whoever
reads those says so (``zero_serial``, ``unstated_usage``); every other path is held to RFC 5280.

Every key on a path has a strength of 128 bits or more: ECDSA over P-256, P-384 or P-521, or RSA of 3072 bits or more.
Genuine paths use P-384 (NVIDIA), P-256 (Intel), and RSA of 4096 bits above P-384 (AMD). TPMs sign with RSA of 2048
bits; whoever reads their certificates says so (``tpm_key``), and only the first of a path may have such a key. No key
comes twice. Name constraints are not applied here, so a path with some is refused, critical or not. So is a path
with another critical extension that is not understood.

What depends on certificates alone is found out once: what one says, whether one issued another, and at which anchor
a path ends. Certificates are compared by all that is in them. Time, policies and revocation are no part of this, and
no error is remembered; ``REMEMBERED`` bounds how many answers are.

Source: RFC 5280, sections 4.1, 4.2, 4.2.1.3, 4.2.1.9, 4.2.1.10, 4.2.1.12 and 6.1; NIST SP 800-57 Part 1 Revision 5,
tables 2 and 4 (strengths of keys, and until when).
"""

from __future__ import annotations

import re
import threading
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from functools import lru_cache
from itertools import pairwise

from cryptography import x509
from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat import asn1
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.hazmat.primitives.serialization import Encoding
from cryptography.utils import CryptographyDeprecationWarning

from carnet_ref.wire import MalformedError

ONLY_PEM = re.compile(rb"(\s*-----BEGIN CERTIFICATE-----[A-Za-z0-9+/=\s]*-----END CERTIFICATE-----)+\s*")
"""RFC 7468 lets other text stand around certificates; nobody signs that, so it could be changed unnoticed."""
REMEMBERED = 256
LONGEST_PATH = 10
LARGEST_CHAIN = 64 * 1024
CURVES = (ec.SECP256R1, ec.SECP384R1, ec.SECP521R1)
RSA_BITS, SHORTER_RSA = range(3072, 8193), range(2048, 8193)
"""The upper end bounds what one verification costs."""
LONGEST_NAME = 200
"""How many characters of a name are shown."""
TIME = "%Y-%m-%dT%H:%M:%SZ"
"""How moments are shown."""
HASHES = (hashes.SHA256, hashes.SHA384, hashes.SHA512)
UNDERSTOOD = {x509.BasicConstraints.oid, x509.KeyUsage.oid, x509.ExtendedKeyUsage.oid}
TPM_KEY_PURPOSE = x509.ObjectIdentifier("2.23.133.8.3")
"""Source: TCG, EK Credential Profile 2.5, section 3.3 (tcg-kp-AIKCertificate)."""
PURPOSES = {
    x509.oid.ExtendedKeyUsageOID.SERVER_AUTH: "serverAuth",
    x509.oid.ExtendedKeyUsageOID.CLIENT_AUTH: "clientAuth",
    x509.oid.ExtendedKeyUsageOID.CODE_SIGNING: "codeSigning",
    x509.oid.ExtendedKeyUsageOID.EMAIL_PROTECTION: "emailProtection",
    x509.oid.ExtendedKeyUsageOID.TIME_STAMPING: "timeStamping",
    x509.oid.ExtendedKeyUsageOID.OCSP_SIGNING: "OCSPSigning",
}
"""Extended key usages by the names that RFC 5280, section 4.2.1.12, gives them; they are only shown."""

UNREADABLE = (
    ValueError,
    TypeError,
    UnsupportedAlgorithm,
    x509.DuplicateExtension,
    x509.InvalidVersion,
    x509.UnsupportedGeneralNameType,
    Warning,
)
"""What `cryptography` raises on certificates and lists that cannot be read, once warnings are errors."""

SERIAL_WARNING = "Parsed a serial number which wasn't positive"
"""How `cryptography` begins what it says of a serial number that RFC 5280, section 4.1.2.2, forbids."""


_WARNING_FILTERS = threading.RLock()


@contextmanager
def own_warning_filters() -> Iterator[None]:
    """Let filters of warnings be set inside, and be as before afterwards.

    They are those of the whole process. So one thread at a time has its own: another one's would decide what is refused
    here, and some would stay.
    """
    with _WARNING_FILTERS, warnings.catch_warnings():
        yield


class PathError(ValueError):
    """Certificates that do not lead to a trust anchor.

    Attributes:
        certificate: the one that is to blame; ``None`` where it is none of them.
    """

    def __init__(self, reason: str, certificate: x509.Certificate | None = None) -> None:
        super().__init__(reason)
        self.certificate = certificate


def parse_pem_chain(data: bytes, *, zero_serial: bool = False) -> tuple[x509.Certificate, ...]:
    """Return the certificates in ``data``, in its order: the one that is to be relied on first.

    ``data`` is PEM; ``zero_serial`` says whether a serial number may be 0.

    Raises MalformedError if there are none, too many, or something else.
    """
    _check_size(len(data))
    blocks = data.count(b"-----BEGIN ")
    _check_count(blocks)
    if not ONLY_PEM.fullmatch(data):
        raise MalformedError("certificate chain", "PEM certificates with only white space between them", "other text")
    certificates = _parsed(lambda: x509.load_pem_x509_certificates(data), zero_serial)
    if blocks != len(certificates):  # the loader passes over what it does not know and over a last block cut short
        raise MalformedError("certificate chain", f"{blocks} whole certificates", f"{len(certificates)}")
    return certificates


def parse_der_chain(each: Sequence[bytes], *, zero_serial: bool = False) -> tuple[x509.Certificate, ...]:
    """Return the certificates whose DER encodings are ``each``.

    ``zero_serial`` says whether a serial number may be 0.

    Raises MalformedError if there are none, too many, or something else.
    """
    _check_size(sum(map(len, each)))
    _check_count(len(each))
    return _parsed(lambda: [x509.load_der_x509_certificate(data) for data in each], zero_serial)


def _check_size(size: int) -> None:
    if size > LARGEST_CHAIN:
        raise MalformedError("certificate chain", f"at most {LARGEST_CHAIN} bytes", f"{size}")


def _check_count(count: int) -> None:
    if not 1 <= count <= LONGEST_PATH:
        raise MalformedError("certificate chain", f"1 to {LONGEST_PATH} certificates", f"{count}")


def _parsed(load: Callable[[], list[x509.Certificate]], zero_serial: bool) -> tuple[x509.Certificate, ...]:
    try:
        with own_warning_filters():
            warnings.simplefilter("error")  # what `cryptography` will refuse one day is refused today
            if zero_serial:
                warnings.filterwarnings("ignore", SERIAL_WARNING, CryptographyDeprecationWarning)
            certificates = tuple(_read(certificate, zero_serial) for certificate in load())
            serials = [certificate.serial_number for certificate in certificates]
    except UNREADABLE as error:
        raise MalformedError(
            "certificate chain", "X.509 certificates", " ".join(str(error).split())[:200] or type(error).__name__
        ) from None
    if min(serials) < 0:
        raise MalformedError("certificate chain", "serial numbers from 0", f"{min(serials)}")
    return certificates


@lru_cache(REMEMBERED)
def _read(certificate: x509.Certificate, _zero_serial: bool) -> x509.Certificate:
    """Return a certificate of which everything has been read, while these warnings are errors."""
    read_everything(certificate)
    return certificate


def read_everything(certificate: x509.Certificate) -> None:
    """Touch what `cryptography` decodes only when asked, so that errors come now: those in ``UNREADABLE``."""
    _ = (certificate.extensions, certificate.public_key(), certificate.subject, certificate.issuer)
    _ = (certificate.not_valid_before_utc, certificate.not_valid_after_utc, certificate.signature_hash_algorithm)


@lru_cache(REMEMBERED)
def check_signature_is_whole(certificate: x509.Certificate) -> None:
    """Insist that a signature is not said to have unused bits: nobody signs that number, so it could be changed.

    Raises MalformedError if it is said to have some.
    """
    signed = asn1.decode_der(SignedCertificate, certificate.public_bytes(Encoding.DER))
    if signed.signature.padding_bits():
        raise MalformedError("certificate", "a signature of whole bytes", "unused bits")


@asn1.sequence
class SignedCertificate:
    """A certificate as its three parts.

    Source: RFC 5280, section 4.1.
    """

    to_be_signed: asn1.TLV
    algorithm: asn1.TLV
    signature: asn1.BitString


def check_path(
    certificates: Sequence[x509.Certificate],
    anchors: Sequence[x509.Certificate],
    *,
    unstated_usage: bool = False,
    tpm_key: bool = False,
) -> x509.Certificate:
    """Validate the chain, leaf first, and return the trust anchor it ends at.

    The last certificate may be the anchor itself. The first must be of an end entity that may sign evidence. Validity
    in time is for the caller to look at: see `validity`.

    ``unstated_usage`` says whether the first may leave out what its key is for, as RFC 5280, section 4.2.1.3, allows;
    ``tpm_key``, whether it is of a TPM's key: that may be RSA of 2048 bits, and the certificate be for that purpose and
    name the TPM in a critical extension.

    Raises PathError if they lead to none, a certificate on the way must not issue, or one is for something else.
    """
    return _anchor_of(tuple(certificates), tuple(anchors), unstated_usage, tpm_key)


@lru_cache(REMEMBERED)
def _anchor_of(
    certificates: tuple[x509.Certificate, ...],
    anchors: tuple[x509.Certificate, ...],
    unstated_usage: bool,
    tpm_key: bool,
) -> x509.Certificate:
    """Return the trust anchor as `check_path` does."""
    check_signer(certificates[0], TPM_KEY_PURPOSE if tpm_key else None, unstated_usage=unstated_usage)
    last = certificates[-1]
    anchor = last if last in anchors else _issuer_among(anchors, last)
    path = [*certificates] if anchor is last else [*certificates, anchor]
    # Insist that no key comes twice on a path: one that does is a circle, or a certificate too many
    keys = [certificate.public_key() for certificate in path]
    twice = next((place for place, key in enumerate(keys) if key in keys[:place]), None)
    if twice is not None:
        raise PathError(f"the key of {name(path[twice])} comes twice on the path", path[twice])
    _check_understood(anchor)
    for below, (issued, issuer) in enumerate(pairwise(path)):
        check_issued(issued, issuer, tpm_key=tpm_key and below == 0)
        _check_may_issue(issuer, below)
    return anchor


def _issuer_among(anchors: Sequence[x509.Certificate], issued: x509.Certificate) -> x509.Certificate:
    """Return the anchor that issued ``issued``; a root with a new key keeps its name, so several may have the name."""
    named = [anchor for anchor in anchors if anchor.subject == issued.issuer]
    if not named:
        raise PathError(f"{name(issued)} is issued by {name_of(issued.issuer)}, which is no trust anchor", issued)
    return next((anchor for anchor in named if is_issued_by(issued, anchor)), named[0])


def check_issued(issued: x509.Certificate, issuer: x509.Certificate, *, tpm_key: bool = False) -> None:
    """Insist that ``issuer`` signed ``issued``, of which everything that matters is understood here.

    Raises PathError if it did not, or something is not.
    """
    if not isinstance(issued.signature_hash_algorithm, HASHES):
        raise PathError(f"{name(issued)} is signed with a hash that is not accepted", issued)
    _check_understood(issued, tpm_key=tpm_key)
    if not is_issued_by(issued, issuer):
        raise PathError(f"{name(issued)} is not issued by {name(issuer)}", issued)


def _check_understood(certificate: x509.Certificate, *, tpm_key: bool = False) -> None:
    """Insist on a key that is strong enough, and on no rule that would go unheeded."""
    problem = _weakness(certificate.public_key(), SHORTER_RSA if tpm_key else RSA_BITS)
    if problem is not None:
        raise PathError(f"{name(certificate)} has a key that is not accepted: {problem}", certificate)
    if any(extension.oid == x509.NameConstraints.oid for extension in certificate.extensions):
        raise PathError(f"{name(certificate)} has name constraints, which are not applied here", certificate)
    understood = UNDERSTOOD | {x509.SubjectAlternativeName.oid} if tpm_key else UNDERSTOOD
    unknown = [e.oid.dotted_string for e in certificate.extensions if e.critical and e.oid not in understood]
    if unknown:
        raise PathError(f"{name(certificate)} has the unknown critical extension {unknown[0]}", certificate)


def _weakness(key: object, rsa_bits: range) -> str | None:
    """Return what is wrong with a key, ``None`` where nothing is."""
    match key:
        case ec.EllipticCurvePublicKey():
            return None if isinstance(key.curve, CURVES) else f"it is on {key.curve.name}"
        case rsa.RSAPublicKey():
            return None if key.key_size in rsa_bits else f"RSA of {key.key_size} bits"
        case _:
            return f"an {type(key).__name__}"


@lru_cache(REMEMBERED)
def is_issued_by(issued: x509.Certificate, issuer: x509.Certificate) -> bool:
    """Return whether ``issuer`` has the name of the issuer of ``issued``, and signed it."""
    try:
        issued.verify_directly_issued_by(issuer)
    except (ValueError, TypeError, InvalidSignature, UnsupportedAlgorithm):
        return False
    return True


def check_signer(
    certificate: x509.Certificate, purpose: x509.ObjectIdentifier | None = None, *, unstated_usage: bool = False
) -> None:
    """Insist that ``certificate`` is one of an end entity whose key signs, so that no authority's key passes for it.

    ``purpose`` is the extended key usage that stands for what was signed; ``None`` where there is none, as for
    evidence. ``unstated_usage`` says whether it may leave out what its key is for.

    Raises PathError if it is one of an authority, of a key for something else, or of a key for nobody knows what.

    Source: RFC 5280, sections 4.2.1.3, 4.2.1.9 and 4.2.1.12.
    """
    try:
        usage = certificate.extensions.get_extension_for_class(x509.KeyUsage).value
        signs = usage.digital_signature and not usage.key_cert_sign
    except x509.ExtensionNotFound:
        if not unstated_usage:
            raise PathError(f"{name(certificate)} does not say what its key is for", certificate) from None
        signs = True
    if not signs or is_authority(certificate):
        raise PathError(f"{name(certificate)} is not a certificate of a key that signs evidence", certificate)
    _check_purpose(certificate, purpose)


def _check_purpose(certificate: x509.Certificate, purpose: x509.ObjectIdentifier | None) -> None:
    """Insist that ``certificate`` lists no purposes, or ``purpose`` or any purpose among them."""
    try:
        listed = list(certificate.extensions.get_extension_for_class(x509.ExtendedKeyUsage).value)
    except x509.ExtensionNotFound:
        return
    if not {purpose, x509.oid.ExtendedKeyUsageOID.ANY_EXTENDED_KEY_USAGE}.intersection(listed):
        shown = ", ".join(PURPOSES.get(each, each.dotted_string) for each in listed)[:200]
        raise PathError(f"{name(certificate)} is for {shown}, and for nothing else", certificate)


def _check_may_issue(issuer: x509.Certificate, below: int) -> None:
    """Insist that ``issuer`` is an authority that may have ``below`` authorities under it."""
    try:
        constraints = issuer.extensions.get_extension_for_class(x509.BasicConstraints).value
        usage = issuer.extensions.get_extension_for_class(x509.KeyUsage).value
    except x509.ExtensionNotFound:
        raise PathError(f"{name(issuer)} does not say that it may issue certificates", issuer) from None
    if not (constraints.ca and usage.key_cert_sign):
        raise PathError(f"{name(issuer)} may not issue certificates", issuer)
    _check_purpose(issuer, None)
    if constraints.path_length is not None and below > constraints.path_length:
        raise PathError(
            f"{name(issuer)} may have {constraints.path_length} authorities below it, and has {below}", issuer
        )


def is_authority(certificate: x509.Certificate) -> bool:
    """Return whether ``certificate`` says that it is one of an authority."""
    try:
        return certificate.extensions.get_extension_for_class(x509.BasicConstraints).value.ca
    except x509.ExtensionNotFound:
        return False


def validity(certificates: Sequence[x509.Certificate]) -> tuple[datetime, datetime]:
    """Return from when until when all ``certificates`` are valid together."""
    return (
        max(certificate.not_valid_before_utc for certificate in certificates),
        min(certificate.not_valid_after_utc for certificate in certificates),
    )


def common_name(certificate: x509.Certificate) -> str | None:
    """Return the one common name of a certificate's subject, if it has one."""
    return only_common_name(certificate.subject)


def only_common_name(subject: x509.Name) -> str | None:
    """Return the one common name in a name, if it has one."""
    names = subject.get_attributes_for_oid(x509.NameOID.COMMON_NAME)
    return str(names[0].value) if len(names) == 1 else None


def name(certificate: x509.Certificate) -> str:
    """Return the common name of who ``certificate`` is about, or all that it says."""
    common = certificate.subject.get_attributes_for_oid(x509.NameOID.COMMON_NAME)
    return repr(str(common[0].value)[:LONGEST_NAME]) if common else name_of(certificate.subject)


def name_of(subject: x509.Name) -> str:
    """Return all that a name says, up to a length that a line of text can do with."""
    return subject.rfc4514_string()[:LONGEST_NAME]


def fingerprint(certificate: x509.Certificate) -> str:
    """Return the SHA-256 of the certificate, in hexadecimal."""
    return certificate.fingerprint(hashes.SHA256()).hex()
