"""The requester: it identifies the device, opens the session, and decides whether to trust the device.

Source: DMTF DSP0274 1.3.2, "SPDM messages" in the order of a session by key exchange, "Session-based mutual
authentication" and "Transcript hash calculation rules"; DSP0277 1.2.0.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import ClassVar, Final

from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import rsa

from carnet_ref.crypto.primitives import P384Share, Random, sha384
from carnet_ref.keys import OneTimeSecret
from carnet_ref.spdm import errors, machine, messages, secured
from carnet_ref.spdm.layout import (
    CONTEXT_BYTES,
    HASH_BYTES,
    RANDOM_BYTES,
    REQUESTER_SIGNATURE_BYTES,
    SIGNATURE_BYTES,
    Layout,
    Message,
    Version,
)
from carnet_ref.spdm.profile import H100, Profile
from carnet_ref.spdm.session import (
    MINT,
    Chain,
    DeviceReport,
    GpuSession,
    Purpose,
    SessionReport,
    Trust,
    encode_chain,
    sign_finish,
    verify,
)
from carnet_ref.spdm.transfer import RequesterTransfer, portion_of


@dataclass(frozen=True, slots=True)
class RequesterIdentity:
    """The requester's certificates, root first, and the key of the last one; it is in slot 0."""

    certificates: tuple[x509.Certificate, ...]
    key: rsa.RSAPrivateKey = field(repr=False)

    @property
    def chain(self) -> bytes:
        """The certificate chain in SPDM's format."""
        return encode_chain(self.certificates)

    @property
    def digest(self) -> bytes:
        """The digest of the chain."""
        return sha384(self.chain)


@dataclass(frozen=True, slots=True)
class RequesterConfig:
    """The settings of a requester: trust anchors, randomness, profile, and the device's slot.

    ``challenge``: the device has to prove that it has its key before anything else. ``session``: a session is opened
    at once; without it, the requester waits to be told. ``summary``: which measurements the device has to sum up.
    ``identity``: who the requester is. With one it insists on being asked, and without one on not being asked.
    """

    trust: Trust
    random: Random
    profile: Profile = H100
    slot: int = 0
    challenge: bool = False
    session: bool = True
    summary: messages.Summary = messages.Summary.NONE
    identity: RequesterIdentity | None = None


def measure(version: Version, nonce: bytes, slot: int) -> messages.GetMeasurements:
    """Return the request for a signed report of all measurements. Raises SpdmError if the nonce has another size."""
    if len(nonce) != RANDOM_BYTES:
        raise errors.SpdmError(f"a measurement nonce of {len(nonce)} bytes, not {RANDOM_BYTES}")
    context = bytes(CONTEXT_BYTES) if version >= Version.V1_3 else b""
    return messages.GetMeasurements(
        version, messages.SIGNATURE_REQUESTED, messages.ALL_MEASUREMENTS, nonce, slot, context
    )


def check_measurements(found: messages.Measurements, request: messages.GetMeasurements) -> None:
    """Check that a response is to this request.

    Raises UnexpectedMessageError if it is signed by another slot, or to another context.
    """
    if (found.slot & messages.SLOT_MASK, found.context) != (request.slot, request.context):
        raise errors.UnexpectedMessageError(
            f"measurements of slot {request.slot}, context {request.context.hex()}",
            f"slot {found.slot & messages.SLOT_MASK}, context {found.context.hex()}",
        )


@dataclass(frozen=True, slots=True)
class _InSession(machine.SecuredState):
    """The session is open; ``slot`` is where the device's chain is, ``vca`` what was negotiated."""

    session: GpuSession
    slot: int
    vca: bytes


@dataclass(frozen=True, slots=True)
class Established(_InSession):
    """State: The session is open and nothing was asked."""

    awaits: ClassVar[str] = "a call"

    def call(self, event: machine.SessionEvent) -> machine.SessionStep:
        """Ask for a report, update keys, send application data, or end the session."""
        version = self.layout.version
        match event:
            case machine.Measure(nonce):
                return self._ask(AwaitMeasurements, measure(version, nonce, self.slot))
            case machine.Beat():
                return self._ask(AwaitHeartbeatAck, messages.Heartbeat(version))
            case machine.UpdateKeys(both):
                operation = messages.UpdateOperation.UPDATE_ALL_KEYS if both else messages.UpdateOperation.UPDATE_KEY
                return self._ask(AwaitKeyUpdateAck, messages.KeyUpdate(version, operation, self.random(1)[0]))
            case machine.End():
                return self._ask(AwaitEndSessionAck, messages.EndSession(version))
            case _:
                # Secured.call by name: a slotted dataclass has no cell for super() without arguments.
                return machine.SecuredState.call(self, event)

    def _ask(self, then: type[_AwaitAnswer], request: Message) -> machine.SessionStep:
        state, effects = machine.next_state(then, self, request=request).say(request.encode())
        assert isinstance(state, _AwaitAnswer)
        return state.after_sending(), effects

    def message(self, message: Message, raw: bytes) -> machine.SessionStep:
        """Refuse the message: no request is pending."""
        raise errors.UnexpectedMessageError(self.awaits, type(message).__name__)


@dataclass(frozen=True, slots=True)
class _AwaitAnswer(_InSession):
    """A request was sent inside the session."""

    request: Message

    def after_sending(self) -> _AwaitAnswer:
        """Return this state once the request is sent."""
        return self

    def return_to_session(self, *effects: machine.SessionEffect) -> machine.SessionStep:
        """Return to the open session."""
        return machine.next_state(Established, self), effects


@dataclass(frozen=True, slots=True)
class AwaitMeasurements(_AwaitAnswer):
    """State: GET_MEASUREMENTS was sent."""

    awaits: ClassVar[str] = "MEASUREMENTS"

    def message(self, message: Message, raw: bytes) -> machine.SessionStep:
        """Check the report, and return it with its session."""
        request = self.request
        assert isinstance(request, messages.GetMeasurements)
        check_measurements(machine.expect(messages.Measurements, message), request)
        before = self.vca if self.layout.version >= Version.V1_2 else b""
        return self.return_to_session(
            machine.Measured(SessionReport(request.nonce, request.encode(), raw, before, self.session, MINT))
        )


@dataclass(frozen=True, slots=True)
class AwaitHeartbeatAck(_AwaitAnswer):
    """State: HEARTBEAT was sent."""

    awaits: ClassVar[str] = "HEARTBEAT_ACK"

    def message(self, message: Message, raw: bytes) -> machine.SessionStep:
        """Accept: the peer is alive."""
        machine.expect(messages.HeartbeatAck, message)
        return self.return_to_session()


@dataclass(frozen=True, slots=True)
class AwaitKeyUpdateAck(_AwaitAnswer):
    """State: KEY_UPDATE was sent; if it was for both directions, it is acknowledged under the responder's next key.

    Then what the responder's application sent before it saw the request still comes under ``before``.
    """

    awaits: ClassVar[str] = "KEY_UPDATE_ACK"
    carries_applications: ClassVar[bool] = False  #: Between keys nothing but the update is carried.

    before: secured.RecordKeys | None = None

    @property
    def takes_applications(self) -> bool:
        """What the responder's application sent before comes under the same key, if that is not updated."""
        return self.before is None

    def after_sending(self) -> AwaitKeyUpdateAck:
        """Expect the acknowledgement under the responder's next key, if that is updated, too."""
        assert isinstance(self.request, messages.KeyUpdate)
        if self.request.operation is messages.UpdateOperation.UPDATE_KEY:
            return self
        return replace(self, before=self.receiving, receiving=self.receiving.after_update())

    def receive(self, data: bytes) -> machine.SessionStep:
        """Take the acknowledgement, or the application's bytes that were under way when the keys were updated."""
        try:
            # Secured.receive by name: a slotted dataclass has no cell for super() without arguments.
            return machine.SecuredState.receive(self, data)
        except (errors.RecordError, errors.SequenceError):
            if self.before is None:
                raise
            before, kind, payload = self.before.open(secured.SecuredRecord.parse(data))
        if kind != secured.VENDOR:
            raise errors.UnexpectedMessageError(self.awaits, f"a message of type {kind:#04x} under the key before")
        return replace(self, before=before), (machine.ApplicationData(payload),)

    def message(self, message: Message, raw: bytes) -> machine.SessionStep:
        """Verify the requester's next key by using it."""
        _check_update(machine.expect(messages.KeyUpdateAck, message), self.request)
        version, tag = self.layout.version, self.random(1)[0]
        verifying = messages.KeyUpdate(version, messages.UpdateOperation.VERIFY_NEW_KEY, tag)
        state = machine.next_state(AwaitNewKeyAck, self, request=verifying, sending=self.sending.after_update())
        return state.say(verifying.encode())


@dataclass(frozen=True, slots=True)
class AwaitNewKeyAck(_AwaitAnswer):
    """State: The requester's next key was used."""

    awaits: ClassVar[str] = "KEY_UPDATE_ACK for the new key"
    carries_applications: ClassVar[bool] = False  #: Between keys nothing but the update is carried.

    def message(self, message: Message, raw: bytes) -> machine.SessionStep:
        """Complete the key update."""
        _check_update(machine.expect(messages.KeyUpdateAck, message), self.request)
        return self.return_to_session(machine.KeysUpdated())


def _check_update(found: messages.KeyUpdateAck, request: Message) -> None:
    assert isinstance(request, messages.KeyUpdate)
    if (found.operation, found.tag) != (request.operation, request.tag):
        raise errors.UnexpectedMessageError(
            f"an acknowledgement of {request.operation.name}, tag {request.tag}",
            f"one of {found.operation.name}, tag {found.tag}",
        )


@dataclass(frozen=True, slots=True)
class AwaitEndSessionAck(_AwaitAnswer):
    """State: END_SESSION was sent."""

    awaits: ClassVar[str] = "END_SESSION_ACK"

    def message(self, message: Message, raw: bytes) -> machine.SessionStep:
        """Close the session."""
        machine.expect(messages.EndSessionAck, message)
        return machine.Ended(), (machine.Closed(None),)


_SLOT: Final = 0  #: The requester's only slot.
_IMPLICIT: Final = 0  #: The number of a GET_DIGESTS that nobody sent.
_MOST_REQUESTS: Final = 256  #: How many requests a responder may make before the session is open.


def key_exchange(state: machine.MessageState, config: RequesterConfig, vca: bytes, chain: Chain) -> machine.SessionStep:
    """Return the state and effect of sending KEY_EXCHANGE."""
    draw, version = config.random, state.layout.version
    share, session = P384Share(draw), int.from_bytes(draw(2), "little")
    request = messages.KeyExchange(
        version,
        config.summary,
        config.slot,
        session,
        0,
        draw(RANDOM_BYTES),
        share.public,
        secured.offered_versions(version),
    ).encode()
    layout = replace(state.layout, summary=config.summary is not messages.Summary.NONE)
    transcript = vca + chain.digest + request
    return AwaitKeyExchangeRsp(
        layout, state.transfer, config, vca, transcript, chain, share=share, requester_id=session
    ).say(request)


@dataclass(frozen=True, slots=True)
class AwaitKeyExchangeRsp(machine.MessageState):
    """State: KEY_EXCHANGE was sent."""

    awaits: ClassVar[str] = "KEY_EXCHANGE_RSP"

    config: RequesterConfig
    vca: bytes
    transcript: bytes
    chain: Chain
    share: P384Share = field(repr=False)
    requester_id: int

    def message(self, message: Message, raw: bytes) -> machine.SessionStep:
        """Check the device's signature and verify data over the transcript; then finish, or authenticate this end."""
        response = machine.expect(messages.KeyExchangeRsp, message)
        signed = self.transcript + raw[: -HASH_BYTES - SIGNATURE_BYTES]
        key = self.chain.device_key()
        verify(key, self.layout.version, Purpose.KEY_EXCHANGE_RSP, signed, response.signature)
        identity = self._asked(response)
        secured.check_selected(self.layout.version, response.opaque)
        transcript = signed + response.signature
        shared = self.share.agree(response.exchange)
        secrets = secured.HandshakeSecrets.derive(self.layout.version, shared, sha384(transcript))
        secrets.response.check_verify_data(sha384(transcript), response.verify_data, "ResponderVerifyData")
        return self._go_on(response, transcript + response.verify_data, secrets, identity)

    def _asked(self, response: messages.KeyExchangeRsp) -> RequesterIdentity | None:
        """Return the identity that has to sign FINISH, or ``None`` if authentication is not mutual."""
        identity = self.config.identity
        if identity is None:
            if response.mutual:
                raise errors.UnexpectedMessageError("no request for mutual authentication", f"{response.mutual:#04x}")
            return None
        if response.mutual not in set(messages.MutualRequest):
            raise errors.DowngradeError(f"the responder does not ask who this end is: {response.mutual:#04x}")
        if response.mutual == messages.MutualRequest.PROVISIONED and response.requester_slot != _SLOT:
            raise errors.UnexpectedMessageError(f"the requester's slot {_SLOT}", f"slot {response.requester_slot}")
        return identity

    def _go_on(
        self,
        response: messages.KeyExchangeRsp,
        transcript: bytes,
        secrets: secured.HandshakeSecrets,
        identity: RequesterIdentity | None,
    ) -> machine.SessionStep:
        session = self.requester_id | response.session << 16
        shared = {
            "sending": secured.RecordKeys(session, secrets.request),
            "receiving": secured.RecordKeys(session, secrets.response),
            "random": self.config.random,
            "transcript": transcript,
            "secrets": secrets,
            "identity": identity,
            "summary": response.summary,
        }
        match response.mutual:
            case messages.MutualRequest.ENCAPSULATED:
                asking = machine.next_state(AwaitEncapsulatedRequest, self, **shared)
                return asking.say(messages.GetEncapsulatedRequest(self.layout.version).encode())
            case messages.MutualRequest.DIGESTS:
                return machine.next_state(AwaitEncapsulatedAck, self, **shared).answer(
                    _IMPLICIT, messages.GetDigests(self.layout.version).encode()
                )
            case _:
                return machine.next_state(_Finishing, self, **shared).finish()


@dataclass(frozen=True, slots=True)
class _Finishing(machine.SecuredState):
    """The key exchange is over, and the handshake is not."""

    awaits: ClassVar[str] = ""
    carries_applications: ClassVar[bool] = False  #: Nothing but the handshake is carried before it is over.

    config: RequesterConfig
    vca: bytes
    transcript: bytes
    chain: Chain
    secrets: secured.HandshakeSecrets = field(repr=False)
    identity: RequesterIdentity | None
    summary: bytes

    def finish(self) -> machine.SessionStep:
        """Send FINISH: signed, if this end has to say who it is."""
        version, transcript = self.layout.version, self.transcript
        place = bytes(REQUESTER_SIGNATURE_BYTES) if self.identity else b""
        draft = messages.Finish(version, _SLOT, place, bytes(HASH_BYTES))
        if self.identity is not None:
            transcript += self.identity.digest
            signature = sign_finish(self.identity.key, version, transcript + draft.unsigned_bytes())
            draft = replace(draft, signature=signature)
        transcript += draft.unsigned_bytes() + draft.signature
        finish = replace(draft, verify_data=self.secrets.request.verify_data(sha384(transcript)))
        state = machine.next_state(AwaitFinishRsp, self, transcript=transcript + finish.verify_data)
        return state.say(finish.encode())


@dataclass(frozen=True, slots=True)
class AwaitEncapsulatedRequest(_Finishing):
    """State: GET_ENCAPSULATED_REQUEST was sent."""

    awaits: ClassVar[str] = "ENCAPSULATED_REQUEST"

    def message(self, message: Message, raw: bytes) -> machine.SessionStep:
        """Answer the responder's first request."""
        request = machine.expect(messages.EncapsulatedRequest, message)
        return machine.next_state(AwaitEncapsulatedAck, self).answer(request.request_id, request.carried)


@dataclass(frozen=True, slots=True)
class AwaitEncapsulatedAck(_Finishing):
    """State: DELIVER_ENCAPSULATED_RESPONSE was sent: the response to the request of that number."""

    awaits: ClassVar[str] = "ENCAPSULATED_RESPONSE_ACK"

    request_id: int = _IMPLICIT
    answered: int = 0

    def message(self, message: Message, raw: bytes) -> machine.SessionStep:
        """Answer the responder's next request, or finish when there is none."""
        ack = machine.expect(messages.EncapsulatedResponseAck, message)
        if self.layout.version >= Version.V1_2 and ack.acknowledged != self.request_id:
            raise errors.UnexpectedMessageError(
                f"an acknowledgement of request {self.request_id}", f"one of {ack.acknowledged}"
            )
        if ack.kind is messages.Payload.REQUEST:
            return self.answer(ack.request_id, ack.payload)
        if ack.kind is messages.Payload.SLOT and ack.payload[0] != _SLOT:
            raise errors.UnexpectedMessageError(f"the requester's slot {_SLOT}", f"slot {ack.payload[0]}")
        return self.finish()

    def answer(self, request_id: int, carried: bytes) -> machine.SessionStep:
        """Deliver the response to a request of the responder.

        Raises UnexpectedMessageError if it asks for something else than the requester's certificates; TransferError if
        it asks once too often.
        """
        if self.answered == _MOST_REQUESTS:
            raise errors.TransferError(
                f"the responder makes more than {_MOST_REQUESTS} requests before the session is open"
            )
        response = self._response(messages.parse_message(carried, self.layout)).encode()
        state = replace(self, request_id=request_id, answered=self.answered + 1)
        return state.say(messages.DeliverEncapsulatedResponse(self.layout.version, request_id, response).encode())

    def _response(self, request: Message) -> Message:
        assert self.identity is not None
        version = self.layout.version
        match request:
            case messages.GetDigests():
                supported = 1 << _SLOT if version >= Version.V1_3 else 0
                return messages.Digests(version, supported, 1 << _SLOT, (self.identity.digest,))
            case messages.GetCertificate():
                return portion_of(self.identity.chain, request, self.transfer.sizes, carried=True)
            case _:
                raise errors.UnexpectedMessageError(
                    "GET_DIGESTS or GET_CERTIFICATE, encapsulated", type(request).__name__
                )


@dataclass(frozen=True, slots=True)
class AwaitFinishRsp(_Finishing):
    """State: FINISH was sent, inside the session."""

    awaits: ClassVar[str] = "FINISH_RSP"

    def message(self, message: Message, raw: bytes) -> machine.SessionStep:
        """Open the session."""
        machine.expect(messages.FinishRsp, message)
        th2 = sha384(self.transcript + raw)
        secrets = self.secrets.session(th2)
        own = None if self.identity is None else Chain.parse(self.identity.chain)
        session = GpuSession(self.sending.session, self.layout.version, th2, self.chain, MINT, own, self.summary)
        established = machine.next_state(
            Established,
            self,
            sending=secured.RecordKeys(session.id, secrets.request),
            receiving=secured.RecordKeys(session.id, secrets.response),
            session=session,
            slot=self.config.slot,
        )
        return established, (machine.Opened(session, OneTimeSecret(secrets.export)),)


_PORTION = 0x0FFF
_LONGEST_CHAIN = 0xFFFF


@dataclass(frozen=True, slots=True)
class _Handshake(machine.MessageState):
    """A state before the session; ``vca`` is what was negotiated so far, which everything later is bound to."""

    config: RequesterConfig
    vca: bytes

    def ask(self, request: Message) -> machine.SessionStep:
        """Negotiate further: a request whose bytes count as negotiated."""
        raw = request.encode()
        return replace(self, vca=self.vca + raw).say(raw)


@dataclass(frozen=True, slots=True)
class AwaitBegin(_Handshake):
    """State: Nothing was said."""

    awaits: ClassVar[str] = "Begin"

    @classmethod
    def first(cls, config: RequesterConfig) -> AwaitBegin:
        """Return the initial state of a requester."""
        return cls(Layout(), RequesterTransfer(), config, b"")

    def call(self, event: machine.SessionEvent) -> machine.SessionStep:
        """Begin with GET_VERSION."""
        if not isinstance(event, machine.Begin):
            raise errors.UnexpectedMessageError(self.awaits, type(event).__name__)
        return machine.next_state(AwaitVersion, self).ask(messages.GetVersion(Version.V1_0))

    def receive(self, data: bytes) -> machine.SessionStep:
        """Refuse: a responder does not speak first."""
        raise errors.UnexpectedMessageError(self.awaits, f"{len(data)} bytes of the peer")


@dataclass(frozen=True, slots=True)
class AwaitVersion(_Handshake):
    """State: GET_VERSION was sent."""

    awaits: ClassVar[str] = "VERSION"

    def message(self, message: Message, raw: bytes) -> machine.SessionStep:
        """Choose the newest version that both ends have."""
        profile, mutual = self.config.profile, self.config.identity is not None
        version = profile.choose(machine.expect(messages.VersionList, message))
        transfer = self.transfer.with_version(version)
        state = machine.next_state(
            AwaitCapabilities, self, layout=Layout(version), transfer=transfer, vca=self.vca + raw
        )
        return state.ask(profile.get_capabilities(version, mutual=mutual))


@dataclass(frozen=True, slots=True)
class AwaitCapabilities(_Handshake):
    """State: GET_CAPABILITIES was sent."""

    awaits: ClassVar[str] = "CAPABILITIES"

    def message(self, message: Message, raw: bytes) -> machine.SessionStep:
        """Check the device's capabilities, and offer one suite of algorithms."""
        profile, version = self.config.profile, self.layout.version
        sizes = profile.check_capabilities(
            machine.expect(messages.Capabilities, message),
            mutual=self.config.identity is not None,
            challenge=self.config.challenge,
        )
        transfer = self.transfer.with_version(version, sizes)
        state = machine.next_state(AwaitAlgorithms, self, transfer=transfer, vca=self.vca + raw)
        return state.ask(profile.negotiate(version))


@dataclass(frozen=True, slots=True)
class AwaitAlgorithms(_Handshake):
    """State: NEGOTIATE_ALGORITHMS was sent."""

    awaits: ClassVar[str] = "ALGORITHMS"

    def message(self, message: Message, raw: bytes) -> machine.SessionStep:
        """Check that the device chose that suite; the negotiation is signed later."""
        self.config.profile.check_algorithms(
            machine.expect(messages.Algorithms, message), mutual=self.config.identity is not None
        )
        return machine.next_state(AwaitDigests, self, vca=self.vca + raw, shown=b"").look(
            messages.GetDigests(self.layout.version)
        )


@dataclass(frozen=True, slots=True)
class _Identifying(_Handshake):
    """A state in which the device shows who it is; ``shown`` is what was said of that, which a challenge is about."""

    shown: bytes

    def look(self, request: Message) -> machine.SessionStep:
        """Ask to be shown something."""
        raw = request.encode()
        return replace(self, shown=self.shown + raw).say(raw)


@dataclass(frozen=True, slots=True)
class AwaitDigests(_Identifying):
    """State: GET_DIGESTS was sent."""

    awaits: ClassVar[str] = "DIGESTS"

    def message(self, message: Message, raw: bytes) -> machine.SessionStep:
        """Store the digest of the slot's chain, and request the chain."""
        digests, slot, version = machine.expect(messages.Digests, message), self.config.slot, self.layout.version
        if version >= Version.V1_3 and digests.slots & ~digests.supported:
            raise errors.UntrustedChainError(
                f"slots {digests.slots:#04x} have certificates, and only {digests.supported:#04x} are supported"
            )
        if not digests.slots >> slot & 1:
            raise errors.UntrustedChainError(f"the device has no certificate in slot {slot}")
        digest = digests.digests[(digests.slots & ((1 << slot) - 1)).bit_count()]
        state = machine.next_state(AwaitCertificate, self, digest=digest, slots=digests.slots, shown=self.shown + raw)
        return state.look(messages.GetCertificate(version, slot, 0, _PORTION))


@dataclass(frozen=True, slots=True)
class AwaitCertificate(_Identifying):
    """State: GET_CERTIFICATE was sent, and ``portions`` came so far."""

    awaits: ClassVar[str] = "CERTIFICATE"

    digest: bytes
    slots: int
    portions: bytes = b""

    def message(self, message: Message, raw: bytes) -> machine.SessionStep:
        """Collect the chain, and check that it is trusted once it is complete."""
        part = machine.expect(messages.Certificate, message)
        chain = self.portions + part.portion
        if part.slot != self.config.slot or not 0 < len(part.portion) <= _PORTION:
            raise errors.UntrustedChainError(f"a portion of {len(part.portion)} bytes of slot {part.slot}")
        if len(chain) + part.remainder > _LONGEST_CHAIN:
            raise errors.UntrustedChainError(f"a chain of more than {_LONGEST_CHAIN} bytes")
        state = replace(self, portions=chain, shown=self.shown + raw)
        if part.remainder:
            wanted = min(part.remainder, _PORTION)
            return state.look(messages.GetCertificate(self.layout.version, part.slot, len(chain), wanted))
        return state._whole(Chain.parse(chain))

    def _whole(self, chain: Chain) -> machine.SessionStep:
        if chain.digest != self.digest:
            raise errors.UntrustedChainError("the chain has another digest than DIGESTS said")
        self.config.trust(chain.certificates)
        chain.device_key()
        if self.config.challenge:
            return machine.next_state(AwaitChallengeAuth, self, chain=chain).challenge()
        return identified(
            machine.next_state(AwaitOpenSession, self, chain=chain), machine.Identified(chain, challenged=False)
        )


@dataclass(frozen=True, slots=True)
class AwaitChallengeAuth(_Identifying):
    """State: CHALLENGE was sent."""

    awaits: ClassVar[str] = "CHALLENGE_AUTH"

    chain: Chain
    slots: int
    context: bytes = b""

    def challenge(self) -> machine.SessionStep:
        """Send CHALLENGE: the device has to sign the transcript with its certified key."""
        version, draw = self.layout.version, self.config.random
        context = draw(CONTEXT_BYTES) if version >= Version.V1_3 else b""
        request = messages.Challenge(version, self.config.slot, self.config.summary, draw(RANDOM_BYTES), context)
        layout = replace(self.layout, summary=self.config.summary is not messages.Summary.NONE)
        return replace(self, context=context, layout=layout).look(request)

    def message(self, message: Message, raw: bytes) -> machine.SessionStep:
        """Check the device's answer and its signature."""
        proof = machine.expect(messages.ChallengeAuth, message)
        if proof.slot & messages.MUTUAL_REQUESTED:
            raise errors.UnexpectedMessageError("no request for mutual authentication", f"{proof.slot:#04x}")
        if proof.slot & messages.SLOT_MASK != self.config.slot or proof.slots != self.slots:
            raise errors.UntrustedChainError(
                f"slot {proof.slot & messages.SLOT_MASK} of {proof.slots:#04x} answered the challenge"
            )
        if proof.chain_hash != self.chain.digest:
            raise errors.UntrustedChainError("another chain than was shown answered the challenge")
        if proof.context != self.context:
            raise errors.UnexpectedMessageError("the context of the challenge", proof.context.hex())
        signed = self.vca + self.shown + raw[:-SIGNATURE_BYTES]
        key = self.chain.device_key()
        verify(key, self.layout.version, Purpose.CHALLENGE_AUTH, signed, proof.signature)
        found = machine.Identified(self.chain, challenged=True, summary=proof.summary)
        return identified(machine.next_state(AwaitOpenSession, self), found)


def identified(state: AwaitOpenSession, found: machine.Identified) -> machine.SessionStep:
    """Continue to the session, unless the requester is configured to wait."""
    if not state.config.session:
        return state, (found,)
    after, effects = state.call(machine.OpenSession())
    return after, (found, *effects)


@dataclass(frozen=True, slots=True)
class AwaitOpenSession(_Handshake):
    """State: The device's certificates are trusted."""

    awaits: ClassVar[str] = "OpenSession or Measure"

    chain: Chain

    def call(self, event: machine.SessionEvent) -> machine.SessionStep:
        """Open a session, or ask for a report outside a session."""
        match event:
            case machine.OpenSession():
                return key_exchange(self, self.config, self.vca, self.chain)
            case machine.Measure(nonce):
                request = measure(self.layout.version, nonce, self.config.slot)
                return machine.next_state(AwaitReport, self, request=request).say(request.encode())
            case _:
                raise errors.UnexpectedMessageError(self.awaits, type(event).__name__)

    def message(self, message: Message, raw: bytes) -> machine.SessionStep:
        """Refuse the message: no request is pending."""
        raise errors.UnexpectedMessageError(self.awaits, type(message).__name__)


@dataclass(frozen=True, slots=True)
class AwaitReport(_Handshake):
    """State: GET_MEASUREMENTS was sent, outside of a session."""

    awaits: ClassVar[str] = "MEASUREMENTS, signed"

    chain: Chain
    request: messages.GetMeasurements

    def message(self, message: Message, raw: bytes) -> machine.SessionStep:
        """Check the signature of the report; nothing else binds it to the device."""
        check_measurements(machine.expect(messages.Measurements, message), self.request)
        before = self.vca if self.layout.version >= Version.V1_2 else b""
        report = DeviceReport(
            self.request.nonce, self.request.encode(), raw, before, self.chain, self.layout.version, MINT
        )
        return machine.next_state(AwaitOpenSession, self), (machine.MeasuredOutside(report),)
