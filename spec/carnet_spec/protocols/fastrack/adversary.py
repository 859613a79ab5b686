"""The adversary: host, network, other users, GPUs of its own, and the CPU TEE where that is corrupt."""

from __future__ import annotations

from carnet_spec.language import Draft, Step
from carnet_spec.protocols.fastrack.vocabulary import (
    ADVERSARY,
    Agent,
    Block,
    Code,
    Gpu,
    Key,
    Mark,
    Mode,
    Position,
    Transfer,
    answer,
    answered,
    asked,
    changed,
    ciphertext,
    confidential,
    corrupt,
    exposed,
    genuine,
    holds,
    knows,
    leaks,
    learnt,
    masked,
    named,
    opened,
    owner,
    released,
    report,
    runs,
    tag,
)


def specify_adversary(draft: Draft) -> None:
    """Add what the adversary does, makes and works out to ``draft``."""
    _act(draft)
    _forge(draft)
    _read(draft)


def _act(draft: Draft) -> None:
    @draft.action(
        by=ADVERSARY,
        says="{p} opens a key exchange of its own, {k}.",
        message="{p} -> cpu: key exchange {k}, for a GPU",
        source="Carnet (other users)",
        cost=1,
    )
    def open_own(step: Step, p: Agent, k: Key) -> None:
        step.given("corrupt", corrupt(p))
        step.fresh(k)
        step.insert(opened(p, k))
        step.insert(knows(p, k))
        step.insert(asked(k))

    @draft.action(
        by=ADVERSARY,
        says="{p} answers the key exchange {k} itself, with a report of {g} that it made.",
        message="{p} -> cpu: answer to {k}",
        source="nvtrust cc_admin.py (fake GPU)",
        cost=1,
    )
    def answer_as_gpu(step: Step, p: Agent, g: Gpu, k: Key, m: Mode) -> None:
        """Who answers a key exchange has its key; it can sign only for GPUs that no vendor made."""
        step.given("corrupt", corrupt(p))
        step.given("a fake", ~genuine(g))
        step.given("asked", asked(k))
        step.given("first answer", ~answered(k))
        step.insert(answered(k))
        step.insert(knows(p, k))
        step.insert(exposed(k))
        step.insert(report(g, k, m))


def _forge(draft: Draft) -> None:
    @draft.rule(
        by=ADVERSARY,
        says="{p} seals {b} under {k} as it likes: transfer {x}, place {i} of {n}, {m}.",
        source="Carnet (who has the key seals)",
    )
    def forge(step: Step, p: Agent, k: Key, x: Transfer, i: Position, n: Position, m: Mark, b: Block) -> None:
        step.given("has the key", corrupt(p) & knows(p, k))
        step.given("has the data", corrupt(owner(b)) | learnt(p, b))
        step.insert(ciphertext(k, b))
        step.insert(tag(k, x, i, n, m, b))

    @draft.rule(
        by=ADVERSARY,
        says="{p} changes bytes under {k}, and they decrypt to {b}.",
        source="SP 800-38D section 7.1 (counter mode)",
    )
    def change(step: Step, p: Agent, k: Key, b: Block) -> None:
        """A bit that is changed in the ciphertext is changed in the plaintext; the tag does not come with it."""
        step.given("corrupt", corrupt(p) & asked(k))
        step.given("what the adversary wants", corrupt(owner(b)))
        step.insert(changed(k, b))

    @draft.rule(
        by=ADVERSARY,
        says="{p} names {c} as code to run under {k}.",
        source="Carnet (who has the key names code)",
    )
    def name_code(step: Step, p: Agent, k: Key, c: Code) -> None:
        step.given("has the key", corrupt(p) & knows(p, k))
        step.insert(named(k, c))

    @draft.rule(
        by=ADVERSARY,
        says="{p} makes an answer to transfer {x} under {k}.",
        source="Carnet (who has the key answers)",
    )
    def forge_answer(step: Step, p: Agent, k: Key, x: Transfer) -> None:
        step.given("has the key", corrupt(p) & knows(p, k))
        step.insert(answer(k, x))


def _read(draft: Draft) -> None:
    @draft.rule(
        by=ADVERSARY,
        says="{p} reads {k} in the memory of {g}, which is not in confidential mode.",
        source="nvtrust cc_admin.py (open mode)",
    )
    def read_open_gpu(step: Step, p: Agent, g: Gpu, k: Key) -> None:
        step.given("corrupt", corrupt(p))
        step.given("open", holds(g, k) & ~confidential(g))
        step.insert(knows(p, k))
        step.insert(exposed(k))

    @draft.rule(
        by=ADVERSARY,
        says="{p} tells {q} the key {k}.",
        source="Carnet (colluders pool what they know)",
    )
    def pool(step: Step, p: Agent, q: Agent, k: Key) -> None:
        step.given("colluders", corrupt(p) & corrupt(q) & knows(p, k))
        step.insert(knows(q, k))

    @draft.rule(
        by=ADVERSARY,
        says="{p} opens a chunk under {k} and reads {b}.",
        source="Fastrack, abstract: redundant CPU re-encryption",
    )
    def open_chunk(step: Step, p: Agent, k: Key, b: Block) -> None:
        """Whoever has the key, corrupt or not: data that the CPU TEE decrypts is in the CPU TEE."""
        step.given("has the key", knows(p, k))
        step.given("a chunk", ciphertext(k, b))
        step.insert(learnt(p, b))

    @draft.rule(
        by=ADVERSARY,
        says="{p} sees two chunks under one IV, {b} and {c}, and reads both.",
        source="SP 800-38D appendix A",
    )
    def read_two(step: Step, p: Agent, k: Key, x: Transfer, i: Position, b: Block, c: Block) -> None:
        """The sum of two ciphertexts under one key stream is the sum of the plaintexts."""
        step.given("corrupt", corrupt(p))
        step.given("one IV", masked(k, x, i, b) & masked(k, x, i, c) & (b != c))
        step.insert(learnt(p, b))

    @draft.rule(
        by=ADVERSARY,
        says="{c} on {g} writes {b} where {p} reads it.",
        source="Carnet (the CPU TEE launches a kernel)",
    )
    def copied_out(step: Step, p: Agent, g: Gpu, k: Key, c: Code, x: Transfer, i: Position, b: Block) -> None:
        step.given("corrupt", corrupt(p))
        step.given("reads the data", runs(g, k, c) & leaks(c) & released(g, k, x, i, b))
        step.insert(learnt(p, b))
