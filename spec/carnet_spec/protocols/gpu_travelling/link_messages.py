"""Messages on the link: what reports and orders that do not travel inside the session let others make."""

from __future__ import annotations

from carnet_spec.language import Draft, Step
from carnet_spec.protocols.gpu_travelling.vocabulary import (
    ADVERSARY,
    Agent,
    Gpu,
    Key,
    Order,
    Slot,
    Version,
    acknowledged,
    context,
    corrupt,
    counted,
    digested,
    forges_d2h,
    forges_h2d,
    interferes,
    knows_d2h,
    knows_h2d,
    live_d2h,
    live_h2d,
    sent_as,
    submitted,
    trained_to,
)


def specify_messages_on_the_link(draft: Draft) -> None:
    """Add what reports and orders on the link allow: each exists only where the defence that moves it is missing."""

    @draft.rule(
        by=ADVERSARY,
        says="{x} forges the report {o} under {k}.",
        source="AEAD: whoever knows the key makes valid messages",
        shortcut_of="session-acknowledgements",
    )
    def forge_under_link(step: Step, x: Agent, k: Key, o: Order, c: Key, n: Slot) -> None:
        """A report on the link proves that somebody can make messages under its d2h half, no more."""
        step.given("has the half", interferes & corrupt(x) & (knows_d2h(x, k) | forges_d2h(x, k)))
        step.insert(acknowledged(k, o))
        step.insert(counted(k, c, n))

    @draft.rule(
        by=ADVERSARY,
        says="The kernel left on {g} makes the report {o} with the copy engine of {j}, in the epoch of {k}.",
        message="{g} -> orchestrator: {o}, under {j}",
        source="Carnet (a kernel uses the copy engines): no key is needed to use an engine, and none is read (A3)",
        shortcut_of="session-acknowledgements",
    )
    def code_answers(step: Step, g: Gpu, j: Key, k: Key, o: Order, c: Key, n: Slot) -> None:
        """A kernel that is still there answers in the firmware's place, under a live key that nobody corrupt knows."""
        step.given("runs", context(g) & live_d2h(g, j) & live_h2d(g, k))
        step.insert(acknowledged(k, o))
        step.insert(counted(k, c, n))

    @draft.rule(
        by=ADVERSARY,
        says="The kernel left on {g} reports the digest of {n} with the copy engine of {j}, in the epoch of {k}.",
        message="{g} -> orchestrator: digest of {n}, under {j}",
        source="Carnet (a kernel uses the copy engines)",
        shortcut_of="session-acknowledgements",
    )
    def code_reports(step: Step, g: Gpu, j: Key, k: Key, n: Version) -> None:
        """So with digests."""
        step.given("runs", context(g) & live_d2h(g, j) & live_h2d(g, k))
        for told_of in (digested, trained_to, sent_as):
            step.insert(told_of(k, n))

    @draft.rule(
        by=ADVERSARY,
        says="{x} forges the digest of {n} under {k}.",
        source="AEAD: whoever knows the key makes valid messages",
        shortcut_of="session-acknowledgements",
    )
    def forge_digest_under_link(step: Step, x: Agent, k: Key, n: Version) -> None:
        """So with digests, by whoever has the d2h half."""
        step.given("has the half", interferes & corrupt(x) & (knows_d2h(x, k) | forges_d2h(x, k)))
        for told_of in (digested, trained_to, sent_as):
            step.insert(told_of(k, n))

    @draft.rule(
        by=ADVERSARY,
        says="{x} submits the order {o} under {k}.",
        source="AEAD: whoever knows the key makes valid messages",
        shortcut_of="session-orders",
    )
    def forge_order(step: Step, x: Agent, k: Key, o: Order) -> None:
        """An order on the link is as good as the key it came under."""
        step.given("has the half", interferes & corrupt(x) & (knows_h2d(x, k) | forges_h2d(x, k)))
        step.insert(submitted(k, o))

    @draft.rule(
        by=ADVERSARY,
        says="The kernel left on {g} submits the order {o} in the epoch of {k}.",
        message="{g} -> {g}: {o}, submitted by the kernel left behind",
        source="Carnet (a kernel uses what it can reach): work is submitted from device memory too",
        shortcut_of="session-orders",
    )
    def code_orders(step: Step, g: Gpu, k: Key, o: Order) -> None:
        """Whatever the link would carry, a kernel on the GPU can submit."""
        step.given("runs", context(g) & live_h2d(g, k))
        step.insert(submitted(k, o))
