"""Retiring an engine and opening the next as two orders, of which the host may drop one.

The main variant has one order for both, which firmware carries out whole (A16, A18). Here each is an order of its own.
The firmware opens no engine before the one in use is retired (*retire-before-open*). So a host that drops either half
stops the journey: without the retirement the opening is refused, and without the opening nothing is acknowledged.
"""

from __future__ import annotations

from carnet_spec.language import Draft, Step, forall
from carnet_spec.protocols.gpu_travelling.engines import EnginePerHolder
from carnet_spec.protocols.gpu_travelling.vocabulary import (
    GPU,
    Gpu,
    Key,
    Session,
    genuine,
    in_session,
    live_d2h,
    live_h2d,
    rotate_in_order,
    rotate_out_order,
    stale,
)


class RetireThenOpen(EnginePerHolder):
    """An engine per holder, retired by an order of its own before the next is opened."""

    name = "retire-then-open"
    splits = True

    def gpu_rotates(self, step: Step, gpu: Gpu, key: Key) -> None:
        """Open an engine only when the one before it is retired."""
        idle = forall(lambda j: ~live_h2d(gpu, j) & ~live_d2h(gpu, j), Key)
        step.require("engine retired", idle, defence="retire-before-open")

    def rules(self, draft: Draft) -> None:
        """Add the order to retire, which the host may drop."""
        super().rules(draft)

        @draft.action(
            by=GPU,
            says="{g} retires the engine in use, to open the one of {k}.",
            message="orchestrator -> {g}: retire, then open {k}",
            source="Carnet (half of an order dropped); DEMY (arXiv 2507.02770): requests can be omitted",
        )
        def gpu_retire(step: Step, g: Gpu, s: Session, k: Key) -> None:
            """Between the two orders no engine is open at all."""
            step.actor(g, genuine(g))
            step.require("own session", in_session(g, s))
            step.require("ordered", rotate_out_order(s, k) | rotate_in_order(s, k))
            step.require("not accepted before", ~stale(g, k))
            step.remove(live_h2d(g, step.each(Key)), name="retire h2d")
            step.remove(live_d2h(g, step.each(Key)), name="retire d2h")
