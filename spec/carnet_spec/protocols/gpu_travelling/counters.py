"""Counter values: the IVs of one direction under one key are taken in order, each once."""

from __future__ import annotations

from collections.abc import Callable

from carnet_spec.language import Formula, forall, implies
from carnet_spec.protocols.gpu_travelling.vocabulary import (
    Slot,
    before,
)


def next_free(used_at: Callable[[Slot], Formula], slot: Slot) -> Formula:
    """Whether ``slot`` is the first counter value not used yet."""
    return ~used_at(slot) & forall(lambda u: implies(before(u, slot), used_at(u)), Slot)
