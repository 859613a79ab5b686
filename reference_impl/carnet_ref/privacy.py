"""Differential privacy of what is clipped, noised and released: the exact Gaussian mechanism, rounded outward.

A release adds independent Gaussian noise of standard deviation σ to each coordinate of a vector. If two inputs that
must look alike change the vector by at most Δ (its sensitivity), the release has μ = Δ/σ. Releases about one subject
compose exactly: together they are one Gaussian mechanism with μ² = Σ (Δ/σ)², also where a later one depends on what an
earlier one gave. It is (ε, δ)-private exactly for δ ≥ Φ(μ/2 − ε/μ) − e^ε Φ(−μ/2 − ε/μ).

μ² is kept as a fraction, so that composition rounds nothing. Φ is bounded from both sides by a series of positive terms
in decimal arithmetic whose contexts round down for the lower bound and up for the upper one; its precision grows with
the digits that the difference cancels. What is returned is never better than true: δ is an upper bound, and the ε or σ
of a search is one whose upper bound on δ was computed and is small enough.

The noise is taken to be real-valued. A sampler of floating-point numbers only approximates it (Mironov, CCS 2012), and
no number here speaks of that.

Source: Balle and Wang, Improving the Gaussian Mechanism (ICML 2018), Theorem 8; Dong, Roth and Su, Gaussian
Differential Privacy (2022), Corollary 3.3, for composition.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from dataclasses import dataclass
from decimal import MAX_EMAX, MIN_EMIN, ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from fractions import Fraction
from typing import Final

import numpy as np
import numpy.typing as npt

Vector = npt.NDArray[np.float64]

SMALLEST: Final = math.ulp(0.0)  #: The least positive number, which stands for every smaller one.
_FAR: Final = 39  #: Φ(−39) is below `SMALLEST`.
#: From this μ on, the subtracted term of δ is left out: the bound stays one, and is less than twice the truth.
_STEEP: Final = 40
_GUARD_DIGITS: Final = 60
LEAST: Final = 1e-60
#: Clipping bounds, sensitivities and deviations are between these, so that nothing derived from them overflows.
MOST: Final = 1e60
MOST_RELEASES: Final = 10**18
#: Clipping aims so much below its bound, more than what the rounding of a norm and of a product can add.
_SHRINK: Final = 1 - 2.0**-40


class PrivacyParameterError(ValueError):
    """A parameter of clipping, noise or privacy is outside of its range; the message says which, and the range."""


def upward(value: float, digits: int = 3) -> str:
    """Return so many significant digits of a non-negative number, rounded up: what is printed is no better than true.

    Raises PrivacyParameterError if it is negative or not a number.
    """
    if not value >= 0:
        raise PrivacyParameterError(f"expected a number from 0 on, not {value}")
    if value == math.inf:
        return "inf"
    context = Context(prec=digits, rounding=ROUND_CEILING)
    rounded = context.create_decimal(value)
    exponent = rounded.adjusted()
    if -4 <= exponent < digits:
        return f"{rounded.normalize(context):f}"
    return f"{rounded.scaleb(-exponent, context).normalize(context):f}e{exponent:+03d}"


def clip(vector: Vector, bound: float) -> Vector:
    """Scale a vector down to a Euclidean norm of at most ``bound``, in double precision, if it is longer.

    Any two results are at most 2·``bound`` apart, whatever the vectors were: that is the sensitivity of what is
    clipped, if one subject's input is replaced.

    Raises PrivacyParameterError if ``bound`` is not between `LEAST` and `MOST`, or an entry is no finite real number.
    """
    _require_size("clipping bound", bound)
    if np.asarray(vector).dtype.kind not in "iuf":
        raise PrivacyParameterError(f"expected real numbers, and these are {np.asarray(vector).dtype}")
    vector = np.asarray(vector, np.float64)
    if not np.isfinite(vector).all():
        raise PrivacyParameterError("expected finite entries, and one is infinite or not a number")
    largest = float(np.abs(vector).max(initial=0.0))
    if largest == 0.0:
        return vector.copy()
    scaled = vector / largest  # so that no square overflows or vanishes
    norm = math.sqrt(math.fsum(np.square(scaled).ravel().tolist()))
    if norm * largest <= bound * _SHRINK:
        return vector.copy()
    return scaled * (bound / norm * _SHRINK)


@dataclass(frozen=True, slots=True)
class Release:
    """One noised vector: its sensitivity and the standard deviation of its noise, in the same unit.

    Raises PrivacyParameterError if one of them is not between `LEAST` and `MOST`.
    """

    sensitivity: float
    deviation: float

    def __post_init__(self) -> None:
        _require_size("sensitivity", self.sensitivity)
        _require_size("standard deviation", self.deviation)

    @property
    def squared_mu(self) -> Fraction:
        """(Δ/σ)², exactly."""
        return (Fraction(self.sensitivity) / Fraction(self.deviation)) ** 2


@dataclass(frozen=True, slots=True)
class GaussianAccountant:
    """What all releases about one subject tell together; a new one has seen none."""

    squared_mu: Fraction = Fraction(0)

    def after(self, release: Release, times: int = 1) -> GaussianAccountant:
        """Return the accountant that has seen a release so many more times.

        Raises PrivacyParameterError if ``times`` is negative or above `MOST_RELEASES`.
        """
        if not 0 <= times <= MOST_RELEASES:
            raise PrivacyParameterError(f"expected from 0 to {MOST_RELEASES} releases, not {times}")
        return GaussianAccountant(self.squared_mu + times * release.squared_mu)

    def delta(self, epsilon: float) -> float:
        """Return an upper bound on the least δ for this ε.

        Raises PrivacyParameterError if ε is negative or not finite.
        """
        if not 0 <= epsilon < math.inf:
            raise PrivacyParameterError(f"expected a finite ε from 0 on, not {epsilon}")
        return _delta(self.squared_mu, epsilon) if self.squared_mu else 0.0

    def epsilon(self, delta: float) -> float:
        """Return the least ε that was found to have this δ; the true least ε is no larger.

        Raises PrivacyParameterError if δ is not between 0 and 1.
        """
        _require_probability(delta)
        return _least(self.delta, delta)


def deviation_for(epsilon: float, delta: float, sensitivity: float, releases: int = 1) -> float:
    """Return the least σ that was found to make so many releases (ε, δ)-private together.

    Raises PrivacyParameterError if a parameter is outside of its range.
    """
    _require_probability(delta)
    if releases < 1:
        raise PrivacyParameterError(f"expected at least one release, not {releases}")

    def delta_with(deviation: float) -> float:
        if not deviation:
            return 1.0
        return GaussianAccountant().after(Release(sensitivity, deviation), releases).delta(epsilon)

    return _least(delta_with, delta)


def _require_size(what: str, value: float) -> None:
    if not LEAST <= value <= MOST:
        raise PrivacyParameterError(f"expected a {what} from {LEAST:g} to {MOST:g}, not {value}")


def _require_probability(delta: float) -> None:
    if not 0 < delta < 1:
        raise PrivacyParameterError(f"expected 0 < δ < 1, not {delta}")


def _least(delta_at: Callable[[float], float], delta: float) -> float:
    """Return the least number of 45 binary digits with at most this δ, where each larger one has no larger δ.

    The search is regula falsi in the logarithm of δ, with the Illinois rule: an end that stays twice counts half.
    """
    if delta_at(0.0) <= delta:
        return 0.0

    def excess(number: float) -> float:
        return math.log(delta_at(number)) - math.log(delta)

    low, high = 0.5, 1.0
    at_low, at_high = excess(low), excess(high)
    while at_high > 0:
        low, at_low, high = high, at_high, high * 2
        at_high = excess(high)
    while at_low <= 0:
        high, at_high, low = low, at_low, low / 2
        at_low = excess(low)
    unit = max(low / 2**44, SMALLEST)
    stayed = 0
    while (units := (high - low) / unit) > 1:
        share = at_low / (at_low - at_high)
        middle = low + unit * min(max(round(units * share), 1), units - 1)
        at_middle = excess(middle)
        if at_middle > 0:
            low, at_low = middle, at_middle
            at_high, stayed = at_high / (2 if stayed > 0 else 1), 1
        else:
            high, at_high = middle, at_middle
            at_low, stayed = at_low / (2 if stayed < 0 else 1), -1
    return high


# -- bounds from both sides ---------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Directed:
    """Decimal arithmetic of one precision, with each operation rounded down and rounded up."""

    down: Context
    up: Context

    @classmethod
    @functools.cache
    def of(cls, digits: int) -> _Directed:
        roundings = (ROUND_FLOOR, ROUND_CEILING)
        return cls(*(Context(prec=digits, rounding=each, Emin=MIN_EMIN, Emax=MAX_EMAX) for each in roundings))


@dataclass(frozen=True, slots=True)
class _Bounds:
    """A number that is at least ``low`` and at most ``high``."""

    low: Decimal
    high: Decimal
    of: _Directed

    def __add__(self, other: _Bounds) -> _Bounds:
        return _Bounds(self.of.down.add(self.low, other.low), self.of.up.add(self.high, other.high), self.of)

    def __sub__(self, other: _Bounds) -> _Bounds:
        down, up = self.of.down, self.of.up
        return _Bounds(down.subtract(self.low, other.high), up.subtract(self.high, other.low), self.of)

    def __mul__(self, other: _Bounds) -> _Bounds:
        """Multiply two numbers of which neither is negative."""
        down, up = self.of.down, self.of.up
        return _Bounds(down.multiply(self.low, other.low), up.multiply(self.high, other.high), self.of)

    def __truediv__(self, other: _Bounds) -> _Bounds:
        """Divide a number that is not negative by a positive one."""
        down, up = self.of.down, self.of.up
        return _Bounds(down.divide(self.low, other.high), up.divide(self.high, other.low), self.of)

    def root(self) -> _Bounds:
        """Return the square root: the nearest decimal is computed, so each bound goes one further."""
        down, up = self.of.down, self.of.up
        return _Bounds(down.next_minus(down.sqrt(self.low)), up.next_plus(up.sqrt(self.high)), self.of)

    def exp(self) -> _Bounds:
        """Return e to the power of it, likewise."""
        down, up = self.of.down, self.of.up
        return _Bounds(down.next_minus(down.exp(self.low)), up.next_plus(up.exp(self.high)), self.of)

    def minus(self) -> _Bounds:
        """Return the negative of it."""
        return _Bounds(self.high.copy_negate(), self.low.copy_negate(), self.of)


def _bounds(value: int | Fraction, of: _Directed) -> _Bounds:
    top, bottom = Decimal(Fraction(value).numerator), Decimal(Fraction(value).denominator)
    return _Bounds(of.down.divide(top, bottom), of.up.divide(top, bottom), of)


@functools.cache
def _root_of_two_pi(of: _Directed) -> _Bounds:
    """Bound √(2π), by π = 16 arctan(1/5) − 4 arctan(1/239) (Machin)."""
    sixteen, four, two = (_bounds(number, of) for number in (16, 4, 2))
    pi = sixteen * _arctan_of_inverse(5, of) - four * _arctan_of_inverse(239, of)
    return (two * pi).root()


def _arctan_of_inverse(number: int, of: _Directed) -> _Bounds:
    """Bound arctan(1/number): its series alternates and falls, so two sums in a row have it between them."""
    enough = math.ceil(of.down.prec / (2 * math.log10(number)))
    terms = [Fraction((-1) ** n, (2 * n + 1) * number ** (2 * n + 1)) for n in range(2 * enough)]
    total = sum(terms[:-1], Fraction(0))
    sums = sorted((total, total + terms[-1]))
    return _Bounds(_bounds(sums[0], of).low, _bounds(sums[1], of).high, of)


def _normal(at: _Bounds) -> _Bounds:
    """Bound Φ, which grows, by its values at both ends."""
    return _Bounds(_normal_at(at.low, at.of).low, _normal_at(at.high, at.of).high, at.of)


def _normal_at(x: Decimal, of: _Directed) -> _Bounds:
    """Bound Φ(x) = ½ ± e^(−x²/2)/√(2π) · (|x| + |x|³/3 + |x|⁵/(3·5) + …)."""
    exact = _Bounds(x.copy_abs(), x.copy_abs(), of)
    square = exact * exact
    density = (square / _bounds(2, of)).minus().exp() / _root_of_two_pi(of)
    half, middle = _bounds(Fraction(1, 2), of), density * _series(exact, square)
    found = half + middle if x > 0 else half - middle
    return _Bounds(max(found.low, Decimal(0)), found.high, of)


def _series(x: _Bounds, square: _Bounds) -> _Bounds:
    """Bound the sum of the positive terms x^(2n+1)/(2n+1)!!; what is left out is below a geometric series."""
    down, up = x.of.down, x.of.up
    least, most, low, high, odd = x.low, x.high, x.low, x.high, 1
    while True:
        odd += 2
        least = down.divide(down.multiply(least, square.low), Decimal(odd))
        most = up.divide(up.multiply(most, square.high), Decimal(odd))
        low, high = down.add(low, least), up.add(high, most)
        falling = up.multiply(square.high, Decimal(2)) < odd
        if falling and up.scaleb(most, up.prec) <= low:  # the terms left out sum to less than this one
            return _Bounds(low, up.add(high, most), x.of)


def _delta(squared_mu: Fraction, epsilon: float) -> float:
    """Bound Φ(μ/2 − ε/μ) − e^ε Φ(−μ/2 − ε/μ) from above; both arguments are (±μ²/2 − ε)/μ."""
    nearer, farther = (half - Fraction(epsilon) for half in (squared_mu / 2, -squared_mu / 2))
    if nearer**2 > _FAR**2 * squared_mu:
        return 1.0 if nearer > 0 else SMALLEST
    whole = squared_mu < _STEEP**2
    largest = (farther if whole else nearer) ** 2 / squared_mu
    of = _Directed.of(_GUARD_DIGITS + math.ceil(largest / 2 * Fraction(math.log10(math.e)) / 100) * 100)
    mu = _bounds(squared_mu, of).root()
    bound = _normal(_quotient(nearer, mu))
    if whole:
        bound = bound - _bounds(Fraction(epsilon), of).exp() * _normal(_quotient(farther, mu))
    return min(1.0, max(SMALLEST, _float_above(bound.high)))


def _quotient(value: Fraction, divisor: _Bounds) -> _Bounds:
    """Divide a number of either sign by a positive one."""
    size = _bounds(abs(value), divisor.of) / divisor
    return size if value > 0 else size.minus()


def _float_above(value: Decimal) -> float:
    """Return the least float that is no smaller."""
    nearest = float(value)
    return nearest if Decimal(nearest) >= value else math.nextafter(nearest, math.inf)
