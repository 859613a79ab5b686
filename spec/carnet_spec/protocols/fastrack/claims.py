"""Claims: what holds for any number of users, GPUs, keys, transfers, places and chunks."""

from __future__ import annotations

from carnet_spec.language import Draft, Formula, implies
from carnet_spec.protocols.fastrack.text import sentence
from carnet_spec.protocols.fastrack.vocabulary import (
    Agent,
    Block,
    Gpu,
    Key,
    Position,
    Transfer,
    again,
    attested,
    confidential,
    done,
    expected,
    extent,
    filled,
    genuine,
    handed,
    holds,
    honest,
    knows,
    learnt,
    owner,
    released,
    reused,
    sealed,
    sent,
    took,
    within,
)

THREATS = ("outsider", "collusion")
"""The threat models under which every claim is made."""


def state_claims(draft: Draft) -> None:
    """Add the claims to ``draft``."""
    _secrecy(draft)
    _agreement(draft)
    _once(draft)


def _secrecy(draft: Draft) -> None:
    @draft.claim(
        name="confidentiality",
        sentence=sentence("CLAIM-CONFIDENTIALITY"),
        requirement="CLAIM-CONFIDENTIALITY",
        source="Fastrack, abstract: direct GPU TEE communication",
        under=THREATS,
    )
    def confidentiality(p: Agent, b: Block) -> Formula:
        return implies(learnt(p, b) & honest(owner(b)), p == owner(b))

    @draft.claim(
        name="key-isolation",
        sentence=sentence("CLAIM-KEY-ISOLATION"),
        requirement="CLAIM-KEY-ISOLATION",
        source="Fastrack, abstract: direct GPU TEE communication",
        under=THREATS,
    )
    def key_isolation(a: Agent, k: Key, g: Gpu, p: Agent) -> Formula:
        return implies(attested(a, k, g) & honest(a) & knows(p, k), p == a)

    @draft.claim(
        name="gpu-genuine",
        sentence=sentence("CLAIM-GPU-GENUINE"),
        requirement="CLAIM-GPU-GENUINE",
        source="Carnet",
        under=THREATS,
    )
    def gpu_genuine(a: Agent, k: Key, g: Gpu, h: Gpu) -> Formula:
        one_end = holds(g, k) & implies(holds(h, k), h == g)
        return implies(attested(a, k, g) & honest(a), genuine(g) & confidential(g) & one_end)


def _agreement(draft: Draft) -> None:
    @draft.claim(
        name="verified-release",
        sentence=sentence("CLAIM-VERIFIED-RELEASE"),
        requirement="CLAIM-VERIFIED-RELEASE",
        source="Fastrack, abstract: overlapping decryption with PCI-e transmission",
        under=THREATS,
    )
    def verified_release(a: Agent, g: Gpu, k: Key, x: Transfer, i: Position, b: Block) -> Formula:
        return implies(attested(a, k, g) & honest(a) & released(g, k, x, i, b), sent(a, k, b))

    @draft.claim(
        name="chunk-agreement",
        sentence=sentence("CLAIM-CHUNK-AGREEMENT"),
        requirement="CLAIM-CHUNK-AGREEMENT",
        source="Fastrack, abstract: parallelized authentication",
        under=THREATS,
    )
    def chunk_agreement(a: Agent, g: Gpu, k: Key, x: Transfer, i: Position, b: Block) -> Formula:
        return implies(attested(a, k, g) & honest(a) & released(g, k, x, i, b), sealed(a, k, x, i, b))

    @draft.claim(
        name="whole-transfer",
        sentence=sentence("CLAIM-WHOLE-TRANSFER"),
        requirement="CLAIM-WHOLE-TRANSFER",
        source="Carnet (truncation)",
        under=THREATS,
    )
    def whole_transfer(a: Agent, g: Gpu, k: Key, x: Transfer, i: Position) -> Formula:
        whole = (expected(g, k, x) == extent(k, x)) & implies(within(i, extent(k, x)), filled(g, k, x, i))
        return implies(attested(a, k, g) & honest(a) & done(g, k, x), whole)


def _once(draft: Draft) -> None:
    @draft.claim(
        name="no-replay",
        sentence=sentence("CLAIM-NO-REPLAY"),
        requirement="CLAIM-NO-REPLAY",
        source="Carnet (a transfer sent again)",
        under=THREATS,
    )
    def no_replay(k: Key, x: Transfer) -> Formula:
        return ~again(k, x)

    @draft.claim(
        name="iv-unique",
        sentence=sentence("CLAIM-IV-UNIQUE"),
        requirement="CLAIM-IV-UNIQUE",
        source="RFC 5116 section 3.1",
        under=THREATS,
    )
    def iv_unique(k: Key, x: Transfer, i: Position) -> Formula:
        return ~reused(k, x, i)

    @draft.claim(
        name="answer-agreement",
        sentence=sentence("CLAIM-ANSWER-AGREEMENT"),
        requirement="CLAIM-ANSWER-AGREEMENT",
        source="Carnet (answers exchanged)",
        under=THREATS,
    )
    def answer_agreement(a: Agent, k: Key, x: Transfer) -> Formula:
        return implies(took(a, k, x) & honest(a), handed(k, x))
