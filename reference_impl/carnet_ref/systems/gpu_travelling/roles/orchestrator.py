"""The orchestrator: runs the job, lends the GPU to one holder after another, and trains on what they return."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Final

from carnet_ref.crypto.primitives import CryptoError, sha384
from carnet_ref.keys import KeyExhaustedError, KeysError
from carnet_ref.recorder import step
from carnet_ref.spdm import SpdmError
from carnet_ref.systems.gpu_travelling.enforcement import checking, log_step, unattributed_checks
from carnet_ref.systems.gpu_travelling.names import ORCHESTRATOR
from carnet_ref.systems.gpu_travelling.roles.admission import Admission, Attest
from carnet_ref.systems.gpu_travelling.roles.appraising import summary
from carnet_ref.systems.gpu_travelling.roles.books import NO_BOOKS, Books, Kept
from carnet_ref.systems.gpu_travelling.roles.channel_messages import (
    Decline,
    Hello,
    Proof,
    Record,
    Return,
    parse_envelope,
)
from carnet_ref.systems.gpu_travelling.roles.custody import too_low
from carnet_ref.systems.gpu_travelling.roles.inputs import (
    Admitted,
    Declined,
    Input,
    LinkMessage,
    OwnTurn,
    Reported,
    ReportOutside,
    Returned,
    Semaphore,
    SessionMessage,
    TimePassed,
)
from carnet_ref.systems.gpu_travelling.roles.job import Job, Terms, Tools
from carnet_ref.systems.gpu_travelling.roles.procedures import Procedures
from carnet_ref.systems.gpu_travelling.roles.session_frames import ATTEMPTS, untagged
from carnet_ref.systems.gpu_travelling.roles.setup import evidence_for, reset_gpu
from carnet_ref.systems.gpu_travelling.roles.states import OrchestratorState, Stopped, Transition
from carnet_ref.transport.frames import (
    PLATFORM,
    Frame,
    FrameKind,
    Proceed,
    ProtocolError,
    Remark,
    RoleEffect,
    RoleEvent,
    Tick,
)
from carnet_ref.wire import MalformedError

Failure = (CryptoError, KeysError, MalformedError, ProtocolError, SpdmError)
"""What ends a session, or a channel, when it comes up there."""
SECURE: Final = Procedures()
"""The steps as the specification asks for them, with every check."""


class Orchestrator:
    """The orchestrator's state machine: opens what events carry, and takes it as its procedures say."""

    def __init__(
        self,
        terms: Terms,
        tools: Tools,
        kept: Kept | None = None,
        books: Books = NO_BOOKS,
        resumed: bool = False,
        procedures: Procedures = SECURE,
    ) -> None:
        kept = kept or Kept.first(tools.trainer.first_model())
        admission = Admission(terms.enrolled, tools.random, procedures.checks)
        manifest = terms.manifest(tools.trainer).encode()
        attempt = tools.random(1)[0] % ATTEMPTS
        job = Job(terms, tools, kept, kept.progress, admission, manifest, books, attempt=attempt)
        self.resumed = resumed
        self.procedures = procedures
        self.state: OrchestratorState = Stopped(job)

    @property
    def job(self) -> Job:
        """The job as it is now."""
        return self.state.job

    def begin(self, now: float) -> list[RoleEffect]:
        """Ask holders for channels and open a session; after a restart, have the GPU reset first."""
        effects: list[RoleEffect] = [*self.job.admission.invite()]
        if self.resumed:
            effects.append(reset_gpu())
        self.state, opened = self.procedures.open_session(replace(self.job, now=now))
        return effects + opened

    def outcome(self) -> dict[str, Any]:
        """Return what was trained: losses, bytes, and the version that is kept; what the books say, and keys."""
        kept, books, appraisal = self.job.kept, self.job.books, self.job.appraisal
        live = [] if self.job.link is None else self.job.link.uses
        return {
            "losses": kept.progress.losses,
            "provisioned": kept.progress.provisioned,
            "model": sha384(kept.model).hex(),
            "ledger": [entry.to_json() for entry in books.ledger],
            "lost": list(books.lost),
            "key_usage": [use.to_json() for use in (*self.job.used, *live)],
            "appraisal": None if appraisal is None else summary(appraisal),
        }

    def handle(self, event: RoleEvent) -> tuple[OrchestratorState, list[RoleEffect]]:
        """Take an event, and return the new state and what is to be done.

        A failure in the session with the GPU is fail-stop; one in a holder's channel ends that channel.
        """
        with checking(ORCHESTRATOR) as log:
            try:
                self.state, effects = self._on_event(event)
            except Failure as error:
                self.state, effects = self._failed(error)
            return self.state, [*unattributed_checks(log), *effects]

    def _failed(self, error: Exception) -> Transition:
        """Start again from nothing, unless that leads here again: a key was used up before the GPU was ever lent."""
        if isinstance(error, KeyExhaustedError) and not self.job.lendings:
            return too_low(self.job, f"opening a session takes more than {error.limit:,} {error.unit} of one key")
        return self.procedures.restart(self.state, str(error))

    def _on_event(self, event: RoleEvent) -> Transition:
        match event:
            case Tick(now):
                self.state = replace(self.state, job=replace(self.job, now=max(now, self.job.now)))
                return self._take(TimePassed())
            case Proceed():
                return self._take(OwnTurn())
            case Frame():
                return self._on_frame(event)

    def _on_frame(self, frame: Frame) -> Transition:
        match frame.kind:
            case FrameKind.CHANNEL:
                return self._on_channel(frame)
            case FrameKind.SESSION:
                return self._on_session(frame.body)
            case FrameKind.D2H:
                return self._take(LinkMessage(frame.body))
            case FrameKind.SEMAPHORE:
                return self._take(Semaphore(frame.body.decode("ascii", "replace")))
            case FrameKind.REPORT:
                return self._take(ReportOutside(frame.body))
            case FrameKind.FAULT:
                return self._reconnected() if frame.source == PLATFORM else self._on_fault(frame.body)
        return self.state, [Remark(f"ignored: {frame.kind.name.lower()} from {frame.source}")]

    def _take(self, event: Input) -> Transition:
        return self.procedures.take(self.state, event)

    def _on_session(self, body: bytes) -> Transition:
        reports, attempt, message = untagged(body)
        if attempt != self.job.attempt:
            return self.state, [Remark("ignored: an answer to a session that was given up")]
        return self._take(Reported(message) if reports else SessionMessage(message))

    def _on_fault(self, body: bytes) -> Transition:
        if body and untagged(body)[1] != self.job.attempt:
            return self.state, [Remark("ignored: a fault in a session that was given up")]
        raise ProtocolError("the GPU reports a fault")

    def _reconnected(self) -> Transition:
        """Start from nothing: what was on its way is lost, in the session and in every channel."""
        invited = self.job.admission.invite()
        state, effects = self.procedures.restart(self.state, "the platform was gone")
        return state, [*effects, *invited]

    def _on_channel(self, frame: Frame) -> Transition:
        """Take a channel message; what is wrong with it concerns that channel alone."""
        holder = frame.source
        try:
            envelope = parse_envelope(frame.body)
            if isinstance(envelope, Hello):
                return self.state, self.job.admission.answer(holder, envelope, self._attest())
        except Failure as error:
            return self.state, [Remark(f"channel of {holder}: {error}")]
        return self._on_record(holder, envelope) if isinstance(envelope, Record) else (self.state, [])

    def _on_record(self, holder: str, record: Record) -> Transition:
        admission = self.job.admission
        try:
            message = admission.take(holder, record)
            if not isinstance(message, Return | Decline | Proof | None):
                raise ProtocolError(f"{type(message).__name__} is not for the orchestrator")
        except Failure as error:
            return self.state, [Remark(f"channel of {holder}: {error}"), *admission.forget(holder, record)]
        match message:
            case None:
                admitted = log_step(step("admit", ORCHESTRATOR, a=holder, p=holder))
                state, effects = self._take(Admitted(holder))
                return state, [admitted, *effects]
            case Return():
                return self._take(Returned(holder, message))
            case Decline():
                return self._take(Declined(holder, message))
        return self.state, []

    def _attest(self) -> Attest | None:
        job = self.job
        if job.evidence is None or job.attested is None:
            return None
        return lambda exporter, nonce: evidence_for(job, exporter, nonce)
