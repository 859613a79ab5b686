"""Goals: what must be reachable, or claims would be empty."""

from __future__ import annotations

from carnet_spec.language import Draft, Formula
from carnet_spec.protocols.ring_all_reduce.vocabulary import (
    Chunk,
    Code,
    Endpoint,
    Iteration,
    Key,
    Mode,
    Vector,
    alarmed,
    altered,
    answered,
    copied,
    exposed,
    finished,
    incoming,
    knows,
    learnt,
    made,
    opened,
    outgoing,
    part,
    report,
    settled,
    sound,
    took,
    total,
)


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
