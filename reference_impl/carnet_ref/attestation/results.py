"""Attestation Results: what an appraisal found, signed by the verifier for relying parties that hold its key.

A result is an Entity Attestation Token in the EAR profile: a JWT signed with ECDSA P-384 that says for each submodule
whether it was affirmed, and by which steps.

Source: RFC 9711 (EAT), sections 4 and 6; draft-ietf-rats-ear-04, "EAT Attestation Results".
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any

from joserfc import jwt
from joserfc.errors import JoseError
from joserfc.jwk import ECKey

from carnet_ref.attestation.appraisal import Appraisal

ALGORITHM = "ES384"
PROFILE = "tag:ietf.org,2026:rats/ear#04"
AFFIRMING = "affirming"
CONTRAINDICATED = "contraindicated"


class ResultError(ValueError):
    """A token that is no result to rely on."""


def signed_result(
    appraisals: Mapping[str, Appraisal], *, issuer: str, nonce: bytes, at: datetime, ttl: int, key: ECKey
) -> str:
    """Return the result of appraising ``appraisals``, one for each submodule, as a compact JWT.

    Args:
        appraisals: what was found, by the name of the submodule, such as ``gpu``.
        issuer: the name of the verifier.
        nonce: what the relying party asked with.
        at: when the evidence was appraised.
        ttl: for how many seconds the result may be relied on.
        key: the verifier's private key, on P-384.
    """
    claims = {
        "iss": issuer,
        "iat": int(at.timestamp()),
        "exp": int((at + timedelta(seconds=ttl)).timestamp()),
        "eat_profile": PROFILE,
        "eat_nonce": nonce.hex(),
        "ear_verifier_id": {"developer": "carnet", "build": issuer},
        "submods": {name: _submodule(appraisal) for name, appraisal in appraisals.items()},
    }
    return jwt.encode({"alg": ALGORITHM, "typ": "JWT"}, claims, key, algorithms=[ALGORITHM])


def _submodule(appraisal: Appraisal) -> dict[str, object]:
    return {
        "ear_status": AFFIRMING if appraisal.accepted else CONTRAINDICATED,
        "carnet_steps": [{"id": step.id, "ok": step.ok, "detail": step.detail} for step in appraisal.steps],
        "carnet_claims": dict(appraisal.claims),
    }


def read_result(token: str, *, issuer: str, nonce: bytes, at: datetime, key: ECKey) -> Mapping[str, Any]:
    """Return the claims of a result that ``key`` signed, that is about ``nonce`` and may be relied on at ``at``.

    Raises:
        ResultError: it is something else; a submodule that was not affirmed is no error, but says so.
    """
    try:
        claims = jwt.decode(token, key, algorithms=[ALGORITHM]).claims
    except (JoseError, ValueError, TypeError) as error:
        raise ResultError(f"no result signed by {issuer}: {error}") from None
    expected = {"iss": issuer, "eat_profile": PROFILE, "eat_nonce": nonce.hex()}
    wrong = [name for name, value in expected.items() if claims.get(name) != value]
    if wrong:
        raise ResultError(f"{wrong[0]} is {claims.get(wrong[0])!r}, not {expected[wrong[0]]!r}")
    issued, ends = claims.get("iat"), claims.get("exp")
    if not isinstance(issued, int) or not isinstance(ends, int) or not issued <= at.timestamp() < ends:
        raise ResultError(f"it counts from {issued} to {ends}, not at {at.timestamp():.0f}")
    return claims
