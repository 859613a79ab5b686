"""Second lines: other reasons for what holds already, which show that some single defences are redundant.

The fence and the upload are carried out before the read-back because the GPU's counter keeps orders in order; so the
acknowledgement of the fence, or the read-back of the code, can be left out alone. The device-to-host halves never leave
home; so an acknowledgement is true whoever owns the key, and the order of epochs can be left out alone.
"""

from __future__ import annotations

from carnet_spec.language import Draft, Formula, exists, implies
from carnet_spec.protocols.gpu_travelling.lemmas.words import CHECKED, during, guarded
from carnet_spec.protocols.gpu_travelling.schedules import Schedule
from carnet_spec.protocols.gpu_travelling.vocabulary import (
    Agent,
    Gpu,
    Key,
    Order,
    Phase,
    Slot,
    acknowledged,
    asked,
    attested_live,
    before,
    consumed,
    done,
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
    planted,
    received,
    rotate_out_order,
    session,
    stale,
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
    def nothing_ordered_yet(v: Slot) -> Formula:
        """Until it is sent, neither upload nor read-back was ordered under the link key."""
        before_upload = during(Phase.FENCING, Phase.FENCED)
        before_check = before_upload | (phase == Phase.UPLOADED)
        return implies(before_upload, ~ordered(link_h2d, v, Order.UPLOAD)) & implies(
            before_check, ~ordered(link_h2d, v, Order.READ_BACK)
        )

    @draft.lemma
    def fence_ordered_at_home() -> Formula:
        """Once the fence was sent, it was ordered at some counter value."""
        later = (Phase.FENCING, Phase.FENCED, Phase.UPLOADED, Phase.CHECKING, *CHECKED)
        return implies(during(*later), _ordered_somewhere(link_h2d, Order.FENCE))

    @draft.lemma
    def upload_ordered_at_home() -> Formula:
        """Once the upload was sent, it was ordered at some counter value."""
        return implies(during(Phase.UPLOADED, Phase.CHECKING, *CHECKED), _ordered_somewhere(link_h2d, Order.UPLOAD))

    @draft.lemma
    def fence_ordered_too(k: Key) -> Formula:
        """Under a key that ordered an upload or a read-back, the fence was ordered."""
        return implies(asked(k, Order.UPLOAD) | asked(k, Order.READ_BACK), _ordered_somewhere(k, Order.FENCE))

    @draft.lemma
    def upload_ordered_too(k: Key) -> Formula:
        """Under a key that ordered a read-back, the upload was ordered."""
        return implies(asked(k, Order.READ_BACK), _ordered_somewhere(k, Order.UPLOAD))

    @draft.lemma
    def ordered_was_asked(k: Key, u: Slot, v: Slot, o: Order) -> Formula:
        """Fence, upload and read-back are ordered in that order."""
        after_fence = (o == Order.UPLOAD) | (o == Order.READ_BACK)
        return (
            implies(ordered(k, v, o), asked(k, o))
            & implies(ordered(k, u, Order.FENCE) & ordered(k, v, o) & after_fence, before(u, v))
            & implies(ordered(k, u, Order.UPLOAD) & ordered(k, v, Order.READ_BACK), before(u, v))
        )


def _deeds_in_order(draft: Draft, schedule: Schedule) -> None:
    @draft.lemma
    def received_was_consumed(g: Gpu, k: Key, v: Slot) -> Formula:
        """Under a key of the orchestrator's the GPU's counter passes only what the orchestrator sent."""
        return implies(received(g, k, v) & (owner(k) == orchestrator), consumed(k, v))

    @draft.lemma
    def received_was_done(g: Gpu, k: Key, v: Slot) -> Formula:
        """A fence or an upload that the counter passed was carried out."""
        fenced = implies(received(g, k, v) & ordered(k, v, Order.FENCE), done(k, Order.FENCE))
        return fenced & implies(received(g, k, v) & ordered(k, v, Order.UPLOAD), done(k, Order.UPLOAD))

    @draft.lemma
    def done_in_order(k: Key) -> Formula:
        """What was read back was fenced and uploaded before."""
        checked = done(k, Order.CODE_GOOD) | done(k, Order.MODEL_GOOD)
        return implies(done(k, Order.UPLOAD), done(k, Order.FENCE)) & implies(
            checked, done(k, Order.FENCE) & done(k, Order.UPLOAD)
        )

    @draft.lemma
    def upload_holds(g: Gpu, k: Key) -> Formula:
        """After the upload, and while that key is live, no code is planted."""
        home = (owner(k) == orchestrator) & guarded(k) & schedule.calm(key_session(k))
        return implies(done(k, Order.UPLOAD) & live_h2d(g, k) & home, ~planted(g))


def _reply_halves_stay_home(draft: Draft, schedule: Schedule) -> None:
    @draft.lemma
    def reply_halves_stay_home(x: Agent, k: Key) -> Formula:
        """Nobody but the orchestrator knows a device-to-host half of a protected session."""
        own = issued(k) | (owner(k) == orchestrator)
        safe = own & guarded(k) & ~schedule.leaked(k) & schedule.calm(key_session(k))
        return implies(knows_d2h(x, k) & safe, x == orchestrator)

    @draft.lemma
    def every_acknowledgement_is_true(k: Key, o: Order) -> Formula:
        """An acknowledgement in a protected session was made by the GPU, whoever owns the key."""
        safe = issued(k) & ~schedule.leaked(k) & schedule.calm(key_session(k))
        return implies(acknowledged(k, o) & safe, done(k, o) | (o == Order.READ_BACK))

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
        out = during(Phase.GRANTING, Phase.AWAY, Phase.BACK)
        return implies(attested_live(g) & out & schedule.calm(session), live_h2d(g, link_h2d))
