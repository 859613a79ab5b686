"""Certificate revocation lists (CRLs) as vendors publish them, each parsed once by `cryptography`.

Only the form is checked here. The appraisal checks a list's signature and its validity in time.

Source: RFC 5280, section 5.
"""

import warnings
from dataclasses import dataclass, field
from datetime import datetime
from functools import lru_cache
from typing import Final

from cryptography import x509
from cryptography.hazmat.primitives.serialization import Encoding

from carnet_ref.attestation.documents import PEM, decode
from carnet_ref.crypto.certificate_path import UNREADABLE, own_warning_filters
from carnet_ref.wire import MalformedError

WHAT: Final = "revocation list"
#: How many lists are remembered, so that the next report under the same ones need not read them again.
REMEMBERED: Final = 16
PEM_LIST: Final = b"-----BEGIN X509 CRL-----"


@dataclass(frozen=True, slots=True)
class RevocationList:
    """A parsed list with its DER; two lists are equal if their DER is."""

    der: bytes
    crl: x509.CertificateRevocationList = field(compare=False, repr=False)
    issuer: x509.Name = field(compare=False)
    start: datetime = field(compare=False)
    end: datetime = field(compare=False)  #: From when until when it is current.

    @property
    def partial(self) -> bool:
        """Whether the list has a critical extension: it may then cover some certificates of its issuer only."""
        return any(extension.critical for extension in self.crl.extensions)

    def entry(self, certificate: x509.Certificate) -> x509.RevokedCertificate | None:
        """Return the entry of a certificate of the list's issuer, or None if it is not revoked."""
        return self.crl.get_revoked_certificate_by_serial_number(certificate.serial_number)


@lru_cache(REMEMBERED)
def parse_crl(data: bytes) -> RevocationList:
    """Read a certificate revocation list from DER. Raises MalformedError if it is something else."""
    try:
        with own_warning_filters():
            warnings.simplefilter("error")
            crl = x509.load_der_x509_crl(data)
            _ = (crl.signature_hash_algorithm, list(crl), crl.extensions)
            issuer, start, end = crl.issuer, crl.last_update_utc, crl.next_update_utc
    except UNREADABLE as error:
        raise MalformedError(WHAT, "a DER CRL", " ".join(str(error).split())[:200]) from None
    if end is None:
        raise MalformedError(WHAT, "a time of the next update", "none")
    return RevocationList(data, crl, issuer, start, end)


def parse_crl_file(data: bytes) -> RevocationList:
    """Read a file with one list: PEM, DER, or DER in hexadecimal or base64.

    Raises MalformedError if it is something else or has further content, which would otherwise be ignored.
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
