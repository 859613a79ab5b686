"""Models: which version is in memory, what it was made of, and what the orchestrator's records say of it."""

from __future__ import annotations

from carnet_spec.language import Draft, Formula, implies, used
from carnet_spec.protocols.gpu_travelling.lemmas.words import (
    BEFORE_CHECK,
    CHECKED,
    FENCED_TOO_EARLY,
    checked,
    during,
    guarded,
)
from carnet_spec.protocols.gpu_travelling.schedules import Schedule
from carnet_spec.protocols.gpu_travelling.vocabulary import (
    Custody,
    Data,
    Gpu,
    Key,
    Order,
    Phase,
    Slot,
    Version,
    answered,
    attested_live,
    chained,
    custody,
    derives,
    digested,
    done,
    finished,
    first,
    first_version,
    granted,
    heard,
    issued,
    kept,
    key_session,
    latest,
    ledger,
    lent_key,
    link_h2d,
    live_h2d,
    lost,
    made,
    memory_version,
    model_uploaded,
    orchestrator,
    ordered,
    owner,
    phase,
    rubble,
    sealed,
    secured,
    sent_as,
    session,
    supplied,
    taken_back,
    trained_on,
    trained_to,
    upload_version,
    uploaded,
    within,
)

_UNDER_WAY = (Phase.BACK, *FENCED_TOO_EARLY, Phase.ROTATING_IN, *BEFORE_CHECK, Phase.VERIFIED, Phase.TRAINING)


def model_lemmas(draft: Draft, schedule: Schedule) -> None:
    """Add what keeps the chain of versions."""
    _versions(draft, schedule)
    _in_memory(draft, schedule)
    _made_of(draft, schedule)
    _records(draft, schedule)


def _versions(draft: Draft, schedule: Schedule) -> None:
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


def _in_memory(draft: Draft, schedule: Schedule) -> None:
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


def _made_of(draft: Draft, schedule: Schedule) -> None:
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


def _records(draft: Draft, schedule: Schedule) -> None:
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
