"""Acknowledgements: under a secret key one proves the deed, and the deeds come in order."""

from __future__ import annotations

from carnet_spec.language import Draft, Formula, any_of, implies, used
from carnet_spec.protocols.gpu_travelling.lemmas.words import BEFORE_CHECK, CHECKED, checked, during, guarded
from carnet_spec.protocols.gpu_travelling.schedules import Schedule
from carnet_spec.protocols.gpu_travelling.vocabulary import (
    Gpu,
    Key,
    Order,
    Phase,
    Slot,
    Version,
    acknowledged,
    answered,
    attested_live,
    before,
    counted,
    digested,
    done,
    heard,
    in_session,
    key_session,
    link_h2d,
    live_h2d,
    ordered,
    pending,
    phase,
    protected,
    sent_as,
    session,
    stale,
    trained_to,
)


def acknowledgement_lemmas(draft: Draft, schedule: Schedule) -> None:
    """Add what an acknowledgement proves, and when."""

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
        return implies(later & live_h2d(g, k) & schedule.calm(key_session(k)), done(k, Order.FENCE))

    @draft.lemma
    def checked_first(g: Gpu, k: Key, v: Slot, o: Order) -> Formula:
        """Training, and what comes after it, is ordered only once the code was found good, and nothing else running."""
        late = (o == Order.TRAIN) | (o == Order.SAVE) | (o == Order.SCRUB)
        return implies(ordered(k, v, o) & late & live_h2d(g, k) & schedule.calm(key_session(k)), checked(k))

    @draft.lemma
    def fenced_at_home(g: Gpu) -> Formula:
        """From the acknowledged fence on, the fence was done."""
        later = (Phase.FENCED, Phase.UPLOADED, Phase.CHECKING, *CHECKED)
        return implies(attested_live(g) & during(*later) & schedule.calm(session), done(link_h2d, Order.FENCE))

    @draft.lemma
    def code_checked_at_home(g: Gpu) -> Formula:
        """From the check on, the code was good, and nothing else ran."""
        return implies(attested_live(g) & during(*CHECKED) & schedule.calm(session), checked(link_h2d))

    @draft.lemma
    def scrubbed_at_home(g: Gpu) -> Formula:
        """Clean means that the scrub was done."""
        return implies(attested_live(g) & (phase == Phase.CLEAN) & schedule.calm(session), done(link_h2d, Order.SCRUB))

    @draft.lemma
    def not_checked_yet(g: Gpu, v: Slot, n: Version) -> Formula:
        """Until digests are ordered, there is none."""
        early = during(Phase.OPENED, Phase.ROTATED_IN, Phase.FENCING, Phase.FENCED, Phase.UPLOADED)
        rotating = during(Phase.ROTATING_OUT, Phase.ROTATING_IN)
        found = any_of(*(done(link_h2d, order) for order in (Order.READ_BACK, Order.CODE_GOOD, Order.NO_CONTEXT)))
        return (
            implies(early, ~ordered(link_h2d, v, Order.READ_BACK) & ~found)
            & implies(early & protected(session), ~digested(link_h2d, n))
            & implies(rotating & schedule.calm(session), ~digested(pending, n))
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
