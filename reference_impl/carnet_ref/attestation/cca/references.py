"""What the manifests of a CCA platform's maker, and of a realm's, say of a token.

A record of a platform describes all of its software: every component of the token has to be in it, and all of it has to
be in the token. A record of a realm is found by the realm's initial measurement.

Source: draft-ydb-rats-cca-endorsements, commit 09b183d3, sections "Arm CCA Platform Endorsements" and "Arm CCA Realm
Endorsements"; draft-ietf-rats-corim, section "Comparing Measurements" (masked values).
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from carnet_ref.attestation.appraisal import Checklist
from carnet_ref.attestation.cca_token import CcaToken, Component, PlatformToken, RealmToken
from carnet_ref.attestation.corim import Corim, ReferenceRecord, ReferenceValue
from carnet_ref.attestation.cose import verify_sign1
from carnet_ref.attestation.tpm2 import PublicKey
from carnet_ref.crypto.certificate_path import TIME
from carnet_ref.crypto.primitives import AuthenticationError
from carnet_ref.wire import MalformedError

PLATFORM_PROFILE: Final = "tag:arm.com,2025:cca_platform#1.0.0"
REALM_PROFILE: Final = "tag:arm.com,2025:cca_realm#1.0.0"
COMPONENT, CONFIG = "cca.software-component", "cca.platform-config"
RIM, RPV = "cca.rim", "cca.rpv"
REMS: Final = ("cca.rem0", "cca.rem1", "cca.rem2", "cca.rem3")


COMPARED: Final = ("platform-references", "realm-references")
SOURCE: Final = "draft-ydb-rats-cca-endorsements"
UNSIGNED: Final = "signer of reference values not checked"


@dataclass(frozen=True, slots=True)
class References:
    """Manifests, the key for their signatures (if given), and the time of appraisal."""

    manifests: tuple[Corim, ...]
    key: PublicKey | None
    at: datetime


def check_references(steps: Checklist, references: References | None) -> None:
    """Check that the manifests are current and, if a key is given, signed by it; the step has their name."""
    if references is None:
        steps.left_out("references", "not requested", SOURCE, without=("reference", "reference-key"))
        return
    if not references.manifests:
        why = "a key was given that should have signed reference values, and there are none"
        steps.refuse("references", why, SOURCE, without=("reference",))
    for manifest in references.manifests:
        if not manifest.counts(references.at):
            why = f"reference values count from {manifest.period}, not at {references.at:{TIME}}"
            steps.refuse("references", why, SOURCE)
        if references.key is not None:
            _check_signer(steps, manifest, references.key)
    count = f"{len(references.manifests)} of CoRIM"
    if references.key is None:
        why = f"{count}; they count because they were given"
        steps.left_out("references", why, SOURCE, lacking=UNSIGNED, without=("reference", "reference-key"))
        return
    steps.passed("references", f"{count}, signed by the key that was given", SOURCE, without=("reference",))


def _check_signer(steps: Checklist, manifest: Corim, key: PublicKey) -> None:
    if manifest.signed is None:
        steps.refuse("references", "reference values are not signed, and a key was given that should have", SOURCE)
    with steps.refusing("references", AuthenticationError, SOURCE):
        verify_sign1(manifest.signed, key, "the signature of reference values")


def is_about(references: References | None, profile: str) -> bool:
    """Return whether some manifest has reference values for a profile."""
    return references is not None and any(each.profile == profile and each.references for each in references.manifests)


def compare_references(steps: Checklist, references: References | None, token: CcaToken) -> None:
    """Compare a token with the manifests about its platform and about its realm."""
    manifests = () if references is None else references.manifests
    of_platform = platform_problem(manifests, token.platform), "every component of the platform is as published"
    of_realm = realm_problem(manifests, token.realm), "the realm is as published"
    rows = (PLATFORM_PROFILE, *of_platform), (REALM_PROFILE, *of_realm)
    for step, (profile, problem, detail) in zip(COMPARED, rows, strict=True):
        if not is_about(references, profile):
            steps.not_requested(step, "reference", SOURCE, lacking="")
        elif problem is not None:
            steps.refuse(step, problem, SOURCE, without=("reference",))
        else:
            steps.passed(step, detail, SOURCE, without=("reference",))


def require_profiles(manifests: Iterable[Corim]) -> None:
    """Check that all manifests are about CCA. Raises MalformedError if one is not."""
    other = next((each for each in manifests if each.profile not in (PLATFORM_PROFILE, REALM_PROFILE)), None)
    if other is not None:
        raise MalformedError("CoRIM", f"the profile {PLATFORM_PROFILE} or {REALM_PROFILE}", ascii(other.profile)[:80])


def platform_key(manifests: Iterable[Corim], token: CcaToken) -> PublicKey | None:
    """Return the key of a token's platform from the manifests, or None. Raises MalformedError if they have several."""
    platform = token.platform
    found = [
        record.key
        for each in manifests
        if each.profile == PLATFORM_PROFILE
        for record in each.keys
        if record.environment.class_id == platform.implementation_id
        and record.environment.instance == platform.instance_id
    ]
    if any(key != found[0] for key in found):
        raise MalformedError("CoRIM", "one key of the platform", f"{len(found)}")
    return found[0] if found else None


def platform_problem(manifests: Sequence[Corim], platform: PlatformToken) -> str | None:
    """Return why no manifest describes a platform; None if one does."""
    records = [
        record
        for record in _records(manifests, PLATFORM_PROFILE, platform.implementation_id)
        if record.environment.instance in (None, platform.instance_id)
    ]
    problems = [_difference(record, platform) for record in records]
    if None in problems:
        return None
    return next(iter(problems), f"no manifest is about the implementation {platform.implementation_id.hex()}")


def _records(manifests: Iterable[Corim], profile: str, class_id: bytes) -> list[ReferenceRecord]:
    every = (record for each in manifests if each.profile == profile for record in each.references)
    return [record for record in every if record.environment.class_id == class_id]


def _difference(record: ReferenceRecord, platform: PlatformToken) -> str | None:
    software = [value for value in record.values if value.key == COMPONENT]
    for component in platform.components:
        if not any(_is_of(value, component) for value in software):
            return f"the component {_component_in_words(component)} is none of the {len(software)} in the manifest"
    missing = next((value for value in software if not any(_is_of(value, each) for each in platform.components)), None)
    if missing is not None:
        return f"the token lacks the component {missing.name or 'without a name'} of the manifest"
    for value in record.values:
        if value.key == CONFIG and not _is_raw(value, platform.config):
            return f"the configuration is {platform.config.hex()}, another than in the manifest"
        if value.key not in (COMPONENT, CONFIG):
            return f"the manifest has a value {ascii(value.key)[:80]}, which means nothing here"
    return None


def _is_of(value: ReferenceValue, component: Component) -> bool:
    """Return whether a reference value is that of a component, in everything that it says."""
    return (
        (component.hash_name, component.measurement) in value.digests
        and value.keys == (component.signer_id,)
        and value.name in (None, component.kind)
        and value.version in (None, component.version)
        and value.raw is None
    )


def _component_in_words(component: Component) -> str:
    name = component.kind or "without a name"
    return f"{name[:40]} of {component.measurement.hex()}, signed by {component.signer_id.hex()},"


def _is_raw(value: ReferenceValue, found: bytes) -> bool:
    """Return whether the bits that count are the same, and the value says nothing else."""
    if value.raw is None or len(value.raw[0]) != len(found) or value.digests or _is_named(value):
        return False
    expected, mask = value.raw
    return all(one & bit == other & bit for one, other, bit in zip(expected, found, mask, strict=True))


def _is_named(value: ReferenceValue) -> bool:
    """Return whether a value says who signed something, or what it is called, which only software has."""
    return bool(value.keys) or value.name is not None or value.version is not None


def realm_problem(manifests: Sequence[Corim], realm: RealmToken) -> str | None:
    """Return why no manifest describes a realm; None if one does."""
    records = _records(manifests, REALM_PROFILE, realm.initial_measurement)
    problems = [_realm_difference(record, realm) for record in records]
    if None in problems:
        return None
    return next(iter(problems), f"no manifest is about the initial measurement {realm.initial_measurement.hex()}")


def _realm_difference(record: ReferenceRecord, realm: RealmToken) -> str | None:
    measured = {RIM: realm.initial_measurement, **dict(zip(REMS, realm.extensible_measurements, strict=True))}
    if not any(value.key == RIM for value in record.values) or record.environment.instance is not None:
        return "the manifest does not say the initial measurement of all such realms"
    for value in record.values:
        if value.key == RPV and value.raw is not None and not value.digests:
            padded = value.raw[0].ljust(len(realm.personalization), b"\0")
            same = padded == realm.personalization and all(byte == 0xFF for byte in value.raw[1])
        else:
            same = (realm.hash_name, measured.get(value.key)) in value.digests and value.raw is None
        if not same or _is_named(value):
            return f"{ascii(value.key)[:80]} is another than in the manifest, or means nothing here"
    return None
