"""On the GPU: what it keeps of its session, what it sends home, and that a reset leaves nothing."""

from __future__ import annotations

from carnet_spec.language import Draft, Formula, implies
from carnet_spec.protocols.gpu_travelling.lemmas.words import CHECKED, OUT, active, during, guarded
from carnet_spec.protocols.gpu_travelling.schedules import Schedule
from carnet_spec.protocols.gpu_travelling.vocabulary import (
    Custody,
    Data,
    Gpu,
    Key,
    Order,
    Phase,
    Session,
    Slot,
    Version,
    asked,
    attested_live,
    before,
    confidential,
    counted,
    counter_asked,
    custody,
    debugging,
    digested,
    done,
    foreign,
    heard,
    holds_model,
    in_session,
    issued,
    key_session,
    lent_key,
    link_h2d,
    live_d2h,
    live_h2d,
    memory_version,
    model_sent,
    model_uploaded,
    occupied,
    orchestrator,
    ordered,
    outdated,
    owner,
    placed,
    received,
    resident,
    rubble,
    semaphore,
    sent_as,
    session,
    stale,
    stash,
    streamed,
    taken_slot,
    traffic,
    trained_on,
    trained_to,
    transmitted,
    uploaded,
    workspace,
)


def gpu_lemmas(draft: Draft, schedule: Schedule) -> None:
    """Add what the GPU keeps."""
    _sessions(draft)
    _counters(draft)
    _what_is_sent(draft, schedule)


def _sessions(draft: Draft) -> None:
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


def _counters(draft: Draft) -> None:
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


def _what_is_sent(draft: Draft, schedule: Schedule) -> None:
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
