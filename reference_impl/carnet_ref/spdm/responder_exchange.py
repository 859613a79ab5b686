"""The responder's key exchange, from KEY_EXCHANGE to the open session, and how it finds out who its requester is.

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
from carnet_ref.spdm.errors import UnexpectedMessageError, UntrustedChainError
from carnet_ref.spdm.events import Opened
from carnet_ref.spdm.key_schedule import HandshakeSecrets
from carnet_ref.spdm.machine import SessionStep, becoming, expect
from carnet_ref.spdm.messages import (
    Certificate,
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
    parse_message,
)
from carnet_ref.spdm.messages.common import HASH_BYTES, RANDOM_BYTES
from carnet_ref.spdm.records import RecordKeys
from carnet_ref.spdm.responder_session import AwaitRequest
from carnet_ref.spdm.serving import Guarded, Plain
from carnet_ref.spdm.session import MINT, GpuSession
from carnet_ref.spdm.signing import Purpose, sign, verify_finish
from carnet_ref.spdm.transfer import Answering, Asking, Crossing
from carnet_ref.wire.reader import MalformedError

_HEARTBEAT_SECONDS: Final = 4
"""Source: open-gpu-kernel-modules, spdm.c."""
_PORTION: Final = 0x0400
_LONGEST_CHAIN: Final = 0xFFFF
_LAST_REQUEST: Final = 0xFF


def summary_kind(asked: int) -> Summary:
    """Return which measurements a request wants to have summed up.

    Raises:
        MalformedError: there is no such kind.
    """
    if asked not in set(Summary):
        raise MalformedError("measurement summary", "none, rooted or all", f"{asked:#04x}")
    return Summary(asked)


def key_exchange(state: Plain, vca: bytes, request: KeyExchange, raw: bytes) -> SessionStep:
    """Answer KEY_EXCHANGE, signed.

    Raises:
        MalformedError: it is of another slot than 0.
        CryptoError: its share is none.
        PutOffError: summing up measurements takes time.
    """
    kind = summary_kind(request.summary)
    if request.slot:
        raise MalformedError("KEY_EXCHANGE", "slot 0", f"slot {request.slot}")
    config, version, draw = state.config, state.layout.version, state.config.random
    summary = config.reporter.summary(kind) if kind is not Summary.NONE else b""
    share = P384Share(draw)
    shared = share.agree(request.exchange)
    unsigned = KeyExchangeRsp(
        version,
        _HEARTBEAT_SECONDS,
        int.from_bytes(draw(2), "little"),
        0 if config.mutual is None else config.mutual.asked,
        0,
        draw(RANDOM_BYTES),
        share.public,
        summary,
        opaque.selected_version(version, request.opaque),
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
    return becoming(AwaitCollection, state, then=then).say(response.encode())


def _after_exchange(
    state: Plain, vca: bytes, session: int, transcript: bytes, secrets: HandshakeSecrets, summary: bytes
) -> _Opening:
    """Return what is awaited inside the session: FINISH, or first who the requester is."""
    mutual = state.config.mutual
    kind: type[_Opening] = AwaitFinish
    requester = None
    if mutual is not None and mutual.asked is MutualRequest.PROVISIONED:
        requester = mutual.check(mutual.provisioned)
    elif mutual is not None:
        kind = AwaitDigests if mutual.asked is MutualRequest.DIGESTS else AwaitGetEncapsulatedRequest
    return becoming(
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
class AwaitCollection(Plain):
    """KEY_EXCHANGE_RSP goes out, in the clear; if it does in pieces, they are awaited before anything else."""

    awaits: ClassVar[str] = "CHUNK_GET"

    then: _Opening

    def crossed(self, crossing: Crossing[Asking | Answering]) -> SessionStep:
        """Go on inside the session once the last piece is out."""
        _, effects = Plain.crossed(self, crossing)
        if crossing.transfer.outgoing is None:
            return replace(self.then, transfer=crossing.transfer), effects
        return replace(self, transfer=crossing.transfer), effects


@dataclass(frozen=True, slots=True)
class _Opening(Guarded):
    """The key exchange is over, and the handshake is not; ``requester`` is who has to sign FINISH."""

    awaits: ClassVar[str] = ""

    transcript: bytes
    secrets: HandshakeSecrets = field(repr=False)
    summary: bytes
    requester: Chain | None

    @property
    def carries_applications(self) -> bool:
        """Nothing but the handshake is carried before it is over."""
        return False

    def acknowledge(self, came: int, request: Message | None) -> SessionStep:
        """Acknowledge a response, and make the next request, if there is one."""
        version = self.layout.version
        if request is None:
            return self.say(EncapsulatedResponseAck(version, 0, Payload.ABSENT, came).encode())
        number = came + 1
        return self.say(EncapsulatedResponseAck(version, number, Payload.REQUEST, came, request.encode()).encode())


@dataclass(frozen=True, slots=True)
class AwaitGetEncapsulatedRequest(_Opening):
    """KEY_EXCHANGE_RSP was sent, and asked who the requester is."""

    awaits: ClassVar[str] = "GET_ENCAPSULATED_REQUEST"

    def message(self, message: Message, raw: bytes) -> SessionStep:
        """Ask for the requester's digests."""
        expect(GetEncapsulatedRequest, message)
        state, version = becoming(AwaitDigests, self, request_id=1), self.layout.version
        return state.say(EncapsulatedRequest(version, 1, GetDigests(version).encode()).encode())


@dataclass(frozen=True, slots=True)
class _Asking(_Opening):
    """The requester was asked for something, in the request of that number; 0 is one that nobody had to send."""

    awaits: ClassVar[str] = ""

    request_id: int = 0

    def message(self, message: Message, raw: bytes) -> SessionStep:
        """Take the response that the requester delivers."""
        delivered = expect(DeliverEncapsulatedResponse, message)
        if delivered.request_id != self.request_id:
            raise UnexpectedMessageError(f"the response to request {self.request_id}", f"one to {delivered.request_id}")
        return self.response(parse_message(delivered.carried, self.layout))

    def response(self, response: Message) -> SessionStep:
        """Take the response, and ask for what is missing."""
        raise NotImplementedError  # each state awaits a response of its own


@dataclass(frozen=True, slots=True)
class AwaitDigests(_Asking):
    """The requester's digests were asked for."""

    awaits: ClassVar[str] = "DIGESTS, encapsulated"

    def response(self, response: Message) -> SessionStep:
        """Remember the digest of the chain in slot 0 and ask for the chain."""
        digests = expect(Digests, response)
        if not digests.slots & 1:
            raise UntrustedChainError("the requester has no certificate in slot 0")
        state = becoming(AwaitCertificate, self, digest=digests.digests[0], request_id=self.request_id + 1)
        return state.acknowledge(self.request_id, GetCertificate(self.layout.version, 0, 0, _PORTION))


@dataclass(frozen=True, slots=True)
class AwaitCertificate(_Asking):
    """The requester's chain was asked for, and ``portions`` came so far."""

    awaits: ClassVar[str] = "CERTIFICATE, encapsulated"

    digest: bytes = b""
    portions: bytes = b""

    def response(self, response: Message) -> SessionStep:
        """Collect the chain; whole, it has to be trusted."""
        part = expect(Certificate, response)
        chain = self.portions + part.portion
        if part.slot or not 0 < len(part.portion) <= _PORTION:
            raise UntrustedChainError(f"a portion of {len(part.portion)} bytes of the requester's slot {part.slot}")
        if len(chain) + part.remainder > _LONGEST_CHAIN or self.request_id == _LAST_REQUEST:
            raise UntrustedChainError(f"a chain of more than {_LONGEST_CHAIN} bytes, or in too small portions")
        if part.remainder:
            wanted = min(part.remainder, _PORTION)
            state = replace(self, portions=chain, request_id=self.request_id + 1)
            return state.acknowledge(self.request_id, GetCertificate(self.layout.version, 0, len(chain), wanted))
        if sha384(chain) != self.digest:
            raise UntrustedChainError("the requester's chain has another digest than DIGESTS said")
        assert self.config.mutual is not None
        requester = self.config.mutual.check(chain)
        return becoming(AwaitFinish, self, requester=requester).acknowledge(self.request_id, None)


@dataclass(frozen=True, slots=True)
class AwaitFinish(_Opening):
    """Nothing is missing but FINISH, which the requester signs if it was asked who it is."""

    awaits: ClassVar[str] = "FINISH"

    def message(self, message: Message, raw: bytes) -> SessionStep:
        """Check that the requester agrees on all that was said, and open the session."""
        finish, transcript = expect(Finish, message), self.transcript
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
            verify_finish(key, self.layout.version, transcript + finish.unsigned(), finish.signature)
        before = transcript + raw[:-HASH_BYTES]
        self.secrets.request.check_verify_data(sha384(before), finish.verify_data, "RequesterVerifyData")
        response = FinishRsp(self.layout.version).encode()
        return self._open(sha384(before + finish.verify_data + response), response)

    def _open(self, th2: bytes, response: bytes) -> SessionStep:
        answered, effects = self.say(response)
        assert isinstance(answered, AwaitFinish)
        secrets = self.secrets.session(th2)
        chain = Chain(self.config.certificates, sha384(self.config.chain))
        session = GpuSession(self.sending.session, self.layout.version, th2, chain, MINT, self.requester, self.summary)
        established = becoming(
            AwaitRequest,
            answered,
            sending=RecordKeys(session.id, secrets.response),
            receiving=RecordKeys(session.id, secrets.request),
        )
        return established, (*effects, Opened(session, OneTimeSecret(secrets.export)))
