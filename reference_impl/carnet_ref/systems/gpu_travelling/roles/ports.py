"""What roles ask of attestation: sessions, reports and quotes, behind interfaces that evidence of any origin serves."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from carnet_ref.attestation.appraisal import Appraisal


@dataclass(frozen=True, slots=True)
class GpuEvidence:
    """A GPU's signed report and the certificate chain that comes with it."""

    report: bytes
    chain: bytes


class SessionEnd(Protocol):
    """One end of a session between orchestrator and GPU.

    Every method raises ``SpdmError`` or ``CryptoError`` on what does not verify; the session is dead then.
    """

    @property
    def label(self) -> str:
        """A name of the session that both ends know; empty until the key exchange is under way."""

    @property
    def established(self) -> bool:
        """Whether both ends have finished the handshake."""

    def receive(self, message: bytes) -> list[bytes]:
        """Take a handshake message and return those that answer it."""

    def secret(self) -> bytes:
        """Return the session's exported master secret, once."""

    def seal(self, message: bytes) -> bytes:
        """Protect a message inside the session."""

    def open(self, message: bytes) -> bytes:
        """Return a message that came inside the session."""


class Requester(SessionEnd, Protocol):
    """The orchestrator's end."""

    def begin(self) -> list[bytes]:
        """Return the first messages."""

    def report_nonce(self, drawn: bytes) -> bytes:
        """Return the nonce that a report has to answer: it commits to this session and to the bytes just drawn."""

    def ask_report(self, nonce: bytes) -> bytes:
        """Return the request, inside the session, for a report on ``nonce``."""

    def take_evidence(self, message: bytes) -> GpuEvidence:
        """Return the evidence that answers the request, as it came inside the session."""

    @property
    def responder_key(self) -> bytes:
        """The public key that signed the key exchange, as DER."""


class Responder(SessionEnd, Protocol):
    """The GPU's end; requests for reports are answered by ``receive``."""


class GpuAppraiser(Protocol):
    """Appraises a GPU's report step by step."""

    def appraise(self, evidence: GpuEvidence, nonce: bytes) -> Appraisal:
        """Return the steps; claims hold ``device``, ``mode`` and ``key``."""


class Quoter(Protocol):
    """Makes the orchestrator's composite evidence."""

    def evidence(self, exporter: bytes, nonce: bytes, manifest: bytes, gpu: GpuEvidence) -> bytes:
        """Return a quote with what it is bound to."""


class QuoteAppraiser(Protocol):
    """Appraises the orchestrator's composite evidence step by step."""

    def appraise(self, evidence: bytes, exporter: bytes, nonce: bytes, manifest: bytes) -> Appraisal:
        """Return the steps."""
