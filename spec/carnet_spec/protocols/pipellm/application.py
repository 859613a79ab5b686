"""The application: it opens a channel, writes its pages, and asks for copies to the GPU."""

from __future__ import annotations

from carnet_spec.language import Draft, Step, forall, implies
from carnet_spec.protocols.pipellm.vocabulary import (
    GPU,
    TENANT,
    Agent,
    Block,
    Copy,
    Iv,
    Key,
    Page,
    asked,
    content,
    due,
    earlier,
    home,
    honest,
    knows,
    latest,
    opened,
    owner,
    pending,
    session,
    source,
    staged,
    start,
)


def specify_application(draft: Draft) -> None:
    """Add channels, writes and requests to ``draft``."""
    _channel(draft)
    _write(draft)
    _ask(draft)


def _channel(draft: Draft) -> None:
    @draft.action(
        by=TENANT,
        says="{a} opens the channel {k} to the GPU.",
        message="{a} -> host: session with the GPU, key {k}",
        source="NVIDIA H100, confidential mode",
        enforces=("REQ-KEY-01", "REQ-KEY-02"),
    )
    def open_channel(step: Step, a: Agent, k: Key) -> None:
        """Both counters begin at the start, and the key is as new as they are."""
        step.actor(a, honest(a))
        step.fresh(k)
        step.insert(opened(a, k))
        step.insert(knows(a, k))
        step.insert(session(k))

    @draft.action(
        by=GPU,
        says="{q} is given a channel under {k}, the key that {a} has.",
        message="gpu -> {q}: session with key {k}",
        source="Carnet (one key for two tenants)",
        shortcut_of="own-key",
    )
    def share_key(step: Step, a: Agent, q: Agent, k: Key) -> None:
        step.given("of another", opened(a, k) & (a != q))
        step.insert(knows(q, k))

    @draft.action(
        by=TENANT,
        says="{a} begins the channel {k} again, with its old key.",
        source="Carnet (a counter that begins again)",
        shortcut_of="new-key",
    )
    def restart(step: Step, a: Agent, k: Key) -> None:
        step.actor(a, honest(a))
        step.require("own channel", opened(a, k))
        step.require("used before", due(k) != start)
        step.set(due(k), start)


def _write(draft: Draft) -> None:
    @draft.action(
        by=TENANT,
        says="The application of {a} writes {b} to {p}.",
        source="PipeLLM, review: validation",
        enforces=("REQ-WRITE-01", "REQ-WRITE-02"),
    )
    def write(step: Step, a: Agent, p: Page, b: Block) -> None:
        """The page is write-protected while a ciphertext of it is staged, so the runtime sees the write first."""
        step.actor(a, honest(a))
        step.require("own page", home(p) == a)
        step.require("own data", owner(b) == a)
        idle = forall(lambda k, r: implies(pending(k, r), source(k, r) != p), Key, Copy)
        step.require("no copy of it is pending", idle, defence="write-waits")
        step.set(content(p), b)
        stale = staged(step.each(Key), step.each(Iv), p, step.each(Block))
        step.remove(stale, defence="write-invalidates", name="drop what was staged of it")


def _ask(draft: Draft) -> None:
    @draft.action(
        by=TENANT,
        says="The application of {a} asks for {r}, of {p}, on {k}.",
        source="PipeLLM, abstract",
        enforces="REQ-ORDER-01",
    )
    def ask(step: Step, a: Agent, k: Key, r: Copy, p: Page) -> None:
        """Copies are numbered in the order in which they are asked for."""
        step.actor(a, honest(a))
        step.require("own channel", opened(a, k))
        step.require("own page", home(p) == a)
        step.require("the next number", earlier(latest(k), r))
        step.set(latest(k), r)
        step.set(source(k, r), p)
        step.insert(pending(k, r))
        step.insert(asked(k, r, content(p)))
