"""Key exchange of a hop: a rank and the next one agree on a key, and each takes the other's report for it only."""

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
from carnet_ref.systems.ring_all_reduce.errors import ReportError
from carnet_ref.wire import MalformedError, join, number, split, to_number

CONFIDENTIAL: Final = b"confidential"
OPEN: Final = b"open"
_REPORT: Final = b"carnet ring all-reduce report"
_DEVICE: Final = b"carnet ring all-reduce device"
_KEY: Final = b"carnet ring all-reduce hop"
_FIELDS: Final = ("share", "mode", "code", "place", "signature", "device", "certificate")


@dataclass(frozen=True, slots=True)
class Report:
    """What a GPU signs: its mode, its code and its place, beside the exchange that it speaks of."""

    mode: bytes
    code: bytes
    place: int
    signature: bytes
    device: bytes
    certificate: bytes


@dataclass(frozen=True, slots=True)
class Half:
    """One message of the exchange: a share, and the report of its sender."""

    share: bytes
    report: Report

    def encoded(self) -> bytes:
        """Return what goes over the link."""
        report = self.report
        parts = (report.mode, report.code, number(report.place), report.signature, report.device, report.certificate)
        return join(self.share, *parts)

    @staticmethod
    def decoded(data: bytes) -> Half:
        """Return what came over a link.

        Raises:
            ReportError: it is no half of an exchange.
        """
        try:
            share, mode, code, place, signature, device, certificate = split(data, "exchange", *_FIELDS)
            return Half(
                share, Report(mode, code, to_number(place, "exchange", "place"), signature, device, certificate)
            )
        except MalformedError as error:
            raise ReportError(str(error)) from None


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
        signature = sign_p384(self._identity, named)
        return Report(self._mode, self._code, self.place, signature, _point(self._identity), self._certificate)


class ReportCheck:
    """What a rank asks of a report before it uses the key of an exchange."""

    def __init__(self, root: ec.EllipticCurvePublicKey, code: bytes) -> None:
        self._root, self._code = root, code

    def take(self, report: Report, exchange: bytes, place: int) -> None:
        """Take a report of the GPU at a place in the ring, for one exchange.

        Raises:
            ReportError: it is of another exchange or place, of no genuine GPU, or of one with another mode or code.
        """
        self.certificate(report)
        self.names_exchange(report, exchange)
        self.mode(report)
        self.code(report)
        self.place(report, place)

    @enforces("REQ-SETUP-04", "gpu-certificate")
    def certificate(self, report: Report) -> None:
        """Refuse a signer that the vendor did not certify."""
        try:
            verify_p384(self._root, report.certificate, join(_DEVICE, report.device), "certificate")
        except AuthenticationError as error:
            raise ReportError(str(error)) from None

    @enforces("REQ-SETUP-03", "report-bound")
    def names_exchange(self, report: Report, exchange: bytes) -> None:
        """Refuse a report of another exchange."""
        verify_report(report, exchange)

    @enforces("REQ-SETUP-05", "mode-check")
    def mode(self, report: Report) -> None:
        """Refuse a GPU out of confidential mode."""
        if report.mode != CONFIDENTIAL:
            raise ReportError(f"mode {report.mode.decode('ascii', 'replace')}")

    @enforces("REQ-SETUP-06", "code-check")
    def code(self, report: Report) -> None:
        """Refuse a GPU that runs something else than this job's trainer."""
        if report.code != self._code:
            raise ReportError(f"code {report.code.hex()[:16]}")

    @enforces("REQ-SETUP-07", "neighbour-check")
    def place(self, report: Report, place: int) -> None:
        """Refuse a rank that is not the neighbour."""
        if report.place != place:
            raise ReportError(f"place {report.place}, and not {place}")


class HopOpening:
    """The sending end of a hop, while its exchange is open."""

    def __init__(self, device: Device, random: Random) -> None:
        self._share = X25519Share(random(KEY_BYTES))
        self.half = Half(self._share.public, device.report(self._share.public))

    @enforces("REQ-SETUP-01", "hop-key")
    def take(self, answer: Half, check: ReportCheck, after: int) -> bytes:
        """Return the key of the hop to the rank after this one.

        Raises:
            ReportError: the answer is not from there.
        """
        check.take(answer.report, self._share.public + answer.share, after)
        return _key(self._share, answer.share, self._share.public + answer.share)


def answer_hop(device: Device, opening: Half, check: ReportCheck, before: int, random: Random) -> tuple[Half, bytes]:
    """Return the answer of the receiving end of a hop, and the key of the hop from the rank before it.

    Raises:
        ReportError: the opening is not from there.
    """
    check.take(opening.report, opening.share, before)
    share = X25519Share(random(KEY_BYTES))
    exchange = opening.share + share.public
    return Half(share.public, device.report(exchange)), _key(share, opening.share, exchange)


def verify_report(report: Report, exchange: bytes) -> None:
    """Verify the signature of a report over the exchange that it is to name.

    Raises:
        ReportError: it does not verify.
    """
    named = _named(exchange, report.mode, report.code, report.place)
    try:
        key = ec.EllipticCurvePublicKey.from_encoded_point(ec.SECP384R1(), report.device)
        verify_p384(key, report.signature, named, "report")
    except (AuthenticationError, ValueError) as error:
        raise ReportError(str(error)) from None


def certify(root: ec.EllipticCurvePrivateKey, identity: ec.EllipticCurvePrivateKey) -> bytes:
    """Return the vendor's certificate of a device."""
    return sign_p384(root, join(_DEVICE, _point(identity)))


def _point(key: ec.EllipticCurvePrivateKey) -> bytes:
    return key.public_key().public_bytes(Encoding.X962, PublicFormat.UncompressedPoint)


def _named(exchange: bytes, mode: bytes, code: bytes, place: int) -> bytes:
    return join(_REPORT, exchange, mode, code, number(place))


def _key(share: X25519Share, other: bytes, exchange: bytes) -> bytes:
    try:
        return hkdf_sha384(share.agree(other), exchange, _KEY, KEY_BYTES)
    except KeyMaterialError as error:
        raise ReportError(str(error)) from None
