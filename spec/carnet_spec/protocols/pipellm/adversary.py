"""The adversary: the host, which sees and changes shared memory, and tenants that collude with it."""

from __future__ import annotations

from carnet_spec.language import Draft, Step
from carnet_spec.protocols.pipellm.vocabulary import (
    ADVERSARY,
    Agent,
    Block,
    Copy,
    Iv,
    Key,
    changed,
    command,
    corrupt,
    exposed,
    knows,
    learnt,
    opened,
    owner,
    scratch,
    session,
)


def specify_adversary(draft: Draft) -> None:
    """Add what the adversary does, makes and works out to ``draft``."""
    _act(draft)
    _forge(draft)
    _read(draft)


def _act(draft: Draft) -> None:
    @draft.action(
        by=ADVERSARY,
        says="{p} opens a channel of its own, {k}.",
        message="{p} -> gpu: session with key {k}",
        source="Carnet (other tenants)",
        cost=1,
    )
    def open_own(step: Step, p: Agent, k: Key) -> None:
        step.given("corrupt", corrupt(p))
        step.fresh(k)
        step.insert(opened(p, k))
        step.insert(knows(p, k))
        step.insert(session(k))


def _forge(draft: Draft) -> None:
    @draft.rule(
        by=ADVERSARY,
        says="{p} encrypts {b} under {k} and {i}.",
        source="Carnet (who has the key encrypts)",
    )
    def forge(step: Step, p: Agent, k: Key, i: Iv, b: Block) -> None:
        step.given("has the key", corrupt(p) & knows(p, k))
        step.given("has the data", corrupt(owner(b)) | learnt(p, b))
        step.insert(exposed(k, i, b))

    @draft.rule(
        by=ADVERSARY,
        says="{p} commands on {k} what message {i} is: {r}, or a NOP.",
        source="Carnet (who has the key commands)",
    )
    def forge_command(step: Step, p: Agent, k: Key, i: Iv, r: Copy) -> None:
        step.given("has the key", corrupt(p) & knows(p, k))
        step.insert(command(k, i, r))
        step.insert(scratch(k, i))

    @draft.rule(
        by=ADVERSARY,
        says="{p} changes bytes under {k}, and they decrypt to {b}.",
        source="SP 800-38D section 7.1 (counter mode)",
    )
    def change(step: Step, p: Agent, k: Key, i: Iv, c: Block, b: Block) -> None:
        """A bit that is changed in the ciphertext is changed in the plaintext; the tag does not come with it."""
        step.given("a ciphertext", corrupt(p) & exposed(k, i, c))
        step.given("what the adversary wants", corrupt(owner(b)))
        step.insert(changed(k, b))


def _read(draft: Draft) -> None:
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
        says="{p} decrypts {b}, which is in shared memory under {k}.",
        source="PipeLLM, abstract",
    )
    def read(step: Step, p: Agent, k: Key, i: Iv, b: Block) -> None:
        """Whoever has the key, corrupt or not, the tenant included."""
        step.given("has the key", knows(p, k))
        step.given("a ciphertext", exposed(k, i, b))
        step.insert(learnt(p, b))

    @draft.rule(
        by=ADVERSARY,
        says="{p} sees two ciphertexts under one IV, of {b} and of {c}, and reads both.",
        source="SP 800-38D appendix A",
    )
    def read_two(step: Step, p: Agent, k: Key, i: Iv, b: Block, c: Block) -> None:
        """The sum of two ciphertexts under one key stream is the sum of the plaintexts."""
        step.given("corrupt", corrupt(p))
        step.given("one IV", exposed(k, i, b) & exposed(k, i, c) & (b != c))
        step.insert(learnt(p, b))
