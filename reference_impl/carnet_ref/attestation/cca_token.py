"""CCA tokens: the platform's, and that of a realm whose key the platform vouches for; read strictly.

Two forms of the collection are read: tag 399 with two tokens, and a collection of conceptual messages (tag 907) with
two tokens and their type. Two profiles of each token are read: the first, in which a realm's key is a bare point, and
the later one, in which it is a COSE_Key. Claims beyond these, as EAT allows, are named and mean nothing here.

Source: draft-ffm-rats-cca-token-04, sections "CCA Claims", "Token Binding" and "Token Encoding and Signing"; Arm
DEN0137 1.0 (RMM), section A7.2 (the first profile); veraison/ccatoken, commit 4f1244eb, ``evidence.go`` (both forms);
RFC 9053, section 7.1.1 (EC2 keys).
"""

from dataclasses import dataclass
from enum import Enum
from typing import Final

from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec

from carnet_ref.attestation.cose import SIGN1, ClaimMap, Sign1, Tagged, parse_cbor, parse_sign1
from carnet_ref.attestation.documents import decode
from carnet_ref.attestation.kinds import kind_of
from carnet_ref.wire import MalformedError

WHAT: Final = "CCA token"
COLLECTION, MESSAGES = 399, 907  #: The tags of the two forms of a collection.
PLATFORM, REALM = 44234, 44241
#: The type of a token in a collection of messages: application/eat+cwt. Source: IANA, CoAP Content-Formats.
EAT_CWT: Final = 263
LARGEST: Final = 1 << 16
HASH_SIZES: Final = frozenset({32, 48, 64})
HASHES: Final = {"sha-256": hashes.SHA256(), "sha-384": hashes.SHA384(), "sha-512": hashes.SHA512()}
REALM_CHALLENGE_BYTES: Final = 64
EXTENSIBLE: Final = 4
#: A measurement of a realm has the size of its hash, or that of the whole register that it is kept in.
REGISTER_BYTES: Final = 64
MOST_COMPONENTS: Final = 64
CHALLENGE, INSTANCE_ID, PROFILE = 10, 256, 265
LIFECYCLE, IMPLEMENTATION_ID, COMPONENTS, SERVICE, CONFIG, HASH_NAME = 2395, 2396, 2399, 2400, 2401, 2402
PERSONALIZATION, REALM_HASH, REALM_KEY, INITIAL = 44235, 44236, 44237, 44238
EXTENDED, KEY_HASH, MEC_POLICY = 44239, 44240, 44241
PLATFORM_CLAIMS: Final = frozenset(
    {CHALLENGE, INSTANCE_ID, PROFILE, LIFECYCLE, IMPLEMENTATION_ID, COMPONENTS, SERVICE, CONFIG, HASH_NAME}
)
REALM_CLAIMS: Final = frozenset(
    {CHALLENGE, PROFILE, PERSONALIZATION, REALM_HASH, REALM_KEY, INITIAL, EXTENDED, KEY_HASH, MEC_POLICY}
)
PLATFORM_PROFILES: Final = ("tag:arm.com,2023:cca_platform#1.0.0", "http://arm.com/CCA-SSD/1.0.0")
REALM_PROFILE: Final = "tag:arm.com,2023:realm#1.0.0"
#: Curves by their numbers in COSE. Source: RFC 9053, table 18.
CURVES: Final = {1: ec.SECP256R1(), 2: ec.SECP384R1(), 3: ec.SECP521R1()}


class Lifecycle(Enum):
    """The states of a platform, by the upper byte of the claim."""

    UNKNOWN = 0x00
    ASSEMBLY_AND_TEST = 0x10
    PROVISIONING = 0x20
    SECURED = 0x30
    NON_RECOVERABLE_DEBUG = 0x40
    RECOVERABLE_DEBUG = 0x50
    DECOMMISSIONED = 0x60

    @property
    def words(self) -> str:
        """The state in words."""
        return self.name.lower().replace("_", " ")


@dataclass(frozen=True, slots=True)
class Component:
    """A component of the platform's software: its measurement and hash algorithm, its signer, and its name."""

    hash_name: str
    measurement: bytes
    signer_id: bytes
    kind: str | None
    version: str | None


@dataclass(frozen=True, slots=True)
class PlatformToken:
    """The claims of a platform, with the challenge that binds a realm's key."""

    signed: Sign1
    profile: str
    challenge: bytes
    implementation_id: bytes
    instance_id: bytes
    config: bytes
    lifecycle: Lifecycle
    components: tuple[Component, ...]
    service: str | None
    unknown: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class RealmToken:
    """The claims about a realm, with its key, parsed and as encoded."""

    signed: Sign1
    profile: str | None
    hash_name: str
    challenge: bytes
    personalization: bytes
    initial_measurement: bytes
    extensible_measurements: tuple[bytes, ...]
    key: ec.EllipticCurvePublicKey
    key_encoded: bytes
    key_hash: str
    unknown: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class CcaToken:
    """The tokens of a platform and of a realm on it."""

    platform: PlatformToken
    realm: RealmToken


def parse_token(data: bytes) -> CcaToken:
    """Read a token: raw, hexadecimal or base64.

    Raises MalformedError if it is something else; UsageError without the library for CBOR.
    """
    raw = decode(data, WHAT)
    if raw[:1] != b"\xd9":
        raise MalformedError(WHAT, "a CCA attestation token", kind_of(data))
    value = parse_cbor(raw, WHAT, tags=frozenset({COLLECTION, MESSAGES}), largest=LARGEST)
    if not isinstance(value, Tagged):
        raise MalformedError(WHAT, f"tag {COLLECTION} or {MESSAGES}", type(value).__name__)
    collection = ClaimMap(value.value, WHAT)
    collection.require_known(frozenset({PLATFORM, REALM}))
    platform, realm = (_signed(collection, name, value.tag) for name in (PLATFORM, REALM))
    return CcaToken(_platform(platform), _realm(realm))


def _signed(collection: ClaimMap, name: int, tag: int) -> Sign1:
    if tag == COLLECTION:
        encoded: object = collection.octets(name, range(1, LARGEST))
    else:
        kind, *rest = collection.values(name) or (None,)
        if kind != EAT_CWT or len(rest) != 1:
            raise MalformedError(WHAT, f"a message of type {EAT_CWT} and nothing else", ascii(kind)[:80])
        encoded = rest[0]
    if not isinstance(encoded, bytes):
        raise MalformedError(WHAT, "a token as a byte string", type(encoded).__name__)
    value = parse_cbor(encoded, WHAT, tags=frozenset({SIGN1}))
    if not isinstance(value, Tagged):
        raise MalformedError(WHAT, "a tagged COSE_Sign1", type(value).__name__)
    return parse_sign1(value, WHAT)


def _claims(signed: Sign1, what: str, known: frozenset[int]) -> tuple[ClaimMap, tuple[str, ...]]:
    claims = ClaimMap(parse_cbor(signed.payload, what), what)
    return claims, tuple(f"{name}"[:40] for name in claims.names() if name not in known)


def _platform(signed: Sign1) -> PlatformToken:
    claims, unknown = _claims(signed, "platform token", PLATFORM_CLAIMS)
    profile, state = claims.text(PROFILE), claims.number(LIFECYCLE)
    if profile not in PLATFORM_PROFILES:
        raise MalformedError("platform token", f"the profile {' or '.join(PLATFORM_PROFILES)}", ascii(profile)[:80])
    if state > 0xFFFF or state >> 8 not in {each.value for each in Lifecycle}:
        raise MalformedError("platform token", "a known state of the lifecycle", f"{state:#x}"[:40])
    components = claims.values(COMPONENTS)
    if not 1 <= len(components) <= MOST_COMPONENTS:
        raise MalformedError("platform token", f"1 to {MOST_COMPONENTS} software components", f"{len(components)}")
    instance_id = claims.octets(INSTANCE_ID, frozenset({33}))
    if instance_id[0] != 1:
        raise MalformedError("platform token", "an instance id that begins with 01", instance_id[:1].hex())
    return PlatformToken(
        signed,
        profile,
        claims.octets(CHALLENGE, HASH_SIZES),
        claims.octets(IMPLEMENTATION_ID, frozenset({32})),
        instance_id,
        claims.octets(CONFIG, range(1 << 12)),
        Lifecycle(state >> 8),
        tuple(_component(each, claims.text(HASH_NAME)) for each in components),
        claims.text(SERVICE) if claims.has(SERVICE) else None,
        unknown,
    )


def _component(value: object, hash_name: str) -> Component:
    component = ClaimMap(value, "software component")
    name = component.text(6) if component.has(6) else hash_name
    if name not in HASHES:
        raise MalformedError("software component", f"a hash out of {', '.join(HASHES)}", ascii(name)[:80])
    kind, version = (component.text(each) if component.has(each) else None for each in (1, 4))
    size = frozenset({HASHES[name].digest_size})
    return Component(name, component.octets(2, size), component.octets(5, HASH_SIZES), kind, version)


def _realm(signed: Sign1) -> RealmToken:
    claims, unknown = _claims(signed, "realm token", REALM_CLAIMS)
    profile = claims.text(PROFILE) if claims.has(PROFILE) else None
    if profile not in (None, REALM_PROFILE):
        raise MalformedError("realm token", f"the profile {REALM_PROFILE}, or none", ascii(profile)[:80])
    names = tuple(claims.text(name) for name in (REALM_HASH, KEY_HASH))
    other = next((name for name in names if name not in HASHES), None)
    if other is not None:
        raise MalformedError("realm token", f"hashes out of {', '.join(HASHES)}", ascii(other)[:80])
    initial = claims.octets(INITIAL, frozenset({HASHES[names[0]].digest_size, REGISTER_BYTES}))
    size, extended = len(initial), claims.values(EXTENDED)
    if len(extended) != EXTENSIBLE or not all(isinstance(each, bytes) and len(each) == size for each in extended):
        raise MalformedError("realm token", f"{EXTENSIBLE} extensible measurements of {size} bytes", "others")
    encoded = claims.octets(REALM_KEY, range(1, 1 << 10))
    return RealmToken(
        signed,
        profile,
        names[0],
        claims.octets(CHALLENGE, frozenset({REALM_CHALLENGE_BYTES})),
        claims.octets(PERSONALIZATION, frozenset({64})),
        initial,
        tuple(each for each in extended if isinstance(each, bytes)),
        _point(ec.SECP384R1(), encoded) if profile is None else _cose_key(encoded),
        encoded,
        names[1],
        unknown,
    )


def _point(curve: ec.EllipticCurve, encoded: bytes) -> ec.EllipticCurvePublicKey:
    half = (curve.key_size + 7) // 8
    if len(encoded) != 1 + 2 * half or encoded[:1] != b"\4":
        raise MalformedError("realm token", f"a point of {curve.name}, uncompressed", f"{len(encoded)} bytes")
    try:
        return ec.EllipticCurvePublicKey.from_encoded_point(curve, encoded)
    except ValueError:
        raise MalformedError("realm token", f"a point of {curve.name}", "another") from None


def _cose_key(encoded: bytes) -> ec.EllipticCurvePublicKey:
    key = ClaimMap(parse_cbor(encoded, "realm key"), "realm key")
    curve = CURVES.get(key.number(-1))
    if key.number(1) != 2 or curve is None:
        raise MalformedError("realm key", "one on P-256, P-384 or P-521", f"{key.number(-1)}"[:40])
    half = frozenset({(curve.key_size + 7) // 8})
    return _point(curve, b"\4" + key.octets(-2, half) + key.octets(-3, half))
