"""Counters: sent, received and replied values have no gaps and never start again under one key."""

from __future__ import annotations

from carnet_spec.language import Draft, Formula, implies, used
from carnet_spec.protocols.gpu_travelling.schedules import Schedule
from carnet_spec.protocols.gpu_travelling.vocabulary import (
    Data,
    Gpu,
    Key,
    Order,
    Slot,
    answered,
    before,
    consumed,
    in_session,
    issued,
    key_session,
    live_d2h,
    live_h2d,
    orchestrator,
    ordered,
    owner,
    received,
    replied,
    sealed,
    spent,
    stale,
    taken,
    taken_slot,
    transmitted,
)


def counter_lemmas(draft: Draft, schedule: Schedule) -> None:
    """Add what both ends' counters say."""

    @draft.lemma
    def orders_are_counted(k: Key, v: Slot, o: Order) -> Formula:
        """The orchestrator sends orders under its own keys and counts them."""
        return implies(ordered(k, v, o), issued(k) & (owner(k) == orchestrator) & consumed(k, v))

    @draft.lemma
    def counted_in_order(k: Key, u: Slot, v: Slot) -> Formula:
        """The orchestrator's counters have no gaps."""
        return implies(consumed(k, v), issued(k) & implies(before(u, v), consumed(k, u)))

    @draft.lemma
    def sent_under_accepted_keys(g: Gpu, k: Key, v: Slot) -> Formula:
        """The orchestrator sends under keys of its own that the GPU took."""
        return implies(
            consumed(k, v) & (owner(k) == orchestrator) & in_session(g, key_session(k)) & schedule.calm(key_session(k)),
            stale(g, k),
        )

    @draft.lemma
    def replies_are_counted(g: Gpu, k: Key, v: Slot, o: Order) -> Formula:
        """The GPU's replies under a live key are counted; keys that were replied under are never taken again."""
        return implies(
            replied(k, v, o),
            used(k)
            & answered(key_session(k))
            & implies(live_d2h(g, k), transmitted(g, k, v))
            & implies(in_session(g, key_session(k)), stale(g, k)),
        )

    @draft.lemma
    def reception_is_counted(g: Gpu, k: Key, v: Slot, m: Data) -> Formula:
        """Ciphertexts taken under a live key are counted."""
        return implies(
            taken_slot(k, v),
            used(k)
            & answered(key_session(k))
            & implies(live_h2d(g, k), received(g, k, v))
            & implies(in_session(g, key_session(k)), stale(g, k)),
        ) & implies(taken(k, v, m), taken_slot(k, v) & sealed(owner(k), k, v, m))

    @draft.lemma
    def received_in_order(g: Gpu, k: Key, u: Slot, v: Slot) -> Formula:
        """The GPU's receive counters have no gaps, and survive until the key is taken again."""
        return implies(received(g, k, v), stale(g, k) & implies(before(u, v), received(g, k, u)))

    @draft.lemma
    def received_was_sent(g: Gpu, k: Key, v: Slot) -> Formula:
        """Under a holder's key the counter passes only what its holder sent."""
        return implies(received(g, k, v) & issued(k) & (owner(k) != orchestrator), spent(owner(k), k, v))
