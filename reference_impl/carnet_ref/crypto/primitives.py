"""The cryptographic primitives of Carnet as typed functions: wrong sizes and failed checks raise errors.

No primitive is implemented here; all are those of ``cryptography``. With these wrappers, a caller cannot choose a
weaker variant by accident, and cannot overlook the result of a check.
"""

from collections.abc import Callable
from typing import Final

from cryptography.exceptions import InvalidSignature, InvalidTag
from cryptography.hazmat.primitives import hashes, hmac
from cryptography.hazmat.primitives.asymmetric import ec, padding, rsa
from cryptography.hazmat.primitives.asymmetric.utils import decode_dss_signature, encode_dss_signature
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
from cryptography.hazmat.primitives.ciphers.aead import AESGCM, AESGCMSIV
from cryptography.hazmat.primitives.kdf.hkdf import HKDF, HKDFExpand
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

#: A source of random bytes, called with their number; it is passed in, so that a test can determine the bytes.
Random = Callable[[int], bytes]

Buffer = bytes | bytearray | memoryview

NONCE_BYTES: Final = 12
TAG_BYTES: Final = 16
KEY_BYTES: Final = 32
P384_BYTES: Final = 48  #: The size of a field element, and of each half of a raw signature.
P521_BYTES: Final = 66
SHA384_BYTES: Final = 48
RSA_BITS: Final = 3072


class CryptoError(Exception):
    """A cryptographic operation was refused."""


class AuthenticationError(CryptoError):
    """A tag, a signature or a MAC does not verify."""

    def __init__(self, what: str) -> None:
        super().__init__(f"{what} does not verify")
        self.what = what  #: the name of the object that was checked.


class KeyMaterialError(CryptoError):
    """A key, a nonce or a key share has the wrong size, or is outside the group."""

    def __init__(self, what: str, reason: str) -> None:
        super().__init__(f"{what}: {reason}")
        self.what = what  #: the input.
        self.reason = reason  #: what is wrong with it.


class _Aead:
    """An AEAD under one key with 96-bit nonces and whole 16-byte tags."""

    __slots__ = ("_cipher", "_name")

    def __init__(self, cipher: AESGCM | AESGCMSIV, name: str) -> None:
        self._cipher = cipher
        self._name = name

    def encrypt(self, nonce: bytes, plaintext: bytes, associated: bytes = b"") -> bytes:
        """Return ciphertext and tag. Raises KeyMaterialError if the nonce is not 12 bytes."""
        _check_nonce(nonce)
        return self._cipher.encrypt(nonce, plaintext, associated)

    def decrypt(self, nonce: bytes, ciphertext: bytes, associated: bytes = b"") -> bytes:
        """Return the plaintext of ciphertext and tag.

        Raises AuthenticationError if the tag does not verify; KeyMaterialError if the nonce is not 12 bytes.
        """
        _check_nonce(nonce)
        try:
            return self._cipher.decrypt(nonce, ciphertext, associated)
        except InvalidTag:
            raise AuthenticationError(f"{self._name} tag") from None


class AesGcm(_Aead):
    """AES-GCM under one key with 96-bit nonces and whole 16-byte tags.

    Source: NIST SP 800-38D, section 8.2.1 (deterministic construction of 96-bit IVs).
    """

    __slots__ = ()

    def __init__(self, key: bytes) -> None:
        if len(key) not in {16, 24, 32}:
            raise KeyMaterialError("AES key", f"{len(key)} bytes")
        super().__init__(AESGCM(key), "AES-GCM")

    def encrypt_into(self, nonce: bytes, plaintext: Buffer, out: bytearray | memoryview) -> int:
        """Write ciphertext and tag to ``out``, 16 bytes longer than ``plaintext``; return the number of bytes."""
        return self._cipher.encrypt_into(nonce, plaintext, None, out)

    def decrypt_into(self, nonce: bytes, ciphertext: Buffer, out: bytearray | memoryview) -> int:
        """Write the plaintext to ``out``, 16 bytes shorter than ``ciphertext``; return the number of bytes.

        Raises AuthenticationError if the tag does not verify; ``out`` is then cleared of unauthenticated plaintext.
        """
        try:
            return self._cipher.decrypt_into(nonce, ciphertext, None, out)
        except InvalidTag:
            out[:] = bytes(len(out))
            raise AuthenticationError("AES-GCM tag") from None


class AesGcmSiv(_Aead):
    """AES-GCM-SIV under one key, for sealing state at rest: restoring a snapshot may repeat a nonce.

    Source: RFC 8452.
    """

    __slots__ = ()

    def __init__(self, key: bytes) -> None:
        if len(key) not in {16, 32}:
            raise KeyMaterialError("AES-GCM-SIV key", f"{len(key)} bytes")
        super().__init__(AESGCMSIV(key), "AES-GCM-SIV")


def _check_nonce(nonce: bytes) -> None:
    if len(nonce) != NONCE_BYTES:
        raise KeyMaterialError("AEAD nonce", f"{len(nonce)} bytes, not {NONCE_BYTES}")


def sha256(data: bytes) -> bytes:
    """Return the SHA-256 digest."""
    return _digest(hashes.SHA256(), data)


def sha384(data: bytes) -> bytes:
    """Return the SHA-384 digest."""
    return _digest(hashes.SHA384(), data)


def _digest(algorithm: hashes.HashAlgorithm, data: bytes) -> bytes:
    context = hashes.Hash(algorithm)
    context.update(data)
    return context.finalize()


def hmac_sha384(key: bytes, data: bytes) -> bytes:
    """Return the HMAC-SHA-384 of ``data``."""
    context = hmac.HMAC(key, hashes.SHA384())
    context.update(data)
    return context.finalize()


def verify_hmac_sha384(key: bytes, data: bytes, tag: bytes, what: str = "HMAC-SHA-384") -> None:
    """Check a whole HMAC-SHA-384 tag, in constant time. Raises AuthenticationError if it does not verify."""
    context = hmac.HMAC(key, hashes.SHA384())
    context.update(data)
    try:
        context.verify(tag)
    except InvalidSignature:
        raise AuthenticationError(what) from None


def hkdf_sha384(secret: bytes, salt: bytes, info: bytes, length: int) -> bytes:
    """Extract and expand a key. Raises KeyMaterialError if more than 255 blocks are requested."""
    _check_hkdf_length(hashes.SHA384(), length)
    return HKDF(hashes.SHA384(), length, salt, info).derive(secret)


def hkdf_extract_sha256(salt: bytes, secret: bytes) -> bytes:
    """Return a pseudorandom key."""
    return HKDF.extract(hashes.SHA256(), salt, secret)


def hkdf_expand_sha256(key: bytes, info: bytes, length: int = KEY_BYTES) -> bytes:
    """Expand a pseudorandom key. Raises KeyMaterialError if more than 255 blocks are requested."""
    _check_hkdf_length(hashes.SHA256(), length)
    return HKDFExpand(hashes.SHA256(), length, info).derive(key)


def hkdf_expand_sha384(key: bytes, info: bytes, length: int) -> bytes:
    """Expand a pseudorandom key. Raises KeyMaterialError if more than 255 blocks are requested."""
    _check_hkdf_length(hashes.SHA384(), length)
    return HKDFExpand(hashes.SHA384(), length, info).derive(key)


def _check_hkdf_length(algorithm: hashes.HashAlgorithm, length: int) -> None:
    if not 0 < length <= 255 * algorithm.digest_size:
        raise KeyMaterialError("HKDF output", f"{length} bytes")


def verify_p384(key: ec.EllipticCurvePublicKey, signature: bytes, data: bytes, what: str = "ECDSA signature") -> None:
    """Check a raw ECDSA P-384/SHA-384 signature: r and s, 48 bytes each, big-endian.

    Raises AuthenticationError if it is not 96 bytes or does not verify; KeyMaterialError if the curve is another one.
    """
    _check_p384(key.curve)
    _verify_raw(key, signature, data, hashes.SHA384(), what)


def verify_p521(key: ec.EllipticCurvePublicKey, signature: bytes, data: bytes, what: str) -> None:
    """Check a raw ECDSA P-521/SHA-512 signature. Raises AuthenticationError unless it is 132 bytes and verifies."""
    _verify_raw(key, signature, data, hashes.SHA512(), what, P521_BYTES)


def verify_p256(key: ec.EllipticCurvePublicKey, signature: bytes, data: bytes, what: str) -> None:
    """Check a raw ECDSA P-256/SHA-256 signature. Raises AuthenticationError unless it is 64 bytes and verifies."""
    _verify_raw(key, signature, data, hashes.SHA256(), what)


def sign_p384(key: ec.EllipticCurvePrivateKey, data: bytes, *, deterministic: bool = False) -> bytes:
    """Return a raw ECDSA P-384/SHA-384 signature: r and s, 48 bytes each, big-endian.

    Raises KeyMaterialError if the key is on another curve. Source: RFC 6979 (deterministic ECDSA).
    """
    _check_p384(key.curve)
    return _sign_raw(key, data, hashes.SHA384(), deterministic)


def sign_p256(key: ec.EllipticCurvePrivateKey, data: bytes) -> bytes:
    """Return a raw ECDSA P-256/SHA-256 signature, the same for the same key and data. Source: RFC 6979."""
    return _sign_raw(key, data, hashes.SHA256(), deterministic=True)


def _check_p384(curve: ec.EllipticCurve) -> None:
    if not isinstance(curve, ec.SECP384R1):
        raise KeyMaterialError("signature key", f"on {curve.name}, not secp384r1")


def _verify_raw(
    key: ec.EllipticCurvePublicKey,
    signature: bytes,
    data: bytes,
    algorithm: hashes.HashAlgorithm,
    what: str,
    half: int | None = None,
) -> None:
    """Check a raw ECDSA signature; r and s are each as long as the hash, or ``half`` bytes."""
    half = half or algorithm.digest_size
    if len(signature) != 2 * half:
        raise AuthenticationError(what)
    r, s = int.from_bytes(signature[:half], "big"), int.from_bytes(signature[half:], "big")
    try:
        key.verify(encode_dss_signature(r, s), data, ec.ECDSA(algorithm))
    except InvalidSignature:
        raise AuthenticationError(what) from None


def _sign_raw(
    key: ec.EllipticCurvePrivateKey, data: bytes, algorithm: hashes.HashAlgorithm, deterministic: bool
) -> bytes:
    half = algorithm.digest_size
    r, s = decode_dss_signature(key.sign(data, ec.ECDSA(algorithm, deterministic_signing=deterministic)))
    return r.to_bytes(half, "big") + s.to_bytes(half, "big")


def verify_rsa_pss(key: rsa.RSAPublicKey, signature: bytes, data: bytes, what: str = "RSA-PSS signature") -> None:
    """Check an RSA-PSS signature of 3072 bits with SHA-384, whose salt is as long as the digest.

    Raises AuthenticationError if it does not verify; KeyMaterialError if the key has another size.
    """
    _check_rsa(key.key_size)
    try:
        key.verify(signature, data, _pss(), hashes.SHA384())
    except InvalidSignature:
        raise AuthenticationError(what) from None


def sign_rsa_pss(key: rsa.RSAPrivateKey, data: bytes) -> bytes:
    """Return an RSA-PSS signature of 3072 bits with SHA-384, whose salt is as long as the digest.

    Raises KeyMaterialError if the key has another size.
    """
    _check_rsa(key.key_size)
    return key.sign(data, _pss(), hashes.SHA384())


def _pss() -> padding.PSS:
    return padding.PSS(padding.MGF1(hashes.SHA384()), SHA384_BYTES)


def _check_rsa(bits: int) -> None:
    if bits != RSA_BITS:
        raise KeyMaterialError("signature key", f"of {bits} bits, not {RSA_BITS}")


class P384Share:
    """One end's ephemeral key share of an ECDHE exchange over secp384r1; points are x and y, 48 bytes each."""

    __slots__ = ("_private", "public")

    def __init__(self, random: Random) -> None:
        # 64 bytes reduced modulo the order less one, plus one: uniform to 2^-128. Source: FIPS 186-5, A.2.1.
        scalar = int.from_bytes(random(64), "big") % (_P384_ORDER - 1) + 1
        self._private = ec.derive_private_key(scalar, ec.SECP384R1())
        self.public = self._private.public_key().public_bytes(Encoding.X962, PublicFormat.UncompressedPoint)[1:]

    def agree(self, peer: bytes) -> bytes:
        """Return the shared secret: the x coordinate of the product with the peer's point.

        Raises KeyMaterialError if the peer's share is not a point of the curve.
        """
        if len(peer) != 2 * P384_BYTES:
            raise KeyMaterialError("ECDHE share", f"{len(peer)} bytes, not {2 * P384_BYTES}")
        try:
            point = ec.EllipticCurvePublicKey.from_encoded_point(ec.SECP384R1(), b"\x04" + peer)
        except ValueError:
            raise KeyMaterialError("ECDHE share", "not a point of secp384r1") from None
        return self._private.exchange(ec.ECDH(), point)


#: Source: NIST SP 800-186, section 3.2.1.4.
_P384_ORDER: Final = 0xFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFC7634D81F4372DDF581A0DB248B0A77AECEC196ACCC52973


class X25519Share:
    """One end's key share of an X25519 exchange."""

    __slots__ = ("_private", "public")

    def __init__(self, private: bytes) -> None:
        if len(private) != KEY_BYTES:
            raise KeyMaterialError("X25519 key", f"{len(private)} bytes")
        self._private = X25519PrivateKey.from_private_bytes(private)
        self.public = self._private.public_key().public_bytes_raw()

    def agree(self, peer: bytes) -> bytes:
        """Return the secret shared with the peer.

        Raises KeyMaterialError if the peer's share is not 32 bytes, or of low order, so that the secret would be zero.
        """
        if len(peer) != KEY_BYTES:
            raise KeyMaterialError("X25519 share", f"{len(peer)} bytes")
        try:
            return self._private.exchange(X25519PublicKey.from_public_bytes(peer))
        except ValueError:
            raise KeyMaterialError("X25519 share", "of low order") from None
