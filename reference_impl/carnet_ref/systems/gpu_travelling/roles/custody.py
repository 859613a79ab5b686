"""Custody steps: the GPU is lent to one holder, and comes back by return or by eviction.

Before it travels, while it is clean, the orchestrator looks whether the session's keys have room for a hand-over; after
training it looks again, and where there is no room for another hand-over, the model comes home first. A key that is due
to rotate, or has no room for what is to come, is not used for another hand-over. Where a rotation makes new keys there
is nothing to do; where it goes back to the same ones, only a new session has others. A hand-over that does not fit
under new keys fits under none.
"""

from abc import ABC, abstractmethod
from dataclasses import replace
from typing import Final

from carnet_ref.crypto.primitives import CryptoError, sha384
from carnet_ref.device import BASE, TRAINING_CODE, Region
from carnet_ref.keys import Budget, Direction, KeysError, KeyUsage, UsageState
from carnet_ref.marks import enforces
from carnet_ref.recorder import step
from carnet_ref.systems.gpu_travelling.enforcement import Checks, ReceivedMessage, log_step
from carnet_ref.systems.gpu_travelling.names import GIVEN_GRANT, MODEL, ORCHESTRATOR, REMAINS, address_name
from carnet_ref.systems.gpu_travelling.orders import Logged, Model, Upload, size_of
from carnet_ref.systems.gpu_travelling.roles import facts, states
from carnet_ref.systems.gpu_travelling.roles.facts import BufferScrubbed, GpuAttested, HolderEnrolled, KeyRotated
from carnet_ref.systems.gpu_travelling.roles.job import Custody, Job
from carnet_ref.systems.gpu_travelling.roles.links import least_usage
from carnet_ref.systems.gpu_travelling.roles.messages import (
    Decline,
    Grant,
    Return,
    encode_message,
    grant_digest,
    inside,
)
from carnet_ref.transport import frames
from carnet_spec.trace import TraceStep

_ANY_CHUNK = Budget.of([0])  #: What a turn takes of a holder's key at least: one chunk.
#: What a hand-over takes of each of the session's own keys at most: that many orders, or reports on them.
ORDERS: Final = Budget.of([256] * 8)


def at_home(model: int) -> dict[Direction, Budget]:
    """Return the part of the orchestrator's key budgets that one return needs, if the model goes home."""
    uploads, replies = [size_of(Upload(TRAINING_CODE, b""))], [size_of(Logged(0.0)), size_of(Model(b"")) + model]
    return {Direction.H2D: Budget.of(uploads), Direction.D2H: Budget.of(replies)}


def shortage(job: Job, holder: str) -> str:
    """Return why the next hand-over to ``holder`` needs other keys than this session's; empty if it does not."""
    away = {Direction.H2D: job.needs.get(holder, _ANY_CHUNK), Direction.D2H: Budget()}
    uses = [
        (owner, way, job.live.usage(owner, way), needs[way])
        for owner, needs in ((holder, away), (ORCHESTRATOR, at_home(len(job.kept.model))))
        for way in Direction
    ]
    for owner, way, usage, needs in uses:
        if short := _short(job, usage, needs):
            return f"{owner}'s {way.value} key {short}"
    for what, usage in job.live.own_usage.items():
        if short := _short(job, usage, ORDERS):
            return f"the session's key for {what} {short}"
    return ""


def _short(job: Job, usage: KeyUsage, needs: Budget) -> str:
    """Say what a key lacks; in a session that was never lent, a key that is due is used up to its limit."""
    left = usage.left
    if needs.messages > left.messages:
        return f"has {left.messages:,} messages left, and {needs.messages:,} are needed"
    if needs.units > left.units:
        return f"has {left.units:,} work units left, and {needs.units:,} are needed"
    return "is due to rotate" if usage.state is UsageState.ROTATION_DUE and job.lendings else ""


ALL_CHECKS: Final = Checks()


class Lending(ABC):
    """The orchestrator's steps from a clean GPU to the end of a holder's custody."""

    def __init__(self, checks: Checks = ALL_CHECKS) -> None:
        self.checks = checks

    # -- on the way out ----------------------------------------------------------------------------

    @enforces("REQ-KEY-03")
    def lend(self, job: Job, clean: BufferScrubbed) -> states.Transition:
        """Lend the clean GPU to the next holder, in a new session if necessary; end the job after its last round."""
        facts.require(clean, job.live)
        attested = job.attested
        if attested is None:
            raise frames.ProtocolError("the GPU was never attested")
        if job.progress.rounds == job.terms.rounds:
            return states.Finished(job), [frames.Ended()]
        if job.terms.schedule == "reset" and job.lendings:
            return self.renew(job, for_journey=True)
        job = replace(job, holder=job.next_holder)
        ageing = job.evidence_is_old or (job.evidence_is_due and not job.books.unsecured)
        saw = job.evidence_age, job.evidence_lasts
        if not self.checks.passes("attestation-age", "REQ-SETUP-13", not ageing, saw=saw):
            return self.renew_for(job, job.age_of_evidence)
        if short := shortage(job, job.holder):
            return self.renew_for(job, short) if job.lendings else end_at_key_limit(job, short)
        if job.admission.enrolment(job.holder) is None:
            return states.AwaitsHolder(job.waiting(job.terms.lease), clean), [
                frames.Remark(f"waiting for {job.holder}")
            ]
        return self.order_rotation(job, attested)

    @abstractmethod
    def renew(self, job: Job, for_journey: bool) -> states.Transition:
        """Reset the GPU and open a new session, although nothing failed."""

    def renew_for(self, job: Job, why: str) -> states.Transition:
        """Renew the session, whose keys are then fresh, and report ``why``."""
        state, effects = self.renew(job, for_journey=False)
        return state, [frames.Remark(f"session renewed: {why}"), *effects]

    def holder_came(self, state: states.AwaitsHolder, event: states.Admitted) -> states.Transition:
        """Lend the GPU, if the admitted holder is the awaited one."""
        return self.lend(state.job, state.clean) if event.holder == state.job.holder else (state, [])

    @enforces("REQ-KEY-02", "rotation-out")
    def order_rotation(self, job: Job, attested: GpuAttested) -> states.Transition:
        """Order the key of the next holder's epoch, before the GPU leaves."""
        job, intent = self.set_out(job, attested)
        effects = self.rotate(job, job.holder, step("rotate_out", ORCHESTRATOR, a=job.holder), now=job.now)
        return states.AwaitsRotationOut(job), [intent, *effects]

    @enforces("REQ-IV-04", "channel-counter")
    def rotate(self, job: Job, owner: str, action: TraceStep, **at: float) -> list[frames.RoleEffect]:
        """Order a key of ``owner`` in a new channel, and record it as ``action`` at the instants ``at``."""
        live, due = job.live, job.live.channel_due(owner)
        order = live.draw(owner, job.tools.random)
        channel, told = live.pending_channel, f"channel {live.pending_channel} is not the next one, which is {due}"
        self.checks.require("channel-counter", "REQ-IV-04", channel == due, saw=(channel, due), otherwise=told)
        _, frame = job.order(order)
        taken = step(action.action, action.by, **action.env, k=live.pending_name, c=channel)
        return [log_step(taken, inside(frame), **at), frame]

    def set_out(self, job: Job, attested: GpuAttested) -> tuple[Job, frames.Persist]:
        """Check the age of the GPU's evidence, and record whose turn it is in the journal."""
        facts.require(attested, job.live)
        self.look_at_age(job)
        intent = frames.Persist("custody", f"{job.progress.rounds} {job.holder}".encode())
        return replace(job, lendings=job.lendings + 1).waiting(job.terms.patience), intent

    def look_at_age(self, job: Job) -> None:
        """Raise ProtocolError if the GPU's evidence is too old to be used."""
        saw, told = (job.evidence_age, job.evidence_lasts), job.age_of_evidence
        self.checks.require("attestation-age", "REQ-SETUP-13", not job.evidence_is_old, saw=saw, otherwise=told)

    def rotated_out(self, state: states.AwaitsRotationOut, event: states.Reported) -> states.Transition:
        """Handle the firmware's report about the rotation."""
        rotated = facts.establish_rotation(state.job.live, event.sealed, self.checks)
        return self.go_out(state.job, rotated)

    def go_out(self, job: Job, rotated: KeyRotated) -> states.Transition:
        """Grant the key of the completed rotation."""
        seen = log_step(step("rotated_out", ORCHESTRATOR))
        state, effects = self.grant(job, rotated)
        return state, [seen, *effects]

    def grant(self, job: Job, rotated: KeyRotated) -> states.Transition:
        """Lend the encrypt half, the IV start and the buffer address to the one holder whose key it is.

        This is where the GPU's evidence is used, however fresh it was when it was appraised; no lease outlasts it.
        Raises ProtocolError if the evidence is too old, or the holder is not admitted any more.
        """
        facts.require(rotated, job.live)
        self.look_at_age(job)
        addressee = self.addressee(job)
        enrolled = job.admission.enrolment(addressee)
        if enrolled is None:
            raise frames.ProtocolError(f"{addressee} left before the grant")
        whole = job.lendings == 1 or not job.live.usage(job.holder, Direction.H2D).operations
        said = self.make_grant(job, enrolled, self.first_slot(job), job.live.lend())
        job = replace(job, lent=job.live.keys, deadline=self.lease_end(job))
        taken = step("grant", ORCHESTRATOR, a=addressee, p=addressee, v=said.start, b=address_name(said.address))
        epoch, reads = lent_epoch(job), ((MODEL, job.progress.latest), (REMAINS, sha384(b"")))
        return states.AwaitsReturn(job, whole), [
            frames.Persist("grant", epoch.encode()),
            log_step(taken, encode_message(said), now=job.now, end=job.deadline),
            attested_step(job, "grant", reads, (GIVEN_GRANT, grant_digest(epoch, addressee))),
            frames.Send(frames.PLATFORM, frames.FrameKind.ROUTE, addressee.encode()),
            job.admission.send(addressee, said),
        ]

    def lease_end(self, job: Job) -> float:
        """Return the end of the holder's lease, which is not after the end of the GPU's evidence.

        Raises ProtocolError if the lease outlasts the evidence.
        """
        ends, too_old = self.cut_short(job), job.evidence_end
        told = f"the lease ends {ends - too_old:.0f} seconds after the GPU's evidence is too old"
        self.checks.require("attestation-age", "REQ-SETUP-13", ends <= too_old, saw=(ends, too_old), otherwise=told)
        return ends

    def cut_short(self, job: Job) -> float:
        """Return the end of a usual lease, or the end of the GPU's evidence if that is earlier."""
        return min(job.now + job.terms.lease, job.evidence_end)

    @enforces("REQ-GRANT-01", "grant-addressee")
    def addressee(self, job: Job) -> str:
        """Return the holder who gets the grant: the owner of the link's key."""
        return job.holder

    @enforces("REQ-GRANT-02", "count-handover")
    def first_slot(self, job: Job) -> int:
        """Return the first counter value for the holder, which was never used."""
        return job.live.next_slot

    @enforces("REQ-GRANT-03", "h2d-half-only", "launch-key-kept")
    @enforces("address-in-grant")
    def make_grant(self, job: Job, enrolled: HolderEnrolled, start: int, budget: Budget) -> Grant:
        """Return the grant: the host-to-device key only, without the other key and the launch key."""
        told, keys = f"{enrolled!r} is not about {job.holder}", job.live.keys
        same, both = enrolled.holder == job.holder, (enrolled.holder, job.holder)
        self.checks.require("grant-addressee", "REQ-GRANT-01", same, saw=both, otherwise=told)
        due, told = job.live.next_slot, f"counting from {start} is not from {job.live.next_slot}, the next value"
        self.checks.require("count-handover", "REQ-GRANT-02", start == due, saw=(start, due), otherwise=told)
        return Grant(
            round=job.progress.rounds,
            session=job.live.session,
            epoch=keys.epoch,
            engine=keys.engine,
            channel=keys.channel,
            start=start,
            address=BASE[Region.BUFFER],
            budget=budget,
            h2d=keys.h2d,
            mask=keys.h2d_mask,
        )

    # -- on the way back ---------------------------------------------------------------------------

    def take_back(self, state: states.AwaitsReturn, event: states.Returned) -> states.Transition:
        """Accept the return of the GPU, and learn which counter values are used."""
        job, given = state.job, event.given
        due = is_due(job, event.holder, given)
        came = ReceivedMessage(event.holder, encode_message(given))
        if not self.checks.passes("return-authenticated", "REQ-RETURN-02", due, saw=came):
            return state, [frames.Remark(event.left_aside)]
        if not self.in_time(job):
            return self.evict(job, "the return came after the lease")
        messages = given.count - job.live.next_slot
        try:
            self.learn_count(job, given)
        except (CryptoError, KeysError) as error:
            return self.evict(job, f"{event.holder} counts what cannot be: {error}")
        epoch, needs = lent_epoch(job), {**job.needs, job.holder: least_usage(given.size, messages)}
        job = replace(job, books=job.books.with_return(epoch), needs=needs)
        job = replace(job, count=given.count, custody=Custody.RETURNED, returned_bytes=given.size)
        taken = log_step(step("take_back", ORCHESTRATOR, a=job.holder, n=given.count), now=job.now)
        return states.Back(job), [frames.Persist("returned", epoch.encode()), taken, frames.Proceed()]

    @enforces("REQ-IV-03", "count-handover")
    def learn_count(self, job: Job, given: Return) -> None:
        """Record the holder's count of used counter values.

        Raises KeysError if the holder used more of the key than it was lent, or the key has no IV left.
        """
        job.live.count_borrowed(given.count, given.size)

    def lend_again(self, state: states.AwaitsReturn, event: states.Declined) -> states.Transition:
        """Lend to the holder again in a new session, under a fresh key; end the job if the key was fresh."""
        if not is_due(state.job, event.holder, event.said):
            return state, [frames.Remark(event.left_aside)]
        why = f"{event.holder} needs {event.said.needs} for one turn"
        job = replace(state.job, needs={**state.job.needs, event.holder: event.said.needs})
        return end_at_key_limit(job, why) if state.whole else self.renew_for(job, why)

    def watch_lease(self, state: states.AwaitsReturn, event: states.TimePassed) -> states.Transition:
        """Evict the holder when its lease is over."""
        return (state, []) if self.in_time(state.job) else self.evict(state.job, "the lease is over")

    def in_time(self, job: Job) -> bool:
        """Return whether the lease is not over."""
        now, ends = job.now, job.deadline
        return self.checks.passes("lease", "REQ-RETURN-04", now <= ends, saw=(now, ends))

    def holder_restarted(self, state: states.AwaitsReturn, event: states.Admitted) -> states.Transition:
        """Evict a holder that restarted, since it has forgotten its grant."""
        return (
            self.evict(state.job, f"{event.holder} started anew") if event.holder == state.job.holder else (state, [])
        )

    @enforces("REQ-RETURN-03")
    def evict(self, job: Job, why: str) -> states.Transition:
        """Take the GPU back without a return: the grant is void, and nothing is trained."""
        self.forfeit(job)
        job = replace(job, custody=Custody.EVICTED, evictions=job.evictions + 1)
        if job.evictions > job.terms.evictions:
            return states.Finished(job), [frames.Ended(f"{job.holder} was evicted {job.evictions} times: {why}")]
        gone = log_step(step("evict", ORCHESTRATOR, a=job.holder), now=job.now)
        return states.Back(job), [
            frames.Persist("evicted", job.holder.encode()),
            frames.Remark(f"evicted: {why}"),
            gone,
            frames.Proceed(),
        ]

    @enforces("REQ-IV-03", "count-handover")
    def forfeit(self, job: Job) -> None:
        """Count everything as used that the holder may have used."""
        job.live.forfeit()

    # -- in any state ------------------------------------------------------------------------------

    def wait_on(self, state: states.OrchestratorState, event: states.TimePassed) -> states.Transition:
        """Keep waiting for an answer. Raises ProtocolError if the answer is overdue."""
        if state.job.now > state.job.deadline:
            raise frames.ProtocolError(f"no answer in time, while the orchestrator {state}")
        return state, []


def end_at_key_limit(job: Job, why: str) -> states.Transition:
    """End the job: one hand-over uses a key past its limit, and new keys would not change that."""
    return states.Finished(job), [frames.Ended(f"the key limit is too low for one hand-over: {why}")]


def attested_step(
    job: Job, task: str, reads: tuple[tuple[str, bytes], ...], given: tuple[str, bytes]
) -> frames.Transformed:
    """Return the record of an attested step in the last lent epoch; its code is the job's manifest."""
    return frames.Transformed(task, lent_epoch(job), sha384(job.manifest), reads, (given,))


def lent_epoch(job: Job) -> str:
    """Return the name of the epoch that was lent last. Raises ProtocolError if none was."""
    if job.lent is None:
        raise frames.ProtocolError("no epoch was lent")
    return job.live.name(job.lent)


def is_due(job: Job, holder: str, said: Return | Decline) -> bool:
    """Return whether a message is from the holder that has the GPU, about its epoch."""
    given = (holder, said.session, said.epoch)
    return job.lent is not None and given == (job.holder, job.live.session, job.lent.epoch)
