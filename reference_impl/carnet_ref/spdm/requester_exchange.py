"""The requester's key exchange, from KEY_EXCHANGE to the open session, and how it proves who it is on the way.

Source: DMTF DSP0274 1.3.2, sections "KEY_EXCHANGE request" to "FINISH_RSP response", "Session-based mutual
authentication" and "Transcript hash calculation rules".
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import ClassVar, Final

from carnet_ref.crypto.primitives import P384Share, sha384
from carnet_ref.keys.h100 import OneTimeSecret
from carnet_ref.spdm import opaque
from carnet_ref.spdm.chain import Chain
from carnet_ref.spdm.errors import DowngradeError, TransferError, UnexpectedMessageError
from carnet_ref.spdm.events import Opened
from carnet_ref.spdm.key_schedule import HandshakeSecrets
from carnet_ref.spdm.machine import Conversing, Secured, SessionStep, becoming, expect
from carnet_ref.spdm.messages import (
    DeliverEncapsulatedResponse,
    Digests,
    EncapsulatedRequest,
    EncapsulatedResponseAck,
    Finish,
    FinishRsp,
    GetCertificate,
    GetDigests,
    GetEncapsulatedRequest,
    KeyExchange,
    KeyExchangeRsp,
    Message,
    MutualRequest,
    Payload,
    Summary,
    Version,
    parse_message,
)
from carnet_ref.spdm.messages.common import HASH_BYTES, RANDOM_BYTES, REQUESTER_SIGNATURE_BYTES, SIGNATURE_BYTES
from carnet_ref.spdm.portions import portion_of
from carnet_ref.spdm.records import RecordKeys
from carnet_ref.spdm.requester_config import RequesterConfig, RequesterIdentity
from carnet_ref.spdm.requester_session import Established
from carnet_ref.spdm.session import MINT, GpuSession
from carnet_ref.spdm.signing import Purpose, sign_finish, verify

_SLOT: Final = 0
"""The requester's only slot."""
_IMPLICIT: Final = 0
"""The number of a GET_DIGESTS that nobody sent."""
_MOST_REQUESTS: Final = 256
"""How many requests a responder may make before the session is open."""


def key_exchange(state: Conversing, config: RequesterConfig, vca: bytes, chain: Chain) -> SessionStep:
    """Send KEY_EXCHANGE."""
    draw, version = config.random, state.layout.version
    share, session = P384Share(draw), int.from_bytes(draw(2), "little")
    request = KeyExchange(
        version,
        config.summary,
        config.slot,
        session,
        0,
        draw(RANDOM_BYTES),
        share.public,
        opaque.offered_versions(version),
    ).encode()
    layout = replace(state.layout, summary=config.summary is not Summary.NONE)
    transcript = vca + chain.digest + request
    return AwaitKeyExchangeRsp(
        layout, state.transfer, config, vca, transcript, chain, share=share, requester_id=session
    ).say(request)


@dataclass(frozen=True, slots=True)
class AwaitKeyExchangeRsp(Conversing):
    """KEY_EXCHANGE was sent."""

    awaits: ClassVar[str] = "KEY_EXCHANGE_RSP"

    config: RequesterConfig
    vca: bytes
    transcript: bytes
    chain: Chain
    share: P384Share = field(repr=False)
    requester_id: int

    def message(self, message: Message, raw: bytes) -> SessionStep:
        """Check the device's signature and verify data over all that was said; finish, or say who this end is."""
        response = expect(KeyExchangeRsp, message)
        signed = self.transcript + raw[: -HASH_BYTES - SIGNATURE_BYTES]
        key = self.chain.device_key()
        verify(key, self.layout.version, Purpose.KEY_EXCHANGE_RSP, signed, response.signature)
        identity = self._asked(response)
        opaque.check_selected(self.layout.version, response.opaque)
        transcript = signed + response.signature
        shared = self.share.agree(response.exchange)
        secrets = HandshakeSecrets.derive(self.layout.version, shared, sha384(transcript))
        secrets.response.check_verify_data(sha384(transcript), response.verify_data, "ResponderVerifyData")
        return self._go_on(response, transcript + response.verify_data, secrets, identity)

    def _asked(self, response: KeyExchangeRsp) -> RequesterIdentity | None:
        """Return who has to sign FINISH: whoever this end is, if it is anybody."""
        identity = self.config.identity
        if identity is None:
            if response.mutual:
                raise UnexpectedMessageError("no request for mutual authentication", f"{response.mutual:#04x}")
            return None
        if response.mutual not in set(MutualRequest):
            raise DowngradeError(f"the responder does not ask who this end is: {response.mutual:#04x}")
        if response.mutual == MutualRequest.PROVISIONED and response.requester_slot != _SLOT:
            raise UnexpectedMessageError(f"the requester's slot {_SLOT}", f"slot {response.requester_slot}")
        return identity

    def _go_on(
        self, response: KeyExchangeRsp, transcript: bytes, secrets: HandshakeSecrets, identity: RequesterIdentity | None
    ) -> SessionStep:
        session = self.requester_id | response.session << 16
        shared = {
            "sending": RecordKeys(session, secrets.request),
            "receiving": RecordKeys(session, secrets.response),
            "random": self.config.random,
            "transcript": transcript,
            "secrets": secrets,
            "identity": identity,
            "summary": response.summary,
        }
        match response.mutual:
            case MutualRequest.ENCAPSULATED:
                asking = becoming(AwaitEncapsulatedRequest, self, **shared)
                return asking.say(GetEncapsulatedRequest(self.layout.version).encode())
            case MutualRequest.DIGESTS:
                return becoming(AwaitEncapsulatedAck, self, **shared).answer(
                    _IMPLICIT, GetDigests(self.layout.version).encode()
                )
            case _:
                return becoming(_Finishing, self, **shared).finish()


@dataclass(frozen=True, slots=True)
class _Finishing(Secured):
    """The key exchange is over, and the handshake is not."""

    awaits: ClassVar[str] = ""

    config: RequesterConfig
    vca: bytes
    transcript: bytes
    chain: Chain
    secrets: HandshakeSecrets = field(repr=False)
    identity: RequesterIdentity | None
    summary: bytes

    @property
    def carries_applications(self) -> bool:
        """Nothing but the handshake is carried before it is over."""
        return False

    def finish(self) -> SessionStep:
        """Send FINISH: signed, if this end has to say who it is."""
        version, transcript = self.layout.version, self.transcript
        place = bytes(REQUESTER_SIGNATURE_BYTES) if self.identity else b""
        draft = Finish(version, _SLOT, place, bytes(HASH_BYTES))
        if self.identity is not None:
            transcript += self.identity.digest
            signature = sign_finish(self.identity.key, version, transcript + draft.unsigned())
            draft = replace(draft, signature=signature)
        transcript += draft.unsigned() + draft.signature
        finish = replace(draft, verify_data=self.secrets.request.verify_data(sha384(transcript)))
        state = becoming(AwaitFinishRsp, self, transcript=transcript + finish.verify_data)
        return state.say(finish.encode())


@dataclass(frozen=True, slots=True)
class AwaitEncapsulatedRequest(_Finishing):
    """GET_ENCAPSULATED_REQUEST was sent."""

    awaits: ClassVar[str] = "ENCAPSULATED_REQUEST"

    def message(self, message: Message, raw: bytes) -> SessionStep:
        """Answer the responder's first request."""
        request = expect(EncapsulatedRequest, message)
        return becoming(AwaitEncapsulatedAck, self).answer(request.request_id, request.carried)


@dataclass(frozen=True, slots=True)
class AwaitEncapsulatedAck(_Finishing):
    """DELIVER_ENCAPSULATED_RESPONSE was sent: the response to the request of that number."""

    awaits: ClassVar[str] = "ENCAPSULATED_RESPONSE_ACK"

    request_id: int = _IMPLICIT
    answered: int = 0

    def message(self, message: Message, raw: bytes) -> SessionStep:
        """Answer the responder's next request, or finish when there is none."""
        ack = expect(EncapsulatedResponseAck, message)
        if self.layout.version >= Version.V1_2 and ack.acknowledged != self.request_id:
            raise UnexpectedMessageError(
                f"an acknowledgement of request {self.request_id}", f"one of {ack.acknowledged}"
            )
        if ack.kind is Payload.REQUEST:
            return self.answer(ack.request_id, ack.payload)
        if ack.kind is Payload.SLOT and ack.payload[0] != _SLOT:
            raise UnexpectedMessageError(f"the requester's slot {_SLOT}", f"slot {ack.payload[0]}")
        return self.finish()

    def answer(self, request_id: int, carried: bytes) -> SessionStep:
        """Deliver the response to a request of the responder.

        Raises:
            UnexpectedMessageError: it asks for something else than the requester's certificates.
            TransferError: it asks once too often.
        """
        if self.answered == _MOST_REQUESTS:
            raise TransferError(f"the responder makes more than {_MOST_REQUESTS} requests before the session is open")
        response = self._response(parse_message(carried, self.layout)).encode()
        state = replace(self, request_id=request_id, answered=self.answered + 1)
        return state.say(DeliverEncapsulatedResponse(self.layout.version, request_id, response).encode())

    def _response(self, request: Message) -> Message:
        assert self.identity is not None
        version = self.layout.version
        match request:
            case GetDigests():
                supported = 1 << _SLOT if version >= Version.V1_3 else 0
                return Digests(version, supported, 1 << _SLOT, (self.identity.digest,))
            case GetCertificate():
                return portion_of(self.identity.chain, request, self.transfer.sizes, carried=True)
            case _:
                raise UnexpectedMessageError("GET_DIGESTS or GET_CERTIFICATE, encapsulated", type(request).__name__)


@dataclass(frozen=True, slots=True)
class AwaitFinishRsp(_Finishing):
    """FINISH was sent, inside the session."""

    awaits: ClassVar[str] = "FINISH_RSP"

    def message(self, message: Message, raw: bytes) -> SessionStep:
        """Open the session."""
        expect(FinishRsp, message)
        th2 = sha384(self.transcript + raw)
        secrets = self.secrets.session(th2)
        own = None if self.identity is None else Chain.parse(self.identity.chain)
        session = GpuSession(self.sending.session, self.layout.version, th2, self.chain, MINT, own, self.summary)
        established = becoming(
            Established,
            self,
            sending=RecordKeys(session.id, secrets.request),
            receiving=RecordKeys(session.id, secrets.response),
            session=session,
            slot=self.config.slot,
        )
        return established, (Opened(session, OneTimeSecret(secrets.export)),)
