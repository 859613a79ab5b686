"""Signed attestation results (EAR): the claims in them, and ``carnet attest ear``, which checks them.

Of the claims, what the profile demands is demanded: its own name, whole numbers for times, tiers and values of AR4SI,
and no tier that is better than what it sums up. Claims that the profile does not know are passed over, as it demands,
too. A result is no evidence, and is checked in the same way: numbered steps, a verdict, and what an acceptance lacks.

Results of older profiles are read, too: of the earlier draft, of Veraison and of Trustee. These have other names for
the same claims, one policy where the draft has a list, and the type ``JWT`` or none.

Source: draft-ietf-rats-ear-03, "EAT Attestation Result"; draft-ietf-rats-ar4si, "Trustworthiness Claims";
veraison/ear (961756e) and veraison/rust-ear (975ba6f), names and forms of the older profiles;
confidential-containers/trustee (78962cd), attestation-service/src/ear_token.
"""

import hmac
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from carnet_command.errors import UsageError
from carnet_ref.attestation import results
from carnet_ref.attestation.appraisal import NOT_FRESH, Appraisal, Checklist, RefusedError
from carnet_ref.attestation.formats import AppraisalContext, Format, NeedsOptionError, Option, OptionKind, OptionValues
from carnet_ref.attestation.jose import (
    ALGORITHMS,
    CURVES,
    OLDER_TYPE,
    TYPE,
    SignatureError,
    Token,
    VerificationKey,
    nested_json,
    numeric_date,
    parse_token,
    verification_key,
    verification_keys,
    verify_by_one,
)
from carnet_ref.attestation.kinds import Layer, LayerRole
from carnet_ref.crypto.certificate_path import TIME
from carnet_ref.wire import MalformedError

RESULT: Final = "attestation result"
MOST_SUBMODULES: Final = 512
VALUES: Final = range(-128, 128)
NONCE_CHARACTERS: Final = range(8, 89)


@dataclass(frozen=True, slots=True)
class Submodule:
    """The result about one attester, with its name in the token.

    ``nonce`` is the one in the evidence, as it is written; ``policies`` are the ids of the policies.
    """

    name: str
    tier: results.Tier
    vector: Mapping[results.TrustClaim, int]  #: The trustworthiness claims; empty where the verifier left them out.
    nonce: str | None
    policies: tuple[str, ...]
    told: Mapping[str, object]  #: Carnet's own extension; empty in results of other verifiers.
    others: Mapping[str, object]  #: What other verifiers say besides, by the names that they have for it.


@dataclass(frozen=True, slots=True)
class AttestationResult:
    """A parsed, unverified result about at least one attester.

    It counts from ``issued``, or from ``begins`` if that is later, until ``expires``; ``verifier`` made it, with a
    build. ``stated`` is the overall tier, where it has one, and ``nonce`` what the relying party asked with, as it is
    written.
    """

    profile: results.EarProfile
    issued: datetime
    begins: datetime | None
    expires: datetime | None
    verifier: str
    stated: results.Tier | None
    nonce: str | None
    submodules: tuple[Submodule, ...]

    @property
    def tier(self) -> results.Tier:
        """The stated overall tier, or else the worst tier of all attesters."""
        return results.worst(each.tier for each in self.submodules) if self.stated is None else self.stated


def parse_claims(payload: bytes) -> AttestationResult:
    """Read the claims of a result. Raises MalformedError if they are something else."""
    claims = _object(nested_json(payload, RESULT), "claims")
    profile = _profile(claims.get("eat_profile"))
    who, status = profile.claim_name("ear_verifier_id"), profile.claim_name("ear_status")
    verifier = _object(claims.get(who), who)
    made_by = " ".join(_text(verifier.get(name), f"{who}.{name}") for name in ("developer", "build"))
    submodules = _object(claims.get("submods"), "submods")
    if not 1 <= len(submodules) <= MOST_SUBMODULES:
        raise _malformed("submods", f"from 1 to {MOST_SUBMODULES} attesters", len(submodules))
    read = tuple(_submodule(name, value, profile) for name, value in submodules.items())
    stated = _tier(claims[status], status) if status in claims else None
    _check_no_better(stated, [each.tier for each in read], status)
    times = {name: _time(claims[name], name, profile) for name in ("nbf", "exp") if name in claims}
    return AttestationResult(
        profile,
        _time(claims.get("iat"), "iat", profile),
        times.get("nbf"),
        times.get("exp"),
        made_by,
        stated,
        _nonce(claims, ""),
        read,
    )


def _profile(value: object) -> results.EarProfile:
    if value not in tuple(results.EarProfile):
        known = " or of ".join(results.EarProfile)
        raise _malformed("eat_profile", f"the profile {known}", value)
    return results.EarProfile(str(value))


def _submodule(name: str, value: object, profile: results.EarProfile) -> Submodule:
    where = f"submods[{ascii(name)[:60]}]"
    claims = _object(value, where)
    status, extension = f"{where}.{profile.claim_name('ear_status')}", profile.claim_name(results.EXTENSION)
    tier = _tier(claims.get(profile.claim_name("ear_status")), status)
    vector = _vector(claims, where, profile)
    _check_no_better(tier, map(results.tier_of, vector.values()), status)
    own = {profile.claim_name(each) for each in (*results.OLDER_NAMES, "eat_nonce")}
    return Submodule(
        name,
        tier,
        vector,
        _nonce(claims, f"{where}."),
        _policies(claims, where, profile),
        _object(claims.get(extension, {}), f"{where}.{extension}"),
        {name: each for name, each in claims.items() if name not in own},
    )


def _policies(claims: Mapping[str, object], where: str, profile: results.EarProfile) -> tuple[str, ...]:
    name = profile.claim_name("ear_appraisal_policy_ids")
    value = claims.get(name, [])
    if profile.is_older and name in claims:
        value = [value]
    if not isinstance(value, list):
        raise _malformed(f"{where}.{name}", "a list", value)
    return tuple(_text(each, f"{where}.{name}") for each in value)


def _vector(claims: Mapping[str, object], where: str, profile: results.EarProfile) -> dict[results.TrustClaim, int]:
    name = profile.claim_name("ear_trustworthiness_vector")
    if name not in claims:
        return {}
    vector = _object(claims[name], f"{where}.{name}")
    for claim, value in vector.items():
        if claim not in tuple(results.TrustClaim):
            raise _malformed(f"{where}.{name}", f"claims out of {', '.join(results.TrustClaim)}", claim)
        if not isinstance(value, int) or isinstance(value, bool) or value not in VALUES:
            raise _malformed(f"{where}.{name}.{claim}", "a number from -128 to 127", value)
    if not vector:
        raise _malformed(f"{where}.{name}", "a claim", "none")
    return {results.TrustClaim(claim): value for claim, value in vector.items() if isinstance(value, int)}


def _check_no_better(tier: results.Tier | None, parts: Iterable[results.Tier], where: str) -> None:
    """Insist that a tier affirms or warns only as far as all that it sums up does."""
    limit = results.worst(parts)
    trusted = (results.Tier.AFFIRMING, results.Tier.WARNING)
    if tier in trusted and results.WORST_LAST.index(tier) < results.WORST_LAST.index(limit):
        raise _malformed(where, f"no better tier than {limit}", tier)


def _tier(value: object, where: str) -> results.Tier:
    if value not in tuple(results.Tier):
        raise _malformed(where, f"one of {', '.join(results.Tier)}", value)
    return results.Tier(str(value))


def _time(value: object, where: str, profile: results.EarProfile) -> datetime:
    """Read a time in whole seconds; the draft wants no others, and Veraison writes whole ones with a point."""
    if profile.is_older and isinstance(value, float) and value.is_integer():
        value = int(value)
    return numeric_date(value, f"{RESULT}: {where}")


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
    return MalformedError(f"{RESULT}: {where}", expected, shown)


JWS: Final = "RFC 7515"
EAR: Final = "draft-ietf-rats-ear-03"
#: Older profiles do not say of which alphabet the base64 of a nonce is, nor whether it is padded.
URL_SAFE: Final = str.maketrans("+/", "-_")
LEEWAY: Final = timedelta(seconds=60)  #: How far ahead the clock of a verifier may be.
TRUSTED: Final = (results.Tier.AFFIRMING, results.Tier.WARNING)


@dataclass(frozen=True, slots=True)
class SignedResult:
    """A token, and the keys of which one must have signed it."""

    token: Token
    keys: tuple[VerificationKey, ...]


def recognise(data: bytes, given: OptionValues) -> SignedResult:
    """Return the parsed token and the keys.

    Raises MalformedError if ``data`` is no token; UsageError if no key was given, or none that tokens are signed by.
    """
    keys = given.octets("key")
    if keys is None:
        raise NeedsOptionError("a token needs --key, the public key of the verifier", "key")
    return SignedResult(parse_token(data), _keys(keys))


def _keys(data: bytes) -> tuple[VerificationKey, ...]:
    if data.lstrip()[:1] != b"{":
        return (verification_key(data),)
    keys = tuple(key for key in verification_keys(data) if set(key.algorithms) <= set(ALGORITHMS.values()))
    if not keys:
        raise UsageError(f"the set of keys has none that is {CURVES}")
    return keys


def describe(signed: SignedResult) -> Iterator[Layer]:
    """Yield the claimed verifier, unverified."""
    yield Layer(LayerRole.PRODUCT, parse_claims(signed.token.payload).verifier)


def appraise(signed: SignedResult, given: OptionValues, against: AppraisalContext[None]) -> Appraisal:
    """Verify the token's signature, then appraise its claims."""
    steps = Checklist()
    steps.passed("parse", f"a token of {len(signed.token.compact)} characters", JWS)
    try:
        with steps.refusing("signature", SignatureError, JWS):
            verify_by_one(signed.token, signed.keys)
        steps.passed("signature", f"{signed.token.algorithm} by the key given", JWS)
        result = _result(steps, signed.token)
        _check_time(steps, result, against.at)
        _check_nonce(steps, result, given.octets("nonce"))
        # Pass on what the verifier found, so that a refusal of its is a refusal here
        for each in result.submodules:
            for lacking in _texts(each, "not_compared"):
                steps.left_out(f"{each.name}.compared", lacking, EAR, lacking=lacking)
        told = f"{result.tier}: " + "; ".join(_submodule_in_words(each) for each in result.submodules)
        tiers = [result.tier, *(each.tier for each in result.submodules)]
        steps.require(all(tier in TRUSTED for tier in tiers), "status", told, told, EAR)
    except RefusedError:
        return steps.conclude({})
    return steps.conclude(_claims(result), appraised_by=result.verifier)


def _result(steps: Checklist, token: Token) -> AttestationResult:
    with steps.refusing("claims", MalformedError, EAR):
        result = parse_claims(token.payload)
        _check_type(token, result.profile)
    steps.passed("claims", f"a result by {result.verifier}, about {len(result.submodules)}", EAR)
    return result


def _check_type(token: Token, profile: results.EarProfile) -> None:
    """Insist on the type that a profile demands, so that no token for something else passes for a result."""
    stated = token.header.get("typ")
    if stated != TYPE and not (profile.is_older and stated in (None, OLDER_TYPE)):
        expected = f"the type {OLDER_TYPE}, {TYPE} or none" if profile.is_older else f"the type {TYPE}"
        raise MalformedError("token: header", expected, ascii(stated)[:60])


def _check_time(steps: Checklist, result: AttestationResult, at: datetime) -> None:
    begins = max(result.issued, result.begins or result.issued)
    issued = f"issued {result.issued:{TIME}}" + (f", counts from {begins:{TIME}}" if begins > result.issued else "")
    steps.require(begins - at <= LEEWAY, "issued", issued, f"{issued}, which is after {at:{TIME}}", EAR)
    if result.expires is None:
        steps.left_out("expiry", "it does not say until when it counts", EAR, lacking="no time of expiry")
        return
    until = f"until {result.expires:{TIME}}"
    steps.require(at < result.expires, "expiry", until, f"{until}, not at {at:{TIME}}", EAR)


def _check_nonce(steps: Checklist, result: AttestationResult, nonce: bytes | None) -> None:
    if nonce is None:
        steps.not_requested("nonce", "nonce", EAR, lacking=NOT_FRESH)
        return
    found, asked = result.nonce or "", results.encoded_nonce(nonce)
    otherwise = f"the result has {found or 'no nonce'}, not {asked}"
    written = found.rstrip("=").translate(URL_SAFE) if result.profile.is_older else found
    same = hmac.compare_digest(written.encode("utf-8", "surrogatepass"), asked.encode())
    steps.require(same, "nonce", "the nonce asked with", otherwise, EAR)


def _submodule_in_words(submodule: Submodule) -> str:
    failed, reason = submodule.told.get("failed_step"), submodule.told.get("reason")
    why = f" ({failed}: {reason})" if isinstance(failed, str) and submodule.tier is results.Tier.CONTRAINDICATED else ""
    return f"{submodule.name} {submodule.tier}{why}"


def _texts(submodule: Submodule, name: str) -> list[str]:
    value = submodule.told.get(name)
    return [each for each in value if isinstance(each, str)] if isinstance(value, list) else []


def _claims(result: AttestationResult) -> dict[str, object]:
    return {
        "verifier": result.verifier,
        "profile": result.profile.value,
        "status": result.tier.value,
        "issued": f"{result.issued:{TIME}}",
        "expires": None if result.expires is None else f"{result.expires:{TIME}}",
        "nonce": result.nonce,
        "attesters": [
            {
                "name": each.name,
                "status": each.tier.value,
                "vector": {claim.value: value for claim, value in each.vector.items()},
                "nonce": each.nonce,
                "policies": list(each.policies),
                "claims": each.told.get("claims"),
                "statements": dict(each.others),
            }
            for each in result.submodules
        ],
    }


#: Attestation results.
FORMAT: Final[Format[SignedResult, None]] = Format(
    argument="token",
    help="""Check TOKEN, a signed attestation result (EAR), and print it.

    Tokens are what --ear writes. Those of other verifiers are read, too, if they are in JSON, signed by ES256 or ES384,
    and have the profile of the EAR draft (revision 03, or those of 2025), of Veraison or of Trustee. What they say is
    shown as theirs: it is their appraisal, and Carnet has not seen the evidence.

    It is accepted if the key signed it, it has the form of its profile, it counts at --at, and the verifier affirms the
    evidence or warns of it. What the verifier refused is refused.
    """,
    options=(
        Option(
            "key",
            OptionKind.FILE,
            "The verifier's public key on P-256 or P-384, in PEM or as a JSON Web Key (set); it is needed.",
        ),
        Option("nonce", OptionKind.HEX, "What the relying party asked with, from 8 to 64 bytes."),
    ),
    recognise=recognise,
    appraise=appraise,
    describe=describe,
    anchored=False,
)
