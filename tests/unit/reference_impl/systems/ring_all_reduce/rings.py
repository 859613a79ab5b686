"""Rings in one process: the same ranks, and somebody between who sees every message."""

from collections.abc import Callable, Sequence

import numpy as np

from carnet_ref.systems.ring_all_reduce.rank import Phase, Rank, Vector, turns

Turn = tuple[int, Phase, int]
Between = Callable[[Turn, list[bytes]], list[bytes]]  #: What becomes of the messages of one turn, by sender.


def ring(ranks: int, kind: type[Rank] = Rank, *, one_key: bool = False) -> list[Rank]:
    keys = [bytes([0 if one_key else place]) * 32 for place in range(ranks)]
    return [kind(place, ranks, keys[place], keys[place - 1]) for place in range(ranks)]


def contributions(ranks: int, size: int = 12, seed: int = 0) -> list[Vector]:
    return [np.random.default_rng([seed, rank]).normal(size=size).astype(np.float32) for rank in range(ranks)]


def as_sent(turn: Turn, messages: list[bytes]) -> list[bytes]:
    return messages


def go_round(ranks: Sequence[Rank], buckets: int = 1, between: Between = as_sent) -> None:
    """Take all turns of an iteration that every rank has begun."""
    for turn in turns(len(ranks), buckets):
        messages = between(turn, [rank.send(*turn) for rank in ranks])
        for place, rank in enumerate(ranks):
            rank.receive(*turn, messages[place - 1])


def all_reduce(
    ranks: Sequence[Rank], given: Sequence[Vector], iteration: int = 0, between: Between = as_sent
) -> list[Vector]:
    for rank, contribution in zip(ranks, given, strict=True):
        rank.begin(iteration, contribution)
    go_round(ranks, between=between)
    return [rank.finish() for rank in ranks]
