"""The same random walks as the explicit engine's, step by step, taken by a kernel once there are many.

They begin in Python: a few need nothing else. A walk can be handed over wherever it is, since the state and what is
drawn next are all that it consists of.
"""

from __future__ import annotations

from typing import Any

from carnet_check.engines.explicit.bounds import Watch
from carnet_check.engines.explicit.model import Model
from carnet_check.engines.explicit.walking import PackedWalks
from carnet_check.engines.exploration import Walks

HAND_OVER_AT = 20_000
"""How many steps are taken before the kernel goes on, which takes half a second to load."""


class NativeWalks(PackedWalks):
    """Walks from the first state on."""

    def __init__(self, model: Model, watch: Watch, walks: Walks, *, hand_over_at: int = HAND_OVER_AT) -> None:
        super().__init__(model, watch, walks)
        self._hand_over_at = hand_over_at
        self._machine: Any = None  # its module is slow to import

    def _go_on(self) -> None:
        if self._machine is None and self.steps >= self._hand_over_at:
            from carnet_check.engines.native.walk_machine import WalkMachine

            self._machine = WalkMachine(self)
        if self._machine is None:
            super()._go_on()
        elif self._machine.go_on():
            self._look()

    def _forget(self) -> None:
        super()._forget()
        if self._machine is not None:
            self._machine.begin()
