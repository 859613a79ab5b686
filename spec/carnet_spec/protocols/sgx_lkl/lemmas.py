"""Lemmas: what makes the claims inductive, for any number of ticks, messages and blocks."""

from __future__ import annotations

from carnet_spec.language import Draft, Formula, TwoRuns, implies
from carnet_spec.protocols.sgx_lkl.vocabulary import Message, failed, fits, waiting


def state_lemmas_of_one(draft: Draft) -> None:
    """Add what holds of each run to ``draft``."""

    @draft.lemma
    def what_waits_fits(m: Message) -> Formula:
        """What waits is no longer than a frame."""
        return implies(waiting(m), fits(m))


def state_lemmas_of_both(runs: TwoRuns) -> None:
    """Add what holds of the two runs together to ``runs``."""

    @runs.lemma
    def both_note_failures() -> Formula:
        """Which answers did not verify, the host decided alone."""
        return runs.same(failed)
