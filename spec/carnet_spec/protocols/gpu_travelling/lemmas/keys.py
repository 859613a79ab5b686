"""Keys: whose they are, which one is live, and who can know one."""

from __future__ import annotations

from carnet_spec.language import Draft, Formula, implies, used
from carnet_spec.protocols.gpu_travelling.lemmas.words import guarded
from carnet_spec.protocols.gpu_travelling.schedules import Schedule
from carnet_spec.protocols.gpu_travelling.vocabulary import (
    Agent,
    Gpu,
    Key,
    Order,
    Session,
    attested,
    corrupt,
    enrolled,
    first,
    forges_d2h,
    forges_h2d,
    in_session,
    issued,
    key_exchange,
    key_session,
    knows_d2h,
    knows_h2d,
    live_d2h,
    live_h2d,
    orchestrated,
    orchestrator,
    ordered,
    owner,
    past_keys_leak,
    rotate_in_order,
    rotate_out_order,
    stale,
    told,
)


def key_lemmas(draft: Draft, schedule: Schedule) -> None:
    """Add whose keys are, and what the schedule says of them."""

    @draft.lemma
    def live_keys_are_the_sessions(g: Gpu, k: Key) -> Formula:
        """A live key belongs to the GPU's session and was accepted."""
        return implies(live_h2d(g, k) | live_d2h(g, k), used(k) & stale(g, k) & in_session(g, key_session(k)))

    @draft.lemma
    def one_live_key(g: Gpu, j: Key, k: Key) -> Formula:
        """A GPU has one live key; away from home it is the same in both directions."""
        away = issued(k) & (owner(k) != orchestrator)
        return implies(live_h2d(g, j) & live_h2d(g, k), j == k) & implies(
            live_h2d(g, k) & live_d2h(g, j) & away, j == k
        )

    @draft.lemma
    def one_live_reply_key(g: Gpu, j: Key, k: Key) -> Formula:
        """So for the device-to-host direction."""
        ours = live_d2h(g, k) & orchestrated(key_session(k))
        known = implies(ours, issued(k) | key_exchange(key_session(k), k)) & implies(
            ours & attested(key_session(k)), issued(k)
        )
        return implies(live_d2h(g, j) & live_d2h(g, k), j == k) & known

    @draft.lemma
    def issued_keys(k: Key) -> Formula:
        """An issued key is of an attested session, and owned by the orchestrator or an enrolled holder."""
        return implies(
            issued(k),
            used(k)
            & used(key_session(k))
            & attested(key_session(k))
            & ((owner(k) == orchestrator) | enrolled(owner(k))),
        )

    @draft.lemma
    def keys_are_owned(k: Key, g: Gpu) -> Formula:
        """Live keys of an attested session are issued; others of the orchestrator's sessions are its own."""
        return implies(live_h2d(g, k) & attested(key_session(k)), issued(k)) & implies(
            live_h2d(g, k) & orchestrated(key_session(k)), issued(k) | (owner(k) == orchestrator)
        )

    @draft.lemma
    def orders_to_rotate(s: Session, k: Key) -> Formula:
        """Orders to rotate are about issued keys of their session, and the first about them."""
        new = issued(k) & (key_session(k) == s) & told(k, first) & ordered(k, first, Order.ROTATE)
        return implies(rotate_out_order(s, k), new & enrolled(owner(k))) & implies(
            rotate_in_order(s, k), new & (owner(k) == orchestrator)
        )

    @draft.lemma
    def leaked_keys_are_dead(g: Gpu, k: Key) -> Formula:
        """A key that leaked after its epoch is live nowhere."""
        return implies(schedule.leaked(k), ~live_h2d(g, k) & ~live_d2h(g, k) & past_keys_leak)

    schedule.lemmas(draft)


def secrecy_lemmas(draft: Draft, schedule: Schedule) -> None:
    """Add who can know a key."""

    @draft.lemma
    def known_keys_are_used(x: Agent, k: Key) -> Formula:
        """Known keys were drawn."""
        return implies(knows_h2d(x, k) | knows_d2h(x, k), used(k))

    @draft.lemma
    def nobody_forges(x: Agent, k: Key) -> Formula:
        """No IV is used twice, so that no authentication key is lost."""
        return ~forges_h2d(x, k) & ~forges_d2h(x, k)

    if not schedule.keys_follow:

        @draft.lemma
        def secret_keys(x: Agent, k: Key) -> Formula:
            """A secret key of a protected session is known to the orchestrator and its owner only."""
            return implies(
                (knows_h2d(x, k) | knows_d2h(x, k)) & guarded(k) & schedule.secret(k),
                (x == orchestrator) | (x == owner(k)),
            )

    @draft.lemma
    def keys_outside_sessions(k: Key) -> Formula:
        """A drawn key is of a session of the orchestrator's, or a corrupt agent's."""
        return implies(used(k), (orchestrated(key_session(k)) & used(key_session(k))) | corrupt(owner(k)))

    @draft.lemma
    def honest_agents_know_their_own(x: Agent, k: Key) -> Formula:
        """Honest agents but the orchestrator know keys granted to them only."""
        return implies((knows_h2d(x, k) | knows_d2h(x, k)) & ~corrupt(x), (x == orchestrator) | (x == owner(k)))
