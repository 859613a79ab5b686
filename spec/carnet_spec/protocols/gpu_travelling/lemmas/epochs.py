"""Epochs: which key is newest, which order is still pending, and which key is live."""

from __future__ import annotations

from carnet_spec.language import Draft, Formula, implies, used
from carnet_spec.protocols.gpu_travelling.history import lent_last
from carnet_spec.protocols.gpu_travelling.lemmas.words import FENCED_TOO_EARLY, HOME, OUT, active, during
from carnet_spec.protocols.gpu_travelling.schedules import Schedule
from carnet_spec.protocols.gpu_travelling.vocabulary import (
    Agent,
    Data,
    Gpu,
    Key,
    Phase,
    Session,
    Slot,
    answered,
    attested_live,
    context,
    corrupt,
    granted,
    in_session,
    issued,
    key_session,
    link_h2d,
    live_h2d,
    occupied,
    older,
    orchestrator,
    owner,
    pending,
    phase,
    planted,
    resident,
    rotate_in_order,
    rotate_out_order,
    session,
    stale,
)


def epoch_lemmas(draft: Draft, schedule: Schedule) -> None:
    """Add the order of epochs, and what it says of orders and of live keys."""
    _order_of_epochs(draft)
    _pending_orders(draft, schedule)
    _live_key(draft, schedule)


def _order_of_epochs(draft: Draft) -> None:
    @draft.lemma
    def older_keys_are_issued(j: Key, k: Key) -> Formula:
        """Epoch numbers are given to issued keys."""
        return implies(older(j, k), issued(j) & issued(k) & (j != k))

    @draft.lemma
    def pending_is_newest(k: Key) -> Formula:
        """The pending key has the highest epoch."""
        rotating = during(Phase.ROTATING_OUT, Phase.ROTATING_IN)
        return implies(rotating & issued(k) & (k != pending), older(k, pending)) & implies(rotating, ~older(pending, k))

    @draft.lemma
    def link_is_newest(k: Key) -> Formula:
        """Otherwise the link key has the highest epoch of its session."""
        rotating = during(Phase.ROTATING_OUT, Phase.ROTATING_IN)
        return implies(
            active() & ~rotating & issued(k) & (key_session(k) == session),
            ((k == link_h2d) | older(k, link_h2d)) & ~older(link_h2d, k),
        )

    @draft.lemma
    def passed_epochs_are_stale(g: Gpu, j: Key, k: Key) -> Formula:
        """Once a GPU took a key, older ones are stale."""
        return implies(live_h2d(g, k) & older(j, k), stale(g, j))

    @draft.lemma
    def stale_keys_are_used(g: Gpu, k: Key) -> Formula:
        """Stale keys were drawn."""
        return implies(stale(g, k), used(k) & occupied(g) & answered(key_session(k)))


def _pending_orders(draft: Draft, schedule: Schedule) -> None:
    @draft.lemma
    def pending_order_out_is_now(g: Gpu, k: Key) -> Formula:
        """A rotation out that the GPU would still take is the one under way, or a corrupt holder forged its end."""
        return implies(
            attested_live(g)
            & rotate_out_order(session, k)
            & ~stale(g, k)
            & (phase != Phase.SETUP)
            & schedule.calm(session),
            ((phase == Phase.ROTATING_OUT) & (k == pending)) | (during(*OUT) & (k == link_h2d) & corrupt(owner(k))),
        )

    @draft.lemma
    def pending_order_in_is_now(g: Gpu, k: Key) -> Formula:
        """A rotation in that the GPU would still take is the one under way."""
        return implies(
            attested_live(g)
            & rotate_in_order(session, k)
            & ~stale(g, k)
            & (phase != Phase.SETUP)
            & schedule.calm(session),
            (phase == Phase.ROTATING_IN) & (k == pending),
        )

    @draft.lemma
    def one_pending_out(g: Gpu, s: Session, j: Key, k: Key) -> Formula:
        """A GPU would still take one rotation out at most."""
        first_one = rotate_out_order(s, j) & ~stale(g, j) & schedule.calm(s)
        return implies(in_session(g, s) & first_one & rotate_out_order(s, k) & ~stale(g, k), j == k)

    @draft.lemma
    def pending_out_finds_it_clean(g: Gpu, s: Session, k: Key, m: Data) -> Formula:
        """While a GPU would still take a rotation out, its regions are empty and nothing is planted."""
        return implies(
            in_session(g, s) & rotate_out_order(s, k) & ~stale(g, k) & schedule.calm(s),
            ~resident(g, m) & ~planted(g) & ~context(g),
        )

    @draft.lemma
    def pending_out_finds_it_home(g: Gpu, s: Session, k: Key, j: Key) -> Formula:
        """While a GPU would still take a rotation out, its live key is the orchestrator's."""
        return implies(
            in_session(g, s) & rotate_out_order(s, k) & ~stale(g, k) & live_h2d(g, j) & schedule.calm(s),
            owner(j) == orchestrator,
        )


def _live_key(draft: Draft, schedule: Schedule) -> None:
    @draft.lemma
    def live_key_is_the_link(g: Gpu, k: Key) -> Formula:
        """The live key is the link key, or the pending one, or a corrupt holder's rotation has not happened yet."""
        return implies(
            attested_live(g) & live_h2d(g, k) & (phase != Phase.SETUP) & schedule.calm(session),
            (k == link_h2d)
            | (during(Phase.ROTATING_OUT, Phase.ROTATING_IN) & (k == pending))
            | (during(*OUT) & corrupt(owner(link_h2d)) & (owner(k) == orchestrator)),
        )

    @draft.lemma
    def link_is_live_at_home(g: Gpu) -> Formula:
        """At home, while the session lives, the link key is live."""
        return implies(attested_live(g) & during(Phase.OPENED, *HOME) & schedule.calm(session), live_h2d(g, link_h2d))

    @draft.lemma
    def link_is_live_out(g: Gpu) -> Formula:
        """Away, while the session lives, an honest holder's key is live until the rotation in."""
        return implies(
            attested_live(g)
            & during(Phase.GRANTING, Phase.AWAY, Phase.BACK, *FENCED_TOO_EARLY)
            & schedule.calm(session),
            live_h2d(g, link_h2d) | corrupt(owner(link_h2d)),
        )

    @draft.lemma
    def granted_keys_were_taken(g: Gpu, a: Agent, k: Key, v: Slot) -> Formula:
        """A key is granted once the GPU took it."""
        here = in_session(g, key_session(k)) & granted(a, k, v)
        return implies(here & schedule.calm(key_session(k)), stale(g, k))

    @draft.lemma
    def live_epoch_was_lent_last(g: Gpu, a: Agent, k: Key, v: Slot) -> Formula:
        """A holder's key that is live was granted last in its session, even if the orchestrator gave the session up."""
        here = live_h2d(g, k) & granted(a, k, v)
        return implies(here & schedule.calm(key_session(k)), lent_last(key_session(k), k))

    @draft.lemma
    def pending_taken_is_live(g: Gpu) -> Formula:
        """Once the GPU took the pending key, it is the live one."""
        rotating = attested_live(g) & during(Phase.ROTATING_OUT, Phase.ROTATING_IN) & schedule.calm(session)
        taken = implies(rotating & stale(g, pending), live_h2d(g, pending))
        waits = rotating & (phase == Phase.ROTATING_OUT) & ~stale(g, pending)
        return taken if schedule.splits else taken & implies(waits, live_h2d(g, link_h2d))
