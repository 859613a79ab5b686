"""Claims: what holds for any number of ranks, chunks, iterations, sub-steps and keys."""

from __future__ import annotations

from carnet_spec.language import Draft, Formula, implies
from carnet_spec.protocols.ring_all_reduce.text import sentence
from carnet_spec.protocols.ring_all_reduce.vocabulary import (
    Chunk,
    Endpoint,
    Iteration,
    Key,
    Phase,
    Vector,
    copied,
    doubled,
    finished,
    follows,
    incoming,
    knows,
    learnt,
    made,
    opened,
    outgoing,
    part,
    reused,
    sealed,
    settled,
    sound,
    took,
    total,
    unheeded,
)

THREATS = ("links", "tenants")
"""The threat models under which every claim is made."""


def state_claims(draft: Draft) -> None:
    """Add the claims to ``draft``."""
    _secrecy(draft)
    _agreement(draft)
    _sums(draft)
    _once(draft)


def _secrecy(draft: Draft) -> None:
    @draft.claim(
        name="confidentiality",
        sentence=sentence("CLAIM-CONFIDENTIALITY"),
        requirement="CLAIM-CONFIDENTIALITY",
        source="DDP in GPU TEEs, abstract: any data communicated outside the GPU packages must be encrypted",
        under=THREATS,
    )
    def confidentiality(n: Endpoint, v: Vector, i: Iteration, c: Chunk, r: Endpoint) -> Formula:
        return implies(learnt(n, v) & part(v, i, c, r), sound(n))

    @draft.claim(
        name="hop-isolation",
        sentence=sentence("CLAIM-HOP-ISOLATION"),
        requirement="CLAIM-HOP-ISOLATION",
        source="Carnet",
        under=THREATS,
    )
    def hop_isolation(g: Endpoint, k: Key, h: Endpoint, n: Endpoint) -> Formula:
        return implies(outgoing(g, k, h) & knows(n, k), (n == g) | (n == h))

    @draft.claim(
        name="neighbour-genuine",
        sentence=sentence("CLAIM-NEIGHBOUR-GENUINE"),
        requirement="CLAIM-NEIGHBOUR-GENUINE",
        source="DDP in GPU TEEs, abstract: only the GPU package is trusted",
        under=THREATS,
    )
    def neighbour_genuine(g: Endpoint, k: Key, h: Endpoint) -> Formula:
        sends = implies(outgoing(g, k, h), follows(g, h) & sound(h) & incoming(h, k, g))
        takes = implies(incoming(h, k, g), follows(g, h) & sound(g) & opened(g, k))
        return sends & takes


def _agreement(draft: Draft) -> None:
    @draft.claim(
        name="partial-sum-agreement",
        sentence=sentence("CLAIM-PARTIAL-SUM-AGREEMENT"),
        requirement="CLAIM-PARTIAL-SUM-AGREEMENT",
        source="DDP in GPU TEEs, abstract: decryption and MAC authentication on the receiver",
        under=THREATS,
    )
    def partial_sum_agreement(f: Endpoint, g: Endpoint, i: Iteration, c: Chunk, v: Vector) -> Formula:
        return implies(took(g, i, c, v) & follows(f, g), sealed(f, i, Phase.REDUCE, c, v))

    @draft.claim(
        name="sum-agreement",
        sentence=sentence("CLAIM-SUM-AGREEMENT"),
        requirement="CLAIM-SUM-AGREEMENT",
        source="DDP in GPU TEEs, abstract: decryption and MAC authentication on the receiver",
        under=THREATS,
    )
    def sum_agreement(f: Endpoint, g: Endpoint, i: Iteration, c: Chunk, v: Vector) -> Formula:
        return implies(copied(g, i, c, v) & follows(f, g), sealed(f, i, Phase.GATHER, c, v))


def _sums(draft: Draft) -> None:
    @draft.claim(
        name="whole-sum",
        sentence=sentence("CLAIM-WHOLE-SUM"),
        requirement="CLAIM-WHOLE-SUM",
        source="DDP in GPU TEEs, abstract: ring-all-reduce",
        under=THREATS,
    )
    def whole_sum(g: Endpoint, i: Iteration, c: Chunk, v: Vector, r: Endpoint) -> Formula:
        return implies(finished(g, i), settled(g, i, c) & implies(total(g, i, c, v) & sound(r), part(v, i, c, r)))

    @draft.claim(
        name="nothing-else",
        sentence=sentence("CLAIM-NOTHING-ELSE"),
        requirement="CLAIM-NOTHING-ELSE",
        source="Carnet (stale and forged partial sums)",
        under=THREATS,
    )
    def nothing_else(g: Endpoint, i: Iteration, c: Chunk, v: Vector, j: Iteration, d: Chunk, r: Endpoint) -> Formula:
        own = implies(part(v, j, d, r), (j == i) & (d == c) & sound(r))
        return implies(total(g, i, c, v), own & ~made(v))

    @draft.claim(
        name="counted-once",
        sentence=sentence("CLAIM-COUNTED-ONCE"),
        requirement="CLAIM-COUNTED-ONCE",
        source="Carnet (a partial sum sent again)",
        under=THREATS,
    )
    def counted_once(g: Endpoint, i: Iteration, c: Chunk, v: Vector) -> Formula:
        return implies(total(g, i, c, v), ~doubled(v))

    @draft.claim(
        name="same-sum",
        sentence=sentence("CLAIM-SAME-SUM"),
        requirement="CLAIM-SAME-SUM",
        source="DDP in GPU TEEs, abstract: ring-all-reduce",
        under=THREATS,
    )
    def same_sum(g: Endpoint, h: Endpoint, i: Iteration, c: Chunk, v: Vector, w: Vector) -> Formula:
        return implies(total(g, i, c, v) & total(h, i, c, w), v == w)


def _once(draft: Draft) -> None:
    @draft.claim(
        name="iv-unique",
        sentence=sentence("CLAIM-IV-UNIQUE"),
        requirement="CLAIM-IV-UNIQUE",
        source="RFC 5116 section 3.1",
        under=THREATS,
    )
    def iv_unique(k: Key, i: Iteration, p: Phase, c: Chunk) -> Formula:
        return ~reused(k, i, p, c)

    @draft.claim(
        name="alarm-heeded",
        sentence=sentence("CLAIM-ALARM-HEEDED"),
        requirement="CLAIM-ALARM-HEEDED",
        source="SP 800-38D section 7.2",
        under=THREATS,
    )
    def alarm_heeded(g: Endpoint) -> Formula:
        return ~unheeded(g)
