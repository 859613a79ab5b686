"""Certificate chains, signatures, and tokens for sessions and reports that the state machines established.

Sessions and reports are tokens that only the state machines of this package make. What a requester hands on as evidence
from inside its session is a `SessionReport`, so that a report from outside cannot be taken for one by mistake.

Source: DMTF DSP0274 1.3.2, section "Certificate chains"; 1.2.3, section "Signature generation": 1.1 signs the messages
themselves, later versions a prefix that names version and purpose, and the hash of the messages; 1.3.2, sections
"GET_MEASUREMENTS request" to "MEASUREMENTS response", "Measurement block" and "MeasurementSummaryHash".
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import InitVar, dataclass, field, replace
from enum import Enum
from typing import Final, Protocol

from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from carnet_ref.crypto import primitives
from carnet_ref.crypto.certificate_path import parse_der_chain
from carnet_ref.crypto.primitives import Random, sha384
from carnet_ref.spdm import messages
from carnet_ref.spdm.errors import RequestRefusedError, UntrustedChainError
from carnet_ref.spdm.layout import RANDOM_BYTES, SIGNATURE_BYTES, Version, u16
from carnet_ref.spdm.messages import GetMeasurements
from carnet_ref.wire import MalformedError, Reader

#: Raises `UntrustedChainError` unless the chain, root first and device last, is trusted now.
Trust = Callable[[tuple[x509.Certificate, ...]], None]

_LONG_FORM: Final = 0x82


def encode_chain(certificates: tuple[x509.Certificate, ...]) -> bytes:
    """Return the SPDM form of a chain: its size, the digest of its root, and the certificates, root first."""
    encoded = [certificate.public_bytes(Encoding.DER) for certificate in certificates]
    rest = bytes(2) + primitives.sha384(encoded[0]) + b"".join(encoded)
    return u16(2 + len(rest)) + rest


@dataclass(frozen=True, slots=True)
class Chain:
    """A parsed certificate chain, which need not be trusted."""

    certificates: tuple[x509.Certificate, ...]
    digest: bytes

    @classmethod
    def parse(cls, data: bytes) -> Chain:
        """Read a chain in SPDM's form. Raises MalformedError if the data is malformed or names another root."""
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
    """The purpose of a signature, as the text that is signed with it."""

    CHALLENGE_AUTH = "responder-challenge_auth signing"
    MEASUREMENTS = "responder-measurements signing"
    KEY_EXCHANGE_RSP = "responder-key_exchange_rsp signing"
    FINISH = "requester-finish signing"


def signed_bytes(version: Version, purpose: Purpose, transcript: bytes) -> bytes:
    """Return the bytes that a signature over a transcript covers."""
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


#: What the state machines show when they make a token; nobody else imports it, which the tests check.
MINT: Final = object()


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
    #: The chain whose key signed FINISH; nothing if the requester did not have to say who it is.
    requester: Chain | None = None
    summary: bytes = b""  #: What the responder said of its measurements in the key exchange, if it was asked.

    def __post_init__(self, mint: object) -> None:
        _check(mint)

    @property
    def label(self) -> str:
        """A name of the session that is equal at both ends."""
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
    before: bytes  #: What was negotiated, from 1.2 on; before that, signatures do not cover it.

    @property
    def report(self) -> bytes:
        """Request and response, which is the form that NVIDIA's reports have."""
        return self.request + self.response

    def check_signature(self, version: Version, responder: Chain) -> None:
        """Check that the device whose chain it is signed the report.

        Raises AuthenticationError if the signature is not valid; UntrustedChainError if the key is on another curve.
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


_DMTF_SPECIFICATION: Final = 1
_IMMUTABLE_ROM: Final = 0
_TYPE_MASK: Final = 0x7F  #: The bit above says whether the value is a digest or the raw bytes.
LONGEST_RUN: Final = 1 << 18  #: How many bytes of unsigned measurements, with their requests, a signature may cover.


@dataclass(frozen=True, slots=True)
class MeasurementRequest:
    """A GET_MEASUREMENTS, with what a signature of its response covers besides.

    ``before`` is what was negotiated (from 1.2 on) and the unsigned measurements since the last signature.
    """

    message: messages.GetMeasurements
    raw: bytes
    before: bytes = b""

    @property
    def is_signed(self) -> bool:
        """Whether the response has to be signed."""
        return bool(self.message.attributes & messages.SIGNATURE_REQUESTED)

    def signature(self, key: ec.EllipticCurvePrivateKey, unsigned: bytes) -> bytes:
        """Return the device's signature over a response without one."""
        return sign(key, self.message.version, Purpose.MEASUREMENTS, self.before + self.raw + unsigned)


class Reporter(Protocol):
    """The interface of a device's measurements, signed by the device."""

    def report(self, asked: MeasurementRequest) -> bytes:
        """Return the MEASUREMENTS message for a request, signed if the request asks for that.

        Raises RequestRefusedError if there is no such measurement; PutOffError if it takes time.
        """
        ...

    def summary(self, kind: messages.Summary) -> bytes:
        """Return the digest of all measurements, or of those that the device is rooted in.

        Raises PutOffError if it takes time.
        """
        ...


@dataclass(frozen=True, slots=True)
class Block:
    """One measurement in DMTF's format: its index, its type and its value."""

    index: int
    kind: int
    value: bytes

    @property
    def is_root(self) -> bool:
        """Whether it measures immutable code, the root of all other measurements."""
        return self.kind & _TYPE_MASK == _IMMUTABLE_ROM

    def encode(self) -> bytes:
        """Return the bytes of the block."""
        measured = bytes([self.kind]) + u16(len(self.value)) + self.value
        return bytes([self.index, _DMTF_SPECIFICATION]) + u16(len(measured)) + measured


def summary_of(blocks: tuple[Block, ...], kind: messages.Summary) -> bytes:
    """Return the digest of the blocks that ``kind`` is about; nothing for `Summary.NONE`."""
    if kind is messages.Summary.NONE:
        return b""
    return sha384(b"".join(block.encode() for block in blocks if kind is messages.Summary.ALL or block.is_root))


@dataclass(frozen=True, slots=True)
class BlockReporter:
    """Reports the measurements ``blocks`` with ``opaque`` data, and signs with the device's key."""

    key: ec.EllipticCurvePrivateKey = field(repr=False)
    blocks: Callable[[], tuple[Block, ...]]
    random: Random
    opaque: bytes = b""

    def report(self, asked: MeasurementRequest) -> bytes:
        """Return a response with the number of blocks, with one block, or with all."""
        message, blocks = asked.message, self.blocks()
        total = len(blocks) if message.operation == messages.COUNT_MEASUREMENTS else 0
        chosen = self._chosen(message.operation, blocks)
        record = b"".join(block.encode() for block in chosen)
        nonce, slot = self.random(RANDOM_BYTES), message.slot if asked.is_signed else 0
        response = messages.Measurements(
            message.version, total, slot, len(chosen), record, nonce, self.opaque, message.context, b""
        )
        if not asked.is_signed:
            return response.encode()
        return replace(response, signature=asked.signature(self.key, response.encode())).encode()

    @staticmethod
    def _chosen(operation: int, blocks: tuple[Block, ...]) -> tuple[Block, ...]:
        if operation == messages.COUNT_MEASUREMENTS:
            return ()
        if operation == messages.ALL_MEASUREMENTS:
            return blocks
        chosen = tuple(block for block in blocks if block.index == operation)
        if not chosen:
            raise RequestRefusedError(messages.ErrorCode.INVALID_REQUEST, f"there is no measurement {operation}")
        return chosen

    def summary(self, kind: messages.Summary) -> bytes:
        """Return the digest of the blocks."""
        return summary_of(self.blocks(), kind)


@dataclass(frozen=True, slots=True)
class UnsignedMeasurements:
    """The measurements since the last signature, in one session or outside."""

    messages: bytes = b""

    def answer(
        self, reporter: Reporter, vca: bytes, request: GetMeasurements, raw: bytes
    ) -> tuple[UnsignedMeasurements, bytes]:
        """Return the state after a request, and the response to it.

        Raises RequestRefusedError if it is of another slot than 0, of no measurement, or one too many without a
        signature; PutOffError if it takes time.
        """
        if request.slot:
            raise RequestRefusedError(messages.ErrorCode.INVALID_REQUEST, f"measurements signed by slot {request.slot}")
        if len(self.messages) > LONGEST_RUN:
            raise RequestRefusedError(
                messages.ErrorCode.UNSPECIFIED, f"more than {LONGEST_RUN} bytes without a signature"
            )
        negotiated = vca if request.version >= Version.V1_2 else b""
        asked = MeasurementRequest(request, raw, negotiated + self.messages)
        response = reporter.report(asked)
        return NO_MEASUREMENTS if asked.is_signed else UnsignedMeasurements(self.messages + raw + response), response


NO_MEASUREMENTS: Final = UnsignedMeasurements()
