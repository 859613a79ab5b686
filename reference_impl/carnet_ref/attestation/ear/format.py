"""The format of signed attestation results: ``carnet attest ear``.

A result is no evidence, and is checked in the same way: numbered steps, a verdict, and what an acceptance lacks.
"""

from __future__ import annotations

import hmac
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from carnet_command.errors import UsageError
from carnet_ref.attestation.appraisal import NOT_FRESH, Appraisal, Checklist, RefusedError
from carnet_ref.attestation.ear.claims import AttestationResult, Submodule, parse_claims
from carnet_ref.attestation.ear.keys import VerificationKey, verification_key
from carnet_ref.attestation.ear.token import SignatureError, Token, parse_token, verify
from carnet_ref.attestation.formats import Against, Format, Given, Option, OptionKind
from carnet_ref.attestation.results.result import encoded_nonce
from carnet_ref.attestation.results.trust import Tier
from carnet_ref.wire.reader import MalformedError

JWS: Final = "RFC 7515"
EAR: Final = "draft-ietf-rats-ear-03"
LEEWAY: Final = timedelta(seconds=60)
"""How far ahead the clock of a verifier may be."""
TIME: Final = "%Y-%m-%dT%H:%M:%SZ"
TRUSTED: Final = (Tier.AFFIRMING, Tier.WARNING)


@dataclass(frozen=True, slots=True)
class SignedResult:
    """A token, and the key that should have signed it."""

    token: Token
    """The token."""
    key: VerificationKey
    """The key of a verifier that is trusted."""


def recognise(data: bytes, given: Given) -> SignedResult:
    """Return the token and the key.

    Raises:
        MalformedError: ``data`` is no token.
        UsageError: no key was given, or none that tokens are signed by.
    """
    pem = given.octets("key")
    if pem is None:
        raise UsageError("a token needs --key, the public key of the verifier")
    key = verification_key(pem)
    return SignedResult(parse_token(data), key)


def appraise(signed: SignedResult, given: Given, against: Against[None]) -> Appraisal:
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
        _check_tiers(steps, result)
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
    found, asked = result.nonce or "", encoded_nonce(nonce)
    otherwise = f"the result has {found or 'no nonce'}, not {asked}"
    same = hmac.compare_digest(found.encode("utf-8", "surrogatepass"), asked.encode())
    steps.require(same, "nonce", "the nonce asked with", otherwise, EAR)


def _check_tiers(steps: Checklist, result: AttestationResult) -> None:
    """Pass on what the verifier found, so that a refusal of its is a refusal here."""
    for each in result.submodules:
        for lacking in _texts(each, "not_compared"):
            steps.left_out(f"{each.name}.compared", lacking, EAR, lacking=lacking)
    told = f"{result.tier}: " + "; ".join(_told(each) for each in result.submodules)
    tiers = [result.tier, *(each.tier for each in result.submodules)]
    steps.require(all(tier in TRUSTED for tier in tiers), "status", told, told, EAR)


def _told(submodule: Submodule) -> str:
    failed, reason = submodule.told.get("failed_step"), submodule.told.get("reason")
    why = f" ({failed}: {reason})" if isinstance(failed, str) and submodule.tier is Tier.CONTRAINDICATED else ""
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
        "attesters": [_attester(each) for each in result.submodules],
    }


def _attester(submodule: Submodule) -> dict[str, object]:
    return {
        "name": submodule.name,
        "status": submodule.tier.value,
        "vector": {claim.value: value for claim, value in submodule.vector.items()},
        "nonce": submodule.nonce,
        "policies": list(submodule.policies),
        "claims": submodule.told.get("claims"),
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
