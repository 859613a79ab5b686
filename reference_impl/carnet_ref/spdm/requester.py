"""The requester: the end that finds out who the device is, opens the session, and decides whether to trust it.

Source: DMTF DSP0274 1.3.2, "SPDM messages" in the order of a session by key exchange; DSP0277 1.2.0.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

from carnet_ref.spdm.chain import Chain
from carnet_ref.spdm.errors import UnexpectedMessageError, UntrustedChainError
from carnet_ref.spdm.events import Begin, Identified, Measure, MeasuredOutside, OpenSession, SessionEvent
from carnet_ref.spdm.machine import Conversing, SessionStep, becoming, expect
from carnet_ref.spdm.messages import (
    Algorithms,
    Capabilities,
    Certificate,
    Challenge,
    ChallengeAuth,
    Digests,
    GetCertificate,
    GetDigests,
    GetMeasurements,
    GetVersion,
    Layout,
    Measurements,
    Message,
    Summary,
    Version,
    VersionList,
)
from carnet_ref.spdm.messages.common import CONTEXT_BYTES, RANDOM_BYTES, SIGNATURE_BYTES
from carnet_ref.spdm.messages.identity import MUTUAL_REQUESTED, SLOT_MASK
from carnet_ref.spdm.requester_config import RequesterConfig
from carnet_ref.spdm.requester_exchange import key_exchange
from carnet_ref.spdm.requester_session import check_measurements, measure
from carnet_ref.spdm.session import MINT, DeviceReport
from carnet_ref.spdm.signing import Purpose, verify
from carnet_ref.spdm.transfer import Asking

_PORTION = 0x0FFF
_LONGEST_CHAIN = 0xFFFF


@dataclass(frozen=True, slots=True)
class _Handshake(Conversing):
    """A state before the session; ``vca`` is what was negotiated so far, which everything later is bound to."""

    config: RequesterConfig
    vca: bytes

    def ask(self, request: Message) -> SessionStep:
        """Negotiate further: a request whose bytes count as negotiated."""
        raw = request.encode()
        return replace(self, vca=self.vca + raw).say(raw)


@dataclass(frozen=True, slots=True)
class AwaitBegin(_Handshake):
    """Nothing was said."""

    awaits: ClassVar[str] = "Begin"

    @classmethod
    def first(cls, config: RequesterConfig) -> AwaitBegin:
        """Return the state that a requester begins in."""
        return cls(Layout(), Asking(), config, b"")

    def call(self, event: SessionEvent) -> SessionStep:
        """Begin by asking for versions."""
        if not isinstance(event, Begin):
            raise UnexpectedMessageError(self.awaits, type(event).__name__)
        return becoming(AwaitVersion, self).ask(GetVersion(Version.V1_0))

    def receive(self, data: bytes) -> SessionStep:
        """Refuse: a responder does not speak first."""
        raise UnexpectedMessageError(self.awaits, f"{len(data)} bytes of the peer")


@dataclass(frozen=True, slots=True)
class AwaitVersion(_Handshake):
    """GET_VERSION was sent."""

    awaits: ClassVar[str] = "VERSION"

    def message(self, message: Message, raw: bytes) -> SessionStep:
        """Choose the newest version of both."""
        profile, mutual = self.config.profile, self.config.identity is not None
        version = profile.choose(expect(VersionList, message))
        transfer = self.transfer.agreed(version)
        state = becoming(AwaitCapabilities, self, layout=Layout(version), transfer=transfer, vca=self.vca + raw)
        return state.ask(profile.get_capabilities(version, mutual=mutual))


@dataclass(frozen=True, slots=True)
class AwaitCapabilities(_Handshake):
    """GET_CAPABILITIES was sent."""

    awaits: ClassVar[str] = "CAPABILITIES"

    def message(self, message: Message, raw: bytes) -> SessionStep:
        """Check what the device is able to do, and offer one suite."""
        profile, version = self.config.profile, self.layout.version
        sizes = profile.check_capabilities(
            expect(Capabilities, message),
            mutual=self.config.identity is not None,
            challenge=self.config.challenge,
        )
        transfer = self.transfer.agreed(version, sizes)
        state = becoming(AwaitAlgorithms, self, transfer=transfer, vca=self.vca + raw)
        return state.ask(profile.negotiate(version))


@dataclass(frozen=True, slots=True)
class AwaitAlgorithms(_Handshake):
    """NEGOTIATE_ALGORITHMS was sent."""

    awaits: ClassVar[str] = "ALGORITHMS"

    def message(self, message: Message, raw: bytes) -> SessionStep:
        """Check that it is the suite; what was said up to here is signed later."""
        self.config.profile.check_algorithms(expect(Algorithms, message), mutual=self.config.identity is not None)
        return becoming(AwaitDigests, self, vca=self.vca + raw, shown=b"").look(GetDigests(self.layout.version))


@dataclass(frozen=True, slots=True)
class _Looking(_Handshake):
    """A state in which the device shows who it is; ``shown`` is what was said of that, which a challenge is about."""

    shown: bytes

    def look(self, request: Message) -> SessionStep:
        """Ask to be shown something."""
        raw = request.encode()
        return replace(self, shown=self.shown + raw).say(raw)


@dataclass(frozen=True, slots=True)
class AwaitDigests(_Looking):
    """GET_DIGESTS was sent."""

    awaits: ClassVar[str] = "DIGESTS"

    def message(self, message: Message, raw: bytes) -> SessionStep:
        """Remember the digest of the slot's chain and ask for the chain."""
        digests, slot, version = expect(Digests, message), self.config.slot, self.layout.version
        if version >= Version.V1_3 and digests.slots & ~digests.supported:
            raise UntrustedChainError(
                f"slots {digests.slots:#04x} have certificates, and only {digests.supported:#04x} are supported"
            )
        if not digests.slots >> slot & 1:
            raise UntrustedChainError(f"the device has no certificate in slot {slot}")
        digest = digests.digests[(digests.slots & ((1 << slot) - 1)).bit_count()]
        state = becoming(AwaitCertificate, self, digest=digest, slots=digests.slots, shown=self.shown + raw)
        return state.look(GetCertificate(version, slot, 0, _PORTION))


@dataclass(frozen=True, slots=True)
class AwaitCertificate(_Looking):
    """GET_CERTIFICATE was sent, and ``portions`` came so far."""

    awaits: ClassVar[str] = "CERTIFICATE"

    digest: bytes
    slots: int
    portions: bytes = b""

    def message(self, message: Message, raw: bytes) -> SessionStep:
        """Collect the chain; whole, it has to be trusted."""
        part = expect(Certificate, message)
        chain = self.portions + part.portion
        if part.slot != self.config.slot or not 0 < len(part.portion) <= _PORTION:
            raise UntrustedChainError(f"a portion of {len(part.portion)} bytes of slot {part.slot}")
        if len(chain) + part.remainder > _LONGEST_CHAIN:
            raise UntrustedChainError(f"a chain of more than {_LONGEST_CHAIN} bytes")
        state = replace(self, portions=chain, shown=self.shown + raw)
        if part.remainder:
            wanted = min(part.remainder, _PORTION)
            return state.look(GetCertificate(self.layout.version, part.slot, len(chain), wanted))
        return state._whole(Chain.parse(chain))

    def _whole(self, chain: Chain) -> SessionStep:
        if chain.digest != self.digest:
            raise UntrustedChainError("the chain has another digest than DIGESTS said")
        self.config.trust(chain.certificates)
        chain.device_key()
        if self.config.challenge:
            return becoming(AwaitChallengeAuth, self, chain=chain).challenge()
        return identified(becoming(AwaitOpenSession, self, chain=chain), Identified(chain, challenged=False))


@dataclass(frozen=True, slots=True)
class AwaitChallengeAuth(_Looking):
    """CHALLENGE was sent."""

    awaits: ClassVar[str] = "CHALLENGE_AUTH"

    chain: Chain
    slots: int
    context: bytes = b""

    def challenge(self) -> SessionStep:
        """Ask the device to prove that it has the key of its certificate, and agrees on all that was said."""
        version, draw = self.layout.version, self.config.random
        context = draw(CONTEXT_BYTES) if version >= Version.V1_3 else b""
        request = Challenge(version, self.config.slot, self.config.summary, draw(RANDOM_BYTES), context)
        layout = replace(self.layout, summary=self.config.summary is not Summary.NONE)
        return replace(self, context=context, layout=layout).look(request)

    def message(self, message: Message, raw: bytes) -> SessionStep:
        """Check what the device says of itself, and its signature."""
        proof = expect(ChallengeAuth, message)
        if proof.slot & MUTUAL_REQUESTED:
            raise UnexpectedMessageError("no request for mutual authentication", f"{proof.slot:#04x}")
        if proof.slot & SLOT_MASK != self.config.slot or proof.slots != self.slots:
            raise UntrustedChainError(f"slot {proof.slot & SLOT_MASK} of {proof.slots:#04x} answered the challenge")
        if proof.chain_hash != self.chain.digest:
            raise UntrustedChainError("another chain than was shown answered the challenge")
        if proof.context != self.context:
            raise UnexpectedMessageError("the context of the challenge", proof.context.hex())
        signed = self.vca + self.shown + raw[:-SIGNATURE_BYTES]
        key = self.chain.device_key()
        verify(key, self.layout.version, Purpose.CHALLENGE_AUTH, signed, proof.signature)
        found = Identified(self.chain, challenged=True, summary=proof.summary)
        return identified(becoming(AwaitOpenSession, self), found)


def identified(state: AwaitOpenSession, found: Identified) -> SessionStep:
    """Go on to the session, unless the requester was told to wait."""
    if not state.config.session:
        return state, (found,)
    after, effects = state.call(OpenSession())
    return after, (found, *effects)


@dataclass(frozen=True, slots=True)
class AwaitOpenSession(_Handshake):
    """The device's certificates are trusted."""

    awaits: ClassVar[str] = "OpenSession or Measure"

    chain: Chain

    def call(self, event: SessionEvent) -> SessionStep:
        """Open a session, or ask for a report outside of any."""
        match event:
            case OpenSession():
                return key_exchange(self, self.config, self.vca, self.chain)
            case Measure(nonce):
                request = measure(self.layout.version, nonce, self.config.slot)
                return becoming(AwaitReport, self, request=request).say(request.encode())
            case _:
                raise UnexpectedMessageError(self.awaits, type(event).__name__)

    def message(self, message: Message, raw: bytes) -> SessionStep:
        """Refuse: nothing was asked."""
        raise UnexpectedMessageError(self.awaits, type(message).__name__)


@dataclass(frozen=True, slots=True)
class AwaitReport(_Handshake):
    """GET_MEASUREMENTS was sent, outside of a session."""

    awaits: ClassVar[str] = "MEASUREMENTS, signed"

    chain: Chain
    request: GetMeasurements

    def message(self, message: Message, raw: bytes) -> SessionStep:
        """Check who signed the report; nothing else binds it to the device."""
        check_measurements(expect(Measurements, message), self.request)
        before = self.vca if self.layout.version >= Version.V1_2 else b""
        report = DeviceReport(
            self.request.nonce, self.request.encode(), raw, before, self.chain, self.layout.version, MINT
        )
        return becoming(AwaitOpenSession, self), (MeasuredOutside(report),)
