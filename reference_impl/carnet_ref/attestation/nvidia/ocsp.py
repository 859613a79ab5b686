"""OCSP replies: which certificates they have to be about, and whether an authority has revoked one of these.

A reply counts from ``thisUpdate`` until ``nextUpdate`` and not a second longer; a reply without ``nextUpdate``
never counts, since nothing says how old it may be.

Source: RFC 6960, sections 3.2, 4.2.2.1 and 4.2.2.2.
"""

import warnings
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from itertools import pairwise
from typing import Final

from cryptography import x509
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509 import ocsp

from carnet_ref.attestation.appraisal import AnchorRole, Anchors, Checklist, of_certificate
from carnet_ref.attestation.nvidia.rim import Rim
from carnet_ref.crypto.certificate_path import (
    HASHES,
    TIME,
    UNREADABLE,
    PathError,
    check_issued,
    check_path,
    check_signer,
    name,
    own_warning_filters,
    read_everything,
    validity,
)
from carnet_ref.wire import MalformedError

WHAT = "OCSP reply"
LARGEST = 64 * 1024
REMEMBERED: Final = 64  #: How many replies are remembered, each for a day at most of those that count.
OCSP_SIGNING = x509.oid.ExtendedKeyUsageOID.OCSP_SIGNING


class RevocationError(ValueError):
    """An OCSP reply does not establish that a certificate is good."""


@dataclass(frozen=True, slots=True)
class OcspReply:
    """A parsed reply about one certificate, not yet verified."""

    serial: int  #: the certificate's serial number.
    issuer_name_hash: bytes  #: the hash of its issuer's name.
    issuer_key_hash: bytes  #: the hash of its issuer's key.
    hash_algorithm: hashes.HashAlgorithm  #: what the two are made with.
    status: ocsp.OCSPCertStatus  #: good, revoked or unknown.
    this_update: datetime  #: since when the status is known.
    next_update: datetime | None  #: until when it counts, if the reply says so.
    responders: tuple[x509.Certificate, ...]  #: the certificates that came with the reply.
    signed: bytes  #: the bytes that the signature is about.
    signature: bytes  #: the signature, in DER.
    signature_hash: hashes.HashAlgorithm  #: the hash that it uses.

    def is_about(self, certificate: x509.Certificate, issuer: x509.Certificate) -> bool:
        """Whether this reply is about ``certificate``, as issued by ``issuer``."""
        if self.serial != certificate.serial_number:
            return False
        request = ocsp.OCSPRequestBuilder().add_certificate(certificate, issuer, self.hash_algorithm).build()
        return (request.issuer_name_hash, request.issuer_key_hash) == (self.issuer_name_hash, self.issuer_key_hash)

    def is_signed_by(self, signer: x509.Certificate) -> bool:
        """Whether the key of ``signer`` signed this reply; what that key may answer for is another question."""
        return _has_signed(signer, self.signature, self.signed, self.signature_hash.name)


@lru_cache(REMEMBERED)
def parse_ocsp(data: bytes) -> OcspReply:
    """Parse a successful reply about one certificate. Raises MalformedError if ``data`` is no such reply."""
    if len(data) > LARGEST:
        raise MalformedError(WHAT, f"at most {LARGEST} bytes", f"{len(data)}")
    try:
        with own_warning_filters():
            warnings.simplefilter("error")
            return _read(ocsp.load_der_ocsp_response(data))
    except UNREADABLE as error:
        raise MalformedError(WHAT, "one in DER", " ".join(str(error).split())[:200] or type(error).__name__) from None


def _read(response: ocsp.OCSPResponse) -> OcspReply:
    if response.response_status is not ocsp.OCSPResponseStatus.SUCCESSFUL:
        raise ValueError(f"the status {response.response_status.name}")
    (single,) = list(response.responses)
    signature_hash = response.signature_hash_algorithm
    if not isinstance(signature_hash, HASHES) or not isinstance(single.hash_algorithm, (hashes.SHA1, *HASHES)):
        raise ValueError("a hash that is not accepted")
    critical = [e.oid.dotted_string for e in (*response.extensions, *response.single_extensions) if e.critical]
    if critical:
        raise ValueError(f"the critical extension {critical[0]}")
    for certificate in response.certificates:
        read_everything(certificate)
    return OcspReply(
        single.serial_number,
        single.issuer_name_hash,
        single.issuer_key_hash,
        single.hash_algorithm,
        single.certificate_status,
        single.this_update_utc,
        single.next_update_utc,
        tuple(response.certificates),
        response.tbs_response_bytes,
        response.signature,
        signature_hash,
    )


def check_not_revoked(reply: OcspReply, certificate: x509.Certificate, issuer: x509.Certificate, at: datetime) -> None:
    """Check that ``reply`` establishes at the time ``at`` that ``certificate`` is good.

    Raises RevocationError if it does not, or nobody entitled to say so signed it.
    """
    _check_signed(reply, issuer, at)
    if reply.status is not ocsp.OCSPCertStatus.GOOD:
        raise RevocationError(f"{name(certificate)} is {reply.status.name.lower()}")
    if reply.next_update is None:
        raise RevocationError(f"the reply about {name(certificate)} does not say until when it counts")
    if not reply.this_update <= at <= reply.next_update:
        period = f"from {reply.this_update:{TIME}} to {reply.next_update:{TIME}}"
        raise RevocationError(f"the reply about {name(certificate)} counts {period}, not at {at:{TIME}}")


def _check_signed(reply: OcspReply, issuer: x509.Certificate, at: datetime) -> None:
    """Insist that ``issuer``, or whom it lets answer for it, signed ``reply``."""
    if reply.is_signed_by(issuer):
        return
    entitled = [each for each in reply.responders if _may_answer(each, issuer) and reply.is_signed_by(each)]
    if not entitled:
        raise RevocationError(f"the reply is signed neither by {name(issuer)} nor by whom it lets answer")
    periods = [validity([responder]) for responder in entitled]
    if not any(start <= at <= end for start, end in periods):
        period = f"from {periods[0][0]:{TIME}} to {periods[0][1]:{TIME}}"
        raise RevocationError(f"the reply is signed by {name(entitled[0])}, valid {period}, not at {at:{TIME}}")


def _may_answer(responder: x509.Certificate, issuer: x509.Certificate) -> bool:
    """Return whether ``issuer`` certified ``responder`` for this by name; any purpose is not enough (RFC 6960)."""
    try:
        check_issued(responder, issuer)
        check_signer(responder, OCSP_SIGNING)
        usage = responder.extensions.get_extension_for_class(x509.ExtendedKeyUsage).value
    except (PathError, x509.ExtensionNotFound):
        return False
    return OCSP_SIGNING in usage


@lru_cache(REMEMBERED)
def _has_signed(signer: x509.Certificate, signature: bytes, signed: bytes, hash_name: str) -> bool:
    key = signer.public_key()
    if not isinstance(key, ec.EllipticCurvePublicKey):
        return False
    algorithm = next(each for each in HASHES if each.name == hash_name)
    try:
        key.verify(signature, signed, ec.ECDSA(algorithm()))
    except InvalidSignature:
        return False
    return True


OCSP: Final = "RFC 6960, section 3.2"

Pairs = Sequence[tuple[x509.Certificate, x509.Certificate]]  #: Certificates, each with its issuer.


def with_issuers(chain: Sequence[x509.Certificate], anchor: x509.Certificate) -> Pairs:
    """Return each certificate below the anchor with its issuer."""
    return [(issued, issuer) for issued, issuer in pairwise([*chain, anchor]) if issued != anchor]


def device_pairs(chain: Sequence[x509.Certificate], anchor: x509.Certificate) -> Pairs:
    """Return the certificates of a device that an authority answers for: all but the leaf, which the device makes."""
    return [pair for pair in with_issuers(chain, anchor) if pair[0] != chain[0]]


def rim_pairs(rims: Iterable[Rim], anchors: Anchors) -> Pairs:
    """Return the certificates of the signers of RIMs; of a RIM under no root there are none, and its step says why."""
    return [pair for rim in rims for pair in _signers(rim, anchors)]


def _signers(rim: Rim, anchors: Anchors) -> Pairs:
    try:
        return with_issuers(rim.certificates, check_path(rim.certificates, anchors.of(AnchorRole.NVIDIA_RIM)))
    except PathError:
        return []


def check_replies(
    steps: Checklist,
    step: str,
    needed: Pairs,
    replies: Sequence[OcspReply],
    at: datetime,
    lacking: str,
    without: tuple[str, ...] = (),
) -> str | None:
    """Check the replies about the ``needed`` certificates; if any came, return the name of one that lacks a reply.

    ``lacking`` is what an acceptance lacks without them, and ``without`` options that would make more needed.

    Raises RefusedError if a reply does not say that its certificate is good.
    """
    given = [(reply, pair) for reply in replies for pair in needed if reply.is_about(*pair)]
    if not given:
        steps.not_requested(step, "ocsp", OCSP, lacking=lacking)
        return None
    for reply, pair in given:
        try:
            check_not_revoked(reply, *pair, at)
        except RevocationError as error:
            blamed = of_certificate(pair[0], str(error))
            steps.refuse(step, str(error), OCSP, differences=(blamed,))
    answered = {pair[0] for _, pair in given}
    missing = next((name(certificate) for certificate, _ in needed if certificate not in answered), None)
    if missing is None:
        steps.passed(step, f"{len(answered)} certificates are good", OCSP, without=("ocsp", *without))
    return missing
