"""Hand-over: whom a grant goes to, what its holder sends, and what a return proves."""

from __future__ import annotations

from carnet_spec.language import Draft, Formula, exists, implies, used
from carnet_spec.protocols.gpu_travelling.schedules import Schedule
from carnet_spec.protocols.gpu_travelling.vocabulary import *


def grant_lemmas(draft: Draft, schedule: Schedule) -> None:
    """Add whom grants go to, and what is sent under them."""

    @draft.lemma
    def channels_end_at_the_orchestrator(a: Agent, p: Agent) -> Formula:
        """A channel that an honest holder attested ends at the orchestrator."""
        return implies(channel(a, p), (p == orchestrator) & ~corrupt(a) & enrolled(a))

    @draft.lemma
    def admitted_ends(a: Agent, p: Agent) -> Formula:
        """An admitted channel ends at the holder, or both ends are corrupt."""
        theirs = (p == a) | (~schedule.faithful(a) & corrupt(p))
        return implies(enrolment_proof(a, p), theirs) & implies(admitted(a, p), theirs & enrolled(a))

    @draft.lemma
    def grants(a: Agent, b: Agent, k: Key, v: Slot, w: Slot) -> Formula:
        """A key is granted to its owner, once, from the first counter value."""
        return implies(granted(a, k, v), (owner(k) == a) & issued(k) & enrolled(a) & (v == first))

    @draft.lemma
    def offers(p: Agent, q: Agent, k: Key, v: Slot) -> Formula:
        """What the orchestrator offers was granted to whom it goes to, or both are corrupt; others are corrupt."""
        theirs = granted(owner(k), k, v) & ((q == owner(k)) | (corrupt(q) & ~schedule.faithful(owner(k))))
        return implies(offer(p, q, k, v), ((p == orchestrator) & theirs) | corrupt(p))

    @draft.lemma
    def acceptances(a: Agent, p: Agent, k: Key, v: Slot) -> Formula:
        """An honest holder accepts what was granted to it, on its attested channel."""
        return implies(accepted(a, p, k, v), ~corrupt(a) & offer(p, a, k, v) & channel(a, p) & took_grant(a, k))

    @draft.lemma
    def aimed_as_granted(a: Agent, p: Agent, k: Key, b: Address) -> Formula:
        """What a holder sends goes to the buffer, as its grant says."""
        stated = implies(granted_at(a, k, b), (b == the_buffer) & issued(k) & (owner(k) == a))
        theirs = granted_at(owner(k), k, b) & ((a == owner(k)) | (corrupt(a) & ~schedule.faithful(owner(k))))
        return (
            stated
            & implies(addressed(p, a, k, b), ((p == orchestrator) & theirs) | corrupt(p))
            & implies(aims(a, k, b), ~corrupt(a) & granted_at(a, k, b) & took_grant(a, k))
        )

    @draft.lemma
    def sent_in_order(a: Agent, k: Key, u: Slot, v: Slot, m: Data, n: Data) -> Formula:
        """A holder sends its chunks in their order."""
        earlier = precedes(n, m) & (data_owner(n) == a)
        both = sealed(a, k, u, n) & sealed(a, k, v, m)
        return (
            implies(supplied(a, k, m), dataset(m) & (data_owner(m) == a))
            & implies(supplied(a, k, m) & earlier, schedule.in_order(a, k, n))
            & implies(both & precedes(n, m) & schedule.holders_remember(), before(u, v))
        )

    @draft.lemma
    def accepted_once(a: Agent, k: Key) -> Formula:
        """A grant is accepted once."""
        once = implies(took_grant(a, k), accepted(a, orchestrator, k, first)) & ~accepted_twice(a, k)
        return implies(schedule.holders_remember(), once)

    @draft.lemma
    def senders(a: Agent, k: Key, v: Slot, m: Data) -> Formula:
        """A holder sends its own data under keys granted to it, one chunk for each counter value."""
        return implies(
            sealed(a, k, v, m),
            ~corrupt(a)
            & (owner(k) == a)
            & granted(a, k, first)
            & implies(schedule.holders_remember(), spent(a, k, v) & supplied(a, k, m))
            & (data_owner(m) == a)
            & dataset(m),
        )

    @draft.lemma
    def sent_in_its_session(a: Agent, k: Key, v: Slot, m: Data) -> Formula:
        """What was sealed under a key was sent in the key's session."""
        return implies(sealed(a, k, v, m), sent_in(key_session(k), m))

    @draft.lemma
    def spenders(a: Agent, k: Key, u: Slot, v: Slot) -> Formula:
        """Counter values are spent in order, under accepted grants."""
        return implies(spent(a, k, v), accepted(a, orchestrator, k, first) & implies(before(u, v), spent(a, k, u)))


def agreement_lemmas(draft: Draft, schedule: Schedule) -> None:
    """Add what a return, and the counter read at home, prove."""

    @draft.lemma
    def honest_returns(a: Agent, k: Key, n: Slot, u: Slot) -> Formula:
        """An honest holder's return states exactly what it sent, and it sends nothing more."""
        remembered = finished(a, k) & ~spent(a, k, n) & implies(before(u, n), spent(a, k, u))
        return implies(gave_back(a, k, n) & schedule.holders_remember(), remembered) & implies(
            returned(a, k, n) & schedule.faithful(a), gave_back(a, k, n)
        )

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
    def counters_were_read_to_the_end(g: Gpu, j: Key, c: Key, n: Slot) -> Formula:
        """And the GPU took nothing beyond it: the epoch that is asked about is over."""
        read = counted(j, c, n) & live_h2d(g, j) & (owner(j) == orchestrator) & guarded(j)
        return implies(read & (c != j) & issued(c) & schedule.calm(key_session(j)), ~received(g, c, n))

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
            counted(link_h2d, lent_key, count),
        )

    @draft.lemma
    def received_was_taken(g: Gpu, a: Agent, k: Key, v: Slot, m: Data) -> Formula:
        """What the counter passed is what was taken."""
        passed = received(g, k, v) & sealed(a, k, v, m) & in_session(g, key_session(k))
        return implies(passed & schedule.sound(k) & schedule.holders_remember(), taken(k, v, m))

    @draft.lemma
    def makers(k: Key, x: Agent) -> Formula:
        """Messages not by honest senders were made by corrupt agents under corrupt agents' keys, or unprotected."""
        return implies(
            made_by(k, x),
            corrupt(x)
            & used(k)
            & answered(key_session(k))
            & (~schedule.sound(k) | ~protected(key_session(k)) | ~schedule.calm(key_session(k))),
        )


# -- records -----------------------------------------------------------------------------------------------------------
# What holders keep, the ledger, and the ghosts that claims read, say as much as happened, and no more.


def record_lemmas(draft: Draft, schedule: Schedule) -> None:
    """Add what was recorded, and what for."""
    # Of holders.

    @draft.lemma
    def holders_have_what_they_accepted(a: Agent, p: Agent, k: Key, v: Slot) -> Formula:
        """Who accepted a grant has the key."""
        return implies(accepted(a, p, k, v), knows_h2d(a, k))

    @draft.lemma
    def what_is_supplied_was_sent(a: Agent, k: Key, m: Data) -> Formula:
        """A chunk that was sent has a counter value."""
        return implies(supplied(a, k, m), exists(lambda u: sealed(a, k, u, m), Slot))

    @draft.lemma
    def who_finished_gave_back(a: Agent, k: Key, n: Slot) -> Formula:
        """A holder that sends nothing more said how much it sent."""
        gave = implies(finished(a, k), exists(lambda u: gave_back(a, k, u), Slot))
        return gave & implies(gave_back(a, k, n), returned(a, k, n))

    @draft.lemma
    def returns_are_counted(u: Slot) -> Formula:
        """When a return was accepted, the values that it states are counted, and no others."""
        back = (phase == Phase.BACK) & (custody == Custody.RETURNED)
        counted = consumed(link_h2d, u)
        return implies(back & before(u, count), counted) & implies(back & counted, before(u, count))

    @draft.lemma
    def what_came_home_is_secured(k: Key) -> Formula:
        """Once the model is home, all that was returned is in it, or lost."""
        return implies((phase == Phase.SAVED) & taken_back(k), secured(k) | lost(k))

    # Of versions.

    @draft.lemma
    def versions_have_one_parent(n: Version, p: Version, q: Version, m: Data) -> Formula:
        """A version was trained from one other, and what went into it is what went into that one, and the chunks."""
        from_it = derives(n, p) & schedule.told_truth()
        return (
            implies(from_it & derives(n, q), p == q)
            & implies(from_it, made(p))
            & implies(from_it & within(p, m), within(n, m))
            & implies(trained_on(n, m), within(n, m) & dataset(m))
            & implies(from_it & within(n, m) & dataset(m), within(p, m) | trained_on(n, m))
            & implies(from_it & chained(n), chained(p))
        )

    @draft.lemma
    def the_latest_is_in_the_ledger() -> Formula:
        """What the orchestrator stands by is the first version, or in its ledger."""

        def known(version: Version) -> Formula:
            return exists(lambda p, k: ledger(version, p, k), Version, Key)

        return ((latest == first_version) | known(latest)) & ((kept == first_version) | known(kept))

    # Of data.

    @draft.lemma
    def one_epoch_lent_last(s: Session, j: Key, k: Key) -> Formula:
        """One epoch of a session was lent last, and it is an epoch of that session."""
        return implies(lent_last(s, j), used(j) & (key_session(j) == s)) & implies(
            lent_last(s, j) & lent_last(s, k), j == k
        )

    @draft.lemma
    def exposed_by_a_key(m: Data) -> Formula:
        """What is exposed was carried in an epoch whose key leaked."""
        return implies(exposed(m), schedule.opened(m))


# -- bookkeeping -------------------------------------------------------------------------------------------------------
# What parties keep agrees with what they did, so that no step records less, or something else.
#
# They are not stated for the sake of a claim. They say that the honest do their part: who draws a key knows it, a route
# is asked for to where the GPU goes, and reports say what the GPU is.


def bookkeeping_lemmas(draft: Draft, schedule: Schedule) -> None:
    """Add what the honest keep."""
    # At the orchestrator.

    @draft.lemma
    def the_orchestrator_keeps_its_keys(s: Session, k: Key) -> Formula:
        """The orchestrator knows both halves of every key that it drew, and each launch key."""
        drawn = issued(k) | key_exchange(s, k)
        return implies(drawn, knows_h2d(orchestrator, k) & knows_d2h(orchestrator, k)) & implies(
            orchestrated(s), knows_launch(orchestrator, s)
        )

    @draft.lemma
    def one_link_key() -> Formula:
        """The two halves of the link change together."""
        return implies(phase != Phase.SETUP, link_h2d == link_d2h)

    @draft.lemma
    def one_route(x: Agent, y: Agent) -> Formula:
        """One route is asked for: to the holder's channel while the GPU is out, and else home."""
        out = during(Phase.AWAY, Phase.BACK, *FENCED_TOO_EARLY)
        asked = (phase != Phase.SETUP) & ~out
        return (
            implies(mux_request(x) & mux_request(y), x == y)
            & implies(asked, mux_request(orchestrator))
            & implies(mux_request(x) & out, admitted(next_holder, x))
            & implies(mux_request(x) & ~out, x == orchestrator)
        )

    @draft.lemma
    def an_honest_platform_follows() -> Formula:
        """An honest platform routes the GPU home, or to a channel that was admitted."""
        lent = exists(lambda a: admitted(a, mux), Agent)
        return implies(~corrupt(platform), (mux == orchestrator) | lent)

    @draft.lemma
    def offers_go_by_admitted_channels(p: Agent, k: Key, v: Slot, b: Address) -> Formula:
        """A grant is sent over the channel that was admitted for its holder."""
        said = offer(orchestrator, p, k, v) | addressed(orchestrator, p, k, b)
        return implies(said, admitted(owner(k), p))

    @draft.lemma
    def lent_sessions_have_tenants(a: Agent, k: Key, v: Slot) -> Formula:
        """A session in which anything was granted was lent."""
        return implies(granted(a, k, v), tenanted(key_session(k))) & implies(
            during(Phase.ROTATING_OUT, *OUT), tenanted(session) & (tenant(session) == next_holder)
        )

    @draft.lemma
    def proofs_are_made_in_attested_channels(a: Agent, p: Agent) -> Formula:
        """An honest holder proves who it is in the channel that it attested."""
        return implies(enrolment_proof(a, p) & schedule.faithful(a), channel(a, orchestrator))

    # Reports.

    @draft.lemma
    def sessions_have_responders(g: Gpu, s: Session) -> Formula:
        """The GPU in a session signed its key exchange."""
        return implies(in_session(g, s), responder(s, g))

    @draft.lemma
    def reports_inside_are_reports(s: Session, g: Gpu, n: Session, mode: Mode) -> Formula:
        """What arrives inside a session is a signed report, which anybody could see elsewhere."""
        return implies(report_inside(s, g, n, mode), report(g, n, mode))

    @draft.lemma
    def reports_of_living_sessions_are_true(g: Gpu, n: Session, mode: Mode) -> Formula:
        """While its session lives, a genuine GPU's reports say what it is."""
        own = in_session(g, n) & genuine(g) & ~leaked(g)
        return implies(report(g, n, mode) & genuine(g) & ~leaked(g), answered(n)) & implies(
            report(g, n, mode) & own, shows(g, mode)
        )


# -- second lines ------------------------------------------------------------------------------------------------------
# Other reasons for what holds already, which show that some single defences are redundant.
#
# The fence is carried out before the read-back because the firmware keeps orders in order; so its acknowledgement can
# be left out alone. A report is true whoever owns the epoch, so the order of epochs can be left out alone.


def second_lines(draft: Draft, schedule: Schedule) -> None:
    """Add the second lines to ``draft``."""
    # Orders in order.

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

    # Deeds in order.

    @draft.lemma
    def heard_was_told(g: Gpu, k: Key, v: Slot) -> Formula:
        """The firmware hears only what the orchestrator said."""
        return implies(heard(g, k, v), told(k, v))

    @draft.lemma
    def done_in_order(k: Key) -> Formula:
        """Before what was digested came the fence."""
        return implies(done(k, Order.CODE_GOOD), done(k, Order.FENCE))

    # Reply halves stay home.

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


def _ordered_somewhere(key: Key, order: Order) -> Formula:
    return exists(lambda u: ordered(key, u, order), Slot)
