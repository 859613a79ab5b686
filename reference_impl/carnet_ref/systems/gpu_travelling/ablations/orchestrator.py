"""The orchestrator of ablated designs: for each defence that is off, the step that is taken in its place.

`ChecksWithout` leaves single checks out. What differs in more than a check is here: a step that a design leaves
out or takes in another order overrides the secure one, and an input that a design believes has a row of its own.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Final

from carnet_ref.keys import Budget, H100KeySchedule, KeySchedule
from carnet_ref.recorder import step
from carnet_ref.systems.ablation import without
from carnet_ref.systems.gpu_travelling.ablations import facts, links
from carnet_ref.systems.gpu_travelling.ablations.channels import OneChannel
from carnet_ref.systems.gpu_travelling.ablations.checks import ChecksWithout
from carnet_ref.systems.gpu_travelling.ablations.reports import ON_LINK
from carnet_ref.systems.gpu_travelling.device.orders import Place, Scrubbed, placed
from carnet_ref.systems.gpu_travelling.enforcement import ReceivedMessage, log_step
from carnet_ref.systems.gpu_travelling.keys.schedules import EnginePerHolder
from carnet_ref.systems.gpu_travelling.names import GPU, ORCHESTRATOR
from carnet_ref.systems.gpu_travelling.roles import facts as secure
from carnet_ref.systems.gpu_travelling.roles.channel_messages import Grant, Return
from carnet_ref.systems.gpu_travelling.roles.facts import GpuAttested, HolderEnrolled
from carnet_ref.systems.gpu_travelling.roles.inputs import (
    Input,
    LinkMessage,
    OwnTurn,
    Reported,
    ReportOutside,
    Semaphore,
    SessionMessage,
)
from carnet_ref.systems.gpu_travelling.roles.job import Job
from carnet_ref.systems.gpu_travelling.roles.links import Link, SessionKeys
from carnet_ref.systems.gpu_travelling.roles.orchestrator import SECURE
from carnet_ref.systems.gpu_travelling.roles.ports import GpuEvidence
from carnet_ref.systems.gpu_travelling.roles.procedures import TABLE, Handler, Procedures, Row, Table, Taken
from carnet_ref.systems.gpu_travelling.roles.returning import route_back
from carnet_ref.systems.gpu_travelling.roles.setup import shake_hands, show_all
from carnet_ref.systems.gpu_travelling.roles.states import (
    AwaitsAnswer,
    AwaitsFence,
    AwaitsReport,
    AwaitsReturn,
    AwaitsRotationIn,
    AwaitsRotationOut,
    AwaitsScrub,
    AwaitsSession,
    AwaitsTraining,
    Back,
    Established,
    HomeStep,
    OrchestratorState,
    Transition,
)
from carnet_ref.transport.frames import Note, Proceed, RoleEffect
from carnet_ref.wire import split

ALIKE: Final[Mapping[str, frozenset[str]]] = MappingProxyType({"scrub-buffer": frozenset({"scrub-workspace"})})
"""Checks that go with a defence of another name: what is left after a scrub is counted over all regions together."""


def procedures(off: frozenset[str]) -> Procedures:
    """Return the orchestrator's steps in the design without the defences ``off``."""
    return ProceduresWithout(off) if off else SECURE


@dataclass(frozen=True, slots=True)
class AwaitsReattachment(AwaitsSession):
    """A session is opened again after a failure, to go on with what was ``interrupted``."""

    interrupted: OrchestratorState | None = None


class ProceduresWithout(Procedures):
    """The steps of a design without the defences ``off``."""

    def __init__(self, off: frozenset[str]) -> None:
        alike = off.union(*(ALIKE.get(name, frozenset()) for name in off))
        super().__init__(ChecksWithout(alike), table_without(off))
        self.off = off

    def take(self, state: OrchestratorState, event: Input) -> Transition:
        """Take an input, unless it is the report that nobody waits for; reports may come over the link."""
        if "session-acknowledgements" in self.off:
            event = _off_the_link(event)
        if isinstance(event, Reported) and self._forgone(state, event):
            return state, []
        return super().take(state, event)

    def _forgone(self, state: OrchestratorState, event: Reported) -> bool:
        link = state.job.link
        return link is not None and bool(_UNHEARD & self.off) and _place(event) != link.awaited

    # -- on the way out ----------------------------------------------------------------------------

    def order_rotation(self, job: Job, attested: GpuAttested) -> Transition:
        """Grant the key that is there, or do not wait for an acknowledgement."""
        if "rotation-out" in self.off:
            job, intent = self.set_out(job, attested)
            state, effects = self.grant(job, facts.kept(job.live))
            return state, [intent, Note(step("keep_key_out", ORCHESTRATOR, a=job.holder)), *effects]
        state, effects = super().order_rotation(job, attested)
        return state, [*effects, *self._without_answer("rotation-ack")]

    def addressee(self, job: Job) -> str:
        """Grant to the holder that was admitted last."""
        return job.admission.holders[-1] if "grant-addressee" in self.off else super().addressee(job)

    def first_slot(self, job: Job) -> int:
        """Let the holder count from the start."""
        return 0 if "count-handover" in self.off else super().first_slot(job)

    def granted(self, job: Job, enrolled: HolderEnrolled, start: int, budget: Budget) -> Grant:
        """Lend the other half of the key, and the launch key."""
        said = super().granted(job, enrolled, start, budget)
        if "h2d-half-only" in self.off:
            said = replace(said, d2h=job.live.keys.d2h)
        if "launch-key-kept" in self.off:
            said = replace(said, launch=job.live.launch_key)
        return said

    # -- on the way back ---------------------------------------------------------------------------

    def learn_count(self, job: Job, given: Return) -> None:
        """Learn nothing of what the holder used."""
        if "count-handover" not in self.off:
            super().learn_count(job, given)

    def forfeit(self, job: Job) -> None:
        """Count nothing as used."""
        if "count-handover" not in self.off:
            super().forfeit(job)

    def steps_home(self, first: bool) -> tuple[HomeStep, ...]:
        """Leave steps out, or take them in another order."""
        fence: HomeStep = self.skip_fence if "fence" in self.off else self.fence
        check: tuple[HomeStep, ...] = (self.upload, self.read_back)
        if first:
            return (fence, *check)
        if "rotation-in" in self.off:
            return (self.keep_key, fence, *check)
        if "rotation-before-check" in self.off:
            return (self.check_first, fence, *check, self.rotate_late)
        if "rotation-before-fence" in self.off:
            return (self.fence_early, self.rotate_after_fence, self.rely_on_early_fence, *check)
        return (self.rotate_in, fence, *check)

    # -- steps that are left out ------------------------------------------------------------------

    def keep_key(self, job: Job, left: tuple[HomeStep, ...], so_far: Established) -> Transition:
        """Go on under the holder's key."""
        state, effects = self.go_on(job, left, replace(so_far, rotated=facts.kept(job.live)))
        return state, [_noted("keep_key_in"), route_back(), *effects]

    def check_first(self, job: Job, left: tuple[HomeStep, ...], so_far: Established) -> Transition:
        """Leave the rotation for later."""
        state, effects = self.go_on(job, left, replace(so_far, rotated=facts.kept(job.live)))
        return state, [_noted("check_first"), *effects]

    def skip_fence(self, job: Job, left: tuple[HomeStep, ...], so_far: Established) -> Transition:
        """Leave contexts running."""
        state, effects = self.go_on(job, left, replace(so_far, fenced=facts.not_fenced(job.live)))
        return state, [_noted("skip_fence"), *effects]

    def rely_on_early_fence(self, job: Job, left: tuple[HomeStep, ...], so_far: Established) -> Transition:
        """Take the fence before the rotation for one after it."""
        state, effects = self.go_on(job, left, replace(so_far, fenced=facts.not_fenced(job.live)))
        return state, [_noted("rely_on_early_fence"), *effects]

    # -- steps under other names, or without an answer --------------------------------------------

    def rotate_in(self, job: Job, left: tuple[HomeStep, ...], so_far: Established) -> Transition:
        """Rotate, and do not wait for an acknowledgement."""
        state, effects = super().rotate_in(job, left, so_far)
        return state, [*effects, *self._without_answer("rotation-ack")]

    def rotate_late(self, job: Job, left: tuple[HomeStep, ...], so_far: Established) -> Transition:
        """Rotate once memory was checked."""
        return _as(self.rotate_late, "rotate_late", self.rotate_in(job, left, so_far))

    def rotate_after_fence(self, job: Job, left: tuple[HomeStep, ...], so_far: Established) -> Transition:
        """Rotate once contexts were fenced."""
        return _as(self.rotate_after_fence, "rotate_after_fence", self.rotate_in(job, left, so_far))

    def fence(self, job: Job, left: tuple[HomeStep, ...], so_far: Established) -> Transition:
        """Fence, and do not wait for an acknowledgement."""
        state, effects = super().fence(job, left, so_far)
        return state, [*effects, *self._without_answer("fence-ack")]

    def fence_early(self, job: Job, left: tuple[HomeStep, ...], so_far: Established) -> Transition:
        """Fence under the holder's key."""
        return _as(self.fence_early, "fence_early", self.fence(job, left, so_far))

    def _without_answer(self, defence: str) -> list[RoleEffect]:
        return [Proceed()] if defence in self.off else []

    # -- answers -----------------------------------------------------------------------------------

    def rotated_out(self, state: AwaitsRotationOut, event: Reported | OwnTurn) -> Transition:
        """Take the new key, whatever the GPU says."""
        if isinstance(event, Reported) and "rotation-ack" not in self.off:
            return super().rotated_out(state, event)
        return self.go_out(state.job, facts.rotated_unheard(state.job.live))

    def rotated_in(self, state: AwaitsRotationIn, event: Reported | OwnTurn) -> Transition:
        """Take the new key, whatever the GPU says; what was checked before a late rotation still counts."""
        late = state.step == self.rotate_late
        if isinstance(event, Reported) and "rotation-ack" not in self.off:
            rotated = secure.rotated(state.job.live, event.sealed, self.checks)
        else:
            rotated = facts.rotated_unheard(state.job.live)
        so_far = replace(state.so_far, rotated=rotated)
        if late:
            so_far = facts.carried_over(so_far, state.job.live)
        taken = _noted("rotated_late" if late else "rotated_in")  # first, so that its checks go with it
        after, effects = self.go_on(state.job, state.left, so_far)
        return after, [taken, *effects]

    def fenced(self, state: AwaitsFence, event: Reported | OwnTurn) -> Transition:
        """Go on, whatever the GPU says."""
        if isinstance(event, Reported) and "fence-ack" not in self.off:
            fenced = secure.fenced(state.job.live, event.sealed, self.checks)
        else:
            fenced = facts.fenced_unheard(state.job.live)
        taken = _noted("fenced_early" if state.step == self.fence_early else "fenced")
        after, effects = self.go_on(state.job, state.left, replace(state.so_far, fenced=fenced))
        return after, [taken, *effects]

    def scrubbed(self, state: AwaitsScrub, event: Reported) -> Transition:
        """Take the buffer for clean, whatever the GPU says."""
        if "scrub-ack" not in self.off:
            return super().scrubbed(state, event)
        return self.go_clean(state.job, facts.scrubbed_unheard(state.job.live))

    def believe(self, state: AwaitsScrub, event: Semaphore) -> Transition:
        """Believe a plain semaphore."""
        if event.name != Scrubbed.__name__:
            return state, []
        return self.go_clean(state.job, facts.scrubbed_unheard(state.job.live))

    # -- sessions ----------------------------------------------------------------------------------

    def new_schedule(self, job: Job, session: H100KeySchedule) -> KeySchedule:
        """Return a schedule that gives every epoch of an engine the same channel."""
        if "channel-counter" not in self.off or job.terms.schedule != EnginePerHolder.name:
            return super().new_schedule(job, session)
        return OneChannel(session, ORCHESTRATOR, self.checks)

    def new_link(self, job: Job, session: str, schedule: KeySchedule, secrets: SessionKeys) -> Link:
        """Return a link without these defences."""
        return without(Link, links.ALTERNATIVES, self.off)(session, schedule, secrets, job.terms.limits)

    def report_shown(self, state: AwaitsReport, event: ReportOutside) -> Transition:
        """Take a report from outside the session."""
        if state.job.session is None:
            return state, []
        report, chain = split(event.body, "report", "report", "chain")
        return self.accept(state, state.job.session, GpuEvidence(report, chain), ReceivedMessage(GPU, report))

    def start_over(self, state: OrchestratorState, job: Job) -> Transition:
        """Open the session again, as a driver does that re-attaches by itself, and go on."""
        if "fail-stop-on-reset" not in self.off or job.attested is None:
            return super().start_over(state, job)
        opened, effects = self.open_session(job)
        interrupted = state.interrupted if isinstance(state, AwaitsReattachment) else state
        return AwaitsReattachment(opened.job, opened.session, opened.noted, interrupted), effects

    def reattach(self, state: AwaitsReattachment, event: SessionMessage) -> Transition:
        """Go on with the handshake; once it is done, go on with what was interrupted."""
        shaken, effects = shake_hands(state, event, "reattach", self.checks)
        session, before = shaken.session, shaken.job
        if not session.established:
            return shaken, effects
        attested = facts.attested_again(session)
        job = replace(self.take_keys(before, session), attested=attested, lent=before.lent)
        shown = show_all(job)
        after, more = self._take_up(job, state.interrupted)
        return after, [*effects, *shown, *more]

    def _take_up(self, job: Job, interrupted: OrchestratorState | None) -> Transition:
        """Do again what was under way when the session died."""
        match interrupted:
            case AwaitsRotationOut() if job.attested is not None:
                return self.order_rotation(job, job.attested)
            case AwaitsReturn() | Back():
                return self.grant(job, facts.kept(job.live))
            case AwaitsAnswer(step=again, left=left, so_far=so_far):
                return self.go_on(job, (again, *left), so_far)
            case AwaitsTraining(so_far=so_far):
                return self.go_on(job, (), so_far)
        return self.scrub(job)


def table_without(off: frozenset[str]) -> Table:
    """Return the table of a design without these defences: what it believes is taken, and not left aside."""
    changed: dict[str, tuple[tuple[type[OrchestratorState], str, Handler], ...]] = {
        "report-in-session": ((AwaitsReport, "report", ProceduresWithout.report_shown),),
        "rotation-ack": (
            (AwaitsRotationOut, "turn", ProceduresWithout.rotated_out),
            (AwaitsRotationIn, "turn", ProceduresWithout.rotated_in),
        ),
        "fence-ack": ((AwaitsFence, "turn", ProceduresWithout.fenced),),
        "scrub-ack": ((AwaitsScrub, "semaphore", ProceduresWithout.believe),),
    }
    rows: dict[type[OrchestratorState], Row] = dict(TABLE)
    rows[AwaitsReattachment] = replace(TABLE[AwaitsSession], session=Taken(ProceduresWithout.reattach))
    for state, column, step_taken in (each for name in changed if name in off for each in changed[name]):
        rows[state] = replace(rows[state], **{column: Taken(step_taken)})
    return rows


_UNHEARD: Final = frozenset({"rotation-ack", "fence-ack", "scrub-ack"})
"""The defences without which a report may come that nobody waits for."""


def _off_the_link(event: Input) -> Input:
    """Return a report that came over the link as one."""
    if isinstance(event, LinkMessage) and event.sealed.startswith(ON_LINK):
        return Reported(event.sealed)
    return event


def _place(event: Reported) -> Place:
    """Return the place of a report, whichever way it came."""
    return placed(event.sealed.removeprefix(ON_LINK))[0]


def _noted(action: str) -> Note:
    return log_step(step(action, ORCHESTRATOR))


def _as(taken_as: HomeStep, action: str, taken: Transition) -> Transition:
    """Return a step that was taken under another name: it is recorded, and taken up again, as that."""
    state, effects = taken
    renamed = [_renamed(each, action) if isinstance(each, Note) else each for each in effects]
    return replace(state, step=taken_as) if isinstance(state, AwaitsAnswer) else state, renamed


def _renamed(note: Note, action: str) -> Note:
    """Return the record of a step under another name, with what was checked for it."""
    checks = tuple(replace(each, action=action if each.action else "") for each in note.checks)
    return replace(note, step=replace(note.step, action=action), checks=checks)
