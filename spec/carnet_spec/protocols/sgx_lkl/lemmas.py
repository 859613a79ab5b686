"""Lemmas: what makes the claims inductive, for any number of ticks, messages and blocks."""

from __future__ import annotations

from carnet_spec.language import Draft, Formula, TwoRuns, implies
from carnet_spec.protocols.sgx_lkl.vocabulary import *


def state_lemmas_of_one(draft: Draft) -> None:
    """Add what holds of each run to ``draft``."""

    @draft.lemma
    def what_waits_fits(m: Message) -> Formula:
        """What waits is no longer than a frame."""
        return implies(waiting(m), fits(m))

    @draft.lemma
    def what_is_under_way_waits(m: Message) -> Formula:
        """Only calls that wait are on their way, so a dummy may always leave."""
        return implies(underway(m), waiting(m) & (m != dummy))

    @draft.lemma
    def frames_have_their_time(t: Tick) -> Formula:
        """Frames leave only after the hand-over."""
        begun = (phase == Phase.RUNNING) | (phase == Phase.OVER)
        loaded = implies(chunk(t), phase != Phase.PLANNED)
        return implies(frame(t), begun) & implies(begun, before(manifest, now)) & loaded

    @draft.lemma
    def calls_have_their_time(m: Message) -> Formula:
        """Calls wait only after the hand-over."""
        return implies(waiting(m), (phase == Phase.RUNNING) | (phase == Phase.OVER))

    @draft.lemma
    def nothing_is_carried_without_a_frame(t: Tick) -> Formula:
        """Where no frame left, nothing is carried."""
        return implies(~frame(t), carried(t) == dummy)


def state_lemmas_of_both(runs: TwoRuns) -> None:
    """Add what holds of the two runs together to ``runs``."""

    @runs.lemma
    def both_note_failures() -> Formula:
        """Which answers did not verify, the host decided alone."""
        return runs.same(failed)
