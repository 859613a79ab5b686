"""Certificate revocation lists (CRLs) as vendors publish them, read once into what `cryptography` makes of them.

Nothing is checked here but the form: who signs a list, and when it counts, is for the appraisal to look at.

Source: RFC 5280, section 5.
"""

from __future__ import annotations

import warnings
from datetime import datetime
from typing import Final

from cryptography import x509
from cryptography.hazmat.primitives.serialization import Encoding

from carnet_ref.attestation.documents import PEM, decode
from carnet_ref.crypto.certificate_path import UNREADABLE
from carnet_ref.wire import MalformedError

WHAT: Final = "revocation list"
PEM_LIST: Final = b"-----BEGIN X509 CRL-----"


def parse_crl(data: bytes) -> x509.CertificateRevocationList:
    """Read a certificate revocation list from DER. Raises MalformedError if it is something else."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            crl = x509.load_der_x509_crl(data)
            _ = (crl.issuer, crl.last_update_utc, crl.next_update_utc, crl.signature_hash_algorithm, list(crl))
            _ = crl.extensions
    except UNREADABLE as error:
        raise MalformedError(WHAT, "a DER CRL", " ".join(str(error).split())[:200]) from None
    if crl.next_update_utc is None:
        raise MalformedError(WHAT, "a time of the next update", "none")
    return crl


def parse_crl_file(data: bytes) -> x509.CertificateRevocationList:
    """Read a file with one list: PEM, DER, or DER in hexadecimal or base64.

    Raises MalformedError if it is something else, or has more in it, which would be passed over.
    """
    if not data.lstrip().startswith(PEM_LIST):
        return parse_crl(decode(data, WHAT))
    if data.count(PEM) != 1:
        raise MalformedError(WHAT, "one CRL in PEM", f"{data.count(PEM)} blocks")
    return parse_crl(crl_in_pem(data))


def crl_in_pem(data: bytes) -> bytes:
    """Return the DER of a list in PEM. Raises MalformedError if it is something else."""
    try:
        return x509.load_pem_x509_crl(data).public_bytes(Encoding.DER)
    except ValueError as error:
        raise MalformedError(WHAT, "a CRL in PEM", " ".join(str(error).split())[:200]) from None


def crl_period(crl: x509.CertificateRevocationList) -> tuple[datetime, datetime]:
    """Return from when until when a revocation list that was read by `parse_crl` is current."""
    assert crl.next_update_utc is not None
    return crl.last_update_utc, crl.next_update_utc
