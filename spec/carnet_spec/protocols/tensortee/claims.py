"""Claims: what holds for any number of jobs, sessions, tensors, lines, versions and blocks."""

from __future__ import annotations

from carnet_spec.language import Draft, Formula, implies
from carnet_spec.language.authoring import Claims
from carnet_spec.language.requirements import text_beside
from carnet_spec.protocols.tensortee.vocabulary import *

TEXT = text_beside(__file__)

THREATS = ("bus", "neighbour")
"""The threat models under which every claim is made."""


def state_claims(draft: Draft) -> None:
    """Add the claims to ``draft``."""
    claim = Claims(draft, TEXT, THREATS)
    _secrecy(claim)
    _agreement(claim)
    _delay(claim)


def _secrecy(claim: Claims) -> None:
    @claim("confidentiality", "TensorTEE, abstract: data confidentiality")
    def confidentiality(p: Agent, b: Block) -> Formula:
        return implies(learnt(p, b) & honest(owner(b)), p == owner(b))

    @claim("key-isolation", "Carnet")
    def key_isolation(a: Agent, k: Key, p: Agent) -> Formula:
        return implies(session(a, k) & knows(p, k), p == a)

    @claim("iv-unique", "SP 800-38D section 8")
    def iv_unique(k: Key, t: Tensor, i: CacheLine, v: Version, b: Block, c: Block) -> Formula:
        return implies(wrote(k, t, i, v, b) & wrote(k, t, i, v, c), b == c)


def _agreement(claim: Claims) -> None:
    @claim("line-agreement", "TensorTEE, abstract: integrity during computing")
    def line_agreement(k: Key, t: Tensor, i: CacheLine, v: Version, b: Block) -> Formula:
        return implies(took(k, t, i, v, b), wrote(k, t, i, v, b))

    @claim("tensor-agreement", "TensorTEE, abstract: tensor-granularity MAC management")
    def tensor_agreement(k: Key, t: Tensor, i: CacheLine, b: Block) -> Formula:
        read = verified(k, t) & fetched(k, t, i, b)
        return implies(read, wrote(k, t, i, npu_version(k, t), b))

    @claim("whole-tensor", "Carnet (a line that never came)")
    def whole_tensor(k: Key, t: Tensor, i: CacheLine) -> Formula:
        return implies(verified(k, t), arrived(k, t, i))

    @claim("hand-over-agreement", "TensorTEE, abstract: direct data transfer without re-encryption")
    def hand_over_agreement(a: Agent, k: Key, t: Tensor, i: CacheLine, v: Version, b: Block) -> Formula:
        by_npu = implies((writer(t) == Side.CPU) & loaded(k, t), handed(k, t, npu_version(k, t)))
        by_cpu = implies((writer(t) == Side.NPU) & took(k, t, i, v, b), handed(k, t, v))
        return implies(session(a, k), by_npu & by_cpu)

    @claim("whole-hand-over", "Carnet (a line that is written after the hand-over)")
    def whole_hand_over(k: Key, t: Tensor, v: Version, i: CacheLine) -> Formula:
        return implies(handed(k, t, v), filled(k, t, i, v))

    @claim("no-rollback", "Gueron, Memory Encryption Engine, section 2")
    def no_rollback(k: Key, t: Tensor) -> Formula:
        return ~rolled(k, t)


def _delay(claim: Claims) -> None:
    @claim("verified-export", "Carnet, after TensorTEE, abstract: predictive execution")
    def verified_export(k: Key, r: Tensor, t: Tensor, i: CacheLine) -> Formula:
        return ~escaped(k, r, t, i)

    @claim("verified-hand-over", "Carnet, after TensorTEE, abstract: predictive execution")
    def verified_hand_over(
        a: Agent, k: Key, r: Tensor, i: CacheLine, v: Version, b: Block, t: Tensor, j: CacheLine
    ) -> Formula:
        return implies(session(a, k) & took(k, r, i, v, b), ~foul(k, r, i, v, t, j))

    @claim("failure-heeded", "SP 800-38D section 7.2")
    def failure_heeded(k: Key) -> Formula:
        return ~late(k)


# -- goals -------------------------------------------------------------------------------------------------------------
# What must be reachable, or claims would be empty.


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
