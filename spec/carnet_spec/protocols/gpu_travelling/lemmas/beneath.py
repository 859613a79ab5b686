"""Beneath: what other hardware than today's makes true, for the variants that have it."""

from __future__ import annotations

from carnet_spec.language import Draft, Formula, implies
from carnet_spec.protocols.gpu_travelling.hardware import Hardware
from carnet_spec.protocols.gpu_travelling.vocabulary import Gpu, confidential, foreign


def hardware_lemmas(draft: Draft, hardware: Hardware) -> None:
    """Add what holds on that hardware alone."""
    if hardware.confined:

        @draft.lemma
        def nothing_foreign_in_confidential_mode(g: Gpu) -> Formula:
            """Where a link reaches the buffer alone, nobody leaves code on a GPU in confidential mode."""
            return implies(confidential(g), ~foreign(g))
