"""The schedule: which chunk goes over which hop in which sub-step.

A bucket of gradients has as many chunks as there are ranks, and each chunk begins at the rank of its number. Chunks of
all buckets are numbered through.

Source: Patarasuk and Yuan, Bandwidth optimal all-reduce algorithms for clusters of workstations (2009).
"""

from __future__ import annotations

from collections.abc import Iterator
from enum import Enum


class Phase(Enum):
    """A half of all-reduce."""

    REDUCE = 0
    GATHER = 1


def steps(ranks: int) -> range:
    """Return the sub-steps of each phase: one fewer than there are ranks."""
    return range(ranks - 1)


def turns(ranks: int, buckets: int) -> Iterator[tuple[int, Phase, int]]:
    """Yield bucket, phase and sub-step in the order in which every rank takes them."""
    for bucket in range(buckets):
        for phase in Phase:
            for step in steps(ranks):
                yield bucket, phase, step


def sends(rank: int, ranks: int, bucket: int, phase: Phase, step: int) -> int:
    """Return the chunk that a rank sends."""
    begins = rank if phase is Phase.REDUCE else rank + 1
    return bucket * ranks + (begins - step) % ranks


def receives(rank: int, ranks: int, bucket: int, phase: Phase, step: int) -> int:
    """Return the chunk that a rank gets: what the rank before it sends."""
    return sends((rank - 1) % ranks, ranks, bucket, phase, step)
