"""Keys of tokens: elliptic curves of two sizes, in PEM, and nothing else."""

from __future__ import annotations

import pytest
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
)

from carnet_command.errors import UsageError
from carnet_ref.attestation.ear import signing_key, verification_key
from tests.fixtures.ear_tokens import P256, P384, private_pem, public_pem

P521 = ec.generate_private_key(ec.SECP521R1())
RSA = rsa.generate_private_key(65537, 2048)
EDWARDS = ed25519.Ed25519PrivateKey.generate()
Keys = ec.EllipticCurvePrivateKey | rsa.RSAPrivateKey | ed25519.Ed25519PrivateKey


def private(key: Keys) -> bytes:
    return key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())


def public(key: Keys) -> bytes:
    return key.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)


@pytest.mark.parametrize(("key", "algorithm"), [(P256, "ES256"), (P384, "ES384")])
def test_the_curve_decides_the_algorithm(key: ec.EllipticCurvePrivateKey, algorithm: str) -> None:
    assert signing_key(private_pem(key)).algorithm == algorithm
    assert verification_key(public_pem(key)).algorithm == algorithm
    old = key.private_bytes(Encoding.PEM, PrivateFormat.TraditionalOpenSSL, NoEncryption())
    assert signing_key(old).algorithm == algorithm


@pytest.mark.parametrize(
    ("pem", "why"),
    [
        (b"", "expected a private key in PEM"),
        (b"no key", "expected a private key in PEM"),
        (public_pem(), "expected a private key in PEM"),
        (private(P521), "not on secp521r1"),
        (private(RSA), "not .*RSAPrivateKey"),
        (private(EDWARDS), "not .*Ed25519PrivateKey"),
        (P256.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, BestAvailableEncryption(b"x")), "encrypted"),
        (private_pem().replace(b"A", b"B", 3), "expected"),
    ],
)
def test_what_signs_no_tokens_is_refused(pem: bytes, why: str) -> None:
    with pytest.raises(UsageError, match=why):
        signing_key(pem)


@pytest.mark.parametrize(
    ("pem", "why"),
    [
        (b"", "expected a public key in PEM"),
        (private_pem(), "expected a public key in PEM"),
        (public(P521), "not on secp521r1"),
        (public(RSA), "not .*RSAPublicKey"),
        (public(EDWARDS), "not .*Ed25519PublicKey"),
    ],
)
def test_what_verifies_no_tokens_is_refused(pem: bytes, why: str) -> None:
    with pytest.raises(UsageError, match=why):
        verification_key(pem)
