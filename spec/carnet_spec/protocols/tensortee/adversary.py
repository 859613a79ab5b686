"""The adversary: memory, link and host software, and other jobs on the same machine."""

from __future__ import annotations

from carnet_spec.language import Draft, Step
from carnet_spec.protocols.tensortee.vocabulary import (
    ADVERSARY,
    Agent,
    Block,
    CacheLine,
    Key,
    Tensor,
    Version,
    changed,
    corrupt,
    descriptor,
    knows,
    learnt,
    owner,
    session,
    stored,
)


def specify_adversary(draft: Draft) -> None:
    """Add what the adversary does, makes and works out to ``draft``."""
    _act(draft)
    _forge(draft)
    _read(draft)


def _act(draft: Draft) -> None:
    @draft.action(
        by=ADVERSARY,
        says="{p} opens a session of its own, {k}.",
        message="{p} -> npu: session with key {k}",
        source="Carnet (other jobs)",
        cost=1,
    )
    def open_own(step: Step, p: Agent, k: Key) -> None:
        """Whatever the NPU does under this key, whoever has the key can do as well."""
        step.given("corrupt", corrupt(p))
        step.fresh(k)
        step.insert(knows(p, k))

    @draft.action(
        by=ADVERSARY,
        says="{p} makes up a descriptor of {t} in version {v} for the session {k}.",
        message="{p} -> cpu: descriptor of {t}",
        source="Carnet (a descriptor in plain memory)",
        cost=1,
        shortcut_of="descriptor-sealed",
    )
    def make_up(step: Step, p: Agent, a: Agent, k: Key, t: Tensor, v: Version) -> None:
        step.given("corrupt", corrupt(p))
        step.given("a session", session(a, k))
        step.insert(descriptor(k, t, v))


def _forge(draft: Draft) -> None:
    @draft.rule(
        by=ADVERSARY,
        says="{p} makes a line of {b} under {k} as it likes: {i} of {t}, version {v}.",
        source="Carnet (who has the key encrypts)",
    )
    def forge(step: Step, p: Agent, k: Key, t: Tensor, i: CacheLine, v: Version, b: Block) -> None:
        step.given("has the key", corrupt(p) & knows(p, k))
        step.given("has the data", corrupt(owner(b)) | learnt(p, b))
        step.insert(stored(k, t, i, v, b))

    @draft.rule(
        by=ADVERSARY,
        says="{p} makes a descriptor of {t} in version {v} under {k}.",
        source="Carnet (who has the key hands over)",
    )
    def forge_descriptor(step: Step, p: Agent, k: Key, t: Tensor, v: Version) -> None:
        step.given("has the key", corrupt(p) & knows(p, k))
        step.insert(descriptor(k, t, v))

    @draft.rule(
        by=ADVERSARY,
        says="Memory has changed bytes under {k}, and they decrypt to {b}.",
        source="SP 800-38D section 7.1 (counter mode)",
    )
    def change(step: Step, a: Agent, k: Key, b: Block) -> None:
        """Replayed and spliced lines decrypt to something else, too; what they decrypt to is of the same use."""
        step.given("a session", session(a, k))
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
        says="{p} decrypts a line under {k} and reads {b}.",
        source="TensorTEE, abstract: data confidentiality",
    )
    def read(step: Step, p: Agent, k: Key, t: Tensor, i: CacheLine, v: Version, b: Block) -> None:
        """Whoever has the key, corrupt or not, the owner included."""
        step.given("has the key", knows(p, k))
        step.given("a ciphertext", stored(k, t, i, v, b))
        step.insert(learnt(p, b))

    @draft.rule(
        by=ADVERSARY,
        says="{p} sees two ciphertexts under one address and version, of {b} and of {c}, and reads both.",
        source="SP 800-38D appendix A",
    )
    def read_two(step: Step, p: Agent, k: Key, t: Tensor, i: CacheLine, v: Version, b: Block, c: Block) -> None:
        """The sum of two ciphertexts under one key stream is the sum of the plaintexts."""
        step.given("corrupt", corrupt(p))
        step.given("one IV", stored(k, t, i, v, b) & stored(k, t, i, v, c) & (b != c))
        step.insert(learnt(p, b))
