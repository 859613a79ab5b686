"""Certificates and the path from one of them up to a trust anchor.

This module checks each link itself, because the verifier of `cryptography` applies the rules of the Web PKI to every
certificate: it refuses NVIDIA's RIM certificates, which write dates before 2050 as GeneralizedTime. `cryptography`
still checks signatures and names; the other rules of RFC 5280 that apply are listed here.

The allowed usage of a certificate depends on its role:

* A signer of evidence, RIMs or Intel's collateral is an end entity whose key makes digital signatures. RFC 5280 has no
  extended key usage for these, and genuine certificates list none. A certificate that lists purposes may be used for
  these only, unless anyExtendedKeyUsage is among them.
* An issuer of such certificates is an authority that may sign certificates, and lists no other purposes either.
* A responder to OCSP requests for an authority is an end entity, too, and lists that purpose.

AMD's endorsement keys differ: their certificates have the serial number 0 and do not state the key usage. Callers that
read those pass ``zero_serial`` and ``unstated_usage``; every other path must satisfy RFC 5280.

Every key on a path has a strength of 128 bits or more: ECDSA over P-256, P-384 or P-521, or RSA of 3072 bits or more.
Genuine paths use P-384 (NVIDIA), P-256 (Intel), and RSA of 4096 bits above P-384 (AMD). TPMs sign with RSA of 2048
bits; callers that read their certificates pass ``tpm_key``, and only the leaf may have such a key. No key occurs twice
on a path. Name constraints are not implemented, so a path with some is refused, critical or not. A path with another
critical extension that is not implemented is refused, too.

Results that depend on certificates alone are cached: the content of a certificate, whether one issued another, and the
anchor of a path. Certificates are compared by their whole content. Time, policies and revocation are not part of this,
and errors are not cached; ``REMEMBERED`` bounds the cache.

Source: RFC 5280, sections 4.1, 4.2, 4.2.1.3, 4.2.1.9, 4.2.1.10, 4.2.1.12 and 6.1; NIST SP 800-57 Part 1 Revision 5,
tables 2 and 4 (strengths of keys, and until when).
"""

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

#: PEM without other text: RFC 7468 allows text around certificates, but it is not signed and could be changed.
ONLY_PEM = re.compile(rb"(\s*-----BEGIN CERTIFICATE-----[A-Za-z0-9+/=\s]*-----END CERTIFICATE-----)+\s*")
REMEMBERED = 256
LONGEST_PATH = 10
LARGEST_CHAIN = 64 * 1024
CURVES = (ec.SECP256R1, ec.SECP384R1, ec.SECP521R1)
#: The allowed sizes of RSA keys; the upper end bounds the cost of a verification.
RSA_BITS, SHORTER_RSA = range(3072, 8193), range(2048, 8193)
LONGEST_NAME = 200  #: The most characters of a name that are shown.
TIME = "%Y-%m-%dT%H:%M:%SZ"  #: The format of times in messages.
HASHES = (hashes.SHA256, hashes.SHA384, hashes.SHA512)
UNDERSTOOD = {x509.BasicConstraints.oid, x509.KeyUsage.oid, x509.ExtendedKeyUsage.oid}
#: Source: TCG, EK Credential Profile 2.5, section 3.3 (tcg-kp-AIKCertificate).
TPM_KEY_PURPOSE = x509.ObjectIdentifier("2.23.133.8.3")
#: Extended key usages by the names that RFC 5280, section 4.2.1.12, gives them; they are only shown.
PURPOSES = {
    x509.oid.ExtendedKeyUsageOID.SERVER_AUTH: "serverAuth",
    x509.oid.ExtendedKeyUsageOID.CLIENT_AUTH: "clientAuth",
    x509.oid.ExtendedKeyUsageOID.CODE_SIGNING: "codeSigning",
    x509.oid.ExtendedKeyUsageOID.EMAIL_PROTECTION: "emailProtection",
    x509.oid.ExtendedKeyUsageOID.TIME_STAMPING: "timeStamping",
    x509.oid.ExtendedKeyUsageOID.OCSP_SIGNING: "OCSPSigning",
}

#: The exceptions of `cryptography` for malformed certificates and revocation lists, if warnings are errors.
UNREADABLE = (
    ValueError,
    TypeError,
    UnsupportedAlgorithm,
    x509.DuplicateExtension,
    x509.InvalidVersion,
    x509.UnsupportedGeneralNameType,
    Warning,
)

#: The prefix of the warning of `cryptography` about a serial number that RFC 5280, section 4.1.2.2, forbids.
SERIAL_WARNING = "Parsed a serial number which wasn't positive"


_WARNING_FILTERS = threading.RLock()


@contextmanager
def own_warning_filters() -> Iterator[None]:
    """Allow the block to set warning filters, and restore the earlier ones afterwards.

    Warning filters belong to the whole process, so only one thread at a time is in such a block. Otherwise the filters
    of another thread could decide what is refused here, and could stay.
    """
    with _WARNING_FILTERS, warnings.catch_warnings():
        yield


class PathError(ValueError):
    """Certificates do not form a valid path to a trust anchor."""

    def __init__(self, reason: str, certificate: x509.Certificate | None = None) -> None:
        super().__init__(reason)
        self.certificate = certificate  #: the certificate with the fault; ``None`` if it is none of them.


def parse_pem_chain(data: bytes, *, zero_serial: bool = False) -> tuple[x509.Certificate, ...]:
    """Return the certificates in the PEM text ``data``, in its order, the leaf first.

    ``zero_serial`` says whether a serial number may be 0.

    Raises MalformedError if there are none or too many, or the text has anything else.
    """
    _check_size(len(data))
    blocks = data.count(b"-----BEGIN ")
    _check_count(blocks)
    if not ONLY_PEM.fullmatch(data):
        raise MalformedError("certificate chain", "PEM certificates with only white space between them", "other text")
    certificates = _parsed(lambda: x509.load_pem_x509_certificates(data), zero_serial)
    if blocks != len(certificates):  # the loader skips unknown blocks and a truncated last one
        raise MalformedError("certificate chain", f"{blocks} whole certificates", f"{len(certificates)}")
    return certificates


def parse_der_chain(each: Sequence[bytes], *, zero_serial: bool = False) -> tuple[x509.Certificate, ...]:
    """Return the certificates with the DER encodings ``each``.

    ``zero_serial`` says whether a serial number may be 0.

    Raises MalformedError if there are none or too many, or one is malformed.
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
            warnings.simplefilter("error")  # a deprecation warning of `cryptography` means refusal, too
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
    """Return a certificate after all its fields were decoded, with warnings as errors."""
    read_everything(certificate)
    return certificate


def read_everything(certificate: x509.Certificate) -> None:
    """Access all fields that `cryptography` decodes lazily, so that errors (those in ``UNREADABLE``) are raised now."""
    _ = (certificate.extensions, certificate.public_key(), certificate.subject, certificate.issuer)
    _ = (certificate.not_valid_before_utc, certificate.not_valid_after_utc, certificate.signature_hash_algorithm)


@lru_cache(REMEMBERED)
def check_signature_is_whole(certificate: x509.Certificate) -> None:
    """Require that the signature has no unused bits. Raises MalformedError if it has some."""
    if not has_whole_signature(certificate):
        raise MalformedError("certificate", "a signature of whole bytes", "unused bits")


def has_whole_signature(certificate: x509.Certificate) -> bool:
    """Return whether the signature's bit string has no unused bits: their number is not signed and could be changed."""
    return not asn1.decode_der(SignedCertificate, certificate.public_bytes(Encoding.DER)).signature.padding_bits()


@asn1.sequence
class SignedCertificate:
    """The three parts of a certificate. Source: RFC 5280, section 4.1."""

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
    """Validate the chain, leaf first, and return the trust anchor at its end.

    The last certificate may be the anchor itself. The leaf must be an end entity that may sign evidence. The caller has
    to check validity in time: see `validity`.

    ``unstated_usage`` says whether the leaf may omit its key usage, as RFC 5280, section 4.2.1.3, allows. ``tpm_key``
    says whether the leaf has a TPM's key: it may then be RSA of 2048 bits, and the certificate may list that purpose
    and name the TPM in a critical extension.

    Raises PathError if the chain ends at no anchor, or a certificate must not be used in its role.
    """
    return _anchor_of(tuple(certificates), tuple(anchors), unstated_usage, tpm_key)


@lru_cache(REMEMBERED)
def _anchor_of(
    certificates: tuple[x509.Certificate, ...],
    anchors: tuple[x509.Certificate, ...],
    unstated_usage: bool,
    tpm_key: bool,
) -> x509.Certificate:
    """Return the trust anchor as `check_path` does; the results are cached."""
    check_signer(certificates[0], TPM_KEY_PURPOSE if tpm_key else None, unstated_usage=unstated_usage)
    last = certificates[-1]
    anchor = last if last in anchors else _issuer_among(anchors, last)
    path = [*certificates] if anchor is last else [*certificates, anchor]
    # Require that no key occurs twice on a path: a repeated key is a cycle or a superfluous certificate
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
    """Return the anchor that issued ``issued``; several anchors may share a name, as roots with new keys keep it."""
    named = [anchor for anchor in anchors if anchor.subject == issued.issuer]
    if not named:
        raise PathError(f"{name(issued)} is issued by {name_of(issued.issuer)}, which is no trust anchor", issued)
    return next((anchor for anchor in named if is_issued_by(issued, anchor)), named[0])


def check_issued(issued: x509.Certificate, issuer: x509.Certificate, *, tpm_key: bool = False) -> None:
    """Require that ``issuer`` signed ``issued``, and that ``issued`` has a strong key and no unsupported extension.

    Raises PathError otherwise.
    """
    if not isinstance(issued.signature_hash_algorithm, HASHES):
        raise PathError(f"{name(issued)} is signed with a hash that is not accepted", issued)
    _check_understood(issued, tpm_key=tpm_key)
    if not has_whole_signature(issued):
        raise PathError(f"{name(issued)} has a signature with unused bits, whose number is not signed", issued)
    if not is_issued_by(issued, issuer):
        raise PathError(f"{name(issued)} is not issued by {_other(issuer, issued)}", issued)


def _other(issuer: x509.Certificate, issued: x509.Certificate) -> str:
    """Return the name of an issuer, and whether it is a namesake of the certificate itself."""
    return f"{name(issuer)}, a namesake with another key" if issued.subject == issuer.subject else name(issuer)


def _check_understood(certificate: x509.Certificate, *, tpm_key: bool = False) -> None:
    """Require a key that is strong enough, and no extension that would be ignored although it is critical."""
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
    """Return why a key is too weak, or ``None``."""
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
    """Require that ``certificate`` is that of an end entity with a signing key, not that of an authority.

    ``purpose`` is the extended key usage for what was signed; ``None`` if there is none, as for evidence.
    ``unstated_usage`` says whether the certificate may omit its key usage.

    Raises PathError if the certificate is that of an authority, or its key has another usage, or an unstated one.

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
    """Require that ``certificate`` lists no extended key usages, or ``purpose`` or anyExtendedKeyUsage among them."""
    try:
        listed = list(certificate.extensions.get_extension_for_class(x509.ExtendedKeyUsage).value)
    except x509.ExtensionNotFound:
        return
    if not {purpose, x509.oid.ExtendedKeyUsageOID.ANY_EXTENDED_KEY_USAGE}.intersection(listed):
        shown = ", ".join(PURPOSES.get(each, each.dotted_string) for each in listed)[:200]
        raise PathError(f"{name(certificate)} is for {shown}, and for nothing else", certificate)


def _check_may_issue(issuer: x509.Certificate, below: int) -> None:
    """Require that ``issuer`` is an authority with a path length that allows ``below`` authorities under it."""
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
    """Return whether ``certificate`` says that it is that of an authority."""
    try:
        return certificate.extensions.get_extension_for_class(x509.BasicConstraints).value.ca
    except x509.ExtensionNotFound:
        return False


def validity(certificates: Sequence[x509.Certificate]) -> tuple[datetime, datetime]:
    """Return the start and the end of the time in which all ``certificates`` are valid."""
    return (
        max(certificate.not_valid_before_utc for certificate in certificates),
        min(certificate.not_valid_after_utc for certificate in certificates),
    )


def common_name(certificate: x509.Certificate) -> str | None:
    """Return the common name of a certificate's subject, or None unless there is exactly one."""
    return only_common_name(certificate.subject)


def only_common_name(subject: x509.Name) -> str | None:
    """Return the common name in a distinguished name, or None unless there is exactly one."""
    names = subject.get_attributes_for_oid(x509.NameOID.COMMON_NAME)
    return str(names[0].value) if len(names) == 1 else None


def name(certificate: x509.Certificate) -> str:
    """Return the common name of the subject of ``certificate``, or its whole distinguished name."""
    common = certificate.subject.get_attributes_for_oid(x509.NameOID.COMMON_NAME)
    return repr(str(common[0].value)[:LONGEST_NAME]) if common else name_of(certificate.subject)


def name_of(subject: x509.Name) -> str:
    """Return a distinguished name as text, truncated to a length that fits into a line."""
    return subject.rfc4514_string()[:LONGEST_NAME]


def fingerprint(certificate: x509.Certificate) -> str:
    """Return the SHA-256 of the certificate, in hexadecimal."""
    return certificate.fingerprint(hashes.SHA256()).hex()
