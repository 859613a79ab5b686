"""Second lines: other reasons for what holds already, which show that some single defences are redundant.

The fence is carried out before the read-back because the firmware keeps orders in order; so its acknowledgement can be
left out alone. A report is true whoever owns the epoch, so the order of epochs can be left out alone.
"""

from __future__ import annotations

from carnet_spec.language import Draft, Formula, exists, implies
from carnet_spec.protocols.gpu_travelling.lemmas.words import CHECKED, FENCED_TOO_EARLY, during, guarded
from carnet_spec.protocols.gpu_travelling.schedules import Schedule
from carnet_spec.protocols.gpu_travelling.vocabulary import (
    Agent,
    Gpu,
    Key,
    Order,
    Phase,
    Slot,
    asked,
    attested_live,
    before,
    done,
    heard,
    issued,
    key_session,
    knows_d2h,
    link_h2d,
    live_h2d,
    orchestrator,
    ordered,
    owner,
    pending,
    phase,
    rotate_out_order,
    session,
    stale,
    told,
)


def second_lines(draft: Draft, schedule: Schedule) -> None:
    """Add the second lines to ``draft``."""
    _orders_in_order(draft)
    _deeds_in_order(draft, schedule)
    _reply_halves_stay_home(draft, schedule)


def _ordered_somewhere(key: Key, order: Order) -> Formula:
    return exists(lambda u: ordered(key, u, order), Slot)


def _orders_in_order(draft: Draft) -> None:
    @draft.lemma
    def fence_ordered_at_home() -> Formula:
        """Once the fence was sent, it was ordered under some number."""
        later = (Phase.FENCING, Phase.FENCED, Phase.UPLOADED, Phase.CHECKING, *CHECKED)
        return implies(during(*later), _ordered_somewhere(link_h2d, Order.FENCE))

    @draft.lemma
    def fence_ordered_too(k: Key) -> Formula:
        """In an epoch whose read-back was ordered, the fence was ordered."""
        return implies(asked(k, Order.READ_BACK), _ordered_somewhere(k, Order.FENCE))

    @draft.lemma
    def ordered_was_asked(k: Key, u: Slot, v: Slot, o: Order) -> Formula:
        """The read-back is ordered after the fence."""
        return implies(ordered(k, v, o) & (o != Order.ROTATE), asked(k, o)) & implies(
            ordered(k, u, Order.FENCE) & ordered(k, v, Order.READ_BACK), before(u, v)
        )


def _deeds_in_order(draft: Draft, schedule: Schedule) -> None:
    @draft.lemma
    def heard_was_told(g: Gpu, k: Key, v: Slot) -> Formula:
        """The firmware hears only what the orchestrator said."""
        return implies(heard(g, k, v), told(k, v))

    @draft.lemma
    def done_in_order(k: Key) -> Formula:
        """Before what was digested came the fence."""
        return implies(done(k, Order.CODE_GOOD), done(k, Order.FENCE))


def _reply_halves_stay_home(draft: Draft, schedule: Schedule) -> None:
    @draft.lemma
    def reply_halves_stay_home(x: Agent, k: Key) -> Formula:
        """Nobody but the orchestrator knows a device-to-host half of a protected session."""
        own = issued(k) | (owner(k) == orchestrator)
        safe = own & guarded(k) & ~schedule.leaked(k) & schedule.calm(key_session(k))
        return implies(knows_d2h(x, k) & safe, x == orchestrator)

    @draft.lemma
    def pending_order_out_is_only_now(g: Gpu, k: Key) -> Formula:
        """A rotation out that the GPU would still take is the one under way."""
        pends = attested_live(g) & rotate_out_order(session, k) & ~stale(g, k) & (phase != Phase.SETUP)
        return implies(pends & schedule.calm(session), (phase == Phase.ROTATING_OUT) & (k == pending))

    @draft.lemma
    def live_key_is_only_the_link(g: Gpu, k: Key) -> Formula:
        """The live key is the link key, or the pending one."""
        rotating = during(Phase.ROTATING_OUT, Phase.ROTATING_IN)
        return implies(
            attested_live(g) & live_h2d(g, k) & (phase != Phase.SETUP) & schedule.calm(session),
            (k == link_h2d) | (rotating & (k == pending)),
        )

    @draft.lemma
    def link_is_live_while_out(g: Gpu) -> Formula:
        """Away, while the session lives, the holder's key is live until the rotation in."""
        out = during(Phase.GRANTING, Phase.AWAY, Phase.BACK, *FENCED_TOO_EARLY)
        return implies(attested_live(g) & out & schedule.calm(session), live_h2d(g, link_h2d))
