"""What an SPDM signature is over.

Source: DMTF DSP0274 1.2.3, section "Signature generation": 1.1 signs the messages themselves, later versions a prefix
that names version and purpose, and the hash of the messages.
"""

from __future__ import annotations

from enum import Enum
from typing import Final

from cryptography.hazmat.primitives.asymmetric import ec, rsa

from carnet_ref.crypto.primitives import sha384, sign_p384, sign_rsa_pss, verify_p384, verify_rsa_pss
from carnet_ref.spdm.messages import Version

_CONTEXT_BYTES: Final = 36


class Purpose(Enum):
    """What a signature is for, in the words that enter it."""

    CHALLENGE_AUTH = "responder-challenge_auth signing"
    MEASUREMENTS = "responder-measurements signing"
    KEY_EXCHANGE_RSP = "responder-key_exchange_rsp signing"
    FINISH = "requester-finish signing"


def signed_bytes(version: Version, purpose: Purpose, transcript: bytes) -> bytes:
    """Return the bytes that are signed."""
    if version < Version.V1_2:
        return transcript
    prefix = f"dmtf-spdm-v{version.label}.*".encode("ascii") * 4
    return prefix + purpose.value.encode("ascii").rjust(_CONTEXT_BYTES, b"\0") + sha384(transcript)


def sign(key: ec.EllipticCurvePrivateKey, version: Version, purpose: Purpose, transcript: bytes) -> bytes:
    """Return the responder's signature over a transcript."""
    return sign_p384(key, signed_bytes(version, purpose, transcript))


def verify(
    key: ec.EllipticCurvePublicKey, version: Version, purpose: Purpose, transcript: bytes, signature: bytes
) -> None:
    """Check the responder's signature over a transcript.

    Raises:
        AuthenticationError: it does not verify.
        KeyMaterialError: the key is on another curve.
    """
    what = f"{purpose.name} signature"
    verify_p384(key, signature, signed_bytes(version, purpose, transcript), what)


def sign_finish(key: rsa.RSAPrivateKey, version: Version, transcript: bytes) -> bytes:
    """Return the requester's signature over a transcript that ends with FINISH."""
    return sign_rsa_pss(key, signed_bytes(version, Purpose.FINISH, transcript))


def verify_finish(key: rsa.RSAPublicKey, version: Version, transcript: bytes, signature: bytes) -> None:
    """Check the requester's signature over a transcript that ends with FINISH.

    Raises:
        AuthenticationError: it does not verify.
        KeyMaterialError: the key has another size than 3072 bits.
    """
    verify_rsa_pss(key, signature, signed_bytes(version, Purpose.FINISH, transcript), "FINISH signature")
