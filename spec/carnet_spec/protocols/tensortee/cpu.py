"""The CPU: it writes tensors in passes, keeps their versions in its table, and verifies each line that it reads."""

from __future__ import annotations

from carnet_spec.language import Draft, Step, forall
from carnet_spec.protocols.tensortee.vocabulary import (
    CPU,
    Agent,
    Block,
    CacheLine,
    Key,
    Side,
    Tensor,
    Version,
    before,
    cpu_version,
    cpu_wrote,
    descriptor,
    filled,
    follows,
    handed,
    honest,
    owner,
    rolled,
    session,
    spilled,
    stored,
    took,
    writer,
    wrote,
    zero,
)

_DETECTED = "TensorTEE, abstract: detecting and maintaining tensor structures on-chip"
_DIRECT = "TensorTEE, abstract: direct data transfer without re-encryption"


def specify_cpu(draft: Draft) -> None:
    """Add what the CPU enclave writes, hands over and reads to ``draft``."""
    _write(draft)
    _hand_over(draft)
    _table(draft)
    _read(draft)


def _write(draft: Draft) -> None:
    @draft.action(
        by=CPU,
        says="The CPU begins to write version {w} of {t} under {k}.",
        source=_DETECTED,
        enforces=("REQ-WRITE-01", "REQ-WRITE-02"),
    )
    def cpu_begin(step: Step, a: Agent, k: Key, t: Tensor, w: Version) -> None:
        """One number for the whole tensor: it goes on before the first line is written."""
        step.actor(a, honest(a))
        step.require("own session", session(a, k))
        step.require("its tensor", writer(t) == Side.CPU, defence="one-writer")
        step.require("the next version", follows(cpu_version(k, t), w), defence="version-advances")
        step.insert(rolled(k, t), when=before(w, cpu_version(k, t)))
        step.remove(cpu_wrote(k, t, step.each(CacheLine)))
        step.set(cpu_version(k, t), w)

    @draft.action(
        by=CPU,
        says="The CPU writes {b} to {i} of {t} under {k}.",
        message="cpu -> memory: {i} of {t} under {k}",
        source=_DETECTED,
        enforces=("REQ-WRITE-01", "REQ-WRITE-03", "REQ-MAC-01"),
    )
    def cpu_write(step: Step, a: Agent, k: Key, t: Tensor, i: CacheLine, b: Block) -> None:
        """The IV is made of the address and the version, so a second write in one pass would use it again."""
        step.actor(a, honest(a))
        step.require("own session", session(a, k))
        step.require("its tensor", writer(t) == Side.CPU, defence="one-writer")
        step.require("a pass has begun", cpu_version(k, t) != zero)
        step.require("own data", owner(b) == a)
        step.require("not written in this pass", ~cpu_wrote(k, t, i), defence="line-once")
        step.insert(cpu_wrote(k, t, i))
        step.insert(stored(k, t, i, cpu_version(k, t), b))
        step.insert(wrote(k, t, i, cpu_version(k, t), b))
        step.insert(filled(k, t, i, cpu_version(k, t)))


def _hand_over(draft: Draft) -> None:
    @draft.action(
        by=CPU,
        says="The CPU hands {t} over under {k}, as it lies in memory.",
        message="cpu -> npu: descriptor of {t} under {k}",
        source=_DIRECT,
        enforces=("REQ-HAND-01", "REQ-HAND-02"),
    )
    def cpu_hand_over(step: Step, a: Agent, k: Key, t: Tensor) -> None:
        """The lines are copied as they are; what says which version they are goes over the trusted channel."""
        step.actor(a, honest(a))
        step.require("own session", session(a, k))
        step.require("its tensor", writer(t) == Side.CPU)
        step.require("whole", forall(lambda i: cpu_wrote(k, t, i), CacheLine), defence="whole-write")
        step.insert(descriptor(k, t, cpu_version(k, t)))
        step.insert(handed(k, t, cpu_version(k, t)))

    @draft.action(
        by=CPU,
        says="The CPU takes the descriptor of {t} in version {v} under {k}.",
        message="npu -> cpu: descriptor of {t} under {k}",
        source=_DIRECT,
        enforces="REQ-HAND-03",
    )
    def cpu_take(step: Step, a: Agent, k: Key, t: Tensor, v: Version) -> None:
        """The version that the table has tells an old descriptor from a new one."""
        step.actor(a, honest(a))
        step.require("own session", session(a, k))
        step.require("a descriptor", descriptor(k, t, v))
        step.require("of the other side's tensor", writer(t) == Side.NPU)
        step.require("newer than the last", before(cpu_version(k, t), v), defence="descriptor-fresh")
        step.insert(rolled(k, t), when=before(v, cpu_version(k, t)))
        step.set(cpu_version(k, t), v)


def _table(draft: Draft) -> None:
    @draft.action(
        by=CPU,
        says="The CPU moves the entry of {t} under {k} from its table to memory.",
        message="cpu -> memory: entry of {t}",
        source="Carnet (an entry that has no room on-chip)",
        enforces="REQ-TABLE-01",
    )
    def spill(step: Step, a: Agent, k: Key, t: Tensor) -> None:
        """A tensor that was written has an entry."""
        step.actor(a, honest(a))
        step.require("own session", session(a, k))
        step.require("an entry", cpu_version(k, t) != zero)
        step.insert(spilled(k, t, cpu_version(k, t)))

    @draft.action(
        by=CPU,
        says="The CPU takes the entry of {t} under {k} back, with version {v}.",
        message="memory -> cpu: entry of {t}",
        source="Carnet (an entry that has no room on-chip)",
        enforces="REQ-TABLE-01",
    )
    def refill(step: Step, a: Agent, k: Key, t: Tensor, v: Version) -> None:
        """What was moved out is under a counter tree, whose root is on-chip, or it is worth nothing."""
        step.actor(a, honest(a))
        step.require("own session", session(a, k))
        step.require("an entry in memory", spilled(k, t, v))
        step.require("the one that the tree vouches for", v == cpu_version(k, t), defence="table-protected")
        step.insert(rolled(k, t), when=before(v, cpu_version(k, t)))
        step.set(cpu_version(k, t), v)


def _read(draft: Draft) -> None:
    @draft.action(
        by=CPU,
        says="The CPU reads {b} in {i} of {t} under {k}.",
        message="memory -> cpu: {i} of {t}",
        source="Gueron, Memory Encryption Engine, section 3",
        enforces=("REQ-READ-01", "REQ-MAC-01"),
    )
    def cpu_read(
        step: Step, a: Agent, k: Key, t: Tensor, i: CacheLine, s: Tensor, j: CacheLine, w: Version, b: Block
    ) -> None:
        """The CPU waits for the MAC of each line; memory may give any line that it ever had."""
        step.actor(a, honest(a))
        step.require("own session", session(a, k))
        step.given("a line that memory had", stored(k, s, j, w, b))
        step.require("MAC binds the tensor", s == t, defence="mac-tensor")
        step.require("MAC binds the line", j == i, defence="mac-line")
        step.require("MAC binds the version", w == cpu_version(k, t), defence="mac-version")
        step.insert(took(k, t, i, cpu_version(k, t), b))
