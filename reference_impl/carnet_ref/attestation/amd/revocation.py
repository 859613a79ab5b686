"""AMD's revocation lists: whether the key that signed an endorsement key was taken back.

The root of each line signs a list of the signing keys below it, at the address that their certificates name.
Endorsement keys are in none: where firmware is found wanting, keys for another TCB take their place.

Source: the CRL distribution points in AMD's certificates; RFC 5280, section 6.3.3.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Final

from cryptography import x509
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric import rsa

from carnet_ref.attestation.amd.certificates import EndorsementPath, signed_as_amd_signs
from carnet_ref.attestation.appraisal import NO_REVOCATION, Checklist
from carnet_ref.attestation.revocation_lists import crl_period
from carnet_ref.crypto.certificate_path import name, name_of

CRL: Final = "RFC 5280, section 6.3.3"
TIME: Final = "%Y-%m-%dT%H:%M:%SZ"


def check_revocation(
    steps: Checklist, path: EndorsementPath, lists: Sequence[x509.CertificateRevocationList], at: datetime
) -> None:
    """Look up the signing key, and the root itself, in every list that was given.

    Raises:
        RefusedError: a list is not by the path's root, does not count at ``at``, or revokes one of them.
    """
    if not lists:
        steps.not_requested("revocation", "crl", CRL, lacking=NO_REVOCATION)
        return
    problem = next(filter(None, (_problem(path, crl, at) for crl in lists)), None)
    if problem is not None:
        steps.refuse("revocation", problem, CRL)
    until = min(crl_period(crl)[1] for crl in lists)
    told = f"no key above is revoked by {name(path.anchor)}; to be renewed by {until:{TIME}}"
    steps.passed("revocation", told, CRL, without=("crl",))


def _problem(path: EndorsementPath, crl: x509.CertificateRevocationList, at: datetime) -> str | None:
    """Return why a list does not say that the keys above are good, if so."""
    issuer = path.anchor
    if crl.issuer != issuer.subject:
        return f"the revocation list is by {name_of(crl.issuer)}, not by the root {name(issuer)}"
    if path.authority.issuer != crl.issuer:
        return f"the revocation list is by {name(issuer)}, which did not issue {name(path.authority)}"
    if not issuer.extensions.get_extension_for_class(x509.KeyUsage).value.crl_sign:
        return f"{name(issuer)} may not sign revocation lists"
    if any(extension.critical for extension in crl.extensions):
        return f"the revocation list by {name(issuer)} has a critical extension, so it is partial"
    if not _is_signed(crl, issuer):
        return f"the revocation list is not signed by {name(issuer)} with RSASSA-PSS and SHA-384"
    start, end = crl_period(crl)
    if not start <= at <= end:
        return f"the revocation list counts from {start:{TIME}} to {end:{TIME}}, not at {at:{TIME}}"
    return next(filter(None, (_revoked(crl, each) for each in (path.authority, issuer))), None)


def _is_signed(crl: x509.CertificateRevocationList, issuer: x509.Certificate) -> bool:
    key = issuer.public_key()
    try:
        return isinstance(key, rsa.RSAPublicKey) and signed_as_amd_signs(crl) and crl.is_signature_valid(key)
    except (ValueError, UnsupportedAlgorithm):
        return False


def _revoked(crl: x509.CertificateRevocationList, certificate: x509.Certificate) -> str | None:
    entry = crl.get_revoked_certificate_by_serial_number(certificate.serial_number)
    if entry is None:
        return None
    return f"{name(certificate)} {certificate.serial_number:x} was revoked {entry.revocation_date_utc:{TIME}}"
