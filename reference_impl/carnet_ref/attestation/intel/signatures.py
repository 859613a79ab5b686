"""ECDSA over P-256 with SHA-256 as Intel writes it: raw signatures and points, big-endian halves of 32 bytes."""

from __future__ import annotations

from typing import Final

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.utils import decode_dss_signature, encode_dss_signature
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from carnet_ref.crypto.primitives import AuthenticationError, KeyMaterialError

HALF: Final = 32


def p256_point(raw: bytes) -> ec.EllipticCurvePublicKey:
    """Return the key whose point is x and y in ``raw``.

    Raises:
        KeyMaterialError: the point is not on the curve.
    """
    try:
        return ec.EllipticCurvePublicKey.from_encoded_point(ec.SECP256R1(), b"\x04" + raw)
    except ValueError:
        raise KeyMaterialError("attestation key", "not a point of secp256r1") from None


def raw_point(key: ec.EllipticCurvePublicKey) -> bytes:
    """Return x and y of a key's point."""
    return key.public_bytes(Encoding.X962, PublicFormat.UncompressedPoint)[1:]


def verify_p256(key: ec.EllipticCurvePublicKey, signature: bytes, data: bytes, what: str) -> None:
    """Check a raw signature.

    Raises:
        AuthenticationError: it is not 64 bytes or does not verify.
    """
    if len(signature) != 2 * HALF:
        raise AuthenticationError(what)
    r, s = (int.from_bytes(half, "big") for half in (signature[:HALF], signature[HALF:]))
    try:
        key.verify(encode_dss_signature(r, s), data, ec.ECDSA(hashes.SHA256()))
    except InvalidSignature:
        raise AuthenticationError(what) from None


def sign_p256(key: ec.EllipticCurvePrivateKey, data: bytes) -> bytes:
    """Return a raw signature, the same for the same key and data.

    Source: RFC 6979 (deterministic ECDSA).
    """
    r, s = decode_dss_signature(key.sign(data, ec.ECDSA(hashes.SHA256(), deterministic_signing=True)))
    return r.to_bytes(HALF, "big") + s.to_bytes(HALF, "big")
