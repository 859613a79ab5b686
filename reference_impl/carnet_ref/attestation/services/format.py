"""The format ``result``: tokens with results that other attestation services signed.

Carnet sees no evidence here. It checks that the service signed the token, that the token is valid at this time and that
it has the relying party's nonce, and shows its claims under the service's name. Nothing is fetched: the caller gives
the keys, or the root of the service's certificates.

Source: RFC 7515; RFC 7519, sections 4.1 and 7.2; RFC 8725, sections 3.1 to 3.12; RFC 9711, sections 4.1 and 5.
"""

import base64
import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from cryptography import x509

from carnet_ref.attestation import kinds
from carnet_ref.attestation.appraisal import (
    NOT_FRESH,
    POLICY,
    X509_PATH,
    AnchorRole,
    Appraisal,
    Checklist,
    RefusedError,
)
from carnet_ref.attestation.detached_eat import (
    CLAIMS,
    SUBMODULES,
    ServiceResult,
    check_digests,
    parse_claims,
    parse_result,
)
from carnet_ref.attestation.documents import at_pointer
from carnet_ref.attestation.formats import AppraisalContext, Format, Option, OptionKind, OptionValues
from carnet_ref.attestation.jose import (
    SignatureError,
    VerificationKey,
    certificates_of,
    key_of_certificates,
    numeric_date,
    verification_keys,
    verify,
    verify_by_one,
)
from carnet_ref.attestation.services.issuers import (
    POLICY_FORM,
    Claims,
    Policy,
    Service,
    objections,
    service_of,
)
from carnet_ref.crypto.certificate_path import TIME, PathError, check_path, name
from carnet_ref.wire import MalformedError

JWS: Final = "RFC 7515"
JWT: Final = "RFC 7519"
EAT: Final = "RFC 9711"
BEST: Final = "RFC 8725, section 3"
LEEWAY: Final = timedelta(seconds=60)  #: How far ahead the clock of a service may be.
NOT_SEEN: Final = "evidence not seen"
BEGINS: Final = ("iat", "nbf")


@dataclass(frozen=True, slots=True)
class KeyedResult:
    """A result with the keys that may have signed it; there are none if only a root certificate is given."""

    result: ServiceResult
    keys: tuple[VerificationKey, ...]


def recognise(data: bytes, given: OptionValues) -> KeyedResult:
    """Return the result and the keys.

    Raises MalformedError if ``data`` is no token or bundle, or the keys are malformed; UsageError if no key among them
    is for signing tokens.
    """
    if kinds.known_kind(data) == kinds.EAR_TOKEN:
        raise MalformedError("result", "a token of an attestation service", kinds.EAR_TOKEN)
    result, keys = parse_result(data), given.octets("key")
    return KeyedResult(result, () if keys is None else verification_keys(keys))


def describe(signed: KeyedResult) -> Iterator[kinds.Layer]:
    """Yield the document around the token, and the service that it names; its signature is not checked here."""
    if signed.result.found_in is not None:
        yield kinds.Layer(kinds.LayerRole.DOCUMENT, signed.result.found_in)
    service = service_of(parse_claims(signed.result.token))
    if service is not None:
        yield kinds.Layer(kinds.LayerRole.PRODUCT, service.title)


def appraise(signed: KeyedResult, given: OptionValues, against: AppraisalContext[Policy]) -> Appraisal:
    """Check the tokens, then their claims."""
    return _appraised(signed, given, against).found_in(signed.result.found_in)


def _appraised(signed: KeyedResult, given: OptionValues, against: AppraisalContext[Policy]) -> Appraisal:
    steps = Checklist()
    try:
        claims, service = _believed(steps, signed, against)
        issuer = _check_issuer(steps, service, claims, given.text("issuer"))
        told = _with_devices(steps, signed.result, claims)
        steps.left_out("evidence", f"Carnet has not seen it; {service.name} says what it found", lacking=NOT_SEEN)
        devices = told[SUBMODULES] if signed.result.devices else {}
        _check_time(steps, claims, devices.values() if isinstance(devices, dict) else (), against.at)
        _check_nonce(steps, service, told, given.octets("nonce"))
        _check_audience(steps, claims, given.text("audience"))
        found = list(objections(service, told, against.policy))
        against_it = f"{service.name} says: {'; '.join(found)}"
        steps.require(not found, "status", f"{service.name} says nothing against it", against_it)
        _check_claims(steps, told, against.policy)
        steps.require_taken(against.policy)
    except RefusedError:
        return steps.conclude({})
    own = service.issuers.fullmatch(issuer)
    return steps.conclude(_claims(service, told), f"{service.name} ({issuer})" if own else issuer)


def _believed(
    steps: Checklist, signed: KeyedResult, against: AppraisalContext[Policy]
) -> tuple[dict[str, object], Service]:
    """Return the claims of the overall token and its service, after checking the signature."""
    devices = len(signed.result.devices)
    steps.passed("parse", f"a token, and {devices} about single devices" if devices else "a token", JWS)
    anchors = against.anchors.of(AnchorRole.RESULT_SIGNER)
    _check_signature(steps, signed, anchors, against.at)
    with steps.refusing("claims", MalformedError, JWT):
        claims = parse_claims(signed.result.token)
    service = service_of(claims)
    if service is None:
        steps.refuse("service", "it is of no attestation service that Carnet knows", JWT)
    algorithm = signed.result.token.algorithm
    otherwise = f"{service.title} signs by {' or '.join(service.algorithms)}, not by {algorithm}"
    steps.require(algorithm in service.algorithms, "service", service.title, otherwise, BEST)
    return claims, service


def _check_signature(
    steps: Checklist, signed: KeyedResult, anchors: tuple[x509.Certificate, ...], at: datetime
) -> None:
    """Require that one of the given keys signed every token or, without keys, that of a certificate under a root."""
    missing = () if signed.keys else ("key",)
    if not signed.keys and not anchors:
        why = "no key of the service is given (--key), nor a root that its certificates lead to"
        steps.refuse("signature", why, JWS, without=missing)
    with steps.refusing("signature", (SignatureError, MalformedError), JWS, without=missing):
        chain = () if signed.keys else certificates_of(signed.result.token.header)
        key = verify_by_one(signed.result.token, signed.keys or (key_of_certificates(chain),))
        for device in signed.result.devices.values():
            verify(device, key)
    whose = "a key given" if signed.keys else "the key of its certificates"
    steps.passed("signature", f"{signed.result.token.algorithm} by {whose}", JWS, without=missing)
    if not signed.keys:
        _check_chain(steps, chain, anchors, at)


def _check_chain(
    steps: Checklist, chain: tuple[x509.Certificate, ...], anchors: tuple[x509.Certificate, ...], at: datetime
) -> None:
    """Require that the token's certificates are valid and lead to a given root; with given keys nobody needs them."""
    with steps.refusing("chain", PathError, X509_PATH, without=("key",)):
        anchor = check_path(chain, anchors)
    steps.passed("chain", f"leads to {name(anchor)}", X509_PATH, without=("key",))
    steps.require_valid([*chain, anchor], at, without=("key",))


def _check_issuer(steps: Checklist, service: Service, claims: Claims, named: str | None) -> str:
    """Return the issuer; require that it is the one asked for or, if none is, one of the service's own."""
    issuer, shown = claims.get("iss"), ascii(claims.get("iss"))[:120]
    missing = ("issuer",) if named is None else ()
    holds = service.issuers.fullmatch(issuer) if named is None and isinstance(issuer, str) else issuer == named
    if (named is None and not isinstance(issuer, str)) or not holds:
        expected = f"an issuer of {service.title}, or the one that --issuer names" if named is None else ascii(named)
        steps.refuse("issuer", f"{shown}, expected {expected}", JWT, without=missing)
    steps.passed("issuer", shown, JWT, without=missing)
    return str(issuer)


def _with_devices(steps: Checklist, result: ServiceResult, claims: dict[str, object]) -> dict[str, object]:
    """Return the claims; the claims of devices replace the digests of their tokens."""
    digests = claims.get(SUBMODULES)
    if not result.devices:
        if isinstance(digests, dict) and any(isinstance(each, list) for each in digests.values()):
            steps.left_out("devices", "the tokens about devices did not come with it", EAT, lacking="devices not shown")
        return claims
    with steps.refusing("devices", MalformedError, EAT):
        check_digests(claims, result.devices)
        told = {name: parse_claims(each) for name, each in result.devices.items()}
    for device, each in told.items():
        odd = next((name for name in ("iss", "eat_nonce") if each.get(name) != claims.get(name)), None)
        if odd is not None:
            steps.refuse("devices", f"{ascii(device)[:40]} has another {odd} than the token about all", EAT)
    shown = ", ".join(ascii(each)[:40] for each in told)
    steps.passed("devices", f"named by the digests of their tokens: {shown}", EAT)
    return {**claims, SUBMODULES: told}


def _check_time(steps: Checklist, claims: Claims, devices: Iterable[Claims], at: datetime) -> None:
    """Require that the token is valid at a time, and each token about a device if it has times."""
    every = [claims, *devices]
    with steps.refusing("claims", MalformedError, JWT):
        begins = max(
            _moment(claims, "iat"), *(_moment(each, name) for each in every for name in BEGINS if name in each)
        )
        until = min(_moment(claims, "exp"), *(_moment(each, "exp") for each in every if "exp" in each))
    steps.require(begins - at <= LEEWAY, "issued", f"{begins:{TIME}}", f"{begins:{TIME}}, after {at:{TIME}}", JWT)
    counts = f"until {until:{TIME}}"
    steps.require(at < until, "expiry", counts, f"{counts}, not at {at:{TIME}}", JWT)


def _moment(claims: Claims, name: str) -> datetime:
    return numeric_date(claims.get(name), f"{CLAIMS}: {name}", fractions=True)


def _check_nonce(steps: Checklist, service: Service, claims: Claims, nonce: bytes | None) -> None:
    if nonce is None:
        steps.not_requested("nonce", "nonce", EAT, lacking=NOT_FRESH)
        return
    found = _nonces(service, claims)
    same = set(found) & nonce_texts(nonce)
    otherwise = f"it has {', '.join(ascii(each)[:90] for each in found[:3]) or 'no nonce'}, not {nonce.hex()}"
    steps.require(bool(same), "nonce", "the nonce asked with", otherwise, EAT)


def _nonces(service: Service, claims: Claims) -> list[str]:
    """Return every nonce in claims, in the service's own encoding."""
    found: list[str] = []
    for path in service.nonces:
        value: object = claims
        for each in path:
            value = value.get(each) if isinstance(value, dict) else None
        several = value if isinstance(value, list) else [value]
        found += [each for each in several if isinstance(each, str)]
    return found


def nonce_texts(nonce: bytes) -> frozenset[str]:
    """Return the encodings that services use for a nonce: hexadecimal, base64 of both alphabets, or plain text."""
    encodings = [base64.b64encode(nonce).decode(), base64.urlsafe_b64encode(nonce).decode()]
    text = [nonce.decode()] if nonce.isascii() else []
    return frozenset({nonce.hex(), *encodings, *(each.rstrip("=") for each in encodings), *text})


def _check_audience(steps: Checklist, claims: Claims, audience: str | None) -> None:
    stated = claims.get("aud")
    several = stated if isinstance(stated, list) else [] if stated is None else [stated]
    if audience is None:
        lacking = "audience not compared" if several else ""
        steps.not_requested("audience", "audience", JWT, lacking=lacking)
        return
    otherwise = f"it is for {', '.join(ascii(each)[:80] for each in several[:3]) or 'nobody in particular'}"
    steps.require(audience in several, "audience", ascii(audience), otherwise, JWT)


def _check_claims(steps: Checklist, claims: Claims, policy: Policy) -> None:
    if not policy.claims:
        steps.not_requested("compared", POLICY, EAT, lacking="claims not compared")
        return
    for pointer, accepted in policy.claims.items():
        try:
            value = at_pointer(claims, pointer)
        except LookupError:
            steps.refuse("compared", f"there is no claim {ascii(pointer)[:100]}", EAT)
        if json.dumps(value, sort_keys=True) not in {json.dumps(each, sort_keys=True) for each in accepted}:
            shown = f"{ascii(pointer)[:100]} is {ascii(value)[:100]}"
            steps.refuse("compared", f"{shown}, which the policy does not accept", EAT)
    steps.passed("compared", f"the policy accepts {', '.join(map(ascii, policy.claims))}"[:200], EAT)


def _claims(service: Service, told: Mapping[str, object]) -> dict[str, object]:
    nonces = _nonces(service, told)
    return {
        "service": service.title,
        "issuer": told.get("iss"),
        "issued": f"{_moment(told, 'iat'):{TIME}}",
        "expires": f"{_moment(told, 'exp'):{TIME}}",
        "nonce": nonces[0] if nonces else None,
        "statements": dict(told),
    }


#: Results of attestation services.
FORMAT: Final = Format(
    argument="token",
    help="""Check TOKEN, a result that an attestation service signed, and print what the service says.

    Tokens of NVIDIA's remote attestation service (one, or the bundle of one about all devices and one about each), of
    Google Cloud Attestation (Confidential Space), of Intel Trust Authority and of Microsoft Azure Attestation are read.

    It is accepted as the service's result, which is no appraisal by Carnet: Carnet has not seen the evidence. The
    signature has to hold by a key that is given, the issuer has to be the service or the one that --issuer names, it
    has to count at --at, and the service must not refuse the evidence, call it debugged or call its TCB out of date.
    Nothing is fetched: get the keys from the service's own address, by a way that you trust.
    """,
    options=(
        Option("key", OptionKind.FILE, "The service's public keys: a JSON Web Key or a set of them, or one in PEM."),
        Option("issuer", OptionKind.TEXT, "The issuer (iss) that is expected, instead of the service's own."),
        Option("audience", OptionKind.TEXT, "Whom the token has to be for (aud)."),
        Option("nonce", OptionKind.HEX, "What the relying party asked with; of a text, its bytes."),
    ),
    policy=POLICY_FORM,
    recognise=recognise,
    appraise=appraise,
    describe=describe,
)
