"""Lemmas about sessions, keys, phases, epochs and orders: who can know a key, and what a report proves."""

from carnet_spec.language import Draft, Formula, all_of, any_of, exists, implies, used
from carnet_spec.protocols.gpu_travelling.schedules import Schedule
from carnet_spec.protocols.gpu_travelling.vocabulary import *


def session_lemmas(draft: Draft, schedule: Schedule) -> None:
    """Add the lemmas about sessions, and about what a report inside one proves."""
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
        return implies(attested(s), schedule.known_about_far_end(s) & orchestrated(s) & answered(s)) & implies(
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
    """Add the lemmas about owners of keys, and about the key schedule."""

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
        return implies(schedule.has_leaked(k), ~live_h2d(g, k) & ~live_d2h(g, k) & past_keys_leak)

    schedule.lemmas(draft)


def secrecy_lemmas(draft: Draft, schedule: Schedule) -> None:
    """Add the lemmas about who can know a key."""

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
    """Add the lemmas about the phases of the orchestrator."""
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
    """Add the lemmas about the adversary's possible knowledge."""

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
        return implies(schedule.is_sent_under(k, m) & schedule.has_leaked(k), exposed(m))

    @draft.lemma
    def sent_is_carried(a: Agent, k: Key, v: Slot, m: Data) -> Formula:
        """What was sent under a key, its epoch carried."""
        return implies(sealed(a, k, v, m), schedule.is_sent_under(k, m))

    @draft.lemma
    def the_model_goes_home(k: Key, m: Data) -> Formula:
        """The model went home under keys of the job, and no traffic derives from it."""
        return implies(model_sent(k), issued(k)) & implies(traffic(k, m), dataset(m))

    @draft.lemma
    def traffic_is_carried(k: Key, m: Data) -> Formula:
        """What derives from honest data goes home under a key of the orchestrator's or of its owner's epoch."""
        return implies(
            traffic(k, m) & schedule.kept_back(m),
            schedule.is_sent_under(k, m) & issued(k) & ((owner(k) == orchestrator) | (owner(k) == data_owner(m))),
        )


# -- epochs ------------------------------------------------------------------------------------------------------------
# Epochs, counters, orders and acknowledgements: which key is newest, which order is pending, and what one proves.


def epoch_lemmas(draft: Draft, schedule: Schedule) -> None:
    """Add the lemmas about the order of epochs, of orders and of live keys."""
    # Order of epochs.

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

    # Pending orders.

    @draft.lemma
    def pending_order_out_is_now(g: Gpu, k: Key) -> Formula:
        """A rotation out that the GPU would still take is the one under way, or a corrupt holder forged its end."""
        return implies(
            attested_live(g)
            & rotate_out_order(session, k)
            & ~stale(g, k)
            & (phase != Phase.SETUP)
            & schedule.is_secret(session),
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
            & schedule.is_secret(session),
            (phase == Phase.ROTATING_IN) & (k == pending),
        )

    @draft.lemma
    def one_pending_out(g: Gpu, s: Session, j: Key, k: Key) -> Formula:
        """A GPU would still take one rotation out at most."""
        first_one = rotate_out_order(s, j) & ~stale(g, j) & schedule.is_secret(s)
        return implies(in_session(g, s) & first_one & rotate_out_order(s, k) & ~stale(g, k), j == k)

    @draft.lemma
    def pending_out_finds_it_clean(g: Gpu, s: Session, k: Key, m: Data) -> Formula:
        """While a GPU would still take a rotation out, its regions are empty and nothing is planted."""
        return implies(
            in_session(g, s) & rotate_out_order(s, k) & ~stale(g, k) & schedule.is_secret(s),
            ~resident(g, m) & ~planted(g) & ~context(g),
        )

    @draft.lemma
    def pending_out_finds_it_home(g: Gpu, s: Session, k: Key, j: Key) -> Formula:
        """While a GPU would still take a rotation out, its live key is the orchestrator's."""
        return implies(
            in_session(g, s) & rotate_out_order(s, k) & ~stale(g, k) & live_h2d(g, j) & schedule.is_secret(s),
            owner(j) == orchestrator,
        )

    # Live key.

    @draft.lemma
    def live_key_is_the_link(g: Gpu, k: Key) -> Formula:
        """The live key is the link key, or the pending one, or a corrupt holder's rotation has not happened yet."""
        return implies(
            attested_live(g) & live_h2d(g, k) & (phase != Phase.SETUP) & schedule.is_secret(session),
            (k == link_h2d)
            | (during(Phase.ROTATING_OUT, Phase.ROTATING_IN) & (k == pending))
            | (during(*OUT) & corrupt(owner(link_h2d)) & (owner(k) == orchestrator)),
        )

    @draft.lemma
    def link_is_live_at_home(g: Gpu) -> Formula:
        """At home, while the session lives, the link key is live."""
        return implies(
            attested_live(g) & during(Phase.OPENED, *HOME) & schedule.is_secret(session), live_h2d(g, link_h2d)
        )

    @draft.lemma
    def link_is_live_out(g: Gpu) -> Formula:
        """Away, while the session lives, an honest holder's key is live until the rotation in."""
        return implies(
            attested_live(g)
            & during(Phase.GRANTING, Phase.AWAY, Phase.BACK, *FENCED_TOO_EARLY)
            & schedule.is_secret(session),
            live_h2d(g, link_h2d) | corrupt(owner(link_h2d)),
        )

    @draft.lemma
    def granted_keys_were_taken(g: Gpu, a: Agent, k: Key, v: Slot) -> Formula:
        """A key is granted once the GPU took it."""
        here = in_session(g, key_session(k)) & granted(a, k, v)
        return implies(here & schedule.is_secret(key_session(k)), stale(g, k))

    @draft.lemma
    def live_epoch_was_lent_last(g: Gpu, a: Agent, k: Key, v: Slot) -> Formula:
        """A holder's key that is live was granted last in its session, even if the orchestrator gave the session up."""
        here = live_h2d(g, k) & granted(a, k, v)
        return implies(here & schedule.is_secret(key_session(k)), lent_last(key_session(k), k))

    @draft.lemma
    def pending_taken_is_live(g: Gpu) -> Formula:
        """Once the GPU took the pending key, it is the live one."""
        rotating = attested_live(g) & during(Phase.ROTATING_OUT, Phase.ROTATING_IN) & schedule.is_secret(session)
        taken = implies(rotating & stale(g, pending), live_h2d(g, pending))
        waits = rotating & (phase == Phase.ROTATING_OUT) & ~stale(g, pending)
        return taken if schedule.splits else taken & implies(waits, live_h2d(g, link_h2d))


# -- counters ----------------------------------------------------------------------------------------------------------
# Sent and received values, and the numbers of orders, have no gaps and never start again under one key.


def counter_lemmas(draft: Draft, schedule: Schedule) -> None:
    """Add the lemmas about the counters at both ends."""

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
        later = told(k, v) & (v != first) & in_session(g, key_session(k)) & schedule.is_secret(key_session(k))
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
            consumed(k, v)
            & (owner(k) == orchestrator)
            & in_session(g, key_session(k))
            & schedule.is_secret(key_session(k)),
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


# -- orders ------------------------------------------------------------------------------------------------------------
# Each is given once in its epoch, the firmware carries out all of them, and one at most is under way.

#: The phases in which the orchestrator waits for a report on an order about the link's epoch.
WAITING = {
    Phase.FENCING: Order.FENCE,
    Phase.CHECKING: Order.READ_BACK,
    Phase.TRAINING: Order.TRAIN,
    Phase.SAVING: Order.SAVE,
    Phase.SCRUBBING: Order.SCRUB,
    Phase.FENCING_EARLY: Order.FENCE,
}

GIVEN = (Order.ROTATE, *dict.fromkeys(WAITING.values()))  #: All that is ever ordered.


def order_lemmas(draft: Draft, schedule: Schedule) -> None:
    """Add the lemmas about orders to the firmware and their execution."""
    # Given.

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

    # Carried out.

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
        return implies(attested_live(g) & left & schedule.is_secret(session), rotating | (asked & (k == link_h2d)))

    @draft.lemma
    def orders_left_are_of_the_live_epoch(g: Gpu, k: Key, v: Slot, o: Order) -> Formula:
        """No order but a rotation outlives its epoch."""
        left = ordered(k, v, o) & ~heard(g, k, v) & (o != Order.ROTATE) & in_session(g, key_session(k))
        return implies(left & guarded(k) & schedule.is_secret(key_session(k)), live_h2d(g, k))

    @draft.lemma
    def one_order_left(g: Gpu, j: Key, k: Key, u: Slot, v: Slot, o: Order, q: Order) -> Formula:
        """So in a session that the orchestrator gave up: one order at most was left."""
        home = key_session(k)
        left = ordered(j, u, o) & ~heard(g, j, u) & ordered(k, v, q) & ~heard(g, k, v)
        here = in_session(g, home) & (key_session(j) == home) & guarded(k) & schedule.is_secret(home)
        return implies(left & here, (j == k) & (u == v))


def _was_given(order: Order) -> Formula:
    """Whether the order was given in the link's epoch."""
    return exists(lambda v: ordered(link_h2d, v, order), Slot)


# -- acknowledgements --------------------------------------------------------------------------------------------------
# Under a secret key one proves the deed, and the deeds come in order.


def acknowledgement_lemmas(draft: Draft, schedule: Schedule) -> None:
    """Add the lemmas about what an acknowledgement proves."""

    @draft.lemma
    def acknowledgements_are_true(k: Key, o: Order) -> Formula:
        """A report inside a protected session was made by the firmware, after the deed."""
        return implies(acknowledged(k, o), used(k) & answered(key_session(k))) & implies(
            acknowledged(k, o) & guarded(k), done(k, o)
        )

    @draft.lemma
    def reports_are_of_deeds(k: Key, n: Version, c: Key, v: Slot) -> Formula:
        """So were the digests and counters in it."""
        read = implies((digested(k, n) | counted(k, c, v)) & guarded(k), done(k, Order.READ_BACK))
        reported = counted(k, c, v) | digested(k, n) | trained_to(k, n) | sent_as(k, n)
        late = implies(reported, used(k) & answered(key_session(k)))
        trained = implies(trained_to(k, n) & guarded(k), done(k, Order.TRAIN))
        return late & read & trained & implies(sent_as(k, n) & guarded(k), done(k, Order.SAVE))

    @draft.lemma
    def deeds(g: Gpu, k: Key, o: Order) -> Formula:
        """What the GPU did in an epoch, it did once it had taken the key."""
        return implies(done(k, o), used(k) & answered(key_session(k))) & implies(
            done(k, o) & in_session(g, key_session(k)), stale(g, k)
        )

    @draft.lemma
    def fenced_first(g: Gpu, k: Key, v: Slot, o: Order) -> Formula:
        """Every order but the fence, and the rotation before it, comes after the fence was done."""
        later = ordered(k, v, o) & (o != Order.FENCE) & (o != Order.ROTATE)
        return implies(later & live_h2d(g, k) & schedule.is_secret(key_session(k)), done(k, Order.FENCE))

    @draft.lemma
    def checked_first(g: Gpu, k: Key, v: Slot, o: Order) -> Formula:
        """Training, and what comes after it, is ordered only once the code was found good, and nothing else running."""
        late = (o == Order.TRAIN) | (o == Order.SAVE) | (o == Order.SCRUB)
        return implies(ordered(k, v, o) & late & live_h2d(g, k) & schedule.is_secret(key_session(k)), checked(k))

    @draft.lemma
    def fenced_at_home(g: Gpu) -> Formula:
        """From the acknowledged fence on, the fence was done."""
        later = (Phase.FENCED, Phase.UPLOADED, Phase.CHECKING, *CHECKED)
        return implies(attested_live(g) & during(*later) & schedule.is_secret(session), done(link_h2d, Order.FENCE))

    @draft.lemma
    def code_checked_at_home(g: Gpu) -> Formula:
        """From the check on, the code was good, and nothing else ran."""
        return implies(attested_live(g) & during(*CHECKED) & schedule.is_secret(session), checked(link_h2d))

    @draft.lemma
    def scrubbed_at_home(g: Gpu) -> Formula:
        """Clean means that the scrub was done."""
        return implies(
            attested_live(g) & (phase == Phase.CLEAN) & schedule.is_secret(session), done(link_h2d, Order.SCRUB)
        )

    @draft.lemma
    def not_checked_yet(g: Gpu, v: Slot, n: Version) -> Formula:
        """Until digests are ordered, there is none."""
        early = during(Phase.OPENED, Phase.ROTATED_IN, Phase.FENCING, Phase.FENCED, Phase.UPLOADED)
        rotating = during(Phase.ROTATING_OUT, Phase.ROTATING_IN)
        found = any_of(*(done(link_h2d, order) for order in (Order.READ_BACK, Order.CODE_GOOD, Order.NO_CONTEXT)))
        return (
            implies(early, ~ordered(link_h2d, v, Order.READ_BACK) & ~found)
            & implies(early & protected(session), ~digested(link_h2d, n))
            & implies(rotating & schedule.is_secret(session), ~digested(pending, n))
        )

    @draft.lemma
    def one_check(k: Key, u: Slot, v: Slot) -> Formula:
        """In each epoch digests are ordered once."""
        return implies(ordered(k, u, Order.READ_BACK) & ordered(k, v, Order.READ_BACK), u == v)

    @draft.lemma
    def checked_once(g: Gpu, k: Key, v: Slot, n: Version) -> Formula:
        """The report is of one moment: once any of it is made, the order for it was carried out."""
        found = done(k, Order.CODE_GOOD) | done(k, Order.NO_CONTEXT)
        reported = found | (digested(k, n) & guarded(k))
        return implies(reported & live_h2d(g, k) & ordered(k, v, Order.READ_BACK), heard(g, k, v))

    @draft.lemma
    def not_scrubbed_yet(v: Slot) -> Formula:
        """Before it is ordered, the scrub is neither sent nor done."""
        early = (Phase.OPENED, *BEFORE_CHECK, Phase.VERIFIED, Phase.TRAINING, Phase.TRAINED, Phase.SAVING, Phase.SAVED)
        return implies(during(*early), ~ordered(link_h2d, v, Order.SCRUB) & ~done(link_h2d, Order.SCRUB))

    @draft.lemma
    def training_before_scrub(k: Key, u: Slot, v: Slot) -> Formula:
        """Training is ordered before the scrub."""
        return implies(ordered(k, u, Order.SCRUB) & ordered(k, v, Order.TRAIN), before(v, u))

    @draft.lemma
    def no_training_after_scrub(g: Gpu, k: Key, v: Slot) -> Formula:
        """Once the scrub is done, every training order of its epoch was carried out already."""
        return implies(done(k, Order.SCRUB) & live_h2d(g, k) & ordered(k, v, Order.TRAIN), heard(g, k, v))
