"""The adversary: links and hosts, whoever else is on the network, and GPUs that are not of the ring."""

from __future__ import annotations

from carnet_spec.language import Draft, Step, implies
from carnet_spec.protocols.ring_all_reduce.vocabulary import (
    ADVERSARY,
    Chunk,
    Code,
    Endpoint,
    Iteration,
    Key,
    Mode,
    Phase,
    SubStep,
    Vector,
    altered,
    answered,
    asked,
    ciphertext,
    closed,
    exposed,
    genuine,
    knows,
    learnt,
    made,
    masked,
    report,
    sound,
    tag,
    trains,
)


def specify_adversary(draft: Draft) -> None:
    """Add what the adversary does, makes and works out to ``draft``."""
    _act(draft)
    _forge(draft)
    _read(draft)


def _act(draft: Draft) -> None:
    @draft.action(
        by=ADVERSARY,
        says="{n} opens a key exchange of its own, {k}.",
        message="{n} -> network: key exchange {k}",
        source="Carnet (a fake GPU in the ring)",
        cost=1,
    )
    def open_own(step: Step, n: Endpoint, k: Key) -> None:
        step.given("not of the ring", ~sound(n))
        step.fresh(k)
        step.insert(knows(n, k))
        step.insert(exposed(k))
        step.insert(asked(k))

    @draft.action(
        by=ADVERSARY,
        says="{n} answers the key exchange {k} itself.",
        message="{n} -> network: answer to {k}",
        source="Carnet (a fake GPU in the ring)",
        cost=1,
    )
    def answer_own(step: Step, n: Endpoint, k: Key) -> None:
        """Who answers a key exchange has its key."""
        step.given("not of the ring", ~sound(n))
        step.given("asked", asked(k))
        step.given("first answer", ~answered(k))
        step.insert(answered(k))
        step.insert(knows(n, k))
        step.insert(exposed(k))

    @draft.action(
        by=ADVERSARY,
        says="{n} makes a vector as it likes, {v}.",
        source="Carnet (poisoned gradients)",
        cost=1,
    )
    def make(step: Step, n: Endpoint, v: Vector) -> None:
        step.given("not of the ring", ~sound(n))
        step.fresh(v)
        step.insert(made(v))
        step.insert(learnt(n, v))


def _forge(draft: Draft) -> None:
    @draft.rule(
        by=ADVERSARY,
        says="{n} has a report of itself for {k}, {m}, {q}, at the place of {h}.",
        source="nvtrust cc_admin.py (what a report says)",
    )
    def vouch(step: Step, n: Endpoint, k: Key, m: Mode, q: Code, h: Endpoint) -> None:
        """A genuine GPU says truly in which mode it is and what it runs, and the place is what that code says."""
        step.given("not of the ring", ~sound(n))
        step.given("an end of it", knows(n, k))
        step.given("true mode", implies(genuine(n) & (m == Mode.CONFIDENTIAL), closed(n)))
        step.given("true code", implies(genuine(n) & (q == Code.TRAINER), trains(n)))
        step.insert(report(n, k, m, q, h))

    @draft.rule(
        by=ADVERSARY,
        says="{n} seals {v} under {k} as it likes: {p} of iteration {i}, sub-step {t}, {c}.",
        source="Carnet (who has the key seals)",
    )
    def forge(step: Step, n: Endpoint, k: Key, i: Iteration, p: Phase, t: SubStep, c: Chunk, v: Vector) -> None:
        step.given("has the key", ~sound(n) & knows(n, k))
        step.given("has the vector", learnt(n, v))
        step.insert(ciphertext(k, v))
        step.insert(tag(k, i, p, t, c, v))

    @draft.rule(
        by=ADVERSARY,
        says="{n} changes bytes under {k}, and they decrypt to {v}.",
        source="SP 800-38D section 7.1 (counter mode)",
    )
    def alter(step: Step, n: Endpoint, k: Key, v: Vector) -> None:
        """A bit that is changed in the ciphertext is changed in the plaintext; the tag does not come with it."""
        step.given("on the link", ~sound(n) & asked(k))
        step.given("what the adversary wants", learnt(n, v))
        step.insert(altered(k, v))


def _read(draft: Draft) -> None:
    @draft.rule(
        by=ADVERSARY,
        says="{n} tells {o} the key {k}.",
        source="Carnet (colluders pool what they know)",
    )
    def pool(step: Step, n: Endpoint, o: Endpoint, k: Key) -> None:
        step.given("colluders", ~sound(n) & ~sound(o) & knows(n, k))
        step.insert(knows(o, k))

    @draft.rule(
        by=ADVERSARY,
        says="{n} opens a message under {k} and reads {v}.",
        source="Carnet (who has the key reads)",
    )
    def open_message(step: Step, n: Endpoint, k: Key, v: Vector) -> None:
        """Whoever has the key, of the ring or not."""
        step.given("has the key", knows(n, k))
        step.given("a message", ciphertext(k, v))
        step.insert(learnt(n, v))

    @draft.rule(
        by=ADVERSARY,
        says="{n} sees two messages under one IV, {v} and {w}, and reads both.",
        source="SP 800-38D appendix A",
    )
    def read_two(step: Step, n: Endpoint, k: Key, i: Iteration, p: Phase, c: Chunk, v: Vector, w: Vector) -> None:
        """The sum of two ciphertexts under one key stream is the sum of the plaintexts."""
        step.given("on the link", ~sound(n))
        step.given("one IV", masked(k, i, p, c, v) & masked(k, i, p, c, w) & (v != w))
        step.insert(learnt(n, v))
