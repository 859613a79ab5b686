"""The adversary: platform and network, enclaves of its own, and broken replicas."""

from __future__ import annotations

from carnet_spec.language import Draft, Step
from carnet_spec.protocols.teechain.vocabulary import (
    ADVERSARY,
    Chain,
    Epoch,
    Holder,
    Replica,
    announced,
    answered,
    belongs,
    follows,
    grant,
    head,
    imposed,
    leaked,
    listed,
    own,
    passed,
    quote,
    sound,
    vote,
)


def specify_adversary(draft: Draft) -> None:
    """Add what the adversary does, makes and works out to ``draft``."""
    _act(draft)
    _forge(draft)
    _read(draft)


def _act(draft: Draft) -> None:
    @draft.action(
        by=ADVERSARY,
        says="The platform answers the call to {r} for {c} itself, with a key of its own.",
        message="platform -> head: answer of {r} for {c}",
        source="Carnet (relayed quote)",
        cost=1,
    )
    def answer_as(step: Step, r: Replica, c: Chain, f: Epoch) -> None:
        """The adversary has the key under which it answers, and quotes only for enclaves of its own."""
        step.given("called", announced(c, f) & belongs(c, r))
        step.given("first answer", ~answered(c, r))
        step.insert(answered(c, r))
        step.insert(imposed(c, r))

    @draft.action(
        by=ADVERSARY,
        says="The platform lists {r} in {c}.",
        source="Carnet (a chain of its own)",
        cost=1,
    )
    def forge_list(step: Step, c: Chain, r: Replica) -> None:
        step.given("its own", ~sound(head(c)) & belongs(c, r))
        step.given("a key", answered(c, r) | (r == head(c)))
        step.insert(listed(c, r))


def _forge(draft: Draft) -> None:
    @draft.rule(
        by=ADVERSARY,
        says="The platform makes a quote of {r} for {c}.",
        source="Carnet (an enclave of its own)",
    )
    def forge_quote(step: Step, r: Replica, c: Chain, f: Epoch) -> None:
        step.given("its own", ~sound(r))
        step.given("called", announced(c, f) & belongs(c, r))
        step.insert(quote(r, c))

    @draft.rule(
        by=ADVERSARY,
        says="The platform calls for {c}, and says that it starts after {f}.",
        source="Carnet (a chain of its own)",
    )
    def forge_call(step: Step, c: Chain, f: Epoch) -> None:
        step.given("its own", ~sound(head(c)))
        step.insert(announced(c, f))

    @draft.rule(
        by=ADVERSARY,
        says="The platform says for {r} that epoch {e} for {h} was logged in {c}.",
        source="Carnet (who has the key speaks)",
    )
    def forge_pass(step: Step, r: Replica, c: Chain, e: Epoch, h: Holder) -> None:
        step.given("has the key", belongs(c, r) & ~own(c, r))
        step.insert(passed(r, c, e, h))

    @draft.rule(
        by=ADVERSARY,
        says="The platform votes for {r} in {b} that {d} may take over, with a log that ends with {f}.",
        source="Carnet (who has the key speaks)",
    )
    def forge_vote(step: Step, r: Replica, b: Chain, d: Chain, f: Epoch) -> None:
        step.given("has the key", belongs(b, r) & follows(b, d) & ~own(b, r))
        step.insert(vote(r, b, d, f))

    @draft.rule(
        by=ADVERSARY,
        says="The platform grants epoch {e} to {h} in {c}.",
        source="Carnet (a chain of its own)",
    )
    def forge_grant(step: Step, c: Chain, e: Epoch, h: Holder) -> None:
        step.given("its own", ~sound(head(c)))
        step.insert(grant(c, e, h))


def _read(draft: Draft) -> None:
    @draft.rule(
        by=ADVERSARY,
        says="The platform reads what {q} passes on to {r} in {c}.",
        source="Carnet (who has the key reads)",
    )
    def read_log(step: Step, q: Replica, r: Replica, c: Chain, e: Epoch, h: Holder) -> None:
        step.given("has a member's key", listed(c, r) & ~own(c, r))
        step.given("passed on", passed(q, c, e, h))
        step.insert(leaked(c))

    @draft.rule(
        by=ADVERSARY,
        says="The platform reads the log that {m} hands over to the head of {d}.",
        source="Carnet (who has the key reads)",
    )
    def read_vote(step: Step, m: Replica, b: Chain, d: Chain, f: Epoch) -> None:
        step.given("handed to the adversary", ~sound(head(d)))
        step.given("a replica's vote", vote(m, b, d, f) & own(b, m))
        step.insert(leaked(b))
