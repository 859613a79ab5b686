"""Attestation results for others: what the steps of an appraisal say of each attester, in the words of AR4SI.

* A claim is affirmed only by steps that were taken and held. A step that failed contradicts the claim that it belongs
  to. About everything else no claim is made.
* Accepted: the vector has what was affirmed. The tier is the worst in it, and at best *warning* where something was not
  compared, so that *affirming* means that nothing was left open.
* Accepted by an inventory: no claim is made, and the tier is *none*, because nothing was demanded.
* Refused: the attester whose step failed is *contraindicated*, and so are all that a step about several was about. For
  the others there is no result, because nothing is accepted by halves.

What the standard has no claim for is in an extension of each attester: whether the evidence was accepted, at which step
it was refused and why, what was not compared, and what the attester was found to be.

Source: draft-ietf-rats-ar4si, "Trustworthiness Claims" (names, values) and "Trustworthiness Tiers";
draft-ietf-rats-ear-03, "EAT Attestation Result" (names and profile).
"""

import base64
from collections.abc import Callable, Mapping
from datetime import datetime
from enum import StrEnum
from types import MappingProxyType
from typing import Any, Final, NamedTuple

from carnet_ref.attestation.appraisal import INVENTORY_ONLY, Appraisal, AppraisalStep

HOUR: Final = 3600  #: For how many seconds a result may be relied on, where no policy says otherwise.


class TrustClaim(StrEnum):
    """The trustworthiness claims, by their names in JSON."""

    INSTANCE_IDENTITY = "instance-identity"
    CONFIGURATION = "configuration"
    EXECUTABLES = "executables"
    FILE_SYSTEM = "file-system"
    HARDWARE = "hardware"
    RUNTIME_OPAQUE = "runtime-opaque"
    STORAGE_OPAQUE = "storage-opaque"
    SOURCED_DATA = "sourced-data"


class Tier(StrEnum):
    """The trustworthiness tiers of AR4SI, each worse than the one before."""

    NONE = "none"
    AFFIRMING = "affirming"
    WARNING = "warning"
    CONTRAINDICATED = "contraindicated"


#: The tiers in the order of the numbers that stand for them; none is no claim, so any other is worse.
WORST_LAST: Final = tuple(Tier)
NO_CLAIM: Final = 0
AFFIRMED: Final = 2  #: Recognised, genuine, approved or encrypted, as the claim has it.
BOOTED: Final = 3  #: Of executables: only recognised ones were loaded while booting; nothing is said of later ones.
VULNERABLE: Final = 32  #: Genuine, with known vulnerabilities.
CONTRADICTED: Final = 96
UNRECOGNISED: Final = 97
NOT_VERIFIED: Final = 99  #: The cryptographic validation of the evidence failed.


def tier_of(value: int) -> Tier:
    """Return the tier of a claim's value, from -128 to 127."""
    if -1 <= value <= 1:
        return Tier.NONE
    size = value if value > 0 else -value - 1  # -2 to -32 affirm without a standard's word, and so on
    if size < VULNERABLE:
        return Tier.AFFIRMING
    return Tier.WARNING if size < CONTRADICTED else Tier.CONTRAINDICATED


def worst(tiers: Any) -> Tier:
    """Return the worst of some tiers, or :attr:`Tier.NONE` if there are no others."""
    return max(tiers, key=WORST_LAST.index, default=Tier.NONE)


class TrustRow(NamedTuple):
    """One trustworthiness claim: the steps of an appraisal that affirm it, and those that contradict it."""

    claim: TrustClaim
    needs: Mapping[str, int]  #: The steps that have to hold to affirm it, each with the claim's value where it failed.
    also: Mapping[str, int] = MappingProxyType({})  #: Steps that may only contradict it, as ``needs``.
    affirmed: int = AFFIRMED  #: Its value where all steps that it needs held.

    @property
    def failing(self) -> Mapping[str, int]:
        """The steps that contradict the claim when they fail, each with the claim's value then."""
        return {**self.needs, **self.also}


def _nothing(_: Mapping[str, object]) -> Mapping[TrustClaim, int]:
    return {}


def _an_hour(_: Any) -> int:
    return HOUR


class ResultProfile(NamedTuple):
    """The mapping of one format's steps to trustworthiness claims."""

    rows: tuple[TrustRow, ...]  #: A row for each claim that can be made.
    asked_with: str  #: The option that gives what the attester was asked with.
    answered: str  #: The claim of an appraisal in which the attester says it, in hexadecimal.
    #: What claims of accepted evidence say against an attester although a policy allows it.
    noted: Callable[[Mapping[str, object]], Mapping[TrustClaim, int]] = _nothing
    lasting: Callable[[Any], int] = _an_hour  #: For how many seconds a policy lets a result be relied on.
    #: The claims of an appraisal that are measurements, in hexadecimal: of one component, or of each by its number.
    measured: tuple[str, ...] = ()
    #: Whether one appraisal is about several attesters, whose steps have their names and a dot before them.
    grouped: bool = False

    def claims_of(self, step: str) -> dict[TrustClaim, int]:
        """Return the claim that a failed step contradicts, with its value; empty if there is none."""
        return {row.claim: row.failing[step] for row in self.rows if step in row.failing}


#: Returns the profile of an attester by its name, or nothing where the name is that of a group or of nobody.
Profiles = Callable[[str], ResultProfile | None]


class AttesterResult(NamedTuple):
    """The result of an appraisal about one attester."""

    tier: Tier
    vector: Mapping[TrustClaim, int]  #: Claims with a value; at least one.
    lacking: tuple[str, ...]  #: What was not compared, in a few words each.
    claims: Mapping[str, object]  #: What it was found to be; empty where the evidence was refused.


def attester_results(appraisal: Appraisal, profiles: Profiles, otherwise: str) -> dict[str, AttesterResult]:
    """Return the results by the names of attesters; if no step is about a known one, there is one, ``otherwise``."""
    names = dict.fromkeys(_owner(step) for step in appraisal.steps)
    known = {name: profile for name in names if (profile := profiles(name)) is not None}
    if not known:
        tier = Tier.NONE if appraisal.accepted else Tier.CONTRAINDICATED
        return {otherwise: AttesterResult(tier, _filled({}), appraisal.not_compared, {})}
    return {name or otherwise: _result(name, profile, appraisal) for name, profile in known.items()}


def _owner(step: AppraisalStep) -> str:
    """Return the attester that a step is about: the part of its id before the last dot."""
    return step.id.rpartition(".")[0]


def _result(name: str, profile: ResultProfile, appraisal: Appraisal) -> AttesterResult:
    above = {"", name, *(name[:end] for end, character in enumerate(name) if character == ".")}
    about = [step for step in appraisal.steps if _owner(step) in above]  # about it, alone or with others
    lacking = Appraisal(tuple(about), {}).not_compared
    failed = next((step for step in appraisal.steps if step.ok is False), None)
    if failed is not None:
        tier = Tier.CONTRAINDICATED if failed in about else Tier.NONE
        own = profile.claims_of(failed.id.rpartition(".")[2]) if _owner(failed) == name else {}
        return AttesterResult(tier, _filled(own), lacking, {})
    claims = claims_of(name, appraisal.claims)
    if INVENTORY_ONLY in lacking:
        return AttesterResult(Tier.NONE, _filled({}), lacking, claims)
    own_steps = {step.id.rpartition(".")[2]: step for step in about if _owner(step) == name}
    vector = {**{row.claim: row.affirmed for row in profile.rows if _holds(row, own_steps)}, **profile.noted(claims)}
    tier = worst(map(tier_of, vector.values()))
    if lacking and tier is Tier.AFFIRMING:
        tier = Tier.WARNING
    return AttesterResult(tier, _filled(vector), lacking, claims)


def _holds(row: TrustRow, steps: Mapping[str, AppraisalStep]) -> bool:
    """Return whether each step that a claim needs held, or did not apply although nothing was lacking for it."""
    needed = [steps.get(step) for step in row.needs]
    return any(step is not None and step.ok for step in needed) and all(
        step is not None and (step.ok or not step.lacking) for step in needed
    )


def _filled(vector: Mapping[TrustClaim, int]) -> Mapping[TrustClaim, int]:
    """Return the vector; an empty one gets a claim of value 0, since a vector may not be empty."""
    return vector or {TrustClaim.HARDWARE: NO_CLAIM}


def claims_of(name: str, claims: Mapping[str, object]) -> Mapping[str, object]:
    """Return those claims of an appraisal that are about one attester."""
    for word in filter(None, name.split(".")):
        devices = claims.get("devices")
        several = devices if isinstance(devices, list) else []
        within = claims.get(word, next((each for each in several if each["name"] == word), {}))
        assert isinstance(within, Mapping), f"{word} is told of as an object"
        claims = within
    return claims


EXTENSION: Final = "ear_carnet_appraisal"
#: What older profiles call the claims of the draft.
OLDER_NAMES: Final = {
    "ear_verifier_id": "ear.verifier-id",
    "ear_status": "ear.status",
    "ear_trustworthiness_vector": "ear.trustworthiness-vector",
    "ear_appraisal_policy_ids": "ear.appraisal-policy-id",
    EXTENSION: "ear.carnet.appraisal",
}


class EarProfile(StrEnum):
    """The profiles of results, by the tags that name them.

    Source: draft-ietf-rats-ear, revisions 00 to 03; veraison/ear, ``EatProfile`` and ``EatTrusteeProfile``.
    """

    DRAFT = "tag:ietf.org,2026:rats/ear#03"
    DRAFT_2025 = "tag:ietf.org,2025-07:ear"
    VERAISON = "tag:github.com,2023:veraison/ear"
    TRUSTEE = "tag:github.com,2024:confidential-containers/Trustee"

    @property
    def is_older(self) -> bool:
        """Whether the profile has the older claim names."""
        return self is not EarProfile.DRAFT

    def claim_name(self, claim: str) -> str:
        """Return the profile's name for a claim of the draft."""
        return OLDER_NAMES.get(claim, claim) if self.is_older else claim


DEVELOPER: Final = "The Carnet authors"


class AppraisalRecord(NamedTuple):
    """An appraisal with its time, nonce and policies, from which a signed result is made."""

    appraisal: Appraisal
    kind: str  #: The name of the format, or of the command, whose evidence this was.
    at: datetime  #: As of when; the result counts from then on.
    lasting: int
    nonce: bytes | None  #: What the relying party asked with, if it is known.
    policies: Mapping[str, str]  #: An id of the policy by format.


def claims_set(
    appraised: AppraisalRecord, profiles: Profiles, profile: EarProfile = EarProfile.DRAFT
) -> dict[str, object]:
    """Return the claims set of a result about all attesters, with the claim names of a profile."""
    from importlib.metadata import version

    appraisal = appraised.appraisal
    results = attester_results(appraisal, profiles, appraised.kind)
    overall = worst(each.tier for each in results.values()) if appraisal.accepted else Tier.CONTRAINDICATED
    issued = int(appraised.at.timestamp())
    claims: dict[str, object] = {
        "eat_profile": profile.value,
        "iat": issued,
        "exp": issued + appraised.lasting,
        "ear_verifier_id": {"developer": DEVELOPER, "build": f"carnet {version('carnet')}"},
        "ear_status": overall.value,
        **({} if appraised.nonce is None else {"eat_nonce": encoded_nonce(appraised.nonce)}),
    }
    submodules = {name: _submodule(name, result, appraised, profiles) for name, result in results.items()}
    told = {name: _as_profile_has(each, profile) for name, each in submodules.items()}
    return {**_as_profile_has(claims, profile), "submods": told}


def _as_profile_has(claims: Mapping[str, object], profile: EarProfile) -> dict[str, object]:
    """Return the claims under a profile's names; older profiles have the names of the policies in one text."""
    told = {profile.claim_name(name): value for name, value in claims.items()}
    policies = claims.get("ear_appraisal_policy_ids")
    if profile.is_older and isinstance(policies, list):
        told[profile.claim_name("ear_appraisal_policy_ids")] = " ".join(policies)
    return told


def encoded_nonce(nonce: bytes) -> str:
    """Return a nonce in base64url without padding."""
    return base64.urlsafe_b64encode(nonce).rstrip(b"=").decode()


def _submodule(name: str, result: AttesterResult, appraised: AppraisalRecord, profiles: Profiles) -> dict[str, object]:
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
        EXTENSION: _extension(result, appraised.appraisal, profile),
    }


#: The names of hash algorithms, by the size of a digest. Source: IANA, Named Information Hash Algorithm Registry.
DIGESTS: Final = {32: "sha-256", 48: "sha-384", 64: "sha-512"}


def measured_components(claims: Mapping[str, object], measured: tuple[str, ...]) -> list[dict[str, object]]:
    """Return measurements as a JSON list of measured components.

    Source: draft-ietf-rats-eat-measured-component-12, "measured-component" (id, digested-measurement).
    """
    found: dict[str, object] = {}
    for claim in measured:
        value = claims.get(claim)
        several = {f"{claim}{number}": each for number, each in value.items()} if isinstance(value, Mapping) else None
        found |= {claim: value} if several is None else several
    digests = {name: bytes.fromhex(value) for name, value in found.items() if isinstance(value, str)}
    return [
        {"id": [name], "digested-measurement": [DIGESTS[len(digest)], encoded_nonce(digest)]}
        for name, digest in digests.items()
    ]


def _extension(result: AttesterResult, appraisal: Appraisal, profile: ResultProfile | None) -> dict[str, object]:
    failed = next((step for step in appraisal.steps if step.ok is False), None)
    components = [] if profile is None else measured_components(result.claims, profile.measured)
    return {
        "accepted": appraisal.accepted,
        "failed_step": None if failed is None else failed.id,
        "reason": None if failed is None else failed.detail,
        "not_compared": list(result.lacking),
        "claims": dict(result.claims),
        **({"measured_components": components} if components else {}),
    }
