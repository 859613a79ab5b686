"""Claims: what holds for any number of jobs, sessions, tensors, lines, versions and blocks."""

from __future__ import annotations

from carnet_spec.language import Draft, Formula, implies
from carnet_spec.protocols.tensortee.text import sentence
from carnet_spec.protocols.tensortee.vocabulary import (
    Agent,
    Block,
    CacheLine,
    Key,
    Side,
    Tensor,
    Version,
    arrived,
    escaped,
    fetched,
    filled,
    foul,
    handed,
    honest,
    knows,
    late,
    learnt,
    loaded,
    npu_version,
    owner,
    rolled,
    session,
    took,
    verified,
    writer,
    wrote,
)

THREATS = ("bus", "neighbour")
"""The threat models under which every claim is made."""


def state_claims(draft: Draft) -> None:
    """Add the claims to ``draft``."""
    _secrecy(draft)
    _agreement(draft)
    _delay(draft)


def _secrecy(draft: Draft) -> None:
    @draft.claim(
        name="confidentiality",
        sentence=sentence("CLAIM-CONFIDENTIALITY"),
        requirement="CLAIM-CONFIDENTIALITY",
        source="TensorTEE, abstract: data confidentiality",
        under=THREATS,
    )
    def confidentiality(p: Agent, b: Block) -> Formula:
        return implies(learnt(p, b) & honest(owner(b)), p == owner(b))

    @draft.claim(
        name="key-isolation",
        sentence=sentence("CLAIM-KEY-ISOLATION"),
        requirement="CLAIM-KEY-ISOLATION",
        source="Carnet",
        under=THREATS,
    )
    def key_isolation(a: Agent, k: Key, p: Agent) -> Formula:
        return implies(session(a, k) & knows(p, k), p == a)

    @draft.claim(
        name="iv-unique",
        sentence=sentence("CLAIM-IV-UNIQUE"),
        requirement="CLAIM-IV-UNIQUE",
        source="SP 800-38D section 8",
        under=THREATS,
    )
    def iv_unique(k: Key, t: Tensor, i: CacheLine, v: Version, b: Block, c: Block) -> Formula:
        return implies(wrote(k, t, i, v, b) & wrote(k, t, i, v, c), b == c)


def _agreement(draft: Draft) -> None:
    @draft.claim(
        name="line-agreement",
        sentence=sentence("CLAIM-LINE-AGREEMENT"),
        requirement="CLAIM-LINE-AGREEMENT",
        source="TensorTEE, abstract: integrity during computing",
        under=THREATS,
    )
    def line_agreement(k: Key, t: Tensor, i: CacheLine, v: Version, b: Block) -> Formula:
        return implies(took(k, t, i, v, b), wrote(k, t, i, v, b))

    @draft.claim(
        name="tensor-agreement",
        sentence=sentence("CLAIM-TENSOR-AGREEMENT"),
        requirement="CLAIM-TENSOR-AGREEMENT",
        source="TensorTEE, abstract: tensor-granularity MAC management",
        under=THREATS,
    )
    def tensor_agreement(k: Key, t: Tensor, i: CacheLine, b: Block) -> Formula:
        read = verified(k, t) & fetched(k, t, i, b)
        return implies(read, wrote(k, t, i, npu_version(k, t), b))

    @draft.claim(
        name="whole-tensor",
        sentence=sentence("CLAIM-WHOLE-TENSOR"),
        requirement="CLAIM-WHOLE-TENSOR",
        source="Carnet (a line that never came)",
        under=THREATS,
    )
    def whole_tensor(k: Key, t: Tensor, i: CacheLine) -> Formula:
        return implies(verified(k, t), arrived(k, t, i))

    @draft.claim(
        name="hand-over-agreement",
        sentence=sentence("CLAIM-HAND-OVER-AGREEMENT"),
        requirement="CLAIM-HAND-OVER-AGREEMENT",
        source="TensorTEE, abstract: direct data transfer without re-encryption",
        under=THREATS,
    )
    def hand_over_agreement(a: Agent, k: Key, t: Tensor, i: CacheLine, v: Version, b: Block) -> Formula:
        by_npu = implies((writer(t) == Side.CPU) & loaded(k, t), handed(k, t, npu_version(k, t)))
        by_cpu = implies((writer(t) == Side.NPU) & took(k, t, i, v, b), handed(k, t, v))
        return implies(session(a, k), by_npu & by_cpu)

    @draft.claim(
        name="whole-hand-over",
        sentence=sentence("CLAIM-WHOLE-HAND-OVER"),
        requirement="CLAIM-WHOLE-HAND-OVER",
        source="Carnet (a line that is written after the hand-over)",
        under=THREATS,
    )
    def whole_hand_over(k: Key, t: Tensor, v: Version, i: CacheLine) -> Formula:
        return implies(handed(k, t, v), filled(k, t, i, v))

    @draft.claim(
        name="no-rollback",
        sentence=sentence("CLAIM-NO-ROLLBACK"),
        requirement="CLAIM-NO-ROLLBACK",
        source="Gueron, Memory Encryption Engine, section 2",
        under=THREATS,
    )
    def no_rollback(k: Key, t: Tensor) -> Formula:
        return ~rolled(k, t)


def _delay(draft: Draft) -> None:
    @draft.claim(
        name="verified-export",
        sentence=sentence("CLAIM-VERIFIED-EXPORT"),
        requirement="CLAIM-VERIFIED-EXPORT",
        source="Carnet, after TensorTEE, abstract: predictive execution",
        under=THREATS,
    )
    def verified_export(k: Key, r: Tensor, t: Tensor, i: CacheLine) -> Formula:
        return ~escaped(k, r, t, i)

    @draft.claim(
        name="verified-hand-over",
        sentence=sentence("CLAIM-VERIFIED-HAND-OVER"),
        requirement="CLAIM-VERIFIED-HAND-OVER",
        source="Carnet, after TensorTEE, abstract: predictive execution",
        under=THREATS,
    )
    def verified_hand_over(
        a: Agent, k: Key, r: Tensor, i: CacheLine, v: Version, b: Block, t: Tensor, j: CacheLine
    ) -> Formula:
        return implies(session(a, k) & took(k, r, i, v, b), ~foul(k, r, i, v, t, j))

    @draft.claim(
        name="failure-heeded",
        sentence=sentence("CLAIM-FAILURE-HEEDED"),
        requirement="CLAIM-FAILURE-HEEDED",
        source="SP 800-38D section 7.2",
        under=THREATS,
    )
    def failure_heeded(k: Key) -> Formula:
        return ~late(k)
