"""What the wrappers refuse."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from cryptography.hazmat.primitives.asymmetric import ec

from carnet_ref.crypto import primitives as crypto
from carnet_ref.crypto.primitives import (
    AesGcm,
    AesGcmSiv,
    AuthenticationError,
    KeyMaterialError,
    P384Share,
    X25519Share,
)


def counting(size: int) -> bytes:
    return bytes(index % 256 for index in range(size))


@pytest.mark.parametrize("size", [0, 15, 17, 31, 33])
def test_keys_of_no_aes_are_refused(size: int) -> None:
    for cipher in (AesGcm, AesGcmSiv):
        with pytest.raises(KeyMaterialError):
            cipher(bytes(size))


def test_a_flipped_bit_anywhere_in_a_sealed_message_is_refused() -> None:
    cipher = AesGcm(counting(32))
    sealed = cipher.encrypt(bytes(12), b"chunk", b"header")
    for bit in range(len(sealed) * 8):
        forged = bytearray(sealed)
        forged[bit // 8] ^= 1 << bit % 8
        with pytest.raises(AuthenticationError):
            cipher.decrypt(bytes(12), bytes(forged), b"header")
    with pytest.raises(AuthenticationError):
        cipher.decrypt(bytes(12), sealed, b"other header")


def test_a_raw_signature_is_96_bytes_under_a_p384_key() -> None:
    key = ec.derive_private_key(7, ec.SECP384R1())
    signature = crypto.sign_p384(key, b"message")
    crypto.verify_p384(key.public_key(), signature, b"message")
    for forged, message in ((signature[:-1], b"message"), (signature, b"massage"), (bytes(96), b"message")):
        with pytest.raises(AuthenticationError):
            crypto.verify_p384(key.public_key(), forged, message)
    other = ec.derive_private_key(7, ec.SECP256R1())
    with pytest.raises(KeyMaterialError):
        crypto.verify_p384(other.public_key(), signature, b"message")
    with pytest.raises(KeyMaterialError):
        crypto.sign_p384(other, b"message")


def test_two_shares_agree_and_a_point_off_the_curve_is_refused() -> None:
    one, two = P384Share(counting), P384Share(lambda size: bytes([9]) * size)
    assert one.agree(two.public) == two.agree(one.public)
    off_curve = bytearray(two.public)
    off_curve[-1] ^= 1
    for share in (bytes(off_curve), bytes(96), two.public[:-1], b""):
        with pytest.raises(KeyMaterialError):
            one.agree(share)


def test_an_x25519_share_of_another_size_is_refused() -> None:
    with pytest.raises(KeyMaterialError):
        X25519Share(bytes(31))
    with pytest.raises(KeyMaterialError):
        X25519Share(counting(32)).agree(bytes(31))


@pytest.mark.parametrize("size", [0, 8, 11, 13, 16])
@pytest.mark.parametrize("cipher", [AesGcm(bytes(32)), AesGcmSiv(bytes(32))], ids=["GCM", "GCM-SIV"])
def test_a_nonce_of_another_size_is_refused(cipher: AesGcm | AesGcmSiv, size: int) -> None:
    """The library beneath takes other sizes of GCM nonces, too."""
    with pytest.raises(KeyMaterialError, match="AEAD nonce"):
        cipher.encrypt(bytes(size), b"chunk")
    with pytest.raises(KeyMaterialError, match="AEAD nonce"):
        cipher.decrypt(bytes(size), bytes(32))


@pytest.mark.parametrize("length", [0, 256 * 48])
def test_a_key_is_derived_in_a_length_that_the_standard_allows(length: int) -> None:
    derivations: tuple[Callable[[], bytes], ...] = (
        lambda: crypto.hkdf_sha256(b"secret", b"salt", b"info", length),
        lambda: crypto.hkdf_sha384(b"secret", b"salt", b"info", length),
        lambda: crypto.hkdf_expand_sha256(bytes(32), b"info", length),
        lambda: crypto.hkdf_expand_sha384(bytes(48), b"info", length),
    )
    for derive in derivations:
        with pytest.raises(KeyMaterialError, match="HKDF output"):
            derive()


def test_a_tag_by_another_key_or_over_other_data_is_refused() -> None:
    tag = crypto.hmac_sha384(b"key", b"data")
    crypto.verify_hmac_sha384(b"key", b"data", tag)
    for key, data in ((b"kex", b"data"), (b"key", b"date")):
        with pytest.raises(AuthenticationError):
            crypto.verify_hmac_sha384(key, data, tag)
