"""Where data is that the adversary has no reason to have, in designs in which it may have a reason."""

from __future__ import annotations

from carnet_spec.language import Draft, Formula, implies
from carnet_spec.protocols.gpu_travelling.schedules import Schedule
from carnet_spec.protocols.gpu_travelling.vocabulary import (
    Agent,
    Data,
    Gpu,
    Key,
    Session,
    attested,
    confidential,
    first,
    foreign,
    genuine,
    granted,
    in_session,
    key_session,
    live_h2d,
    occupied,
    orchestrator,
    owner,
    protected,
    resident,
    supplied,
    traffic,
)


def kept_back_lemmas(draft: Draft, schedule: Schedule) -> None:
    """Add where such data is, and how it came there."""

    @draft.lemma
    def sent_under_grants(a: Agent, k: Key, m: Data) -> Formula:
        """What a holder sends, it sends under keys that it was lent."""
        return implies(supplied(a, k, m), granted(a, k, first))

    @draft.lemma
    def kept_back_in_memory(g: Gpu, s: Session, m: Data) -> Formula:
        """Where it is, there is no foreign code, and the GPU is as it was attested."""
        there = resident(g, m) & schedule.kept_back(m)
        safe = genuine(g) & confidential(g) & occupied(g) & ~foreign(g)
        return implies(there, safe & implies(in_session(g, s), protected(s) & attested(s)))

    @draft.lemma
    def kept_back_on_its_way(k: Key, m: Data) -> Formula:
        """What derives from it goes home in a protected session."""
        return implies(traffic(k, m) & schedule.kept_back(m), protected(key_session(k)))

    @draft.lemma
    def kept_back_was_sent(g: Gpu, k: Key, m: Data) -> Formula:
        """Under its owner's live key it was sent in that epoch."""
        there = resident(g, m) & schedule.kept_back(m) & live_h2d(g, k)
        return implies(there & (owner(k) != orchestrator), supplied(owner(k), k, m))
