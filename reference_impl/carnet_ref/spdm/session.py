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
class SessionReport:
    """A measurement report that arrived inside a session; it is not appraised, and its signature not checked."""

    session: GpuSession
    nonce: bytes
    request: bytes
    response: bytes
    mint: InitVar[object]

    def __post_init__(self, mint: object) -> None:
        _check(mint)

    @property
    def report(self) -> bytes:
        """Request and response, which is the form that NVIDIA's reports have."""
        return self.request + self.response


def key_bytes(key: ec.EllipticCurvePublicKey) -> bytes:
    """Return a public key as DER."""
    return key.public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
