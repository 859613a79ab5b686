"""Setup steps: the orchestrator opens a session with the GPU in its slot, and attests it inside that session."""

from dataclasses import replace

from carnet_ref.attestation.appraisal import Appraisal
from carnet_ref.keys import H100KeySchedule, KeySchedule
from carnet_ref.marks import enforces
from carnet_ref.recorder import step
from carnet_ref.systems.gpu_travelling.enforcement import Checks, ReceivedMessage, log_step
from carnet_ref.systems.gpu_travelling.keys import key_schedule
from carnet_ref.systems.gpu_travelling.names import FOR_JOURNEY, FOR_NEW_SESSION, GPU, ORCHESTRATOR
from carnet_ref.systems.gpu_travelling.roles import facts, states
from carnet_ref.systems.gpu_travelling.roles.attestation import GpuEvidence, Requester
from carnet_ref.systems.gpu_travelling.roles.job import Custody, Job
from carnet_ref.systems.gpu_travelling.roles.links import Link, SessionKeys
from carnet_ref.systems.gpu_travelling.roles.messages import ATTEMPTS, OrchestratorEvidence
from carnet_ref.systems.gpu_travelling.roles.returning import Returning, route_back
from carnet_ref.transport import frames
from carnet_ref.wire import number

_NONCE_BYTES = 32


class Setup(Returning):
    """The orchestrator's steps to an attested GPU in a session, and back to the start after a failure."""

    @enforces("REQ-MODEL-04")
    def open_session(self, job: Job) -> tuple[states.AwaitsSession, list[frames.RoleEffect]]:
        """Open a new session, with new keys and a new attestation.

        The job goes on from the version that was kept last; what was returned since then is written down as lost.
        """
        session, lost = job.tools.requester(), job.books.unsecured
        job = replace(job, attempt=(job.attempt + 1) % ATTEMPTS, progress=job.kept.progress, books=job.books.given_up())
        gone: list[frames.RoleEffect] = [frames.Persist("lost", epoch.encode()) for epoch in lost]
        gone += [frames.Remark(f"lost with the session, and to be done again: {', '.join(lost)}")] if lost else []
        started = [job.handshake(message) for message in session.begin()]
        opened = states.AwaitsSession(job.waiting(job.terms.patience), session)
        return opened, [*gone, frames.Persist("session", number(job.failures)), *started]

    def handshake(self, state: states.AwaitsSession, event: states.SessionMessage) -> states.Transition:
        """Continue the handshake; after it, request the GPU's report inside the session."""
        now, end = state.job.now, state.job.now + state.job.terms.evidence_lasts
        state, effects = shake_hands(state, event, "open_session", self.checks, now=now, end=end)
        session = state.session
        if not session.is_established:
            return state, effects
        job = self.take_keys(state.job, session)
        nonce = session.report_nonce(job.tools.random(_NONCE_BYTES))
        return states.AwaitsReport(job, nonce), [*effects, job.handshake(session.ask_report(nonce))]

    @enforces("REQ-SETUP-01")
    def take_keys(self, job: Job, session: Requester) -> Job:
        """Derive the first link keys from the new session."""
        keys = H100KeySchedule.of_session(session.exported_master_secret())
        schedule = self.new_schedule(job, keys)
        link = self.new_link(job, session.label, schedule, SessionKeys.of(keys))
        return replace(job, session=session, link=link, lendings=0, lent=schedule.keys)

    def new_schedule(self, job: Job, session: H100KeySchedule) -> KeySchedule:
        """Return the orchestrator's end of the key schedule for a session."""
        return key_schedule(job.terms.schedule, session, ORCHESTRATOR)

    def new_link(self, job: Job, session: str, schedule: KeySchedule, secrets: SessionKeys) -> Link:
        """Return the orchestrator's end of the link for a session."""
        return Link(session, schedule, secrets, job.terms.limits)

    def report_came(self, state: states.AwaitsReport, event: states.SessionMessage) -> states.Transition:
        """Appraise a report that arrived inside the session."""
        if state.job.session is None:
            raise frames.ProtocolError("a report without a session")
        session, body = state.job.session, event.body
        evidence = self.checks.verify(
            "report-in-session", "REQ-SETUP-06", lambda: session.take_evidence(body), saw=body, sender=lambda _: GPU
        )
        return self.accept(state, session, evidence, ReceivedMessage(GPU, body))

    def accept(
        self, state: states.AwaitsReport, session: Requester, evidence: GpuEvidence, saw: ReceivedMessage
    ) -> states.Transition:
        """Establish that the session's responder is a genuine GPU, and continue with the steps at home."""
        job, nonce = young_enough(state.job), state.nonce
        attested, appraisal = facts.establish_attestation(
            session, evidence, nonce, job.tools.verifier, self.checks, saw
        )
        job = replace(job, attested=attested, evidence=evidence, appraisal=appraisal, custody=Custody.NONE)
        job = replace(job, evidence_end=self.evidence_end(job, appraisal))
        claims = appraisal.claims
        answered = session.label if claims["nonce"] == nonce.hex() else "another session"
        taken = step("accept_gpu", ORCHESTRATOR, q=claims["device"], n=answered, mode=claims["mode"])
        accepted = log_step(taken, now=job.now)
        shown = show_all(job)
        after, effects = self.begin_at_home(job)
        return after, [accepted, *shown, *effects]

    def evidence_end(self, job: Job, appraisal: Appraisal) -> float:
        """Return the time until which the evidence is used: until a certificate or OCSP reply expires, at most."""
        left = appraisal.claims.get("seconds_left")
        return job.evidence_end if not isinstance(left, float) else min(job.evidence_end, job.now + left)

    # -- fail-stop ---------------------------------------------------------------------------------

    def restart(self, state: states.OrchestratorState, reason: str) -> states.Transition:
        """Fail-stop: close the session and start again, unless too many sessions failed."""
        job = replace(state.job, failures=state.job.failures + 1)
        if job.failures > job.terms.sessions:
            return states.Stopped(job), [
                frames.Ended(f"{job.failures} sessions failed, the last one because of {reason}")
            ]
        after, effects = self.start_over(state, job)
        return after, [frames.Remark(f"session given up: {reason}"), *effects]

    @enforces("REQ-STOP-01", "CLAIM-NO-SILENT-RESET", "fail-stop-on-reset")
    def start_over(self, state: states.OrchestratorState, job: Job) -> states.Transition:
        """Forget everything about the session, and reset the GPU."""
        after, started = self.open_session(job.without_session())
        return after, [reset_gpu(), *started]

    def renew(self, job: Job, for_journey: bool) -> states.Transition:
        """Open a new session without a failure: the schedule requires it, or a key has no room left."""
        state, started = self.open_session(job.without_session())
        return state, [reset_gpu(for_journey), *started]


@enforces("REQ-SETUP-13")
def young_enough(job: Job) -> Job:
    """Return the job, if the evidence is young enough to be appraised; its age is that of the nonce.

    Raises ProtocolError if it is too old.
    """
    if job.evidence_is_old:
        raise frames.ProtocolError(job.age_of_evidence)
    return job


def shake_hands(
    state: states.AwaitsSession, event: states.SessionMessage, action: str, checks: Checks, **at: float
) -> tuple[states.AwaitsSession, list[frames.RoleEffect]]:
    """Handle a handshake message; once the session has a name, record ``action`` and request the report.

    ``at`` are the instants of the action; if evidence is asked for anew, ``end`` among them is when it is too old.
    """
    effects: list[frames.RoleEffect] = [state.job.handshake(answer) for answer in state.session.receive(event.body)]
    label = state.session.label
    if not label or state.noted:
        return state, effects
    job, told = state.job, f"session {label} was open before, and its channels are used"
    checks.require("channel-counter", "REQ-IV-04", label not in job.opened, saw=label, otherwise=told)
    opened = log_step(step(action, ORCHESTRATOR, s=label, k=f"{label}/0", c=0), **at)
    job = replace(job, opened=job.opened | {label})
    if "end" in at:
        job = replace(job, evidence_begin=at["now"], evidence_end=at["end"])
    return replace(state, job=job, noted=True), [opened, route_back(), *effects]


def evidence_for(job: Job, exporter: bytes, nonce: bytes) -> OrchestratorEvidence:
    """Return the orchestrator's evidence for one channel.

    Raises ProtocolError if there is no attested GPU to vouch for.
    """
    if job.evidence is None:
        raise frames.ProtocolError("there is no attested GPU to vouch for")
    return OrchestratorEvidence(
        job.tools.quoter.evidence(exporter, nonce, job.manifest, job.evidence), job.live.session
    )


def show_all(job: Job) -> list[frames.RoleEffect]:
    """Send the orchestrator's evidence in every channel."""
    return job.admission.show_all(lambda exporter, nonce: evidence_for(job, exporter, nonce))


def reset_gpu(for_journey: bool = False) -> frames.Send:
    """Return the request to reset the GPU, after a failure or before a hand-over."""
    return frames.Send(frames.PLATFORM, frames.FrameKind.RESET, FOR_JOURNEY if for_journey else FOR_NEW_SESSION)
