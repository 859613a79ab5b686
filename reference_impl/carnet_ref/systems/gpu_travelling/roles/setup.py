"""Setup: the orchestrator opens a session with what is in its slot, and attests it inside that session."""

from __future__ import annotations

from carnet_ref.device.mode import Mode
from carnet_ref.keys import H100KeySchedule
from carnet_ref.recorder import step
from carnet_ref.systems.gpu_travelling.keys.schedules import key_schedule
from carnet_ref.systems.gpu_travelling.names import FOR_JOURNEY, ORCHESTRATOR
from carnet_ref.systems.gpu_travelling.roles import facts
from carnet_ref.systems.gpu_travelling.roles.appraising import accept_report
from carnet_ref.systems.gpu_travelling.roles.channel_messages import Evidence
from carnet_ref.systems.gpu_travelling.roles.job import ATTEMPTS, LAUNCH_LABEL, Custody, Job, State, Transition
from carnet_ref.systems.gpu_travelling.roles.ports import GpuEvidence, Requester
from carnet_ref.systems.gpu_travelling.roles.returning import begin_home
from carnet_ref.transport.frames import PLATFORM, Effect, Ended, Kind, Note, Persist, ProtocolError, Remark, Send
from carnet_ref.wire.fields import number, split

_NONCE_BYTES = 32


class AwaitsSession(State):
    """Key exchange and handshake are under way."""

    __slots__ = ("noted", "resumes", "session")

    def __init__(self, job: Job, session: Requester, resumes: bool) -> None:
        super().__init__(job)
        self.session = session
        self.noted = False
        self.resumes = resumes

    def on_session(self, message: bytes) -> Transition:
        """Go on with the handshake; once it is done, ask for the GPU's report inside the session."""
        effects: list[Effect] = [self.job.handshake(answer) for answer in self.session.receive(message)]
        if self.session.label and not self.noted:
            self.noted = True
            effects.insert(0, self._opened())
        if not self.session.established:
            return self, effects
        self._take_keys()
        if self.resumes and self.job.redo is not None:
            self.job.attested = facts.attested(self.session.label)
            shown = self.job.reception.show_all(lambda exporter, nonce: evidence_for(self.job, exporter, nonce))
            state, more = self.job.redo()
            return state, [*effects, *shown, *more]
        nonce = self.session.report_nonce(self.job.tools.random(_NONCE_BYTES))
        asked = self.job.handshake(self.session.ask_report(nonce))
        return AwaitsReport(self.job, nonce), [*effects, asked]

    def on_link(self, sealed: bytes) -> Transition:
        """Ignore what a copy engine sent before: it is under keys that are given up."""
        return self, []

    def _opened(self) -> Note:
        session = self.session.label
        action = "reattach" if self.resumes else "open_session"
        return Note(step(action, ORCHESTRATOR, s=session, k=f"{session}/0"))

    def _take_keys(self) -> None:
        job = self.job
        keys = H100KeySchedule.of_session(self.session.secret())
        schedule = key_schedule(job.terms.schedule, keys, ORCHESTRATOR)
        job.session = self.session
        job.link = job.tools.link(self.session.label, schedule, keys.key(LAUNCH_LABEL), job.terms.limits)
        job.lendings = 0
        if not self.resumes:
            job.lent = schedule.keys


class AwaitsReport(State):
    """The GPU's report is asked for, inside the session."""

    __slots__ = ("nonce",)

    def __init__(self, job: Job, nonce: bytes) -> None:
        super().__init__(job)
        self.nonce = nonce

    def on_session(self, message: bytes) -> Transition:
        """Appraise the report; only as it arrives inside the session it is to be used in."""
        if self.job.session is None:
            raise ProtocolError("a report without a session")
        return self._appraise(self.job.session, self.job.session.take_evidence(message))

    def on_report_outside(self, body: bytes) -> Transition:
        """Ignore a report from outside the session; a weaker design takes it."""
        if self.job.terms.defences.stands("report-in-session") or self.job.session is None:
            return self, [Remark("ignored: a report from outside the session")]
        report, chain = split(body, "report", "report", "chain")
        return self._appraise(self.job.session, GpuEvidence(report, chain))

    def _appraise(self, session: Requester, evidence: GpuEvidence) -> Transition:
        job = self.job
        tools, terms = job.tools, job.terms
        job.attested, appraisal = accept_report(session, evidence, self.nonce, tools.appraiser, terms.defences)
        job.evidence, job.attested_at = evidence, job.now
        job.custody = Custody.NONE
        claims = appraisal.claims
        own = claims["nonce"] == self.nonce.hex()
        nonce = session.label if own else "another session"
        noted = step("accept_gpu", ORCHESTRATOR, q=claims["device"], n=nonce, mode=claims["mode"])
        shown = job.reception.show_all(lambda exporter, nonce: evidence_for(job, exporter, nonce))
        state, effects = begin_home(job)
        return state, [Note(noted), *shown, *effects]


def evidence_for(job: Job, exporter: bytes, nonce: bytes) -> Evidence:
    """Return the orchestrator's evidence for one channel.

    Raises:
        ProtocolError: there is no attested GPU to vouch for.
    """
    if job.evidence is None:
        raise ProtocolError("there is no attested GPU to vouch for")
    return Evidence(job.tools.quoter.evidence(exporter, nonce, job.manifest, job.evidence), job.live.session)


def open_session(job: Job, resumes: bool = False) -> Transition:
    """Start from nothing: a new session, new keys and, unless a driver re-attaches by itself, a new attestation."""
    session = job.tools.requester()
    job.wait(job.terms.patience)
    job.attempt = (job.attempt + 1) % ATTEMPTS
    started = [job.handshake(message) for message in session.begin()]
    return AwaitsSession(job, session, resumes), [Persist("session", number(job.failures)), *started]


def restart(job: Job, reason: str) -> Transition:
    """Fail-stop: give up the session with everything in it, have the GPU reset, and start from nothing."""
    job.failures += 1
    if job.failures > job.terms.sessions:
        return Stopped(job), [Ended(f"{job.failures} sessions failed, the last one because of {reason}")]
    resumes = not job.terms.defences.stands("fail-stop-on-reset") and job.attested is not None
    effects: list[Effect] = [Remark(f"session given up: {reason}")]
    if not resumes:
        job.session = job.link = job.attested = job.evidence = job.lent = job.redo = None
        effects += [route_home(), reset_gpu()]
    state, started = open_session(job, resumes)
    return state, effects + started


def renew(job: Job, for_journey: bool) -> Transition:
    """Open a new session though nothing failed: the schedule asks for it, or the old one has no room under its keys."""
    job.session = job.link = job.attested = job.evidence = job.lent = job.redo = None
    first = [reset_gpu(for_journey=True)] if for_journey else [route_home(), reset_gpu()]
    state, started = open_session(job)
    return state, [*first, *started]


def reset_gpu(for_journey: bool = False) -> Send:
    """Return the request to reset the GPU: after a failure, or because the schedule asks for it before a journey."""
    return Send(PLATFORM, Kind.RESET, FOR_JOURNEY if for_journey else Mode.CONFIDENTIAL.value.encode("ascii"))


def route_home() -> Send:
    """Return the request to route the GPU back to the orchestrator."""
    return Send(PLATFORM, Kind.ROUTE, ORCHESTRATOR.encode("utf-8"))


class Stopped(State):
    """Nothing is awaited any more."""

    __slots__ = ()

    def on_session(self, message: bytes) -> Transition:
        """Ignore it."""
        return self, []

    def on_link(self, sealed: bytes) -> Transition:
        """Ignore it."""
        return self, []

    def on_tick(self) -> Transition:
        """Ignore it."""
        return self, []
