"""CBOR as evidence uses it, and COSE_Sign1: one signature over one payload.

CBOR is read more strictly than its standard asks, so that two readers cannot take the same bytes for different things:

* nothing follows the value, and no key of a map comes twice;
* no string or container has an indefinite length, except where genuine evidence has some and a signature covers them;
* a tag is read only where the format has it, so nothing is converted (dates, big numbers, shared values);
* containers are nested at most so deep, and the whole is at most so long.

Of COSE, one signature with ECDSA is taken. The key decides the algorithm; the protected header only has to agree. A
header parameter that is not known is refused, because a critical one would change what was signed.

Source: RFC 8949, sections 3, 5.3 and 5.6; RFC 9052, sections 3.1, 4.2 and 4.4; RFC 9053, section 2.1.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Container, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Final, TypeVar

from cryptography.hazmat.primitives.asymmetric import ec

from carnet_command.errors import UsageError
from carnet_ref.crypto.primitives import AuthenticationError, verify_p256, verify_p384, verify_p521
from carnet_ref.wire import MalformedError

EXTRA: Final = "the extra 'cbor' (pip install 'carnet[cbor]')"
LARGEST: Final = 1 << 18
DEEPEST: Final = 16
SIGN1: Final = 18  #: The tag of COSE_Sign1. Source: RFC 9052, table 1.
ALGORITHM, CONTENT_TYPE = 1, 3  #: Header parameters. Source: RFC 9052, table 3.
_NAMES: Final = {-7: "ES256", -35: "ES384", -36: "ES512"}
_CURVES: Final[Mapping[str, tuple[int, Callable[[ec.EllipticCurvePublicKey, bytes, bytes, str], None]]]] = {
    "secp256r1": (-7, verify_p256),
    "secp384r1": (-35, verify_p384),
    "secp521r1": (-36, verify_p521),
}
_SHOWN: Final = 80


_Kind = TypeVar("_Kind")


@dataclass(frozen=True, slots=True)
class Tagged:
    """A value with a tag before it."""

    tag: int
    value: object


class _OnlyTags(dict[int, Callable[[object, bool], object]]):
    """How tags are read: those of the format as they are, and no other."""

    def __init__(self, tags: Container[int]) -> None:
        super().__init__()
        self._tags = tags

    def __missing__(self, tag: int) -> Callable[[object, bool], object]:
        if tag not in self._tags:
            raise ValueError(f"the tag {tag}")
        return partial(_tagged, tag)


def _tagged(tag: int, value: object, _immutable: bool) -> Tagged:
    return Tagged(tag, value)


def parse_cbor(
    data: bytes,
    what: str,
    *,
    tags: Container[int] = (),
    largest: int = LARGEST,
    indefinite: bool = False,
) -> object:
    """Return the one value that ``data`` encodes: numbers, texts, bytes, arrays, mappings and `Tagged`.

    ``indefinite`` says whether lengths may be indefinite.

    Raises MalformedError if it is something else; UsageError without the library.
    """
    value, end = parse_leading_cbor(data, what, tags=tags, largest=largest, indefinite=indefinite)
    if end != len(data):
        raise MalformedError(what, "nothing after the value", f"{len(data) - end} further bytes", end)
    return value


def parse_leading_cbor(
    data: bytes, what: str, *, tags: Container[int], largest: int, indefinite: bool = False
) -> tuple[object, int]:
    """Return the value that ``data`` begins with, and where it ends.

    Raises MalformedError if it begins with something else; UsageError without the library.
    """
    try:
        import cbor2
    except ImportError:
        raise UsageError(f"evidence in CBOR needs {EXTRA}") from None
    if len(data) > largest:
        raise MalformedError(what, f"at most {largest} bytes", f"{len(data)}")
    file = io.BytesIO(data)
    decoder = cbor2.CBORDecoder(
        file,
        max_depth=DEEPEST,
        allow_indefinite=indefinite,
        allow_duplicate_keys=False,
        semantic_decoders=_OnlyTags(tags),
    )
    try:
        value: object = decoder.decode()
    except (cbor2.CBORError, ValueError, TypeError) as error:
        cause = error.__cause__ or error
        raise MalformedError(what, "CBOR", " ".join(str(cause).split())[:200]) from None
    return value, file.tell()


class ClaimMap:
    """One map of CBOR, whose claims are asked for with their type; keys are texts or numbers."""

    __slots__ = ("_claims", "_what")

    def __init__(self, value: object, what: str) -> None:
        """Take a value as a map; ``what`` names it in errors. Raises MalformedError if it is no map."""
        if not isinstance(value, Mapping):
            raise MalformedError(what, "a map", type(value).__name__)
        if not all(isinstance(key, str) or type(key) is int for key in value):
            raise MalformedError(what, "keys that are texts or numbers", "others")
        self._claims: Mapping[object, object] = value
        self._what = what

    def names(self) -> tuple[object, ...]:
        """Return the keys in their order."""
        return tuple(self._claims)

    def has(self, name: object) -> bool:
        """Return whether the claim ``name`` exists and is not null."""
        return self._claims.get(name) is not None

    def require_known(self, names: frozenset[object] | frozenset[int] | frozenset[str]) -> None:
        """Raise MalformedError unless every claim is in ``names``."""
        other = next((name for name in self._claims if name not in names), None)
        if other is not None:
            raise MalformedError(self._what, "claims that are known", ascii(other)[:_SHOWN])

    def octets(self, name: object, sizes: range | frozenset[int]) -> bytes:
        """Return a byte string whose size is in ``sizes``."""
        value = self._claim(name, bytes, "a byte string")
        if len(value) not in sizes:
            shown = f"{min(sizes)} to {max(sizes)}" if isinstance(sizes, range) else ", ".join(map(str, sorted(sizes)))
            raise self._malformed(name, f"a byte string of {shown} bytes", f"{len(value)}")
        return value

    def text(self, name: object) -> str:
        """Return a claim that is a text."""
        return self._claim(name, str, "a text")

    def number(self, name: object) -> int:
        """Return a claim that is a non-negative integer."""
        value = self._claim(name, int, "a whole number")
        if value < 0:
            raise self._malformed(name, "a whole number from 0", f"{value}")
        return value

    def values(self, name: object) -> tuple[object, ...]:
        """Return the elements of a claim that is an array."""
        return tuple(self._claim(name, list, "an array"))

    def map(self, name: object) -> ClaimMap:
        """Return a claim that is a map."""
        return ClaimMap(self.value(name), f"{self._what}: {name}")

    def value(self, name: object) -> object:
        """Return a claim of any type, or None if it does not exist."""
        return self._claims.get(name)

    def _claim(self, name: object, kind: type[_Kind], expected: str) -> _Kind:
        if name not in self._claims:
            raise MalformedError(self._what, f"a claim {name!r}", "none")
        value = self._claims[name]
        if not isinstance(value, kind) or isinstance(value, bool):
            raise self._malformed(name, expected, type(value).__name__)
        return value

    def _malformed(self, name: object, expected: str, found: str) -> MalformedError:
        return MalformedError(f"{self._what}: {name}", expected, found[:_SHOWN])


@dataclass(frozen=True, slots=True)
class Sign1:
    """A COSE_Sign1: the protected header as it was signed, the algorithm in it, the payload and the signature.

    ``content_type`` is what the header says of the payload, if it does.
    """

    protected: bytes
    algorithm: int
    payload: bytes
    signature: bytes
    content_type: object = None

    @property
    def algorithm_name(self) -> str:
        """The algorithm in words."""
        return _NAMES[self.algorithm]

    def signed_bytes(self) -> bytes:
        """Return the bytes that the signature covers. Source: RFC 9052, section 4.4."""
        import cbor2

        encoded: bytes = cbor2.dumps(["Signature1", self.protected, b"", self.payload])
        return encoded


def parse_sign1(value: object, what: str, *, further: frozenset[int] = frozenset()) -> Sign1:
    """Return the COSE_Sign1 in a CBOR value, tagged or not.

    ``further`` parameters may be in the protected header; the caller knows what they mean.

    Raises MalformedError if it is something else, or has anything in a header but what is known.
    """
    if isinstance(value, Tagged) and value.tag == SIGN1:
        value = value.value
    if not isinstance(value, list | tuple) or len(value) != 4:
        raise MalformedError(what, "a COSE_Sign1, an array of 4", type(value).__name__)
    protected, unprotected, payload, signature = value
    if not (isinstance(protected, bytes) and isinstance(payload, bytes) and isinstance(signature, bytes)):
        raise MalformedError(what, "a protected header, a payload and a signature of bytes", "others")
    if not isinstance(unprotected, Mapping) or unprotected:
        raise MalformedError(what, "an empty unprotected header", ascii(unprotected)[:_SHOWN])
    header = ClaimMap(parse_cbor(protected, f"{what}: protected header"), f"{what}: protected header")
    header.require_known(frozenset({ALGORITHM, CONTENT_TYPE}) | further)
    algorithm = header.value(ALGORITHM)
    if not isinstance(algorithm, int) or algorithm not in _NAMES:
        raise MalformedError(what, f"an algorithm out of {', '.join(_NAMES.values())}", f"{algorithm}"[:_SHOWN])
    return Sign1(protected, algorithm, payload, signature, header.value(CONTENT_TYPE))


def verify_sign1(signed: Sign1, key: object, what: str) -> None:
    """Check the signature with a key, whose curve decides the algorithm.

    Raises AuthenticationError if it does not verify, or the header names another algorithm than the key's.
    """
    found = _CURVES.get(key.curve.name) if isinstance(key, ec.EllipticCurvePublicKey) else None
    if found is None or not isinstance(key, ec.EllipticCurvePublicKey) or found[0] != signed.algorithm:
        raise AuthenticationError(f"{what}, which says {signed.algorithm_name} and is no such key's,")
    found[1](key, signed.signature, signed.signed_bytes(), what)
