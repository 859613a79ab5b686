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
from carnet_ref.marks import enforces
from carnet_ref.systems.checks import EVERY, Checks
from carnet_ref.systems.fastrack.errors import ReportError
from carnet_ref.wire import join

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
class Report:
    """What a GPU signed: the whole of one exchange, and its mode; a vendor's certificate speaks for its key."""

    opening: bytes
    share: bytes
    mode: bytes
    signature: bytes
    device: bytes
    certificate: bytes


@dataclass(frozen=True, slots=True)
class Answer:
    """The answer to a key exchange: a share, and a report of the GPU that has its other half."""

    share: bytes
    report: Report


class KeyExchange:
    """The user's end of one exchange; the CPU TEE forwards it and has no part in it."""

    def __init__(self, random: Random, checks: Checks = EVERY) -> None:
        self._checks = checks
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
        report = answer.report
        _check_signature(report)
        if self._checks.insist_on("gpu-certificate"):
            _check_certificate(report, root)
        if self._checks.insist_on("report-bound"):
            _check_names_exchange(report, self.opening, answer.share)
        if self._checks.insist_on("mode-check"):
            _check_mode(report)
        try:
            secret = self._share.agree(answer.share)
        except KeyMaterialError as error:
            raise ReportError(str(error)) from None
        return _keys(secret, self.opening, answer.share)


def _check_signature(report: Report) -> None:
    try:
        key = ec.EllipticCurvePublicKey.from_encoded_point(ec.SECP384R1(), report.device)
        verify_p384(key, report.signature, _signed(report.opening, report.share, report.mode), "report")
    except (AuthenticationError, ValueError) as error:
        raise ReportError(str(error)) from None


@enforces("REQ-SETUP-04", "gpu-certificate")
def _check_certificate(report: Report, root: ec.EllipticCurvePublicKey) -> None:
    try:
        verify_p384(root, report.certificate, join(_DEVICE, report.device), "certificate")
    except AuthenticationError as error:
        raise ReportError(str(error)) from None


@enforces("REQ-SETUP-03", "report-bound")
def _check_names_exchange(report: Report, opening: bytes, share: bytes) -> None:
    if (report.opening, report.share) != (opening, share):
        raise ReportError("it names another exchange")


@enforces("REQ-SETUP-05", "mode-check")
def _check_mode(report: Report) -> None:
    if report.mode != CONFIDENTIAL:
        raise ReportError(f"mode {report.mode.decode('ascii', 'replace')}")


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
        signature = sign_p384(self._identity, _signed(opening, share.public, self._mode))
        named = Report(opening, share.public, self._mode, signature, _point(self._identity), self._certificate)
        return Answer(share.public, named), keys


def certify(root: ec.EllipticCurvePrivateKey, identity: ec.EllipticCurvePrivateKey) -> bytes:
    """Return the vendor's certificate of a device."""
    return sign_p384(root, join(_DEVICE, _point(identity)))


def _point(key: ec.EllipticCurvePrivateKey) -> bytes:
    return key.public_key().public_bytes(Encoding.X962, PublicFormat.UncompressedPoint)


def _signed(opening: bytes, share: bytes, mode: bytes) -> bytes:
    return join(_REPORT, opening, share, mode)


def _keys(secret: bytes, opening: bytes, share: bytes) -> Keys:
    drawn = hkdf_sha384(secret, join(opening, share), _KEYS, 3 * KEY_BYTES)
    return Keys(*(drawn[at : at + KEY_BYTES] for at in range(0, 3 * KEY_BYTES, KEY_BYTES)))
