"""Sessions: the CPU enclave of a job attests an NPU, and both share a key for one session."""

from __future__ import annotations

from carnet_spec.language import Draft, Step
from carnet_spec.protocols.tensortee.vocabulary import (
    ADVERSARY,
    CPU,
    Agent,
    CacheLine,
    Key,
    Tensor,
    corrupt,
    cpu_version,
    cpu_wrote,
    honest,
    host,
    knows,
    session,
    zero,
)

_UNIFIED = "TensorTEE, abstract: unified granularity"


def specify_setup(draft: Draft) -> None:
    """Add sessions to ``draft``."""
    _open(draft)
    _shortcuts(draft)


def _open(draft: Draft) -> None:
    @draft.action(
        by=CPU,
        says="The CPU enclave of {a} attests the NPU, and both share the key {k}.",
        message="cpu -> npu: session with key {k}",
        source=_UNIFIED,
        enforces=("REQ-KEY-01", "REQ-KEY-02", "REQ-KEY-03"),
    )
    def open_session(step: Step, a: Agent, k: Key) -> None:
        """Both sides encrypt memory with the one key, so that a tensor moves as it is."""
        step.actor(a, honest(a))
        step.fresh(k)
        step.insert(session(a, k))
        step.insert(knows(a, k))
        other = step.each(Agent)
        step.insert(knows(other, k), when=other != host, unless="job-key", name="one key for all jobs of the machine")


def _shortcuts(draft: Draft) -> None:
    @draft.action(
        by=ADVERSARY,
        says="{p} answers as the NPU of {a}, and shares {k}.",
        message="{p} -> cpu: session with key {k}",
        source="Carnet (a fake NPU)",
        cost=1,
        shortcut_of="npu-attested",
    )
    def answer_as_npu(step: Step, p: Agent, a: Agent, k: Key) -> None:
        step.given("corrupt", corrupt(p))
        step.given("a session", session(a, k))
        step.insert(knows(p, k))

    @draft.action(
        by=CPU,
        says="The CPU enclave of {a} starts again under {k}, and forgets the version of {t}.",
        source="SP 800-38D section 8",
        shortcut_of="new-key",
    )
    def start_again(step: Step, a: Agent, k: Key, t: Tensor) -> None:
        """The same happens where a version number is as large as it can be and wraps."""
        step.actor(a, honest(a))
        step.require("own session", session(a, k))
        step.set(cpu_version(k, t), zero)
        step.remove(cpu_wrote(k, t, step.each(CacheLine)))
