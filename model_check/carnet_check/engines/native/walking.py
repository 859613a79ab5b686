"""The same random walks as the explicit engine's, step by step, by compiled code once there are many steps.

They begin in Python, which is enough for a few. A walk is its state and the state of its random generator, so either
side can continue it. Compiled code notes the questions that the memos of actions have not answered yet, so that Python
counts how often guards held. It leaves a step that writes a place without bits to Python.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from carnet_check.engines.explicit.bounds import Watch
from carnet_check.engines.explicit.model import Model
from carnet_check.engines.explicit.search import expander
from carnet_check.engines.explicit.walking import PackedWalks
from carnet_check.engines.exploration import Walks
from carnet_check.engines.native.compiling import seconds_compiling
from carnet_check.engines.native.lowering import Lowering
from carnet_check.engines.native.model_code import LEFT, SIGHTED, ModelCode, first_width
from carnet_check.engines.native.search import LOOKED_AHEAD, MOST_HERE, KnownCode, look_ahead

if TYPE_CHECKING:
    from carnet_check.engines.native.course import CompiledCourse

HAND_OVER_AT = 100_000  #: The number of steps before the model is compiled, which takes some seconds.


class NativeWalks(PackedWalks):
    """Random walks from the initial states."""

    def __init__(self, model: Model, watch: Watch, walks: Walks, *, hand_over_at: int = HAND_OVER_AT) -> None:
        super().__init__(model, watch, walks)
        self._hand_over_at = hand_over_at
        self._known = KnownCode(model, 0)
        self._compiled: CompiledCourse | None = None
        self._taken_here = 0

    def _go_on(self) -> None:
        if self._compiled is None or self._taken_here >= MOST_HERE:
            code = self._known.code() if self.number == self.steps == 0 else None
            if code is None and self.steps >= self._hand_over_at:
                code = self._written()
            if code is None:
                super()._go_on()
                return
            self._compiled, self._taken_here = self._begun(code), 0
        why = self._compiled.go_on(self)
        if why == SIGHTED:
            self._look()
        elif why == LEFT:
            self._take_step()
            self._taken_here += 1

    def _written(self) -> ModelCode:
        look_ahead(
            self.model,
            [expander(self.model, step, lambda _: None) for step in self.model.steps],
            self.sample,
            LOOKED_AHEAD,
        )
        lowered = Lowering.of(self.model, self.sample)
        return ModelCode.of(lowered, first_width(lowered.words), 0, quick=True)

    def _begun(self, code: ModelCode) -> CompiledCourse:
        from carnet_check.engines.native.course import CompiledCourse  # imports NumPy
        from carnet_check.engines.native.machine import Machine

        seconds_compiling()
        compiled = CompiledCourse(Machine(code, None, 1), self)
        self.watch.leave_out(seconds_compiling())
        self._known.keep(code)
        return compiled
