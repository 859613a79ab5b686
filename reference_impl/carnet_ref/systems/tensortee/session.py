"""Sessions: the CPU enclave of a job agrees on keys with an NPU, once it has attested it."""

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
from carnet_ref.marks import enforces
from carnet_ref.systems.checks import EVERY, Checks
from carnet_ref.systems.tensortee.errors import SessionError
from carnet_ref.wire import join

_REPORT: Final = b"carnet tensortee report"
_DEVICE: Final = b"carnet tensortee device"
_KEYS: Final = b"carnet tensortee keys"


@dataclass(frozen=True, slots=True)
class Keys:
    """What both enclaves have after an exchange, one key for each use."""

    lines: bytes
    macs: bytes
    descriptors: bytes


@dataclass(frozen=True, slots=True)
class Answer:
    """An NPU's answer: its share, a report that names the whole exchange, and the vendor's certificate."""

    share: bytes
    signature: bytes
    device: bytes
    certificate: bytes


class KeyExchange:
    """The CPU enclave's end of the one exchange of a session."""

    def __init__(self, random: Random, checks: Checks = EVERY) -> None:
        self._checks = checks
        self._share = X25519Share(random(KEY_BYTES))
        self._nonce = random(KEY_BYTES)
        self._taken = False

    @property
    def opening(self) -> bytes:
        """What the CPU enclave sends."""
        return self._nonce + self._share.public

    @enforces("REQ-KEY-01", "REQ-KEY-02", "REQ-KEY-03", "npu-attested", "job-key")
    def take(self, answer: Answer, root: ec.EllipticCurvePublicKey) -> Keys:
        """Return the keys that an answer leads to: they belong to this exchange, so to one session of one job.

        Raises:
            SessionError: the report is of another exchange, or of no genuine NPU, or an answer was taken before.
        """
        if self._taken:
            raise SessionError("an answer was taken before, and a session has keys of its own")
        try:
            device = ec.EllipticCurvePublicKey.from_encoded_point(ec.SECP384R1(), answer.device)
            verify_p384(device, answer.signature, join(_REPORT, self.opening, answer.share), "report")
            if self._checks.insist_on("npu-attested"):
                verify_p384(root, answer.certificate, join(_DEVICE, answer.device), "certificate")
            keys = _keys(self._share.agree(answer.share), self.opening, answer.share)
        except (AuthenticationError, KeyMaterialError, ValueError) as error:
            raise SessionError(str(error)) from None
        self._taken = True
        return keys


class Device:
    """An NPU's end of key exchanges: an identity that the vendor certified."""

    def __init__(self, identity: ec.EllipticCurvePrivateKey, certificate: bytes, random: Random) -> None:
        self._identity, self._certificate, self._random = identity, certificate, random

    @enforces("REQ-KEY-01")
    def answer(self, opening: bytes) -> tuple[Answer, Keys]:
        """Answer an exchange with a report that names the whole of it.

        Raises:
            KeyMaterialError: the share of the other end is no share.
        """
        share = X25519Share(self._random(KEY_BYTES))
        keys = _keys(share.agree(opening[KEY_BYTES:]), opening, share.public)
        signature = sign_p384(self._identity, join(_REPORT, opening, share.public))
        return Answer(share.public, signature, _point(self._identity), self._certificate), keys


def certify(root: ec.EllipticCurvePrivateKey, identity: ec.EllipticCurvePrivateKey) -> bytes:
    """Return the vendor's certificate of an NPU."""
    return sign_p384(root, join(_DEVICE, _point(identity)))


def _point(key: ec.EllipticCurvePrivateKey) -> bytes:
    return key.public_key().public_bytes(Encoding.X962, PublicFormat.UncompressedPoint)


def _keys(secret: bytes, opening: bytes, share: bytes) -> Keys:
    drawn = hkdf_sha384(secret, join(opening, share), _KEYS, 3 * KEY_BYTES)
    return Keys(*(drawn[at : at + KEY_BYTES] for at in range(0, 3 * KEY_BYTES, KEY_BYTES)))
