"""The key exchange of a user and a GPU, in which the user accepts only a report about this exchange."""

from dataclasses import dataclass
from functools import partial
from typing import Final

from cryptography.hazmat.primitives.asymmetric import ec

from carnet_ref.crypto import primitives
from carnet_ref.marks import enforces
from carnet_ref.systems import devices
from carnet_ref.systems.checks import EVERY, Checks
from carnet_ref.systems.devices import derived_keys, point, refused_as, verify_under
from carnet_ref.wire import join


class FastrackError(Exception):
    """The protocol refuses something."""


class ReportError(FastrackError):
    """A user refuses a report."""

    def __init__(self, reason: str) -> None:
        super().__init__(f"the report is not taken: {reason}")


class KernelError(FastrackError):
    """The GPU refuses to run code."""

    def __init__(self, digest: bytes) -> None:
        super().__init__(f"the user did not name the code {digest.hex()[:16]}…")


class TransferError(FastrackError):
    """A transfer is refused or ended, and nothing of it is released."""

    def __init__(self, transfer: int, reason: str) -> None:
        super().__init__(f"transfer {transfer}: {reason}")
        self.transfer = transfer


CONFIDENTIAL: Final = b"confidential"
OPEN: Final = b"open"
_REPORT: Final = b"carnet fastrack report"
_DEVICE: Final = b"carnet fastrack device"
_KEYS: Final = b"carnet fastrack keys"
#: Returns the certificate of a device, from the vendor's key and the device's.
certify: Final = partial(devices.certify, _DEVICE)


@dataclass(frozen=True, slots=True)
class Keys:
    """The keys of both ends after an exchange, one for each use."""

    chunks: bytes
    answers: bytes
    codes: bytes


@dataclass(frozen=True, slots=True)
class Report:
    """A GPU's signed statement: transcript of one exchange and mode, with the vendor's certificate of its key."""

    opening: bytes
    share: bytes
    mode: bytes
    signature: bytes
    device: bytes
    certificate: bytes


@dataclass(frozen=True, slots=True)
class Answer:
    """The answer in a key exchange: a key share and a report."""

    share: bytes
    report: Report


class KeyExchange:
    """The user's end of one exchange; the CPU TEE only forwards it."""

    def __init__(self, random: primitives.Random, checks: Checks = EVERY) -> None:
        self._checks = checks
        self._share = primitives.X25519Share(random(primitives.KEY_BYTES))
        self._nonce = random(primitives.KEY_BYTES)

    @property
    def opening(self) -> bytes:
        """The user's message."""
        return self._nonce + self._share.public

    @enforces("REQ-SETUP-01", "direct-key")
    def take(self, answer: Answer, root: ec.EllipticCurvePublicKey) -> Keys:
        """Return the keys after the GPU's answer.

        Raises ReportError if the report is of another exchange, of no genuine GPU, or of one out of confidential mode.
        """
        report = answer.report
        with refused_as(ReportError, primitives.AuthenticationError, ValueError):
            signed = _signed(report.opening, report.share, report.mode)
            verify_under(report.device, report.signature, signed, "report")
        if self._checks.insist_on("gpu-certificate"):
            _check_certificate(report, root)
        if self._checks.insist_on("report-bound"):
            _check_names_exchange(report, self.opening, answer.share)
        if self._checks.insist_on("mode-check"):
            _check_mode(report)
        with refused_as(ReportError, primitives.KeyMaterialError):
            secret = self._share.agree(answer.share)
        return _keys(secret, self.opening, answer.share)


@enforces("REQ-SETUP-04", "gpu-certificate")
def _check_certificate(report: Report, root: ec.EllipticCurvePublicKey) -> None:
    with refused_as(ReportError, primitives.AuthenticationError):
        primitives.verify_p384(root, report.certificate, join(_DEVICE, report.device), "certificate")


@enforces("REQ-SETUP-03", "report-bound")
def _check_names_exchange(report: Report, opening: bytes, share: bytes) -> None:
    if (report.opening, report.share) != (opening, share):
        raise ReportError("it names another exchange")


@enforces("REQ-SETUP-05", "mode-check")
def _check_mode(report: Report) -> None:
    if report.mode != CONFIDENTIAL:
        raise ReportError(f"mode {report.mode.decode('ascii', 'replace')}")


class Device:
    """A GPU's end of key exchanges: its certified identity and its mode."""

    def __init__(
        self, identity: ec.EllipticCurvePrivateKey, certificate: bytes, mode: bytes, random: primitives.Random
    ) -> None:
        self._identity, self._certificate, self._mode, self._random = identity, certificate, mode, random

    @enforces("REQ-SETUP-02")
    def answer(self, opening: bytes) -> tuple[Answer, Keys]:
        """Return the answer and the keys; the report names the exchange's transcript and the mode.

        Raises KeyMaterialError if the user's share is no share.
        """
        share = primitives.X25519Share(self._random(primitives.KEY_BYTES))
        keys = _keys(share.agree(opening[primitives.KEY_BYTES :]), opening, share.public)
        signature = primitives.sign_p384(self._identity, _signed(opening, share.public, self._mode))
        named = Report(opening, share.public, self._mode, signature, point(self._identity), self._certificate)
        return Answer(share.public, named), keys


def _signed(opening: bytes, share: bytes, mode: bytes) -> bytes:
    return join(_REPORT, opening, share, mode)


def _keys(secret: bytes, opening: bytes, share: bytes) -> Keys:
    return Keys(*derived_keys(secret, join(opening, share), _KEYS, 3))
