"""Signed attestation results (EAR): keys, tokens in their compact form, the claims in them, and ``carnet attest ear``.

A token is three parts of base64 with dots between them. Readers of tokens differ in what they overlook. So one form
alone is taken: base64 without padding and without bits that stand for nothing, and a header with the algorithm, the
type and perhaps the key's name. A header that asks for more, such as ``crit``, ``jwk`` or ``b64``, is refused. The
algorithm is the key's own; what a header says only has to agree.

Of the claims, what the profile demands is demanded: its own name, whole numbers for times, tiers and values of AR4SI,
and no tier that is better than what it sums up. Claims that the profile does not know are passed over, as it demands,
too. A result is no evidence, and is checked in the same way: numbered steps, a verdict, and what an acceptance lacks.

Source: RFC 7515, sections 3, 4 and 5; RFC 7518, section 3.4; RFC 8725, sections 3.1, 3.2 and 3.11;
draft-ietf-rats-ear-03, "EAT Attestation Result"; draft-ietf-rats-ar4si, "Trustworthiness Claims".
"""

from __future__ import annotations

import base64
import binascii
import hmac
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import load_pem_private_key, load_pem_public_key

from carnet_command.errors import UsageError
from carnet_ref.attestation import results
from carnet_ref.attestation.appraisal import NOT_FRESH, Appraisal, Checklist, RefusedError
from carnet_ref.attestation.formats import AppraisalContext, Format, NeedsOptionError, Option, OptionKind, OptionValues
from carnet_ref.crypto.certificate_path import TIME
from carnet_ref.wire import MalformedError, bounded_json, json_value

ALGORITHMS: Final = {"secp256r1": "ES256", "secp384r1": "ES384"}
"""The algorithm of each curve. Source: RFC 7518, section 3.4."""
CURVES: Final = "an elliptic curve key on P-256 or P-384"


@dataclass(frozen=True, slots=True)
class SigningKey:
    """What signs tokens: a key on P-256 or P-384, and the algorithm by which it signs."""

    key: ec.EllipticCurvePrivateKey
    algorithm: str


@dataclass(frozen=True, slots=True)
class VerificationKey:
    """What tokens are verified with: a key on P-256 or P-384, and the only algorithm that it is used for."""

    key: ec.EllipticCurvePublicKey
    algorithm: str


def signing_key(pem: bytes) -> SigningKey:
    """Return the private key in PEM. Raises UsageError if it is none, is encrypted, or is of another kind."""
    try:
        key = load_pem_private_key(pem, password=None)
    except TypeError:
        raise UsageError("the key is encrypted; give one that is not") from None
    except (ValueError, UnsupportedAlgorithm):
        raise UsageError(f"expected a private key in PEM, {CURVES}") from None
    if not isinstance(key, ec.EllipticCurvePrivateKey):
        raise UsageError(f"expected {CURVES}, not {type(key).__name__}")
    return SigningKey(key, _algorithm_of(key.curve))


def verification_key(pem: bytes) -> VerificationKey:
    """Return the public key in PEM. Raises UsageError if it is none, or is of another kind."""
    try:
        key = load_pem_public_key(pem)
    except (ValueError, UnsupportedAlgorithm):
        raise UsageError(f"expected a public key in PEM, {CURVES}") from None
    if not isinstance(key, ec.EllipticCurvePublicKey):
        raise UsageError(f"expected {CURVES}, not {type(key).__name__}")
    return VerificationKey(key, _algorithm_of(key.curve))


def _algorithm_of(curve: ec.EllipticCurve) -> str:
    if curve.name not in ALGORITHMS:
        raise UsageError(f"expected {CURVES}, not on {curve.name}")
    return ALGORITHMS[curve.name]


TOKEN: Final = "token"
EXTRA: Final = "the extra 'ear' (pip install 'carnet[ear]')"
TYPE: Final = "eat+jwt"
"""The media type ``application/eat+jwt``, as a header says it. Source: RFC 9782."""
LARGEST_TOKEN: Final = 1 << 17
LARGEST_PART: Final = {"header": 512, "payload": LARGEST_TOKEN, "signature": 96}
"""In bytes, once decoded."""
PARTS: Final = tuple(LARGEST_PART)
HEADER: Final = ("alg", "typ", "kid")


class SignatureError(Exception):
    """A token is not signed by the key, or not by the algorithm of the key."""


@dataclass(frozen=True, slots=True)
class Token:
    """A token, read but not yet believed: its text, the algorithm its header names, and the JSON that is signed."""

    compact: str
    algorithm: str
    payload: bytes


def parse_token(data: bytes) -> Token:
    """Read a token; white space may stand around it. Raises MalformedError if it is something else."""
    if len(data) > LARGEST_TOKEN:
        raise MalformedError(TOKEN, f"at most {LARGEST_TOKEN} bytes", f"{len(data)}")
    try:
        compact = data.strip().decode("ascii")
    except UnicodeDecodeError:
        raise MalformedError(TOKEN, "ASCII", "other bytes") from None
    parts = compact.split(".")
    if len(parts) != len(PARTS):
        raise MalformedError(TOKEN, "a header, a payload and a signature with dots between them", f"{len(parts)} parts")
    header, payload, _ = (_decoded(part, name) for part, name in zip(parts, PARTS, strict=True))
    return Token(compact, _algorithm(_header(header)), payload)


def _decoded(part: str, name: str) -> bytes:
    """Return what a part stands for, if no other text stands for the same."""
    what = f"{TOKEN}: {name}"
    try:
        decoded = base64.b64decode(part + "=" * (-len(part) % 4), altchars=b"-_", validate=True)
    except (binascii.Error, ValueError):
        raise MalformedError(what, "base64 for URLs, without padding", f"{len(part)} other characters") from None
    if not decoded or encoded(decoded) != part:
        raise MalformedError(what, "base64 for URLs in its one form", "another form, or nothing")
    if len(decoded) > LARGEST_PART[name]:
        raise MalformedError(what, f"at most {LARGEST_PART[name]} bytes", f"{len(decoded)}")
    return decoded


def encoded(data: bytes) -> str:
    """Return base64 of the alphabet for URLs, without padding."""
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def _header(header: bytes) -> dict[str, object]:
    try:
        value = json_value(header)
    except ValueError as error:
        raise MalformedError(f"{TOKEN}: header", "a JSON object", " ".join(str(error).split())[:100]) from None
    if not isinstance(value, dict):
        raise MalformedError(f"{TOKEN}: header", "a JSON object", type(value).__name__)
    return value


def _algorithm(header: Mapping[str, object]) -> str:
    what = f"{TOKEN}: header"
    unknown = sorted(set(header) - set(HEADER))
    if unknown:
        raise MalformedError(what, f"only {', '.join(HEADER)}", ascii(unknown[0])[:60])
    for name, value in header.items():
        if not isinstance(value, str):
            raise MalformedError(what, f"{name} to be text", type(value).__name__)
    if header.get("typ") != TYPE:
        raise MalformedError(what, f"the type {TYPE}", ascii(header.get("typ"))[:60])
    return str(header.get("alg"))


def verify(token: Token, key: VerificationKey) -> None:
    """Insist that the key signed the token by its own algorithm.

    Raises SignatureError if it did not; UsageError if the library for tokens is not installed.
    """
    if token.algorithm != key.algorithm:
        named = ascii(token.algorithm)[:40]
        raise SignatureError(f"the header names the algorithm {named}; a key of this kind signs by {key.algorithm}")
    jws, jwk, errors = _library()
    try:
        signed = jws.deserialize_compact(
            token.compact, jwk.ECKey.import_key(key.key), algorithms=[key.algorithm], registry=_registry(key.algorithm)
        )
    except errors.JoseError:
        raise SignatureError("the signature does not verify with this key") from None
    assert signed.payload == token.payload, "the library verified what was read here"


def signed_token(claims: Mapping[str, object], key: SigningKey) -> str:
    """Return the token with these claims.

    Raises UsageError if they are too many for a token, or the library for tokens is not installed.
    """
    jws, jwk, _ = _library()
    payload = json.dumps(claims, separators=(",", ":"), allow_nan=False).encode()
    signer = jwk.ECKey.import_key(key.key)
    header = {"alg": key.algorithm, "typ": TYPE, "kid": signer.thumbprint()}
    token: str = jws.serialize_compact(header, payload, signer, registry=_registry(key.algorithm))
    if len(token) > LARGEST_TOKEN:
        raise UsageError(f"the result has {len(token)} bytes as a token, of at most {LARGEST_TOKEN}")
    return token


def _registry(algorithm: str) -> Any:
    """Return what the library goes by: one algorithm, and no header that it does not know."""
    jws, _, _ = _library()
    registry = jws.JWSRegistry(algorithms=[algorithm])
    registry.max_payload_length = LARGEST_TOKEN
    return registry


def _library() -> tuple[Any, Any, Any]:
    try:
        from joserfc import errors, jwk, jws
    except ImportError:
        raise UsageError(f"signed results need {EXTRA}") from None
    return jws, jwk, errors


RESULT: Final = "attestation result"
DEEPEST: Final = 16
"""How many objects and lists may stand inside each other."""
MOST_SUBMODULES: Final = 512
LATEST: Final = int(datetime(9999, 12, 31, tzinfo=UTC).timestamp())
VALUES: Final = range(-128, 128)
NONCE_CHARACTERS: Final = range(8, 89)


@dataclass(frozen=True, slots=True)
class Submodule:
    """The result about one attester, by the name that the verifier calls it.

    ``nonce`` is the one in the evidence, as it is written; ``policies`` are the ids of the policies.
    """

    name: str
    tier: results.Tier
    vector: Mapping[results.TrustClaim, int]
    """The trustworthiness claims; empty where the verifier left them out."""
    nonce: str | None
    policies: tuple[str, ...]
    told: Mapping[str, object]
    """Carnet's own extension; empty in results of other verifiers."""


@dataclass(frozen=True, slots=True)
class AttestationResult:
    """A result about at least one attester, read but believed only once its signature is verified.

    It counts from ``issued`` until ``expires``; ``verifier`` made it, with a build. ``stated`` is the overall tier,
    where it has one, and ``nonce`` what the relying party asked with, as it is written.
    """

    issued: datetime
    expires: datetime | None
    verifier: str
    stated: results.Tier | None
    nonce: str | None
    submodules: tuple[Submodule, ...]

    @property
    def tier(self) -> results.Tier:
        """The overall tier, or else the worst of all attesters."""
        return results.worst(each.tier for each in self.submodules) if self.stated is None else self.stated


def parse_claims(payload: bytes) -> AttestationResult:
    """Read the claims of a result. Raises MalformedError if they are something else."""
    claims = _object(_value(payload), "claims")
    if claims.get("eat_profile") != results.PROFILE:
        raise _malformed("eat_profile", f"the profile {results.PROFILE}", claims.get("eat_profile"))
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
    value = bounded_json(payload, RESULT, LARGEST_TOKEN)
    level: list[object] = [value]
    for _ in range(DEEPEST):
        level = [inner for each in level for inner in _inside(each)]
    if level:
        raise MalformedError(RESULT, f"at most {DEEPEST} objects and lists inside each other", "more")
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
    _check_no_better(tier, map(results.tier_of, vector.values()), f"{where}.ear_status")
    policies = claims.get("ear_appraisal_policy_ids", [])
    if not isinstance(policies, list):
        raise _malformed(f"{where}.ear_appraisal_policy_ids", "a list", policies)
    return Submodule(
        name,
        tier,
        vector,
        _nonce(claims, f"{where}."),
        tuple(_text(each, f"{where}.ear_appraisal_policy_ids") for each in policies),
        _object(claims.get(results.EXTENSION, {}), f"{where}.{results.EXTENSION}"),
    )


def _vector(claims: Mapping[str, object], where: str) -> dict[results.TrustClaim, int]:
    name = "ear_trustworthiness_vector"
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
    return MalformedError(f"{RESULT}: {where}", expected, shown)


JWS: Final = "RFC 7515"
EAR: Final = "draft-ietf-rats-ear-03"
LEEWAY: Final = timedelta(seconds=60)
"""How far ahead the clock of a verifier may be."""
TRUSTED: Final = (results.Tier.AFFIRMING, results.Tier.WARNING)


@dataclass(frozen=True, slots=True)
class SignedResult:
    """A token, and the key that should have signed it."""

    token: Token
    key: VerificationKey


def recognise(data: bytes, given: OptionValues) -> SignedResult:
    """Return the token and the key.

    Raises MalformedError if ``data`` is no token; UsageError if no key was given, or none that tokens are signed by.
    """
    pem = given.octets("key")
    if pem is None:
        raise NeedsOptionError("a token needs --key, the public key of the verifier", "key")
    key = verification_key(pem)
    return SignedResult(parse_token(data), key)


def appraise(signed: SignedResult, given: OptionValues, against: AppraisalContext[None]) -> Appraisal:
    """Check the token, then what it says."""
    steps = Checklist()
    steps.passed("parse", f"a token of {len(signed.token.compact)} characters", JWS)
    try:
        try:
            verify(signed.token, signed.key)
        except SignatureError as error:
            steps.refuse("signature", str(error), JWS)
        steps.passed("signature", f"{signed.token.algorithm} by the key given", JWS)
        result = _result(steps, signed.token)
        _check_time(steps, result, against.at)
        _check_nonce(steps, result, given.octets("nonce"))
        # Pass on what the verifier found, so that a refusal of its is a refusal here
        for each in result.submodules:
            for lacking in _texts(each, "not_compared"):
                steps.left_out(f"{each.name}.compared", lacking, EAR, lacking=lacking)
        told = f"{result.tier}: " + "; ".join(_told(each) for each in result.submodules)
        tiers = [result.tier, *(each.tier for each in result.submodules)]
        steps.require(all(tier in TRUSTED for tier in tiers), "status", told, told, EAR)
    except RefusedError:
        return steps.concluded({})
    return steps.concluded(_claims(result))


def _result(steps: Checklist, token: Token) -> AttestationResult:
    try:
        result = parse_claims(token.payload)
    except MalformedError as error:
        steps.refuse("claims", str(error), EAR)
    steps.passed("claims", f"a result by {result.verifier}, about {len(result.submodules)}", EAR)
    return result


def _check_time(steps: Checklist, result: AttestationResult, at: datetime) -> None:
    issued = f"issued {result.issued:{TIME}}"
    steps.require(result.issued - at <= LEEWAY, "issued", issued, f"{issued}, which is after {at:{TIME}}", EAR)
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
    same = hmac.compare_digest(found.encode("utf-8", "surrogatepass"), asked.encode())
    steps.require(same, "nonce", "the nonce asked with", otherwise, EAR)


def _told(submodule: Submodule) -> str:
    failed, reason = submodule.told.get("failed_step"), submodule.told.get("reason")
    why = f" ({failed}: {reason})" if isinstance(failed, str) and submodule.tier is results.Tier.CONTRAINDICATED else ""
    return f"{submodule.name} {submodule.tier}{why}"


def _texts(submodule: Submodule, name: str) -> list[str]:
    value = submodule.told.get(name)
    return [each for each in value if isinstance(each, str)] if isinstance(value, list) else []


def _claims(result: AttestationResult) -> dict[str, object]:
    return {
        "verifier": result.verifier,
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
            }
            for each in result.submodules
        ],
    }


FORMAT: Final[Format[SignedResult, None]] = Format(
    argument="token",
    help="""Check TOKEN, a signed attestation result (EAR), and print it.

    Tokens are what --ear writes. Those of other verifiers are read, too, if they have the profile of
    draft-ietf-rats-ear-03 in JSON and are signed by ES256 or ES384.

    It is accepted if the key signed it, it has the form of its profile, it counts at --at, and the verifier affirms the
    evidence or warns of it. What the verifier refused is refused.
    """,
    options=(
        Option("key", OptionKind.FILE, "The verifier's public key in PEM, on P-256 or P-384; it is needed."),
        Option("nonce", OptionKind.HEX, "What the relying party asked with, from 8 to 64 bytes."),
    ),
    default_policy=None,
    recognise=recognise,
    appraise=appraise,
    anchored=False,
)
"""Attestation results."""
