"""Certificates and the path from one of them up to a trust anchor.

The links are checked one by one, because the verifier of `cryptography` holds every certificate to the rules of the
Web: NVIDIA's RIM certificates write dates before 2050 as GeneralizedTime and are refused there. Signatures and names
are still checked by `cryptography`; the few rules of RFC 5280 that remain are the ones below.

Source: RFC 5280, sections 4.1 and 6.1.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from datetime import datetime

from cryptography import x509
from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives import hashes

from carnet_ref.wire import MalformedError

LONGEST_PATH = 10
LARGEST_CHAIN = 64 * 1024
HASHES = (hashes.SHA256, hashes.SHA384, hashes.SHA512)
UNDERSTOOD = {x509.BasicConstraints.oid, x509.KeyUsage.oid, x509.ExtendedKeyUsage.oid}

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


class PathError(ValueError):
    """Certificates that do not lead to a trust anchor."""


def parse_pem_chain(data: bytes) -> tuple[x509.Certificate, ...]:
    """Return the certificates in ``data``, in its order: the one that is to be relied on first.

    Raises:
        MalformedError: there are none, too many, or something else.
    """
    if len(data) > LARGEST_CHAIN:
        raise MalformedError("certificate chain", f"at most {LARGEST_CHAIN} bytes", f"{len(data)}")
    certificates = _parsed(lambda: x509.load_pem_x509_certificates(data))
    blocks = data.count(b"-----BEGIN ")
    if blocks != len(certificates):  # the loader passes over what it does not know and over a last block cut short
        raise MalformedError("certificate chain", f"{blocks} whole certificates", f"{len(certificates)}")
    return certificates


def parse_der_chain(each: Sequence[bytes]) -> tuple[x509.Certificate, ...]:
    """Return the certificates whose DER encodings are ``each``."""
    return _parsed(lambda: [x509.load_der_x509_certificate(data) for data in each])


def _parsed(load: Callable[[], list[x509.Certificate]]) -> tuple[x509.Certificate, ...]:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")  # what `cryptography` will refuse one day is refused today
            certificates = tuple(load())
            for certificate in certificates:
                read_everything(certificate)
    except UNREADABLE as error:
        raise MalformedError("certificate chain", "X.509 certificates", _one_line(error)) from None
    if not 1 <= len(certificates) <= LONGEST_PATH:
        raise MalformedError("certificate chain", f"1 to {LONGEST_PATH} certificates", f"{len(certificates)}")
    return certificates


def read_everything(certificate: x509.Certificate) -> None:
    """Touch what `cryptography` decodes only when asked, so that errors come now: those in ``UNREADABLE``."""
    _ = (certificate.extensions, certificate.public_key(), certificate.subject, certificate.issuer)
    _ = (certificate.not_valid_before_utc, certificate.not_valid_after_utc, certificate.signature_hash_algorithm)


def _one_line(error: Exception | Warning) -> str:
    return " ".join(str(error).split())[:200] or type(error).__name__


def check_path(certificates: Sequence[x509.Certificate], anchors: Sequence[x509.Certificate]) -> x509.Certificate:
    """Return the anchor that ``certificates`` lead to, each issued by the next, the last by the anchor or being it.

    The first must be of a key that signs something else than certificates. Validity in time is for the caller to
    look at: see `validity`.

    Raises:
        PathError: they lead to none, or a certificate on the way must not issue.
    """
    _check_may_sign(certificates[0])
    last = certificates[-1]
    anchor = next((anchor for anchor in anchors if anchor == last), None)
    above = list(certificates[1:])
    if anchor is None:
        anchor = next((anchor for anchor in anchors if anchor.subject == last.issuer), None)
        if anchor is None:
            raise PathError(f"{name(last)} is issued by {last.issuer.rfc4514_string()}, which is no trust anchor")
        above.append(anchor)
    for below, (issued, issuer) in enumerate(zip(certificates, above, strict=False)):
        check_issued(issued, issuer)
        _check_may_issue(issuer, below)
    return anchor


def check_issued(issued: x509.Certificate, issuer: x509.Certificate) -> None:
    """Insist that ``issuer`` signed ``issued``, which has nothing critical that is not understood here.

    Raises:
        PathError: it did not, or there is.
    """
    if not isinstance(issued.signature_hash_algorithm, HASHES):
        raise PathError(f"{name(issued)} is signed with a hash that is not accepted")
    unknown = [e.oid.dotted_string for e in issued.extensions if e.critical and e.oid not in UNDERSTOOD]
    if unknown:
        raise PathError(f"{name(issued)} has the unknown critical extension {unknown[0]}")
    try:
        issued.verify_directly_issued_by(issuer)
    except (ValueError, TypeError, InvalidSignature, UnsupportedAlgorithm):
        raise PathError(f"{name(issued)} is not issued by {name(issuer)}") from None


def _check_may_sign(certificate: x509.Certificate) -> None:
    """Insist that the key at the bottom is one for signing, so that no authority's key passes for it."""
    try:
        usage = certificate.extensions.get_extension_for_class(x509.KeyUsage).value
    except x509.ExtensionNotFound:
        raise PathError(f"{name(certificate)} does not say what its key is for") from None
    if not usage.digital_signature or usage.key_cert_sign:
        raise PathError(f"{name(certificate)} is not a certificate of a key that signs evidence")


def _check_may_issue(issuer: x509.Certificate, below: int) -> None:
    """Insist that ``issuer`` is an authority that may have ``below`` authorities under it."""
    try:
        constraints = issuer.extensions.get_extension_for_class(x509.BasicConstraints).value
        usage = issuer.extensions.get_extension_for_class(x509.KeyUsage).value
    except x509.ExtensionNotFound:
        raise PathError(f"{name(issuer)} does not say that it may issue certificates") from None
    if not (constraints.ca and usage.key_cert_sign):
        raise PathError(f"{name(issuer)} may not issue certificates")
    if constraints.path_length is not None and below > constraints.path_length:
        raise PathError(f"{name(issuer)} may have {constraints.path_length} authorities below it, and has {below}")


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


def name(certificate: x509.Certificate) -> str:
    """Return the common name of who ``certificate`` is about, or all that it says."""
    common = certificate.subject.get_attributes_for_oid(x509.NameOID.COMMON_NAME)
    return repr(str(common[0].value)) if common else certificate.subject.rfc4514_string()


def fingerprint(certificate: x509.Certificate) -> str:
    """Return the SHA-256 of the certificate, in hexadecimal."""
    return certificate.fingerprint(hashes.SHA256()).hex()
