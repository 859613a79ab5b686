"""Engines whose keys leak early: an engine per holder, and each epoch's key is given away once it is over."""

from __future__ import annotations

from carnet_spec.language import Draft, Expression, Formula, Step
from carnet_spec.protocols.gpu_travelling.engines import EnginePerHolder
from carnet_spec.protocols.gpu_travelling.schedules import Schedule
from carnet_spec.protocols.gpu_travelling.vocabulary import Data, Key, carried, revealed


class RetiredEngineLeaks(EnginePerHolder):
    """An engine per holder, whose key leaks already while its engine is retired: the GPU will take it again."""

    name = "retired-engine-leaks"

    def reveal(self, draft: Draft) -> None:
        """Each epoch's key leaks once the GPU no longer accepts it, as if every epoch had a key of its own."""
        Schedule.reveal(self, draft)

    def lemmas(self, draft: Draft) -> None:
        """Add what keeps epochs apart; what the same bytes open later cannot be kept."""
        self._channel_lemmas(draft)

    def leaked(self, key: Key) -> Formula:
        """Whether the key was given to the adversary after its epoch."""
        return revealed(key)

    def carried(self, key: Key, data: Data) -> Formula:
        """Whether the data was sent under the key, or went home in what training sent."""
        return carried(key, data)

    def carries(self, step: Step, key: Key, data: Expression, when: Formula | None = None) -> None:
        """Record that the epoch of ``key`` carries ``data``."""
        Schedule.carries(self, step, key, data, when)

    def opened(self, data: Data) -> Formula:
        """Whether an epoch that carried the data has a key that was given to the adversary."""
        return Schedule.opened(self, data)
