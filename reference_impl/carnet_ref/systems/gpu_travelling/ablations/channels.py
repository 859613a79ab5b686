"""A schedule that keeps no channel counter: every epoch of an engine begins at the same IV."""

from __future__ import annotations

from carnet_ref.systems.gpu_travelling.keys.schedules import FIRST_CHANNEL, EnginePerHolder


class OneChannel(EnginePerHolder):
    """Each epoch of an engine has the first channel; its key bytes are the same, and so are its IVs."""

    def _place(self, owner: str) -> tuple[int, int]:
        engine, _ = super()._place(owner)
        return engine, FIRST_CHANNEL
