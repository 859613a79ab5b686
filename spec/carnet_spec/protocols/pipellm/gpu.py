"""The GPU: it decrypts under its own counter, where the command of the same number says."""

from __future__ import annotations

from carnet_spec.language import Draft, Step
from carnet_spec.protocols.pipellm.vocabulary import (
    GPU,
    Block,
    Copy,
    Iv,
    Key,
    changed,
    command,
    counter,
    dead,
    exposed,
    filled,
    follows,
    landed,
    scratch,
    session,
)

_COUNTER = "PipeLLM, abstract: speculative pipelined encryption"


def specify_gpu(draft: Draft) -> None:
    """Add what the GPU does with messages to ``draft``."""
    _decrypt(draft)
    _discard(draft)
    _refuse(draft)


def _decrypt(draft: Draft) -> None:
    @draft.action(
        by=GPU,
        says="The GPU decrypts {b} on {k}, from bytes under {i}, to where {r} goes.",
        message="host -> gpu: ciphertext under {k}",
        source=_COUNTER,
        enforces=("REQ-RECEIVE-01", "REQ-RECEIVE-02", "REQ-RECEIVE-03", "REQ-RECEIVE-04"),
    )
    def decrypt(step: Step, k: Key, i: Iv, b: Block, m: Iv, r: Copy, j: Iv) -> None:
        """The host chooses the bytes; which IV they have to be under, it cannot choose."""
        step.given("bytes in shared memory", exposed(k, i, b) | changed(k, b))
        step.require("a command", command(k, m, r))
        step.require("not ended", ~dead(k), defence="fail-closed")
        step.require("under the own counter", i == counter(k), defence="implicit-counter")
        step.require("the tag verifies", exposed(k, i, b), defence="tag-checked")
        step.require("the command of this number", m == counter(k), defence="command-counted")
        step.require("the counter goes on", follows(counter(k), j))
        step.insert(landed(k, counter(k), r, b))
        step.insert(filled(k, r))
        step.set(counter(k), j)


def _discard(draft: Draft) -> None:
    @draft.action(
        by=GPU,
        says="The GPU decrypts a NOP on {k}, and discards it.",
        message="host -> gpu: NOP under {k}",
        source="PipeLLM, abstract: pipeline relinquishing",
        enforces="REQ-RECEIVE-01",
    )
    def discard(step: Step, k: Key, b: Block, j: Iv) -> None:
        """Only the counter remembers it."""
        step.require("the tag verifies", exposed(k, counter(k), b))
        step.require("a NOP", scratch(k, counter(k)))
        step.require("not ended", ~dead(k), defence="fail-closed")
        step.require("the counter goes on", follows(counter(k), j))
        step.set(counter(k), j)


def _refuse(draft: Draft) -> None:
    @draft.action(
        by=GPU,
        says="Bytes on {k} do not verify under the counter of the GPU, which ends the channel.",
        message="host -> gpu: other bytes under {k}",
        source="SP 800-38D section 7.2",
        enforces="REQ-RECEIVE-04",
    )
    def refuse(step: Step, k: Key, j: Iv) -> None:
        """The host can send such bytes at any time. The worst is that the counter goes on with them."""
        step.require("a channel", session(k))
        step.require("not ended", ~dead(k), defence="fail-closed")
        step.require("the counter goes on", follows(counter(k), j))
        step.insert(dead(k))
        step.set(counter(k), j)
