"""Home: what the orchestrator does between a return and the next journey, one state for each answer it awaits.

The order of the steps is the defence. The link is rotated first, in both directions, so that whatever the last holder
still sends or forges is dead; only then are contexts fenced, and code and model uploaded and checked.
"""

from __future__ import annotations

from dataclasses import replace

from carnet_ref.crypto.primitives import sha384
from carnet_ref.device.programs import TRAINING_CODE
from carnet_ref.recorder import step
from carnet_ref.systems.gpu_travelling.device.commands import Fence, ReadBack, Scrub, Train, Trained, Upload
from carnet_ref.systems.gpu_travelling.enforcement import enforces
from carnet_ref.systems.gpu_travelling.names import ORCHESTRATOR
from carnet_ref.systems.gpu_travelling.roles import facts
from carnet_ref.systems.gpu_travelling.roles.custody import Lending
from carnet_ref.systems.gpu_travelling.roles.facts import (
    BufferScrubbed,
    ContextsFenced,
    Expected,
    KeyRotated,
    MemoryVerified,
)
from carnet_ref.systems.gpu_travelling.roles.inputs import LinkMessage, OwnTurn
from carnet_ref.systems.gpu_travelling.roles.job import Custody, Job, Progress
from carnet_ref.systems.gpu_travelling.roles.states import (
    AwaitsFence,
    AwaitsReadBack,
    AwaitsRotationIn,
    AwaitsScrub,
    AwaitsTraining,
    Back,
    Established,
    HomeStep,
    Transition,
)
from carnet_ref.transport.frames import PLATFORM, FrameKind, Note, Persist, ProtocolError, Remark, Send


class Returning(Lending):
    """The steps from a GPU that is back to one that is clean."""

    def begin_home(self, state: Back, event: OwnTurn) -> Transition:
        """Begin with the first step on the way home."""
        return self.go_on(state.job, self.steps_home(first=False), Established())

    def begin_at_home(self, job: Job) -> Transition:
        """Begin in a new session: nobody had the GPU, so there is nothing to rotate away from."""
        return self.go_on(job, self.steps_home(first=True), Established())

    @enforces("REQ-KEY-06", "rotation-in", "rotation-before-check", "rotation-before-fence")
    def steps_home(self, first: bool) -> tuple[HomeStep, ...]:
        """Return the steps in order; the rotation comes before everything else."""
        at_home: tuple[HomeStep, ...] = (self.fence, self.upload, self.read_back)
        return at_home if first else (self.rotate_in, *at_home)

    def go_on(self, job: Job, left: tuple[HomeStep, ...], so_far: Established) -> Transition:
        """Take the first of the steps left; after the last, train or scrub."""
        job = job.waiting(job.terms.patience)
        if not left:
            return self.at_home(job, so_far)
        return left[0](job, left[1:], so_far)

    # -- steps ------------------------------------------------------------------------------------

    def rotate_in(self, job: Job, left: tuple[HomeStep, ...], so_far: Established) -> Transition:
        """Give the link a key of the orchestrator's own, in both directions."""
        order = job.live.draw(ORCHESTRATOR, job.tools.random)
        noted = Note(step("rotate_in", ORCHESTRATOR, k=job.live.pending_name))
        state = AwaitsRotationIn(job, self.rotate_in, left, so_far)
        return state, [noted, route_back(), job.command(order)]

    def rotated_in(self, state: AwaitsRotationIn, event: LinkMessage) -> Transition:
        """Take the acknowledgement, under the new key."""
        rotated = facts.rotated(state.job.live, event.sealed, self.checks)
        after, effects = self.go_on(state.job, state.left, replace(state.so_far, rotated=rotated))
        return after, [Note(step("rotated_in", ORCHESTRATOR)), *effects]

    @enforces("REQ-HOME-01", "fence")
    def fence(self, job: Job, left: tuple[HomeStep, ...], so_far: Established) -> Transition:
        """Have the GPU stop every resident context."""
        slot, frame = job.order(Fence())
        state = AwaitsFence(job, self.fence, left, so_far)
        return state, [Note(step("send_fence", ORCHESTRATOR, v=slot)), frame]

    def fenced(self, state: AwaitsFence, event: LinkMessage) -> Transition:
        """Take the acknowledgement, under the link key."""
        fenced = facts.fenced(state.job.live, event.sealed, self.checks)
        after, effects = self.go_on(state.job, state.left, replace(state.so_far, fenced=fenced))
        return after, [Note(step("fenced", ORCHESTRATOR)), *effects]

    @enforces("REQ-HOME-03")
    def upload(self, job: Job, left: tuple[HomeStep, ...], so_far: Established) -> Transition:
        """Upload the code again, and the model, whatever is there."""
        slot, frame = job.order(Upload(TRAINING_CODE, job.progress.model))
        state, effects = self.go_on(job, left, so_far)
        return state, [Note(step("upload", ORCHESTRATOR, v=slot)), frame, *effects]

    def read_back(self, job: Job, left: tuple[HomeStep, ...], so_far: Established) -> Transition:
        """Ask the copy engine for code, model and receive counter."""
        if job.lent is None:
            raise ProtocolError("there is no epoch to ask the counter of")
        slot, frame = job.order(ReadBack(job.lent.epoch))
        state = AwaitsReadBack(job, self.read_back, left, so_far)
        return state, [Note(step("send_read_back", ORCHESTRATOR, v=slot)), frame]

    def verified(self, state: AwaitsReadBack, event: LinkMessage) -> Transition:
        """Compare what was read back with what it should be."""
        job = state.job
        count = job.count if job.custody is Custody.RETURNED else None
        expected = Expected(sha384(TRAINING_CODE), sha384(job.progress.model), count)
        verified = facts.verified(job.live, event.sealed, expected, self.checks)
        after, effects = self.go_on(job, state.left, replace(state.so_far, verified=verified))
        return after, [Note(step("verified", ORCHESTRATOR)), *effects]

    # -- at home -----------------------------------------------------------------------------------

    @enforces("REQ-TRAIN-01")
    def at_home(self, job: Job, so_far: Established) -> Transition:
        """Train on what a holder returned; scrub untrained what an evicted one left, or what was there at first."""
        if so_far.verified is None or so_far.fenced is None:
            raise ProtocolError("nothing is done at home before fence and check")
        if job.custody is not Custody.RETURNED:
            return self.scrub(job)
        if so_far.rotated is None:
            raise ProtocolError("nothing is trained before the rotation at return")
        return self.train(job, so_far.rotated, so_far.fenced, so_far.verified)

    def train(self, job: Job, rotated: KeyRotated, fenced: ContextsFenced, verified: MemoryVerified) -> Transition:
        """Train on what was returned, once its key is dead, nothing else runs and memory is as it should be."""
        for fact in (rotated, fenced, verified):
            facts.require(fact, job.live)
        slot, frame = job.order(Train())
        state = AwaitsTraining(job, Established(rotated, fenced, verified))
        return state, [Note(step("send_train", ORCHESTRATOR, v=slot)), frame]

    def trained(self, state: AwaitsTraining, event: LinkMessage) -> Transition:
        """Take the result; the model's digest is the one to check next time."""
        reply = state.job.live.open(event.sealed)
        if not isinstance(reply, Trained):
            raise ProtocolError(f"expected the result of training, found {type(reply).__name__}")
        job = replace(state.job, progress=_further(state.job, reply), evictions=0)
        saved = Persist("trained", job.progress.encode())
        told = Remark(f"round {job.progress.rounds} of {job.terms.rounds}, {job.holder}: loss {reply.loss:.3f}")
        after, effects = self.scrub(job)
        return after, [saved, Note(step("trained", ORCHESTRATOR)), told, *effects]

    @enforces("REQ-SCRUB-01")
    def scrub(self, job: Job) -> Transition:
        """Have the GPU clear the buffer, and everything that was derived from it."""
        slot, frame = job.order(Scrub())
        return AwaitsScrub(job.waiting(job.terms.patience)), [Note(step("send_scrub", ORCHESTRATOR, v=slot)), frame]

    def scrubbed(self, state: AwaitsScrub, event: LinkMessage) -> Transition:
        """Take the acknowledgement, under the link key."""
        return self.go_clean(state.job, facts.scrubbed(state.job.live, event.sealed, self.checks))

    def go_clean(self, job: Job, clean: BufferScrubbed) -> Transition:
        """Lend the GPU on."""
        state, effects = self.lend(job, clean)
        return state, [Note(step("scrubbed", ORCHESTRATOR)), *effects]


def route_back() -> Send:
    """Return the request to route the GPU back to the orchestrator."""
    return Send(PLATFORM, FrameKind.ROUTE, ORCHESTRATOR.encode("utf-8"))


def _further(job: Job, reply: Trained) -> Progress:
    """Return the progress after one more round."""
    before = job.progress
    return replace(
        before,
        rounds=before.rounds + 1,
        losses=(*before.losses, reply.loss),
        provisioned=before.provisioned + job.returned_bytes,
        model=reply.model,
    )
