"""Memory: what stays true of it after a check, where data can be, and who can have planted anything."""

from __future__ import annotations

from carnet_spec.language import Draft, Formula, implies, used
from carnet_spec.protocols.gpu_travelling.adversary import Hardware
from carnet_spec.protocols.gpu_travelling.schedules import Schedule
from carnet_spec.protocols.gpu_travelling.vocabulary import *


def memory_lemmas(draft: Draft, schedule: Schedule) -> None:
    """Add what is in memory, and what is not."""
    # Kept after checks.

    @draft.lemma
    def code_stays_good(g: Gpu, k: Key) -> Formula:
        """After the check, and while that key is live, no code is planted, and nothing else runs."""
        return implies(
            checked(k) & live_h2d(g, k) & (owner(k) == orchestrator) & guarded(k) & schedule.calm(key_session(k)),
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
            & schedule.calm(key_session(k)),
            ~resident(g, m) & checked(k),
        )

    # Residents.

    @draft.lemma
    def honest_epochs_are_clean(g: Gpu, k: Key) -> Formula:
        """While an honest holder's key is live, nothing is planted and nothing left running."""
        return implies(
            live_h2d(g, k) & issued(k) & (owner(k) != orchestrator) & schedule.sound(k), ~planted(g) & ~context(g)
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
        theirs = live_h2d(g, k) & issued(k) & (owner(k) != orchestrator) & schedule.sound(k)
        return implies(theirs, _as_taken(schedule, g, k, v, m))

    @draft.lemma
    def buffer_until_training(g: Gpu, v: Slot, m: Data) -> Formula:
        """And so it stays until training starts, since nobody else's code is there."""
        since = during(
            Phase.AWAY, Phase.BACK, *FENCED_TOO_EARLY, Phase.ROTATING_IN, *BEFORE_CHECK, Phase.VERIFIED, Phase.TRAINING
        )
        theirs = issued(lent_key) & (owner(lent_key) != orchestrator) & schedule.sound(lent_key)
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
    """Add what keeps the chain of versions."""
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
        return implies(attested_live(g) & untrained & good & schedule.calm(session), memory_version(g) == latest)

    @draft.lemma
    def latest_is_in_memory(g: Gpu) -> Formula:
        """From the check to the end of the epoch at home, the latest version is in memory, or the one it becomes."""
        becomes = (phase == Phase.TRAINING) & done(link_h2d, Order.TRAIN)
        home = attested_live(g) & during(*CHECKED) & schedule.calm(session)
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
        left = ordered(k, v, Order.TRAIN) & live_h2d(g, k) & attested_live(g) & schedule.calm(session)
        return implies(left, heard(g, k, v) | ((phase == Phase.TRAINING) & (k == link_h2d)))

    @draft.lemma
    def not_trained_yet(v: Slot) -> Formula:
        """Before training is ordered it is not done."""
        early = during(Phase.OPENED, *BEFORE_CHECK, Phase.VERIFIED)
        return implies(early, ~ordered(link_h2d, v, Order.TRAIN) & ~done(link_h2d, Order.TRAIN))

    @draft.lemma
    def what_training_made(n: Version, v: Slot, m: Data) -> Formula:
        """What came of the training under way was made from the latest version, on exactly what was returned."""
        ended = (phase == Phase.TRAINING) & trained_to(link_h2d, n) & schedule.calm(session) & schedule.told_truth()
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
    """Add what the GPU keeps."""
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
        return implies(attested_live(g) & there & schedule.calm(session), holds_model(g))

    @draft.lemma
    def the_model_is_there_when_needed(g: Gpu, k: Key, v: Slot, o: Order) -> Formula:
        """It is there before anything is trained or sent home, and before code is uploaded without it."""
        late = (o == Order.TRAIN) | (o == Order.SAVE) | (o == Order.SCRUB)
        needed = (ordered(k, v, o) & late) | (uploaded(k, v) & ~model_uploaded(k, v))
        return implies(needed & live_h2d(g, k) & guarded(k) & schedule.calm(key_session(k)), holds_model(g))

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
    """Add what holds on that hardware alone."""
    if hardware.confined:

        @draft.lemma
        def nothing_foreign_in_confidential_mode(g: Gpu) -> Formula:
            """Where a link reaches the buffer alone, nobody leaves code on a GPU in confidential mode."""
            return implies(confidential(g), ~foreign(g))


# -- kept back ---------------------------------------------------------------------------------------------------------
# Where data is that the adversary has no reason to have, in designs in which it may have a reason.


def kept_back_lemmas(draft: Draft, schedule: Schedule) -> None:
    """Add where such data is, and how it came there."""

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
