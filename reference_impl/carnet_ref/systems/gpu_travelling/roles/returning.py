"""The steps at home: from a return to the next hand-over, with a state for each awaited answer.

The order of the steps is the defence. The link is rotated first, in both directions, so that whatever the last holder
still sends is dead; only then are contexts fenced, code is uploaded, and code and model are checked. All of it rests on
what the firmware reports inside the session; the model stays on the GPU, and comes home only where it is to be kept.
"""

from dataclasses import replace

from carnet_ref.crypto.primitives import sha384
from carnet_ref.device import TRAINING_CODE
from carnet_ref.marks import enforces
from carnet_ref.recorder import step
from carnet_ref.systems.gpu_travelling.enforcement import log_step
from carnet_ref.systems.gpu_travelling.names import MODEL, ORCHESTRATOR, version_name
from carnet_ref.systems.gpu_travelling.orders import Fence, Logged, Model, Order, ReadBack, Save, Scrub, Train, Upload
from carnet_ref.systems.gpu_travelling.roles import facts, states
from carnet_ref.systems.gpu_travelling.roles.custody import Lending, attested_step, lent_epoch, shortage
from carnet_ref.systems.gpu_travelling.roles.job import Checkpoint, Custody, Entry, Job
from carnet_ref.systems.gpu_travelling.roles.messages import inside
from carnet_ref.transport.frames import PLATFORM, FrameKind, Persist, ProtocolError, Remark, RoleEffect, Send


class Returning(Lending):
    """The orchestrator's steps from a returned GPU to a clean one."""

    def begin_home(self, state: states.Back, event: states.OwnTurn) -> states.Transition:
        """Begin the steps after a return."""
        return self.go_on(state.job, self.steps_home(first=False), states.Established())

    def begin_at_home(self, job: Job) -> states.Transition:
        """Begin in a new session: no holder had the GPU, so no rotation is needed."""
        return self.go_on(job, self.steps_home(first=True), states.Established())

    @enforces("REQ-KEY-06", "rotation-in", "rotation-before-check", "rotation-before-fence")
    def steps_home(self, first: bool) -> tuple[states.HomeStep, ...]:
        """Return the steps in order; the rotation is first."""
        at_home: tuple[states.HomeStep, ...] = (self.fence, self.upload, self.read_back)
        return at_home if first else (self.rotate_in, *at_home)

    def go_on(self, job: Job, left: tuple[states.HomeStep, ...], so_far: states.Established) -> states.Transition:
        """Take the first of the remaining steps; after the last, train or scrub."""
        job = job.waiting(job.terms.patience)
        if not left:
            return self.at_home(job, so_far)
        return left[0](job, left[1:], so_far)

    # -- steps ------------------------------------------------------------------------------------

    def rotate_in(self, job: Job, left: tuple[states.HomeStep, ...], so_far: states.Established) -> states.Transition:
        """Order a key of the orchestrator's for both directions of the link."""
        ordered, frame = self.rotate(job, ORCHESTRATOR, step("rotate_in", ORCHESTRATOR))
        return states.AwaitsRotationIn(job, self.rotate_in, left, so_far), [ordered, route_back(), frame]

    def rotated_in(self, state: states.AwaitsRotationIn, event: states.Reported) -> states.Transition:
        """Handle the firmware's report about the rotation."""
        rotated = facts.establish_rotation(state.job.live, event.sealed, self.checks)
        seen = log_step(step("rotated_in", ORCHESTRATOR))
        after, effects = self.go_on(state.job, state.left, replace(state.so_far, rotated=rotated))
        return after, [seen, *effects]

    @enforces("REQ-HOME-01", "fence")
    def fence(self, job: Job, left: tuple[states.HomeStep, ...], so_far: states.Established) -> states.Transition:
        """Order the GPU to stop every resident context."""
        return states.AwaitsFence(job, self.fence, left, so_far), give_order(job, Fence(), "send_fence")

    def fenced(self, state: states.AwaitsFence, event: states.Reported) -> states.Transition:
        """Handle the firmware's report about the fence."""
        fenced = facts.establish_fence(state.job.live, event.sealed, self.checks)
        seen = log_step(step("fenced", ORCHESTRATOR))
        after, effects = self.go_on(state.job, state.left, replace(state.so_far, fenced=fenced))
        return after, [seen, *effects]

    @enforces("REQ-HOME-03", "REQ-TRAIN-03")
    def upload(self, job: Job, left: tuple[states.HomeStep, ...], so_far: states.Established) -> states.Transition:
        """Upload the code and, if the GPU has no model yet, the model."""
        model = job.kept.model if job.custody is Custody.NONE else b""
        slot, frame = job.load(Upload(TRAINING_CODE, model))
        due, told = job.live.next_slot, f"the counter value {slot} is not used up"
        self.checks.require("sender-iv-monotonic", "REQ-IV-01", due > slot, saw=(slot, due), otherwise=told)
        use, told = job.live.summary, "the link's key is used past its limit"
        self.checks.require("key-usage-limit", "REQ-KEY-07", use.within, saw=tuple(use), otherwise=told)
        loaded = log_step(step("upload", ORCHESTRATOR, v=slot), frame.body)
        state, effects = self.go_on(job, left, so_far)
        return state, [loaded, frame, *effects]

    def read_back(self, job: Job, left: tuple[states.HomeStep, ...], so_far: states.Established) -> states.Transition:
        """Ask the firmware for digests of code and model, and for the receive counter."""
        if job.lent is None:
            raise ProtocolError("there is no epoch to ask the counter of")
        effects = give_order(job, ReadBack(job.lent.epoch), "send_read_back")
        return states.AwaitsReadBack(job, self.read_back, left, so_far), effects

    def verified(self, state: states.AwaitsReadBack, event: states.Reported) -> states.Transition:
        """Compare the firmware's report with the expected memory."""
        job = state.job
        count = job.count if job.custody is Custody.RETURNED else None
        expected = facts.Expected(sha384(TRAINING_CODE), job.progress.latest, count)
        verified = facts.establish_memory(job.live, event.sealed, expected, self.checks)
        seen = log_step(step("verified", ORCHESTRATOR))
        after, effects = self.go_on(job, state.left, replace(state.so_far, verified=verified))
        return after, [seen, *effects]

    # -- at home -----------------------------------------------------------------------------------

    @enforces("REQ-TRAIN-01")
    def at_home(self, job: Job, so_far: states.Established) -> states.Transition:
        """Train on returned data; scrub without training after an eviction, or at first."""
        if so_far.verified is None or so_far.fenced is None:
            raise ProtocolError("nothing is done at home before fence and check")
        if job.custody is not Custody.RETURNED:
            return self.scrub(job)
        if so_far.rotated is None:
            raise ProtocolError("nothing is trained before the rotation at return")
        return self.train(job, so_far.rotated, so_far.fenced, so_far.verified)

    @enforces("REQ-MODEL-01")
    def train(
        self, job: Job, rotated: facts.KeyRotated, fenced: facts.ContextsFenced, verified: facts.MemoryVerified
    ) -> states.Transition:
        """Order training, after the holder's key is dead, contexts are fenced and memory is verified."""
        for fact in (rotated, fenced, verified):
            facts.require(fact, job.live)
        state = states.AwaitsTraining(job, states.Established(rotated, fenced, verified))
        return state, give_order(job, Train(), "send_train")

    def logged(self, state: states.AwaitsTraining, event: states.LinkMessage) -> states.Transition:
        """Store the loss that training sent over the link; no decision depends on it."""
        reply = state.job.live.open(event.sealed)
        if not isinstance(reply, Logged):
            raise ProtocolError(f"expected what training logged, found {type(reply).__name__}")
        return replace(state, loss=reply.loss), []

    def trained(self, state: states.AwaitsTraining, event: states.Reported) -> states.Transition:
        """Record the version that training produced as the latest, in the ledger, too."""
        version = facts.establish_version(state.job.live, event.sealed, self.checks)
        if state.loss is None:
            raise ProtocolError("training is over, and what it logged did not come")
        return self.enter(state.job, version, state.loss)

    @enforces("REQ-MODEL-02")
    def enter(self, job: Job, version: facts.VersionTrained, loss: float) -> states.Transition:
        """Write the version to the journal, and have it saved if that is due."""
        facts.require(version, job.live)
        entry = Entry(job.holder, lent_epoch(job), job.progress.digest, version.digest.hex())
        progress = job.progress.further(loss, job.returned_bytes, version.digest)
        forward = progress.rounds > job.furthest
        job = replace(
            job,
            progress=progress,
            books=job.books.with_entry(entry),
            evictions=0 if forward else job.evictions,
            furthest=max(progress.rounds, job.furthest),
        )
        named = version_name(version.digest, job.live.name(job.live.keys))
        seen = log_step(step("trained", ORCHESTRATOR, n=named))
        told = Remark(f"round {progress.rounds} of {job.terms.rounds}, {job.holder}: loss {loss:.3f}")
        after, effects = self.save(job) if is_to_be_kept(job) else self.scrub(job)
        return after, [Persist("ledger", entry.encode()), seen, told, *effects]

    @enforces("REQ-TRAIN-03")
    def save(self, job: Job) -> states.Transition:
        """Order the model home."""
        return states.AwaitsModel(job.waiting(job.terms.patience)), give_order(job, Save(), "send_save")

    def model_came(self, state: states.AwaitsModel, event: states.LinkMessage) -> states.Transition:
        """Store the model that came over the link, unverified."""
        reply = state.job.live.open(event.sealed)
        if not isinstance(reply, Model):
            raise ProtocolError(f"expected the model, found {type(reply).__name__}")
        return replace(state, model=reply.model), []

    def saved(self, state: states.AwaitsModel, event: states.Reported) -> states.Transition:
        """Save the model, if it is the last produced version."""
        job, model = state.job, state.model
        if model is None:
            raise ProtocolError("the model went home, and did not come")
        version = facts.establish_saved_version(job.live, event.sealed, model, job.progress.latest, self.checks)
        facts.require(version, job.live)
        kept = Checkpoint(job.progress, model, job.books.returns)
        seen = log_step(step("saved", ORCHESTRATOR))
        after, effects = self.scrub(replace(job, kept=kept, books=job.books.after_checkpoint()))
        done = attested_step(job, "save", ((MODEL, job.progress.latest),), (MODEL, sha384(model)))
        return after, [Persist("saved", kept.encode()), seen, done, *effects]

    @enforces("REQ-SCRUB-01")
    def scrub(self, job: Job) -> states.Transition:
        """Order the GPU to clear the buffer and all derived data."""
        return states.AwaitsScrub(job.waiting(job.terms.patience)), give_order(job, Scrub(), "send_scrub")

    def scrubbed(self, state: states.AwaitsScrub, event: states.Reported) -> states.Transition:
        """Handle the firmware's report about the scrub."""
        return self.go_clean(state.job, facts.establish_scrub(state.job.live, event.sealed, self.checks))

    def go_clean(self, job: Job, clean: facts.BufferScrubbed) -> states.Transition:
        """Continue with the next hand-over."""
        seen = log_step(step("scrubbed", ORCHESTRATOR))
        state, effects = self.lend(job, clean)
        return state, [seen, *effects]


def give_order(job: Job, order: Order, action: str) -> list[RoleEffect]:
    """Give an order to the firmware, and record it as ``action``."""
    place, frame = job.order(order)
    return [log_step(step(action, ORCHESTRATOR, v=place.number), inside(frame)), frame]


def is_to_be_kept(job: Job) -> bool:
    """Whether the model comes home now: after the last round, every ``save_every`` rounds, and before a new session."""
    done, terms = job.progress.rounds, job.terms
    if done == terms.rounds or terms.schedule == "reset":
        return True
    asked_for = terms.save_every > 0 and done % terms.save_every == 0
    return asked_for or job.evidence_is_due or bool(shortage(job, job.next_holder))


def route_back() -> Send:
    """Return the request to route the GPU back to the orchestrator."""
    return Send(PLATFORM, FrameKind.ROUTE, ORCHESTRATOR.encode("utf-8"))
