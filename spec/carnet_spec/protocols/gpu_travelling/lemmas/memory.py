"""Memory: what stays true of it after a check, where data can be, and who can have planted anything."""

from __future__ import annotations

from carnet_spec.language import Draft, Formula, implies
from carnet_spec.protocols.gpu_travelling.lemmas.words import BEFORE_CHECK, FENCED_TOO_EARLY, checked, during, guarded
from carnet_spec.protocols.gpu_travelling.schedules import Schedule
from carnet_spec.protocols.gpu_travelling.vocabulary import (
    Data,
    Gpu,
    Key,
    Order,
    Phase,
    Session,
    Slot,
    attested,
    attested_live,
    buffer,
    confidential,
    context,
    data_owner,
    dataset,
    done,
    foreign,
    genuine,
    holds_model,
    in_session,
    interferes,
    issued,
    key_session,
    lent_key,
    live_d2h,
    live_h2d,
    occupied,
    orchestrator,
    owner,
    placed,
    planted,
    protected,
    resident,
    some_holder_corrupt,
    stash,
    supplied,
    taken,
)


def memory_lemmas(draft: Draft, schedule: Schedule) -> None:
    """Add what is in memory, and what is not."""
    _kept_after_checks(draft, schedule)
    _residents(draft, schedule)
    _contents(draft, schedule)


def _contents(draft: Draft, schedule: Schedule) -> None:
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


def _kept_after_checks(draft: Draft, schedule: Schedule) -> None:
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


def _residents(draft: Draft, schedule: Schedule) -> None:
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
