"""The appraisal of one CCA token: a token, the platform's key and a policy in, numbered steps and claims out.

* The platform's key (CPAK) signs the platform's token. There is no public root of such keys, and the token has no
  certificate: the verifier gets the key from the maker of the platform, and passes it in.
* The platform's challenge is the hash of the realm's key (RAK), which signs the realm's token. So the platform vouches
  for what its realm management monitor says of the realm.
* Only a platform in the secured state is accepted. In the debug states others can look into realms.

Source: draft-ffm-rats-cca-token-04, sections "Security Lifecycle", "Token Binding" and "Verification".
"""

import hmac
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from carnet_ref.attestation.appraisal import NOT_FRESH, POLICY, Appraisal, Checklist, RefusedError
from carnet_ref.attestation.cca import references as published
from carnet_ref.attestation.cca_token import EXTENSIBLE, HASHES, CcaToken, Lifecycle, PlatformToken
from carnet_ref.attestation.cose import Sign1, verify_sign1
from carnet_ref.attestation.policies import AppraisalPolicy, Flag, Named, Octets, policy_form, policy_key, require_key
from carnet_ref.attestation.tpm2 import digest
from carnet_ref.crypto.primitives import AuthenticationError

SIGNATURES: Final = ("platform-signature", "binding", "realm-signature")
VALUES: Final = ("platform", "components", "realm", "extensible-measurements")
STEPS: Final = ("parse", "references", *SIGNATURES, "lifecycle", "nonce", *VALUES, *published.COMPARED, "policy")
DEFAULT_STEPS: Final = frozenset({*SIGNATURES, "lifecycle"})
DRAFT: Final = "draft-ffm-rats-cca-token-04"
NO_MEASUREMENT: Final = "measurements not compared"
NO_PLATFORM: Final = "platform not compared"
DEBUG: Final = frozenset({Lifecycle.NON_RECOVERABLE_DEBUG, Lifecycle.RECOVERABLE_DEBUG})
MEASUREMENT: Final = Octets((32, 48, 64))
Accepted = frozenset[bytes] | None


@dataclass(frozen=True, slots=True)
class Policy(AppraisalPolicy):
    """The policy for a platform and a realm; each key describes itself."""

    require: frozenset[str] = require_key(STEPS)
    allow_debug: bool = policy_key(Flag(), False, "whether a platform in a debug state is accepted")
    implementation_ids: Accepted = policy_key(Octets((32,)), None, "the implementations accepted")
    instance_ids: Accepted = policy_key(Octets((33,)), None, "the single platforms accepted")
    components: Accepted = policy_key(MEASUREMENT, None, "the measurements of platform software accepted, of all of it")
    signer_ids: Accepted = policy_key(MEASUREMENT, None, "who may have signed platform software, all of it")
    initial_measurements: Accepted = policy_key(MEASUREMENT, None, "the initial measurements of realms accepted")
    personalization_values: Accepted = policy_key(Octets((64,)), None, "the personalization values of realms accepted")
    extensible_measurements: Mapping[int, frozenset[bytes]] = policy_key(
        Named(dict.fromkeys(range(EXTENSIBLE), MEASUREMENT)),
        {},
        "for each extensible measurement that is asked for, the values accepted",
    )


POLICY_FORM: Final = policy_form(
    Policy,
    default={"require": DEFAULT_STEPS},
    strict={"require": DEFAULT_STEPS | {"nonce", "components", "realm"}},
    inventory={"require": DEFAULT_STEPS - {"lifecycle"}, "allow_debug": True},
)
DEFAULT_POLICY: Final = POLICY_FORM.default_policy
parse_policy: Final = POLICY_FORM.parse


def appraise_token(
    token: CcaToken,
    key: object,
    policy: Policy,
    nonce: bytes | None = None,
    references: published.References | None = None,
) -> Appraisal:
    """Appraise a token with its platform's key; ``nonce`` is the expected challenge, 64 bytes."""
    steps = Checklist()
    platform, realm = token.platform, token.realm
    steps.passed("parse", f"platform token of {platform.profile}; realm token of {realm.profile or 'RMM 1.0'}", DRAFT)
    try:
        published.check_references(steps, references)
        _check_signatures(steps, token, key)
        _check_lifecycle(steps, platform, policy)
        if nonce is None:
            steps.not_requested("nonce", "nonce", DRAFT, lacking=NOT_FRESH)
        else:
            otherwise = f"the realm asked with {realm.challenge.hex()}, not {nonce.hex()}"
            steps.require(hmac.compare_digest(realm.challenge, nonce), "nonce", "as expected", otherwise, DRAFT)
        _check_values(steps, token, policy, references)
        published.compare_references(steps, references, token)
        steps.require_taken(policy)
    except RefusedError:
        return steps.conclude({})
    return steps.conclude(_claims(token))


def _check_signatures(steps: Checklist, token: CcaToken, key: object) -> None:
    platform, realm = token.platform, token.realm
    _check_signature(steps, "platform-signature", "the platform's token", platform.signed, key)
    same = hmac.compare_digest(digest(HASHES[realm.key_hash], realm.key_encoded), platform.challenge)
    otherwise = f"the platform's challenge is {platform.challenge.hex()}, which is not the hash of the realm's key"
    steps.require(same, "binding", f"the platform vouches for the realm's key by {realm.key_hash}", otherwise, DRAFT)
    _check_signature(steps, "realm-signature", "the realm's token", realm.signed, realm.key)


def _check_signature(steps: Checklist, step: str, what: str, signed: Sign1, key: object) -> None:
    with steps.refusing(step, AuthenticationError, DRAFT):
        verify_sign1(signed, key, f"{what}'s signature")
    steps.passed(step, f"{signed.algorithm_name} over {len(signed.payload)} bytes", DRAFT)


def _check_lifecycle(steps: Checklist, platform: PlatformToken, policy: Policy) -> None:
    state = platform.lifecycle
    allowed = state is Lifecycle.SECURED or (policy.allow_debug and state in DEBUG)
    otherwise = f"the platform is in the state {state.words}: others may look into its realms"
    steps.require(allowed, "lifecycle", state.words, otherwise, DRAFT)


#: What is found, and what is accepted if anything is asked, by what it is.
Compared = Mapping[str, tuple[list[bytes], Accepted]]


def _check_values(steps: Checklist, token: CcaToken, policy: Policy, references: published.References | None) -> None:
    """Hold platform and realm to the values that the policy accepts."""
    platform, realm = token.platform, token.realm
    components = platform.components
    of_platform: Compared = {
        "implementation id": ([platform.implementation_id], policy.implementation_ids),
        "instance id": ([platform.instance_id], policy.instance_ids),
    }
    of_software: Compared = {
        "measurement of software": ([each.measurement for each in components], policy.components),
        "signer of software": ([each.signer_id for each in components], policy.signer_ids),
    }
    of_realm: Compared = {
        "initial measurement": ([realm.initial_measurement], policy.initial_measurements),
        "personalization value": ([realm.personalization], policy.personalization_values),
    }
    extensible: Compared = {
        f"extensible measurement {number}": ([realm.extensible_measurements[number]], accepted)
        for number, accepted in policy.extensible_measurements.items()
    }
    no_platform = "" if published.is_about(references, published.PLATFORM_PROFILE) else NO_PLATFORM
    no_realm = "" if published.is_about(references, published.REALM_PROFILE) else NO_MEASUREMENT
    every = (of_platform, no_platform), (of_software, no_platform), (of_realm, no_realm), (extensible, "")
    for step, (rows, lacking) in zip(VALUES, every, strict=True):
        _check_among(steps, step, rows, lacking)


def _check_among(steps: Checklist, step: str, rows: Compared, lacking: str) -> None:
    asked = {what: (found, accepted) for what, (found, accepted) in rows.items() if accepted is not None}
    if not asked:
        steps.not_requested(step, POLICY, DRAFT, lacking=lacking)
        return
    for what, (found, accepted) in asked.items():
        wrong = next((value for value in found if value not in accepted), None)
        if wrong is not None:
            expected = ", ".join(sorted(value.hex() for value in accepted)) or "none"
            steps.refuse(step, f"the {what} is {wrong.hex()}; accepted: {expected}", DRAFT)
    steps.passed(step, f"accepted: {', '.join(asked)}", DRAFT)


def _claims(token: CcaToken) -> Mapping[str, object]:
    platform, realm = token.platform, token.realm
    return {
        "tee": "Arm CCA",
        "platform_profile": platform.profile,
        "realm_profile": realm.profile,
        "lifecycle": platform.lifecycle.words,
        "debug": platform.lifecycle in DEBUG,
        "implementation_id": platform.implementation_id.hex(),
        "instance_id": platform.instance_id.hex(),
        "config": platform.config.hex(),
        "verification_service": platform.service,
        "components": [
            {
                "type": each.kind,
                "version": each.version,
                "measurement": each.measurement.hex(),
                "signer_id": each.signer_id.hex(),
            }
            for each in platform.components
        ],
        "initial_measurement": realm.initial_measurement.hex(),
        "extensible_measurements": [each.hex() for each in realm.extensible_measurements],
        "personalization_value": realm.personalization.hex(),
        "nonce": realm.challenge.hex(),
        "unknown_claims": [*platform.unknown, *realm.unknown],
    }
