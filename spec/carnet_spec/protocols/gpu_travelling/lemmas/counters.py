"""Counters: sent and received values, and the numbers of orders, have no gaps and never start again under one key."""

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
    first,
    heard,
    in_session,
    issued,
    key_exchange,
    key_session,
    live_d2h,
    live_h2d,
    model_uploaded,
    orchestrated,
    orchestrator,
    ordered,
    owner,
    received,
    replied,
    sealed,
    spent,
    stale,
    streamed,
    taken,
    taken_slot,
    told,
    transmitted,
    uploaded,
)


def counter_lemmas(draft: Draft, schedule: Schedule) -> None:
    """Add what both ends' counters say."""

    @draft.lemma
    def orders_are_counted(k: Key, v: Slot, o: Order) -> Formula:
        """The orchestrator numbers its orders; all but a rotation, and a fence, are about epochs of its own."""
        mine = (owner(k) == orchestrator) | ((o == Order.ROTATE) & (v == first)) | (o == Order.FENCE)
        return implies(ordered(k, v, o), issued(k) & told(k, v) & mine)

    @draft.lemma
    def told_in_order(k: Key, u: Slot, v: Slot) -> Formula:
        """The numbers of an epoch's orders have no gaps."""
        return implies(told(k, v), issued(k) & implies(before(u, v), told(k, u)))

    @draft.lemma
    def told_about_accepted_keys(g: Gpu, k: Key, v: Slot) -> Formula:
        """All orders about an epoch but the rotation come after the GPU took its key."""
        later = told(k, v) & (v != first) & in_session(g, key_session(k)) & schedule.calm(key_session(k))
        return implies(later, stale(g, k))

    @draft.lemma
    def uploads_are_counted(k: Key, v: Slot) -> Formula:
        """The orchestrator uploads under its own keys and counts what it uploads."""
        return implies(uploaded(k, v), issued(k) & (owner(k) == orchestrator) & consumed(k, v)) & implies(
            model_uploaded(k, v), uploaded(k, v)
        )

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
    def reports_answer_orders(k: Key, v: Slot, o: Order) -> Formula:
        """The firmware reports on orders that were given, under their numbers."""
        return implies(replied(k, v, o), ordered(k, v, o) & answered(key_session(k)))

    @draft.lemma
    def messages_home_are_counted(g: Gpu, k: Key, v: Slot) -> Formula:
        """What the GPU sent home under a live key is counted; keys that it sent under are never taken again."""
        return implies(
            streamed(k, v),
            used(k)
            & answered(key_session(k))
            & implies(orchestrated(key_session(k)), issued(k) | key_exchange(key_session(k), k))
            & implies(live_d2h(g, k), transmitted(g, k, v))
            & implies(in_session(g, key_session(k)), stale(g, k)),
        )

    @draft.lemma
    def heard_in_order(g: Gpu, k: Key, u: Slot, v: Slot) -> Formula:
        """The firmware hears an epoch's orders without gaps, once it took its key."""
        return implies(heard(g, k, v), stale(g, k) & implies(before(u, v), heard(g, k, u)))

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
        passed = received(g, k, v) & issued(k) & (owner(k) != orchestrator)
        return implies(passed & schedule.holders_remember(), spent(owner(k), k, v))
