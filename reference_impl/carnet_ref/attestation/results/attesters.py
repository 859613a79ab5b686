"""The attesters that an appraisal is about, and what it found of each: tier, vector, claims, and what is lacking.

* Accepted: the vector has what was affirmed. The tier is the worst in it, and at best *warning* where something was not
  compared, so that *affirming* means that nothing was left open.
* Refused: the attester whose step failed is *contraindicated*, and so are all that a step about several was about. For
  the others there is no result, because nothing is accepted by halves.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from carnet_ref.attestation.appraisal import Appraisal, AppraisalStep
from carnet_ref.attestation.results.trust import NO_CLAIM, ResultProfile, Tier, TrustClaim, TrustRow, tier_of, worst

Profiles = Callable[[str], ResultProfile | None]
"""Returns the profile of an attester by its name, or nothing where the name is that of a group or of nobody."""


@dataclass(frozen=True, slots=True)
class AttesterResult:
    """What an appraisal found of one attester."""

    tier: Tier
    """How far it is to be trusted."""
    vector: Mapping[TrustClaim, int]
    """Claims with a value; at least one."""
    lacking: tuple[str, ...]
    """What was not compared, in a few words each."""
    claims: Mapping[str, object]
    """What it was found to be; empty where the evidence was refused."""


def attester_results(appraisal: Appraisal, profiles: Profiles, otherwise: str) -> dict[str, AttesterResult]:
    """Return the result of each attester by its name; where no step was about one, of one called ``otherwise``."""
    names = dict.fromkeys(_owner(step) for step in appraisal.steps)
    known = {name: profile for name in names if (profile := profiles(name)) is not None}
    if not known:
        tier = Tier.NONE if appraisal.accepted else Tier.CONTRAINDICATED
        return {otherwise: AttesterResult(tier, _filled({}), appraisal.not_compared, {})}
    return {name or otherwise: _result(name, profile, appraisal) for name, profile in known.items()}


def _owner(step: AppraisalStep) -> str:
    """Return whom a step is about: what stands before the last dot of its id."""
    return step.id.rpartition(".")[0]


def _is_above(owner: str, name: str) -> bool:
    """Return whether steps of ``owner`` are about the attester called ``name``, alone or with others."""
    return owner in ("", name) or name.startswith(f"{owner}.")


def _result(name: str, profile: ResultProfile, appraisal: Appraisal) -> AttesterResult:
    about = [step for step in appraisal.steps if _is_above(_owner(step), name)]
    lacking = Appraisal(tuple(about), {}).not_compared
    failed = next((step for step in appraisal.steps if step.ok is False), None)
    if failed is not None:
        tier = Tier.CONTRAINDICATED if failed in about else Tier.NONE
        own = profile.claims_of(failed.id.rpartition(".")[2]) if _owner(failed) == name else {}
        return AttesterResult(tier, _filled(own), lacking, {})
    claims = claims_of(name, appraisal.claims)
    own_steps = {step.id.rpartition(".")[2]: step for step in about if _owner(step) == name}
    vector = {**_affirmed(profile, own_steps), **profile.noted(claims)}
    tier = worst(map(tier_of, vector.values()))
    if lacking and tier is Tier.AFFIRMING:
        tier = Tier.WARNING
    return AttesterResult(tier, _filled(vector), lacking, claims)


def _affirmed(profile: ResultProfile, steps: Mapping[str, AppraisalStep]) -> dict[TrustClaim, int]:
    return {row.claim: row.affirmed for row in profile.rows if _holds(row, steps)}


def _holds(row: TrustRow, steps: Mapping[str, AppraisalStep]) -> bool:
    """Return whether every step that a claim needs held, or could not be taken without anything lacking for it."""
    needed = [steps.get(step) for step in row.needs]
    return any(step is not None and step.ok for step in needed) and all(
        step is not None and (step.ok or not step.lacking) for step in needed
    )


def _filled(vector: Mapping[TrustClaim, int]) -> Mapping[TrustClaim, int]:
    """Return a vector that says at least of something that nothing is said of it."""
    return vector or {TrustClaim.HARDWARE: NO_CLAIM}


def claims_of(name: str, claims: Mapping[str, object]) -> Mapping[str, object]:
    """Return the part of an appraisal's claims that is about one attester."""
    for word in filter(None, name.split(".")):
        claims = _inside(word, claims)
    return claims


def _inside(word: str, claims: Mapping[str, object]) -> Mapping[str, object]:
    devices = claims.get("devices")
    several = devices if isinstance(devices, list) else []
    within = claims.get(word, next((each for each in several if each["name"] == word), {}))
    assert isinstance(within, Mapping), f"{word} is told of as an object"
    return within
