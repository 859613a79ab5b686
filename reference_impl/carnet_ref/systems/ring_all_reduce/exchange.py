"""The key exchange of a hop: two neighbouring ranks agree on a key, and check each other's report."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Final

from cryptography.hazmat.primitives.asymmetric import ec

from carnet_ref.crypto import primitives
from carnet_ref.marks import enforces
from carnet_ref.systems import devices
from carnet_ref.systems.devices import point, refused_as, verify_under
from carnet_ref.wire import MalformedError, join, number, split, to_number


class RingError(Exception):
    """The protocol refuses something."""


class ReportError(RingError):
    """A rank refuses a report."""

    def __init__(self, reason: str) -> None:
        super().__init__(f"the report is not taken: {reason}")


class TurnError(RingError):
    """A rank refuses a step, because it was taken already or is too early."""

    def __init__(self, rank: int, reason: str) -> None:
        super().__init__(f"rank {rank}: {reason}")
        self.rank = rank
        self.reason = reason


class AlarmError(RingError):
    """A rank has raised the alarm, because a message failed or is missing, and takes no further part."""

    def __init__(self, rank: int, reason: str) -> None:
        super().__init__(f"rank {rank} raised the alarm: {reason}")
        self.rank = rank
        self.reason = reason


CONFIDENTIAL: Final = b"confidential"
OPEN: Final = b"open"
_REPORT: Final = b"carnet ring all-reduce report"
_DEVICE: Final = b"carnet ring all-reduce device"
_KEY: Final = b"carnet ring all-reduce hop"
#: Returns the certificate of a device, from the vendor's key and the device's.
certify: Final = partial(devices.certify, _DEVICE)
_FIELDS: Final = ("share", "mode", "code", "place", "signature", "device", "certificate")


@dataclass(frozen=True, slots=True)
class Report:
    """An attestation report: mode, code and ring position, signed together with the key-exchange transcript."""

    mode: bytes
    code: bytes
    place: int
    signature: bytes
    device: bytes
    certificate: bytes


@dataclass(frozen=True, slots=True)
class ExchangeMessage:
    """A message of the exchange: a key share and the sender's report."""

    share: bytes
    report: Report

    def encode(self) -> bytes:
        """Return the message as bytes."""
        report = self.report
        parts = (report.mode, report.code, number(report.place), report.signature, report.device, report.certificate)
        return join(self.share, *parts)

    @staticmethod
    def decode(data: bytes) -> ExchangeMessage:
        """Return the message in some bytes. Raises ReportError if they are malformed."""
        with refused_as(ReportError, MalformedError):
            share, mode, code, place, *rest = split(data, "exchange", *_FIELDS)
            return ExchangeMessage(share, Report(mode, code, to_number(place, "exchange", "place"), *rest))


class Device:
    """A GPU: its certified identity, its mode, its code and its ring position."""

    def __init__(
        self, identity: ec.EllipticCurvePrivateKey, certificate: bytes, mode: bytes, code: bytes, place: int
    ) -> None:
        self._identity, self._certificate = identity, certificate
        self._mode, self._code, self.place = mode, code, place

    @enforces("REQ-SETUP-02")
    def report(self, exchange: bytes) -> Report:
        """Return this GPU's report about an exchange."""
        named = _named(exchange, self._mode, self._code, self.place)
        signature = primitives.sign_p384(self._identity, named)
        return Report(self._mode, self._code, self.place, signature, point(self._identity), self._certificate)


class ReportCheck:
    """A rank's checks of a report, before it uses the key of an exchange."""

    def __init__(self, root: ec.EllipticCurvePublicKey, code: bytes) -> None:
        self._root, self._code = root, code

    def verify(self, report: Report, exchange: bytes, place: int) -> None:
        """Check that a report is about ``exchange``, by the GPU at position ``place`` of the ring.

        Raises ReportError if it is of another exchange or place, of no genuine GPU, or of one with another mode or
        code.
        """
        self.certificate(report)
        self.check_binding(report, exchange)
        self.check_mode(report)
        self.check_code(report)
        self.check_position(report, place)

    @enforces("REQ-SETUP-04", "gpu-certificate")
    def certificate(self, report: Report) -> None:
        """Refuse a signer without the vendor's certificate."""
        with refused_as(ReportError, primitives.AuthenticationError):
            primitives.verify_p384(self._root, report.certificate, join(_DEVICE, report.device), "certificate")

    @enforces("REQ-SETUP-03", "report-bound")
    def check_binding(self, report: Report, exchange: bytes) -> None:
        """Refuse a report of another exchange."""
        verify_report(report, exchange)

    @enforces("REQ-SETUP-05", "mode-check")
    def check_mode(self, report: Report) -> None:
        """Refuse a GPU that is not in confidential mode."""
        if report.mode != CONFIDENTIAL:
            raise ReportError(f"mode {report.mode.decode('ascii', 'replace')}")

    @enforces("REQ-SETUP-06", "code-check")
    def check_code(self, report: Report) -> None:
        """Refuse a GPU that does not run this job's trainer."""
        if report.code != self._code:
            raise ReportError(f"code {report.code.hex()[:16]}")

    @enforces("REQ-SETUP-07", "neighbour-check")
    def check_position(self, report: Report, place: int) -> None:
        """Refuse a rank that is not the neighbour."""
        if report.place != place:
            raise ReportError(f"place {report.place}, and not {place}")


class HopOpening:
    """The sending end of a hop, until its exchange is complete."""

    def __init__(self, device: Device, random: primitives.Random) -> None:
        self._share = primitives.X25519Share(random(primitives.KEY_BYTES))
        self.half = ExchangeMessage(self._share.public, device.report(self._share.public))

    @enforces("REQ-SETUP-01", "hop-key")
    def take(self, answer: ExchangeMessage, check: ReportCheck, after: int) -> bytes:
        """Return the hop's key, after checking the answer of rank ``after``."""
        check.verify(answer.report, self._share.public + answer.share, after)
        return _key(self._share, answer.share, self._share.public + answer.share)


def answer_hop(
    device: Device, opening: ExchangeMessage, check: ReportCheck, before: int, random: primitives.Random
) -> tuple[ExchangeMessage, bytes]:
    """Return the receiving end's answer and the hop's key, after checking the opening of rank ``before``.

    Raises ReportError if the opening is not from there.
    """
    check.verify(opening.report, opening.share, before)
    share = primitives.X25519Share(random(primitives.KEY_BYTES))
    exchange = opening.share + share.public
    return ExchangeMessage(share.public, device.report(exchange)), _key(share, opening.share, exchange)


def verify_report(report: Report, exchange: bytes) -> None:
    """Verify the signature of a report over an exchange. Raises ReportError if it does not verify."""
    named = _named(exchange, report.mode, report.code, report.place)
    with refused_as(ReportError, primitives.AuthenticationError, ValueError):
        verify_under(report.device, report.signature, named, "report")


def _named(exchange: bytes, mode: bytes, code: bytes, place: int) -> bytes:
    return join(_REPORT, exchange, mode, code, number(place))


def _key(share: primitives.X25519Share, other: bytes, exchange: bytes) -> bytes:
    with refused_as(ReportError, primitives.KeyMaterialError):
        return primitives.hkdf_sha384(share.agree(other), exchange, _KEY, primitives.KEY_BYTES)
