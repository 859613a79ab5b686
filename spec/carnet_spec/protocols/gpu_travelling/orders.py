"""Orders: how the orchestrator sends one, and how the GPU carries it out and acknowledges, under the home key.

Orders consume counter values like any other message, so the GPU's implicit counter makes it carry them out in order,
each once. Acknowledgements are only as good as the key they verify under: whoever knows its d2h half can forge them.
"""

from __future__ import annotations

from carnet_spec.language import Formula, Step, forall, implies
from carnet_spec.protocols.gpu_travelling.counters import next_free
from carnet_spec.protocols.gpu_travelling.vocabulary import (
    Gpu,
    Key,
    Order,
    Slot,
    acknowledged,
    asked,
    before,
    consumed,
    genuine,
    link_h2d,
    live_d2h,
    live_h2d,
    ordered,
    received,
    replied,
    transmitted,
)


def send(step: Step, order: Order, at: Slot) -> None:
    """Send an order under the host-to-device half of the link, with the next IV."""
    step.require("next IV", next_free(lambda u: consumed(link_h2d, u), at), defence="sender-iv-monotonic")
    step.require("any IV up to the next", contiguous(at), unless="sender-iv-monotonic")
    step.insert(consumed(link_h2d, at))
    step.insert(ordered(link_h2d, at, order))
    step.insert(asked(link_h2d, order))


def contiguous(at: Slot) -> Formula:
    """Whether every counter value below ``at`` is used under the link key."""
    return forall(lambda u: implies(before(u, at), consumed(link_h2d, u)), Slot)


def carry_out(step: Step, gpu: Gpu, key: Key, at: Slot, order: Order) -> None:
    """Take the next order under the live key, at the GPU's own counter."""
    step.actor(gpu, genuine(gpu))
    step.require("live key", live_h2d(gpu, key))
    step.require("verifies", ordered(key, at, order))
    step.require("implicit IV", next_free(lambda u: received(gpu, key, u), at), defence="gpu-implicit-iv")
    step.insert(received(gpu, key, at))


def reply(step: Step, gpu: Gpu, key: Key, at: Slot, order: Order) -> None:
    """Acknowledge under the device-to-host half, with the next IV of that direction."""
    step.require("reply key", live_d2h(gpu, key))
    step.require("next reply IV", next_free(lambda u: transmitted(gpu, key, u), at))
    step.insert(transmitted(gpu, key, at))
    step.insert(replied(key, at, order))
    step.insert(acknowledged(key, order))
