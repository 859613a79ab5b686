"""Sampling a box of parameters: the Latin hypercube, on a logarithmic scale where an interval spans more than a decade.

Source: M. D. McKay, R. J. Beckman, W. J. Conover, Technometrics 21 (1979).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from carnet_ref.datapath.quantities import QuantityError
from carnet_ref.datapath.tables.model import BoxShare

Interval = tuple[float, float]
DECADE = 10.0
TOLERANCE = 0.15
MOST_SAMPLES = 1_000_000


def points(box: Mapping[str, Interval], samples: int, seed: int) -> Iterator[dict[str, float]]:
    """Yield ``samples`` points of the box, the same ones for the same seed.

    Raises QuantityError if fewer than one sample is asked for, or more than `MOST_SAMPLES`.
    """
    import numpy as np

    check_samples(samples)
    source = np.random.default_rng(seed)
    cells = np.stack([source.permutation(samples) for _ in box])
    places = (cells + source.random(cells.shape)) / samples
    for column in places.T:
        yield {name: _between(box[name], float(place)) for name, place in zip(box, column, strict=True)}


def check_samples(samples: int) -> None:
    """Insist that ``samples`` is a sane number of points. Raises QuantityError if it is not."""
    if not 1 <= samples <= MOST_SAMPLES:
        raise QuantityError(f"a box is sampled at least once and at most {MOST_SAMPLES:,} times, not {samples} times")


def _between(interval: Interval, place: float) -> float:
    low, high = interval
    if low > 0 and high / low > DECADE:
        return float(low * (high / low) ** place)
    return low + (high - low) * place


def share(
    box: Mapping[str, Interval],
    published: Mapping[str, float],
    reproduce: Callable[[Mapping[str, float]], Mapping[str, float]],
    samples: int,
    seed: int,
) -> BoxShare:
    """Return which share of the box reproduces every published ratio within `TOLERANCE`.

    A point for which ``reproduce`` leaves a ratio out cannot have it whatever the remaining parameters are.
    """
    meets = 0
    each = dict.fromkeys(published, 0)
    for point in points(box, samples, seed):
        got = reproduce(point)
        close = {
            name for name, value in published.items() if name in got and abs(got[name] - value) <= TOLERANCE * value
        }
        meets += len(close) == len(published)
        for name in close:
            each[name] += 1
    bounds = tuple((name, low, high) for name, (low, high) in box.items())
    return BoxShare(samples, meets, TOLERANCE, tuple(each.items()), bounds)
