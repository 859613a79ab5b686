"""Imposture: what the adversary offers in the orchestrator's place, and its moves where a defence is missing."""

from __future__ import annotations

from carnet_spec.language import Draft, Step
from carnet_spec.protocols.gpu_travelling.hardware import Hardware
from carnet_spec.protocols.gpu_travelling.vocabulary import (
    ADVERSARY,
    Address,
    Agent,
    Gpu,
    Key,
    Session,
    Slot,
    addressed,
    answered,
    channel,
    context,
    corrupt,
    in_session,
    interferes,
    issued,
    key_session,
    knows_d2h,
    knows_h2d,
    knows_launch,
    live_d2h,
    live_h2d,
    offer,
    owner,
    platform,
    received,
    rumoured,
    stale,
    transmitted,
)


def specify_impersonation(draft: Draft) -> None:
    """Add what is offered at the end of a channel that a holder attested."""

    @draft.action(
        by=ADVERSARY,
        says="{p} offers {a} the key {k}, which it knows.",
        message="{p} -> {a}: grant of {k}",
        source="Carnet (impersonated orchestrator, relay and diversion)",
        cost=1,
    )
    def offer_known_key(step: Step, p: Agent, a: Agent, k: Key, v: Slot, b: Address) -> None:
        """At the end of a channel that a holder attested, anything can be offered."""
        step.given("at the far end", interferes & corrupt(p) & ~corrupt(a) & channel(a, p))
        step.given("knows it", knows_h2d(p, k))
        step.insert(offer(p, a, k, v))
        step.insert(addressed(p, a, k, b))

    @draft.action(
        by=ADVERSARY,
        says="{p} offers {a} a key of its own, {k}.",
        message="{p} -> {a}: grant of {k}",
        source="Carnet (impersonated orchestrator); a genuine instance with the attacker's inputs: its code leaks",
        cost=1,
    )
    def offer_own_key(step: Step, p: Agent, a: Agent, k: Key, v: Slot, b: Address, s: Session) -> None:
        """An instance started with hostile inputs is the adversary's, whatever its quote measures."""
        step.given("at the far end", interferes & corrupt(p) & ~corrupt(a) & channel(a, p))
        step.given("some session", answered(s))
        step.fresh(k)
        step.set(owner(k), p)
        step.set(key_session(k), s)
        step.insert(knows_h2d(p, k))
        step.insert(knows_d2h(p, k))
        step.insert(offer(p, a, k, v))
        step.insert(addressed(p, a, k, b))


def specify_shortcut_moves(draft: Draft, hardware: Hardware) -> None:
    """Add the moves that exist only where a defence is missing."""

    @draft.rule(
        by=ADVERSARY,
        says="Somebody says that the buffer is at {b}.",
        source="Carnet (an address that nobody vouches for)",
        shortcut_of="address-in-grant",
    )
    def spread_address(step: Step, b: Address) -> None:
        """Outside an attested channel anybody names any address."""
        step.given("interferes", interferes)
        step.insert(rumoured(b))

    @draft.action(
        by=ADVERSARY,
        says="The platform omits half of a rotation on {g}: counters restart under {k}.",
        message="adversary -> {g}: half a rotation of {k}",
        source="DEMY (arXiv 2507.02770): requests can be omitted; Carnet (half-done rotation)",
        cost=1,
        shortcut_of="atomic-rotation",
    )
    def half_rotation(step: Step, g: Gpu, k: Key) -> None:
        """The counters are cleared, the key is not changed."""
        step.given("power over it", interferes & corrupt(platform) & live_h2d(g, k))
        step.remove(received(g, k, step.each(Slot)))
        step.remove(transmitted(g, k, step.each(Slot)))

    @draft.action(
        by=ADVERSARY,
        says="{x} submits work to {g} with the launch key of {s}.",
        message="{x} -> {g}: a kernel, under the launch key of {s}",
        source="open-gpu-kernel-modules cc_keystore.h: cpu_sec2_hmac_user; DEMY (arXiv 2507.02770): SEC2 channel",
        cost=1,
        shortcut_of="launch-key-kept",
    )
    def submit_work(step: Step, x: Agent, g: Gpu, s: Session) -> None:
        """The launch key does not rotate with the link."""
        step.given("has it", interferes & corrupt(x) & knows_launch(x, s))
        step.given("reaches it", in_session(g, s) & hardware.routes(x))
        step.insert(context(g))

    @draft.action(
        by=ADVERSARY,
        says="A copy engine of {g} is loaded again and takes {k} back.",
        message="adversary -> {g}: engine re-load, {k} again",
        source="open-gpu-kernel-modules conf_compute_gh100.c (feasibility not established)",
        cost=1,
        shortcut_of="no-engine-reload",
    )
    def reload_engine(step: Step, g: Gpu, s: Session, k: Key) -> None:
        """Deriving keys again from the resident export master secret brings an earlier epoch back."""
        step.given("power over it", interferes & corrupt(platform) & in_session(g, s))
        step.given("an earlier key", issued(k) & (key_session(k) == s) & stale(g, k))
        step.remove(live_h2d(g, step.each(Key)), name="forget h2d")
        step.insert(live_h2d(g, k), name="reload h2d")
        step.remove(live_d2h(g, step.each(Key)), name="forget d2h")
        step.insert(live_d2h(g, k), name="reload d2h")
