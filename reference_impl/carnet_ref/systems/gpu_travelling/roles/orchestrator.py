"""The orchestrator: runs the job, lends the GPU to one holder after another, and trains on what they return."""

from __future__ import annotations

from typing import Any

from carnet_ref.crypto.primitives import CryptoError
from carnet_ref.keys import KeyExhaustedError, KeysError
from carnet_ref.spdm import SpdmError
from carnet_ref.systems.gpu_travelling.roles.admission import Attest, Reception
from carnet_ref.systems.gpu_travelling.roles.channel_messages import (
    Decline,
    Hello,
    Proof,
    Record,
    Return,
    parse_envelope,
)
from carnet_ref.systems.gpu_travelling.roles.custody import Back, NeedsSession, too_low
from carnet_ref.systems.gpu_travelling.roles.job import (
    ATTEMPTS,
    Job,
    Progress,
    State,
    Terms,
    Tools,
    Transition,
    untagged,
)
from carnet_ref.systems.gpu_travelling.roles.returning import begin_home
from carnet_ref.systems.gpu_travelling.roles.setup import (
    Stopped,
    evidence_for,
    open_session,
    renew,
    reset_gpu,
    restart,
    route_home,
)
from carnet_ref.transport.frames import (
    PLATFORM,
    Effect,
    Event,
    Frame,
    Kind,
    Proceed,
    ProtocolError,
    Remark,
    Tick,
)
from carnet_ref.wire.reader import MalformedError

Failure = (CryptoError, KeysError, MalformedError, ProtocolError, SpdmError)
"""What ends a session, or a channel, when it comes up there."""


class Orchestrator:
    """The orchestrator's state machine."""

    def __init__(self, terms: Terms, tools: Tools, progress: Progress | None = None, resumed: bool = False) -> None:
        first = Progress(0, (), 0, tools.trainer.first_model())
        reception = Reception(terms.enrolled, tools.random, terms.defences)
        manifest = terms.manifest(tools.trainer).encode()
        self.job = Job(terms, tools, progress or first, reception, manifest)
        self.job.attempt = tools.random(1)[0] % ATTEMPTS
        self.resumed = resumed
        self.state: State = Stopped(self.job)

    def begin(self, now: float) -> list[Effect]:
        """Ask holders for channels and open a session; after a restart, have the GPU routed back and reset first."""
        self.job.now = now
        effects: list[Effect] = [*self.job.reception.invite()]
        if self.resumed:
            effects += [route_home(), reset_gpu()]
        self.state, opened = open_session(self.job)
        return effects + opened

    def handle(self, event: Event) -> tuple[State, list[Effect]]:
        """Take an event, and return the new state and what is to be done.

        A failure in the session with the GPU is fail-stop; one in a holder's channel ends that channel.
        """
        try:
            self.state, effects = self._on_event(event)
        except Failure as error:
            self.state, effects = self._failed(error)
        if isinstance(self.state, NeedsSession):
            self.state, more = renew(self.job, self.state.for_journey)
            effects = [*effects, *more]
        return self.state, effects

    def outcome(self) -> dict[str, Any]:
        """Return what was trained: losses, bytes provided, and the model's digest."""
        progress = self.job.progress
        return {"losses": progress.losses, "provisioned": progress.provisioned, "model": progress.digest}

    def _failed(self, error: Exception) -> Transition:
        """Start again from nothing, unless that leads here again: a key was used up before the GPU was ever lent."""
        if isinstance(error, KeyExhaustedError) and not self.job.lendings:
            return too_low(self.job, f"opening a session takes more than {error.limit:,} {error.unit} of one key")
        return restart(self.job, str(error))

    def _on_event(self, event: Event) -> Transition:
        match event:
            case Tick(now):
                self.job.now = max(now, self.job.now)
                return self.state.on_tick()
            case Proceed():
                return begin_home(self.job) if isinstance(self.state, Back) else self.state.on_proceed()
            case Frame(kind=Kind.CHANNEL):
                return self._on_channel(event)
            case Frame(kind=Kind.SESSION):
                return self._on_session(event.body)
            case Frame(kind=Kind.D2H):
                return self._on_link(event.body)
            case Frame(kind=Kind.SEMAPHORE):
                return self.state.on_semaphore(event.body.decode("ascii", "replace"))
            case Frame(kind=Kind.REPORT):
                return self.state.on_report_outside(event.body)
            case Frame(source=source, kind=Kind.FAULT) if source == PLATFORM:
                return self._reconnected()
            case Frame(kind=Kind.FAULT):
                return self._on_fault(event.body)
        return self.state, [Remark(f"ignored: {event.kind.name.lower()} from {event.source}")]

    def _on_session(self, body: bytes) -> Transition:
        _, attempt, message = untagged(body)
        if attempt != self.job.attempt:
            return self.state, [Remark("ignored: an answer to a session that was given up")]
        return self.state.on_session(message)

    def _on_fault(self, body: bytes) -> Transition:
        if body and untagged(body)[1] != self.job.attempt:
            return self.state, [Remark("ignored: a fault in a session that was given up")]
        raise ProtocolError("the GPU reports a fault")

    def _reconnected(self) -> Transition:
        """Start from nothing: what was on its way is lost, in the session and in every channel."""
        invited = self.job.reception.invite()
        state, effects = restart(self.job, "the platform was gone")
        return state, [*effects, *invited]

    def _on_link(self, sealed: bytes) -> Transition:
        if self.job.link is not None and self.job.link.disregards(sealed):
            return self.state, []
        return self.state.on_link(sealed)

    def _on_channel(self, frame: Frame) -> Transition:
        """Take a channel message; what is wrong with it concerns that channel alone."""
        holder = frame.source
        try:
            envelope = parse_envelope(frame.body)
            if isinstance(envelope, Hello):
                return self.state, self.job.reception.answer(holder, envelope, self._attest())
        except Failure as error:
            return self.state, [Remark(f"channel of {holder}: {error}")]
        return self._on_record(holder, envelope) if isinstance(envelope, Record) else (self.state, [])

    def _on_record(self, holder: str, record: Record) -> Transition:
        reception = self.job.reception
        try:
            message = reception.take(holder, record)
            if not isinstance(message, Return | Decline | Proof | None):
                raise ProtocolError(f"{type(message).__name__} is not for the orchestrator")
        except Failure as error:
            return self.state, [Remark(f"channel of {holder}: {error}"), *reception.forget(holder, record)]
        match message:
            case None:
                return self.state.on_admitted(holder)
            case Return():
                return self.state.on_return(holder, message)
            case Decline():
                return self.state.on_decline(holder, message)
        return self.state, []

    def _attest(self) -> Attest | None:
        job = self.job
        if job.evidence is None or job.attested is None:
            return None
        return lambda exporter, nonce: evidence_for(job, exporter, nonce)
