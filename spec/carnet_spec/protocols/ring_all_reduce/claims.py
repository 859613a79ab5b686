"""Claims: what holds for any number of ranks, chunks, iterations, sub-steps and keys."""

from __future__ import annotations

from carnet_spec.language import Draft, Formula, implies
from carnet_spec.language.authoring import Claims
from carnet_spec.language.requirements import text_beside
from carnet_spec.protocols.ring_all_reduce.vocabulary import *

TEXT = text_beside(__file__)

THREATS = ("links", "tenants")
"""The threat models under which every claim is made."""


def state_claims(draft: Draft) -> None:
    """Add the claims to ``draft``."""
    claim = Claims(draft, TEXT, THREATS)
    _secrecy(claim)
    _agreement(claim)
    _sums(claim)
    _once(claim)


def _secrecy(claim: Claims) -> None:
    @claim(
        "confidentiality", "DDP in GPU TEEs, abstract: any data communicated outside the GPU packages must be encrypted"
    )
    def confidentiality(n: Endpoint, v: Vector, i: Iteration, c: Chunk, r: Endpoint) -> Formula:
        return implies(learnt(n, v) & part(v, i, c, r), sound(n))

    @claim("hop-isolation", "Carnet")
    def hop_isolation(g: Endpoint, k: Key, h: Endpoint, n: Endpoint) -> Formula:
        return implies(outgoing(g, k, h) & knows(n, k), (n == g) | (n == h))

    @claim("neighbour-genuine", "DDP in GPU TEEs, abstract: only the GPU package is trusted")
    def neighbour_genuine(g: Endpoint, k: Key, h: Endpoint) -> Formula:
        sends = implies(outgoing(g, k, h), follows(g, h) & sound(h) & incoming(h, k, g))
        takes = implies(incoming(h, k, g), follows(g, h) & sound(g) & opened(g, k))
        return sends & takes


def _agreement(claim: Claims) -> None:
    @claim("partial-sum-agreement", "DDP in GPU TEEs, abstract: decryption and MAC authentication on the receiver")
    def partial_sum_agreement(f: Endpoint, g: Endpoint, i: Iteration, c: Chunk, v: Vector) -> Formula:
        return implies(took(g, i, c, v) & follows(f, g), sealed(f, i, Phase.REDUCE, c, v))

    @claim("sum-agreement", "DDP in GPU TEEs, abstract: decryption and MAC authentication on the receiver")
    def sum_agreement(f: Endpoint, g: Endpoint, i: Iteration, c: Chunk, v: Vector) -> Formula:
        return implies(copied(g, i, c, v) & follows(f, g), sealed(f, i, Phase.GATHER, c, v))


def _sums(claim: Claims) -> None:
    @claim("whole-sum", "DDP in GPU TEEs, abstract: ring-all-reduce")
    def whole_sum(g: Endpoint, i: Iteration, c: Chunk, v: Vector, r: Endpoint) -> Formula:
        return implies(finished(g, i), settled(g, i, c) & implies(total(g, i, c, v) & sound(r), part(v, i, c, r)))

    @claim("nothing-else", "Carnet (stale and forged partial sums)")
    def nothing_else(g: Endpoint, i: Iteration, c: Chunk, v: Vector, j: Iteration, d: Chunk, r: Endpoint) -> Formula:
        own = implies(part(v, j, d, r), (j == i) & (d == c) & sound(r))
        return implies(total(g, i, c, v), own & ~made(v))

    @claim("counted-once", "Carnet (a partial sum sent again)")
    def counted_once(g: Endpoint, i: Iteration, c: Chunk, v: Vector) -> Formula:
        return implies(total(g, i, c, v), ~doubled(v))

    @claim("same-sum", "DDP in GPU TEEs, abstract: ring-all-reduce")
    def same_sum(g: Endpoint, h: Endpoint, i: Iteration, c: Chunk, v: Vector, w: Vector) -> Formula:
        return implies(total(g, i, c, v) & total(h, i, c, w), v == w)


def _once(claim: Claims) -> None:
    @claim("iv-unique", "RFC 5116 section 3.1")
    def iv_unique(k: Key, i: Iteration, p: Phase, c: Chunk) -> Formula:
        return ~reused(k, i, p, c)

    @claim("alarm-heeded", "SP 800-38D section 7.2")
    def alarm_heeded(g: Endpoint) -> Formula:
        return ~unheeded(g)


# -- goals -------------------------------------------------------------------------------------------------------------
# What must be reachable, or claims would be empty.


def state_goals(draft: Draft) -> None:
    """Add the goals to ``draft``."""
    _whole(draft)
    _hostile(draft)


def _whole(draft: Draft) -> None:
    @draft.goal(sentence="Two ranks finish an iteration.")
    def iteration_finished(g: Endpoint, h: Endpoint, i: Iteration) -> Formula:
        return finished(g, i) & finished(h, i) & (g != h)

    @draft.goal(sentence="A rank has a sum with the contributions of two ranks, and got it from another one.")
    def sum_of_two(g: Endpoint, i: Iteration, c: Chunk, v: Vector, r: Endpoint, s: Endpoint) -> Formula:
        return copied(g, i, c, v) & part(v, i, c, r) & part(v, i, c, s) & (r != s)

    @draft.goal(sentence="A rank adds to a partial sum that another rank began.")
    def partial_sum_added(g: Endpoint, i: Iteration, c: Chunk, v: Vector, r: Endpoint) -> Formula:
        return took(g, i, c, v) & part(v, i, c, r) & (r != g)

    @draft.goal(sentence="One rank has the sum of a chunk, and another one still waits for it.")
    def on_its_way(g: Endpoint, h: Endpoint, i: Iteration, c: Chunk, v: Vector) -> Formula:
        return total(g, i, c, v) & sound(h) & ~settled(h, i, c)

    @draft.goal(sentence="Both hops of a rank are attested.")
    def in_the_ring(g: Endpoint, f: Endpoint, h: Endpoint, j: Key, k: Key) -> Formula:
        return incoming(g, j, f) & outgoing(g, k, h)


def _hostile(draft: Draft) -> None:
    @draft.goal(sentence="A rank raises the alarm while the sum of a chunk goes round.")
    def alarm_raised(g: Endpoint, h: Endpoint, i: Iteration, c: Chunk, v: Vector) -> Formula:
        return alarmed(g) & took(h, i, c, v)

    @draft.goal(sentence="Bytes that the adversary made arrive under a key of the ring.")
    def changed_on_the_link(g: Endpoint, k: Key, h: Endpoint, v: Vector) -> Formula:
        return outgoing(g, k, h) & altered(k, v) & made(v)

    @draft.goal(sentence="The adversary answers the exchange of a rank, and has a report that names it.")
    def fake_neighbour(g: Endpoint, n: Endpoint, k: Key, m: Mode, h: Endpoint) -> Formula:
        return opened(g, k) & answered(k) & exposed(k) & knows(n, k) & report(n, k, m, Code.TRAINER, h) & ~sound(n)

    @draft.goal(sentence="The adversary learns a vector of its own, and no rank takes it.")
    def own_vector(n: Endpoint, v: Vector) -> Formula:
        return learnt(n, v) & ~sound(n) & made(v)
