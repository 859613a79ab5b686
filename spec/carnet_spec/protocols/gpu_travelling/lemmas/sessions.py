"""Sessions, keys, phases and knowledge: whom a session ends at, who can know a key, and what each phase says."""

from __future__ import annotations

from carnet_spec.language import Draft, Formula, implies, used
from carnet_spec.protocols.gpu_travelling.schedules import Schedule
from carnet_spec.protocols.gpu_travelling.vocabulary import *


def session_lemmas(draft: Draft, schedule: Schedule) -> None:
    """Add what a session is and what a report inside it proves."""
    # Ends and first keys.

    @draft.lemma
    def one_session(g: Gpu, s: Session, t: Session) -> Formula:
        """A GPU has one session at a time."""
        return implies(in_session(g, s) & in_session(g, t), s == t)

    @draft.lemma
    def session_ends_here(g: Gpu, s: Session) -> Formula:
        """A session ends at the one genuine GPU that is in it."""
        return implies(in_session(g, s), answered(s) & (ends_at(s) == g) & genuine(g) & occupied(g))

    @draft.lemma
    def attested_is_protected(s: Session) -> Formula:
        """What the orchestrator attested was opened with a genuine GPU in confidential mode."""
        return implies(attested(s), schedule.vouched(s) & orchestrated(s) & answered(s)) & implies(
            protected(s), answered(s) & genuine(ends_at(s)) & orchestrated(s)
        )

    @draft.lemma
    def orchestrated_is_used(s: Session) -> Formula:
        """Sessions of the orchestrator were drawn, and so was whatever was answered."""
        return implies(orchestrated(s) | answered(s), used(s))

    @draft.lemma
    def first_keys(s: Session, k: Key, x: Agent, o: Order) -> Formula:
        """The first key of a session is the orchestrator's; until it is answered nobody else has touched it."""
        untouched = implies(knows_h2d(x, k) | knows_d2h(x, k), x == orchestrator) & ~acknowledged(k, o)
        return implies(
            key_exchange(s, k), used(k) & orchestrated(s) & (key_session(k) == s) & (owner(k) == orchestrator)
        ) & implies(key_exchange(s, k) & ~answered(s), untouched)

    @draft.lemma
    def mode_is_kept(g: Gpu, s: Session) -> Formula:
        """A GPU's mode does not change while a session of the orchestrator lives."""
        return implies(in_session(g, s) & orchestrated(s), implies(protected(s), confidential(g))) & implies(
            in_session(g, s) & orchestrated(s), implies(confidential(g), protected(s))
        )

    @draft.lemma
    def keys_of_sessions(s: Session, j: Key, k: Key) -> Formula:
        """A session has one first key; every other key of the orchestrator's sessions was issued."""
        known = key_exchange(key_session(k), k) | issued(k) | corrupt(owner(k))
        return implies(key_exchange(s, j) & key_exchange(s, k), j == k) & implies(
            used(k) & orchestrated(key_session(k)), known
        )

    @draft.lemma
    def masters_are_kept(x: Agent, s: Session) -> Formula:
        """The master of a protected session is known to nobody else."""
        return implies(knows_master(x, s), answered(s) & ~protected(s))

    # Reports.

    @draft.lemma
    def responder_is_the_end(s: Session, g: Gpu) -> Formula:
        """Only the GPU at the far end can sign the key exchange, unless its device key leaked."""
        return implies(responder(s, g), answered(s) & ((ends_at(s) == g) | leaked(g)))

    @draft.lemma
    def reports_tell_the_mode(g: Gpu, n: Session) -> Formula:
        """A genuine GPU's report for its own session's nonce states its mode."""
        return implies(
            report(g, n, Mode.CONFIDENTIAL) & genuine(g) & ~leaked(g),
            answered(n) & implies(in_session(g, n), confidential(g)),
        )

    @draft.lemma
    def report_inside_binds(s: Session, g: Gpu) -> Formula:
        """A responder's own report, with the session's nonce, inside the session: the session is protected."""
        return implies(
            report_inside(s, g, s, Mode.CONFIDENTIAL) & genuine(g) & ~leaked(g) & responder(s, g) & orchestrated(s),
            protected(s),
        )

    @draft.lemma
    def reports_arrive_in_sessions(s: Session, g: Gpu, n: Session, mode: Mode) -> Formula:
        """Reports arrive inside sessions that were opened."""
        return implies(report_inside(s, g, n, mode), answered(s))


# -- keys --------------------------------------------------------------------------------------------------------------
# Whose they are, which one is live, and who can know one.


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


# -- phases ------------------------------------------------------------------------------------------------------------
# What the orchestrator knows of its session and its link key in each of them.


def phase_lemmas(draft: Draft) -> None:
    """Add what each phase of the orchestrator means."""
    # Session of phase.

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
            active(), attested(session) & used(session) & issued(link_h2d) & (key_session(link_h2d) == session)
        )

    # Link key of phase.

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

    # Pending key of phase.

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


# -- knowledge ---------------------------------------------------------------------------------------------------------
# Honest data is learned only through an epoch whose key leaked.


def knowledge_lemmas(draft: Draft, schedule: Schedule) -> None:
    """Add what the adversary can have learned."""

    @draft.lemma
    def learners(x: Agent, m: Data) -> Formula:
        """Only corrupt agents ever learn what is not theirs."""
        return implies(learned(x, m), corrupt(x))

    @draft.lemma
    def learned_is_exposed(x: Agent, m: Data) -> Formula:
        """Honest data is learned only if an epoch that carried it was revealed."""
        return ~(learned(x, m) & schedule.kept_back(m))

    @draft.lemma
    def exposed_by_past_keys(m: Data) -> Formula:
        """Nothing is exposed unless past keys leak."""
        return implies(exposed(m), past_keys_leak)

    @draft.lemma
    def carried_by_leaked(k: Key, m: Data) -> Formula:
        """What a leaked epoch carried is exposed."""
        return implies(schedule.carried(k, m) & schedule.leaked(k), exposed(m))

    @draft.lemma
    def sent_is_carried(a: Agent, k: Key, v: Slot, m: Data) -> Formula:
        """What was sent under a key, its epoch carried."""
        return implies(sealed(a, k, v, m), schedule.carried(k, m))

    @draft.lemma
    def the_model_goes_home(k: Key, m: Data) -> Formula:
        """The model went home under keys of the job, and no traffic derives from it."""
        return implies(model_sent(k), issued(k)) & implies(traffic(k, m), dataset(m))

    @draft.lemma
    def traffic_is_carried(k: Key, m: Data) -> Formula:
        """What derives from honest data goes home under a key of the orchestrator's or of its owner's epoch."""
        return implies(
            traffic(k, m) & schedule.kept_back(m),
            schedule.carried(k, m) & issued(k) & ((owner(k) == orchestrator) | (owner(k) == data_owner(m))),
        )
