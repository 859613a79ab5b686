"""Orders: each is given once in its epoch, the firmware carries out all of them, and one at most is under way."""

from __future__ import annotations

from carnet_spec.language import Draft, Formula, all_of, any_of, exists, implies
from carnet_spec.protocols.gpu_travelling.history import reported_again
from carnet_spec.protocols.gpu_travelling.lemmas.words import BEFORE_CHECK, during, guarded
from carnet_spec.protocols.gpu_travelling.schedules import Schedule
from carnet_spec.protocols.gpu_travelling.vocabulary import (
    Gpu,
    Key,
    Order,
    Phase,
    Slot,
    acknowledged,
    attested_live,
    done,
    heard,
    in_session,
    key_session,
    link_h2d,
    live_h2d,
    ordered,
    pending,
    phase,
    replied,
    session,
    stale,
    told,
)

WAITING = {
    Phase.FENCING: Order.FENCE,
    Phase.CHECKING: Order.READ_BACK,
    Phase.TRAINING: Order.TRAIN,
    Phase.SAVING: Order.SAVE,
    Phase.SCRUBBING: Order.SCRUB,
    Phase.FENCING_EARLY: Order.FENCE,
}
"""The phases in which the orchestrator waits for a report on an order about the link's epoch."""

GIVEN = (Order.ROTATE, *dict.fromkeys(WAITING.values()))
"""All that is ever ordered."""


def order_lemmas(draft: Draft, schedule: Schedule) -> None:
    """Add what is ordered when, and what is done about it."""
    _given(draft)
    _carried_out(draft, schedule)


def _given(draft: Draft) -> None:
    @draft.lemma
    def one_order_for_each_number(k: Key, v: Slot, o: Order, q: Order) -> Formula:
        """No two orders about an epoch have one number."""
        return implies(ordered(k, v, o) & ordered(k, v, q), o == q)

    @draft.lemma
    def one_order_of_each_kind(k: Key, u: Slot, v: Slot, o: Order) -> Formula:
        """What is ordered in an epoch is ordered once, and what firmware finds of itself is never ordered."""
        found = (o == Order.CODE_GOOD) | (o == Order.NO_CONTEXT)
        return implies(ordered(k, u, o) & ordered(k, v, o), u == v) & implies(ordered(k, v, o), ~found)

    @draft.lemma
    def every_number_is_of_an_order(k: Key, v: Slot) -> Formula:
        """No number is left out: whatever has one is an order."""
        return implies(told(k, v), any_of(*(ordered(k, v, o) for o in GIVEN)))

    @draft.lemma
    def what_is_waited_for_was_ordered() -> Formula:
        """The orchestrator waits for no report on an order that it did not give."""
        return all_of(*(implies(phase == waits, _was_given(order)) for waits, order in WAITING.items()))

    @draft.lemma
    def nothing_ordered_while_out(v: Slot, o: Order) -> Formula:
        """While the GPU is out, nothing but its rotation was ordered in the holder's epoch, or done."""
        out = during(Phase.GRANTING, Phase.AWAY, Phase.BACK)
        return implies(out & (o != Order.ROTATE), ~ordered(link_h2d, v, o) & ~done(link_h2d, o))

    @draft.lemma
    def not_saved_yet(v: Slot) -> Formula:
        """Before the model is ordered home it is not sent."""
        early = during(Phase.OPENED, *BEFORE_CHECK, Phase.VERIFIED, Phase.TRAINING, Phase.TRAINED)
        return implies(early, ~ordered(link_h2d, v, Order.SAVE) & ~done(link_h2d, Order.SAVE))


def _was_given(order: Order) -> Formula:
    """Whether the order was given in the link's epoch."""
    return exists(lambda v: ordered(link_h2d, v, order), Slot)


def _carried_out(draft: Draft, schedule: Schedule) -> None:
    @draft.lemma
    def what_is_heard_is_answered(g: Gpu, k: Key, v: Slot, o: Order) -> Formula:
        """Every order that was heard was carried out and reported on, and the orchestrator believes every report."""
        return implies(heard(g, k, v) & ordered(k, v, o), replied(k, v, o) & done(k, o)) & implies(
            replied(k, v, o), acknowledged(k, o) & told(k, v)
        )

    @draft.lemma
    def rotations_that_were_taken_are_reported(g: Gpu) -> Formula:
        """A GPU that took the pending key said so."""
        rotating = during(Phase.ROTATING_OUT, Phase.ROTATING_IN)
        return implies(rotating & attested_live(g) & stale(g, pending), acknowledged(pending, Order.ROTATE))

    @draft.lemma
    def one_report_for_each_number(g: Gpu, k: Key, v: Slot, o: Order) -> Formula:
        """What was reported on was heard, so that no number is used twice."""
        here = replied(k, v, o) & in_session(g, key_session(k))
        return implies(here, heard(g, k, v)) & ~reported_again(k, v)

    @draft.lemma
    def deeds_were_heard(g: Gpu, k: Key, v: Slot, o: Order) -> Formula:
        """What was done in an epoch, and ordered, was heard."""
        return implies(done(k, o) & ordered(k, v, o) & in_session(g, key_session(k)), heard(g, k, v))

    @draft.lemma
    def one_order_under_way(g: Gpu, k: Key, v: Slot, o: Order) -> Formula:
        """An order that the GPU has not heard yet is the one that the orchestrator waits for."""
        left = ordered(k, v, o) & ~heard(g, k, v) & (key_session(k) == session) & guarded(k)
        rotating = (o == Order.ROTATE) & during(Phase.ROTATING_OUT, Phase.ROTATING_IN) & (k == pending)
        asked = any_of(*((phase == waits) & (o == order) for waits, order in WAITING.items()))
        return implies(attested_live(g) & left & schedule.calm(session), rotating | (asked & (k == link_h2d)))

    @draft.lemma
    def orders_left_are_of_the_live_epoch(g: Gpu, k: Key, v: Slot, o: Order) -> Formula:
        """No order but a rotation outlives its epoch."""
        left = ordered(k, v, o) & ~heard(g, k, v) & (o != Order.ROTATE) & in_session(g, key_session(k))
        return implies(left & guarded(k) & schedule.calm(key_session(k)), live_h2d(g, k))

    @draft.lemma
    def one_order_left(g: Gpu, j: Key, k: Key, u: Slot, v: Slot, o: Order, q: Order) -> Formula:
        """So in a session that the orchestrator gave up: one order at most was left."""
        home = key_session(k)
        left = ordered(j, u, o) & ~heard(g, j, u) & ordered(k, v, q) & ~heard(g, k, v)
        here = in_session(g, home) & (key_session(j) == home) & guarded(k) & schedule.calm(home)
        return implies(left & here, (j == k) & (u == v))
