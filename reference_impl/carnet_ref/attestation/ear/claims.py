"""The claims of an attestation result, read out of the payload of a token.

What the profile demands is demanded: its own name, whole numbers for times, tiers and values of AR4SI, and no tier that
is better than what it sums up. Claims that the profile does not know are passed over, as it demands, too.

Source: draft-ietf-rats-ear-03, "EAT Attestation Result"; draft-ietf-rats-ar4si, "Trustworthiness Claims".
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

from carnet_ref.attestation.ear.token import LARGEST
from carnet_ref.attestation.results.result import EXTENSION, PROFILE
from carnet_ref.attestation.results.trust import WORST_LAST, Tier, TrustClaim, tier_of, worst
from carnet_ref.wire.reader import MalformedError, json_value

WHAT: Final = "attestation result"
DEEPEST: Final = 16
"""How many objects and lists may stand inside each other."""
MOST_SUBMODULES: Final = 512
LATEST: Final = int(datetime(9999, 12, 31, tzinfo=UTC).timestamp())
VALUES: Final = range(-128, 128)
NONCE_CHARACTERS: Final = range(8, 89)


@dataclass(frozen=True, slots=True)
class Submodule:
    """The result about one attester."""

    name: str
    """What the verifier calls it."""
    tier: Tier
    """How far it is to be trusted."""
    vector: Mapping[TrustClaim, int]
    """The trustworthiness claims; empty where the verifier left them out."""
    nonce: str | None
    """The nonce in the evidence, as it is written."""
    policies: tuple[str, ...]
    """The ids of the policies."""
    told: Mapping[str, object]
    """Carnet's own extension; empty in results of other verifiers."""


@dataclass(frozen=True, slots=True)
class AttestationResult:
    """A result, read but believed only once its signature is verified."""

    issued: datetime
    """From when on it counts."""
    expires: datetime | None
    """Until when; ``None`` where it does not say."""
    verifier: str
    """Who made it, and with which build."""
    stated: Tier | None
    """The overall tier, where it has one."""
    nonce: str | None
    """What the relying party asked with, as it is written."""
    submodules: tuple[Submodule, ...]
    """The attesters; at least one."""

    @property
    def tier(self) -> Tier:
        """The overall tier, or else the worst of all attesters."""
        return worst(each.tier for each in self.submodules) if self.stated is None else self.stated


def parse_claims(payload: bytes) -> AttestationResult:
    """Read the claims of a result.

    Raises:
        MalformedError: they are something else.
    """
    claims = _object(_value(payload), "claims")
    if claims.get("eat_profile") != PROFILE:
        raise _malformed("eat_profile", f"the profile {PROFILE}", claims.get("eat_profile"))
    verifier = _object(claims.get("ear_verifier_id"), "ear_verifier_id")
    made_by = " ".join(_text(verifier.get(name), f"ear_verifier_id.{name}") for name in ("developer", "build"))
    submodules = _object(claims.get("submods"), "submods")
    if not 1 <= len(submodules) <= MOST_SUBMODULES:
        raise _malformed("submods", f"from 1 to {MOST_SUBMODULES} attesters", len(submodules))
    read = tuple(_submodule(name, value) for name, value in submodules.items())
    stated = _tier(claims["ear_status"], "ear_status") if "ear_status" in claims else None
    _check_no_better(stated, [each.tier for each in read], "ear_status")
    return AttestationResult(
        _time(claims.get("iat"), "iat"),
        _time(claims["exp"], "exp") if "exp" in claims else None,
        made_by,
        stated,
        _nonce(claims, ""),
        read,
    )


def _value(payload: bytes) -> object:
    if len(payload) > LARGEST:
        raise MalformedError(WHAT, f"at most {LARGEST} bytes", f"{len(payload)}")
    try:
        value = json_value(payload)
    except ValueError as error:
        raise MalformedError(WHAT, "JSON", " ".join(str(error).split())[:200]) from None
    level: list[object] = [value]
    for _ in range(DEEPEST):
        level = [inner for each in level for inner in _inside(each)]
    if level:
        raise MalformedError(WHAT, f"at most {DEEPEST} objects and lists inside each other", "more")
    return value


def _inside(value: object) -> Iterable[object]:
    if isinstance(value, dict):
        return value.values()
    return value if isinstance(value, list) else ()


def _submodule(name: str, value: object) -> Submodule:
    where = f"submods[{ascii(name)[:60]}]"
    claims = _object(value, where)
    tier = _tier(claims.get("ear_status"), f"{where}.ear_status")
    vector = _vector(claims, where)
    _check_no_better(tier, map(tier_of, vector.values()), f"{where}.ear_status")
    policies = claims.get("ear_appraisal_policy_ids", [])
    if not isinstance(policies, list):
        raise _malformed(f"{where}.ear_appraisal_policy_ids", "a list", policies)
    return Submodule(
        name,
        tier,
        vector,
        _nonce(claims, f"{where}."),
        tuple(_text(each, f"{where}.ear_appraisal_policy_ids") for each in policies),
        _object(claims.get(EXTENSION, {}), f"{where}.{EXTENSION}"),
    )


def _vector(claims: Mapping[str, object], where: str) -> dict[TrustClaim, int]:
    name = "ear_trustworthiness_vector"
    if name not in claims:
        return {}
    vector = _object(claims[name], f"{where}.{name}")
    for claim, value in vector.items():
        if claim not in tuple(TrustClaim):
            raise _malformed(f"{where}.{name}", f"claims out of {', '.join(TrustClaim)}", claim)
        if not isinstance(value, int) or isinstance(value, bool) or value not in VALUES:
            raise _malformed(f"{where}.{name}.{claim}", "a number from -128 to 127", value)
    if not vector:
        raise _malformed(f"{where}.{name}", "a claim", "none")
    return {TrustClaim(claim): value for claim, value in vector.items() if isinstance(value, int)}


def _check_no_better(tier: Tier | None, parts: Iterable[Tier], where: str) -> None:
    """Insist that a tier affirms or warns only as far as all that it sums up does."""
    limit = worst(parts)
    trusted = (Tier.AFFIRMING, Tier.WARNING)
    if tier in trusted and WORST_LAST.index(tier) < WORST_LAST.index(limit):
        raise _malformed(where, f"no better tier than {limit}", tier)


def _tier(value: object, where: str) -> Tier:
    if value not in tuple(Tier):
        raise _malformed(where, f"one of {', '.join(Tier)}", value)
    return Tier(str(value))


def _time(value: object, where: str) -> datetime:
    """Read a time in whole seconds; the profile wants no others."""
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value <= LATEST:
        raise _malformed(where, "whole seconds since 1970", value)
    return datetime.fromtimestamp(value, UTC)


def _nonce(claims: Mapping[str, object], where: str) -> str | None:
    if "eat_nonce" not in claims:
        return None
    nonce = _text(claims["eat_nonce"], f"{where}eat_nonce")
    if len(nonce) not in NONCE_CHARACTERS:
        raise _malformed(f"{where}eat_nonce", "from 8 to 88 characters", nonce)
    return nonce


def _object(value: object, where: str) -> Mapping[str, object]:
    if not isinstance(value, dict):
        raise _malformed(where, "an object", value)
    return value


def _text(value: object, where: str) -> str:
    if not isinstance(value, str):
        raise _malformed(where, "text", value)
    return value


def _malformed(where: str, expected: str, found: object) -> MalformedError:
    shown = type(found).__name__ if isinstance(found, dict | list) else ascii(found)[:80]
    return MalformedError(f"{WHAT}: {where}", expected, shown)
