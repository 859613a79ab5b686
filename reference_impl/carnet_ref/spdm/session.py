"""Certificate chains, signatures, and what a session that was opened proves.

Sessions and reports are tokens that only the state machines of this package make. What a requester hands on as evidence
from inside its session is a `SessionReport`, so that a report from outside cannot be taken for one by mistake.

Source: DMTF DSP0274 1.3.2, section "Certificate chains"; 1.2.3, section "Signature generation": 1.1 signs the messages
themselves, later versions a prefix that names version and purpose, and the hash of the messages.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import InitVar, dataclass
from enum import Enum
from typing import Final

from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from carnet_ref.crypto import primitives
from carnet_ref.crypto.certificate_path import parse_der_chain
from carnet_ref.spdm.errors import UntrustedChainError
from carnet_ref.spdm.layout import SIGNATURE_BYTES, Version, u16
from carnet_ref.wire import MalformedError, Reader

Trust = Callable[[tuple[x509.Certificate, ...]], None]
"""Raises `UntrustedChainError` unless the chain, root first and device last, is trusted now."""

_LONG_FORM: Final = 0x82


def encode_chain(certificates: tuple[x509.Certificate, ...]) -> bytes:
    """Return the SPDM form of a chain: its size, the digest of its root, and the certificates, root first."""
    encoded = [certificate.public_bytes(Encoding.DER) for certificate in certificates]
    rest = bytes(2) + primitives.sha384(encoded[0]) + b"".join(encoded)
    return u16(2 + len(rest)) + rest


@dataclass(frozen=True, slots=True)
class Chain:
    """A chain that was read; nothing is said of whether it is trusted."""

    certificates: tuple[x509.Certificate, ...]
    digest: bytes

    @classmethod
    def parse(cls, data: bytes) -> Chain:
        """Read a chain in SPDM's form. Raises MalformedError if it is none, or its root is not the one it names."""
        reader = Reader(data, "certificate chain")
        if (size := reader.number(2, "size")) != len(data):
            raise MalformedError("certificate chain", f"a size of {len(data)}", str(size), 0)
        reader.number(2, "reserved")
        root = reader.take(primitives.SHA384_BYTES, "root digest")
        # The DER sequences that follow each other
        parts = []
        while reader.remaining:
            head = reader.take(4, "certificate header")
            if head[0] != 0x30 or head[1] != _LONG_FORM:
                raise reader.malformed("a certificate of 256 to 65535 bytes", head.hex())
            parts.append(head + reader.take(int.from_bytes(head[2:], "big"), "certificate"))
        encoded = parts
        if not encoded or primitives.sha384(encoded[0]) != root:
            raise MalformedError("certificate chain", "the root it names, first", f"{len(encoded)} others", 4)
        return cls(parse_der_chain(encoded), primitives.sha384(data))

    @property
    def leaf(self) -> x509.Certificate:
        """The device's certificate."""
        return self.certificates[-1]

    def device_key(self) -> ec.EllipticCurvePublicKey:
        """Return the device's key. Raises UntrustedChainError if it is no P-384 key."""
        key = self.leaf.public_key()
        if not isinstance(key, ec.EllipticCurvePublicKey) or not isinstance(key.curve, ec.SECP384R1):
            raise UntrustedChainError("the device's key is no P-384 key")
        return key

    def requester_key(self) -> rsa.RSAPublicKey:
        """Return the requester's key. Raises UntrustedChainError if it is no RSA key of 3072 bits."""
        key = self.leaf.public_key()
        if not isinstance(key, rsa.RSAPublicKey) or key.key_size != primitives.RSA_BITS:
            raise UntrustedChainError(f"the requester's key is no RSA key of {primitives.RSA_BITS} bits")
        return key


_CONTEXT_BYTES: Final = 36


class Purpose(Enum):
    """What a signature is for, in the words that enter it."""

    CHALLENGE_AUTH = "responder-challenge_auth signing"
    MEASUREMENTS = "responder-measurements signing"
    KEY_EXCHANGE_RSP = "responder-key_exchange_rsp signing"
    FINISH = "requester-finish signing"


def signed_bytes(version: Version, purpose: Purpose, transcript: bytes) -> bytes:
    """Return the bytes that are signed."""
    if version < Version.V1_2:
        return transcript
    prefix = f"dmtf-spdm-v{version.label}.*".encode("ascii") * 4
    return prefix + purpose.value.encode("ascii").rjust(_CONTEXT_BYTES, b"\0") + primitives.sha384(transcript)


def sign(key: ec.EllipticCurvePrivateKey, version: Version, purpose: Purpose, transcript: bytes) -> bytes:
    """Return the responder's signature over a transcript."""
    return primitives.sign_p384(key, signed_bytes(version, purpose, transcript))


def verify(
    key: ec.EllipticCurvePublicKey, version: Version, purpose: Purpose, transcript: bytes, signature: bytes
) -> None:
    """Check the responder's signature over a transcript.

    Raises AuthenticationError if it does not verify; KeyMaterialError if the key is on another curve.
    """
    what = f"{purpose.name} signature"
    primitives.verify_p384(key, signature, signed_bytes(version, purpose, transcript), what)


def sign_finish(key: rsa.RSAPrivateKey, version: Version, transcript: bytes) -> bytes:
    """Return the requester's signature over a transcript that ends with FINISH."""
    return primitives.sign_rsa_pss(key, signed_bytes(version, Purpose.FINISH, transcript))


def verify_finish(key: rsa.RSAPublicKey, version: Version, transcript: bytes, signature: bytes) -> None:
    """Check the requester's signature over a transcript that ends with FINISH.

    Raises AuthenticationError if it does not verify; KeyMaterialError if the key has another size than 3072 bits.
    """
    primitives.verify_rsa_pss(key, signature, signed_bytes(version, Purpose.FINISH, transcript), "FINISH signature")


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

        Raises AuthenticationError if it did not; UntrustedChainError if its key is on another curve than devices have.
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
