"""Phases: what the orchestrator knows of its session and its link key in each of them."""

from __future__ import annotations

from carnet_spec.language import Draft, Formula, implies, used
from carnet_spec.protocols.gpu_travelling.lemmas.words import FENCED_TOO_EARLY, HOME, OUT, UNREACHED, active, during
from carnet_spec.protocols.gpu_travelling.vocabulary import (
    Agent,
    Custody,
    Gpu,
    Order,
    Phase,
    Session,
    Slot,
    attested,
    consumed,
    custody,
    done,
    enrolled,
    first,
    granted,
    issued,
    key_exchange,
    key_session,
    lent_key,
    link_d2h,
    link_h2d,
    next_holder,
    orchestrated,
    orchestrator,
    ordered,
    owner,
    pending,
    phase,
    rotate_in_order,
    rotate_out_order,
    session,
    told,
)


def phase_lemmas(draft: Draft) -> None:
    """Add what each phase of the orchestrator means."""
    _session_of_phase(draft)
    _link_key_of_phase(draft)
    _pending_key_of_phase(draft)


def _session_of_phase(draft: Draft) -> None:
    @draft.lemma
    def only_these_phases() -> Formula:
        """The phases of weakened designs are never reached."""
        return ~during(*UNREACHED)

    @draft.lemma
    def setup_is_first(s: Session) -> Formula:
        """Before the first session there is none."""
        return implies(phase == Phase.SETUP, ~orchestrated(s))

    @draft.lemma
    def opened_session(g: Gpu, u: Slot) -> Formula:
        """In a session just opened the link key is the orchestrator's, and nothing was sent."""
        return implies(
            phase == Phase.OPENED,
            used(session)
            & orchestrated(session)
            & key_exchange(session, link_h2d)
            & used(link_h2d)
            & (link_h2d == link_d2h)
            & (key_session(link_h2d) == session)
            & (owner(link_h2d) == orchestrator)
            & ~attested(session)
            & ~consumed(link_h2d, u)
            & (custody == Custody.NONE)
            & (lent_key == link_h2d),
        )

    @draft.lemma
    def active_session() -> Formula:
        """An active session is attested, and its link key issued in it."""
        return implies(
            active(),
            attested(session) & used(session) & issued(link_h2d) & (key_session(link_h2d) == session),
        )


def _link_key_of_phase(draft: Draft) -> None:
    @draft.lemma
    def home_key() -> Formula:
        """At home the link key is the orchestrator's."""
        return implies(during(*HOME, Phase.ROTATING_OUT), owner(link_h2d) == orchestrator)

    @draft.lemma
    def holder_key() -> Formula:
        """Away from home the link key is the next holder's, and it is the one lent."""
        return implies(during(*OUT), (owner(link_h2d) == next_holder) & enrolled(next_holder)) & implies(
            during(Phase.AWAY, Phase.BACK, *FENCED_TOO_EARLY, Phase.ROTATING_IN), lent_key == link_h2d
        )

    @draft.lemma
    def lent_key_is_issued() -> Formula:
        """After a custody the lent key is known, and in the phases before the next one whose it was."""
        return implies(
            active() & (custody != Custody.NONE) & (phase != Phase.AWAY),
            issued(lent_key) & (key_session(lent_key) == session) & enrolled(owner(lent_key)),
        )

    @draft.lemma
    def nothing_lent_at_first() -> Formula:
        """Before the session's first custody, what stands for the lent key is the orchestrator's own."""
        at_first = active() & (custody == Custody.NONE) & (phase != Phase.AWAY)
        return implies(at_first, issued(lent_key) & (owner(lent_key) == orchestrator))


def _pending_key_of_phase(draft: Draft) -> None:
    @draft.lemma
    def pending_out(a: Agent, v: Slot) -> Formula:
        """The key a rotation out goes to is the next holder's and ungranted."""
        return implies(
            phase == Phase.ROTATING_OUT,
            issued(pending)
            & (key_session(pending) == session)
            & (owner(pending) == next_holder)
            & enrolled(next_holder)
            & rotate_out_order(session, pending)
            & ~granted(a, pending, v)
            & ~consumed(pending, v),
        )

    @draft.lemma
    def nothing_ordered_at_first(v: Slot, o: Order) -> Formula:
        """About an epoch that was just begun, or is about to begin, nothing but the rotation was ordered or done."""
        rotating = during(Phase.ROTATING_OUT, Phase.ROTATING_IN)
        new = implies(rotating, implies(told(pending, v), v == first)) & implies(
            rotating & (o != Order.ROTATE), ~ordered(pending, v, o) & ~done(pending, o)
        )
        begun = during(Phase.OPENED, Phase.ROTATED_IN) & (o != Order.ROTATE)
        return new & implies(begun, ~ordered(link_h2d, v, o) & ~done(link_h2d, o))

    @draft.lemma
    def pending_in(v: Slot) -> Formula:
        """The key a rotation in goes to is the orchestrator's and unused."""
        return implies(
            phase == Phase.ROTATING_IN,
            issued(pending)
            & (key_session(pending) == session)
            & (owner(pending) == orchestrator)
            & rotate_in_order(session, pending)
            & ~consumed(pending, v),
        )

    @draft.lemma
    def unsent_at_first(v: Slot, a: Agent) -> Formula:
        """A key that was just rotated to has protected no message of the orchestrator's, and is not granted yet."""
        return implies(
            during(Phase.ROTATED_IN, Phase.FENCING, Phase.FENCED, Phase.GRANTING, Phase.AWAY), ~consumed(link_h2d, v)
        ) & implies(phase == Phase.GRANTING, ~granted(a, link_h2d, v))
