"""Keys of tokens: PEM in, with the one algorithm that each curve signs by."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import load_pem_private_key, load_pem_public_key

from carnet_command.errors import UsageError

ALGORITHMS: Final = {"secp256r1": "ES256", "secp384r1": "ES384"}
"""The algorithm of each curve. Source: RFC 7518, section 3.4."""
CURVES: Final = "an elliptic curve key on P-256 or P-384"


@dataclass(frozen=True, slots=True)
class SigningKey:
    """What signs tokens."""

    key: ec.EllipticCurvePrivateKey
    """The key, on P-256 or P-384."""
    algorithm: str
    """The algorithm by which it signs."""


@dataclass(frozen=True, slots=True)
class VerificationKey:
    """What tokens are verified with."""

    key: ec.EllipticCurvePublicKey
    """The key, on P-256 or P-384."""
    algorithm: str
    """The only algorithm that it is used for."""


def signing_key(pem: bytes) -> SigningKey:
    """Return the private key in PEM.

    Raises:
        UsageError: it is none, is encrypted, or is of another kind.
    """
    try:
        key = load_pem_private_key(pem, password=None)
    except TypeError:
        raise UsageError("the key is encrypted; give one that is not") from None
    except (ValueError, UnsupportedAlgorithm):
        raise UsageError(f"expected a private key in PEM, {CURVES}") from None
    if not isinstance(key, ec.EllipticCurvePrivateKey):
        raise UsageError(f"expected {CURVES}, not {type(key).__name__}")
    return SigningKey(key, _algorithm(key.curve))


def verification_key(pem: bytes) -> VerificationKey:
    """Return the public key in PEM.

    Raises:
        UsageError: it is none, or is of another kind.
    """
    try:
        key = load_pem_public_key(pem)
    except (ValueError, UnsupportedAlgorithm):
        raise UsageError(f"expected a public key in PEM, {CURVES}") from None
    if not isinstance(key, ec.EllipticCurvePublicKey):
        raise UsageError(f"expected {CURVES}, not {type(key).__name__}")
    return VerificationKey(key, _algorithm(key.curve))


def _algorithm(curve: ec.EllipticCurve) -> str:
    if curve.name not in ALGORITHMS:
        raise UsageError(f"expected {CURVES}, not on {curve.name}")
    return ALGORITHMS[curve.name]
