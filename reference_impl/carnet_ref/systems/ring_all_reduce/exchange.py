"""Key exchange of a hop: a rank and the next one agree on a key, and each accepts the other's report for it only."""

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
    """Something that the protocol refuses."""


class ReportError(RingError):
    """A report that a rank does not take."""

    def __init__(self, reason: str) -> None:
        super().__init__(f"the report is not taken: {reason}")


class TurnError(RingError):
    """A step that a rank does not take, because it would take it twice or too early."""

    def __init__(self, rank: int, reason: str) -> None:
        super().__init__(f"rank {rank}: {reason}")
        self.rank = rank
        self.reason = reason


class AlarmError(RingError):
    """The alarm of a rank: a message failed or did not come, and the rank takes no further part."""

    def __init__(self, rank: int, reason: str) -> None:
        super().__init__(f"rank {rank} raised the alarm: {reason}")
        self.rank = rank
        self.reason = reason


CONFIDENTIAL: Final = b"confidential"
OPEN: Final = b"open"
_REPORT: Final = b"carnet ring all-reduce report"
_DEVICE: Final = b"carnet ring all-reduce device"
_KEY: Final = b"carnet ring all-reduce hop"
certify: Final = partial(devices.certify, _DEVICE)
"""Returns the certificate of a device, from the vendor's key and the device's."""
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
    """One message of the exchange: a share, and the report of its sender."""

    share: bytes
    report: Report

    def encoded(self) -> bytes:
        """Return what goes over the link."""
        report = self.report
        parts = (report.mode, report.code, number(report.place), report.signature, report.device, report.certificate)
        return join(self.share, *parts)

    @staticmethod
    def decoded(data: bytes) -> ExchangeMessage:
        """Return what came over a link. Raises ReportError if it is no half of an exchange."""
        with refused_as(ReportError, MalformedError):
            share, mode, code, place, *rest = split(data, "exchange", *_FIELDS)
            return ExchangeMessage(share, Report(mode, code, to_number(place, "exchange", "place"), *rest))


class Device:
    """A GPU: an identity that its vendor certified, a mode, the code that it runs, and the place that it says."""

    def __init__(
        self, identity: ec.EllipticCurvePrivateKey, certificate: bytes, mode: bytes, code: bytes, place: int
    ) -> None:
        self._identity, self._certificate = identity, certificate
        self._mode, self._code, self.place = mode, code, place

    @enforces("REQ-SETUP-02")
    def report(self, exchange: bytes) -> Report:
        """Return a report that names an exchange, and what this GPU is."""
        named = _named(exchange, self._mode, self._code, self.place)
        signature = primitives.sign_p384(self._identity, named)
        return Report(self._mode, self._code, self.place, signature, point(self._identity), self._certificate)


class ReportCheck:
    """What a rank asks of a report before it uses the key of an exchange."""

    def __init__(self, root: ec.EllipticCurvePublicKey, code: bytes) -> None:
        self._root, self._code = root, code

    def verify(self, report: Report, exchange: bytes, place: int) -> None:
        """Verify a report of the GPU at a place in the ring, for one exchange.

        Raises:
            ReportError: it is of another exchange or place, of no genuine GPU, or of one with another mode or code.
        """
        self.certificate(report)
        self.check_binding(report, exchange)
        self.check_mode(report)
        self.check_code(report)
        self.check_position(report, place)

    @enforces("REQ-SETUP-04", "gpu-certificate")
    def certificate(self, report: Report) -> None:
        """Refuse a signer that the vendor did not certify."""
        with refused_as(ReportError, primitives.AuthenticationError):
            primitives.verify_p384(self._root, report.certificate, join(_DEVICE, report.device), "certificate")

    @enforces("REQ-SETUP-03", "report-bound")
    def check_binding(self, report: Report, exchange: bytes) -> None:
        """Refuse a report of another exchange."""
        verify_report(report, exchange)

    @enforces("REQ-SETUP-05", "mode-check")
    def check_mode(self, report: Report) -> None:
        """Refuse a GPU out of confidential mode."""
        if report.mode != CONFIDENTIAL:
            raise ReportError(f"mode {report.mode.decode('ascii', 'replace')}")

    @enforces("REQ-SETUP-06", "code-check")
    def check_code(self, report: Report) -> None:
        """Refuse a GPU that runs something else than this job's trainer."""
        if report.code != self._code:
            raise ReportError(f"code {report.code.hex()[:16]}")

    @enforces("REQ-SETUP-07", "neighbour-check")
    def check_position(self, report: Report, place: int) -> None:
        """Refuse a rank that is not the neighbour."""
        if report.place != place:
            raise ReportError(f"place {report.place}, and not {place}")


class HopOpening:
    """The sending end of a hop, while its exchange is open."""

    def __init__(self, device: Device, random: primitives.Random) -> None:
        self._share = primitives.X25519Share(random(primitives.KEY_BYTES))
        self.half = ExchangeMessage(self._share.public, device.report(self._share.public))

    @enforces("REQ-SETUP-01", "hop-key")
    def take(self, answer: ExchangeMessage, check: ReportCheck, after: int) -> bytes:
        """Return the key of the hop to the rank after this one. Raises ReportError if the answer is not from there."""
        check.verify(answer.report, self._share.public + answer.share, after)
        return _key(self._share, answer.share, self._share.public + answer.share)


def answer_hop(
    device: Device, opening: ExchangeMessage, check: ReportCheck, before: int, random: primitives.Random
) -> tuple[ExchangeMessage, bytes]:
    """Return the answer of the receiving end of a hop, and the key of the hop from the rank before it.

    Raises ReportError if the opening is not from there.
    """
    check.verify(opening.report, opening.share, before)
    share = primitives.X25519Share(random(primitives.KEY_BYTES))
    exchange = opening.share + share.public
    return ExchangeMessage(share.public, device.report(exchange)), _key(share, opening.share, exchange)


def verify_report(report: Report, exchange: bytes) -> None:
    """Verify the signature of a report over the exchange that it is to name.

    Raises ReportError if it does not verify.
    """
    named = _named(exchange, report.mode, report.code, report.place)
    with refused_as(ReportError, primitives.AuthenticationError, ValueError):
        verify_under(report.device, report.signature, named, "report")


def _named(exchange: bytes, mode: bytes, code: bytes, place: int) -> bytes:
    return join(_REPORT, exchange, mode, code, number(place))


def _key(share: primitives.X25519Share, other: bytes, exchange: bytes) -> bytes:
    with refused_as(ReportError, primitives.KeyMaterialError):
        return primitives.hkdf_sha384(share.agree(other), exchange, _KEY, primitives.KEY_BYTES)
