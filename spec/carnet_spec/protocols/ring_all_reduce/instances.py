"""Finite instances of ring all-reduce: how many ranks, chunks and iterations, and who else is on the network."""

from __future__ import annotations

from itertools import combinations

from carnet_spec.language import Instance, Profile, Protocol, Row, Scale, all_sizes
from carnet_spec.language.authoring import by_name, counted, numbered, unary

DEFAULTS = {
    "ring_size": 2,
    "chunks": 1,
    "buckets": 1,
    "iterations": 1,
    "outsiders": 1,
    "hop_keys": 2,
    "own_keys": 0,
    "vectors": 2,
    "own_vectors": 0,
}
"""Sizes by name, unless a profile or ``--set`` says otherwise."""
FRESH_SIZES = frozenset({"hop_keys", "own_keys", "vectors", "own_vectors"})
"""The sizes that only say how many keys and vectors may be drawn."""


def instance(protocol: Protocol, threat: str, scale: Scale) -> Instance:
    """Build the instance of the given sizes: ranks in a ring, and outsiders who are the adversary.

    Under ``links`` the outsiders are machines that pass for GPUs. Under ``tenants`` they are a fake, a genuine GPU out
    of confidential mode, and genuine ones that run other code, in this order.
    """
    size = all_sizes(scale, DEFAULTS, protocol.id)
    ranks, chunks = numbered("rank", size["ring_size"]), numbered("chunk", size["chunks"] * size["buckets"])
    genuine = _OUTSIDERS[1 : size["outsiders"]] if threat == "tenants" else ()
    keys, hers = numbered("k", size["hop_keys"]), numbered("m", size["own_keys"])
    vectors, forged = numbered("v", size["vectors"]), numbered("x", size["own_vectors"])
    lines = {chunk: _cut_open(ranks, at % size["chunks"]) for at, chunk in enumerate(chunks)}
    drawn = {("contribute", "v"): vectors, ("add", "w"): vectors, ("go_on_alone", "w"): vectors, ("make", "v"): forged}
    actions = {action.name for action in protocol.actions}
    return Instance(
        elements={
            "Endpoint": (*ranks, *_OUTSIDERS[: size["outsiders"]]),
            "Key": (*keys, *hers),
            "Vector": (*vectors, *forged),
            "Iteration": numbered("iteration", size["iterations"]),
            "Chunk": chunks,
            "SubStep": numbered("step", size["ring_size"]),
        },
        relations={
            "genuine": unary((*ranks, *genuine)),
            "certified": unary((*ranks, *genuine)),
            "closed": unary((*ranks, *(each for each in genuine if each != "open"))),
            "trains": unary((*ranks, *(each for each in genuine if each == "open"))),
            "follows": frozenset(zip(ranks, (*ranks[1:], ranks[0]), strict=True)) if len(ranks) > 1 else frozenset(),
            "ahead": frozenset((chunk, *pair) for chunk, line in lines.items() for pair in combinations(line, 2)),
        },
        functions={
            "first": {(chunk,): line[0] for chunk, line in lines.items()},
            "last": {(chunk,): line[-1] for chunk, line in lines.items()},
            "turn": _turns(lines, _OUTSIDERS[: size["outsiders"]]),
        },
        pools={
            **{pool: names for pool, names in drawn.items() if pool[0] in actions},
            ("open_hop", "k"): keys,
            ("open_own", "k"): hers,
        },
        describes=counted(
            (size["ring_size"], "rank"),
            (size["chunks"], "chunk"),
            (size["buckets"], "bucket"),
            (size["iterations"], "iteration"),
            (size["outsiders"], "outsider"),
            (size["hop_keys"], "key"),
            (size["own_keys"], "key of the adversary's"),
            (size["vectors"], "vector"),
            (size["own_vectors"], "vector of the adversary's"),
        ),
    )


_OUTSIDERS = ("fake", "open", "other")


def _cut_open(ranks: Row, at: int) -> Row:
    """Return the ranks in the order in which they add to a chunk."""
    start = at % len(ranks)
    return ranks[start:] + ranks[:start]


def _turns(lines: dict[str, Row], outsiders: Row) -> dict[Row, str]:
    """Say in which sub-step a rank sends: the first in line at once, and the last one first when sums go round."""
    turns: dict[Row, str] = {}
    for chunk, line in lines.items():
        for place, rank in enumerate(line):
            turns["REDUCE", chunk, rank] = f"step{place + 1}"
            turns["GATHER", chunk, rank] = f"step{(place + 1) % len(line) + 1}"
        for phase in ("REDUCE", "GATHER"):
            turns |= {(phase, chunk, outsider): "step1" for outsider in outsiders}
    return turns


PROFILES = by_name(
    Profile("tiny", {"outsiders": 3, "own_keys": 1, "own_vectors": 1}, title="two ranks, one chunk, one iteration"),
    Profile("chunks", {"chunks": 2, "vectors": 4}, title="two ranks, two chunks, one iteration"),
    Profile("three", {"ring_size": 3, "hop_keys": 3, "vectors": 3}, title="three ranks, one chunk, one iteration"),
)

HUNTS = (
    Profile("two ranks", {"outsiders": 3, "own_keys": 1, "own_vectors": 1}, budget=2),
    Profile("one vector more", {"vectors": 3}, budget=1),
    Profile("two buckets", {"buckets": 2, "vectors": 4}, budget=0),
    Profile("three ranks", {"ring_size": 3, "hop_keys": 3, "vectors": 3}, budget=0),
    Profile("two iterations", {"iterations": 2, "vectors": 4}, budget=0),
)
"""The sizes a search for an attack goes through."""
