"""Hand-over: whom a grant goes to, what its holder sends, and what a return proves."""

from __future__ import annotations

from carnet_spec.language import Draft, Formula, implies, used
from carnet_spec.protocols.gpu_travelling.history import sent_in
from carnet_spec.protocols.gpu_travelling.lemmas.words import during, guarded
from carnet_spec.protocols.gpu_travelling.schedules import Schedule
from carnet_spec.protocols.gpu_travelling.vocabulary import (
    Address,
    Agent,
    Custody,
    Data,
    Gpu,
    Key,
    Phase,
    Slot,
    accepted,
    accepted_twice,
    addressed,
    admitted,
    aims,
    answered,
    attested_live,
    before,
    channel,
    corrupt,
    count,
    counted,
    custody,
    data_owner,
    dataset,
    enrolled,
    enrolment_proof,
    finished,
    first,
    gave_back,
    granted,
    granted_at,
    in_session,
    issued,
    key_session,
    lent_key,
    link_h2d,
    live_h2d,
    made_by,
    offer,
    orchestrator,
    owner,
    precedes,
    protected,
    received,
    returned,
    sealed,
    spent,
    stale,
    supplied,
    taken,
    the_buffer,
    took_grant,
)


def grant_lemmas(draft: Draft, schedule: Schedule) -> None:
    """Add whom grants go to, and what is sent under them."""

    @draft.lemma
    def channels_end_at_the_orchestrator(a: Agent, p: Agent) -> Formula:
        """A channel that an honest holder attested ends at the orchestrator."""
        return implies(channel(a, p), (p == orchestrator) & ~corrupt(a) & enrolled(a))

    @draft.lemma
    def admitted_ends(a: Agent, p: Agent) -> Formula:
        """An admitted channel ends at the holder, or both ends are corrupt."""
        theirs = (p == a) | (~schedule.faithful(a) & corrupt(p))
        return implies(enrolment_proof(a, p), theirs) & implies(admitted(a, p), theirs & enrolled(a))

    @draft.lemma
    def grants(a: Agent, b: Agent, k: Key, v: Slot, w: Slot) -> Formula:
        """A key is granted to its owner, once, from the first counter value."""
        return implies(granted(a, k, v), (owner(k) == a) & issued(k) & enrolled(a) & (v == first))

    @draft.lemma
    def offers(p: Agent, q: Agent, k: Key, v: Slot) -> Formula:
        """What the orchestrator offers was granted to whom it goes to, or both are corrupt; others are corrupt."""
        theirs = granted(owner(k), k, v) & ((q == owner(k)) | (corrupt(q) & ~schedule.faithful(owner(k))))
        return implies(offer(p, q, k, v), ((p == orchestrator) & theirs) | corrupt(p))

    @draft.lemma
    def acceptances(a: Agent, p: Agent, k: Key, v: Slot) -> Formula:
        """An honest holder accepts what was granted to it, on its attested channel."""
        return implies(accepted(a, p, k, v), ~corrupt(a) & offer(p, a, k, v) & channel(a, p) & took_grant(a, k))

    @draft.lemma
    def aimed_as_granted(a: Agent, p: Agent, k: Key, b: Address) -> Formula:
        """What a holder sends goes to the buffer, as its grant says."""
        stated = implies(granted_at(a, k, b), (b == the_buffer) & issued(k) & (owner(k) == a))
        theirs = granted_at(owner(k), k, b) & ((a == owner(k)) | (corrupt(a) & ~schedule.faithful(owner(k))))
        return (
            stated
            & implies(addressed(p, a, k, b), ((p == orchestrator) & theirs) | corrupt(p))
            & implies(aims(a, k, b), ~corrupt(a) & granted_at(a, k, b) & took_grant(a, k))
        )

    @draft.lemma
    def sent_in_order(a: Agent, k: Key, u: Slot, v: Slot, m: Data, n: Data) -> Formula:
        """A holder sends its chunks in their order."""
        earlier = precedes(n, m) & (data_owner(n) == a)
        both = sealed(a, k, u, n) & sealed(a, k, v, m)
        return (
            implies(supplied(a, k, m), dataset(m) & (data_owner(m) == a))
            & implies(supplied(a, k, m) & earlier, schedule.in_order(a, k, n))
            & implies(both & precedes(n, m) & schedule.holders_remember(), before(u, v))
        )

    @draft.lemma
    def accepted_once(a: Agent, k: Key) -> Formula:
        """A grant is accepted once."""
        once = implies(took_grant(a, k), accepted(a, orchestrator, k, first)) & ~accepted_twice(a, k)
        return implies(schedule.holders_remember(), once)

    @draft.lemma
    def senders(a: Agent, k: Key, v: Slot, m: Data) -> Formula:
        """A holder sends its own data under keys granted to it, one chunk for each counter value."""
        return implies(
            sealed(a, k, v, m),
            ~corrupt(a)
            & (owner(k) == a)
            & granted(a, k, first)
            & implies(schedule.holders_remember(), spent(a, k, v) & supplied(a, k, m))
            & (data_owner(m) == a)
            & dataset(m),
        )

    @draft.lemma
    def sent_in_its_session(a: Agent, k: Key, v: Slot, m: Data) -> Formula:
        """What was sealed under a key was sent in the key's session."""
        return implies(sealed(a, k, v, m), sent_in(key_session(k), m))

    @draft.lemma
    def spenders(a: Agent, k: Key, u: Slot, v: Slot) -> Formula:
        """Counter values are spent in order, under accepted grants."""
        return implies(spent(a, k, v), accepted(a, orchestrator, k, first) & implies(before(u, v), spent(a, k, u)))


def agreement_lemmas(draft: Draft, schedule: Schedule) -> None:
    """Add what a return, and the counter read at home, prove."""

    @draft.lemma
    def honest_returns(a: Agent, k: Key, n: Slot, u: Slot) -> Formula:
        """An honest holder's return states exactly what it sent, and it sends nothing more."""
        remembered = finished(a, k) & ~spent(a, k, n) & implies(before(u, n), spent(a, k, u))
        return implies(gave_back(a, k, n) & schedule.holders_remember(), remembered) & implies(
            returned(a, k, n) & schedule.faithful(a), gave_back(a, k, n)
        )

    @draft.lemma
    def counters_were_read(g: Gpu, j: Key, c: Key, n: Slot, u: Slot) -> Formula:
        """A counter read under the live home key was the GPU's, and it does not go back."""
        return implies(
            counted(j, c, n)
            & live_h2d(g, j)
            & (owner(j) == orchestrator)
            & guarded(j)
            & schedule.calm(key_session(j))
            & before(u, n),
            received(g, c, u),
        )

    @draft.lemma
    def counters_were_read_to_the_end(g: Gpu, j: Key, c: Key, n: Slot) -> Formula:
        """And the GPU took nothing beyond it: the epoch that is asked about is over."""
        read = counted(j, c, n) & live_h2d(g, j) & (owner(j) == orchestrator) & guarded(j)
        return implies(read & (c != j) & issued(c) & schedule.calm(key_session(j)), ~received(g, c, n))

    @draft.lemma
    def counters_were_read_under_accepted_keys(g: Gpu, j: Key, c: Key, n: Slot) -> Formula:
        """Counters read under a secret key were read when the GPU had taken it."""
        return implies(counted(j, c, n), used(j) & (answered(key_session(j)) | corrupt(owner(j)))) & implies(
            counted(j, c, n) & guarded(j) & schedule.secret(j) & in_session(g, key_session(j)), stale(g, j)
        )

    @draft.lemma
    def count_was_compared(g: Gpu) -> Formula:
        """Training starts after the count was compared."""
        return implies(
            attested_live(g) & during(Phase.VERIFIED, Phase.TRAINING) & (custody == Custody.RETURNED),
            counted(link_h2d, lent_key, count),
        )

    @draft.lemma
    def received_was_taken(g: Gpu, a: Agent, k: Key, v: Slot, m: Data) -> Formula:
        """What the counter passed is what was taken."""
        passed = received(g, k, v) & sealed(a, k, v, m) & in_session(g, key_session(k))
        return implies(passed & schedule.sound(k) & schedule.holders_remember(), taken(k, v, m))

    @draft.lemma
    def makers(k: Key, x: Agent) -> Formula:
        """Messages not by honest senders were made by corrupt agents under corrupt agents' keys, or unprotected."""
        return implies(
            made_by(k, x),
            corrupt(x)
            & used(k)
            & answered(key_session(k))
            & (~schedule.sound(k) | ~protected(key_session(k)) | ~schedule.calm(key_session(k))),
        )
