"""CoRIM: a manifest with reference values and attestation keys, signed or not, read strictly.

Only what can be compared is read. A condition that is left unread would make an acceptance wider, so an environment, a
measurement or a key that says more than is understood here is refused. Triples other than reference values and
attestation keys mean nothing here.

Source: draft-ietf-rats-corim, commit 0b855af9 (August 2026), ``corim-map``, ``concise-mid-tag``, ``triples-map``,
``measurement-values-map`` and ``protected-corim-header-map``; IANA, Named Information Hash Algorithm Registry.
"""

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

from carnet_ref.attestation.cose import SIGN1, ClaimMap, Sign1, Tagged, parse_cbor, parse_sign1
from carnet_ref.attestation.documents import decode
from carnet_ref.attestation.kinds import kind_of
from carnet_ref.attestation.tpm2 import PublicKey, parse_key
from carnet_ref.crypto.certificate_path import TIME
from carnet_ref.wire import MalformedError

WHAT: Final = "CoRIM"
UNSIGNED, COMID, TIME_TAG, URI, UEID, PKIX_KEY, OCTETS, MASKED = 501, 506, 1, 32, 550, 554, 560, 563
#: The tags that are read; a UUID (37) and an object identifier (111) only where they mean nothing here.
TAGS: Final = frozenset({UNSIGNED, COMID, TIME_TAG, URI, UEID, PKIX_KEY, OCTETS, MASKED, SIGN1, 37, 111})
MEDIA_TYPE: Final = "application/rim+cbor"
KID, META, CWT_CLAIMS = 4, 8, 15  #: Parameters of a signed manifest's header.
#: Claims of a token in a header. Source: RFC 8392, sections 3.1.4 and 3.1.5; RFC 9597, section 2.
EXPIRES, BEGINS = 4, 5
LARGEST: Final = 1 << 20
MOST_RECORDS: Final = 1 << 12
HASH_NAMES: Final = {1: "sha-256", 7: "sha-384", 8: "sha-512"}
LAST_SECOND: Final = 253402300799  #: The end of the year 9999.


@dataclass(frozen=True, slots=True)
class Environment:
    """The subject of a record: the id of its class and, for a single instance, the instance's id."""

    class_id: bytes
    instance: bytes | None


@dataclass(frozen=True, slots=True)
class ReferenceValue:
    """An expected measurement.

    ``raw`` is a value with the mask of the bits of it that count; ``keys`` are what the measured element names as its
    signers.
    """

    key: str
    digests: tuple[tuple[str, bytes], ...]
    raw: tuple[bytes, bytes] | None
    name: str | None
    version: str | None
    keys: tuple[bytes, ...]


@dataclass(frozen=True, slots=True)
class ReferenceRecord:
    """The reference values for an environment."""

    environment: Environment
    values: tuple[ReferenceValue, ...]


@dataclass(frozen=True, slots=True)
class KeyRecord:
    """The key that signs evidence of an environment."""

    environment: Environment
    key: PublicKey


@dataclass(frozen=True, slots=True)
class Corim:
    """A manifest: its signature (if any), profile, validity period and records."""

    signed: Sign1 | None
    profile: str
    not_before: datetime | None
    not_after: datetime | None
    references: tuple[ReferenceRecord, ...]
    keys: tuple[KeyRecord, ...]

    def counts(self, at: datetime) -> bool:
        """Return whether the manifest is valid at ``at``."""
        return (self.not_before is None or self.not_before <= at) and (self.not_after is None or at <= self.not_after)

    @property
    def period(self) -> str:
        """The validity period, in words."""
        start, end = ("any time" if each is None else f"{each:{TIME}}" for each in (self.not_before, self.not_after))
        return f"{start} to {end}"


def parse_corim(data: bytes) -> Corim:
    """Read a manifest: raw, hexadecimal or base64.

    Raises MalformedError if it is something else, or says what is not understood; UsageError without the library for
    CBOR.
    """
    raw = decode(data, WHAT)
    if raw[:2] != b"\xd2\x84" and raw[:3] != b"\xd9\x01\xf5":
        raise MalformedError(WHAT, "a manifest of reference values", kind_of(data))
    value = parse_cbor(raw, WHAT, tags=TAGS, largest=LARGEST)
    if isinstance(value, Tagged) and value.tag == SIGN1:
        return _signed(parse_sign1(value, WHAT, further=frozenset({KID, META, CWT_CLAIMS})))
    return _manifest(value, None)


def _signed(signed: Sign1) -> Corim:
    header = ClaimMap(parse_cbor(signed.protected, WHAT, tags=TAGS), f"{WHAT}: protected header")
    if signed.content_type != MEDIA_TYPE:
        raise MalformedError(WHAT, f"a payload of {MEDIA_TYPE}", ascii(signed.content_type)[:80])
    manifest = _manifest(parse_cbor(signed.payload, WHAT, tags=TAGS, largest=LARGEST), signed)
    periods = [(manifest.not_before, manifest.not_after)]
    if header.has(META):
        meta = ClaimMap(parse_cbor(header.octets(META, range(LARGEST)), WHAT, tags=TAGS), f"{WHAT}: meta")
        periods.append(_validity(meta, 1))
    if header.has(CWT_CLAIMS):
        claims = header.map(CWT_CLAIMS)
        start, end = (_numeric_date(claims, name) for name in (BEGINS, EXPIRES))
        periods.append((start, end))
    start = max((start for start, _ in periods if start is not None), default=None)
    end = min((end for _, end in periods if end is not None), default=None)
    return Corim(signed, manifest.profile, start, end, manifest.references, manifest.keys)


def _numeric_date(claims: ClaimMap, name: int) -> datetime | None:
    """Return a moment among the claims of a token, which have times without their tag."""
    return _moment(Tagged(TIME_TAG, claims.value(name))) if claims.has(name) else None


def _manifest(value: object, signed: Sign1 | None) -> Corim:
    manifest = ClaimMap(_untagged(value, UNSIGNED, "a manifest"), WHAT)
    manifest.require_known(frozenset(range(6)))
    profile = _untagged(manifest.value(3), URI, "a profile by its URI")
    if not isinstance(profile, str):
        raise MalformedError(WHAT, "a profile by its URI", type(profile).__name__)
    references: list[ReferenceRecord] = []
    keys: list[KeyRecord] = []
    for tag in manifest.values(1):
        encoded = _untagged(tag, COMID, "a CoMID")
        if not isinstance(encoded, bytes):
            raise MalformedError(WHAT, "a CoMID as bytes", type(encoded).__name__)
        module = ClaimMap(parse_cbor(encoded, "CoMID", tags=TAGS, largest=LARGEST), "CoMID")
        module.require_known(frozenset(range(5)))
        triples = module.map(4)
        references += map(_reference, triples.values(0) if triples.has(0) else ())
        keys += map(_key, triples.values(3) if triples.has(3) else ())
    if not 1 <= len(references) + len(keys) <= MOST_RECORDS:
        raise MalformedError(WHAT, f"1 to {MOST_RECORDS} reference values and keys", f"{len(references) + len(keys)}")
    return Corim(signed, profile, *_validity(manifest, 4), tuple(references), tuple(keys))


def _validity(claims: ClaimMap, name: int) -> tuple[datetime | None, datetime | None]:
    if not claims.has(name):
        return None, None
    period = claims.map(name)
    return _moment(period.value(0)) if period.has(0) else None, _moment(period.value(1))


def _moment(value: object) -> datetime:
    seconds = _untagged(value, TIME_TAG, "a time")
    if type(seconds) is not int or not 0 <= seconds <= LAST_SECOND:
        raise MalformedError(WHAT, "a time in whole seconds", ascii(seconds)[:80])
    return datetime.fromtimestamp(seconds, UTC)


def _untagged(value: object, tag: int, expected: str) -> object:
    if not isinstance(value, Tagged) or value.tag != tag:
        raise MalformedError(WHAT, f"{expected} (tag {tag})", ascii(value)[:80])
    return value.value


def _octets(value: object, tag: int, expected: str) -> bytes:
    octets = _untagged(value, tag, expected)
    if not isinstance(octets, bytes):
        raise MalformedError(WHAT, f"{expected} as bytes", type(octets).__name__)
    return octets


def _record(value: object) -> tuple[Environment, list[object]]:
    match value:
        case [environment, list() as each] if each:
            return _environment(ClaimMap(environment, "environment")), each
    raise MalformedError(WHAT, "a record of an environment and a list, and nothing else", ascii(value)[:80])


def _environment(claims: ClaimMap) -> Environment:
    claims.require_known(frozenset({0, 1}))
    class_map = claims.map(0)
    class_map.require_known(frozenset({0}))
    instance = _octets(claims.value(1), UEID, "an instance id") if claims.has(1) else None
    return Environment(_octets(class_map.value(0), OCTETS, "a class id"), instance)


def _reference(value: object) -> ReferenceRecord:
    environment, measurements = _record(value)
    return ReferenceRecord(environment, tuple(_value(ClaimMap(each, "reference value")) for each in measurements))


def _value(measurement: ClaimMap) -> ReferenceValue:
    measurement.require_known(frozenset({0, 1}))
    values = measurement.map(1)
    values.require_known(frozenset({0, 2, 4, 11, 13}))
    version = values.map(0) if values.has(0) else None
    if version is not None:
        version.require_known(frozenset({0}))
    return ReferenceValue(
        measurement.text(0),
        tuple(map(_digest, values.values(2))) if values.has(2) else (),
        _raw(values.value(4)) if values.has(4) else None,
        values.text(11) if values.has(11) else None,
        None if version is None else version.text(0),
        tuple(_octets(each, OCTETS, "a key's id") for each in values.values(13)) if values.has(13) else (),
    )


def _digest(value: object) -> tuple[str, bytes]:
    match value:
        case [int() | str() as algorithm, bytes() as digest]:
            name = HASH_NAMES.get(algorithm) if isinstance(algorithm, int) else algorithm
            if name in HASH_NAMES.values() and algorithm is not True:
                return f"{name}", digest
    raise MalformedError(WHAT, f"a digest by {', '.join(HASH_NAMES.values())}", ascii(value)[:80])


def _raw(value: object) -> tuple[bytes, bytes]:
    match value:
        case Tagged(tag=560, value=bytes() as octets):
            return octets, b"\xff" * len(octets)
        case Tagged(tag=563, value=[bytes() as octets, bytes() as mask]) if len(octets) == len(mask):
            return octets, mask
    raise MalformedError(WHAT, "bytes, with a mask or without", ascii(value)[:80])


def _key(value: object) -> KeyRecord:
    environment, keys = _record(value)
    text = _untagged(keys[0], PKIX_KEY, "a key")
    key = parse_key(text.encode()).public if isinstance(text, str) else None
    if len(keys) != 1 or key is None:
        raise MalformedError(WHAT, "one public key in PEM", f"{len(keys)} of them")
    return KeyRecord(environment, key)
