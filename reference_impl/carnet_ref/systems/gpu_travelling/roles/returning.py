"""Home: what the orchestrator does between a return and the next journey, one state for each answer it awaits."""

from __future__ import annotations

from dataclasses import dataclass, replace

from carnet_ref.crypto.primitives import sha384
from carnet_ref.device.programs import TRAINING_CODE
from carnet_ref.recorder import step
from carnet_ref.systems.gpu_travelling.device.commands import Fence, ReadBack, Scrub, Scrubbed, Train, Trained, Upload
from carnet_ref.systems.gpu_travelling.names import ORCHESTRATOR
from carnet_ref.systems.gpu_travelling.roles import facts
from carnet_ref.systems.gpu_travelling.roles.custody import lend
from carnet_ref.systems.gpu_travelling.roles.facts import ContextsFenced, Expected, KeyRotated, MemoryVerified
from carnet_ref.systems.gpu_travelling.roles.job import Custody, Job, State, Transition
from carnet_ref.systems.gpu_travelling.roles.return_order import Stage, stages
from carnet_ref.transport.frames import PLATFORM, Effect, Kind, Note, Persist, Proceed, ProtocolError, Remark, Send


@dataclass(frozen=True, slots=True)
class Established:
    """What homecoming has established so far."""

    rotated: KeyRotated | None = None
    fenced: ContextsFenced | None = None
    verified: MemoryVerified | None = None


def begin_home(job: Job) -> Transition:
    """Go through the stages of homecoming, from the first."""
    order = stages(job.terms.defences, job.custody is Custody.NONE)
    return _go_on(job, order, Established())


def _go_on(job: Job, left: tuple[Stage, ...], so_far: Established) -> Transition:
    job.redo = lambda: _go_on(job, left, so_far)
    job.wait(job.terms.patience)
    if not left:
        return _at_home(job, so_far)
    stage, rest = left[0], left[1:]
    match stage:
        case Stage.ROTATE | Stage.ROTATE_LATE | Stage.ROTATE_AFTER_FENCE:
            return _rotate_in(job, stage, rest, so_far)
        case Stage.FENCE | Stage.FENCE_EARLY:
            return _fence(job, stage, rest, so_far)
        case Stage.UPLOAD:
            return _upload(job, rest, so_far)
        case Stage.READ_BACK:
            return _read_back(job, rest, so_far)
    return _skip(job, stage, rest, so_far)


def _skip(job: Job, stage: Stage, rest: tuple[Stage, ...], so_far: Established) -> Transition:
    """Go on without a step that a weaker design leaves out."""
    effects: list[Effect] = []
    if stage is Stage.KEEP_KEY:
        effects.append(_route_back())
    if stage in {Stage.SKIP_FENCE, Stage.RELY_ON_EARLY_FENCE}:
        so_far = replace(so_far, fenced=facts.fence_left_out(job.live, job.terms.defences))
    if stage in {Stage.KEEP_KEY, Stage.CHECK_FIRST}:
        so_far = replace(so_far, rotated=facts.kept(job.live, job.terms.defences))
    state, more = _go_on(job, rest, so_far)
    return state, [Note(step(_NAMES[stage], ORCHESTRATOR)), *effects, *more]


_NAMES = {
    Stage.KEEP_KEY: "keep_key_in",
    Stage.CHECK_FIRST: "check_first",
    Stage.RELY_ON_EARLY_FENCE: "rely_on_early_fence",
    Stage.SKIP_FENCE: "skip_fence",
    Stage.ROTATE: "rotate_in",
    Stage.ROTATE_LATE: "rotate_late",
    Stage.ROTATE_AFTER_FENCE: "rotate_after_fence",
    Stage.FENCE: "send_fence",
    Stage.FENCE_EARLY: "fence_early",
}


def _rotate_in(job: Job, stage: Stage, rest: tuple[Stage, ...], so_far: Established) -> Transition:
    order = job.live.draw(ORCHESTRATOR, job.tools.random)
    noted = Note(step(_NAMES[stage], ORCHESTRATOR, k=job.live.pending_name))
    waits = [] if job.terms.defences.stands("rotation-ack") else [Proceed()]
    return AwaitsRotationIn(job, stage, rest, so_far), [noted, _route_back(), job.command(order), *waits]


def _fence(job: Job, stage: Stage, rest: tuple[Stage, ...], so_far: Established) -> Transition:
    slot, frame = job.order(Fence())
    waits = [] if job.terms.defences.stands("fence-ack") else [Proceed()]
    noted = Note(step(_NAMES[stage], ORCHESTRATOR, v=slot))
    return AwaitsFence(job, stage, rest, so_far), [noted, frame, *waits]


def _upload(job: Job, rest: tuple[Stage, ...], so_far: Established) -> Transition:
    slot, frame = job.order(Upload(TRAINING_CODE, job.progress.model))
    state, more = _go_on(job, rest, so_far)
    return state, [Note(step("upload", ORCHESTRATOR, v=slot)), frame, *more]


def _read_back(job: Job, rest: tuple[Stage, ...], so_far: Established) -> Transition:
    if job.lent is None:
        raise ProtocolError("there is no epoch to ask the counter of")
    slot, frame = job.order(ReadBack(job.lent.epoch))
    noted = Note(step("send_read_back", ORCHESTRATOR, v=slot))
    return AwaitsReadBack(job, rest, so_far), [noted, frame]


class _Homing(State):
    """A state of homecoming: the stages left, and what is established so far."""

    __slots__ = ("left", "so_far")

    def __init__(self, job: Job, left: tuple[Stage, ...], so_far: Established) -> None:
        super().__init__(job)
        self.left = left
        self.so_far = so_far


class AwaitsRotationIn(_Homing):
    """A key of the orchestrator's own is ordered."""

    __slots__ = ("stage",)

    def __init__(self, job: Job, stage: Stage, left: tuple[Stage, ...], so_far: Established) -> None:
        super().__init__(job, left, so_far)
        self.stage = stage

    def on_link(self, sealed: bytes) -> Transition:
        """Take the acknowledgement, under the new key."""
        return self._rotated(sealed)

    def on_proceed(self) -> Transition:
        """Go on without an acknowledgement."""
        return self._rotated(None)

    def _rotated(self, sealed: bytes | None) -> Transition:
        rotated = facts.rotated(self.job.live, sealed, True, self.job.terms.defences)
        name = "rotated_late" if self.stage is Stage.ROTATE_LATE else "rotated_in"
        state, effects = _go_on(self.job, self.left, replace(self.so_far, rotated=rotated))
        return state, [Note(step(name, ORCHESTRATOR)), *effects]


class AwaitsFence(_Homing):
    """Resident contexts are to be stopped."""

    __slots__ = ("stage",)

    def __init__(self, job: Job, stage: Stage, left: tuple[Stage, ...], so_far: Established) -> None:
        super().__init__(job, left, so_far)
        self.stage = stage

    def on_link(self, sealed: bytes) -> Transition:
        """Take the acknowledgement, under the link key."""
        return self._fenced(sealed)

    def on_proceed(self) -> Transition:
        """Go on without an acknowledgement."""
        return self._fenced(None)

    def _fenced(self, sealed: bytes | None) -> Transition:
        fenced = facts.fenced(self.job.live, sealed, self.job.terms.defences)
        name = "fenced_early" if self.stage is Stage.FENCE_EARLY else "fenced"
        state, effects = _go_on(self.job, self.left, replace(self.so_far, fenced=fenced))
        return state, [Note(step(name, ORCHESTRATOR)), *effects]


class AwaitsReadBack(_Homing):
    """Code, model and receive counter are to be read back."""

    __slots__ = ()

    def on_link(self, sealed: bytes) -> Transition:
        """Compare them with what they should be."""
        job = self.job
        count = job.count if job.custody is Custody.RETURNED else None
        expected = Expected(sha384(TRAINING_CODE), sha384(job.progress.model), count)
        verified = facts.verified(job.live, sealed, expected, job.terms.defences)
        state, effects = _go_on(job, self.left, replace(self.so_far, verified=verified))
        return state, [Note(step("verified", ORCHESTRATOR)), *effects]


def _at_home(job: Job, so_far: Established) -> Transition:
    """Train on what a holder returned; scrub untrained what an evicted one left, or what was there at first."""
    if so_far.verified is None or so_far.fenced is None:
        raise ProtocolError("nothing is done at home before fence and check")
    if job.custody is not Custody.RETURNED:
        return _scrub(job)
    if so_far.rotated is None:
        raise ProtocolError("nothing is trained before the rotation at return")
    return _train(job, so_far.rotated, so_far.fenced, so_far.verified)


def _train(job: Job, rotated: KeyRotated, fenced: ContextsFenced, verified: MemoryVerified) -> Transition:
    for fact in (rotated, fenced, verified):
        facts.require(fact, job.live)
    slot, frame = job.order(Train())
    return AwaitsTraining(job), [Note(step("send_train", ORCHESTRATOR, v=slot)), frame]


class AwaitsTraining(State):
    """Training is under way."""

    __slots__ = ()

    def on_link(self, sealed: bytes) -> Transition:
        """Take the result; the model's digest is the one to check next time."""
        job = self.job
        reply = job.live.open(sealed)
        if not isinstance(reply, Trained):
            raise ProtocolError(f"expected the result of training, found {type(reply).__name__}")
        before = job.progress
        job.progress = replace(
            before,
            rounds=before.rounds + 1,
            losses=(*before.losses, reply.loss),
            provisioned=before.provisioned + job.returned_bytes,
            model=reply.model,
        )
        job.evictions = 0
        saved = Persist("trained", job.progress.encode())
        told = Remark(f"round {job.progress.rounds} of {job.terms.rounds}, {job.holder}: loss {reply.loss:.3f}")
        state, effects = _scrub(job)
        return state, [saved, Note(step("trained", ORCHESTRATOR)), told, *effects]


def _scrub(job: Job) -> Transition:
    slot, frame = job.order(Scrub())
    job.redo = lambda: _scrub(job)
    job.wait(job.terms.patience)
    return AwaitsScrub(job), [Note(step("send_scrub", ORCHESTRATOR, v=slot)), frame]


class AwaitsScrub(State):
    """Buffer and workspace are to be cleared."""

    __slots__ = ()

    def on_link(self, sealed: bytes) -> Transition:
        """Take the acknowledgement, under the link key."""
        return self._scrubbed(sealed)

    def on_semaphore(self, name: str) -> Transition:
        """Believe a plain semaphore, in a design that does."""
        if self.job.terms.defences.stands("scrub-ack") or name != Scrubbed.__name__:
            return self, []
        self.job.live.disregard(Scrubbed)
        return self._scrubbed(None)

    def _scrubbed(self, sealed: bytes | None) -> Transition:
        clean = facts.scrubbed(self.job.live, sealed, self.job.terms.defences)
        state, effects = lend(self.job, clean)
        return state, [Note(step("scrubbed", ORCHESTRATOR)), *effects]


def _route_back() -> Send:
    return Send(PLATFORM, Kind.ROUTE, ORCHESTRATOR.encode())
