"""Records: what holders keep, the ledger, and the ghosts that claims read, say as much as happened, and no more."""

from __future__ import annotations

from carnet_spec.language import Draft, Formula, exists, implies, used
from carnet_spec.protocols.gpu_travelling.history import lent_last
from carnet_spec.protocols.gpu_travelling.schedules import Schedule
from carnet_spec.protocols.gpu_travelling.vocabulary import (
    Agent,
    Custody,
    Data,
    Key,
    Phase,
    Session,
    Slot,
    Version,
    accepted,
    before,
    chained,
    consumed,
    count,
    custody,
    dataset,
    derives,
    exposed,
    finished,
    first_version,
    gave_back,
    kept,
    key_session,
    knows_h2d,
    latest,
    ledger,
    link_h2d,
    lost,
    made,
    phase,
    returned,
    sealed,
    secured,
    supplied,
    taken_back,
    trained_on,
    within,
)


def record_lemmas(draft: Draft, schedule: Schedule) -> None:
    """Add what was recorded, and what for."""
    _of_holders(draft)
    _of_versions(draft, schedule)
    _of_data(draft, schedule)


def _of_holders(draft: Draft) -> None:
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


def _of_versions(draft: Draft, schedule: Schedule) -> None:
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


def _of_data(draft: Draft, schedule: Schedule) -> None:
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
