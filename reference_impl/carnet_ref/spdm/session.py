"""What a session that was opened proves: tokens that only the state machines of this package make.

What a requester hands on as evidence from inside its session is a `SessionReport`, so that a report from outside
cannot be taken for one by mistake.
"""

from __future__ import annotations

from dataclasses import InitVar, dataclass
from typing import Final

from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from carnet_ref.spdm.chain import Chain
from carnet_ref.spdm.messages import Version
from carnet_ref.spdm.messages.common import SIGNATURE_BYTES
from carnet_ref.spdm.signing import Purpose, verify

MINT: Final = object()
"""What the state machines show when they make a token; nobody else imports it, which the tests check."""


def _check(mint: object) -> None:
    if mint is not MINT:
        raise TypeError("a session's tokens come from its state machine")


@dataclass(frozen=True, slots=True)
class GpuSession:
    """A session whose key exchange the responder signed, and whose handshake both ends finished.

    ``transcript`` is TH2, the digest of everything that was agreed: no two sessions share it. ``responder`` is the
    chain whose first key signed the exchange; the requester's trust check accepted it.
    """

    id: int
    version: Version
    transcript: bytes
    responder: Chain
    mint: InitVar[object]
    requester: Chain | None = None
    """The chain whose key signed FINISH; nothing if the requester did not have to say who it is."""
    summary: bytes = b""
    """What the responder said of its measurements in the key exchange, if it was asked."""

    def __post_init__(self, mint: object) -> None:
        _check(mint)

    @property
    def label(self) -> str:
        """A name of the session that both ends know."""
        return self.transcript[:8].hex()

    @property
    def certificate(self) -> x509.Certificate:
        """The responder's certificate."""
        return self.responder.leaf

    @property
    def responder_key(self) -> bytes:
        """The public key that signed the key exchange, as DER."""
        return key_bytes(self.responder.device_key())


@dataclass(frozen=True, slots=True)
class _Report:
    """A signed MEASUREMENTS, the request that it answers, and what its signature covers before that."""

    nonce: bytes
    request: bytes
    response: bytes
    before: bytes
    """What was negotiated, from 1.2 on; before that, signatures do not cover it."""

    @property
    def report(self) -> bytes:
        """Request and response, which is the form that NVIDIA's reports have."""
        return self.request + self.response

    def check_signature(self, version: Version, responder: Chain) -> None:
        """Check that the device whose chain it is signed the report.

        Raises:
            AuthenticationError: it did not.
            UntrustedChainError: its key is on another curve than devices have.
        """
        signed, signature = self.response[:-SIGNATURE_BYTES], self.response[-SIGNATURE_BYTES:]
        transcript = self.before + self.request + signed
        verify(responder.device_key(), version, Purpose.MEASUREMENTS, transcript, signature)


@dataclass(frozen=True, slots=True)
class SessionReport(_Report):
    """A measurement report that arrived inside a session; it is not appraised, and its signature not checked."""

    session: GpuSession
    mint: InitVar[object]

    def __post_init__(self, mint: object) -> None:
        _check(mint)


@dataclass(frozen=True, slots=True)
class DeviceReport(_Report):
    """A measurement report from outside any session, which ``responder`` signed; it is not appraised."""

    responder: Chain
    version: Version
    mint: InitVar[object]

    def __post_init__(self, mint: object) -> None:
        _check(mint)
        self.check_signature(self.version, self.responder)


def key_bytes(key: ec.EllipticCurvePublicKey) -> bytes:
    """Return a public key as DER."""
    return key.public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
