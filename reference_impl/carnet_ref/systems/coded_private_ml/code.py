"""Lagrange coding: blocks are values of a polynomial at fixed points, and each worker gets its value at another point.

Workers apply a polynomial to what they have. From one result more than the degree of the composed polynomial, the
client interpolates at the points of its blocks.

Source: CodedPrivateML, arXiv 1902.00641, abstract; Lagrange coded computing, AISTATS 2019.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from carnet_ref.field import Draw, Field, FieldError, Residues, require_places
from carnet_ref.marks import enforces

Points = tuple[int, ...]


@dataclass(frozen=True)
class LagrangeCode:
    """A Lagrange code: the points of data blocks, of random blocks and of workers.

    Raises FieldError if there is no block of a kind or no worker, two of them meet, or a worker meets a block of data.
    """

    field: Field
    blocks: Points
    random: Points
    workers: Points

    @enforces("REQ-POINTS-01", "REQ-RANDOM-02")
    def __post_init__(self) -> None:
        prime = self.field.prime
        blocks, random, workers = (
            {point % prime for point in each} for each in (self.blocks, self.random, self.workers)
        )
        if not (self.blocks and self.random and self.workers):
            raise FieldError("expected blocks of data, random blocks and workers, and there are none of a kind")
        if len(blocks | random) < len(self.blocks) + len(self.random) or len(workers) < len(self.workers):
            raise FieldError("expected a point for each block and for each worker, and two have one")
        if meeting := blocks & workers:
            raise FieldError(f"a worker has the point {min(meeting)} of a block of data, and would be sent the block")

    @enforces("REQ-RANDOM-01", "CLAIM-THRESHOLD")
    def encode(self, data: Residues, draw: Draw, largest: float) -> Residues:
        """Return the share of each worker for data (blocks, values), with freshly drawn random blocks.

        ``largest`` bounds the size of the polynomial's values on the data: one that wraps round is not told from
        another one when it is decoded.

        Raises FieldError if the data has another shape or is not made of residues, or a value may not fit the field;
        nothing was drawn.
        """
        self.field.require_room(largest)
        if data.ndim != 2 or data.shape[0] != len(self.blocks):
            raise FieldError(f"expected data ({len(self.blocks)}, values), and this is {data.shape}")
        blocks = self.field.require_residues(data, data.shape)
        values = np.concatenate([blocks, draw((len(self.random), data.shape[1]))])
        return self.field.multiply(lagrange(self.field, self.workers, self.blocks + self.random), values)

    def results_needed(self, degree: int) -> int:
        """Return the number of results needed for a polynomial of this degree.

        Raises FieldError if the degree is below 1, so that one result would be enough whatever the random blocks are.
        """
        if degree < 1:
            raise FieldError(f"expected a degree from 1 on, and it is {degree}")
        return degree * (len(self.blocks) + len(self.random) - 1) + 1

    @enforces("REQ-RESULTS-01", "REQ-POINTS-02", "CLAIM-DECODING")
    def decode(self, results: Residues, workers: Sequence[int], degree: int) -> Residues:
        """Return the polynomial's values on the data blocks, from the results (workers, values) of ``workers``.

        Raises FieldError if the degree is below 1, there are too few results, a worker is none or is named twice, or
        the results have another shape.
        """
        needed = self.results_needed(degree)
        require_places(workers, len(self.workers), needed, "workers")
        given = self.field.require_residues(results, (len(workers), *np.shape(results)[1:]))
        points = tuple(self.workers[each] for each in workers[:needed])
        return self.field.multiply(lagrange(self.field, self.blocks, points), given[:needed])


def lagrange(field: Field, at: Points, nodes: Points) -> Residues:
    """Return the matrix (at, nodes) that maps values at the nodes to values of their polynomial at other points."""
    prime = field.prime
    rows = []
    for point in at:
        row = []
        for own in nodes:
            above, below = 1, 1
            for other in nodes:
                if other != own:
                    above, below = above * (point - other) % prime, below * (own - other) % prime
            row.append(above * pow(below, -1, prime) % prime)
        rows.append(row)
    return np.array(rows, dtype=np.int64)
