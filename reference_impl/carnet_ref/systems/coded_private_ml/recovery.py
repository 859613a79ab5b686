"""What workers make of what they see where a defence is missing."""

from __future__ import annotations

import numpy as np

from carnet_ref.field import Draw, Residues
from carnet_ref.systems.coded_private_ml.code import LagrangeCode, lagrange


def block_at_own_point(code: LagrangeCode, shares: Residues) -> dict[int, Residues]:
    """Return the blocks of data that workers were sent as they are, by their places."""
    prime = code.field.prime
    workers = [point % prime for point in code.workers]
    places = {
        block: workers.index(point % prime) for block, point in enumerate(code.blocks) if point % prime in workers
    }
    return {block: code.field.centred(shares[place]) for block, place in places.items()}


def together(code: LagrangeCode, shares: Residues, workers: list[int]) -> Residues:
    """Return the data, if as many workers put together what they see as there are blocks; with fewer, a guess.

    Who is too few takes zeros in the place of what is missing, at the random points.
    """
    missing = len(code.blocks) + len(code.random) - len(workers)
    points = tuple(code.workers[each] for each in workers) + code.random[: max(missing, 0)]
    values = np.concatenate([shares[workers], np.zeros((max(missing, 0), shares.shape[1]), dtype=np.int64)])
    return code.field.centred(code.field.multiply(lagrange(code.field, code.blocks, points), values))


def without_known_noise(code: LagrangeCode, shares: Residues, workers: list[int], draw: Draw) -> Residues:
    """Return the data from as many workers as there are blocks of it, where the generator of random blocks is known."""
    factors = lagrange(code.field, tuple(code.workers[each] for each in workers), code.blocks + code.random)
    noise = draw((len(code.random), shares.shape[1]))
    data = len(code.blocks)
    seen = (shares[workers] - code.field.multiply(factors[:, data:], noise)) % code.field.prime
    return code.field.centred(code.field.multiply(code.field.inverse(factors[:, :data]), seen))
