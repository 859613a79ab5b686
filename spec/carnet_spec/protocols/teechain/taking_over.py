"""Taking over and starting again: votes that freeze a chain, the chain that follows, and sealed states."""

from __future__ import annotations

from carnet_spec.language import Draft, Step, forall, implies
from carnet_spec.protocols.teechain.setup import open_chain
from carnet_spec.protocols.teechain.vocabulary import (
    REPLICA,
    Chain,
    Epoch,
    Holder,
    Quorum,
    Replica,
    bar,
    before,
    counter,
    follows,
    frozen,
    head,
    joined,
    last,
    listed,
    logged,
    opened,
    ousted,
    over,
    polled,
    quorum,
    sealed,
    sound,
    vote,
    within,
    zero,
)

_FREEZE = "Teechain: force-freeze; Carnet (votes)"
_STORE = "Teechan: monotonic counters; Carnet (rollback)"


def specify_taking_over(draft: Draft) -> None:
    """Add how a chain is frozen and taken over, and how a replica starts again."""
    _vote(draft)
    _take_over(draft)
    _start_again(draft)


def _vote(draft: Draft) -> None:
    @draft.action(
        by=REPLICA,
        says="{r} freezes {b}, votes for {d} and hands its log over.",
        message="{r} -> platform: vote for {d}, with the log of {b}",
        source=_FREEZE,
        enforces=("REQ-TAKE-01", "REQ-TAKE-03"),
    )
    def freeze(step: Step, r: Replica, b: Chain, d: Chain) -> None:
        """A state that is read out is a state that does not go on; the counter takes that in, too."""
        step.actor(r, sound(r))
        step.require("a member", joined(r, b) & listed(b, r) & follows(b, d))
        step.require("for a member", listed(b, head(d)), defence="votes-for-members")
        step.require("not voted", ~frozen(r, b), defence="one-vote")
        step.insert(frozen(r, b))
        step.set(counter(r, b), last(r, b))
        step.insert(vote(r, b, d, last(r, b)))


def _take_over(draft: Draft) -> None:
    @draft.action(
        by=REPLICA,
        says="{p} takes the vote of {m} in {b} for {x} as one for {d}; its log ends with {f}.",
        source=_FREEZE,
        enforces=("REQ-TAKE-04", "REQ-TAKE-05", "REQ-TAKE-06"),
    )
    def poll(step: Step, p: Replica, b: Chain, d: Chain, m: Replica, x: Chain, f: Epoch) -> None:
        """The next chain starts after whatever any voter has logged, granted or not."""
        step.actor(p, sound(p))
        step.require("to be the head", (p == head(d)) & follows(b, d) & ~opened(p, d))
        step.require("a member of it", joined(p, b) & listed(b, p), defence="from-the-chain")
        step.require("a vote", listed(b, m) & vote(m, b, x, f))
        step.require("for this chain", x == d, defence="vote-bound")
        step.insert(polled(d, m))
        step.set(last(p, d), f, when=before(last(p, d), f), defence="newest-log")

    @draft.action(
        by=REPLICA,
        says="{p} takes {b} over with the votes of {q}, and opens {d}.",
        message="{p} -> platform: call for {d}",
        source=_FREEZE,
        enforces="REQ-TAKE-07",
    )
    def take_over(step: Step, p: Replica, b: Chain, d: Chain, q: Quorum) -> None:
        """Two quorums meet, and who is in both voted once."""
        step.actor(p, sound(p))
        step.require("to be the head", (p == head(d)) & follows(b, d) & quorum(b, q))
        step.require("not opened before", ~opened(p, d))
        step.require("a member of it", joined(p, b), defence="from-the-chain")
        votes = forall(lambda m: implies(within(q, m), polled(d, m)), Replica)
        step.require("all votes of a quorum", votes, defence="quorum")
        open_chain(step, p, d, last(p, d))
        step.insert(over(b))
        step.set(ousted(b), q)
        step.set(bar(b), last(p, d))


def _start_again(draft: Draft) -> None:
    @draft.action(
        by=REPLICA,
        says="{r} starts again in {c}, from a sealed state that ends with {e}.",
        message="platform -> {r}: a sealed state that ends with {e}",
        source=_STORE,
        enforces="REQ-STORE-02",
    )
    def restart(step: Step, r: Replica, c: Chain, e: Epoch) -> None:
        """Storage is the platform's, which kept every state; what was not counted is lost."""
        step.actor(r, sound(r))
        step.given("was a member", joined(r, c))
        step.require("a sealed state", sealed(r, c, e))
        step.require("the counter's", e == counter(r, c), defence="counter-check")
        x, h = step.each(Epoch), step.each(Holder)
        step.remove(logged(r, c, x, h), when=before(e, x), name="lose what came later")
        step.set(last(r, c), e)
        step.remove(frozen(r, c), unless="counter-check", name="thaw")

    @draft.action(
        by=REPLICA,
        says="{r} is launched anew with an empty log in {c}, and has its key.",
        source=_STORE,
        shortcut_of="launch-identity",
    )
    def relaunch(step: Step, r: Replica, c: Chain) -> None:
        """A key that outlives the memory speaks for a log that is gone."""
        step.actor(r, sound(r))
        step.given("was a member", joined(r, c))
        step.remove(logged(r, c, step.each(Epoch), step.each(Holder)), name="lose the log")
        step.remove(frozen(r, c), name="thaw")
        step.set(last(r, c), zero)
