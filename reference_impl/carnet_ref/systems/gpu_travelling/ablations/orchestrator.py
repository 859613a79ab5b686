"""Ablations of the orchestrator: for each defence that is off, the step that replaces the secure one.

`ChecksWithout` leaves single checks out. What differs in more than a check is here: a step that a design leaves
out or takes in another order overrides the secure one, and an input that a design believes has a row of its own.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache
from types import MappingProxyType
from typing import Final, TypeVar

from carnet_ref.attestation.appraisal import Appraisal, AppraisalStep
from carnet_ref.keys import Budget, H100KeySchedule, KeySchedule, LinkKeys
from carnet_ref.recorder import step
from carnet_ref.systems.ablation import without
from carnet_ref.systems.gpu_travelling.ablations.gpu import LINKS, ON_LINK, OneChannel
from carnet_ref.systems.gpu_travelling.enforcement import Checks, ReceivedMessage, Seen, log_step
from carnet_ref.systems.gpu_travelling.keys import EnginePerHolder
from carnet_ref.systems.gpu_travelling.names import GPU, ORCHESTRATOR
from carnet_ref.systems.gpu_travelling.orders import Fenced, MemoryRead, Place, Report, Rotated, Scrubbed, split_place
from carnet_ref.systems.gpu_travelling.roles import facts, states
from carnet_ref.systems.gpu_travelling.roles.attestation import GpuEvidence
from carnet_ref.systems.gpu_travelling.roles.job import Job
from carnet_ref.systems.gpu_travelling.roles.links import Link, SessionKeys
from carnet_ref.systems.gpu_travelling.roles.messages import Grant, Return
from carnet_ref.systems.gpu_travelling.roles.orchestrator import SECURE, TABLE, Handler, Procedures, Row, Table, Taken
from carnet_ref.systems.gpu_travelling.roles.returning import route_back
from carnet_ref.systems.gpu_travelling.roles.setup import shake_hands, show_all
from carnet_ref.transport.frames import Note, Proceed, RoleEffect
from carnet_ref.wire import split

_Found = TypeVar("_Found")


@cache
def defence_names() -> frozenset[str]:
    """Return the name of every defence of the specification, in any of its variants."""
    from carnet_spec.protocols.gpu_travelling import FAMILY  # half a second, which no run without ablations pays

    wholes = (FAMILY.draft_of(name).whole() for name in FAMILY.with_layers(FAMILY.main))
    return frozenset(defence.id for whole in wholes for defence in whole.defences)


@dataclass(frozen=True, slots=True)
class ChecksWithout(Checks):
    """The checks of a role in a design without the defences ``off``."""

    off: frozenset[str]

    def passes(self, defence: str, requirement: str, holds: bool, *, saw: Seen = ()) -> bool:
        """Return whether the condition holds; True without a check if ``defence`` is off."""
        return defence in self.off or Checks.passes(self, defence, requirement, holds, saw=saw)


class NoChecks(Checks):
    """Checks that always pass and are not logged."""

    def expect(self, defence: str, requirement: str, found: object, kind: type[_Found], *, saw: Seen = ()) -> _Found:
        """Return ``found`` without checking its kind."""
        del defence, requirement, saw
        assert isinstance(found, kind)
        return found

    def passes(self, defence: str, requirement: str, holds: bool, *, saw: Seen = ()) -> bool:
        """Return True."""
        return True


_UNCHECKED: Final = NoChecks()
_NOTHING: Final = GpuEvidence(b"", b"")


class Pretended(Link):
    """A link whose firmware seems to have just sent ``report``."""

    def __init__(self, link: Link, said: Report) -> None:
        self.session = link.session
        self._keys = link.keys
        self._said = said

    @property
    def keys(self) -> LinkKeys:
        """The keys of the epoch."""
        return self._keys

    @property
    def pending(self) -> LinkKeys:
        """The same keys, as if they were pending in a rotation."""
        return self._keys

    def report(self, sealed: bytes) -> Report:
        """Return the pretended report."""
        del sealed
        return self._said

    def take(self) -> None:
        """Do nothing."""


@dataclass(frozen=True, slots=True)
class _Believing:
    """A verifier that takes the responder of a session for the GPU that was attested before."""

    key: bytes

    def appraise(self, evidence: GpuEvidence, nonce: bytes) -> Appraisal:
        """Accept whatever was shown."""
        del evidence, nonce
        return Appraisal((AppraisalStep("believed", True, "attested in an earlier session"),), {"key": self.key})


def pretend_rotated(link: Link) -> facts.KeyRotated:
    """Continue under the present key, as if it were a new one."""
    return facts.establish_rotation(Pretended(link, Rotated(link.keys.epoch, 1)), b"", _UNCHECKED)


def rotated_unacknowledged(link: Link) -> facts.KeyRotated:
    """Use the pending key without an acknowledgement."""
    link.awaited = None
    link.take()
    return pretend_rotated(link)


def pretend_fenced(link: Link) -> facts.ContextsFenced:
    """Continue as if contexts had been fenced."""
    return facts.establish_fence(Pretended(link, Fenced()), b"", _UNCHECKED)


def scrubbed_unacknowledged(link: Link) -> facts.BufferScrubbed:
    """Treat the buffer as scrubbed without an acknowledgement."""
    link.awaited = None
    return facts.establish_scrub(Pretended(link, Scrubbed(0)), b"", _UNCHECKED)


def _is_of(fact: facts.EpochFact | None, link: Link) -> bool:
    return fact is not None and fact.session == link.session


#: Checks that go with a defence of another name: what is left after a scrub is counted over all regions together.
ALIKE: Final[Mapping[str, frozenset[str]]] = MappingProxyType({"scrub-buffer": frozenset({"scrub-workspace"})})


def procedures(off: frozenset[str]) -> Procedures:
    """Return the orchestrator's steps in the design without the defences ``off``."""
    return ProceduresWithout(off) if off else SECURE


@dataclass(frozen=True, slots=True)
class AwaitsReattachment(states.AwaitsSession):
    """State: a session is opened again after a failure, to continue with the state ``interrupted``."""

    interrupted: states.OrchestratorState | None = None


class ProceduresWithout(Procedures):
    """The orchestrator's steps in a design without the defences ``off``."""

    def __init__(self, off: frozenset[str]) -> None:
        alike = off.union(*(ALIKE.get(name, frozenset()) for name in off))
        super().__init__(ChecksWithout(alike), table_without(off))
        self.off = off

    def take(self, state: states.OrchestratorState, event: states.Input) -> states.Transition:
        """Handle an input; an unexpected report is ignored, and reports may come over the link."""
        if "session-acknowledgements" in self.off and isinstance(event, states.LinkMessage):
            event = states.Reported(event.sealed) if event.sealed.startswith(ON_LINK) else event
        link, unacknowledged = state.job.link, bool(_UNACKNOWLEDGED & self.off)
        if isinstance(event, states.Reported) and link is not None and unacknowledged and _place(event) != link.awaited:
            return state, []
        return super().take(state, event)

    # -- on the way out ----------------------------------------------------------------------------

    def order_rotation(self, job: Job, attested: facts.GpuAttested) -> states.Transition:
        """Grant the present key, or do not wait for an acknowledgement."""
        if "rotation-out" in self.off:
            job, intent = self.set_out(job, attested)
            state, effects = self.grant(job, pretend_rotated(job.live))
            return state, [intent, Note(step("keep_key_out", ORCHESTRATOR, a=job.holder)), *effects]
        state, effects = super().order_rotation(job, attested)
        return state, [*effects, *self._without_answer("rotation-ack")]

    def addressee(self, job: Job) -> str:
        """Return the holder that was admitted last."""
        return job.admission.holders[-1] if "grant-addressee" in self.off else super().addressee(job)

    def first_slot(self, job: Job) -> int:
        """Return the first counter value."""
        return 0 if "count-handover" in self.off else super().first_slot(job)

    def make_grant(self, job: Job, enrolled: facts.HolderEnrolled, start: int, budget: Budget) -> Grant:
        """Return a grant with the other half of the key and the launch key."""
        said = super().make_grant(job, enrolled, start, budget)
        if "h2d-half-only" in self.off:
            said = replace(said, d2h=job.live.keys.d2h)
        if "launch-key-kept" in self.off:
            said = replace(said, launch=job.live.launch_key)
        return said

    # -- on the way back ---------------------------------------------------------------------------

    def learn_count(self, job: Job, given: Return) -> None:
        """Ignore the number of counter values that the holder used."""
        if "count-handover" not in self.off:
            super().learn_count(job, given)

    def forfeit(self, job: Job) -> None:
        """Count no counter value as used."""
        if "count-handover" not in self.off:
            super().forfeit(job)

    def steps_home(self, first: bool) -> tuple[states.HomeStep, ...]:
        """Return the steps after a return, some left out or in another order."""
        fence: states.HomeStep = self.skip_fence if "fence" in self.off else self.fence
        check: tuple[states.HomeStep, ...] = (self.upload, self.read_back)
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

    def keep_key(self, job: Job, left: tuple[states.HomeStep, ...], so_far: states.Established) -> states.Transition:
        """Continue under the holder's key."""
        state, effects = self.go_on(job, left, replace(so_far, rotated=pretend_rotated(job.live)))
        return state, [_noted("keep_key_in"), route_back(), *effects]

    def check_first(self, job: Job, left: tuple[states.HomeStep, ...], so_far: states.Established) -> states.Transition:
        """Postpone the rotation."""
        state, effects = self.go_on(job, left, replace(so_far, rotated=pretend_rotated(job.live)))
        return state, [_noted("check_first"), *effects]

    def skip_fence(self, job: Job, left: tuple[states.HomeStep, ...], so_far: states.Established) -> states.Transition:
        """Do not stop running contexts."""
        state, effects = self.go_on(job, left, replace(so_far, fenced=pretend_fenced(job.live)))
        return state, [_noted("skip_fence"), *effects]

    def rely_on_early_fence(
        self, job: Job, left: tuple[states.HomeStep, ...], so_far: states.Established
    ) -> states.Transition:
        """Use the fence from before the rotation as if it were later."""
        state, effects = self.go_on(job, left, replace(so_far, fenced=pretend_fenced(job.live)))
        return state, [_noted("rely_on_early_fence"), *effects]

    # -- steps under other names, or without an answer --------------------------------------------

    def rotate_in(self, job: Job, left: tuple[states.HomeStep, ...], so_far: states.Established) -> states.Transition:
        """Rotate without waiting for an acknowledgement."""
        state, effects = super().rotate_in(job, left, so_far)
        return state, [*effects, *self._without_answer("rotation-ack")]

    def rotate_late(self, job: Job, left: tuple[states.HomeStep, ...], so_far: states.Established) -> states.Transition:
        """Rotate after memory was checked."""
        return _as(self.rotate_late, "rotate_late", self.rotate_in(job, left, so_far))

    def rotate_after_fence(
        self, job: Job, left: tuple[states.HomeStep, ...], so_far: states.Established
    ) -> states.Transition:
        """Rotate after contexts were fenced."""
        return _as(self.rotate_after_fence, "rotate_after_fence", self.rotate_in(job, left, so_far))

    def fence(self, job: Job, left: tuple[states.HomeStep, ...], so_far: states.Established) -> states.Transition:
        """Fence without waiting for an acknowledgement."""
        state, effects = super().fence(job, left, so_far)
        return state, [*effects, *self._without_answer("fence-ack")]

    def fence_early(self, job: Job, left: tuple[states.HomeStep, ...], so_far: states.Established) -> states.Transition:
        """Fence under the holder's key."""
        return _as(self.fence_early, "fence_early", self.fence(job, left, so_far))

    def _without_answer(self, defence: str) -> list[RoleEffect]:
        return [Proceed()] if defence in self.off else []

    # -- answers -----------------------------------------------------------------------------------

    def rotated_out(
        self, state: states.AwaitsRotationOut, event: states.Reported | states.OwnTurn
    ) -> states.Transition:
        """Use the new key, whatever the GPU reports."""
        if isinstance(event, states.Reported) and "rotation-ack" not in self.off:
            return super().rotated_out(state, event)
        return self.go_out(state.job, rotated_unacknowledged(state.job.live))

    def rotated_in(self, state: states.AwaitsRotationIn, event: states.Reported | states.OwnTurn) -> states.Transition:
        """Use the new key, whatever the GPU reports; checks before a late rotation still count."""
        late = state.step == self.rotate_late
        if isinstance(event, states.Reported) and "rotation-ack" not in self.off:
            rotated = facts.establish_rotation(state.job.live, event.sealed, self.checks)
        else:
            rotated = rotated_unacknowledged(state.job.live)
        so_far = replace(state.so_far, rotated=rotated)
        if late:
            # Keep what was established in an earlier epoch of the session as if it were about this one
            fenced, verified = so_far.fenced, so_far.verified
            if _is_of(fenced, state.job.live):
                fenced = pretend_fenced(state.job.live)
            if _is_of(verified, state.job.live):
                found = Pretended(state.job.live, MemoryRead(b"", b"", 0, 0))
                verified = facts.establish_memory(found, b"", facts.Expected(b"", b"", None), _UNCHECKED)
            so_far = replace(so_far, fenced=fenced, verified=verified)
        taken = _noted("rotated_late" if late else "rotated_in")  # first, so that its checks go with it
        after, effects = self.go_on(state.job, state.left, so_far)
        return after, [taken, *effects]

    def fenced(self, state: states.AwaitsFence, event: states.Reported | states.OwnTurn) -> states.Transition:
        """Continue, whatever the GPU reports."""
        if isinstance(event, states.Reported) and "fence-ack" not in self.off:
            fenced = facts.establish_fence(state.job.live, event.sealed, self.checks)
        else:
            state.job.live.awaited = None
            fenced = pretend_fenced(state.job.live)
        taken = _noted("fenced_early" if state.step == self.fence_early else "fenced")
        after, effects = self.go_on(state.job, state.left, replace(state.so_far, fenced=fenced))
        return after, [taken, *effects]

    def scrubbed(self, state: states.AwaitsScrub, event: states.Reported) -> states.Transition:
        """Treat the buffer as scrubbed, whatever the GPU reports."""
        if "scrub-ack" not in self.off:
            return super().scrubbed(state, event)
        return self.go_clean(state.job, scrubbed_unacknowledged(state.job.live))

    def believe(self, state: states.AwaitsScrub, event: states.Semaphore) -> states.Transition:
        """Treat the buffer as scrubbed after an unauthenticated semaphore."""
        if event.name != Scrubbed.__name__:
            return state, []
        return self.go_clean(state.job, scrubbed_unacknowledged(state.job.live))

    # -- sessions ----------------------------------------------------------------------------------

    def new_schedule(self, job: Job, session: H100KeySchedule) -> KeySchedule:
        """Return a schedule in which every epoch of an engine has the same channel."""
        if "channel-counter" not in self.off or job.terms.schedule != EnginePerHolder.name:
            return super().new_schedule(job, session)
        return OneChannel(session, ORCHESTRATOR, self.checks)

    def new_link(self, job: Job, session: str, schedule: KeySchedule, secrets: SessionKeys) -> Link:
        """Return a link of the ablated design."""
        return without(Link, LINKS, self.off)(session, schedule, secrets, job.terms.limits)

    def report_shown(self, state: states.AwaitsReport, event: states.ReportOutside) -> states.Transition:
        """Accept a report from outside the session."""
        if state.job.session is None:
            return state, []
        report, chain = split(event.body, "report", "report", "chain")
        return self.accept(state, state.job.session, GpuEvidence(report, chain), ReceivedMessage(GPU, report))

    def start_over(self, state: states.OrchestratorState, job: Job) -> states.Transition:
        """Open the session again, as a driver that re-attaches by itself, and continue."""
        if "fail-stop-on-reset" not in self.off or job.attested is None:
            return super().start_over(state, job)
        opened, effects = self.open_session(job)
        interrupted = state.interrupted if isinstance(state, AwaitsReattachment) else state
        return AwaitsReattachment(opened.job, opened.session, opened.noted, interrupted), effects

    def reattach(self, state: AwaitsReattachment, event: states.SessionMessage) -> states.Transition:
        """Continue the handshake; after it, continue with the interrupted state."""
        shaken, effects = shake_hands(state, event, "reattach", self.checks)
        session, before = shaken.session, shaken.job
        if not session.is_established:
            return shaken, effects
        believing, saw = _Believing(session.responder_key), ReceivedMessage(GPU, b"")
        attested, _ = facts.establish_attestation(session, _NOTHING, b"", believing, _UNCHECKED, saw)
        job = replace(self.take_keys(before, session), attested=attested, lent=before.lent)
        shown = show_all(job)
        after, more = self._take_up(job, state.interrupted)
        return after, [*effects, *shown, *more]

    def _take_up(self, job: Job, interrupted: states.OrchestratorState | None) -> states.Transition:
        """Do again what was under way when the session died."""
        match interrupted:
            case states.AwaitsRotationOut() if job.attested is not None:
                return self.order_rotation(job, job.attested)
            case states.AwaitsReturn() | states.Back():
                return self.grant(job, pretend_rotated(job.live))
            case states.AwaitsAnswer(step=again, left=left, so_far=so_far):
                return self.go_on(job, (again, *left), so_far)
            case states.AwaitsTraining(so_far=so_far):
                return self.go_on(job, (), so_far)
        return self.scrub(job)


def table_without(off: frozenset[str]) -> Table:
    """Return the transition table of a design without these defences."""
    changed: dict[str, tuple[tuple[type[states.OrchestratorState], str, Handler], ...]] = {
        "report-in-session": ((states.AwaitsReport, "report", ProceduresWithout.report_shown),),
        "rotation-ack": (
            (states.AwaitsRotationOut, "turn", ProceduresWithout.rotated_out),
            (states.AwaitsRotationIn, "turn", ProceduresWithout.rotated_in),
        ),
        "fence-ack": ((states.AwaitsFence, "turn", ProceduresWithout.fenced),),
        "scrub-ack": ((states.AwaitsScrub, "semaphore", ProceduresWithout.believe),),
    }
    rows: dict[type[states.OrchestratorState], Row] = dict(TABLE)
    rows[AwaitsReattachment] = replace(TABLE[states.AwaitsSession], session=Taken(ProceduresWithout.reattach))
    for state, column, step_taken in (each for name in changed if name in off for each in changed[name]):
        rows[state] = replace(rows[state], **{column: Taken(step_taken)})
    return rows


#: The defences without which a report may come that nobody waits for.
_UNACKNOWLEDGED: Final = frozenset({"rotation-ack", "fence-ack", "scrub-ack"})


def _place(event: states.Reported) -> Place:
    """Return the place of a report, whichever way it came."""
    return split_place(event.sealed.removeprefix(ON_LINK))[0]


def _noted(action: str) -> Note:
    return log_step(step(action, ORCHESTRATOR))


def _as(taken_as: states.HomeStep, action: str, taken: states.Transition) -> states.Transition:
    """Return a step that was taken under another name: it is recorded, and taken up again, as that."""
    state, effects = taken
    renamed = [_renamed(each, action) if isinstance(each, Note) else each for each in effects]
    return replace(state, step=taken_as) if isinstance(state, states.AwaitsAnswer) else state, renamed


def _renamed(note: Note, action: str) -> Note:
    """Return the record of a step under another name, with what was checked for it."""
    checks = tuple(replace(each, action=action if each.action else "") for each in note.checks)
    return replace(note, step=replace(note.step, action=action), checks=checks)
