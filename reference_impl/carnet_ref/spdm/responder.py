"""The responder: the device's end, which proves who it is and reports what runs on it.

Source: DMTF DSP0274 1.3.2, "SPDM messages" in the order of a session by key exchange; DSP0277 1.2.0.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import ClassVar

from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec

from carnet_ref.crypto.primitives import P384Share, Random, sha384
from carnet_ref.keys.h100 import OneTimeSecret
from carnet_ref.spdm import opaque
from carnet_ref.spdm.chain import Chain, encode_chain
from carnet_ref.spdm.errors import DowngradeError, PskRefusedError, UnexpectedMessageError
from carnet_ref.spdm.events import Closed, KeysUpdated, Opened, SessionEffect
from carnet_ref.spdm.key_schedule import HandshakeSecrets
from carnet_ref.spdm.machine import Ended, Secured, SessionState, SessionStep, becoming, expect, plain, read_plain
from carnet_ref.spdm.messages import (
    Certificate,
    Digests,
    EndSession,
    EndSessionAck,
    Error,
    ErrorCode,
    Finish,
    FinishRsp,
    GetCapabilities,
    GetCertificate,
    GetDigests,
    GetMeasurements,
    GetVersion,
    Heartbeat,
    HeartbeatAck,
    KeyExchange,
    KeyExchangeRsp,
    KeyUpdate,
    KeyUpdateAck,
    Layout,
    Message,
    NegotiateAlgorithms,
    UpdateOperation,
)
from carnet_ref.spdm.messages.common import HASH_BYTES, RANDOM_BYTES
from carnet_ref.spdm.messages.identity import SIGNATURE_REQUESTED
from carnet_ref.spdm.profile import H100_DEVICE, Profile
from carnet_ref.spdm.records import SPDM, RecordKeys
from carnet_ref.spdm.session import MINT, GpuSession
from carnet_ref.spdm.signing import Purpose, sign
from carnet_ref.wire.reader import MalformedError

Reporter = Callable[[bytes], bytes]
"""Returns the MEASUREMENTS response, signed, to the bytes of a GET_MEASUREMENTS request."""

_HEARTBEAT_SECONDS = 4
"""Source: open-gpu-kernel-modules, spdm.c."""


@dataclass(frozen=True, slots=True)
class ResponderConfig:
    """What a responder is given: its certificates, root first, the key of the last, and who makes its reports."""

    certificates: tuple[x509.Certificate, ...]
    key: ec.EllipticCurvePrivateKey = field(repr=False)
    report: Reporter
    random: Random
    profile: Profile = H100_DEVICE

    @property
    def chain(self) -> bytes:
        """The chain as SPDM carries it."""
        return encode_chain(self.certificates)


@dataclass(frozen=True, slots=True)
class _Handshake(SessionState):
    """A state before the session: what was said so far, which everything later is bound to."""

    config: ResponderConfig
    transcript: bytes = b""
    layout: Layout = field(default_factory=Layout)

    def read(self, data: bytes) -> Message:
        """Return the peer's message."""
        return read_plain(data, self.layout, self.awaits)

    def refusal(self, error: Exception) -> tuple[SessionEffect, ...]:
        """Tell the peer in the clear what kind of error it was; there is no session to say it in."""
        match error:
            case DowngradeError():
                code = ErrorCode.VERSION_MISMATCH
            case PskRefusedError():
                code = ErrorCode.UNSUPPORTED_REQUEST
            case UnexpectedMessageError():
                code = ErrorCode.UNEXPECTED_REQUEST
            case MalformedError():
                code = ErrorCode.INVALID_REQUEST
            case _:
                code = ErrorCode.UNSPECIFIED
        return (plain(Error(self.layout.version, code)),)


@dataclass(frozen=True, slots=True)
class AwaitGetVersion(_Handshake):
    """Nothing was said."""

    awaits: ClassVar[str] = "GET_VERSION"

    def receive(self, data: bytes) -> SessionStep:
        """Say which versions there are."""
        expect(GetVersion, self.read(data))
        versions = self.config.profile.version_list()
        return AwaitGetCapabilities(self.config, data[1:] + versions.encode()), (plain(versions),)


@dataclass(frozen=True, slots=True)
class AwaitGetCapabilities(_Handshake):
    """VERSION was sent; this request's version is the one that the requester chose."""

    awaits: ClassVar[str] = "GET_CAPABILITIES"

    def receive(self, data: bytes) -> SessionStep:
        """Check the version and the requester's abilities."""
        layout = self.layout
        if data[2:3] == bytes([GetCapabilities.CODE]):
            layout = Layout(self.config.profile.check_version(data[1]))
        request = expect(GetCapabilities, read_plain(data, layout, self.awaits))
        self.config.profile.check_capabilities(request)
        response = self.config.profile.capabilities(layout.version)
        transcript = self.transcript + data[1:] + response.encode()
        return AwaitNegotiateAlgorithms(self.config, transcript, layout), (plain(response),)


@dataclass(frozen=True, slots=True)
class AwaitNegotiateAlgorithms(_Handshake):
    """CAPABILITIES was sent."""

    awaits: ClassVar[str] = "NEGOTIATE_ALGORITHMS"

    def receive(self, data: bytes) -> SessionStep:
        """Choose the profile's suite."""
        response = self.config.profile.answer(expect(NegotiateAlgorithms, self.read(data)))
        transcript = self.transcript + data[1:] + response.encode()
        return AwaitKeyExchange(self.config, transcript, self.layout), (plain(response),)


@dataclass(frozen=True, slots=True)
class AwaitKeyExchange(_Handshake):
    """Algorithms are agreed; the requester may look at the chain before it opens the session."""

    awaits: ClassVar[str] = "GET_DIGESTS, GET_CERTIFICATE or KEY_EXCHANGE"

    def receive(self, data: bytes) -> SessionStep:
        """Show the chain, or sign the key exchange."""
        match self.read(data):
            case GetDigests():
                return self, (plain(Digests(self.layout.version, 0, 1, (sha384(self.config.chain),))),)
            case GetCertificate() as request:
                return self, (plain(self._portion(request)),)
            case message:
                return self._exchange(expect(KeyExchange, message), data[1:])

    def _portion(self, request: GetCertificate) -> Certificate:
        chain = self.config.chain
        if request.slot or request.offset >= len(chain) or not request.length:
            raise MalformedError(
                "GET_CERTIFICATE", "a portion of slot 0", f"{request.length} bytes at {request.offset}"
            )
        portion = chain[request.offset : request.offset + request.length]
        return Certificate(self.layout.version, 0, portion, len(chain) - request.offset - len(portion))

    def _exchange(self, request: KeyExchange, raw: bytes) -> SessionStep:
        if request.slot or request.summary:
            raise MalformedError(
                "KEY_EXCHANGE", "slot 0 and no measurement summary", f"slot {request.slot}, {request.summary:#04x}"
            )
        version, draw = self.layout.version, self.config.random
        share = P384Share(draw)
        shared = share.agree(request.exchange)
        session = int.from_bytes(draw(2), "little")
        selected = opaque.selected_version(version, request.opaque)
        unsigned = KeyExchangeRsp(
            version, _HEARTBEAT_SECONDS, session, 0, 0, draw(RANDOM_BYTES), share.public, b"", selected, b"", b""
        )
        signed = self.transcript + sha384(self.config.chain) + raw + unsigned.encode()
        signature = sign(self.config.key, version, Purpose.KEY_EXCHANGE_RSP, signed)
        th1 = sha384(signed + signature)
        secrets = HandshakeSecrets.derive(version, shared, th1)
        response = replace(unsigned, signature=signature, verify_data=secrets.response.verify_data(th1))
        whole = request.session | session << 16
        state = AwaitFinish(
            self.layout,
            RecordKeys(whole, secrets.response),
            RecordKeys(whole, secrets.request),
            draw,
            signed + signature + response.verify_data,
            secrets,
            self.config,
        )
        return state, (plain(response),)


@dataclass(frozen=True, slots=True)
class AwaitFinish(Secured):
    """KEY_EXCHANGE_RSP was sent."""

    awaits: ClassVar[str] = "FINISH"

    transcript: bytes
    secrets: HandshakeSecrets = field(repr=False)
    config: ResponderConfig

    @property
    def carries_applications(self) -> bool:
        """Nothing but the handshake is carried before it is over."""
        return False

    def message(self, message: Message, raw: bytes) -> SessionStep:
        """Check that the requester agrees on all that was said, and open the session."""
        finish = expect(Finish, message)
        if finish.signature:
            raise UnexpectedMessageError("FINISH without a signature", "one with a signature")
        before = self.transcript + raw[:-HASH_BYTES]
        self.secrets.request.check_verify_data(sha384(before), finish.verify_data, "RequesterVerifyData")
        response = FinishRsp(self.layout.version)
        th2 = sha384(before + finish.verify_data + response.encode())
        _, effects = self.sealed(SPDM, response.encode())
        return self._open(th2, effects)

    def _open(self, th2: bytes, effects: tuple[SessionEffect, ...]) -> SessionStep:
        secrets = self.secrets.session(th2)
        chain = Chain(self.config.certificates, sha384(self.config.chain))
        session = GpuSession(self.sending.session, self.layout.version, th2, chain, MINT)
        established = AwaitRequest(
            self.layout,
            RecordKeys(session.id, secrets.response),
            RecordKeys(session.id, secrets.request),
            self.random,
            self.config,
        )
        return established, (*effects, Opened(session, OneTimeSecret(secrets.export)))


@dataclass(frozen=True, slots=True)
class _Open(Secured):
    """The session is open."""

    config: ResponderConfig

    def answer(self, response: bytes) -> SessionStep:
        """Return this state after the response, and the response inside the session."""
        return self.sealed(SPDM, response)


@dataclass(frozen=True, slots=True)
class AwaitRequest(_Open):
    """The session is open and nothing is under way."""

    awaits: ClassVar[str] = "GET_MEASUREMENTS, HEARTBEAT, KEY_UPDATE or END_SESSION"

    def message(self, message: Message, raw: bytes) -> SessionStep:
        """Answer a request."""
        match message:
            case GetMeasurements() as request:
                return self._measure(request, raw)
            case Heartbeat():
                return self.answer(HeartbeatAck(self.layout.version).encode())
            case KeyUpdate() as request:
                return self._update(request)
            case _:
                expect(EndSession, message)
                _, effects = self.answer(EndSessionAck(self.layout.version).encode())
                return Ended(), (*effects, Closed(None))

    def _measure(self, request: GetMeasurements, raw: bytes) -> SessionStep:
        if not request.attributes & SIGNATURE_REQUESTED:
            raise MalformedError("GET_MEASUREMENTS", "a signature asked for", "none")
        return self.answer(self.config.report(raw))

    def _update(self, request: KeyUpdate) -> SessionStep:
        if request.operation is not UpdateOperation.UPDATE_ALL_KEYS:
            raise UnexpectedMessageError("KEY_UPDATE of all keys", f"one of {request.operation.name}")
        ack = KeyUpdateAck(self.layout.version, request.operation, request.tag)
        moved = becoming(AwaitNewKey, self, config=self.config)
        moved = replace(moved, sending=self.sending.updated(), receiving=self.receiving.updated())
        return moved.answer(ack.encode())  # type: ignore[no-any-return]


@dataclass(frozen=True, slots=True)
class AwaitNewKey(_Open):
    """Keys were updated; the requester has to use its next one."""

    awaits: ClassVar[str] = "KEY_UPDATE that verifies the new key"

    @property
    def carries_applications(self) -> bool:
        """Between keys nothing but the update is carried."""
        return False

    def message(self, message: Message, raw: bytes) -> SessionStep:
        """Acknowledge; the update is over."""
        request = expect(KeyUpdate, message)
        if request.operation is not UpdateOperation.VERIFY_NEW_KEY:
            raise UnexpectedMessageError(self.awaits, f"one of {request.operation.name}")
        state, effects = self.answer(KeyUpdateAck(self.layout.version, request.operation, request.tag).encode())
        return becoming(AwaitRequest, _secured(state), config=self.config), (*effects, KeysUpdated())


def _secured(state: SessionState) -> Secured:
    assert isinstance(state, Secured)
    return state
