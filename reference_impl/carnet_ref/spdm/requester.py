"""The requester: the end that opens the session and decides whether the device is to be trusted.

Source: DMTF DSP0274 1.3.2, "SPDM messages" in the order of a session by key exchange; DSP0277 1.2.0.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import ClassVar

from carnet_ref.crypto.primitives import P384Share, Random, sha384
from carnet_ref.keys.h100 import OneTimeSecret
from carnet_ref.spdm import opaque
from carnet_ref.spdm.chain import Chain, Trust
from carnet_ref.spdm.errors import (
    UnexpectedMessageError,
    UntrustedChainError,
)
from carnet_ref.spdm.events import (
    Begin,
    Opened,
    Send,
    SessionEvent,
)
from carnet_ref.spdm.key_schedule import HandshakeSecrets
from carnet_ref.spdm.machine import Secured, SessionState, SessionStep, expect, plain, read_plain
from carnet_ref.spdm.messages import (
    Algorithms,
    Capabilities,
    Certificate,
    Digests,
    Finish,
    FinishRsp,
    GetCertificate,
    GetDigests,
    GetVersion,
    KeyExchange,
    KeyExchangeRsp,
    Layout,
    Message,
    Version,
    VersionList,
)
from carnet_ref.spdm.messages.common import HASH_BYTES, RANDOM_BYTES, SIGNATURE_BYTES
from carnet_ref.spdm.profile import H100, Profile
from carnet_ref.spdm.records import SPDM, RecordKeys
from carnet_ref.spdm.requester_session import Established
from carnet_ref.spdm.session import MINT, GpuSession
from carnet_ref.spdm.signing import Purpose, verify

_PORTION = 0x0FFF
_LONGEST_CHAIN = 0xFFFF
_NO_SUMMARY = 0


@dataclass(frozen=True, slots=True)
class RequesterConfig:
    """What a requester is given: whom it trusts, where randomness comes from, its profile and the device's slot."""

    trust: Trust
    random: Random
    profile: Profile = H100
    slot: int = 0


@dataclass(frozen=True, slots=True)
class _Handshake(SessionState):
    """A state before the session: what was said so far, which everything later is bound to."""

    config: RequesterConfig
    transcript: bytes = b""

    def ask(self, request: Message) -> tuple[bytes, Send]:
        """Return the transcript with a request, and the request."""
        return self.transcript + request.encode(), plain(request)


@dataclass(frozen=True, slots=True)
class AwaitBegin(_Handshake):
    """Nothing was said."""

    awaits: ClassVar[str] = "Begin"

    def call(self, event: SessionEvent) -> SessionStep:
        """Begin by asking for versions."""
        if not isinstance(event, Begin):
            raise UnexpectedMessageError(self.awaits, type(event).__name__)
        transcript, send = self.ask(GetVersion(Version.V1_0))
        return AwaitVersion(self.config, transcript), (send,)

    def receive(self, data: bytes) -> SessionStep:
        """Refuse: a responder does not speak first."""
        raise UnexpectedMessageError(self.awaits, f"{len(data)} bytes of the peer")


@dataclass(frozen=True, slots=True)
class AwaitVersion(_Handshake):
    """GET_VERSION was sent."""

    awaits: ClassVar[str] = "VERSION"

    def receive(self, data: bytes) -> SessionStep:
        """Choose the newest version of both."""
        offered = expect(VersionList, read_plain(data, Layout(), self.awaits))
        version = self.config.profile.choose(offered)
        heard = replace(self, transcript=self.transcript + data[1:])
        transcript, send = heard.ask(self.config.profile.get_capabilities(version))
        return AwaitCapabilities(self.config, transcript, Layout(version)), (send,)


@dataclass(frozen=True, slots=True)
class _Negotiating(_Handshake):
    """A state after the version was chosen."""

    layout: Layout = field(default_factory=Layout)

    def read(self, data: bytes) -> Message:
        """Return the peer's message."""
        return read_plain(data, self.layout, self.awaits)


@dataclass(frozen=True, slots=True)
class AwaitCapabilities(_Negotiating):
    """GET_CAPABILITIES was sent."""

    awaits: ClassVar[str] = "CAPABILITIES"

    def receive(self, data: bytes) -> SessionStep:
        """Check what the device is able to do, and offer one suite."""
        self.config.profile.check_capabilities(expect(Capabilities, self.read(data)))
        heard = replace(self, transcript=self.transcript + data[1:])
        transcript, send = heard.ask(self.config.profile.negotiate(self.layout.version))
        return AwaitAlgorithms(self.config, transcript, self.layout), (send,)


@dataclass(frozen=True, slots=True)
class AwaitAlgorithms(_Negotiating):
    """NEGOTIATE_ALGORITHMS was sent."""

    awaits: ClassVar[str] = "ALGORITHMS"

    def receive(self, data: bytes) -> SessionStep:
        """Check that it is the suite; what was said up to here is signed later."""
        self.config.profile.check_algorithms(expect(Algorithms, self.read(data)))
        agreed = self.transcript + data[1:]
        return AwaitDigests(self.config, agreed, self.layout), (plain(GetDigests(self.layout.version)),)


@dataclass(frozen=True, slots=True)
class AwaitDigests(_Negotiating):
    """GET_DIGESTS was sent."""

    awaits: ClassVar[str] = "DIGESTS"

    def receive(self, data: bytes) -> SessionStep:
        """Remember the digest of the slot's chain and ask for the chain."""
        digests, slot = expect(Digests, self.read(data)), self.config.slot
        if not digests.slots >> slot & 1:
            raise UntrustedChainError(f"the device has no certificate in slot {slot}")
        digest = digests.digests[(digests.slots & ((1 << slot) - 1)).bit_count()]
        ask = plain(GetCertificate(self.layout.version, slot, 0, _PORTION))
        return AwaitCertificate(self.config, self.transcript, self.layout, digest), (ask,)


@dataclass(frozen=True, slots=True)
class AwaitCertificate(_Negotiating):
    """GET_CERTIFICATE was sent, and ``chain`` came so far."""

    awaits: ClassVar[str] = "CERTIFICATE"

    digest: bytes = b""
    chain: bytes = b""

    def receive(self, data: bytes) -> SessionStep:
        """Collect the chain; whole, it has to be trusted."""
        part = expect(Certificate, self.read(data))
        chain = self.chain + part.portion
        if part.slot != self.config.slot or not 0 < len(part.portion) <= _PORTION:
            raise UntrustedChainError(f"a portion of {len(part.portion)} bytes of slot {part.slot}")
        if len(chain) + part.remainder > _LONGEST_CHAIN:
            raise UntrustedChainError(f"a chain of more than {_LONGEST_CHAIN} bytes")
        if part.remainder:
            ask = plain(GetCertificate(self.layout.version, part.slot, len(chain), min(part.remainder, _PORTION)))
            return replace(self, chain=chain), (ask,)
        return self._exchange(Chain.parse(chain))

    def _exchange(self, chain: Chain) -> SessionStep:
        if chain.digest != self.digest:
            raise UntrustedChainError("the chain has another digest than DIGESTS said")
        self.config.trust(chain.certificates)
        chain.device_key()
        draw, version = self.config.random, self.layout.version
        share, session = P384Share(draw), int.from_bytes(draw(2), "little")
        offered = opaque.offered_versions(version)
        request = KeyExchange(
            version, _NO_SUMMARY, self.config.slot, session, 0, draw(RANDOM_BYTES), share.public, offered
        )
        transcript = self.transcript + chain.digest + request.encode()
        return AwaitKeyExchangeRsp(self.config, transcript, self.layout, chain, share, session), (plain(request),)


@dataclass(frozen=True, slots=True)
class AwaitKeyExchangeRsp(SessionState):
    """KEY_EXCHANGE was sent."""

    awaits: ClassVar[str] = "KEY_EXCHANGE_RSP"

    config: RequesterConfig
    transcript: bytes
    layout: Layout
    chain: Chain
    share: P384Share = field(repr=False)
    session: int

    def receive(self, data: bytes) -> SessionStep:
        """Check the device's signature and verify data over all that was said, and finish."""
        response = expect(KeyExchangeRsp, read_plain(data, self.layout, self.awaits))
        signed = self.transcript + data[1 : -HASH_BYTES - SIGNATURE_BYTES]
        key = self.chain.device_key()
        verify(key, self.layout.version, Purpose.KEY_EXCHANGE_RSP, signed, response.signature)
        if response.mutual:
            raise UnexpectedMessageError("no request for mutual authentication", f"{response.mutual:#04x}")
        opaque.check_selected(self.layout.version, response.opaque)
        transcript = signed + response.signature
        shared = self.share.agree(response.exchange)
        secrets = HandshakeSecrets.derive(self.layout.version, shared, sha384(transcript))
        secrets.response.check_verify_data(sha384(transcript), response.verify_data, "ResponderVerifyData")
        return self._finish(transcript + response.verify_data, secrets, self.session | response.session << 16)

    def _finish(self, transcript: bytes, secrets: HandshakeSecrets, session: int) -> SessionStep:
        transcript += bytes([self.layout.version, Finish.CODE, 0, 0])
        verify_data = secrets.request.verify_data(sha384(transcript))
        finish = Finish(self.layout.version, 0, b"", verify_data)
        state = AwaitFinishRsp(
            self.layout,
            RecordKeys(session, secrets.request),
            RecordKeys(session, secrets.response),
            self.config.random,
            transcript + verify_data,
            self.chain,
            secrets,
        )
        return state.sealed(SPDM, finish.encode())


@dataclass(frozen=True, slots=True)
class AwaitFinishRsp(Secured):
    """FINISH was sent, inside the session."""

    awaits: ClassVar[str] = "FINISH_RSP"

    transcript: bytes
    chain: Chain
    secrets: HandshakeSecrets = field(repr=False)

    @property
    def carries_applications(self) -> bool:
        """Nothing but the handshake is carried before it is over."""
        return False

    def message(self, message: Message, raw: bytes) -> SessionStep:
        """Open the session."""
        expect(FinishRsp, message)
        th2 = sha384(self.transcript + raw)
        secrets = self.secrets.session(th2)
        session = GpuSession(self.sending.session, self.layout.version, th2, self.chain, MINT)
        established = Established(
            self.layout,
            RecordKeys(session.id, secrets.request),
            RecordKeys(session.id, secrets.response),
            self.random,
            session,
        )
        return established, (Opened(session, OneTimeSecret(secrets.export)),)
