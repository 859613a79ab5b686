"""A data holder: it attests the orchestrator, authenticates, and fills the buffer when it has the GPU."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePrivateKey

from carnet_ref.crypto.primitives import CryptoError, Random, sha384
from carnet_ref.keys import Budget, KeysError
from carnet_ref.marks import enforces
from carnet_ref.recorder import step
from carnet_ref.systems.gpu_travelling import enforcement
from carnet_ref.systems.gpu_travelling.names import (
    BUFFER,
    DATA,
    GIVEN_GRANT,
    GPU,
    HOLDER,
    ORCHESTRATOR,
    RAW_DATA,
    address_name,
)
from carnet_ref.systems.gpu_travelling.orders import Write
from carnet_ref.systems.gpu_travelling.roles import messages
from carnet_ref.systems.gpu_travelling.roles.attestation import (
    Agreed,
    QuoteVerifier,
    accept_orchestrator,
    prove_enrolment,
)
from carnet_ref.systems.gpu_travelling.roles.links import FRAMING, BorrowedLink
from carnet_ref.training import SANITISER, sanitise
from carnet_ref.transport import frames
from carnet_ref.wire import MalformedError

_NONCE_BYTES = 32
Failure = (CryptoError, KeysError, MalformedError, frames.ProtocolError)


def address_in(grant: messages.Grant) -> int:
    """Return the buffer address in a grant."""
    return grant.address


@dataclass(frozen=True, slots=True)
class HolderSetup:
    """The settings of a holder: its name, enrolment key, data in chunks, and what the holders agreed on.

    It asks for a channel again after ``patience`` seconds, and gives up after ``refusals`` channels that it refused.
    """

    name: str
    key: EllipticCurvePrivateKey
    chunks: Callable[[int], tuple[bytes, ...]]
    job: Agreed
    patience: float = 30.0
    refusals: int = 8
    checks: enforcement.Checks = field(default_factory=enforcement.Checks)
    link: type[BorrowedLink] = BorrowedLink
    address: Callable[[messages.Grant], int] = address_in


@dataclass(slots=True)
class HolderState:
    """The knowledge of a running holder; ``accepted`` names every epoch that it was granted."""

    setup: HolderSetup
    random: Random
    verifier: QuoteVerifier
    accepted: set[str] = field(default_factory=set)
    refused: int = 0
    now: float = 0.0
    deadline: float = 0.0


@dataclass(eq=False, repr=False)
class HolderPhase:
    """Base class of the holder's states, named by what they await."""

    known: HolderState

    def on_envelope(self, envelope: messages.Envelope) -> Transition:
        """Handle a channel message. Raises ProtocolError if it is not the awaited one."""
        raise frames.ProtocolError(f"{type(envelope).__name__} is not awaited")

    def on_no_channel(self, name: bytes) -> Transition:
        """Ask for a channel, if the other end says that it has none."""
        return (self, []) if name else hello(self.known)

    def on_proceed(self) -> Transition:
        """Continue by itself, where nothing is awaited."""
        return self, []

    def on_tick(self) -> Transition:
        """Ask for a channel again, if none was established."""
        return hello(self.known) if self.known.now > self.known.deadline else (self, [])


Transition = tuple[HolderPhase, list[frames.RoleEffect]]


def hello(known: HolderState) -> Transition:
    """Ask the orchestrator for a channel."""
    initiator, nonce = messages.Initiator(known.random), known.random(_NONCE_BYTES)
    known.deadline = known.now + known.setup.patience
    return AwaitsAnswer(known, initiator, nonce), [_send(messages.Hello(initiator.hello, nonce))]


@dataclass(eq=False, repr=False)
class AwaitsAnswer(HolderPhase):
    """State: a key share was sent."""

    initiator: messages.Initiator
    nonce: bytes

    def on_envelope(self, envelope: messages.Envelope) -> Transition:
        """Establish the channel; its other end is not authenticated yet."""
        if not isinstance(envelope, messages.Answer) or envelope.to != self.initiator.hello:
            return self, []
        return AwaitsEvidence(self.known, self.initiator.finish(envelope.share), self.nonce), []


@dataclass(eq=False, repr=False)
class _InChannel(HolderPhase):
    channel: messages.Channel
    nonce: bytes

    def on_envelope(self, envelope: messages.Envelope) -> Transition:
        """Open the next record; what is late from a channel that was given up passes by."""
        if not isinstance(envelope, messages.Record) or envelope.channel != self.channel.name:
            return self, []
        message = messages.parse_message(self.channel.open(envelope.sealed))
        match message:
            case messages.OrchestratorEvidence():
                return self.on_evidence(message)
            case messages.Grant():
                return self.on_grant(message)
        raise frames.ProtocolError(f"{type(message).__name__} is not for a holder")

    def on_no_channel(self, name: bytes) -> Transition:
        """Ask for another channel if this one is lost at the other end."""
        return (self, []) if name not in {b"", self.channel.name} else hello(self.known)

    def on_evidence(self, shown: messages.OrchestratorEvidence) -> Transition:
        """Check that the other end is the orchestrator, with the GPU and the job that it says; prove who this is.

        The proof is given each time: the one before may be lost.
        """
        known, setup = self.known, self.known.setup
        exporter = self.channel.exporter
        accept_orchestrator(shown.evidence, exporter, self.nonce, setup.job, known.verifier, setup.checks)
        known.refused = 0
        seen = enforcement.log_step(step("attest_orchestrator", HOLDER, a=setup.name, p=ORCHESTRATOR, q=ORCHESTRATOR))
        proof = messages.Proof(prove_enrolment(setup.key, exporter))
        proven = enforcement.log_step(step("prove_enrolment", HOLDER, a=setup.name), proof.signature)
        return AwaitsGrant(known, self.channel, self.nonce, shown.session), [seen, proven, self.send(proof)]

    def on_grant(self, grant: messages.Grant) -> Transition:
        """Refuse a grant. Raises ProtocolError always; nobody's grant is accepted before the other end is attested."""
        raise frames.ProtocolError("a grant before evidence")

    def send(self, message: messages.Proof | messages.Return | messages.Decline) -> frames.Send:
        """Return the frame that carries ``message`` in the channel."""
        return _send(messages.Record(self.channel.name, self.channel.seal(messages.encode_message(message))))


class AwaitsEvidence(_InChannel):
    """State: the channel is established; the orchestrator has to send its evidence in it."""


@dataclass(eq=False, repr=False)
class AwaitsGrant(_InChannel):
    """State: the orchestrator is attested, for one session of its GPU."""

    session: str

    def on_grant(self, grant: messages.Grant) -> Transition:
        """Accept a grant for the attested session, once; decline it if its budget is too small."""
        grant = replace(grant, address=self.known.setup.address(grant))
        self._check(grant)
        known, name = self.known, epoch_name(grant)
        raw = known.setup.chunks(grant.round)
        chunks = tuple(map(sanitise, raw))
        needs = Budget.of(len(chunk) + FRAMING for chunk in chunks)
        if not grant.budget.covers(needs):
            return self, [self.send(messages.Decline(grant.session, grant.epoch, needs))]
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
        cleaned = frames.Transformed(
            "sanitise",
            name,
            sha384(SANITISER),
            ((GIVEN_GRANT, messages.grant_digest(name, known.setup.name)), (RAW_DATA, sha384(b"".join(raw)))),
            ((DATA, sha384(b"".join(chunks))),),
        )
        accepted = frames.Persist("accepted", name.encode())
        return provides, [accepted, enforcement.log_step(taken), cleaned, frames.Proceed()]

    def _check(self, grant: messages.Grant) -> None:
        if grant.session != self.session:
            raise frames.ProtocolError(f"a grant in session {grant.session}, which was not attested")
        checks, name = self.known.setup.checks, epoch_name(grant)
        more, again = "a grant of more than the host-to-device half", f"the grant of {name} was accepted before"
        saw, known = enforcement.ReceivedMessage(ORCHESTRATOR, messages.encode_message(grant)), self.known.accepted
        checks.require("h2d-half-only", "REQ-GRANT-03", not grant.d2h, saw=saw, otherwise=more)
        checks.require("launch-key-kept", "REQ-GRANT-03", not grant.launch, saw=saw, otherwise=more)
        checks.require("grant-once", "REQ-GRANT-05", name not in known, saw=name, otherwise=again)
        place = address_name(grant.address)
        astray = f"a grant to write at {grant.address:#x}, which is not in the buffer"
        checks.require("address-in-grant", "REQ-GRANT-04", place == BUFFER, saw=saw, otherwise=astray)

    def on_tick(self) -> Transition:
        """Keep waiting: a holder's turn may be far away."""
        return self, []


@dataclass(eq=False, repr=False)
class Provides(_InChannel):
    """State: the holder has the GPU, copies its chunks into the buffer, and then returns the GPU.

    No more of the key is used than the grant's budget.
    """

    grant: messages.Grant
    chunks: tuple[bytes, ...]
    sent: int = 0
    size: int = 0
    link: BorrowedLink = field(init=False)

    def __post_init__(self) -> None:
        setup, grant = self.known.setup, self.grant
        self.link = setup.link(grant.keys(setup.name), grant.start, grant.budget)

    def on_tick(self) -> Transition:
        """Ignore the time: a holder that has the GPU needs no other channel."""
        return self, []

    @enforces("REQ-DATA-01")
    def on_proceed(self) -> Transition:
        """Seal the next chunk; after the last one, return the GPU with the number of used counter values."""
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
        use, told = self.link.summary, "more of the key is used than the grant allows"
        checks.require("key-usage-limit", "REQ-KEY-07", use.within, saw=tuple(use), otherwise=told)
        sent = enforcement.log_step(
            step("provision", HOLDER, a=name, p=ORCHESTRATOR, k=epoch, s=start, v=slot, m=chunk), body
        )
        used = frames.Persist("used", f"{epoch} {slot}".encode())
        return self, [used, sent, frames.Send(GPU, frames.FrameKind.H2D, body), frames.Proceed()]

    @enforces("REQ-RETURN-01")
    def _give_back(self) -> Transition:
        grant, name = self.grant, self.known.setup.name
        count = self.link.count
        given = messages.Return(grant.session, grant.epoch, count, self.size)
        taken = step("give_back", HOLDER, a=name, p=ORCHESTRATOR, k=epoch_name(grant), s=grant.start, n=count)
        frame = self.send(given)
        state = AwaitsGrant(self.known, self.channel, self.nonce, grant.session)
        return state, [
            frames.Persist("finished", epoch_name(grant).encode()),
            enforcement.log_step(taken, messages.encode_message(given)),
            frame,
        ]


class Holder:
    """A holder's state machine."""

    def __init__(
        self, setup: HolderSetup, random: Random, verifier: QuoteVerifier, accepted: Iterable[str] = ()
    ) -> None:
        self.known = HolderState(setup, random, verifier, set(accepted))
        self.state: HolderPhase = HolderPhase(self.known)

    def begin(self, now: float) -> list[frames.RoleEffect]:
        """Ask for a channel."""
        self.known.now = now
        self.state, effects = hello(self.known)
        return effects

    def handle(self, event: frames.RoleEvent) -> tuple[HolderPhase, list[frames.RoleEffect]]:
        """Return the next state and the effects of an event.

        A channel in which anything is wrong is given up, with the grant that came through it, and asked for anew.
        """
        with enforcement.checking(HOLDER) as log:
            try:
                self.state, effects = self._on_event(event)
            except Failure as error:
                self.state, effects = self._start_again(str(error))
            return self.state, [*enforcement.unattributed_checks(log), *effects]

    def outcome(self) -> Mapping[str, Any]:
        """Return an empty mapping: a holder's results are in its journal."""
        return {}

    def _on_event(self, event: frames.RoleEvent) -> Transition:
        match event:
            case frames.Tick(now):
                self.known.now = max(now, self.known.now)
                return self.state.on_tick()
            case frames.Proceed():
                return self.state.on_proceed()
            case frames.Frame(source=source, kind=frames.FrameKind.CHANNEL, body=body) if source == ORCHESTRATOR:
                envelope = messages.parse_envelope(body)
                if isinstance(envelope, messages.NoChannel):
                    return self.state.on_no_channel(envelope.channel)
                return self.state.on_envelope(envelope)
            case frames.Frame(source=source, kind=frames.FrameKind.FAULT) if source == frames.PLATFORM:
                return hello(self.known)
        return self.state, [frames.Remark(f"ignored: {event.kind.name.lower()} from {event.source}")]

    def _start_again(self, reason: str) -> Transition:
        self.known.refused += 1
        if self.known.refused > self.known.setup.refusals:
            return HolderPhase(self.known), [
                frames.Ended(f"{self.known.refused} channels failed, the last one because of {reason}")
            ]
        state, effects = hello(self.known)
        return state, [frames.Remark(f"channel given up: {reason}"), *effects]


def epoch_name(grant: messages.Grant) -> str:
    """Return the name of the granted epoch."""
    return f"{grant.session}/{grant.epoch}"


def _send(envelope: messages.Envelope) -> frames.Send:
    return frames.Send(ORCHESTRATOR, frames.FrameKind.CHANNEL, messages.encode_envelope(envelope))
