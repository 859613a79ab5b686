"""The orchestrator: runs the job, lends the GPU to one holder after another, and trains on what they return.

What it does in each state about each input is one table, which the documentation draws.

Theory of operation. A run goes down the rows: a session is opened and the GPU attested in it (`Setup`); the GPU is
fenced, loaded, checked and scrubbed (`Returning`), lent (`Lending`), and goes through `Returning` again when it is
back. A cell names the step that takes an input and the states that it leads to, or says that the input is ignored, that
it is ignored with a remark, or that it is refused: a protocol error, which ends the session. A step may raise as well.
The state before it stays as it was, and `Setup.restart` starts again from there. Two things lead to `Setup.restart` in
every state and have no column: the GPU reports a fault, and the platform was gone.
"""

import functools
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from enum import Enum
from types import MappingProxyType
from typing import Any, Final

from carnet_ref.crypto.primitives import CryptoError, sha384
from carnet_ref.keys import KeyExhaustedError, KeysError
from carnet_ref.recorder import step
from carnet_ref.spdm.errors import SpdmError
from carnet_ref.systems.gpu_travelling.enforcement import Checks, checking, log_step, unattributed_checks
from carnet_ref.systems.gpu_travelling.names import ORCHESTRATOR
from carnet_ref.systems.gpu_travelling.roles import messages
from carnet_ref.systems.gpu_travelling.roles.attestation import summary
from carnet_ref.systems.gpu_travelling.roles.custody import ALL_CHECKS, Lending, end_at_key_limit
from carnet_ref.systems.gpu_travelling.roles.job import (
    EMPTY_BOOKS,
    Admission,
    Books,
    Checkpoint,
    Job,
    Terms,
    Tools,
)
from carnet_ref.systems.gpu_travelling.roles.returning import Returning
from carnet_ref.systems.gpu_travelling.roles.setup import Setup, evidence_for, reset_gpu
from carnet_ref.systems.gpu_travelling.roles.states import (
    Admitted,
    AwaitsFence,
    AwaitsHolder,
    AwaitsModel,
    AwaitsReadBack,
    AwaitsReport,
    AwaitsReturn,
    AwaitsRotationIn,
    AwaitsRotationOut,
    AwaitsScrub,
    AwaitsSession,
    AwaitsTraining,
    Back,
    Declined,
    Finished,
    Input,
    LinkMessage,
    OrchestratorState,
    OwnTurn,
    Reported,
    ReportOutside,
    Returned,
    Semaphore,
    SessionMessage,
    Stopped,
    TimePassed,
    Transition,
)
from carnet_ref.transport import frames
from carnet_ref.wire import MalformedError


class Unwanted(Enum):
    """What is done about an input that a state has no step for."""

    IGNORED = "ignored"
    REMARKED = "ignored, with a remark"
    REFUSED = "a protocol error"


#: A step: a method of the procedures, which takes a state and an input.
Handler = Callable[[Any, Any, Any], Transition]


@dataclass(frozen=True, slots=True)
class Taken:
    """A table entry: the step for an input, and the states to which it may lead; no states: the state stays."""

    by: Handler
    to: tuple[type[OrchestratorState], ...] = ()


Cell = Taken | Unwanted


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """The entries of one state, by kind of input."""

    session: Cell
    reported: Cell
    link: Cell
    report: Cell
    semaphore: Cell
    admitted: Cell
    returned: Cell
    declined: Cell
    tick: Cell
    turn: Cell


#: The column of each kind of input.
COLUMNS: Final[Mapping[type[Input], str]] = MappingProxyType(
    {
        SessionMessage: "session",
        Reported: "reported",
        LinkMessage: "link",
        ReportOutside: "report",
        Semaphore: "semaphore",
        Admitted: "admitted",
        Returned: "returned",
        Declined: "declined",
        TimePassed: "tick",
        OwnTurn: "turn",
    }
)

Table = Mapping[type[OrchestratorState], Row]
IGNORED, SAID, REFUSED = Unwanted.IGNORED, Unwanted.REMARKED, Unwanted.REFUSED
WAIT: Final = Taken(Lending.wait_on)

# fmt: off
#: Every state, and what it does about every input.
TABLE: Final[Table] = MappingProxyType({
    AwaitsSession: Row(
        session=Taken(Setup.handshake, (AwaitsSession, AwaitsReport)), reported=IGNORED, link=IGNORED,
        report=IGNORED, semaphore=IGNORED, admitted=IGNORED,
        returned=SAID, declined=SAID, tick=WAIT, turn=IGNORED),
    AwaitsReport: Row(
        session=Taken(Setup.report_came, (AwaitsFence,)), reported=REFUSED, link=REFUSED,
        report=SAID, semaphore=IGNORED, admitted=IGNORED,
        returned=SAID, declined=SAID, tick=WAIT, turn=IGNORED),
    AwaitsFence: Row(
        session=REFUSED, reported=Taken(Returning.fenced, (AwaitsReadBack,)), link=REFUSED,
        report=IGNORED, semaphore=IGNORED, admitted=IGNORED,
        returned=SAID, declined=SAID, tick=WAIT, turn=IGNORED),
    AwaitsReadBack: Row(
        session=REFUSED, reported=Taken(Returning.verified, (AwaitsTraining, AwaitsScrub)), link=REFUSED,
        report=IGNORED, semaphore=IGNORED, admitted=IGNORED,
        returned=SAID, declined=SAID, tick=WAIT, turn=IGNORED),
    AwaitsTraining: Row(
        session=REFUSED, reported=Taken(Returning.trained, (AwaitsModel, AwaitsScrub)),
        link=Taken(Returning.logged, (AwaitsTraining,)),
        report=IGNORED, semaphore=IGNORED, admitted=IGNORED,
        returned=SAID, declined=SAID, tick=WAIT, turn=IGNORED),
    AwaitsModel: Row(
        session=REFUSED, reported=Taken(Returning.saved, (AwaitsScrub,)),
        link=Taken(Returning.model_came, (AwaitsModel,)),
        report=IGNORED, semaphore=IGNORED, admitted=IGNORED,
        returned=SAID, declined=SAID, tick=WAIT, turn=IGNORED),
    AwaitsScrub: Row(
        session=REFUSED, reported=Taken(Returning.scrubbed, (AwaitsHolder, AwaitsRotationOut, AwaitsSession, Finished)),
        link=REFUSED, report=IGNORED, semaphore=IGNORED, admitted=IGNORED,
        returned=SAID, declined=SAID, tick=WAIT, turn=IGNORED),
    AwaitsHolder: Row(
        session=REFUSED, reported=REFUSED, link=REFUSED,
        report=IGNORED, semaphore=IGNORED, admitted=Taken(Lending.holder_came, (AwaitsHolder, AwaitsRotationOut)),
        returned=SAID, declined=SAID, tick=WAIT, turn=IGNORED),
    AwaitsRotationOut: Row(
        session=REFUSED, reported=Taken(Lending.rotated_out, (AwaitsReturn,)), link=REFUSED,
        report=IGNORED, semaphore=IGNORED, admitted=IGNORED,
        returned=SAID, declined=SAID, tick=WAIT, turn=IGNORED),
    AwaitsReturn: Row(
        session=REFUSED, reported=REFUSED, link=REFUSED,
        report=IGNORED, semaphore=IGNORED, admitted=Taken(Lending.holder_restarted, (AwaitsReturn, Back, Finished)),
        returned=Taken(Lending.take_back, (AwaitsReturn, Back, Finished)),
        declined=Taken(Lending.lend_again, (AwaitsReturn, AwaitsSession, Finished)),
        tick=Taken(Lending.watch_lease, (AwaitsReturn, Back, Finished)),
        turn=IGNORED),
    Back: Row(
        session=REFUSED, reported=REFUSED, link=REFUSED,
        report=IGNORED, semaphore=IGNORED, admitted=IGNORED,
        returned=SAID, declined=SAID, tick=WAIT, turn=Taken(Returning.begin_home, (AwaitsRotationIn,))),
    AwaitsRotationIn: Row(
        session=REFUSED, reported=Taken(Returning.rotated_in, (AwaitsFence,)), link=REFUSED,
        report=IGNORED, semaphore=IGNORED, admitted=IGNORED,
        returned=SAID, declined=SAID, tick=WAIT, turn=IGNORED),
    Finished: Row(
        session=IGNORED, reported=IGNORED, link=IGNORED,
        report=IGNORED, semaphore=IGNORED, admitted=IGNORED,
        returned=SAID, declined=SAID, tick=IGNORED, turn=IGNORED),
    Stopped: Row(
        session=IGNORED, reported=IGNORED, link=IGNORED,
        report=IGNORED, semaphore=IGNORED, admitted=IGNORED,
        returned=SAID, declined=SAID, tick=IGNORED, turn=IGNORED),
})
# fmt: on


class Procedures(Setup):
    """The orchestrator's steps, with the table of transitions."""

    def __init__(self, checks: Checks = ALL_CHECKS, table: Table = TABLE) -> None:
        super().__init__(checks)
        self.table = table

    def take(self, state: OrchestratorState, event: Input) -> Transition:
        """Handle an input according to the table.

        Raises ProtocolError if the state refuses it, or the step that it leads to does.
        """
        match cell(self.table, type(state), type(event)):
            case Taken(by):
                taken: Transition = getattr(self, by.__name__)(state, event)
                return taken
            case Unwanted.IGNORED:
                return state, []
            case Unwanted.REMARKED:
                return state, [frames.Remark(event.left_aside)]
        raise frames.ProtocolError(f"{event.noun}, while the orchestrator {state}")


def cell(table: Table, state: type[OrchestratorState], event: type[Input]) -> Cell:
    """Return the entry of a table for a kind of input in a state."""
    found: Cell = getattr(table[state], COLUMNS[event])
    return found


#: What ends a session, or a channel, when it comes up there.
Failure = (CryptoError, KeysError, MalformedError, frames.ProtocolError, SpdmError)
SECURE: Final = Procedures()  #: The steps as the specification asks for them, with every check.


class Orchestrator:
    """The orchestrator's state machine: it opens messages, and handles them by its procedures."""

    def __init__(
        self,
        terms: Terms,
        tools: Tools,
        kept: Checkpoint | None = None,
        books: Books = EMPTY_BOOKS,
        resumed: bool = False,
        procedures: Procedures = SECURE,
    ) -> None:
        kept = kept or Checkpoint.first(tools.trainer.first_model())
        admission = Admission(terms.enrolled, tools.random, procedures.checks)
        manifest = terms.manifest(tools.trainer).encode()
        attempt = tools.random(1)[0] % messages.ATTEMPTS
        job = Job(terms, tools, kept, kept.progress, admission, manifest, books, attempt=attempt)
        self.resumed = resumed
        self.procedures = procedures
        self.state: OrchestratorState = Stopped(job)

    @property
    def job(self) -> Job:
        """The job as it is now."""
        return self.state.job

    def begin(self, now: float) -> list[frames.RoleEffect]:
        """Ask holders for channels and open a session; after a restart, reset the GPU first."""
        effects: list[frames.RoleEffect] = [*self.job.admission.invite()]
        if self.resumed:
            effects.append(reset_gpu())
        self.state, opened = self.procedures.open_session(replace(self.job, now=now))
        return effects + opened

    def outcome(self) -> dict[str, Any]:
        """Return the results: losses, bytes, the saved version, the books, and the usage of keys."""
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

    def handle(self, event: frames.RoleEvent) -> tuple[OrchestratorState, list[frames.RoleEffect]]:
        """Return the next state and the effects of an event.

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
            return end_at_key_limit(
                self.job, f"opening a session takes more than {error.limit:,} {error.unit} of one key"
            )
        return self.procedures.restart(self.state, str(error))

    def _on_event(self, event: frames.RoleEvent) -> Transition:
        match event:
            case frames.Tick(now):
                self.state = replace(self.state, job=replace(self.job, now=max(now, self.job.now)))
                return self._take(TimePassed())
            case frames.Proceed():
                return self._take(OwnTurn())
            case frames.Frame():
                return self._on_frame(event)

    def _on_frame(self, frame: frames.Frame) -> Transition:
        match frame.kind:
            case frames.FrameKind.CHANNEL:
                # Take a channel message; what is wrong with it concerns that channel alone
                holder = frame.source
                try:
                    envelope = messages.parse_envelope(frame.body)
                    if isinstance(envelope, messages.Hello):
                        job = self.job
                        vouched = job.evidence is not None and job.attested is not None
                        attest = functools.partial(evidence_for, job) if vouched else None
                        return self.state, job.admission.answer(holder, envelope, attest)
                except Failure as error:
                    return self.state, [frames.Remark(f"channel of {holder}: {error}")]
                return self._on_record(holder, envelope) if isinstance(envelope, messages.Record) else (self.state, [])
            case frames.FrameKind.SESSION:
                reports, attempt, message = messages.split_tag(frame.body)
                if attempt != self.job.attempt:
                    return self.state, [frames.Remark("ignored: an answer to a session that was given up")]
                return self._take(Reported(message) if reports else SessionMessage(message))
            case frames.FrameKind.D2H:
                return self._take(LinkMessage(frame.body))
            case frames.FrameKind.SEMAPHORE:
                return self._take(Semaphore(frame.body.decode("ascii", "replace")))
            case frames.FrameKind.REPORT:
                return self._take(ReportOutside(frame.body))
            case frames.FrameKind.FAULT:
                if frame.source == frames.PLATFORM:
                    # Start from nothing: what was on its way is lost, in the session and in every channel
                    invited = self.job.admission.invite()
                    state, effects = self.procedures.restart(self.state, "the platform was gone")
                    return state, [*effects, *invited]
                if frame.body and messages.split_tag(frame.body)[1] != self.job.attempt:
                    return self.state, [frames.Remark("ignored: a fault in a session that was given up")]
                raise frames.ProtocolError("the GPU reports a fault")
        return self.state, [frames.Remark(f"ignored: {frame.kind.name.lower()} from {frame.source}")]

    def _take(self, event: Input) -> Transition:
        return self.procedures.take(self.state, event)

    def _on_record(self, holder: str, record: messages.Record) -> Transition:
        admission = self.job.admission
        try:
            message = admission.take(holder, record)
            if not isinstance(message, messages.Return | messages.Decline | messages.Proof | None):
                raise frames.ProtocolError(f"{type(message).__name__} is not for the orchestrator")
        except Failure as error:
            return self.state, [frames.Remark(f"channel of {holder}: {error}"), *admission.forget(holder, record)]
        match message:
            case None:
                admitted = log_step(step("admit", ORCHESTRATOR, a=holder, p=holder))
                state, effects = self._take(Admitted(holder))
                return state, [admitted, *effects]
            case messages.Return():
                return self._take(Returned(holder, message))
            case messages.Decline():
                return self._take(Declined(holder, message))
        return self.state, []
