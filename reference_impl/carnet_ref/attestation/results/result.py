"""The claims set of an EAT Attestation Result (EAR), made from an appraisal.

Names and profile are those of draft-ietf-rats-ear-03, in JSON. What the standard has no claim for is in an extension of
each attester: whether the evidence was accepted, at which step it was refused and why, what was not compared, and what
the attester was found to be.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from importlib.metadata import version
from typing import Final

from carnet_ref.attestation.appraisal import Appraisal
from carnet_ref.attestation.results.attesters import AttesterResult, Profiles, attester_results
from carnet_ref.attestation.results.trust import Tier, worst

PROFILE: Final = "tag:ietf.org,2026:rats/ear#03"
EXTENSION: Final = "ear_carnet_appraisal"
DEVELOPER: Final = "The Carnet authors"


@dataclass(frozen=True, slots=True)
class Appraised:
    """An appraisal with what it was made with."""

    appraisal: Appraisal
    """What was found."""
    kind: str
    """The name of the format, or of the command, whose evidence this was."""
    at: datetime
    """As of when; the result counts from then on."""
    lasting: int
    """For how many seconds."""
    nonce: bytes | None
    """What the relying party asked with, if it is known."""
    policies: Mapping[str, str]
    """An id of the policy by format."""


def claims_set(appraised: Appraised, profiles: Profiles) -> dict[str, object]:
    """Return the claims set of a result about every attester."""
    appraisal = appraised.appraisal
    results = attester_results(appraisal, profiles, appraised.kind)
    overall = worst(each.tier for each in results.values()) if appraisal.accepted else Tier.CONTRAINDICATED
    issued = int(appraised.at.timestamp())
    return {
        "eat_profile": PROFILE,
        "iat": issued,
        "exp": issued + appraised.lasting,
        "ear_verifier_id": {"developer": DEVELOPER, "build": f"carnet {version('carnet')}"},
        "ear_status": overall.value,
        **({} if appraised.nonce is None else {"eat_nonce": encoded_nonce(appraised.nonce)}),
        "submods": {name: _submodule(name, result, appraised, profiles) for name, result in results.items()},
    }


def encoded_nonce(nonce: bytes) -> str:
    """Return a nonce as JSON has it: base64 of the alphabet for URLs, without padding."""
    return base64.urlsafe_b64encode(nonce).rstrip(b"=").decode()


def _submodule(name: str, result: AttesterResult, appraised: Appraised, profiles: Profiles) -> dict[str, object]:
    profile = profiles("" if name == appraised.kind else name)
    answered = None if profile is None else result.claims.get(profile.answered)
    nonce = {"eat_nonce": encoded_nonce(bytes.fromhex(answered))} if isinstance(answered, str) else {}
    kinds = (appraised.kind, name.partition(".")[0])
    policies = [policy for kind, policy in appraised.policies.items() if kind in kinds]
    return {
        "ear_status": result.tier.value,
        "ear_trustworthiness_vector": {claim.value: value for claim, value in result.vector.items()},
        **({"ear_appraisal_policy_ids": policies} if policies else {}),
        **nonce,
        EXTENSION: _extension(result, appraised.appraisal),
    }


def _extension(result: AttesterResult, appraisal: Appraisal) -> dict[str, object]:
    failed = next((step for step in appraisal.steps if step.ok is False), None)
    return {
        "accepted": appraisal.accepted,
        "failed_step": None if failed is None else failed.id,
        "reason": None if failed is None else failed.detail,
        "not_compared": list(result.lacking),
        "claims": dict(result.claims),
    }
