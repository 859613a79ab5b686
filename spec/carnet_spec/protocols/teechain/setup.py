"""Setup: the head draws up a chain, members answer with quotes, and the head lists their keys."""

from __future__ import annotations

from carnet_spec.language import Draft, Step
from carnet_spec.protocols.teechain.vocabulary import (
    REPLICA,
    Chain,
    Epoch,
    Replica,
    announced,
    answered,
    belongs,
    certified,
    counter,
    credible,
    head,
    joined,
    last,
    listed,
    measured,
    opened,
    origin,
    quote,
    sealed,
    sound,
    zero,
)

_COMMITTEE = "Teechain, abstract: committee chains"


def specify_setup(draft: Draft) -> None:
    """Add how the first chain is opened, and how replicas join one."""

    @draft.action(
        by=REPLICA,
        says="{p} opens the first chain, {c}.",
        message="{p} -> platform: call for {c}",
        source=_COMMITTEE,
        enforces="REQ-SETUP-01",
    )
    def found(step: Step, p: Replica, c: Chain) -> None:
        """There is one first chain: holders agreed on it."""
        step.actor(p, sound(p))
        step.require("the first chain", (c == origin) & (p == head(c)))
        step.require("not opened before", ~opened(p, c))
        open_chain(step, p, c, zero)

    @draft.action(
        by=REPLICA,
        says="{r} joins {c}, and answers with its quote.",
        message="{r} -> platform: quote for {c}",
        source=_COMMITTEE,
        enforces=("REQ-SETUP-02", "REQ-SETUP-05", "REQ-SETUP-06"),
    )
    def join(step: Step, r: Replica, c: Chain, f: Epoch) -> None:
        """A log starts empty, and not before the epoch at which the chain starts."""
        step.actor(r, sound(r))
        step.require("called", announced(c, f) & belongs(c, r))
        step.require("the head's quote", credible(head(c)), defence="head-quote")
        step.require("not joined before", ~joined(r, c))
        step.given("first answer", ~answered(c, r))
        step.insert(answered(c, r))
        step.insert(quote(r, c))
        step.insert(joined(r, c))
        step.set(last(r, c), f, defence="floor-handed")
        step.set(counter(r, c), f, defence="floor-handed")
        step.insert(sealed(r, c, f), defence="floor-handed")

    @draft.action(
        by=REPLICA,
        says="{p} takes a quote of {r} for {d}, and lists its key in {c}.",
        message="{p} -> platform: list of {c}, with {r}",
        source=_COMMITTEE,
        enforces=("REQ-SETUP-03", "REQ-SETUP-04"),
    )
    def enlist(step: Step, p: Replica, c: Chain, r: Replica, d: Chain) -> None:
        """The list tells all members under which keys the others speak; who is on it is let in."""
        step.actor(p, sound(p))
        step.require("own chain", opened(p, c) & belongs(c, r))
        step.given("a key came", answered(c, r))
        step.require("a quote", quote(r, d))
        step.require("for this key", d == c, defence="quote-bound")
        step.require("certificate", certified(r), defence="quote-certificate")
        step.require("measurement", measured(r), defence="quote-measurement")
        step.insert(listed(c, r))


def open_chain(step: Step, p: Replica, c: Chain, start: Epoch) -> None:
    """Let the head open a chain that starts after an epoch; its own key is the first on the list."""
    step.insert(opened(p, c))
    step.insert(joined(p, c))
    step.insert(announced(c, start))
    step.insert(answered(c, p))
    step.insert(listed(c, p))
    step.insert(sealed(p, c, start))
    step.set(last(p, c), start)
    step.set(counter(p, c), start)
