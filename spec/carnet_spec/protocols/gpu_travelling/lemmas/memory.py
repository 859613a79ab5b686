"""Lemmas about hand-over and memory: recipients of grants, evidence of returns, and memory after a check."""

from carnet_spec.language import Draft, Formula, exists, implies, used
from carnet_spec.protocols.gpu_travelling.adversary import Hardware
from carnet_spec.protocols.gpu_travelling.schedules import Schedule
from carnet_spec.protocols.gpu_travelling.vocabulary import *

# -- handover ----------------------------------------------------------------------------------------------------------
# Hand-over: whom a grant goes to, what its holder sends, and what a return proves.


def grant_lemmas(draft: Draft, schedule: Schedule) -> None:
    """Add the lemmas about recipients of grants, and about data sent under them."""

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
    """Add the lemmas about what a return, and the counter read afterwards, prove."""

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
            & schedule.is_secret(key_session(j))
            & before(u, n),
            received(g, c, u),
        )

    @draft.lemma
    def counters_were_read_to_the_end(g: Gpu, j: Key, c: Key, n: Slot) -> Formula:
        """And the GPU took nothing beyond it: the epoch that is asked about is over."""
        read = counted(j, c, n) & live_h2d(g, j) & (owner(j) == orchestrator) & guarded(j)
        return implies(read & (c != j) & issued(c) & schedule.is_secret(key_session(j)), ~received(g, c, n))

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
        return implies(passed & schedule.is_undisclosed(k) & schedule.holders_remember(), taken(k, v, m))

    @draft.lemma
    def makers(k: Key, x: Agent) -> Formula:
        """Messages not by honest senders were made by corrupt agents under corrupt agents' keys, or unprotected."""
        return implies(
            made_by(k, x),
            corrupt(x)
            & used(k)
            & answered(key_session(k))
            & (~schedule.is_undisclosed(k) | ~protected(key_session(k)) | ~schedule.is_secret(key_session(k))),
        )


# -- records -----------------------------------------------------------------------------------------------------------
# What holders keep, the ledger, and the ghosts that claims read, say as much as happened, and no more.


def record_lemmas(draft: Draft, schedule: Schedule) -> None:
    """Add the lemmas about recorded data."""
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
        return implies(exposed(m), schedule.is_exposed(m))


# -- bookkeeping -------------------------------------------------------------------------------------------------------
# What parties keep agrees with what they did, so that no step records less, or something else.
#
# They are not stated for the sake of a claim. They say that the honest do their part: who draws a key knows it, a route
# is asked for to where the GPU goes, and reports say what the GPU is.


def bookkeeping_lemmas(draft: Draft, schedule: Schedule) -> None:
    """Add the lemmas about the state of honest parties."""
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
    """Add the lemmas about second lines of defence, which show that some defences are redundant."""
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
        safe = own & guarded(k) & ~schedule.has_leaked(k) & schedule.is_secret(key_session(k))
        return implies(knows_d2h(x, k) & safe, x == orchestrator)

    @draft.lemma
    def pending_order_out_is_only_now(g: Gpu, k: Key) -> Formula:
        """A rotation out that the GPU would still take is the one under way."""
        pends = attested_live(g) & rotate_out_order(session, k) & ~stale(g, k) & (phase != Phase.SETUP)
        return implies(pends & schedule.is_secret(session), (phase == Phase.ROTATING_OUT) & (k == pending))

    @draft.lemma
    def live_key_is_only_the_link(g: Gpu, k: Key) -> Formula:
        """The live key is the link key, or the pending one."""
        rotating = during(Phase.ROTATING_OUT, Phase.ROTATING_IN)
        return implies(
            attested_live(g) & live_h2d(g, k) & (phase != Phase.SETUP) & schedule.is_secret(session),
            (k == link_h2d) | (rotating & (k == pending)),
        )

    @draft.lemma
    def link_is_live_while_out(g: Gpu) -> Formula:
        """Away, while the session lives, the holder's key is live until the rotation in."""
        out = during(Phase.GRANTING, Phase.AWAY, Phase.BACK, *FENCED_TOO_EARLY)
        return implies(attested_live(g) & out & schedule.is_secret(session), live_h2d(g, link_h2d))


def _ordered_somewhere(key: Key, order: Order) -> Formula:
    return exists(lambda u: ordered(key, u, order), Slot)


def memory_lemmas(draft: Draft, schedule: Schedule) -> None:
    """Add the lemmas about the content of GPU memory."""
    # Kept after checks.

    @draft.lemma
    def code_stays_good(g: Gpu, k: Key) -> Formula:
        """After the check, and while that key is live, no code is planted, and nothing else runs."""
        return implies(
            checked(k) & live_h2d(g, k) & (owner(k) == orchestrator) & guarded(k) & schedule.is_secret(key_session(k)),
            ~foreign(g),
        )

    @draft.lemma
    def scrub_holds(g: Gpu, k: Key, m: Data) -> Formula:
        """After the scrub, and while that key is live, buffer and workspace are empty."""
        return implies(
            done(k, Order.SCRUB)
            & live_h2d(g, k)
            & (owner(k) == orchestrator)
            & guarded(k)
            & schedule.is_secret(key_session(k)),
            ~resident(g, m) & checked(k),
        )

    # Residents.

    @draft.lemma
    def honest_epochs_are_clean(g: Gpu, k: Key) -> Formula:
        """While an honest holder's key is live, nothing is planted and nothing left running."""
        return implies(
            live_h2d(g, k) & issued(k) & (owner(k) != orchestrator) & schedule.is_undisclosed(k),
            ~planted(g) & ~context(g),
        )

    @draft.lemma
    def resident_with_whose_key(g: Gpu, k: Key, m: Data) -> Formula:
        """Where honest data is resident, the live key is the orchestrator's or its owner's."""
        return implies(
            resident(g, m) & schedule.kept_back(m) & live_h2d(g, k),
            issued(k) & ((owner(k) == orchestrator) | (owner(k) == data_owner(m))),
        )

    @draft.lemma
    def resident_with_whose_reply_key(g: Gpu, k: Key, m: Data) -> Formula:
        """So for the key that the GPU sends home under."""
        return implies(
            resident(g, m) & schedule.kept_back(m) & live_d2h(g, k),
            issued(k) & ((owner(k) == orchestrator) | (owner(k) == data_owner(m))),
        )

    @draft.lemma
    def resident_is_data(g: Gpu, m: Data) -> Formula:
        """Only datasets are in the regions, and nothing honest in hiding."""
        return implies(resident(g, m) | stash(g, m), dataset(m)) & ~(stash(g, m) & schedule.kept_back(m))

    @draft.lemma
    def idle_memory_is_clean(g: Gpu) -> Formula:
        """A GPU in confidential mode without a session holds nothing."""
        return implies(confidential(g) & ~occupied(g), ~planted(g) & ~context(g))

    @draft.lemma
    def model_is_in_attested_sessions(g: Gpu, s: Session) -> Formula:
        """The model is on a GPU only in a session that was attested."""
        sound = implies(schedule.told_truth(), confidential(g))
        return implies(holds_model(g), occupied(g) & genuine(g) & sound) & implies(
            holds_model(g) & in_session(g, s), attested(s)
        )

    @draft.lemma
    def implants_beside_the_model(g: Gpu) -> Formula:
        """Beside the model only a corrupt holder can have planted anything."""
        there = holds_model(g) & (planted(g) | context(g)) & schedule.told_truth()
        return implies(there, some_holder_corrupt | schedule.holders_turn())

    @draft.lemma
    def implants_need_interference(g: Gpu) -> Formula:
        """Nothing is planted or left running by those who only record."""
        return implies(planted(g) | context(g), interferes)

    @draft.lemma
    def implants_come_from_corrupt_holders(g: Gpu, s: Session) -> Formula:
        """In an attested session only a corrupt holder can have planted anything."""
        there = (planted(g) | context(g)) & in_session(g, s) & protected(s)
        return implies(there, some_holder_corrupt | schedule.holders_turn())

    # Contents.

    @draft.lemma
    def places_are_in_the_buffer(g: Gpu, v: Slot, m: Data) -> Formula:
        """What has a place is in the buffer."""
        return implies(placed(g, v, m), buffer(g, m))

    @draft.lemma
    def buffer_of_an_honest_epoch(g: Gpu, k: Key, v: Slot, m: Data) -> Formula:
        """While an honest holder's key is live, the buffer is what was taken under it."""
        theirs = live_h2d(g, k) & issued(k) & (owner(k) != orchestrator) & schedule.is_undisclosed(k)
        return implies(theirs, _as_taken(schedule, g, k, v, m))

    @draft.lemma
    def buffer_until_training(g: Gpu, v: Slot, m: Data) -> Formula:
        """And so it stays until training starts, since nobody else's code is there."""
        since = during(
            Phase.AWAY, Phase.BACK, *FENCED_TOO_EARLY, Phase.ROTATING_IN, *BEFORE_CHECK, Phase.VERIFIED, Phase.TRAINING
        )
        theirs = issued(lent_key) & (owner(lent_key) != orchestrator) & schedule.is_undisclosed(lent_key)
        return implies(since & attested_live(g) & theirs, _as_taken(schedule, g, lent_key, v, m) & ~foreign(g))


def _as_taken(schedule: Schedule, gpu: Gpu, key: Key, place: Slot, data: Data) -> Formula:
    """Whether what is at that place of the buffer is what was taken under the key with that counter value."""
    there, took = placed(gpu, place, data), taken(key, place, data)
    known = implies(buffer(gpu, data) & schedule.holders_remember(), supplied(owner(key), key, data))
    return implies(there, took) & implies(took, there) & known


# -- models ------------------------------------------------------------------------------------------------------------
# Which version is in memory, what it was made of, and what the orchestrator's records say of it.

_UNDER_WAY = (Phase.BACK, *FENCED_TOO_EARLY, Phase.ROTATING_IN, *BEFORE_CHECK, Phase.VERIFIED, Phase.TRAINING)


def model_lemmas(draft: Draft, schedule: Schedule) -> None:
    """Add the lemmas about the chain of model versions."""
    # Versions.

    @draft.lemma
    def versions_are_used(n: Version, p: Version, k: Key, m: Data, g: Gpu) -> Formula:
        """A version of which anything is recorded was made."""
        named = derives(n, p) | trained_on(n, m) | within(n, m)
        entered = implies(ledger(n, p, k), made(n) & made(p))
        in_places = made(memory_version(g)) & made(upload_version(k))
        believed = implies(schedule.told_truth(), entered & in_places)
        return implies(named, made(n)) & implies(chained(n), made(n)) & made(first_version) & made(rubble) & believed

    @draft.lemma
    def known_versions_exist() -> Formula:
        """So do those that the orchestrator stands by."""
        return implies(schedule.told_truth(), made(latest) & made(kept))

    @draft.lemma
    def reported_versions_exist(k: Key, n: Version) -> Formula:
        """What is reported inside a protected session exists."""
        reported = digested(k, n) | trained_to(k, n) | sent_as(k, n)
        protected_by = guarded(k) & schedule.told_truth()
        return implies(reported, used(k) & answered(key_session(k))) & implies(reported & protected_by, made(n))

    # In memory.

    @draft.lemma
    def the_latest_was_uploaded(v: Slot) -> Formula:
        """A model is uploaded before the first custody of a session only, and it is the latest version."""
        at_home = during(Phase.UPLOADED, Phase.CHECKING, *CHECKED) & model_uploaded(link_h2d, v)
        return implies(at_home, (custody == Custody.NONE) & (upload_version(link_h2d) == latest)) & implies(
            during(Phase.FENCING, Phase.FENCED), ~uploaded(link_h2d, v)
        )

    @draft.lemma
    def digest_stays_true(g: Gpu, n: Version) -> Formula:
        """Once code and model were digested, the model stays as it was, until training."""
        untrained = during(Phase.CHECKING, Phase.VERIFIED, Phase.TRAINING) & ~done(link_h2d, Order.TRAIN)
        good = checked(link_h2d) & digested(link_h2d, latest)
        return implies(attested_live(g) & untrained & good & schedule.is_secret(session), memory_version(g) == latest)

    @draft.lemma
    def latest_is_in_memory(g: Gpu) -> Formula:
        """From the check to the end of the epoch at home, the latest version is in memory, or the one it becomes."""
        becomes = (phase == Phase.TRAINING) & done(link_h2d, Order.TRAIN)
        home = attested_live(g) & during(*CHECKED) & schedule.is_secret(session)
        return implies(home & ~becomes, memory_version(g) == latest) & implies(
            home & becomes, trained_to(link_h2d, memory_version(g))
        )

    @draft.lemma
    def one_training(g: Gpu, k: Key, u: Slot, v: Slot, n: Version, p: Version) -> Formula:
        """In each epoch training is ordered once, and carried out once."""
        once = implies(ordered(k, u, Order.TRAIN) & ordered(k, v, Order.TRAIN), u == v)
        carried_out = implies(done(k, Order.TRAIN) & live_h2d(g, k) & ordered(k, v, Order.TRAIN), heard(g, k, v))
        ended = trained_to(k, n) & guarded(k)
        return once & carried_out & implies(ended, done(k, Order.TRAIN)) & implies(ended & trained_to(k, p), n == p)

    @draft.lemma
    def trainings_are_over(g: Gpu, k: Key, v: Slot) -> Formula:
        """No order to train is left over: all but the one under way were carried out."""
        left = ordered(k, v, Order.TRAIN) & live_h2d(g, k) & attested_live(g) & schedule.is_secret(session)
        return implies(left, heard(g, k, v) | ((phase == Phase.TRAINING) & (k == link_h2d)))

    @draft.lemma
    def not_trained_yet(v: Slot) -> Formula:
        """Before training is ordered it is not done."""
        early = during(Phase.OPENED, *BEFORE_CHECK, Phase.VERIFIED)
        return implies(early, ~ordered(link_h2d, v, Order.TRAIN) & ~done(link_h2d, Order.TRAIN))

    @draft.lemma
    def what_training_made(n: Version, v: Slot, m: Data) -> Formula:
        """What came of the training under way was made from the latest version, on exactly what was returned."""
        ended = (
            (phase == Phase.TRAINING) & trained_to(link_h2d, n) & schedule.is_secret(session) & schedule.told_truth()
        )
        whose = owner(lent_key)
        sent = sealed(whose, lent_key, v, m)
        honest = schedule.faithful(whose) & schedule.holders_remember()
        return (
            implies(ended, chained(n) & derives(n, latest))
            & implies(ended & within(latest, m), within(n, m))
            & implies(ended & honest & sent, trained_on(n, m) & within(n, m))
            & implies(ended & honest & trained_on(n, m), supplied(whose, lent_key, m))
        )

    # Records.

    @draft.lemma
    def returns_are_final(k: Key) -> Formula:
        """What was taken back was granted, and its honest holder sends nothing more."""
        final = implies(schedule.faithful(owner(k)) & schedule.holders_remember(), finished(owner(k), k))
        return implies(taken_back(k), granted_once(k) & final) & implies(secured(k) | lost(k), taken_back(k))

    @draft.lemma
    def ledger_is_of_returns(n: Version, p: Version, k: Key) -> Formula:
        """Only epochs that were returned are in the ledger."""
        return implies(ledger(n, p, k), taken_back(k))

    @draft.lemma
    def secured_is_not_lost(k: Key) -> Formula:
        """What came home is not lost."""
        return ~(secured(k) & lost(k))

    @draft.lemma
    def returned_now() -> Formula:
        """The lent key is taken back exactly if its custody ended with a return."""
        away = (phase == Phase.AWAY) | (during(*_UNDER_WAY, *CHECKED) & (custody != Custody.RETURNED))
        return (
            implies(away, ~taken_back(lent_key))
            & implies(phase == Phase.GRANTING, ~taken_back(link_h2d))
            & implies(during(*_UNDER_WAY, *CHECKED) & (custody == Custody.RETURNED), taken_back(lent_key))
            & implies(phase == Phase.AWAY, granted_once(lent_key))
        )

    @draft.lemma
    def secured_is_kept(k: Key, v: Slot, m: Data) -> Formula:
        """What came home is in what was kept."""
        known = schedule.faithful(owner(k)) & schedule.told_truth() & schedule.holders_remember()
        return implies(secured(k) & sealed(owner(k), k, v, m) & known, within(kept, m))


def granted_once(key: Key) -> Formula:
    """Whether the key was granted to its owner, who is a holder."""
    return issued(key) & (owner(key) != orchestrator) & granted(owner(key), key, first)


# -- on the gpu --------------------------------------------------------------------------------------------------------
# What it keeps of its session, what it sends home, and that a reset leaves nothing.


def gpu_lemmas(draft: Draft, schedule: Schedule) -> None:
    """Add the lemmas about the GPU's state."""
    # Sessions.

    @draft.lemma
    def nothing_without_a_session(g: Gpu, s: Session, k: Key) -> Formula:
        """A GPU that is in no session has no keys."""
        return implies(in_session(g, s) | live_h2d(g, k) | live_d2h(g, k) | stale(g, k), occupied(g))

    @draft.lemma
    def a_reset_leaves_nothing(g: Gpu, m: Data, v: Slot) -> Formula:
        """In a GPU without a session there is nothing but what foreign code put there since."""
        empty = ~resident(g, m) & ~stash(g, m) & ~placed(g, v, m) & (memory_version(g) == rubble)
        return implies(~occupied(g), ~holds_model(g) & implies(~foreign(g), empty))

    @draft.lemma
    def one_flaw(g: Gpu) -> Formula:
        """A GPU in confidential mode has neither flaw, and no GPU has both."""
        return ~(debugging(g) & outdated(g)) & implies(confidential(g), ~debugging(g) & ~outdated(g))

    # Counters.

    @draft.lemma
    def halves_go_together(g: Gpu, k: Key) -> Formula:
        """The GPU has both halves of a key, or neither."""
        return implies(live_h2d(g, k), live_d2h(g, k)) & implies(live_d2h(g, k), live_h2d(g, k))

    @draft.lemma
    def counters_are_of_sessions(g: Gpu, k: Key, v: Slot) -> Formula:
        """Counters of orders and of messages home are of the session that lives."""
        return implies(transmitted(g, k, v) | heard(g, k, v), in_session(g, key_session(k)) & stale(g, k))

    @draft.lemma
    def sent_home_in_order(g: Gpu, k: Key, u: Slot, v: Slot) -> Formula:
        """The GPU's send counters have no gaps, and pass what was sent alone."""
        return implies(transmitted(g, k, v), streamed(k, v) & implies(before(u, v), transmitted(g, k, u)))

    # What is sent.

    @draft.lemma
    def a_scrub_is_signalled(k: Key) -> Formula:
        """Whoever waits for the plain semaphore waits for the scrub."""
        return implies(done(k, Order.SCRUB), semaphore(Order.SCRUB))

    @draft.lemma
    def reports_are_as_asked(g: Gpu, k: Key, c: Key, n: Slot, m: Version) -> Formula:
        """The counter that is read is the one that was asked for, and what is digested is a model."""
        waiting = during(Phase.CHECKING, *CHECKED)
        return (
            implies(counted(k, c, n) & guarded(k), counter_asked(k, c))
            & implies(counter_asked(k, c), asked(k, Order.READ_BACK) & issued(c))
            & implies(waiting, counter_asked(link_h2d, lent_key))
            & implies(digested(k, m) & guarded(k) & live_h2d(g, k), holds_model(g))
        )

    @draft.lemma
    def the_model_stays(g: Gpu) -> Formula:
        """Once it was uploaded, the model is on the GPU for as long as its session lives."""
        there = during(*CHECKED, Phase.ROTATING_OUT, *OUT) | (active() & (custody != Custody.NONE))
        return implies(attested_live(g) & there & schedule.is_secret(session), holds_model(g))

    @draft.lemma
    def the_model_is_there_when_needed(g: Gpu, k: Key, v: Slot, o: Order) -> Formula:
        """It is there before anything is trained or sent home, and before code is uploaded without it."""
        late = (o == Order.TRAIN) | (o == Order.SAVE) | (o == Order.SCRUB)
        needed = (ordered(k, v, o) & late) | (uploaded(k, v) & ~model_uploaded(k, v))
        return implies(needed & live_h2d(g, k) & guarded(k) & schedule.is_secret(key_session(k)), holds_model(g))

    @draft.lemma
    def uploads_are_taken(g: Gpu, k: Key, v: Slot) -> Formula:
        """An upload that the counter passed was taken, and at home it passes uploads alone."""
        at_home = received(g, k, v) & (owner(k) == orchestrator)
        return implies(uploaded(k, v) & received(g, k, v), taken_slot(k, v)) & implies(at_home, uploaded(k, v))

    @draft.lemma
    def training_leaves_traces(g: Gpu, k: Key, n: Version, m: Data) -> Formula:
        """What training used goes home in its traffic, and stays in the workspace until the scrub."""
        used = trained_to(k, n) & guarded(k) & trained_on(n, m) & schedule.told_truth()
        unscrubbed = live_h2d(g, k) & ~done(k, Order.SCRUB)
        return implies(used, traffic(k, m) & implies(unscrubbed, workspace(g, m)))

    @draft.lemma
    def saved_models_went_home(k: Key, n: Version) -> Formula:
        """A report on the model that went home comes with the model."""
        return implies(sent_as(k, n) & guarded(k), model_sent(k))


# -- beneath -----------------------------------------------------------------------------------------------------------
# What other hardware than today's makes true, for the variants that have it.


def hardware_lemmas(draft: Draft, hardware: Hardware) -> None:
    """Add the lemmas that hold on this hardware only."""
    if hardware.confined:

        @draft.lemma
        def nothing_foreign_in_confidential_mode(g: Gpu) -> Formula:
            """Where a link reaches the buffer alone, nobody leaves code on a GPU in confidential mode."""
            return implies(confidential(g), ~foreign(g))


# -- kept back ---------------------------------------------------------------------------------------------------------
# Where data is that the adversary has no reason to have, in designs in which it may have a reason.


def kept_back_lemmas(draft: Draft, schedule: Schedule) -> None:
    """Add the lemmas about data that was kept back: where it is, and how it got there."""

    @draft.lemma
    def sent_under_grants(a: Agent, k: Key, m: Data) -> Formula:
        """What a holder sends, it sends under keys that it was lent."""
        return implies(supplied(a, k, m), granted(a, k, first))

    @draft.lemma
    def kept_back_in_memory(g: Gpu, s: Session, m: Data) -> Formula:
        """Where it is, there is no foreign code, and the GPU is as it was attested."""
        there = resident(g, m) & schedule.kept_back(m)
        safe = genuine(g) & confidential(g) & occupied(g) & ~foreign(g)
        return implies(there, safe & implies(in_session(g, s), protected(s) & attested(s)))

    @draft.lemma
    def kept_back_on_its_way(k: Key, m: Data) -> Formula:
        """What derives from it goes home in a protected session."""
        return implies(traffic(k, m) & schedule.kept_back(m), protected(key_session(k)))

    @draft.lemma
    def kept_back_was_sent(g: Gpu, k: Key, m: Data) -> Formula:
        """Under its owner's live key it was sent in that epoch."""
        there = resident(g, m) & schedule.kept_back(m) & live_h2d(g, k)
        return implies(there & (owner(k) != orchestrator), supplied(owner(k), k, m))
