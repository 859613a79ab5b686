"""Which certificates OCSP replies have to be about, and whether they say that these are good.

Source: RFC 6960, section 3.2.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from itertools import pairwise
from typing import Final

from cryptography import x509

from carnet_ref.attestation.anchors import AnchorRole, Anchors
from carnet_ref.attestation.appraisal import Checklist
from carnet_ref.attestation.nvidia.ocsp import OcspReply, RevocationError, check_not_revoked
from carnet_ref.attestation.nvidia.rim import Rim
from carnet_ref.crypto.certificate_path import PathError, check_path, name

OCSP: Final = "RFC 6960, section 3.2"

Pairs = Sequence[tuple[x509.Certificate, x509.Certificate]]
"""Certificates, each with its issuer."""


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
    """Check the replies about the certificates that are ``needed``; return the name of one that none is about.

    ``lacking`` is what an acceptance lacks without them, and ``without`` options that would make more needed.

    Raises:
        RefusedError: a reply does not say that its certificate is good.
    """
    given = [(reply, pair) for reply in replies for pair in needed if reply.is_about(*pair)]
    if not given:
        steps.not_requested(step, "ocsp", OCSP, lacking=lacking)
        return None
    for reply, pair in given:
        try:
            check_not_revoked(reply, *pair, at)
        except RevocationError as error:
            steps.refuse(step, str(error), OCSP)
    answered = {pair[0] for _, pair in given}
    missing = next((name(certificate) for certificate, _ in needed if certificate not in answered), None)
    if missing is None:
        steps.passed(step, f"{len(answered)} certificates are good", OCSP, without=("ocsp", *without))
    return missing
