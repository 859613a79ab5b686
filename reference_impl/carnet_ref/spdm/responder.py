"""The responder: the device's end, which states its capabilities, proves its identity, and is measured.

Source: DMTF DSP0274 1.3.2, "SPDM messages" in the order of a session by key exchange, "Session-based mutual
authentication" and "Transcript hash calculation rules"; DSP0277 1.2.0.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import ClassVar, Final

from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec

from carnet_ref.crypto.primitives import P384Share, Random, sha384
from carnet_ref.keys import OneTimeSecret
from carnet_ref.spdm import machine, messages
from carnet_ref.spdm.errors import (
    DowngradeError,
    PskRefusedError,
    PutOffError,
    RequestRefusedError,
    UnexpectedMessageError,
    UntrustedChainError,
)
from carnet_ref.spdm.layout import HASH_BYTES, RANDOM_BYTES, Layout, Message, Version
from carnet_ref.spdm.profile import H100_DEVICE, Capability, Profile
from carnet_ref.spdm.secured import HandshakeSecrets, RecordKeys, selected_version
from carnet_ref.spdm.session import (
    MINT,
    NO_MEASUREMENTS,
    Chain,
    GpuSession,
    Purpose,
    Reporter,
    Trust,
    UnsignedMeasurements,
    encode_chain,
    sign,
    verify_finish,
)
from carnet_ref.spdm.transfer import RequesterTransfer, ResponderTransfer, TransferStep, portion_of
from carnet_ref.wire import MalformedError


@dataclass(frozen=True, slots=True)
class MutualAuthentication:
    """The responder's requirements on its requester: how it asks for the identity, and which roots it trusts.

    ``provisioned``: the requester's chain in SPDM's form, where it is known beforehand.
    """

    trust: Trust
    asked: messages.MutualRequest = messages.MutualRequest.ENCAPSULATED
    provisioned: bytes = b""

    def __post_init__(self) -> None:
        if bool(self.provisioned) is not (self.asked is messages.MutualRequest.PROVISIONED):
            raise ValueError("a chain is provisioned if, and only if, it is not asked for")

    def check(self, chain: bytes) -> Chain:
        """Return the requester's chain, parsed and trusted.

        Raises UntrustedChainError if it is not trusted, or its key is none for signatures of a requester;
        MalformedError if it cannot be read.
        """
        found = Chain.parse(chain)
        self.trust(found.certificates)
        found.requester_key()
        return found


@dataclass(frozen=True, slots=True)
class ResponderConfig:
    """The settings of a responder: its certificates, root first, the key of the last one, and its measurements.

    ``mutual`` says that its requesters have to prove who they are.
    """

    certificates: tuple[x509.Certificate, ...]
    key: ec.EllipticCurvePrivateKey = field(repr=False)
    reporter: Reporter
    random: Random
    profile: Profile = H100_DEVICE
    mutual: MutualAuthentication | None = None

    @property
    def chain(self) -> bytes:
        """The certificate chain in SPDM's format."""
        return encode_chain(self.certificates)


def code_of(error: Exception) -> messages.ErrorCode:
    """Return the error code of the ERROR message for an exception."""
    match error:
        case DowngradeError():
            return messages.ErrorCode.VERSION_MISMATCH
        case PskRefusedError():
            return messages.ErrorCode.UNSUPPORTED_REQUEST
        case UnexpectedMessageError():
            return messages.ErrorCode.UNEXPECTED_REQUEST
        case MalformedError():
            return messages.ErrorCode.INVALID_REQUEST
        case _:
            return messages.ErrorCode.UNSPECIFIED


class RequestHandling:
    """Mixin for states that take requests; it defers them or answers with ERROR where no more is needed."""

    __slots__ = ()

    def take(self: machine.MessageState, raw: bytes) -> machine.SessionStep:  # type: ignore[misc]  # a mixin of states
        """Handle a whole request of the peer."""
        assert isinstance(self.transfer, ResponderTransfer)
        try:
            return machine.MessageState.take(self, raw)
        except PutOffError as why:
            return self.after_transfer(self.transfer.put_off(raw, why))
        except RequestRefusedError as error:
            return self.say(messages.Error(self.layout.version, error.code).encode())


@dataclass(frozen=True, slots=True)
class ClearState(RequestHandling, machine.MessageState):
    """Base class of the responder's states before the session."""

    awaits: ClassVar[str] = ""

    config: ResponderConfig

    def refusal(self, error: Exception) -> tuple[machine.SessionEffect, ...]:
        """Return an unprotected ERROR for the peer; there is no session yet."""
        return self.send_message(messages.Error(self.layout.version, code_of(error)).encode())[1]


@dataclass(frozen=True, slots=True)
class ResponderSecured(RequestHandling, machine.SecuredState):
    """Base class of the responder's states inside the session.

    What does not authenticate is not answered, because it has no known sender. What does, and is refused, is answered
    inside the session with an ERROR, and then the session is over.
    """

    awaits: ClassVar[str] = ""

    config: ResponderConfig
    vca: bytes

    def handle_message(self, raw: bytes) -> machine.SessionStep:
        """Handle a request from an authenticated record."""
        try:
            return machine.SecuredState.handle_message(self, raw)
        except machine.REFUSALS as error:
            _, effects = self.send_message(messages.Error(self.layout.version, code_of(error)).encode())
            return machine.Ended(), (*effects, machine.Closed(error))


@dataclass(frozen=True, slots=True)
class AwaitRequest(ResponderSecured):
    """State: The session is open and nothing is under way; ``measured`` is what was measured and not signed yet."""

    awaits: ClassVar[str] = "GET_MEASUREMENTS, HEARTBEAT, KEY_UPDATE or END_SESSION"

    measured: UnsignedMeasurements = NO_MEASUREMENTS

    def message(self, message: Message, raw: bytes) -> machine.SessionStep:
        """Answer a request."""
        version = self.layout.version
        if isinstance(message, messages.GetMeasurements):
            measured, response = self.measured.answer(self.config.reporter, self.vca, message, raw)
            return replace(self, measured=measured).say(response)
        state = replace(self, measured=NO_MEASUREMENTS)
        match message:
            case messages.Heartbeat():
                return state.say(messages.HeartbeatAck(version).encode())
            case messages.KeyUpdate() as request:
                return state._update(request)
            case _:
                machine.expect(messages.EndSession, message)
                _, effects = state.say(messages.EndSessionAck(version).encode())
                return machine.Ended(), (*effects, machine.Closed(None))

    def _update(self, request: messages.KeyUpdate) -> machine.SessionStep:
        """Move to the next keys; the acknowledgement comes under the next one, if the responder's is updated, too."""
        if request.operation is messages.UpdateOperation.VERIFY_NEW_KEY:
            raise RequestRefusedError(messages.ErrorCode.INVALID_REQUEST, "no key was updated that could be verified")
        moved = machine.next_state(AwaitNewKey, self, receiving=self.receiving.after_update())
        if request.operation is messages.UpdateOperation.UPDATE_ALL_KEYS:
            moved = replace(moved, sending=self.sending.after_update())
        return moved.say(messages.KeyUpdateAck(self.layout.version, request.operation, request.tag).encode())


@dataclass(frozen=True, slots=True)
class AwaitNewKey(ResponderSecured):
    """State: Keys were updated; the requester has to use its next one."""

    awaits: ClassVar[str] = "KEY_UPDATE that verifies the new key"
    carries_applications: ClassVar[bool] = False  #: Between keys nothing but the update is carried.

    def message(self, message: Message, raw: bytes) -> machine.SessionStep:
        """Acknowledge the requester's next key, which completes the update."""
        request = machine.expect(messages.KeyUpdate, message)
        if request.operation is not messages.UpdateOperation.VERIFY_NEW_KEY:
            raise UnexpectedMessageError(self.awaits, f"one of {request.operation.name}")
        ack = messages.KeyUpdateAck(self.layout.version, request.operation, request.tag)
        state, effects = machine.next_state(AwaitRequest, self).say(ack.encode())
        return state, (*effects, machine.KeysUpdated())


_HEARTBEAT_SECONDS: Final = 4  #: Source: open-gpu-kernel-modules, spdm.c.
_PORTION: Final = 0x0400
_LONGEST_CHAIN: Final = 0xFFFF
_LAST_REQUEST: Final = 0xFF


def summary_kind(asked: int) -> messages.Summary:
    """Return the kind of measurement summary that a request asks for. Raises MalformedError if it does not exist."""
    if asked not in set(messages.Summary):
        raise MalformedError("measurement summary", "none, rooted or all", f"{asked:#04x}")
    return messages.Summary(asked)


def key_exchange(state: ClearState, vca: bytes, request: messages.KeyExchange, raw: bytes) -> machine.SessionStep:
    """Answer KEY_EXCHANGE with a signed response.

    Raises MalformedError if it is of another slot than 0; CryptoError if its share is none; PutOffError if summing up
    measurements takes time.
    """
    kind = summary_kind(request.summary)
    if request.slot:
        raise MalformedError("KEY_EXCHANGE", "slot 0", f"slot {request.slot}")
    config, version, draw = state.config, state.layout.version, state.config.random
    summary = config.reporter.summary(kind) if kind is not messages.Summary.NONE else b""
    share = P384Share(draw)
    shared = share.agree(request.exchange)
    unsigned = messages.KeyExchangeRsp(
        version,
        _HEARTBEAT_SECONDS,
        int.from_bytes(draw(2), "little"),
        0 if config.mutual is None else config.mutual.asked,
        0,
        draw(RANDOM_BYTES),
        share.public,
        summary,
        selected_version(version, request.opaque),
        b"",
        b"",
    )
    signed = vca + sha384(config.chain) + raw + unsigned.encode()
    signature = sign(config.key, version, Purpose.KEY_EXCHANGE_RSP, signed)
    th1 = sha384(signed + signature)
    secrets = HandshakeSecrets.derive(version, shared, th1)
    response = replace(unsigned, signature=signature, verify_data=secrets.response.verify_data(th1))
    session = request.session | unsigned.session << 16
    transcript = signed + signature + response.verify_data
    then = _after_exchange(state, vca, session, transcript, secrets, summary)
    return machine.next_state(AwaitCollection, state, then=then).say(response.encode())


def _after_exchange(
    state: ClearState, vca: bytes, session: int, transcript: bytes, secrets: HandshakeSecrets, summary: bytes
) -> _Handshake:
    """Return what is awaited inside the session: FINISH, or first who the requester is."""
    mutual = state.config.mutual
    kind: type[_Handshake] = AwaitFinish
    requester = None
    if mutual is not None and mutual.asked is messages.MutualRequest.PROVISIONED:
        requester = mutual.check(mutual.provisioned)
    elif mutual is not None:
        kind = AwaitDigests if mutual.asked is messages.MutualRequest.DIGESTS else AwaitGetEncapsulatedRequest
    return machine.next_state(
        kind,
        state,
        vca=vca,
        sending=RecordKeys(session, secrets.response),
        receiving=RecordKeys(session, secrets.request),
        random=state.config.random,
        transcript=transcript,
        secrets=secrets,
        summary=summary,
        requester=requester,
    )


@dataclass(frozen=True, slots=True)
class AwaitCollection(ClearState):
    """State: KEY_EXCHANGE_RSP goes out, in the clear; if it does in pieces, they are awaited before anything else."""

    awaits: ClassVar[str] = "CHUNK_GET"

    then: _Handshake

    def after_transfer(self, crossing: TransferStep[RequesterTransfer | ResponderTransfer]) -> machine.SessionStep:
        """Continue inside the session once the last chunk has been fetched."""
        _, effects = ClearState.after_transfer(self, crossing)
        if crossing.transfer.outgoing is None:
            return replace(self.then, transfer=crossing.transfer), effects
        return replace(self, transfer=crossing.transfer), effects


@dataclass(frozen=True, slots=True)
class _Handshake(ResponderSecured):
    """The key exchange is over, and the handshake is not; ``requester`` is who has to sign FINISH."""

    awaits: ClassVar[str] = ""
    carries_applications: ClassVar[bool] = False  #: Nothing but the handshake is carried before it is over.

    transcript: bytes
    secrets: HandshakeSecrets = field(repr=False)
    summary: bytes
    requester: Chain | None

    def acknowledge(self, came: int, request: Message | None) -> machine.SessionStep:
        """Acknowledge a response, and make the next request, if there is one."""
        version = self.layout.version
        if request is None:
            return self.say(messages.EncapsulatedResponseAck(version, 0, messages.Payload.ABSENT, came).encode())
        number = came + 1
        return self.say(
            messages.EncapsulatedResponseAck(version, number, messages.Payload.REQUEST, came, request.encode()).encode()
        )


@dataclass(frozen=True, slots=True)
class AwaitGetEncapsulatedRequest(_Handshake):
    """State: KEY_EXCHANGE_RSP was sent, and asked who the requester is."""

    awaits: ClassVar[str] = "GET_ENCAPSULATED_REQUEST"

    def message(self, message: Message, raw: bytes) -> machine.SessionStep:
        """Ask for the requester's digests."""
        machine.expect(messages.GetEncapsulatedRequest, message)
        state, version = machine.next_state(AwaitDigests, self, request_id=1), self.layout.version
        return state.say(messages.EncapsulatedRequest(version, 1, messages.GetDigests(version).encode()).encode())


@dataclass(frozen=True, slots=True)
class _AwaitEncapsulated(_Handshake):
    """The requester was asked for something, in the request of that number; 0 is one that nobody had to send."""

    awaits: ClassVar[str] = ""

    request_id: int = 0

    def message(self, message: Message, raw: bytes) -> machine.SessionStep:
        """Take the response that the requester delivers."""
        delivered = machine.expect(messages.DeliverEncapsulatedResponse, message)
        if delivered.request_id != self.request_id:
            raise UnexpectedMessageError(f"the response to request {self.request_id}", f"one to {delivered.request_id}")
        return self.response(messages.parse_message(delivered.carried, self.layout))

    def response(self, response: Message) -> machine.SessionStep:
        """Take the response, and ask for what is missing."""
        raise NotImplementedError  # every subclass, one for each awaited response, defines it


@dataclass(frozen=True, slots=True)
class AwaitDigests(_AwaitEncapsulated):
    """State: The requester's digests were asked for."""

    awaits: ClassVar[str] = "DIGESTS, encapsulated"

    def response(self, response: Message) -> machine.SessionStep:
        """Store the digest of the chain in slot 0, and request the chain."""
        digests = machine.expect(messages.Digests, response)
        if not digests.slots & 1:
            raise UntrustedChainError("the requester has no certificate in slot 0")
        state = machine.next_state(AwaitCertificate, self, digest=digests.digests[0], request_id=self.request_id + 1)
        return state.acknowledge(self.request_id, messages.GetCertificate(self.layout.version, 0, 0, _PORTION))


@dataclass(frozen=True, slots=True)
class AwaitCertificate(_AwaitEncapsulated):
    """State: The requester's chain was asked for, and ``portions`` came so far."""

    awaits: ClassVar[str] = "CERTIFICATE, encapsulated"

    digest: bytes = b""
    portions: bytes = b""

    def response(self, response: Message) -> machine.SessionStep:
        """Collect the chain, and check that it is trusted once it is complete."""
        part = machine.expect(messages.Certificate, response)
        chain = self.portions + part.portion
        if part.slot or not 0 < len(part.portion) <= _PORTION:
            raise UntrustedChainError(f"a portion of {len(part.portion)} bytes of the requester's slot {part.slot}")
        if len(chain) + part.remainder > _LONGEST_CHAIN or self.request_id == _LAST_REQUEST:
            raise UntrustedChainError(f"a chain of more than {_LONGEST_CHAIN} bytes, or in too small portions")
        if part.remainder:
            wanted = min(part.remainder, _PORTION)
            state = replace(self, portions=chain, request_id=self.request_id + 1)
            return state.acknowledge(
                self.request_id, messages.GetCertificate(self.layout.version, 0, len(chain), wanted)
            )
        if sha384(chain) != self.digest:
            raise UntrustedChainError("the requester's chain has another digest than DIGESTS said")
        assert self.config.mutual is not None
        requester = self.config.mutual.check(chain)
        return machine.next_state(AwaitFinish, self, requester=requester).acknowledge(self.request_id, None)


@dataclass(frozen=True, slots=True)
class AwaitFinish(_Handshake):
    """State: Nothing is missing but FINISH, which the requester signs if it was asked who it is."""

    awaits: ClassVar[str] = "FINISH"

    def message(self, message: Message, raw: bytes) -> machine.SessionStep:
        """Check that the requester has the same transcript, and open the session."""
        finish, transcript = machine.expect(messages.Finish, message), self.transcript
        if bool(finish.signature) is not (self.requester is not None):
            wanted, found = ("FINISH without a signature", "one with a signature")
            if self.requester is not None:
                wanted, found = ("FINISH with a signature", "one without")
            raise UnexpectedMessageError(wanted, found)
        if self.requester is not None:
            if finish.slot:
                raise UnexpectedMessageError("FINISH signed by slot 0", f"by slot {finish.slot}")
            transcript += self.requester.digest
            key = self.requester.requester_key()
            verify_finish(key, self.layout.version, transcript + finish.unsigned_bytes(), finish.signature)
        before = transcript + raw[:-HASH_BYTES]
        self.secrets.request.check_verify_data(sha384(before), finish.verify_data, "RequesterVerifyData")
        response = messages.FinishRsp(self.layout.version).encode()
        th2 = sha384(before + finish.verify_data + response)
        answered, effects = self.say(response)
        assert isinstance(answered, AwaitFinish)
        secrets = self.secrets.session(th2)
        chain = Chain(self.config.certificates, sha384(self.config.chain))
        session = GpuSession(self.sending.session, self.layout.version, th2, chain, MINT, self.requester, self.summary)
        established = machine.next_state(
            AwaitRequest,
            answered,
            sending=RecordKeys(session.id, secrets.response),
            receiving=RecordKeys(session.id, secrets.request),
        )
        return established, (*effects, machine.Opened(session, OneTimeSecret(secrets.export)))


SLOTS: Final = 1  #: The one slot that has certificates, slot 0, as a mask.
_MOST_SHOWN: Final = 1 << 20  #: How many bytes of certificates, with the requests for them, a challenge may be about.


@dataclass(frozen=True, slots=True)
class _Negotiating(ClearState):
    """A state before algorithms are agreed; ``vca`` is what was negotiated so far."""

    vca: bytes


@dataclass(frozen=True, slots=True)
class AwaitGetVersion(_Negotiating):
    """State: Nothing was said."""

    awaits: ClassVar[str] = "GET_VERSION"

    @classmethod
    def first(cls, config: ResponderConfig) -> AwaitGetVersion:
        """Return the initial state of a responder."""
        return cls(Layout(), ResponderTransfer(), config, b"")

    def message(self, message: Message, raw: bytes) -> machine.SessionStep:
        """Answer with the supported versions."""
        machine.expect(messages.GetVersion, message)
        versions = self.config.profile.version_list().encode()
        return machine.next_state(AwaitGetCapabilities, self, vca=raw + versions).say(versions)


@dataclass(frozen=True, slots=True)
class AwaitGetCapabilities(_Negotiating):
    """State: VERSION was sent; this request's version is the one that the requester chose."""

    awaits: ClassVar[str] = "GET_CAPABILITIES"

    def take(self, raw: bytes) -> machine.SessionStep:
        """Read the request in the version that it chooses, if the profile has that version."""
        state = self
        if raw[1:2] == bytes([messages.GetCapabilities.CODE]):
            state = replace(self, layout=Layout(self.config.profile.check_version(raw[0])))
        return ClearState.take(state, raw)

    def message(self, message: Message, raw: bytes) -> machine.SessionStep:
        """Check the requester's capabilities."""
        profile, version, mutual = self.config.profile, self.layout.version, self.config.mutual is not None
        sizes = profile.check_capabilities(machine.expect(messages.GetCapabilities, message), mutual=mutual)
        response = profile.capabilities(version, mutual=mutual).encode()
        transfer = self.transfer.with_version(version, sizes)
        state = machine.next_state(AwaitNegotiateAlgorithms, self, transfer=transfer, vca=self.vca + raw + response)
        return state.say(response)


@dataclass(frozen=True, slots=True)
class AwaitNegotiateAlgorithms(_Negotiating):
    """State: CAPABILITIES was sent."""

    awaits: ClassVar[str] = "NEGOTIATE_ALGORITHMS"

    def message(self, message: Message, raw: bytes) -> machine.SessionStep:
        """Choose the profile's suite."""
        offered, mutual = machine.expect(messages.NegotiateAlgorithms, message), self.config.mutual is not None
        response = self.config.profile.answer(offered, mutual=mutual).encode()
        return machine.next_state(AwaitKeyExchange, self, vca=self.vca + raw + response).say(response)


@dataclass(frozen=True, slots=True)
class AwaitKeyExchange(_Negotiating):
    """State: Algorithms are agreed; the requester may look at the device before it opens the session.

    ``shown`` is what was said of certificates, which a challenge is about; ``measured`` is what was measured and not
    signed yet. Asking for anything else begins the first anew, and so does the second.
    """

    awaits: ClassVar[str] = "GET_DIGESTS, GET_CERTIFICATE, CHALLENGE, GET_MEASUREMENTS or KEY_EXCHANGE"

    shown: bytes = b""
    measured: UnsignedMeasurements = NO_MEASUREMENTS

    def message(self, message: Message, raw: bytes) -> machine.SessionStep:
        """Show the chain, prove to have its key, measure, or sign the key exchange."""
        match message:
            case messages.GetDigests():
                return self._show(raw, self._digests().encode(), before=b"")
            case messages.GetCertificate() as request:
                portion = portion_of(self.config.chain, request, self.transfer.sizes)
                return self._show(raw, portion.encode(), before=self.shown)
            case messages.Challenge() as request if self.config.profile.abilities & Capability.CHAL:
                return self._prove(request, raw)
            case messages.GetMeasurements() as request:
                measured, response = self.measured.answer(self.config.reporter, self.vca, request, raw)
                return replace(self, shown=b"", measured=measured).say(response)
            case _:
                return key_exchange(self, self.vca, machine.expect(messages.KeyExchange, message), raw)

    def _digests(self) -> messages.Digests:
        version = self.layout.version
        supported = SLOTS if version >= Version.V1_3 else 0
        return messages.Digests(version, supported, SLOTS, (sha384(self.config.chain),))

    def _show(self, raw: bytes, response: bytes, *, before: bytes) -> machine.SessionStep:
        shown = before + raw + response
        if len(shown) > _MOST_SHOWN:
            raise UnexpectedMessageError("a challenge or a key exchange", f"{len(shown)} bytes of certificates")
        return replace(self, shown=shown, measured=NO_MEASUREMENTS).say(response)

    def _prove(self, request: messages.Challenge, raw: bytes) -> machine.SessionStep:
        if request.slot:
            raise MalformedError("CHALLENGE", "slot 0", str(request.slot))
        version, kind = self.layout.version, summary_kind(request.summary)
        unsigned = messages.ChallengeAuth(
            version,
            0,
            SLOTS,
            sha384(self.config.chain),
            self.config.random(RANDOM_BYTES),
            self.config.reporter.summary(kind) if kind is not messages.Summary.NONE else b"",
            b"",
            request.context,
            b"",
        )
        signed = self.vca + self.shown + raw + unsigned.encode()
        signature = sign(self.config.key, version, Purpose.CHALLENGE_AUTH, signed)
        response = replace(unsigned, signature=signature)
        return replace(self, shown=b"", measured=NO_MEASUREMENTS).say(response.encode())
