"""Lemmas: what makes the claims inductive, for any number of parties, GPUs, sessions, keys, messages and rounds.

They are stated without any axiom about who is corrupt, so that one proof serves every threat model. Read top-down
they are the argument: what a session, a key and an epoch are; who can know a key; when an order is pending; what an
acknowledgement under a secret key proves; where data can be.
"""

from __future__ import annotations

from carnet_spec.language import Draft, Formula, any_of, implies, used
from carnet_spec.protocols.gpu_travelling.schedules import Schedule
from carnet_spec.protocols.gpu_travelling.vocabulary import (
    Agent,
    Custody,
    Data,
    Gpu,
    Key,
    Mode,
    Order,
    Phase,
    Session,
    Slot,
    accepted,
    accepted_twice,
    acknowledged,
    admitted,
    answered,
    attested,
    attested_live,
    before,
    channel,
    confidential,
    consumed,
    context,
    corrupt,
    count,
    counted,
    custody,
    data_owner,
    dataset,
    done,
    ends_at,
    enrolled,
    enrolment_proof,
    exposed,
    finished,
    first,
    gave_back,
    genuine,
    granted,
    holds_model,
    honest_data,
    in_session,
    issued,
    key_exchange,
    key_session,
    knows_d2h,
    knows_h2d,
    knows_master,
    learned,
    lent_key,
    link_d2h,
    link_h2d,
    live_d2h,
    live_h2d,
    made_by,
    next_holder,
    occupied,
    offer,
    older,
    orchestrated,
    orchestrator,
    ordered,
    owner,
    past_keys_leak,
    pending,
    phase,
    planted,
    protected,
    received,
    replied,
    report,
    report_inside,
    resident,
    responder,
    returned,
    rotate_in_order,
    rotate_out_order,
    sealed,
    session,
    some_holder_corrupt,
    spent,
    stale,
    stash,
    supplied,
    taken,
    taken_slot,
    tampered,
    took_grant,
    traffic,
    transmitted,
)


def state_lemmas(draft: Draft, schedule: Schedule) -> None:
    """Add the lemmas to ``draft``."""
    _sessions(draft)
    _keys(draft, schedule)
    _phases(draft)
    _epochs(draft, schedule)
    _secrecy(draft, schedule)
    _grants(draft)
    _counters(draft, schedule)
    _acknowledgements(draft, schedule)
    _memory(draft, schedule)
    _agreement(draft, schedule)
    _knowledge(draft, schedule)


def during(*phases: Phase) -> Formula:
    """Whether the orchestrator is in one of ``phases``."""
    return any_of(*(phase == each for each in phases))


def active() -> Formula:
    """Whether the orchestrator has attested its session."""
    return (phase != Phase.SETUP) & (phase != Phase.OPENED)


BEFORE_CHECK = (Phase.ROTATED_IN, Phase.FENCING, Phase.FENCED, Phase.UPLOADED, Phase.CHECKING)
CHECKED = (Phase.VERIFIED, Phase.TRAINING, Phase.TRAINED, Phase.SCRUBBING, Phase.CLEAN)
HOME = BEFORE_CHECK + CHECKED
OUT = (Phase.GRANTING, Phase.AWAY, Phase.BACK, Phase.ROTATING_IN)
UNREACHED = (Phase.CHECKED, Phase.ROTATING_LATE, Phase.FENCING_EARLY, Phase.FENCED_EARLY)


def guarded(key: Key) -> Formula:
    """Whether the key is of a session that the orchestrator opened with a protected GPU."""
    return protected(key_session(key)) & orchestrated(key_session(key))


def _sessions(draft: Draft) -> None:
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
        return implies(attested(s), protected(s) & orchestrated(s)) & implies(
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
            key_exchange(s, k),
            used(k) & orchestrated(s) & (key_session(k) == s) & (owner(k) == orchestrator),
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

    @draft.lemma
    def responder_is_the_end(s: Session, g: Gpu) -> Formula:
        """Only the GPU at the far end can sign the key exchange."""
        return implies(responder(s, g), answered(s) & (ends_at(s) == g))

    @draft.lemma
    def reports_tell_the_mode(g: Gpu, n: Session) -> Formula:
        """A genuine GPU's report for its own session's nonce states its mode."""
        return implies(
            report(g, n, Mode.CONFIDENTIAL) & genuine(g), answered(n) & implies(in_session(g, n), confidential(g))
        )

    @draft.lemma
    def report_inside_binds(s: Session, g: Gpu) -> Formula:
        """A responder's own report, with the session's nonce, inside the session: the session is protected."""
        return implies(
            report_inside(s, g, s, Mode.CONFIDENTIAL) & genuine(g) & responder(s, g) & orchestrated(s), protected(s)
        )

    @draft.lemma
    def reports_arrive_in_sessions(s: Session, g: Gpu, n: Session, mode: Mode) -> Formula:
        """Reports arrive inside sessions that were opened."""
        return implies(report_inside(s, g, n, mode), answered(s))


def _keys(draft: Draft, schedule: Schedule) -> None:
    @draft.lemma
    def live_keys_are_the_sessions(g: Gpu, k: Key) -> Formula:
        """A live key belongs to the GPU's session and was accepted."""
        return implies(live_h2d(g, k) | live_d2h(g, k), used(k) & stale(g, k) & in_session(g, key_session(k)))

    @draft.lemma
    def one_live_key(g: Gpu, j: Key, k: Key) -> Formula:
        """A GPU has one live key, the same in both directions."""
        return implies(live_h2d(g, j) & live_h2d(g, k), j == k) & implies(live_h2d(g, k), live_d2h(g, k))

    @draft.lemma
    def one_live_reply_key(g: Gpu, j: Key, k: Key) -> Formula:
        """So for the device-to-host direction."""
        return implies(live_d2h(g, j) & live_d2h(g, k), j == k) & implies(live_d2h(g, k), live_h2d(g, k))

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
        """Orders to rotate are about issued keys of their session."""
        return implies(rotate_out_order(s, k), issued(k) & (key_session(k) == s) & enrolled(owner(k))) & implies(
            rotate_in_order(s, k), issued(k) & (key_session(k) == s) & (owner(k) == orchestrator)
        )

    @draft.lemma
    def leaked_keys_are_dead(g: Gpu, k: Key) -> Formula:
        """A key that leaked after its epoch is live nowhere."""
        return implies(schedule.leaked(k), ~live_h2d(g, k) & ~live_d2h(g, k) & past_keys_leak)

    schedule.lemmas(draft)


def _phases(draft: Draft) -> None:
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
            & (custody == Custody.NONE),
        )

    @draft.lemma
    def active_session() -> Formula:
        """An active session is attested, and its link key issued in it."""
        return implies(
            active(),
            attested(session)
            & used(session)
            & issued(link_h2d)
            & (link_h2d == link_d2h)
            & (key_session(link_h2d) == session),
        )

    @draft.lemma
    def home_key() -> Formula:
        """At home the link key is the orchestrator's."""
        return implies(during(*HOME, Phase.ROTATING_OUT), owner(link_h2d) == orchestrator)

    @draft.lemma
    def holder_key() -> Formula:
        """Away from home the link key is the next holder's, and it is the one lent."""
        return implies(during(*OUT), (owner(link_h2d) == next_holder) & enrolled(next_holder)) & implies(
            during(Phase.AWAY, Phase.BACK, Phase.ROTATING_IN), lent_key == link_h2d
        )

    @draft.lemma
    def lent_key_is_issued() -> Formula:
        """After a custody the lent key is known, and in the phases before the next one whose it was."""
        return implies(
            active() & (custody != Custody.NONE) & (phase != Phase.AWAY),
            issued(lent_key) & (key_session(lent_key) == session) & enrolled(owner(lent_key)),
        )

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
        return implies(during(Phase.ROTATED_IN, Phase.GRANTING), ~consumed(link_h2d, v)) & implies(
            phase == Phase.GRANTING, ~granted(a, link_h2d, v)
        )


def _epochs(draft: Draft, schedule: Schedule) -> None:
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
        first_one = rotate_out_order(s, j) & ~stale(g, j)
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
            in_session(g, s) & rotate_out_order(s, k) & ~stale(g, k) & live_h2d(g, j), owner(j) == orchestrator
        )

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
            attested_live(g) & during(Phase.GRANTING, Phase.AWAY, Phase.BACK),
            live_h2d(g, link_h2d) | corrupt(owner(link_h2d)),
        )

    @draft.lemma
    def pending_taken_is_live(g: Gpu) -> Formula:
        """Once the GPU took the pending key, it is the live one."""
        rotating = during(Phase.ROTATING_OUT, Phase.ROTATING_IN)
        return implies(attested_live(g) & rotating & stale(g, pending), live_h2d(g, pending)) & implies(
            attested_live(g) & (phase == Phase.ROTATING_OUT) & ~stale(g, pending), live_h2d(g, link_h2d)
        )


def _secrecy(draft: Draft, schedule: Schedule) -> None:
    @draft.lemma
    def known_keys_are_used(x: Agent, k: Key) -> Formula:
        """Known keys were drawn."""
        return implies(knows_h2d(x, k) | knows_d2h(x, k), used(k))

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


def _grants(draft: Draft) -> None:
    @draft.lemma
    def channels_end_at_the_orchestrator(a: Agent, p: Agent) -> Formula:
        """A channel that an honest holder attested ends at the orchestrator."""
        return implies(channel(a, p), (p == orchestrator) & ~corrupt(a) & enrolled(a))

    @draft.lemma
    def admitted_ends(a: Agent, p: Agent) -> Formula:
        """An admitted channel ends at the holder, or both ends are corrupt."""
        theirs = (p == a) | (corrupt(a) & corrupt(p))
        return implies(enrolment_proof(a, p), theirs) & implies(admitted(a, p), theirs & enrolled(a))

    @draft.lemma
    def grants(a: Agent, b: Agent, k: Key, v: Slot, w: Slot) -> Formula:
        """A key is granted to its owner, once, from the first counter value."""
        return implies(granted(a, k, v), (owner(k) == a) & issued(k) & enrolled(a) & (v == first))

    @draft.lemma
    def offers(p: Agent, q: Agent, k: Key, v: Slot) -> Formula:
        """What the orchestrator offers was granted to whom it goes to, or both are corrupt; others are corrupt."""
        theirs = granted(owner(k), k, v) & ((q == owner(k)) | (corrupt(q) & corrupt(owner(k))))
        return implies(offer(p, q, k, v), ((p == orchestrator) & theirs) | corrupt(p))

    @draft.lemma
    def acceptances(a: Agent, p: Agent, k: Key, v: Slot) -> Formula:
        """An honest holder accepts what was granted to it, on its attested channel."""
        return implies(accepted(a, p, k, v), ~corrupt(a) & offer(p, a, k, v) & channel(a, p) & took_grant(a, k))

    @draft.lemma
    def accepted_once(a: Agent, k: Key) -> Formula:
        """A grant is accepted once."""
        return implies(took_grant(a, k), accepted(a, orchestrator, k, first)) & ~accepted_twice(a, k)

    @draft.lemma
    def senders(a: Agent, k: Key, v: Slot, m: Data) -> Formula:
        """A holder sends its own data under keys granted to it, one chunk for each counter value."""
        return implies(
            sealed(a, k, v, m),
            ~corrupt(a)
            & (owner(k) == a)
            & granted(a, k, first)
            & spent(a, k, v)
            & supplied(a, k, m)
            & (data_owner(m) == a)
            & dataset(m),
        )

    @draft.lemma
    def spenders(a: Agent, k: Key, u: Slot, v: Slot) -> Formula:
        """Counter values are spent in order, under accepted grants."""
        return implies(spent(a, k, v), accepted(a, orchestrator, k, first) & implies(before(u, v), spent(a, k, u)))


def _counters(draft: Draft, schedule: Schedule) -> None:
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


def _acknowledgements(draft: Draft, schedule: Schedule) -> None:
    @draft.lemma
    def acknowledgements_are_true(k: Key, o: Order) -> Formula:
        """An acknowledgement under a secret key of a protected session was made by the GPU, after the deed."""
        return implies(acknowledged(k, o), used(k)) & implies(
            acknowledged(k, o) & guarded(k) & schedule.secret(k), done(k, o) | (o == Order.READ_BACK)
        )

    @draft.lemma
    def deeds(g: Gpu, k: Key, o: Order) -> Formula:
        """What the GPU did for a key, it did on an order under that key; a rotation it did when it took it."""
        return implies(
            done(k, o), used(k) & answered(key_session(k)) & ((o == Order.ROTATE) | consumed(k, first))
        ) & implies(done(k, Order.ROTATE) & in_session(g, key_session(k)), stale(g, k))

    @draft.lemma
    def fenced_first(g: Gpu, k: Key, v: Slot, o: Order) -> Formula:
        """Every order but the fence comes after the fence was done."""
        return implies(
            ordered(k, v, o) & (o != Order.FENCE) & live_h2d(g, k) & schedule.calm(key_session(k)), done(k, Order.FENCE)
        )

    @draft.lemma
    def fenced_at_home(g: Gpu) -> Formula:
        """From the acknowledged fence on, the fence was done."""
        later = (Phase.FENCED, Phase.UPLOADED, Phase.CHECKING, *CHECKED)
        return implies(attested_live(g) & during(*later) & schedule.calm(session), done(link_h2d, Order.FENCE))

    @draft.lemma
    def checked_at_home(g: Gpu) -> Formula:
        """From the check on, code and model were good."""
        return implies(
            attested_live(g) & during(*CHECKED) & schedule.calm(session),
            done(link_h2d, Order.CODE_GOOD) & done(link_h2d, Order.MODEL_GOOD),
        )

    @draft.lemma
    def scrubbed_at_home(g: Gpu) -> Formula:
        """Clean means that the scrub was done."""
        return implies(attested_live(g) & (phase == Phase.CLEAN) & schedule.calm(session), done(link_h2d, Order.SCRUB))

    @draft.lemma
    def not_scrubbed_yet(v: Slot) -> Formula:
        """Before it is ordered, the scrub is neither sent nor done."""
        early = (Phase.OPENED, *BEFORE_CHECK, Phase.VERIFIED, Phase.TRAINING, Phase.TRAINED)
        return implies(during(*early), ~ordered(link_h2d, v, Order.SCRUB) & ~done(link_h2d, Order.SCRUB))

    @draft.lemma
    def training_before_scrub(k: Key, u: Slot, v: Slot) -> Formula:
        """Training is ordered before the scrub."""
        return implies(ordered(k, u, Order.SCRUB) & ordered(k, v, Order.TRAIN), before(v, u))

    @draft.lemma
    def no_training_after_scrub(g: Gpu, k: Key, v: Slot) -> Formula:
        """Once the scrub is done, every training order of its epoch was carried out already."""
        return implies(done(k, Order.SCRUB) & live_h2d(g, k) & ordered(k, v, Order.TRAIN), received(g, k, v))


def _memory(draft: Draft, schedule: Schedule) -> None:
    @draft.lemma
    def fence_holds(g: Gpu, k: Key) -> Formula:
        """After the fence, and while that key is live, nothing else runs."""
        return implies(
            done(k, Order.FENCE)
            & live_h2d(g, k)
            & (owner(k) == orchestrator)
            & guarded(k)
            & schedule.calm(key_session(k)),
            ~context(g),
        )

    @draft.lemma
    def code_stays_good(g: Gpu, k: Key) -> Formula:
        """After the check, and while that key is live, no code is planted."""
        return implies(
            done(k, Order.CODE_GOOD)
            & live_h2d(g, k)
            & (owner(k) == orchestrator)
            & guarded(k)
            & schedule.calm(key_session(k)),
            ~planted(g) & done(k, Order.FENCE),
        )

    @draft.lemma
    def model_stays_good(g: Gpu, k: Key) -> Formula:
        """After the check, and while that key is live, the model is not altered."""
        return implies(
            done(k, Order.MODEL_GOOD)
            & live_h2d(g, k)
            & (owner(k) == orchestrator)
            & guarded(k)
            & schedule.calm(key_session(k)),
            ~tampered(g),
        )

    @draft.lemma
    def scrub_holds(g: Gpu, k: Key, m: Data) -> Formula:
        """After the scrub, and while that key is live, buffer and workspace are empty."""
        return implies(
            done(k, Order.SCRUB)
            & live_h2d(g, k)
            & (owner(k) == orchestrator)
            & guarded(k)
            & schedule.calm(key_session(k)),
            ~resident(g, m),
        )

    @draft.lemma
    def honest_epochs_are_clean(g: Gpu, k: Key) -> Formula:
        """While an honest holder's key is live, nothing is planted and nothing left running."""
        return implies(
            live_h2d(g, k) & issued(k) & (owner(k) != orchestrator) & ~corrupt(owner(k)), ~planted(g) & ~context(g)
        )

    @draft.lemma
    def resident_with_whose_key(g: Gpu, k: Key, m: Data) -> Formula:
        """Where honest data is resident, the live key is the orchestrator's or its owner's."""
        return implies(
            resident(g, m) & honest_data(m) & live_h2d(g, k),
            issued(k) & ((owner(k) == orchestrator) | (owner(k) == data_owner(m))),
        )

    @draft.lemma
    def resident_is_data(g: Gpu, m: Data) -> Formula:
        """Only datasets are in the regions, and nothing honest in hiding."""
        return implies(resident(g, m) | stash(g, m), dataset(m)) & ~(stash(g, m) & honest_data(m))

    @draft.lemma
    def idle_memory_is_clean(g: Gpu) -> Formula:
        """A GPU in confidential mode without a session holds nothing."""
        return implies(confidential(g) & ~occupied(g), ~planted(g) & ~context(g))

    @draft.lemma
    def model_is_in_attested_sessions(g: Gpu, s: Session) -> Formula:
        """The model is on a GPU only in a session that was attested."""
        return implies(holds_model(g), occupied(g) & genuine(g) & confidential(g)) & implies(
            holds_model(g) & in_session(g, s), attested(s)
        )

    @draft.lemma
    def implants_beside_the_model(g: Gpu) -> Formula:
        """Beside the model only a corrupt holder can have planted anything."""
        return implies(holds_model(g) & (planted(g) | context(g)), some_holder_corrupt)

    @draft.lemma
    def implants_come_from_corrupt_holders(g: Gpu, s: Session) -> Formula:
        """In an attested session only a corrupt holder can have planted anything."""
        return implies((planted(g) | context(g)) & in_session(g, s) & protected(s), some_holder_corrupt)


def _agreement(draft: Draft, schedule: Schedule) -> None:
    @draft.lemma
    def honest_returns(a: Agent, k: Key, n: Slot, u: Slot) -> Formula:
        """An honest holder's return states exactly what it sent, and it sends nothing more."""
        return implies(
            gave_back(a, k, n), finished(a, k) & ~spent(a, k, n) & implies(before(u, n), spent(a, k, u))
        ) & implies(returned(a, k, n) & ~corrupt(a), gave_back(a, k, n))

    @draft.lemma
    def counters_were_read(g: Gpu, j: Key, c: Key, n: Slot, u: Slot) -> Formula:
        """A counter read under the live home key was the GPU's, and it does not go back."""
        return implies(
            counted(j, c, n)
            & live_h2d(g, j)
            & (owner(j) == orchestrator)
            & guarded(j)
            & schedule.calm(key_session(j))
            & before(u, n),
            received(g, c, u),
        )

    @draft.lemma
    def counters_were_read_under_accepted_keys(g: Gpu, j: Key, c: Key, n: Slot) -> Formula:
        """Counters read under a secret key were read when the GPU had taken it."""
        return implies(counted(j, c, n), used(j) & (answered(key_session(j)) | corrupt(owner(j)))) & implies(
            counted(j, c, n) & guarded(j) & schedule.secret(j) & in_session(g, key_session(j)), stale(g, j)
        )

    @draft.lemma
    def count_was_compared(g: Gpu) -> Formula:
        """Training starts after the count was compared."""
        return implies(
            attested_live(g) & during(Phase.VERIFIED, Phase.TRAINING) & (custody == Custody.RETURNED),
            counted(link_d2h, lent_key, count),
        )

    @draft.lemma
    def received_was_taken(g: Gpu, a: Agent, k: Key, v: Slot, m: Data) -> Formula:
        """What the counter passed is what was taken."""
        return implies(received(g, k, v) & sealed(a, k, v, m) & in_session(g, key_session(k)), taken(k, v, m))

    @draft.lemma
    def makers(k: Key, x: Agent) -> Formula:
        """Messages not by honest senders were made by corrupt agents under corrupt agents' keys, or unprotected."""
        return implies(
            made_by(k, x),
            corrupt(x)
            & used(k)
            & answered(key_session(k))
            & (corrupt(owner(k)) | ~protected(key_session(k)) | ~schedule.calm(key_session(k))),
        )


def _knowledge(draft: Draft, schedule: Schedule) -> None:
    @draft.lemma
    def learners(x: Agent, m: Data) -> Formula:
        """Only corrupt agents ever learn what is not theirs."""
        return implies(learned(x, m), corrupt(x))

    @draft.lemma
    def learned_is_exposed(x: Agent, m: Data) -> Formula:
        """Honest data is learned only if an epoch that carried it was revealed."""
        return implies(learned(x, m) & honest_data(m), exposed(m))

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
    def traffic_is_carried(k: Key, m: Data) -> Formula:
        """Training traffic goes home under the orchestrator's keys, whose epochs carried the data."""
        return implies(traffic(k, m), schedule.carried(k, m) & issued(k) & (owner(k) == orchestrator))
