"""What encrypted hops cost: time and traffic of one all-reduce, by ranks, gradients and buckets.

Nothing overlaps in it, so it is an upper bound for a design whose hops cost that much.

Source: FIGURES are those of arXiv 2501.11771, "Characterization of GPU TEE Overheads in Distributed Data Parallel ML
Training"; the formula is Carnet's, after the schedule.
"""

from __future__ import annotations

import math
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Hop:
    """What one message costs: seconds that do not depend on its length, and bytes to a second of each stage."""

    fixed: float
    encrypt: float
    carry: float
    decrypt: float

    def seconds(self, size: float) -> float:
        """Return the time of one message of that many bytes."""
        return self.fixed + size * (1 / self.encrypt + 1 / self.carry + 1 / self.decrypt)


@dataclass(frozen=True, slots=True)
class Figure:
    """What the paper measured: how many times as long an iteration takes with GPU TEEs as without."""

    what: str
    ranks: int
    slowdown: float


FIGURES = (
    Figure("average over the models", 4, 8.68),
    Figure("GPT-2-XL", 4, 41.6),
    Figure("GPT-2-XL, with a tuned bucket size", 4, 3.03),
)
"""The third version of the paper; the first has 8 for the average."""


def sub_steps(ranks: int) -> int:
    """Return the sub-steps of one all-reduce: each phase has one fewer than there are ranks."""
    return 2 * (ranks - 1)


def buckets(gradients: int, bucket: int) -> int:
    """Return into how many buckets that many bytes of gradients are cut."""
    return math.ceil(gradients / bucket)


def traffic(ranks: int, gradients: int) -> float:
    """Return the bytes that each rank sends in one iteration."""
    return sub_steps(ranks) * gradients / ranks


def seconds(ranks: int, gradients: int, bucket: int, hop: Hop) -> float:
    """Return the time of all sub-steps of all buckets of one iteration.

    The fixed part is paid in every sub-step of every bucket, which is why larger buckets help; the part that grows with
    the bytes hardly depends on the number of ranks.
    """
    if ranks < 2 or gradients < 1 or bucket < 1:
        raise ValueError(f"{ranks} ranks, {gradients} bytes of gradients, buckets of {bucket} bytes")
    whole, rest = divmod(gradients, bucket)
    sizes = [(whole, bucket), (1 if rest else 0, rest)]
    return sum(count * sub_steps(ranks) * hop.seconds(size / ranks) for count, size in sizes)


def slowdown(compute: float, with_tees: float, without: float) -> float:
    """Return how many times as long an iteration takes, from its compute and the two times of all-reduce."""
    return (compute + with_tees) / (compute + without)
