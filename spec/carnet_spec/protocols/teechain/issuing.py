"""Issuing: an epoch goes down the chain, each replica logs it and passes it on, and then the head grants it."""

from __future__ import annotations

from carnet_spec.language import Draft, Step, forall, implies, true
from carnet_spec.protocols.teechain.vocabulary import (
    HOLDER,
    REPLICA,
    Chain,
    Epoch,
    Holder,
    Replica,
    accepted,
    ahead,
    before,
    belongs,
    counter,
    credible,
    frozen,
    grant,
    head,
    issued,
    joined,
    last,
    listed,
    logged,
    opened,
    passed,
    sealed,
    sound,
    tail,
    upto,
    zero,
)

_CHAIN = "Teechain, abstract: a new variant of chain replication"
_COUNTER = "Teechan: monotonic counters; Carnet"


def specify_issuing(draft: Draft) -> None:
    """Add how an epoch is issued."""
    _log(draft)
    _pass(draft)
    _issue(draft)


def _log(draft: Draft) -> None:
    @draft.action(
        by=REPLICA,
        says="{p} proposes epoch {e} for {h} in {c}, and logs it.",
        message="{p} -> platform: sealed state that ends with {e}",
        source=_CHAIN,
        enforces=("REQ-ISSUE-01", "REQ-TAKE-02"),
    )
    def propose(step: Step, p: Replica, c: Chain, e: Epoch, h: Holder) -> None:
        """What the head has logged it grants later, or never."""
        step.actor(p, sound(p))
        step.require("own chain", opened(p, c))
        step.require("an epoch", e != zero)
        step.require("after the last one", before(last(p, c), e), defence="issue-grows")
        step.require("not frozen", ~frozen(p, c), defence="freeze")
        _keep(step, p, c, e, h)

    @draft.action(
        by=REPLICA,
        says="{r} logs epoch {e} for {h} in {c}.",
        message="{r} -> platform: sealed state that ends with {e}",
        source=_CHAIN,
        enforces=("REQ-ISSUE-02", "REQ-ISSUE-03", "REQ-TAKE-02"),
    )
    def log(step: Step, r: Replica, c: Chain, e: Epoch, h: Holder) -> None:
        """The platform delivers what was passed on when it likes, and old entries again."""
        step.actor(r, sound(r))
        step.require("a backup of it", joined(r, c) & listed(c, r) & (r != head(c)))
        step.require("the head's", listed(c, head(c)) & passed(head(c), c, e, h))
        down = forall(lambda q: implies(ahead(c, q, r), listed(c, q) & passed(q, c, e, h)), Replica)
        step.require("all before it passed it on", down, defence="chain-order")
        step.require("after the last one", before(last(r, c), e), defence="log-grows")
        step.require("not frozen", ~frozen(r, c), defence="freeze")
        _keep(step, r, c, e, h)


def _keep(step: Step, r: Replica, c: Chain, e: Epoch, h: Holder) -> None:
    step.insert(logged(r, c, e, h))
    step.insert(sealed(r, c, e))
    step.set(last(r, c), e)


def _pass(draft: Draft) -> None:
    @draft.action(
        by=REPLICA,
        says="{r} increments its counter for {c}.",
        source=_COUNTER,
        enforces="REQ-STORE-01",
    )
    def increment(step: Step, r: Replica, c: Chain) -> None:
        """From now on the sealed state of before is an old one."""
        step.actor(r, sound(r))
        step.require("a member", joined(r, c))
        step.set(counter(r, c), last(r, c))

    @draft.action(
        by=REPLICA,
        says="{r} passes on that it logged epoch {e} for {h} in {c}.",
        message="{r} -> platform: {r} logged {e} for {h} in {c}",
        source=_CHAIN,
        enforces="REQ-STORE-01",
    )
    def pass_on(step: Step, r: Replica, c: Chain, e: Epoch, h: Holder) -> None:
        """The last replica's is the acknowledgement. The IV is made of the epoch."""
        step.actor(r, sound(r))
        step.require("logged", joined(r, c) & logged(r, c, e, h))
        step.require("counted", upto(e, counter(r, c)), defence="increment-first")
        step.insert(passed(r, c, e, h))


def _issue(draft: Draft) -> None:
    @draft.action(
        by=REPLICA,
        says="{p} grants epoch {e} to {h}.",
        message="{p} -> {h}: custody for epoch {e}, in {c}",
        source=_CHAIN,
        enforces="REQ-ISSUE-04",
    )
    def issue(step: Step, p: Replica, c: Chain, e: Epoch, h: Holder) -> None:
        """Only now does anything of the epoch leave the chain."""
        step.actor(p, sound(p))
        step.require("own chain", opened(p, c) & logged(p, c, e, h))
        step.require("passed it on itself", passed(p, c, e, h))
        step.require("the tail acknowledged it", listed(c, tail(c)) & passed(tail(c), c, e, h))
        everyone = forall(lambda r: implies(belongs(c, r), listed(c, r) & passed(r, c, e, h)), Replica)
        step.require("every member passed it on", everyone, defence="every-member")
        step.insert(grant(c, e, h))
        step.insert(issued(c, e, h))

    @draft.action(
        by=HOLDER,
        says="{h} takes custody for epoch {e}, granted to {i} in {c}.",
        source="Carnet (who else could grant)",
        enforces=("REQ-HOLDER-01", "REQ-HOLDER-02"),
    )
    def accept(step: Step, h: Holder, c: Chain, e: Epoch, i: Holder) -> None:
        """A holder need not know the chain: a head of the custody program is one by right, or opens none."""
        step.actor(h, true)
        step.require("a grant", grant(c, e, i))
        step.require("to this holder", i == h, defence="grant-holder")
        step.require("the head's quote", credible(head(c)), defence="holder-check")
        step.insert(accepted(h, c, e))
