"""Orders: how the orchestrator gives one to the firmware, and how the firmware carries it out and reports.

Orders and reports travel inside the session, under keys that hang on its master and that firmware alone holds: neither
whoever was lent a link key nor code on the GPU can make one. An order names the epoch it is about and has a number in
it, and the report on it has the same: so no two messages of the session share an IV, and the firmware carries out the
orders of the live epoch in their order, each once.
"""

from __future__ import annotations

from carnet_spec.language import Formula, Step, exists, forall, implies
from carnet_spec.protocols.gpu_travelling.counters import next_free
from carnet_spec.protocols.gpu_travelling.history import reported_again
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
    heard,
    link_h2d,
    live_d2h,
    live_h2d,
    ordered,
    repeated,
    replied,
    streamed,
    submitted,
    told,
    transmitted,
)


def send(step: Step, order: Order, at: Slot) -> None:
    """Send an order about the link's epoch, inside the session, with the next number."""
    step.require("next number", next_free(lambda u: told(link_h2d, u), at))
    step.insert(told(link_h2d, at))
    step.insert(ordered(link_h2d, at, order))
    step.insert(asked(link_h2d, order))


def seal(step: Step, at: Slot) -> None:
    """Protect a message to the GPU with the host-to-device half of the link, with the next IV."""
    step.require("next IV", next_free(lambda u: consumed(link_h2d, u), at), defence="sender-iv-monotonic")
    step.require("any IV up to the next", contiguous(at), unless="sender-iv-monotonic")
    step.insert(consumed(link_h2d, at))


def contiguous(at: Slot) -> Formula:
    """Whether every counter value below ``at`` is used under the link key."""
    return forall(lambda u: implies(before(u, at), consumed(link_h2d, u)), Slot)


def carry_out(step: Step, gpu: Gpu, key: Key, at: Slot, order: Order) -> None:
    """Take the next order about the live epoch, and report on it."""
    step.actor(gpu, genuine(gpu))
    step.require("live epoch", live_h2d(gpu, key))
    step.require("verifies", ordered(key, at, order), defence="session-orders")
    step.require("verifies on the link", ordered(key, at, order) | submitted(key, order), unless="session-orders")
    step.require("in order", next_free(lambda u: heard(gpu, key, u), at), defence="session-sequence")
    step.insert(heard(gpu, key, at))
    report_on(step, key, at, order)


def report_on(step: Step, key: Key, at: Slot, order: Order) -> None:
    """Report on an order inside the session, under its number."""
    step.insert(reported_again(key, at), when=exists(lambda o: replied(key, at, o), Order))
    step.insert(replied(key, at, order))
    step.insert(acknowledged(key, order))


def stream(step: Step, gpu: Gpu, key: Key, at: Slot) -> None:
    """Protect a message home with the live device-to-host half, with the next IV of that direction."""
    step.require("live key home", live_d2h(gpu, key))
    step.require("next IV home", next_free(lambda u: transmitted(gpu, key, u), at))
    step.insert(transmitted(gpu, key, at))
    step.insert(repeated(key, at), when=streamed(key, at))
    step.insert(streamed(key, at))
