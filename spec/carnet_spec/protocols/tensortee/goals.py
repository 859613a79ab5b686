"""Goals: what must be reachable, or claims would be empty."""

from __future__ import annotations

from carnet_spec.language import Draft, Formula
from carnet_spec.protocols.tensortee.vocabulary import (
    Agent,
    Block,
    CacheLine,
    Key,
    Side,
    Tensor,
    Version,
    arrived,
    awaits,
    corrupt,
    fetched,
    foul,
    halted,
    knows,
    learnt,
    loaded,
    matched,
    owner,
    released,
    session,
    spoilt,
    stored,
    took,
    verified,
    writer,
)


def state_goals(draft: Draft) -> None:
    """Add the goals to ``draft``."""
    _whole(draft)
    _delayed(draft)
    _hostile(draft)


def _whole(draft: Draft) -> None:
    @draft.goal(sentence="The NPU reads a tensor of the CPU's, and its MAC verifies.")
    def tensor_read(a: Agent, k: Key, t: Tensor, i: CacheLine, b: Block) -> Formula:
        return session(a, k) & (writer(t) == Side.CPU) & verified(k, t) & fetched(k, t, i, b)

    @draft.goal(sentence="The CPU reads a line of a result that the NPU handed over.")
    def result_taken(a: Agent, k: Key, t: Tensor, i: CacheLine, v: Version, b: Block) -> Formula:
        return session(a, k) & (writer(t) == Side.NPU) & took(k, t, i, v, b)

    @draft.goal(sentence="The NPU has verified a tensor of the CPU's, and the CPU reads a result of the NPU's.")
    def there_and_back(a: Agent, k: Key, t: Tensor, i: CacheLine, b: Block, r: Tensor, v: Version) -> Formula:
        there = verified(k, t) & (writer(t) == Side.CPU)
        return session(a, k) & there & took(k, r, i, v, b) & (writer(r) == Side.NPU)

    @draft.goal(sentence="The NPU gives out a result that it computed from a tensor that is verified.")
    def result_released(a: Agent, k: Key, r: Tensor, t: Tensor) -> Formula:
        return session(a, k) & released(k, r) & verified(k, t) & (writer(t) == Side.CPU)


def _delayed(draft: Draft) -> None:
    @draft.goal(sentence="A result was computed from a tensor of which a line is still to come.")
    def ahead(k: Key, r: Tensor, t: Tensor, i: CacheLine, j: CacheLine) -> Formula:
        return awaits(k, r, t) & (r != t) & arrived(k, t, i) & ~arrived(k, t, j)

    @draft.goal(sentence="A result was written, read back and verified, and still awaits what it was computed from.")
    def waits_on(k: Key, r: Tensor, t: Tensor) -> Formula:
        return verified(k, r) & awaits(k, r, t)


def _hostile(draft: Draft) -> None:
    @draft.goal(sentence="The NPU computed with a line that memory changed.")
    def spoilt_result(a: Agent, k: Key, r: Tensor, t: Tensor, i: CacheLine) -> Formula:
        return session(a, k) & spoilt(k, r, t, i) & (r != t)

    @draft.goal(sentence="What was computed with a changed line is in memory.")
    def foul_result(k: Key, r: Tensor, i: CacheLine, v: Version, t: Tensor, j: CacheLine) -> Formula:
        return foul(k, r, i, v, t, j) & (r != t)

    @draft.goal(sentence="A MAC does not verify, and the NPU halts.")
    def mac_fails(k: Key, t: Tensor, i: CacheLine) -> Formula:
        return halted(k) & loaded(k, t) & arrived(k, t, i) & ~matched(k, t, i)

    @draft.goal(sentence="The adversary has a line in memory under a key of its own, and reads it.")
    def another_job(p: Agent, k: Key, t: Tensor, i: CacheLine, v: Version, b: Block) -> Formula:
        return corrupt(p) & knows(p, k) & stored(k, t, i, v, b) & corrupt(owner(b)) & learnt(p, b)

    @draft.goal(sentence="Two colluders have the key of a session of their own.")
    def pooled(p: Agent, q: Agent, k: Key) -> Formula:
        return corrupt(p) & corrupt(q) & (p != q) & knows(p, k) & knows(q, k)
