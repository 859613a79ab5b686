"""The accountant is exact to its rounding, never better than true, and agrees with others' accountants."""

from __future__ import annotations

import math
from collections.abc import Callable
from decimal import Context, Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from carnet_ref import privacy
from carnet_ref.privacy import GaussianAccountant, PrivacyParameterError, Release, clip, deviation_for, upward
from tests.benchmarks import asymml_pages, neighbours_pages, privacy_accountants
from tests.benchmarks.privacy_accountants import CASES, exact, recorded

ONE = GaussianAccountant().after(Release(1.0, 1.0))
DIGITS = Context(prec=60)


def mills(t: Decimal) -> Decimal:
    """Return Φ(−t)/φ(t) for t ≥ 1 by Laplace's continued fraction, which shares nothing with the product's series."""
    value = t
    for n in range(4000, 0, -1):
        value = DIGITS.add(t, DIGITS.divide(Decimal(n), value))
    return DIGITS.divide(Decimal(1), value)


def true_delta(mu: Decimal, epsilon: Decimal) -> Decimal:
    """Return δ(ε) where ε ≥ μ²/2 + μ: φ(a)·(m(−a) − m(μ − a)), since e^ε φ(a − μ) = φ(a)."""
    pi = Decimal("3.14159265358979323846264338327950288419716939937510582097494459")
    t = DIGITS.subtract(DIGITS.divide(epsilon, mu), DIGITS.divide(mu, Decimal(2)))
    density = DIGITS.divide(
        DIGITS.exp(DIGITS.divide(DIGITS.multiply(t, t), Decimal(-2))), DIGITS.sqrt(DIGITS.multiply(2, pi))
    )
    return DIGITS.multiply(density, DIGITS.subtract(mills(t), mills(DIGITS.add(t, mu))))


@pytest.mark.parametrize("mu", [2**-4, 0.5, 1.0, 3.0])
@pytest.mark.parametrize("excess", [1.25, 3.5, 17.0, 30.0, 37.0])
def test_delta_is_the_least_float_above_the_truth(mu: float, excess: float) -> None:
    epsilon = mu * (mu / 2 + excess)
    found = GaussianAccountant(Fraction(mu) ** 2).delta(epsilon)
    true = true_delta(Decimal(mu), Decimal(epsilon))
    assert Decimal(found) >= true
    assert Decimal(found) <= true * (1 + Decimal(2) ** -51)


def test_what_is_called_nothing_is_below_the_least_positive_number() -> None:
    """At 38.25 a true δ is still above it, and at the distance from which on it is not computed no δ is."""
    mu, excess = 3.0, 38.25
    epsilon = mu * (mu / 2 + excess)
    true = true_delta(Decimal(mu), Decimal(epsilon))
    found = GaussianAccountant(Fraction(mu) ** 2).delta(epsilon)
    assert privacy.SMALLEST < true <= Decimal(found) <= true + Decimal(privacy.SMALLEST)
    far = Decimal(privacy._FAR)
    density = DIGITS.exp(DIGITS.divide(DIGITS.multiply(far, far), Decimal(-2)))
    assert DIGITS.multiply(density, mills(far)) < Decimal(privacy.SMALLEST)


@pytest.mark.parametrize("exponent", [8, 16, 17, 20, 60, 120])
@pytest.mark.parametrize("times", [1, 7, 56])
def test_however_large_mu_is_no_delta_is_better_than_true(exponent: int, times: int) -> None:
    """Around ε = μ²/2, where a float is coarser than the distance that decides: true is Φ there, to 1e-15."""
    told = GaussianAccountant().after(Release(10.0 ** (exponent / 2), 10.0 ** (-exponent / 2)), times)
    middle = float(told.squared_mu / 2)
    decided = set()
    for step in range(-30, 31):
        epsilon = middle + step * math.ulp(middle)
        away = told.squared_mu / 2 - Fraction(epsilon)
        square = away**2 / told.squared_mu
        size = min(math.sqrt(square), 50.0)
        least = math.erfc((-size if away > 0 else size) / math.sqrt(2)) / 2
        found = told.delta(epsilon)
        assert least * (1 - 1e-12) - 1e-15 <= found
        assert found <= 2 * least * (1 + 1e-12) or found == privacy.SMALLEST
        decided.add(found)
    assert max(decided) >= 0.5
    assert told.epsilon(1e-5) > middle


def test_the_normal_distribution_is_bounded_from_both_sides() -> None:
    for x in map(Decimal, ("-20", "-3", "-0.001", "0", "0.001", "3", "20")):
        bounds = privacy._normal_at(x, privacy._Directed.of(200))
        assert bounds.low <= bounds.high
        assert bounds.high - bounds.low < bounds.high * Decimal("1e-90")
        mirrored = privacy._normal_at(-x, privacy._Directed.of(200))
        assert bounds.low + mirrored.low <= 1 <= bounds.high + mirrored.high


@given(st.floats(-6, 6).map(Decimal), st.integers(4, 12))
def test_with_few_digits_the_bounds_still_have_the_truth_between_them(x: Decimal, digits: int) -> None:
    few, many = privacy._Directed.of(digits), privacy._Directed.of(100)

    def contains(coarse: privacy._Bounds, fine: privacy._Bounds) -> bool:
        return coarse.low <= fine.low <= fine.high <= coarse.high

    assert contains(privacy._normal_at(x, few), privacy._normal_at(x, many))
    assert contains(privacy._root_of_two_pi(few), privacy._root_of_two_pi(many))
    coarse, fine = (privacy._bounds(Fraction(x), of) for of in (few, many))
    assert contains(coarse.exp(), fine.exp())
    positive, exact = (privacy._bounds(Fraction(x) ** 2 + 1, of) for of in (few, many))
    assert contains(positive.root(), exact.root())
    assert contains(positive / exact, exact / exact)


@given(mu=st.floats(1e-3, 30), epsilon=st.floats(0, 50))
def test_more_epsilon_or_less_mu_is_never_worse(mu: float, epsilon: float) -> None:
    one = GaussianAccountant(Fraction(mu) ** 2)
    assert one.delta(epsilon) >= one.delta(epsilon * 1.01)
    assert one.delta(epsilon) <= GaussianAccountant(Fraction(mu * 1.01) ** 2).delta(epsilon)


def test_delta_never_rounds_to_nothing_and_never_exceeds_one() -> None:
    assert GaussianAccountant().delta(0.0) == 0.0
    assert GaussianAccountant().epsilon(1e-300) == 0.0
    assert GaussianAccountant().after(Release(1e-60, 1e60)).delta(1e300) == privacy.SMALLEST
    assert GaussianAccountant().after(Release(1e60, 1e-60), privacy.MOST_RELEASES).delta(0.0) == 1.0


@pytest.mark.parametrize("mu", [39.9, 40.1])
def test_from_forty_on_the_bound_is_still_one_and_less_than_twice_the_truth(mu: float) -> None:
    epsilon = mu * (mu / 2 + 20)
    found, true = GaussianAccountant(Fraction(mu) ** 2).delta(epsilon), true_delta(Decimal(mu), Decimal(epsilon))
    assert true <= Decimal(found) < 2 * true


def test_releases_compose_as_one_of_their_quadratic_sum() -> None:
    several = GaussianAccountant().after(Release(2.0, 8.0), 9).after(Release(3.0, 4.0))
    assert several.squared_mu == Fraction(9, 16) + Fraction(9, 16)
    assert several.delta(1.0) == GaussianAccountant(Fraction(9, 8)).delta(1.0)
    assert several.epsilon(1e-6) > GaussianAccountant().after(Release(3.0, 4.0)).epsilon(1e-6)


@pytest.mark.parametrize("delta", [1e-9, 1e-5, 0.01, 0.3])
def test_an_epsilon_has_its_delta_and_is_the_least(delta: float) -> None:
    epsilon = ONE.epsilon(delta)
    assert ONE.delta(epsilon) <= delta < ONE.delta(epsilon * (1 - 1e-12))
    assert ONE.epsilon(0.5) == 0.0, "two normal distributions at distance 1 differ by less than this"


@pytest.mark.parametrize(("epsilon", "releases"), [(0.1, 1), (1.0, 1), (1.0, 30), (8.0, 3)])
def test_a_deviation_suffices_and_is_the_least(epsilon: float, releases: int) -> None:
    deviation = deviation_for(epsilon, 1e-5, 2.0, releases)
    assert GaussianAccountant().after(Release(2.0, deviation), releases).delta(epsilon) <= 1e-5
    assert GaussianAccountant().after(Release(2.0, deviation * (1 - 1e-12)), releases).delta(epsilon) > 1e-5


def test_the_classical_formula_asks_for_more_noise_and_fails_for_a_large_epsilon() -> None:
    def classical(epsilon: float, delta: float) -> float:
        return math.sqrt(2 * math.log(1.25 / delta)) / epsilon

    assert classical(0.9, 1e-5) > deviation_for(0.9, 1e-5, 1.0)
    assert GaussianAccountant().after(Release(1.0, classical(20, 0.2))).delta(20) > 0.2


def test_it_agrees_with_the_closed_form_and_the_grid_of_another_library() -> None:
    rows = recorded()
    assert len(rows) == len(CASES)
    for row, (ratio, releases, share, delta) in zip(rows, CASES, strict=True):
        pld, rdp = float(row["PLD"]), float(row["RDP"])
        assert row["RDP above PLD"] == f"{rdp / pld - 1:.1%}"
        if share == 1:
            mine = exact(ratio, releases, delta)
            assert row["Carnet"] == upward(mine, privacy_accountants.DIGITS)
            assert Fraction(row["Carnet"]) >= Fraction(mine)
            assert mine == pytest.approx(float(row["closed form"]), rel=1e-4)
            assert mine == pytest.approx(pld, rel=0.01)
            assert mine < rdp


@given(st.floats(0, 1e300), st.integers(1, 15))
def test_what_is_printed_is_no_better_than_true(value: float, digits: int) -> None:
    shown = Fraction(upward(value, digits))
    assert shown >= Fraction(value)
    assert shown <= Fraction(value) * (1 + Fraction(10) ** (1 - digits)) + Fraction(math.ulp(0.0))


@given(st.floats(5e-324, 1e-290), st.integers(1, 15))
def test_that_holds_for_the_least_numbers_too(value: float, digits: int) -> None:
    shown = Fraction(upward(value, digits))
    assert Fraction(value) <= shown <= Fraction(value) * (1 + Fraction(10) ** (1 - digits))


@given(st.floats(1e-290, 1e300), st.integers(1, 15))
def test_what_is_printed_looks_like_any_float(value: float, digits: int) -> None:
    shown = upward(value, digits)
    assert shown == f"{float(shown):.{digits}g}"


def test_the_recorded_noise_has_at_most_the_recorded_epsilon() -> None:
    """Of the noise and the ε that the pages print, in each row, and no other ε would do with fewer digits."""
    tables = (
        (neighbours_pages.recorded(), "ε of a holder", neighbours_pages.DELTA, 3),
        (asymml_pages.read("privacy"), "ε of an image", asymml_pages.DELTA, 2),
    )
    for rows, name, delta, releases in tables:
        noised = [row for row in rows if row["σ/C"] != "0"]
        assert len(noised) >= 4
        for row in noised:
            said = Fraction(row[name])

            def epsilon_at(ratio: Fraction, releases: int = releases, delta: float = delta) -> Fraction:
                return Fraction(GaussianAccountant().after(Release(2.0, float(ratio)), releases).epsilon(delta))

            ratio = Decimal(row["σ/C"])
            less = ratio - Decimal(1).scaleb(ratio.adjusted() - 2)
            assert epsilon_at(Fraction(row["σ/C"])) <= said * (1 + Fraction(1, 10**12)) < epsilon_at(Fraction(less))


def test_the_recorded_designs_are_those_that_are_computed_again() -> None:
    found = [(name, epsilon, neighbours_pages.ratio_of(noise)) for name, epsilon, noise in neighbours_pages.designs()]
    assert [(row["an update is"], row["ε of a holder"], row["σ/C"]) for row in neighbours_pages.recorded()] == found
    layers = [(name, epsilon, ratio) for name, epsilon, ratio, _ in asymml_pages.defences(1.0)]
    rows = asymml_pages.read("privacy")
    assert [(row["residuals are"], row["ε of an image"], row["σ/C"]) for row in rows] == layers


VECTORS = st.lists(st.floats(-1e200, 1e200), min_size=1, max_size=8)


@given(VECTORS, VECTORS, st.floats(1e-9, 1e9))
def test_what_is_clipped_is_within_its_bound_and_twice_that_apart(one: list[float], two: list[float], c: float) -> None:
    size = max(len(one), len(two))
    left, right = (clip(np.array(each + [0.0] * (size - len(each))), c).tolist() for each in (one, two))
    for each in (left, right):
        assert sum(Fraction(value) ** 2 for value in each) <= Fraction(c) ** 2
    apart = sum((Fraction(a) - Fraction(b)) ** 2 for a, b in zip(left, right, strict=True))
    assert apart <= (2 * Fraction(c)) ** 2


@pytest.mark.parametrize("kind", [np.float16, np.float32, np.int16])
def test_what_has_fewer_bits_is_clipped_in_double_precision(kind: type) -> None:
    source = np.random.default_rng(0)
    for _ in range(5):
        clipped = clip((source.normal(size=2000) * 9).astype(kind), 1.0)
        assert clipped.dtype == np.float64
        assert sum(Fraction(value) ** 2 for value in clipped.tolist()) <= 1


def test_clipping_keeps_what_is_short_and_the_direction_of_what_is_long() -> None:
    short, long = np.array([3.0, 4.0]), np.array([-3e200, 4e200])
    assert np.array_equal(clip(short, 5.1), short)
    assert clip(long, 5.0) == pytest.approx([-3.0, 4.0], rel=1e-9)
    assert np.array_equal(clip(np.zeros(3), 1.0), np.zeros(3))


REFUSED: dict[str, tuple[Callable[[], object], str]] = {
    "no clipping bound": (lambda: clip(np.ones(2), 0.0), "clipping bound"),
    "an infinite clipping bound": (lambda: clip(np.ones(2), math.inf), "clipping bound"),
    "an entry that is not a number": (lambda: clip(np.array([1.0, math.nan]), 1.0), "finite entries"),
    "an infinite entry": (lambda: clip(np.array([math.inf]), 1.0), "finite entries"),
    "a complex entry": (lambda: clip(np.array([1j]), 1.0), "expected real numbers, and these are complex128"),
    "a word": (lambda: clip(np.array(["1"]), 1.0), "expected real numbers"),
    "no noise": (lambda: Release(1.0, 0.0), "standard deviation"),
    "noise that is not a number": (lambda: Release(1.0, math.nan), "standard deviation"),
    "a negative sensitivity": (lambda: Release(-1.0, 1.0), "sensitivity"),
    "a negative count": (lambda: ONE.after(Release(1.0, 1.0), -1), "releases"),
    "a negative ε": (lambda: ONE.delta(-0.1), "finite ε"),
    "an infinite ε": (lambda: ONE.delta(math.inf), "finite ε"),
    "δ of 0": (lambda: ONE.epsilon(0.0), "0 < δ < 1"),
    "δ of 1": (lambda: deviation_for(1.0, 1.0, 1.0), "0 < δ < 1"),
    "a negative ε as an aim": (lambda: deviation_for(-1.0, 0.1, 1.0), "finite ε"),
    "noise beyond every bound": (lambda: deviation_for(0.0, 1e-300, 1.0), "standard deviation"),
    "no release": (lambda: deviation_for(1.0, 0.1, 1.0, 0), "release"),
    "a negative number to print": (lambda: upward(-1.0), "from 0 on"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_is_outside_its_range_is_refused(case: str) -> None:
    call, message = REFUSED[case]
    with pytest.raises(PrivacyParameterError, match=message):
        call()
