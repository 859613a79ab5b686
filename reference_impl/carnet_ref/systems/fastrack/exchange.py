"""Key exchange: a user and a GPU agree on keys, and the user takes the GPU's report for this exchange only."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from carnet_ref.crypto.primitives import (
    KEY_BYTES,
    AuthenticationError,
    KeyMaterialError,
    Random,
    X25519Share,
    hkdf_sha384,
    sign_p384,
    verify_p384,
)
from carnet_ref.systems.fastrack.enforcement import enforces
from carnet_ref.systems.fastrack.errors import ReportError
from carnet_ref.wire.fields import join

CONFIDENTIAL: Final = b"confidential"
OPEN: Final = b"open"
_REPORT: Final = b"carnet fastrack report"
_DEVICE: Final = b"carnet fastrack device"
_KEYS: Final = b"carnet fastrack keys"


@dataclass(frozen=True, slots=True)
class Keys:
    """What both ends have after an exchange, one key for each use."""

    chunks: bytes
    answers: bytes
    codes: bytes


@dataclass(frozen=True, slots=True)
class Answer:
    """The GPU's answer: its share, and a report that a vendor's certificate speaks for."""

    share: bytes
    mode: bytes
    signature: bytes
    device: bytes
    certificate: bytes


class KeyExchange:
    """The user's end of one exchange; the CPU TEE forwards it and has no part in it."""

    def __init__(self, random: Random) -> None:
        self._share = X25519Share(random(KEY_BYTES))
        self._nonce = random(KEY_BYTES)

    @property
    def opening(self) -> bytes:
        """What the user sends."""
        return self._nonce + self._share.public

    @enforces("REQ-SETUP-01", "direct-key")
    def take(self, answer: Answer, root: ec.EllipticCurvePublicKey) -> Keys:
        """Return the keys that an answer leads to.

        Raises:
            ReportError: the report is of another exchange, of no genuine GPU, or of one out of confidential mode.
        """
        _check_certificate(answer, root)
        _check_names_exchange(answer, self.opening)
        _check_mode(answer)
        try:
            secret = self._share.agree(answer.share)
        except KeyMaterialError as error:
            raise ReportError(str(error)) from None
        return _keys(secret, self.opening, answer.share)


@enforces("REQ-SETUP-04", "gpu-certificate")
def _check_certificate(answer: Answer, root: ec.EllipticCurvePublicKey) -> None:
    try:
        verify_p384(root, answer.certificate, join(_DEVICE, answer.device), "certificate")
    except AuthenticationError as error:
        raise ReportError(str(error)) from None


@enforces("REQ-SETUP-03", "report-bound")
def _check_names_exchange(answer: Answer, opening: bytes) -> None:
    key = ec.EllipticCurvePublicKey.from_encoded_point(ec.SECP384R1(), answer.device)
    try:
        verify_p384(key, answer.signature, _report(opening, answer.share, answer.mode), "report")
    except AuthenticationError as error:
        raise ReportError(str(error)) from None


@enforces("REQ-SETUP-05", "mode-check")
def _check_mode(answer: Answer) -> None:
    if answer.mode != CONFIDENTIAL:
        raise ReportError(f"mode {answer.mode.decode('ascii', 'replace')}")


class Device:
    """A GPU's end of key exchanges: an identity that the vendor certified, and a mode."""

    def __init__(self, identity: ec.EllipticCurvePrivateKey, certificate: bytes, mode: bytes, random: Random) -> None:
        self._identity, self._certificate, self._mode, self._random = identity, certificate, mode, random

    @enforces("REQ-SETUP-02")
    def answer(self, opening: bytes) -> tuple[Answer, Keys]:
        """Answer an exchange: the report names the whole of it, and the mode.

        Raises:
            KeyMaterialError: the user's share is no share.
        """
        share = X25519Share(self._random(KEY_BYTES))
        keys = _keys(share.agree(opening[KEY_BYTES:]), opening, share.public)
        signature = sign_p384(self._identity, _report(opening, share.public, self._mode))
        return Answer(share.public, self._mode, signature, _point(self._identity), self._certificate), keys


def certify(root: ec.EllipticCurvePrivateKey, identity: ec.EllipticCurvePrivateKey) -> bytes:
    """Return the vendor's certificate of a device."""
    return sign_p384(root, join(_DEVICE, _point(identity)))


def _point(key: ec.EllipticCurvePrivateKey) -> bytes:
    return key.public_key().public_bytes(Encoding.X962, PublicFormat.UncompressedPoint)


def _report(opening: bytes, share: bytes, mode: bytes) -> bytes:
    return join(_REPORT, opening, share, mode)


def _keys(secret: bytes, opening: bytes, share: bytes) -> Keys:
    drawn = hkdf_sha384(secret, join(opening, share), _KEYS, 3 * KEY_BYTES)
    return Keys(*(drawn[at : at + KEY_BYTES] for at in range(0, 3 * KEY_BYTES, KEY_BYTES)))
