"""The parts of a table: parameters with their standing, cells with their role, and what the cells leave open.

A box of parameters is sampled by the Latin hypercube, on a logarithmic scale where an interval spans more than a
decade.

Source: M. D. McKay, R. J. Beckman, W. J. Conover, Technometrics 21 (1979).
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum

from carnet_ref.datapath.figures import FIGURES, Figure, Standing
from carnet_ref.datapath.quantities import QuantityError

MOST_STEPS = 60
CLOSE_ENOUGH = 1e-9


class FigureRole(StrEnum):
    """What a published figure was used for.

    Recomputed is what follows from other figures of its own source, without the model.
    """

    FITTED = "fitted"
    PREDICTED = "predicted"
    HELD_OUT = "held out"
    RECOMPUTED = "recomputed"


@dataclass(frozen=True, slots=True)
class Cell:
    """A published figure and the model's value for it."""

    name: str  #: which figure it is.
    unit: str  #: its unit; ``1`` for a ratio.
    published: float  #: as published.
    reproduced: float  #: what the model gives.
    role: FigureRole  #: whether a parameter was fitted to it.
    remark: str = ""  #: why the two differ, or what the model takes for granted.

    @property
    def relative_error(self) -> float:
        """(reproduced − published) / published."""
        return (self.reproduced - self.published) / self.published


@dataclass(frozen=True, slots=True)
class Parameter:
    """A number that the model uses."""

    name: str  #: what it is.
    unit: str  #: ``B/s``, ``s``, ``B`` or ``1``.
    value: float  #: the value used.
    standing: Standing  #: where it comes from.
    source: str  #: the source, or why it is what it is.
    fitted_to: str = ""  #: the cell it was fitted to, if any.
    figure: Figure | None = None  #: the sourced interval behind it, if there is one.


@dataclass(frozen=True, slots=True)
class BoxShare:
    """How much of a box of parameters reproduces all headline ratios within a tolerance."""

    samples: int
    meets: int
    tolerance: float
    each: tuple[tuple[str, int], ...]
    box: tuple[tuple[str, float, float], ...]

    @property
    def share(self) -> float:
        """The share of the samples that meet all ratios."""
        return self.meets / self.samples


@dataclass(frozen=True, slots=True)
class Table:
    """A table of published figures and what the model makes of them."""

    id: str
    title: str
    source: str
    parameters: tuple[Parameter, ...]
    cells: tuple[Cell, ...]
    remarks: tuple[str, ...]
    box: BoxShare | None = None

    @property
    def fitted_parameters(self) -> tuple[Parameter, ...]:
        """The parameters that were fitted to published figures."""
        return tuple(parameter for parameter in self.parameters if parameter.fitted_to)


def sourced_parameter(name: str) -> Parameter:
    """Return the parameter for a sourced figure at its nominal value."""
    figure = FIGURES[name]
    return Parameter(name, figure.unit, figure.nominal, figure.standing, figure.source, figure=figure)


def solve(function: Callable[[float], float], target: float, low: float, high: float) -> float:
    """Return where a monotone function reaches ``target`` between ``low`` and ``high``: regula falsi, Illinois variant.

    Source: M. Dowell, P. Jarratt, BIT 11 (1971).

    Raises QuantityError if it does not.
    """
    left, right = function(low) - target, function(high) - target
    if left * right > 0:
        raise QuantityError(f"no value between {low:g} and {high:g} gives {target:g}")
    kept, guess = 0, low
    for _ in range(MOST_STEPS):
        guess = low if left == right else (low * right - high * left) / (right - left)
        error = function(guess) - target
        if abs(error) <= abs(target) * CLOSE_ENOUGH or abs(high - low) <= abs(high) * CLOSE_ENOUGH:
            return guess
        if error * right > 0:
            high, right = guess, error
            left, kept = (left / 2 if kept < 0 else left), -1
        else:
            low, left = guess, error
            right, kept = (right / 2 if kept > 0 else right), 1
    return guess


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
    """Raise QuantityError unless ``samples`` is a permitted number of points."""
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
