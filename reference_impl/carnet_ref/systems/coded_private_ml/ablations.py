"""What a code is without a defence: points that meet, as in the authors' code, and a seed that everybody knows."""

from __future__ import annotations

import numpy as np

from carnet_ref.field import Draw, Field
from carnet_ref.systems.coded_private_ml.code import LagrangeCode, Points

SEED = 42
"""The seed that the authors' code fixes."""


class MeetingPoints(LagrangeCode):
    """A code that does not look whether workers have points of blocks."""

    def __post_init__(self) -> None:
        """Accept any points."""


def centred_ranges(field: Field, data: int, random: int, workers: int) -> MeetingPoints:
    """Return the code of the authors: blocks and workers are in ranges around zero."""
    points = _around_zero(data + random)
    return MeetingPoints(field, points[:data], points[data:], _around_zero(workers))


def read_elsewhere(data: int) -> Points:
    """Return where the authors' decoder reads: around zero, as if there were no random blocks."""
    return _around_zero(data)


def _around_zero(number: int) -> Points:
    return tuple(range(-(number // 2), number - number // 2))


def seeded(field: Field, seed: int = SEED) -> Draw:
    """Return random blocks of NumPy's generator under a fixed seed."""
    source = np.random.default_rng(seed)
    return lambda shape: source.integers(0, field.prime, shape)
