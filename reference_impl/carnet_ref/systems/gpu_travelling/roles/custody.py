"""Custody: the GPU is lent to one holder, and comes back by return or by eviction."""

from __future__ import annotations

from carnet_ref.crypto.primitives import CryptoError
from carnet_ref.device.memory import BASE, Region
from carnet_ref.keys import Budget, Direction, KeysError
from carnet_ref.recorder import step
from carnet_ref.systems.gpu_travelling.names import ORCHESTRATOR
from carnet_ref.systems.gpu_travelling.roles import facts
from carnet_ref.systems.gpu_travelling.roles.channel_messages import Decline, Grant, Return
from carnet_ref.systems.gpu_travelling.roles.facts import BufferScrubbed, GpuAttested, HolderEnrolled, KeyRotated
from carnet_ref.systems.gpu_travelling.roles.job import Custody, Job, State, Transition
from carnet_ref.systems.gpu_travelling.roles.rationing import shortage
from carnet_ref.transport.frames import PLATFORM, Ended, Kind, Note, Persist, Proceed, ProtocolError, Remark, Send


class NeedsSession(State):
    """The GPU is to be reset and a new session opened before it travels again.

    ``for_journey`` says that the schedule lends a session once; else it is that a key of the session has no room left.
    """

    __slots__ = ("for_journey",)

    def __init__(self, job: Job, for_journey: bool) -> None:
        super().__init__(job)
        self.for_journey = for_journey


def lend(job: Job, clean: BufferScrubbed) -> Transition:
    """Hand the GPU, which is clean, to the next holder, in a new session if need be; after all rounds end the job."""
    facts.require(clean, job.live)
    if job.attested is None:
        raise ProtocolError("the GPU was never attested")
    facts.require(job.attested, job.live)
    if job.progress.rounds == job.terms.rounds:
        return Finished(job), [Ended()]
    if job.terms.schedule == "reset" and job.lendings:
        return NeedsSession(job, for_journey=True), []
    job.holder = job.terms.holders[job.progress.rounds % len(job.terms.holders)]
    if short := shortage(job, job.holder):
        return renewed(job, short) if job.lendings else too_low(job, short)
    if job.reception.admitted(job.holder) is None:
        job.wait(job.terms.lease)
        return AwaitsHolder(job, clean), [Remark(f"waiting for {job.holder}")]
    return order_rotation(job, job.attested)


def renewed(job: Job, why: str) -> Transition:
    """Go on under other keys, which only a new session has."""
    return NeedsSession(job, for_journey=False), [Remark(f"session renewed: {why}")]


def too_low(job: Job, why: str) -> Transition:
    """End the job: under new keys there is no more room than this."""
    return Finished(job), [Ended(f"the key limit is too low for one hand-over: {why}")]


class AwaitsHolder(State):
    """The next holder has not proved who it is yet."""

    __slots__ = ("clean",)

    def __init__(self, job: Job, clean: BufferScrubbed) -> None:
        super().__init__(job)
        self.clean = clean

    def on_admitted(self, holder: str) -> Transition:
        """Go on if it is the one."""
        return lend(self.job, self.clean) if holder == self.job.holder else (self, [])


def order_rotation(job: Job, attested: GpuAttested) -> Transition:
    """Give the link a key of the next holder's epoch, before the GPU leaves."""
    facts.require(attested, job.live)
    age = job.now - job.attested_at
    if age > job.terms.evidence_lasts and job.terms.defences.stands("attestation-age"):
        raise ProtocolError(f"the GPU's evidence is {age:.0f} seconds old, and lasts {job.terms.evidence_lasts:.0f}")
    job.redo = lambda: order_rotation(job, facts.attested(job.live.session))
    intent = Persist("custody", f"{job.progress.rounds} {job.holder}".encode())
    job.lendings += 1
    job.wait(job.terms.patience)
    if not job.terms.defences.stands("rotation-out"):
        state, effects = grant(job, facts.kept(job.live, job.terms.defences))
        return state, [intent, Note(step("keep_key_out", ORCHESTRATOR, a=job.holder)), *effects]
    order = job.live.draw(job.holder, job.tools.random)
    noted = Note(step("rotate_out", ORCHESTRATOR, a=job.holder, k=job.live.pending_name))
    waits = [] if job.terms.defences.stands("rotation-ack") else [Proceed()]
    return AwaitsRotationOut(job), [intent, noted, job.command(order), *waits]


class AwaitsRotationOut(State):
    """The key of the next holder's epoch is ordered."""

    __slots__ = ()

    def on_link(self, sealed: bytes) -> Transition:
        """Take the acknowledgement, under the new key."""
        return self._rotated(sealed)

    def on_proceed(self) -> Transition:
        """Go on without an acknowledgement."""
        return self._rotated(None)

    def _rotated(self, sealed: bytes | None) -> Transition:
        rotated = facts.rotated(self.job.live, sealed, False, self.job.terms.defences)
        state, effects = grant(self.job, rotated)
        return state, [Note(step("rotated_out", ORCHESTRATOR)), *effects]


def grant(job: Job, rotated: KeyRotated) -> Transition:
    """Lend the encrypt half, the IV start and the buffer address to the one holder whose key it is.

    Raises:
        ProtocolError: the holder is not admitted any more.
    """
    facts.require(rotated, job.live)
    job.redo = lambda: grant(job, facts.kept(job.live, job.terms.defences))
    defences = job.terms.defences
    addressee = job.holder if defences.stands("grant-addressee") else job.reception.latest()
    enrolled = job.reception.admitted(addressee)
    if enrolled is None:
        raise ProtocolError(f"{addressee} left before the grant")
    start = job.live.next_slot if defences.stands("count-handover") else 0
    job.lent = job.live.keys
    whole = job.lendings == 1 or not job.live.usage(job.holder, Direction.H2D).operations
    budget = job.live.lend()
    job.wait(job.terms.lease)
    return AwaitsReturn(job, whole), [
        Persist("grant", job.live.name(job.lent).encode()),
        Note(step("grant", ORCHESTRATOR, a=addressee, p=addressee, v=start)),
        Send(PLATFORM, Kind.ROUTE, addressee.encode()),
        job.reception.send(addressee, _paper(job, enrolled, start, budget)),
    ]


def _paper(job: Job, enrolled: HolderEnrolled, start: int, budget: Budget) -> Grant:
    keys, defences = job.live.keys, job.terms.defences
    if enrolled.about != job.holder and defences.stands("grant-addressee"):
        raise ProtocolError(f"{enrolled!r} is not about {job.holder}")
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
        d2h=b"" if defences.stands("h2d-half-only") else keys.d2h,
        launch=b"" if defences.stands("launch-key-kept") else job.live.launch_key,
    )


class AwaitsReturn(State):
    """The GPU is away; ``whole`` says that in a new session there is no more of the key to lend than was lent now."""

    __slots__ = ("whole",)

    def __init__(self, job: Job, whole: bool) -> None:
        super().__init__(job)
        self.whole = whole

    def on_return(self, holder: str, given: Return) -> Transition:
        """Take the GPU back from the holder it was lent to, and learn which counter values are gone."""
        job = self.job
        if job.terms.defences.stands("return-authenticated") and not self._is_due(holder, given):
            return self, [Remark(f"{holder} returned what it does not have")]
        if job.terms.defences.stands("count-handover"):
            try:
                job.live.count_borrowed(given.count, given.size)
            except (CryptoError, KeysError) as error:
                return self._evict(f"{holder} counts what cannot be: {error}")
        job.count = given.count
        job.custody = Custody.RETURNED
        job.returned_bytes = given.size
        noted = Note(step("take_back", ORCHESTRATOR, a=job.holder, n=given.count))
        return Back(job), [Persist("returned", str(given.count).encode()), noted, Proceed()]

    def on_decline(self, holder: str, said: Decline) -> Transition:
        """Lend to the holder again in a new session, under a whole key; who had that already cannot be helped."""
        if not self._is_due(holder, said):
            return self, [Remark(f"{holder} declined what it does not have")]
        why = f"{holder} needs {said.needs} for one turn"
        return too_low(self.job, why) if self.whole else renewed(self.job, why)

    def on_tick(self) -> Transition:
        """Evict the holder when its lease is over."""
        if self.job.now > self.job.deadline and self.job.terms.defences.stands("lease"):
            return self._evict("the lease is over")
        return self, []

    def on_admitted(self, holder: str) -> Transition:
        """Evict a holder that started anew: it has forgotten its grant."""
        return self._evict(f"{holder} started anew") if holder == self.job.holder else (self, [])

    def _is_due(self, holder: str, given: Return | Decline) -> bool:
        lent = self.job.lent
        return lent is not None and (holder, given.session, given.epoch) == (
            self.job.holder,
            self.job.live.session,
            lent.epoch,
        )

    def _evict(self, why: str) -> Transition:
        job = self.job
        if job.terms.defences.stands("count-handover"):
            job.live.forfeit()
        job.custody = Custody.EVICTED
        job.evictions += 1
        if job.evictions > job.terms.evictions:
            return Finished(job), [Ended(f"{job.holder} was evicted {job.evictions} times: {why}")]
        noted = Note(step("evict", ORCHESTRATOR, a=job.holder))
        return Back(job), [Persist("evicted", job.holder.encode()), Remark(f"evicted: {why}"), noted, Proceed()]


class Back(State):
    """The GPU is back, and homecoming begins."""

    __slots__ = ()


class Finished(State):
    """Every round is trained, or the job is given up."""

    __slots__ = ()

    def on_link(self, sealed: bytes) -> Transition:
        """Ignore it."""
        return self, []

    def on_session(self, message: bytes) -> Transition:
        """Ignore it."""
        return self, []

    def on_tick(self) -> Transition:
        """Ignore it."""
        return self, []
