"""Signed tokens in their compact form, and the keys that they are signed by and verified with.

A token is three parts of base64 with dots between them. Readers of tokens differ in what they overlook. So one form
alone is taken: base64 without padding and without bits that stand for nothing. A header may name the algorithm, the
type and the key, and may bring hints where to find the key, which are passed over. A header that asks for more, such as
``crit`` or ``b64``, is refused. The algorithm is the key's own; what a header says only has to agree.

Source: RFC 7515, sections 3, 4 and 5; RFC 7517, sections 4 and 5; RFC 7518, sections 3.3, 3.4 and 3.5; RFC 8725,
sections 3.1, 3.2 and 3.11.
"""

import base64
import binascii
import json
import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final

from cryptography import x509
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.hazmat.primitives.serialization import load_pem_private_key, load_pem_public_key

from carnet_command.errors import UsageError
from carnet_ref.crypto.certificate_path import own_warning_filters, parse_der_chain
from carnet_ref.wire import MalformedError, bounded_json, json_value

PublicKey = ec.EllipticCurvePublicKey | rsa.RSAPublicKey
#: The algorithm of each curve. Source: RFC 7518, section 3.4.
ALGORITHMS: Final = {"secp256r1": "ES256", "secp384r1": "ES384"}
#: The algorithms of RSA keys. Source: RFC 7518, sections 3.3 and 3.5.
RSA_ALGORITHMS: Final = ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512")
#: Sizes of RSA keys; the upper end bounds what one verification costs. Source: RFC 7518, section 3.3.
RSA_BITS: Final = range(2048, 8193)
CURVES: Final = "an elliptic curve key on P-256 or P-384"


@dataclass(frozen=True, slots=True)
class SigningKey:
    """A key for signing tokens, on P-256 or P-384, with its algorithm."""

    key: ec.EllipticCurvePrivateKey
    algorithm: str


@dataclass(frozen=True, slots=True)
class VerificationKey:
    """A key for verifying tokens, with the algorithms it may be used for.

    ``name`` is the key's id and ``chain`` its certificates, the key's own first, where it came with them.
    """

    key: PublicKey
    algorithms: tuple[str, ...]
    name: str | None = None
    chain: tuple[x509.Certificate, ...] = ()


def signing_key(pem: bytes) -> SigningKey:
    """Return the private key in PEM. Raises UsageError if it is malformed, encrypted or of another kind."""
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
    """Return the public key in PEM. Raises UsageError if it is malformed or not on P-256 or P-384."""
    try:
        key = load_pem_public_key(pem)
    except (ValueError, UnsupportedAlgorithm):
        raise UsageError(f"expected a public key in PEM, {CURVES}") from None
    if not isinstance(key, ec.EllipticCurvePublicKey):
        raise UsageError(f"expected {CURVES}, not {type(key).__name__}")
    return VerificationKey(key, (_algorithm_of(key.curve),))


def _algorithm_of(curve: ec.EllipticCurve) -> str:
    if curve.name not in ALGORITHMS:
        raise UsageError(f"expected {CURVES}, not on {curve.name}")
    return ALGORITHMS[curve.name]


KEY_SET: Final = "set of keys (JWKS)"
LARGEST_KEY_SET: Final = 1 << 18
MOST_KEYS: Final = 64
KEYS_WANTED: Final = "on P-256 or P-384, or RSA of 2048 to 8192 bits"


def verification_keys(data: bytes) -> tuple[VerificationKey, ...]:
    """Return the public keys in a file: one in PEM, or a JSON Web Key or a set of those.

    Keys of a set that sign no tokens, or by algorithms that are not accepted here, are passed over.

    Raises UsageError if there is no key left; MalformedError if a set has no such form.
    """
    if data.lstrip()[:1] != b"{":
        return (_key_in_pem(data),)
    value = bounded_json(data, KEY_SET, LARGEST_KEY_SET)
    assert isinstance(value, dict), "text that begins like an object is one"
    several = value.get("keys", [value])
    if not isinstance(several, list) or len(several) > MOST_KEYS:
        raise MalformedError(KEY_SET, f"a list of at most {MOST_KEYS} keys", type(several).__name__)
    keys = tuple(key for each in several if (key := _key_of_set(each)) is not None)
    if not keys:
        raise UsageError(f"the {KEY_SET} has no key that signs tokens, {KEYS_WANTED}")
    return keys


def _key_in_pem(pem: bytes) -> VerificationKey:
    try:
        key = load_pem_public_key(pem)
    except (ValueError, UnsupportedAlgorithm):
        raise UsageError(f"expected a public key in PEM, or a {KEY_SET}") from None
    algorithms = _algorithms(key)
    if not algorithms or not isinstance(key, PublicKey):
        raise UsageError(f"expected a public key {KEYS_WANTED}, not {type(key).__name__}")
    return VerificationKey(key, algorithms)


def _algorithms(key: object) -> tuple[str, ...]:
    """Return the algorithms by which a key may sign tokens; none where it may not sign any."""
    match key:
        case ec.EllipticCurvePublicKey() if key.curve.name in ALGORITHMS:
            return (ALGORITHMS[key.curve.name],)
        case rsa.RSAPublicKey() if key.key_size in RSA_BITS:
            return RSA_ALGORITHMS
        case _:
            return ()


def _key_of_set(value: object) -> VerificationKey | None:
    if not isinstance(value, dict):
        raise MalformedError(KEY_SET, "objects as keys", type(value).__name__)
    operations = value.get("key_ops", ["verify"])
    if not isinstance(operations, list):
        raise MalformedError(KEY_SET, "key_ops to be a list", type(operations).__name__)
    verifies = value.get("use", "sig") == "sig" and "verify" in operations
    if value.get("kty") not in ("EC", "RSA") or "d" in value or not verifies:
        return None
    name = value.get("kid")
    if name is not None and not isinstance(name, str):
        raise MalformedError(KEY_SET, "kid to be text", type(name).__name__)
    chain = certificates_of(value)
    key = _public_key(value) if {"n", "x"} & set(value) else chain[0].public_key() if chain else None
    if chain and chain[0].public_key() != key:
        raise MalformedError(KEY_SET, "certificates of the key itself", "those of another key")
    stated = value.get("alg")
    algorithms = tuple(each for each in _algorithms(key) if stated in (None, each))
    return VerificationKey(key, algorithms, name, chain) if algorithms and isinstance(key, PublicKey) else None


def key_of_certificates(chain: Sequence[x509.Certificate]) -> VerificationKey:
    """Return the public key of the first certificate. Raises SignatureError if it cannot sign tokens."""
    if not chain:
        raise SignatureError("no key is given, and the token brings no certificates (x5c)")
    key = chain[0].public_key()
    algorithms = _algorithms(key)
    if not algorithms or not isinstance(key, PublicKey):
        raise SignatureError(f"the certificate is of a key that is not {KEYS_WANTED}")
    return VerificationKey(key, algorithms)


def _public_key(value: Mapping[str, object]) -> object:
    _, jwk, errors = _library()
    needed = {name: value[name] for name in ("kty", "crv", "x", "y", "n", "e") if name in value}
    try:
        with own_warning_filters():
            warnings.simplefilter("ignore", errors.SecurityWarning)  # keys that are too small are passed over below
            return (jwk.RSAKey if value["kty"] == "RSA" else jwk.ECKey).import_key(needed).public_key
    except (errors.JoseError, ValueError, TypeError, KeyError, UnsupportedAlgorithm):
        raise MalformedError(KEY_SET, "keys that can be read", "one that cannot") from None


def certificates_of(value: Mapping[str, object]) -> tuple[x509.Certificate, ...]:
    """Return the certificates (``x5c``) in a key, in a header, or in the key that a header has; perhaps none.

    Raises MalformedError if they are something else.
    """
    inner = value.get("jwk")
    listed = value.get("x5c", inner.get("x5c") if isinstance(inner, dict) else None)
    if listed is None:
        return ()
    if not isinstance(listed, list) or not all(isinstance(each, str) for each in listed):
        raise MalformedError("x5c", "a list of text", type(listed).__name__)
    try:
        return parse_der_chain([base64.b64decode(each, validate=True) for each in listed])
    except ValueError as error:
        raise error if isinstance(error, MalformedError) else MalformedError("x5c", "base64", "other text") from None


TOKEN: Final = "token"
EXTRA: Final = "the extra 'ear' (pip install 'carnet[ear]')"
TYPE: Final = "eat+jwt"  #: The media type ``application/eat+jwt``, as a header says it. Source: RFC 9782.
OLDER_TYPE: Final = "JWT"  #: The type of a token as most say it. Source: RFC 7519, section 5.1.
LARGEST_TOKEN: Final = 1 << 17
LARGEST_HEADER: Final = 1 << 14  #: A header may bring certificates.
#: In bytes, once decoded.
LARGEST_PART: Final = {"header": LARGEST_HEADER, "payload": LARGEST_TOKEN, "signature": 1024}
PARTS: Final = tuple(LARGEST_PART)
NAMED: Final = ("alg", "typ", "kid")  #: What a header may say that counts.
#: What a header may say besides: where its key might be found. No key is taken because of it.
HINTS: Final = ("cty", "jku", "jwk", "x5u", "x5c", "x5t", "x5t#S256")


class SignatureError(Exception):
    """A token's signature does not verify with the key, or its algorithm is not the key's."""


@dataclass(frozen=True, slots=True)
class Token:
    """A parsed, unverified token: its text, its header, and the signed JSON."""

    compact: str
    header: Mapping[str, object]
    payload: bytes

    @property
    def algorithm(self) -> str:
        """The algorithm that the header names."""
        return str(self.header.get("alg"))

    def says(self, name: str) -> str | None:
        """Return a text in the header, or None."""
        value = self.header.get(name)
        return value if isinstance(value, str) else None


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
    if not parts[-1]:
        raise MalformedError(TOKEN, "a signature", "none, so that nobody stands for what it says")
    header, payload, _ = (_decoded(part, name) for part, name in zip(parts, PARTS, strict=True))
    return Token(compact, _header(header), payload)


def _decoded(part: str, name: str) -> bytes:
    """Return what a part stands for, if no other text stands for the same."""
    what = f"{TOKEN}: {name}"
    try:
        decoded = base64.b64decode(part + "=" * (-len(part) % 4), altchars=b"-_", validate=True)
    except (binascii.Error, ValueError):
        raise MalformedError(what, "base64 for URLs, without padding", f"{len(part)} other characters") from None
    if not decoded or base64url(decoded) != part:
        raise MalformedError(what, "base64 for URLs in its one form", "another form, or nothing")
    if len(decoded) > LARGEST_PART[name]:
        raise MalformedError(what, f"at most {LARGEST_PART[name]} bytes", f"{len(decoded)}")
    return decoded


def base64url(data: bytes) -> str:
    """Return base64url without padding."""
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def _header(data: bytes) -> dict[str, object]:
    what = f"{TOKEN}: header"
    try:
        header = json_value(data)
    except ValueError as error:
        raise MalformedError(what, "a JSON object", " ".join(str(error).split())[:100]) from None
    if not isinstance(header, dict):
        raise MalformedError(what, "a JSON object", type(header).__name__)
    unknown = sorted(set(header) - {*NAMED, *HINTS})
    if unknown:
        raise MalformedError(what, f"only {', '.join((*NAMED, *HINTS))}", ascii(unknown[0])[:60])
    for name in NAMED:
        if name in header and not isinstance(header[name], str):
            raise MalformedError(what, f"{name} to be text", type(header[name]).__name__)
    return header


DEEPEST: Final = 16  #: How many objects and lists may stand inside each other.
LATEST: Final = int(datetime(9999, 12, 31, tzinfo=UTC).timestamp())


def nested_json(payload: bytes, what: str) -> object:
    """Return the JSON value of a token's payload. Raises MalformedError if it is no JSON, or nested too deeply."""
    value = bounded_json(payload, what, LARGEST_TOKEN)
    level: list[object] = [value]
    for _ in range(DEEPEST):
        level = [inner for each in level for inner in _inside(each)]
    if level:
        raise MalformedError(what, f"at most {DEEPEST} objects and lists inside each other", "more")
    return value


def _inside(value: object) -> Iterable[object]:
    if isinstance(value, dict):
        return value.values()
    return value if isinstance(value, list) else ()


def numeric_date(value: object, where: str, *, fractions: bool = False) -> datetime:
    """Return the time of a NumericDate in whole seconds; fractions are truncated if they are allowed.

    Raises MalformedError if it is something else.

    Source: RFC 7519, section 2 (NumericDate); draft-ietf-rats-ear-03, "EAT Attestation Result" (whole seconds).
    """
    if fractions and isinstance(value, float) and 0 <= value <= LATEST:
        value = int(value)
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value <= LATEST:
        shown = type(value).__name__ if isinstance(value, dict | list) else ascii(value)[:80]
        raise MalformedError(where, "whole seconds since 1970", shown)
    return datetime.fromtimestamp(value, UTC)


def verify(token: Token, key: VerificationKey) -> None:
    """Verify the token's signature with the key and its own algorithm.

    Raises SignatureError if it is not valid; UsageError if the library for tokens is not installed.
    """
    if token.algorithm not in key.algorithms:
        named, own = ascii(token.algorithm)[:40], " or ".join(key.algorithms)
        raise SignatureError(f"the header names the algorithm {named}; a key of this kind signs by {own}")
    jws, jwk, errors = _library()
    kind = jwk.ECKey if isinstance(key.key, ec.EllipticCurvePublicKey) else jwk.RSAKey
    try:
        signed = jws.deserialize_compact(
            token.compact, kind.import_key(key.key), algorithms=[token.algorithm], registry=_registry(token.algorithm)
        )
    except errors.JoseError:
        raise SignatureError("the signature does not verify with this key") from None
    assert signed.payload == token.payload, "the library verified what was read here"


def verify_by_one(token: Token, keys: Sequence[VerificationKey]) -> VerificationKey:
    """Return the one of ``keys`` that verifies the token; if the header names a key, only that one is tried.

    Raises SignatureError if none did; UsageError if the library for tokens is not installed.
    """
    named = token.says("kid")
    asked = [key for key in keys if named is None or key.name in (None, named)]
    failure = SignatureError(f"no key is called {ascii(named)[:80]}")
    for key in asked:
        try:
            verify(token, key)
        except SignatureError as error:
            failure = error
        else:
            return key
    raise failure


def signed_token(claims: Mapping[str, object], key: SigningKey, kind: str = TYPE) -> str:
    """Return a signed token with these claims; ``kind`` is the type in its header.

    Raises UsageError if they are too many for a token, or the library for tokens is not installed.
    """
    jws, jwk, _ = _library()
    payload = json.dumps(claims, separators=(",", ":"), allow_nan=False).encode()
    signer = jwk.ECKey.import_key(key.key)
    header = {"alg": key.algorithm, "typ": kind, "kid": signer.thumbprint()}
    token: str = jws.serialize_compact(header, payload, signer, registry=_registry(key.algorithm))
    if len(token) > LARGEST_TOKEN:
        raise UsageError(f"the result has {len(token)} bytes as a token, of at most {LARGEST_TOKEN}")
    return token


def _registry(algorithm: str) -> Any:
    """Return what the library goes by: one algorithm, and headers as long as they are read here."""
    jws, _, _ = _library()
    registry = jws.JWSRegistry(algorithms=[algorithm])
    registry.max_header_length, registry.max_payload_length = 2 * LARGEST_HEADER, LARGEST_TOKEN
    return registry


def _library() -> tuple[Any, Any, Any]:
    try:
        from joserfc import errors, jwk, jws
    except ImportError:
        raise UsageError(f"signed results need {EXTRA}") from None
    return jws, jwk, errors
