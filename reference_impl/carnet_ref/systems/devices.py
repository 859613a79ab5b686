"""Certified devices, and helpers for the key exchanges and ciphers of several systems."""

from collections.abc import Iterator
from contextlib import contextmanager

from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.ciphers import Cipher
from cryptography.hazmat.primitives.ciphers.algorithms import AES
from cryptography.hazmat.primitives.ciphers.modes import CTR
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from carnet_ref.crypto.primitives import KEY_BYTES, NONCE_BYTES, TAG_BYTES, hkdf_sha384, sign_p384, verify_p384
from carnet_ref.wire import join

#: The counter of the first block of plaintext; the one before masks the tag (SP 800-38D, section 7.1).
_FIRST_COUNTER = (2).to_bytes(4, "big")


@contextmanager
def refused_as(kind: type[Exception], *errors: type[Exception]) -> Iterator[None]:
    """Convert any of ``errors`` into an error of class ``kind`` with the same message."""
    try:
        yield
    except errors as error:
        raise kind(str(error)) from None


def new_identity() -> ec.EllipticCurvePrivateKey:
    """Return a new P-384 key for a device or a vendor."""
    return ec.generate_private_key(ec.SECP384R1())


def point(key: ec.EllipticCurvePrivateKey) -> bytes:
    """Return the public key as an uncompressed point."""
    return key.public_key().public_bytes(Encoding.X962, PublicFormat.UncompressedPoint)


def certify(label: bytes, root: ec.EllipticCurvePrivateKey, identity: ec.EllipticCurvePrivateKey) -> bytes:
    """Return the vendor's P-384 signature over a device's public key; the label keeps those of different uses apart."""
    return sign_p384(root, join(label, point(identity)))


def verify_under(point: bytes, signature: bytes, signed: bytes, what: str) -> None:
    """Verify a signature. Raises AuthenticationError if it does not verify, and ValueError if ``point`` is none."""
    verify_p384(ec.EllipticCurvePublicKey.from_encoded_point(ec.SECP384R1(), point), signature, signed, what)


def derived_keys(secret: bytes, salt: bytes, label: bytes, count: int) -> list[bytes]:
    """Return ``count`` keys derived from an agreed secret."""
    drawn = hkdf_sha384(secret, salt, label, count * KEY_BYTES)
    return [drawn[at : at + KEY_BYTES] for at in range(0, len(drawn), KEY_BYTES)]


def decrypt_unverified(key: bytes, nonce: bytes, ciphertext: bytes) -> bytes:
    """Decrypt AES-GCM ciphertext without checking a tag; anybody may have made it."""
    decryptor = Cipher(AES(key), CTR(nonce + _FIRST_COUNTER)).decryptor()
    return decryptor.update(ciphertext) + decryptor.finalize()


def decrypt_message_unverified(key: bytes, message: bytes) -> bytes:
    """Decrypt an IV followed by AES-GCM ciphertext and tag, without checking the tag."""
    return decrypt_unverified(key, message[:NONCE_BYTES], message[NONCE_BYTES:-TAG_BYTES])


def exclusive_or(left: bytes, right: bytes, *, strict: bool = False) -> bytes:
    """Return the bitwise XOR of both, as long as the shorter one.

    Raises ValueError if they differ in length, and ``strict`` asks for the same.
    """
    return bytes(one ^ other for one, other in zip(left, right, strict=strict))
