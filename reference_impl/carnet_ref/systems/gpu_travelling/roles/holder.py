"""A data holder: attests the orchestrator, proves who it is, and fills the buffer when the GPU is there."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePrivateKey

from carnet_ref.crypto.primitives import CryptoError, Random
from carnet_ref.keys import Budget, KeysError
from carnet_ref.marks import enforces
from carnet_ref.recorder import step
from carnet_ref.systems.gpu_travelling.device.commands import Write
from carnet_ref.systems.gpu_travelling.enforcement import (
    Checks,
    ReceivedMessage,
    checking,
    log_step,
    unattributed_checks,
)
from carnet_ref.systems.gpu_travelling.names import BUFFER, GPU, HOLDER, ORCHESTRATOR, address_name
from carnet_ref.systems.gpu_travelling.roles.appraising import Agreed, accept_orchestrator, prove_enrolment
from carnet_ref.systems.gpu_travelling.roles.channel import Channel, Initiator
from carnet_ref.systems.gpu_travelling.roles.channel_messages import (
    Answer,
    Decline,
    Envelope,
    Grant,
    Hello,
    NoChannel,
    OrchestratorEvidence,
    Proof,
    Record,
    Return,
    encode_envelope,
    encode_message,
    parse_envelope,
    parse_message,
)
from carnet_ref.systems.gpu_travelling.roles.links import FRAMING, BorrowedLink
from carnet_ref.systems.gpu_travelling.roles.ports import QuoteAppraiser
from carnet_ref.transport.frames import (
    PLATFORM,
    Ended,
    Frame,
    FrameKind,
    Persist,
    Proceed,
    ProtocolError,
    Remark,
    RoleEffect,
    RoleEvent,
    Send,
    Tick,
)
from carnet_ref.wire import MalformedError

_NONCE_BYTES = 32
Failure = (CryptoError, KeysError, MalformedError, ProtocolError)


def address_in(grant: Grant) -> int:
    """Return where a grant says that the buffer is."""
    return grant.address


@dataclass(frozen=True, slots=True)
class HolderSetup:
    """What a holder brings: its name, its enrolment key, its data in chunks, and what the holders agreed on.

    It asks for a channel again after ``patience`` seconds, and gives up after ``refusals`` channels that it refused.
    """

    name: str
    key: EllipticCurvePrivateKey
    chunks: Callable[[int], tuple[bytes, ...]]
    job: Agreed
    patience: float = 30.0
    refusals: int = 8
    checks: Checks = field(default_factory=Checks)
    link: type[BorrowedLink] = BorrowedLink
    address: Callable[[Grant], int] = address_in


@dataclass(slots=True)
class HolderState:
    """What a holder knows while it runs; ``accepted`` names every epoch it was ever granted."""

    setup: HolderSetup
    random: Random
    appraiser: QuoteAppraiser
    accepted: set[str] = field(default_factory=set)
    refused: int = 0
    now: float = 0.0
    deadline: float = 0.0


class HolderPhase:
    """One state of a holder, named by what it awaits."""

    __slots__ = ("known",)

    def __init__(self, known: HolderState) -> None:
        self.known = known

    def on_envelope(self, envelope: Envelope) -> Transition:
        """Take a channel message.

        Raises:
            ProtocolError: it is not what is awaited.
        """
        raise ProtocolError(f"{type(envelope).__name__} is not awaited")

    def on_no_channel(self, name: bytes) -> Transition:
        """Ask for a channel if the other end has none at all."""
        return (self, []) if name else hello(self.known)

    def on_proceed(self) -> Transition:
        """Go on where nothing is awaited."""
        return self, []

    def on_tick(self) -> Transition:
        """Ask for a channel again if none comes about."""
        return hello(self.known) if self.known.now > self.known.deadline else (self, [])


Transition = tuple[HolderPhase, list[RoleEffect]]


def hello(known: HolderState) -> Transition:
    """Ask the orchestrator for a channel."""
    initiator, nonce = Initiator(known.random), known.random(_NONCE_BYTES)
    known.deadline = known.now + known.setup.patience
    return AwaitsAnswer(known, initiator, nonce), [_send(Hello(initiator.hello, nonce))]


class AwaitsAnswer(HolderPhase):
    """A key share was sent."""

    __slots__ = ("initiator", "nonce")

    def __init__(self, known: HolderState, initiator: Initiator, nonce: bytes) -> None:
        super().__init__(known)
        self.initiator = initiator
        self.nonce = nonce

    def on_envelope(self, envelope: Envelope) -> Transition:
        """Make the channel; who is at the other end is not known yet."""
        if not isinstance(envelope, Answer) or envelope.to != self.initiator.hello:
            return self, []
        return AwaitsEvidence(self.known, self.initiator.finish(envelope.share), self.nonce), []


class _InChannel(HolderPhase):
    __slots__ = ("channel", "nonce")

    def __init__(self, known: HolderState, channel: Channel, nonce: bytes) -> None:
        super().__init__(known)
        self.channel = channel
        self.nonce = nonce

    def on_envelope(self, envelope: Envelope) -> Transition:
        """Open the next record; what is late from a channel that was given up passes by."""
        if not isinstance(envelope, Record) or envelope.channel != self.channel.name:
            return self, []
        message = parse_message(self.channel.open(envelope.sealed))
        match message:
            case OrchestratorEvidence():
                return self.on_evidence(message)
            case Grant():
                return self.on_grant(message)
        raise ProtocolError(f"{type(message).__name__} is not for a holder")

    def on_no_channel(self, name: bytes) -> Transition:
        """Ask for another channel if this one is lost at the other end."""
        return (self, []) if name not in {b"", self.channel.name} else hello(self.known)

    def on_evidence(self, shown: OrchestratorEvidence) -> Transition:
        """Check that the other end is the orchestrator, with the GPU and the job that it says; prove who this is.

        The proof is given each time: the one before may be lost.
        """
        known, setup = self.known, self.known.setup
        exporter = self.channel.exporter
        accept_orchestrator(shown.evidence, exporter, self.nonce, setup.job, known.appraiser, setup.checks)
        known.refused = 0
        seen = log_step(step("attest_orchestrator", HOLDER, a=setup.name, p=ORCHESTRATOR, q=ORCHESTRATOR))
        proof = Proof(prove_enrolment(setup.key, exporter))
        proven = log_step(step("prove_enrolment", HOLDER, a=setup.name), proof.signature)
        return AwaitsGrant(known, self.channel, self.nonce, shown.session), [seen, proven, self.send(proof)]

    def on_grant(self, grant: Grant) -> Transition:
        """Refuse a grant.

        Raises:
            ProtocolError: always; nobody's grant is accepted before the other end is attested.
        """
        raise ProtocolError("a grant before evidence")

    def send(self, message: Proof | Return | Decline) -> Send:
        """Return the frame that carries ``message`` in the channel."""
        return _send(Record(self.channel.name, self.channel.seal(encode_message(message))))


class AwaitsEvidence(_InChannel):
    """The channel stands; the orchestrator has to show its evidence in it."""

    __slots__ = ()


class AwaitsGrant(_InChannel):
    """The orchestrator is attested, for one session of its GPU."""

    __slots__ = ("session",)

    def __init__(self, known: HolderState, channel: Channel, nonce: bytes, session: str) -> None:
        super().__init__(known, channel, nonce)
        self.session = session

    def on_grant(self, grant: Grant) -> Transition:
        """Accept a grant for the session that was attested, once; decline one whose budget is too small."""
        grant = replace(grant, address=self.known.setup.address(grant))
        self._check(grant)
        known, name = self.known, epoch_name(grant)
        chunks = known.setup.chunks(grant.round)
        needs = Budget.of(len(chunk) + FRAMING for chunk in chunks)
        if not grant.budget.covers(needs):
            return self, [self.send(Decline(grant.session, grant.epoch, needs))]
        known.accepted.add(name)
        taken = step(
            "accept_grant",
            HOLDER,
            a=known.setup.name,
            p=ORCHESTRATOR,
            k=name,
            v=grant.start,
            b=address_name(grant.address),
        )
        provides = Provides(known, self.channel, self.nonce, grant, chunks)
        return provides, [Persist("accepted", name.encode()), log_step(taken), Proceed()]

    def _check(self, grant: Grant) -> None:
        if grant.session != self.session:
            raise ProtocolError(f"a grant in session {grant.session}, which was not attested")
        checks, name = self.known.setup.checks, epoch_name(grant)
        more, again = "a grant of more than the host-to-device half", f"the grant of {name} was accepted before"
        saw, known = ReceivedMessage(ORCHESTRATOR, encode_message(grant)), self.known.accepted
        checks.require("h2d-half-only", "REQ-GRANT-03", not grant.d2h, saw=saw, otherwise=more)
        checks.require("launch-key-kept", "REQ-GRANT-03", not grant.launch, saw=saw, otherwise=more)
        checks.require("grant-once", "REQ-GRANT-05", name not in known, saw=name, otherwise=again)
        place = address_name(grant.address)
        astray = f"a grant to write at {grant.address:#x}, which is not in the buffer"
        checks.require("address-in-grant", "REQ-GRANT-04", place == BUFFER, saw=saw, otherwise=astray)

    def on_tick(self) -> Transition:
        """Wait on: a turn may be long in coming."""
        return self, []


class Provides(_InChannel):
    """The GPU is here: one chunk after another goes into its buffer, and then it goes back.

    No more of the key is used than the grant's budget.
    """

    __slots__ = ("chunks", "grant", "link", "sent", "size")

    def __init__(
        self, known: HolderState, channel: Channel, nonce: bytes, grant: Grant, chunks: tuple[bytes, ...]
    ) -> None:
        super().__init__(known, channel, nonce)
        self.grant = grant
        self.chunks = chunks
        self.link = known.setup.link(grant.keys(known.setup.name), grant.start, grant.budget)
        self.sent = 0
        self.size = 0

    def on_tick(self) -> Transition:
        """Go on: a holder that has the GPU asks for no other channel, however long ago it asked for this one."""
        return self, []

    @enforces("REQ-DATA-01")
    def on_proceed(self) -> Transition:
        """Seal the next chunk; after the last, give the GPU back with the count used."""
        if self.sent == len(self.chunks):
            return self._give_back()
        data, name = self.chunks[self.sent], self.known.setup.name
        slot, body = self.link.seal(Write(self.grant.address + self.size, self.sent + 1, data))
        self.sent += 1
        self.size += len(data)
        chunk = f"{name}'s chunk {self.sent}"
        epoch, start = epoch_name(self.grant), self.grant.start
        due, told = self.link.count, f"the counter value {slot} is not used up"
        checks = self.known.setup.checks
        checks.require("sender-iv-monotonic", "REQ-IV-01", due > slot, saw=(epoch, slot, due), otherwise=told)
        use, told = self.link.standing, "more of the key is used than the grant allows"
        checks.require("key-usage-limit", "REQ-KEY-07", use.within, saw=tuple(use), otherwise=told)
        sent = log_step(step("provision", HOLDER, a=name, p=ORCHESTRATOR, k=epoch, s=start, v=slot, m=chunk), body)
        used = Persist("used", f"{epoch} {slot}".encode())
        return self, [used, sent, Send(GPU, FrameKind.H2D, body), Proceed()]

    @enforces("REQ-RETURN-01")
    def _give_back(self) -> Transition:
        grant, name = self.grant, self.known.setup.name
        count = self.link.count
        given = Return(grant.session, grant.epoch, count, self.size)
        taken = step("give_back", HOLDER, a=name, p=ORCHESTRATOR, k=epoch_name(grant), s=grant.start, n=count)
        frame = self.send(given)
        state = AwaitsGrant(self.known, self.channel, self.nonce, grant.session)
        return state, [Persist("finished", epoch_name(grant).encode()), log_step(taken, encode_message(given)), frame]


class Holder:
    """A holder's state machine."""

    def __init__(
        self, setup: HolderSetup, random: Random, appraiser: QuoteAppraiser, accepted: Iterable[str] = ()
    ) -> None:
        self.known = HolderState(setup, random, appraiser, set(accepted))
        self.state: HolderPhase = HolderPhase(self.known)

    def begin(self, now: float) -> list[RoleEffect]:
        """Ask for a channel."""
        self.known.now = now
        self.state, effects = hello(self.known)
        return effects

    def handle(self, event: RoleEvent) -> tuple[HolderPhase, list[RoleEffect]]:
        """Take an event, and return the new state and what is to be done.

        A channel in which anything is wrong is given up, with the grant that came through it, and asked for anew.
        """
        with checking(HOLDER) as log:
            try:
                self.state, effects = self._on_event(event)
            except Failure as error:
                self.state, effects = self._start_again(str(error))
            return self.state, [*unattributed_checks(log), *effects]

    def outcome(self) -> Mapping[str, Any]:
        """Return nothing: what a holder did is in its journal."""
        return {}

    def _on_event(self, event: RoleEvent) -> Transition:
        match event:
            case Tick(now):
                self.known.now = max(now, self.known.now)
                return self.state.on_tick()
            case Proceed():
                return self.state.on_proceed()
            case Frame(source=source, kind=FrameKind.CHANNEL, body=body) if source == ORCHESTRATOR:
                envelope = parse_envelope(body)
                if isinstance(envelope, NoChannel):
                    return self.state.on_no_channel(envelope.channel)
                return self.state.on_envelope(envelope)
            case Frame(source=source, kind=FrameKind.FAULT) if source == PLATFORM:
                return hello(self.known)
        return self.state, [Remark(f"ignored: {event.kind.name.lower()} from {event.source}")]

    def _start_again(self, reason: str) -> Transition:
        self.known.refused += 1
        if self.known.refused > self.known.setup.refusals:
            return HolderPhase(self.known), [
                Ended(f"{self.known.refused} channels failed, the last one because of {reason}")
            ]
        state, effects = hello(self.known)
        return state, [Remark(f"channel given up: {reason}"), *effects]


def epoch_name(grant: Grant) -> str:
    """Return the name of the epoch that a grant lends."""
    return f"{grant.session}/{grant.epoch}"


def _send(envelope: Envelope) -> Send:
    return Send(ORCHESTRATOR, FrameKind.CHANNEL, encode_envelope(envelope))
