"""A data holder: attests the orchestrator, proves who it is, and fills the buffer when the GPU is there."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePrivateKey

from carnet_ref.crypto.primitives import CryptoError, Random
from carnet_ref.device.commands import Write, encode
from carnet_ref.keys import Budget, Direction, KeysError, KeyUsage, Sealer, UsageLimits
from carnet_ref.recorder import step
from carnet_ref.systems.gpu_travelling.defences import ALL, Defences
from carnet_ref.systems.gpu_travelling.enforcement import Checks
from carnet_ref.systems.gpu_travelling.roles.appraising import accept_orchestrator, prove_enrolment
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
from carnet_ref.systems.gpu_travelling.roles.links import FRAMING, h2d_body
from carnet_ref.systems.gpu_travelling.roles.ports import QuoteAppraiser
from carnet_ref.transport.frames import (
    GPU,
    ORCHESTRATOR,
    PLATFORM,
    Effect,
    Ended,
    Event,
    Frame,
    Kind,
    Note,
    Persist,
    Proceed,
    ProtocolError,
    Remark,
    Send,
    Tick,
)
from carnet_ref.wire.reader import MalformedError

HOLDER = "holder"
_NONCE_BYTES = 32
Failure = (CryptoError, KeysError, MalformedError, ProtocolError)


@dataclass(frozen=True, slots=True)
class Stake:
    """What a holder brings: its name, its enrolment key, its data in chunks, and the manifest it agreed to.

    It asks for a channel again after ``patience`` seconds, and gives up after ``refusals`` channels that it refused.
    """

    name: str
    key: EllipticCurvePrivateKey
    chunks: Callable[[int], tuple[bytes, ...]]
    manifest: bytes
    patience: float = 30.0
    refusals: int = 8
    defences: Defences = ALL


@dataclass(slots=True)
class Desk:
    """What a holder knows while it runs; ``accepted`` names every epoch it was ever granted."""

    stake: Stake
    random: Random
    appraiser: QuoteAppraiser
    accepted: set[str] = field(default_factory=set)
    refused: int = 0
    now: float = 0.0
    deadline: float = 0.0


class State:
    """One state of a holder, named by what it awaits."""

    __slots__ = ("desk",)

    def __init__(self, desk: Desk) -> None:
        self.desk = desk

    def on_envelope(self, envelope: Envelope) -> Transition:
        """Take a channel message.

        Raises:
            ProtocolError: it is not what is awaited.
        """
        raise ProtocolError(f"{type(envelope).__name__} is not awaited")

    def on_no_channel(self, name: bytes) -> Transition:
        """Ask for a channel if the other end has none at all."""
        return (self, []) if name else hello(self.desk)

    def on_proceed(self) -> Transition:
        """Go on where nothing is awaited."""
        return self, []

    def on_tick(self) -> Transition:
        """Ask for a channel again if none comes about."""
        return hello(self.desk) if self.desk.now > self.desk.deadline else (self, [])


Transition = tuple[State, list[Effect]]


def hello(desk: Desk) -> Transition:
    """Ask the orchestrator for a channel."""
    initiator, nonce = Initiator(desk.random), desk.random(_NONCE_BYTES)
    desk.deadline = desk.now + desk.stake.patience
    return AwaitsAnswer(desk, initiator, nonce), [_send(Hello(initiator.hello, nonce))]


class AwaitsAnswer(State):
    """A key share was sent."""

    __slots__ = ("initiator", "nonce")

    def __init__(self, desk: Desk, initiator: Initiator, nonce: bytes) -> None:
        super().__init__(desk)
        self.initiator = initiator
        self.nonce = nonce

    def on_envelope(self, envelope: Envelope) -> Transition:
        """Make the channel; who is at the other end is not known yet."""
        if not isinstance(envelope, Answer) or envelope.to != self.initiator.hello:
            return self, []
        return AwaitsEvidence(self.desk, self.initiator.finish(envelope.share), self.nonce), []


class _InChannel(State):
    __slots__ = ("channel", "nonce")

    def __init__(self, desk: Desk, channel: Channel, nonce: bytes) -> None:
        super().__init__(desk)
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
        return (self, []) if name not in {b"", self.channel.name} else hello(self.desk)

    def on_evidence(self, shown: OrchestratorEvidence) -> Transition:
        """Check that the other end is the orchestrator, with the GPU and the job that it says; prove who this is.

        The proof is given each time: the one before may be lost.
        """
        desk, stake = self.desk, self.desk.stake
        checks = Checks(stake.defences.off)
        accept_orchestrator(shown.evidence, self.channel.exporter, self.nonce, stake.manifest, desk.appraiser, checks)
        desk.refused = 0
        proof = Proof(prove_enrolment(stake.key, self.channel.exporter))
        return AwaitsGrant(desk, self.channel, self.nonce, shown.session), [self.send(proof)]

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

    def __init__(self, desk: Desk, channel: Channel, nonce: bytes, session: str) -> None:
        super().__init__(desk, channel, nonce)
        self.session = session

    def on_grant(self, grant: Grant) -> Transition:
        """Accept a grant for the session that was attested, once; decline one whose budget is too small."""
        desk, name, defences = self.desk, epoch_name(grant), self.desk.stake.defences
        if grant.session != self.session:
            raise ProtocolError(f"a grant in session {grant.session}, which was not attested")
        if (grant.d2h and defences.stands("h2d-half-only")) or (grant.launch and defences.stands("launch-key-kept")):
            raise ProtocolError("a grant of more than the host-to-device half")
        if name in desk.accepted and defences.stands("grant-once"):
            raise ProtocolError(f"the grant of {name} was accepted before")
        chunks = desk.stake.chunks(grant.round)
        needs = Budget.of(len(chunk) + FRAMING for chunk in chunks)
        if not grant.budget.covers(needs):
            return self, [self.send(Decline(grant.session, grant.epoch, needs))]
        desk.accepted.add(name)
        noted = step("accept_grant", HOLDER, a=desk.stake.name, p=ORCHESTRATOR, k=name, v=grant.start)
        provides = Provides(desk, self.channel, self.nonce, grant, chunks)
        return provides, [Persist("accepted", name.encode()), Note(noted), Proceed()]

    def on_tick(self) -> Transition:
        """Wait on: a turn may be long in coming."""
        return self, []


class Provides(_InChannel):
    """The GPU is here: one chunk after another goes into its buffer, and then it goes back.

    No more of the key is used than the grant's budget.
    """

    __slots__ = ("chunks", "grant", "sealer", "sent", "size", "usage")

    def __init__(self, desk: Desk, channel: Channel, nonce: bytes, grant: Grant, chunks: tuple[bytes, ...]) -> None:
        super().__init__(desk, channel, nonce)
        self.grant = grant
        self.chunks = chunks
        self.usage = KeyUsage(UsageLimits.within(grant.budget))
        self.sealer = self._sealer_from_start()
        self.sent = 0
        self.size = 0

    def on_proceed(self) -> Transition:
        """Seal the next chunk; after the last, give the GPU back with the count used."""
        if self.sent == len(self.chunks):
            return self._give_back()
        if not self.desk.stake.defences.stands("sender-iv-monotonic"):
            self.sealer = self._sealer_from_start()
        data, slot, name = self.chunks[self.sent], self.sealer.ivs.message, self.desk.stake.name
        sealed = self.sealer.seal(encode(Write(self.grant.address + self.size, self.sent + 1, data)))
        self.sent += 1
        self.size += len(data)
        chunk = f"{name}'s chunk {self.sent}"
        epoch, start = epoch_name(self.grant), self.grant.start
        noted = step("provision", HOLDER, a=name, p=ORCHESTRATOR, k=epoch, s=start, v=slot, m=chunk)
        frame = Send(GPU, Kind.H2D, h2d_body(self.grant.engine, slot, sealed))
        return self, [Persist("used", f"{epoch} {slot}".encode()), Note(noted), frame, Proceed()]

    def _sealer_from_start(self) -> Sealer:
        keys = self.grant.keys(self.desk.stake.name)
        return Sealer(keys.h2d, keys.ivs(Direction.H2D, self.grant.start), self.usage)

    def _give_back(self) -> Transition:
        grant, name = self.grant, self.desk.stake.name
        count = self.sealer.ivs.message
        noted = step("give_back", HOLDER, a=name, p=ORCHESTRATOR, k=epoch_name(grant), s=grant.start, n=count)
        frame = self.send(Return(grant.session, grant.epoch, count, self.size))
        state = AwaitsGrant(self.desk, self.channel, self.nonce, grant.session)
        return state, [Persist("finished", epoch_name(grant).encode()), Note(noted), frame]


class Holder:
    """A holder's state machine."""

    def __init__(self, stake: Stake, random: Random, appraiser: QuoteAppraiser, accepted: Iterable[str] = ()) -> None:
        self.desk = Desk(stake, random, appraiser, set(accepted))
        self.state: State = State(self.desk)

    def begin(self, now: float) -> list[Effect]:
        """Ask for a channel."""
        self.desk.now = now
        self.state, effects = hello(self.desk)
        return effects

    def handle(self, event: Event) -> tuple[State, list[Effect]]:
        """Take an event, and return the new state and what is to be done.

        A channel in which anything is wrong is given up, with the grant that came through it, and asked for anew.
        """
        try:
            self.state, effects = self._on_event(event)
        except Failure as error:
            self.state, effects = self._start_again(str(error))
        return self.state, effects

    def _on_event(self, event: Event) -> Transition:
        match event:
            case Tick(now):
                self.desk.now = max(now, self.desk.now)
                return self.state.on_tick()
            case Proceed():
                return self.state.on_proceed()
            case Frame(source=source, kind=Kind.CHANNEL, body=body) if source == ORCHESTRATOR:
                envelope = parse_envelope(body)
                if isinstance(envelope, NoChannel):
                    return self.state.on_no_channel(envelope.channel)
                return self.state.on_envelope(envelope)
            case Frame(source=source, kind=Kind.FAULT) if source == PLATFORM:
                return hello(self.desk)
        return self.state, [Remark(f"ignored: {event.kind.name.lower()} from {event.source}")]

    def _start_again(self, reason: str) -> Transition:
        self.desk.refused += 1
        if self.desk.refused > self.desk.stake.refusals:
            return State(self.desk), [Ended(f"{self.desk.refused} channels failed, the last one because of {reason}")]
        state, effects = hello(self.desk)
        return state, [Remark(f"channel given up: {reason}"), *effects]


def epoch_name(grant: Grant) -> str:
    """Return the name of the epoch that a grant lends."""
    return f"{grant.session}/{grant.epoch}"


def _send(envelope: Envelope) -> Send:
    return Send(ORCHESTRATOR, Kind.CHANNEL, encode_envelope(envelope))
