"""Home: what the orchestrator does between a return and the next journey, one state for each answer it awaits.

The order of the steps is the defence. The link is rotated first, in both directions, so that whatever the last holder
still sends is dead; only then are contexts fenced, code is uploaded, and code and model are checked. All of it rests on
what the firmware reports inside the session; the model stays on the GPU, and comes home only where it is to be kept.
"""

from __future__ import annotations

from dataclasses import replace

from carnet_ref.crypto.primitives import sha384
from carnet_ref.device import TRAINING_CODE
from carnet_ref.marks import enforces
from carnet_ref.recorder import step
from carnet_ref.systems.gpu_travelling.device.commands import Logged, Model, Upload
from carnet_ref.systems.gpu_travelling.device.orders import Fence, ReadBack, Save, Scrub, Train
from carnet_ref.systems.gpu_travelling.enforcement import log_step
from carnet_ref.systems.gpu_travelling.names import ORCHESTRATOR, version_name
from carnet_ref.systems.gpu_travelling.roles import facts
from carnet_ref.systems.gpu_travelling.roles.books import Entry, Kept
from carnet_ref.systems.gpu_travelling.roles.custody import Lending, lent_epoch
from carnet_ref.systems.gpu_travelling.roles.facts import (
    BufferScrubbed,
    ContextsFenced,
    Expected,
    KeyRotated,
    MemoryVerified,
    VersionTrained,
)
from carnet_ref.systems.gpu_travelling.roles.inputs import LinkMessage, OwnTurn, Reported
from carnet_ref.systems.gpu_travelling.roles.job import Custody, Job
from carnet_ref.systems.gpu_travelling.roles.rationing import shortage
from carnet_ref.systems.gpu_travelling.roles.session_frames import inside
from carnet_ref.systems.gpu_travelling.roles.states import (
    AwaitsFence,
    AwaitsModel,
    AwaitsReadBack,
    AwaitsRotationIn,
    AwaitsScrub,
    AwaitsTraining,
    Back,
    Established,
    HomeStep,
    Transition,
)
from carnet_ref.transport.frames import PLATFORM, FrameKind, Persist, ProtocolError, Remark, Send


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
        ordered, frame = self.rotate(job, ORCHESTRATOR, step("rotate_in", ORCHESTRATOR))
        return AwaitsRotationIn(job, self.rotate_in, left, so_far), [ordered, route_back(), frame]

    def rotated_in(self, state: AwaitsRotationIn, event: Reported) -> Transition:
        """Take the firmware's report."""
        rotated = facts.rotated(state.job.live, event.sealed, self.checks)
        seen = log_step(step("rotated_in", ORCHESTRATOR))
        after, effects = self.go_on(state.job, state.left, replace(state.so_far, rotated=rotated))
        return after, [seen, *effects]

    @enforces("REQ-HOME-01", "fence")
    def fence(self, job: Job, left: tuple[HomeStep, ...], so_far: Established) -> Transition:
        """Have the GPU stop every resident context."""
        place, frame = job.order(Fence())
        state = AwaitsFence(job, self.fence, left, so_far)
        return state, [log_step(step("send_fence", ORCHESTRATOR, v=place.number), inside(frame)), frame]

    def fenced(self, state: AwaitsFence, event: Reported) -> Transition:
        """Take the firmware's report."""
        fenced = facts.fenced(state.job.live, event.sealed, self.checks)
        seen = log_step(step("fenced", ORCHESTRATOR))
        after, effects = self.go_on(state.job, state.left, replace(state.so_far, fenced=fenced))
        return after, [seen, *effects]

    @enforces("REQ-HOME-03", "REQ-TRAIN-03")
    def upload(self, job: Job, left: tuple[HomeStep, ...], so_far: Established) -> Transition:
        """Upload the code each time, and the model when there is none yet: after that it stays on the GPU."""
        model = job.kept.model if job.custody is Custody.NONE else b""
        slot, frame = job.load(Upload(TRAINING_CODE, model))
        due, told = job.live.next_slot, f"the counter value {slot} is not used up"
        self.checks.require("sender-iv-monotonic", "REQ-IV-01", due > slot, saw=(slot, due), otherwise=told)
        use, told = job.live.standing, "the link's key is used past its limit"
        self.checks.require("key-usage-limit", "REQ-KEY-07", use.within, saw=tuple(use), otherwise=told)
        loaded = log_step(step("upload", ORCHESTRATOR, v=slot), frame.body)
        state, effects = self.go_on(job, left, so_far)
        return state, [loaded, frame, *effects]

    def read_back(self, job: Job, left: tuple[HomeStep, ...], so_far: Established) -> Transition:
        """Ask the firmware for digests of code and model, and for the receive counter."""
        if job.lent is None:
            raise ProtocolError("there is no epoch to ask the counter of")
        place, frame = job.order(ReadBack(job.lent.epoch))
        state = AwaitsReadBack(job, self.read_back, left, so_far)
        return state, [log_step(step("send_read_back", ORCHESTRATOR, v=place.number), inside(frame)), frame]

    def verified(self, state: AwaitsReadBack, event: Reported) -> Transition:
        """Compare what the firmware found with what it should be."""
        job = state.job
        count = job.count if job.custody is Custody.RETURNED else None
        expected = Expected(sha384(TRAINING_CODE), job.progress.latest, count)
        verified = facts.verified(job.live, event.sealed, expected, self.checks)
        seen = log_step(step("verified", ORCHESTRATOR))
        after, effects = self.go_on(job, state.left, replace(state.so_far, verified=verified))
        return after, [seen, *effects]

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

    @enforces("REQ-MODEL-01")
    def train(self, job: Job, rotated: KeyRotated, fenced: ContextsFenced, verified: MemoryVerified) -> Transition:
        """Train on what was returned, once its key is dead, nothing else runs and memory is as it should be."""
        for fact in (rotated, fenced, verified):
            facts.require(fact, job.live)
        place, frame = job.order(Train())
        state = AwaitsTraining(job, Established(rotated, fenced, verified))
        return state, [log_step(step("send_train", ORCHESTRATOR, v=place.number), inside(frame)), frame]

    def logged(self, state: AwaitsTraining, event: LinkMessage) -> Transition:
        """Take down what training logged; it decides nothing."""
        reply = state.job.live.open(event.sealed)
        if not isinstance(reply, Logged):
            raise ProtocolError(f"expected what training logged, found {type(reply).__name__}")
        return replace(state, loss=reply.loss), []

    def trained(self, state: AwaitsTraining, event: Reported) -> Transition:
        """Take the version that training ended with as the latest, and enter it in the ledger."""
        version = facts.trained(state.job.live, event.sealed, self.checks)
        if state.loss is None:
            raise ProtocolError("training is over, and what it logged did not come")
        return self.enter(state.job, version, state.loss)

    @enforces("REQ-MODEL-02")
    def enter(self, job: Job, version: VersionTrained, loss: float) -> Transition:
        """Write the version down, and have it brought home if it is to be kept now."""
        facts.require(version, job.live)
        entry = Entry(job.holder, lent_epoch(job), job.progress.digest, version.digest.hex())
        progress = job.progress.further(loss, job.returned_bytes, version.digest)
        forward = progress.rounds > job.furthest
        job = replace(
            job,
            progress=progress,
            books=job.books.entered(entry),
            evictions=0 if forward else job.evictions,
            furthest=max(progress.rounds, job.furthest),
        )
        named = version_name(version.digest, job.live.name(job.live.keys))
        seen = log_step(step("trained", ORCHESTRATOR, n=named))
        told = Remark(f"round {progress.rounds} of {job.terms.rounds}, {job.holder}: loss {loss:.3f}")
        after, effects = self.save(job) if is_to_be_kept(job) else self.scrub(job)
        return after, [Persist("ledger", entry.encode()), seen, told, *effects]

    @enforces("REQ-TRAIN-03")
    def save(self, job: Job) -> Transition:
        """Have the model brought home."""
        place, frame = job.order(Save())
        state = AwaitsModel(job.waiting(job.terms.patience))
        return state, [log_step(step("send_save", ORCHESTRATOR, v=place.number), inside(frame)), frame]

    def model_came(self, state: AwaitsModel, event: LinkMessage) -> Transition:
        """Take the model that came, without believing in it yet."""
        reply = state.job.live.open(event.sealed)
        if not isinstance(reply, Model):
            raise ProtocolError(f"expected the model, found {type(reply).__name__}")
        return replace(state, model=reply.model), []

    def saved(self, state: AwaitsModel, event: Reported) -> Transition:
        """Keep the model if it is the version last produced."""
        job, model = state.job, state.model
        if model is None:
            raise ProtocolError("the model went home, and did not come")
        version = facts.saved(job.live, event.sealed, model, job.progress.latest, self.checks)
        facts.require(version, job.live)
        kept = Kept(job.progress, model, job.books.returns)
        seen = log_step(step("saved", ORCHESTRATOR))
        after, effects = self.scrub(replace(job, kept=kept, books=job.books.secured()))
        return after, [Persist("saved", kept.encode()), seen, *effects]

    @enforces("REQ-SCRUB-01")
    def scrub(self, job: Job) -> Transition:
        """Have the GPU clear the buffer, and everything that was derived from it."""
        place, frame = job.order(Scrub())
        sent = log_step(step("send_scrub", ORCHESTRATOR, v=place.number), inside(frame))
        return AwaitsScrub(job.waiting(job.terms.patience)), [sent, frame]

    def scrubbed(self, state: AwaitsScrub, event: Reported) -> Transition:
        """Take the firmware's report."""
        return self.go_clean(state.job, facts.scrubbed(state.job.live, event.sealed, self.checks))

    def go_clean(self, job: Job, clean: BufferScrubbed) -> Transition:
        """Lend the GPU on."""
        seen = log_step(step("scrubbed", ORCHESTRATOR))
        state, effects = self.lend(job, clean)
        return state, [seen, *effects]


def is_to_be_kept(job: Job) -> bool:
    """Whether the model comes home now: after the last round, as often as asked for, and before a new session."""
    done, terms = job.progress.rounds, job.terms
    if done == terms.rounds or terms.schedule == "reset":
        return True
    asked_for = terms.save_every > 0 and done % terms.save_every == 0
    return asked_for or job.evidence_is_due or bool(shortage(job, job.next_holder))


def route_back() -> Send:
    """Return the request to route the GPU back to the orchestrator."""
    return Send(PLATFORM, FrameKind.ROUTE, ORCHESTRATOR.encode("utf-8"))
