"""The compact form of a signed token: three parts of base64 with dots between them.

Readers of tokens differ in what they overlook. So one form alone is taken: base64 without padding and without bits that
stand for nothing, and a header with the algorithm, the type and perhaps the key's name. A header that asks for more,
such as ``crit``, ``jwk`` or ``b64``, is refused. The algorithm is the key's own; what a header says only has to agree.

Source: RFC 7515, sections 3, 4 and 5; RFC 7518, section 3.4; RFC 8725, sections 3.1, 3.2 and 3.11.
"""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from carnet_command.errors import UsageError
from carnet_ref.attestation.ear.keys import SigningKey, VerificationKey
from carnet_ref.wire.reader import MalformedError, json_value

WHAT: Final = "token"
EXTRA: Final = "the extra 'ear' (pip install 'carnet[ear]')"
TYPE: Final = "eat+jwt"
"""The media type ``application/eat+jwt``, as a header says it. Source: RFC 9782."""
LARGEST: Final = 1 << 17
LARGEST_PART: Final = {"header": 512, "payload": LARGEST, "signature": 96}
"""In bytes, once decoded."""
PARTS: Final = tuple(LARGEST_PART)
HEADER: Final = ("alg", "typ", "kid")


class SignatureError(Exception):
    """A token is not signed by the key, or not by the algorithm of the key."""


@dataclass(frozen=True, slots=True)
class Token:
    """A token, read but not yet believed."""

    compact: str
    """The token itself."""
    algorithm: str
    """The algorithm that its header names."""
    payload: bytes
    """What is signed, as JSON that nobody has read yet."""


def parse_token(data: bytes) -> Token:
    """Read a token; white space may stand around it.

    Raises:
        MalformedError: it is something else.
    """
    if len(data) > LARGEST:
        raise MalformedError(WHAT, f"at most {LARGEST} bytes", f"{len(data)}")
    try:
        compact = data.strip().decode("ascii")
    except UnicodeDecodeError:
        raise MalformedError(WHAT, "ASCII", "other bytes") from None
    parts = compact.split(".")
    if len(parts) != len(PARTS):
        raise MalformedError(WHAT, "a header, a payload and a signature with dots between them", f"{len(parts)} parts")
    header, payload, _ = (_decoded(part, name) for part, name in zip(parts, PARTS, strict=True))
    return Token(compact, _algorithm(_object(header)), payload)


def _decoded(part: str, name: str) -> bytes:
    """Return what a part stands for, if no other text stands for the same."""
    what = f"{WHAT}: {name}"
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


def _object(header: bytes) -> dict[str, object]:
    try:
        value = json_value(header)
    except ValueError as error:
        raise MalformedError(f"{WHAT}: header", "a JSON object", " ".join(str(error).split())[:100]) from None
    if not isinstance(value, dict):
        raise MalformedError(f"{WHAT}: header", "a JSON object", type(value).__name__)
    return value


def _algorithm(header: Mapping[str, object]) -> str:
    what = f"{WHAT}: header"
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

    Raises:
        SignatureError: it did not.
        UsageError: the library for tokens is not installed.
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

    Raises:
        UsageError: they are too many for a token, or the library for tokens is not installed.
    """
    jws, jwk, _ = _library()
    payload = json.dumps(claims, separators=(",", ":"), allow_nan=False).encode()
    signer = jwk.ECKey.import_key(key.key)
    header = {"alg": key.algorithm, "typ": TYPE, "kid": signer.thumbprint()}
    token: str = jws.serialize_compact(header, payload, signer, registry=_registry(key.algorithm))
    if len(token) > LARGEST:
        raise UsageError(f"the result has {len(token)} bytes as a token, of at most {LARGEST}")
    return token


def _registry(algorithm: str) -> Any:
    """Return what the library goes by: one algorithm, and no header that it does not know."""
    jws, _, _ = _library()
    registry = jws.JWSRegistry(algorithms=[algorithm])
    registry.max_payload_length = LARGEST
    return registry


def _library() -> tuple[Any, Any, Any]:
    try:
        from joserfc import errors, jwk, jws
    except ImportError:
        raise UsageError(f"signed results need {EXTRA}") from None
    return jws, jwk, errors
