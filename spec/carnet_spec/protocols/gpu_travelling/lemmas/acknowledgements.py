"""Acknowledgements: under a secret key one proves the deed, and the deeds come in order."""

from __future__ import annotations

from carnet_spec.language import Draft, Formula, implies, used
from carnet_spec.protocols.gpu_travelling.lemmas.words import BEFORE_CHECK, CHECKED, during, guarded
from carnet_spec.protocols.gpu_travelling.schedules import Schedule
from carnet_spec.protocols.gpu_travelling.vocabulary import (
    Gpu,
    Key,
    Order,
    Phase,
    Slot,
    acknowledged,
    answered,
    attested_live,
    before,
    consumed,
    done,
    first,
    in_session,
    key_session,
    link_h2d,
    live_h2d,
    ordered,
    phase,
    received,
    session,
    stale,
)


def acknowledgement_lemmas(draft: Draft, schedule: Schedule) -> None:
    """Add what an acknowledgement proves, and when."""

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
    def code_checked_at_home(g: Gpu) -> Formula:
        """From the check on, the code was good."""
        return implies(attested_live(g) & during(*CHECKED) & schedule.calm(session), done(link_h2d, Order.CODE_GOOD))

    @draft.lemma
    def model_checked_at_home(g: Gpu) -> Formula:
        """From the check on, the model was good."""
        return implies(attested_live(g) & during(*CHECKED) & schedule.calm(session), done(link_h2d, Order.MODEL_GOOD))

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
