"""The finite cases of AsymML's lemma claims, decided by definition and by formula, smallest first."""

from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import product

from carnet_spec.language import Case

Row = tuple[int, ...]

# -- recombination -----------------------------------------------------------------------------------------------------


def recombination(left_out: str) -> Iterator[Case]:
    """Yield whether a layer of one weight, and a product of two split values, equal the sums of their parts."""
    for most in (1, 2):
        numbers = range(-most, most + 1)
        for weight, kept, left, gradient, away in product(numbers, repeat=5):
            for given in numbers if left_out == "parts-add-up" else (left,):
                forward = _layer(weight, kept, left_out) + _layer(weight, given, left_out)
                products = [kept * gradient, kept * away, given * gradient, given * away]
                backward = sum(products[: 1 if left_out == "every-product" else 4])
                told = (("weight", weight), ("features", (kept, left)), ("on the GPU", given))
                right = forward == _layer(weight, kept + left, left_out)
                right = right and backward == (kept + left) * (gradient + away)
                yield Case(most, (*told, ("gradient", (gradient, away)), ("result", (forward, backward))), right)


def _layer(weight: int, value: int, left_out: str) -> int:
    return max(weight * value, 0) if left_out == "linear-layer" else weight * value


# -- sensitivity -------------------------------------------------------------------------------------------------------

DIMENSIONS = (1, 2, 3)
BOUNDS = (1, 2, 3)


def sensitivity_counted(left_out: str) -> Iterator[Case]:
    """Yield, for pairs of integer vectors, whether their clipped values differ by at most twice the bound."""
    for bound in BOUNDS:
        for dimension in DIMENSIONS:
            clipped = _clipped(bound, dimension, left_out == "euclidean-norm")
            others = _box(bound + 1, dimension) if left_out == "always-clipped" else clipped
            for one, other in product(clipped, others):
                told = (("bound", bound), ("residuals", (one, other)))
                apart = sum((x - y) ** 2 for x, y in zip(one, other, strict=True))
                yield Case(bound, told, apart <= (2 * bound) ** 2)


def _clipped(bound: int, dimension: int, each_entry: bool) -> list[Row]:
    """Return the vectors whose norm is at most a bound, or, if entries are clipped one by one, each entry."""
    return [row for row in _box(bound, dimension) if each_entry or sum(x * x for x in row) <= bound * bound]


def _box(most: int, dimension: int) -> list[Row]:
    return [*product(range(-most, most + 1), repeat=dimension)]


LARGEST = 4


def sensitivity_calculated(left_out: str) -> Iterator[Case]:
    """Yield the cases of the sensitivity claim by Gram matrices of integers: squared differences are compared."""
    for bound in range(1, LARGEST + 1):
        square = bound * bound
        most = 2 * square if left_out == "euclidean-norm" else square  # in two dimensions
        for one in range(most + 1):
            for other in range((4 * square if left_out == "always-clipped" else most) + 1):
                for inner in range(-LARGEST * most, LARGEST * most + 1):
                    if inner * inner <= one * other:
                        told = (("bound", bound), ("squared norms", (one, other)), ("inner product", inner))
                        yield Case(bound, told, one + other - 2 * inner <= 4 * square)


# -- composition -------------------------------------------------------------------------------------------------------

VARIANCES = (1, 2)


def composition_counted(left_out: str) -> Iterator[Case]:
    """Yield a case for each small combination of two releases: whether its advantage is within the claimed bound."""
    for bounds, variances, distances, shared in _releases(left_out):
        allowed = _sum_of_squared_ratios(bounds, variances, left_out)
        for factors in product(range(-2, 3), repeat=2):
            moved = sum(factor * distance for factor, distance in zip(factors, distances, strict=True))
            noise = sum(factor**2 * variance for factor, variance in zip(factors, variances, strict=True))
            noise += 2 * factors[0] * factors[1] * shared
            counted = (("combined as", factors), ("counted", str(Fraction(*allowed))))
            told = (*_details(bounds, variances, distances, shared), *counted)
            yield Case(max(bounds), told, moved**2 * allowed[1] <= allowed[0] * noise)


def composition_calculated(left_out: str) -> Iterator[Case]:
    """Yield, for three releases, whether the best combination is within the bound, d · Σ⁻¹ d for covariance Σ."""
    for bounds in sorted(product((1, 2), repeat=3), key=max):
        for variances in product((1, 3), repeat=3):
            promised = sum(Fraction(4 * bound**2, variance) for bound, variance in zip(bounds, variances, strict=True))
            if left_out == "every-release-counted":
                promised -= Fraction(4 * bounds[-1] ** 2, variances[-1])
            covariance = [[Fraction(variances[row] * (row == at)) for at in range(3)] for row in range(3)]
            if left_out == "noise-of-its-own":
                covariance[0][1] = covariance[1][0] = Fraction(min(variances[:2]), 2)
            further = int(left_out == "always-clipped")
            for far in product(*((-2 * bound - further, bound, 2 * bound) for bound in bounds)):
                best = sum(d * x for d, x in zip(far, _solution(covariance, far), strict=True))
                ratios = (("squared ratio", str(best)), ("counted", str(promised)))
                told = (("bounds", bounds), ("variances", variances), ("distances", far), *ratios)
                yield Case(max(bounds), told, best <= promised)


def _solution(matrix: Sequence[Sequence[Fraction]], right: Row) -> list[Fraction]:
    """Solve linear equations with a positive definite matrix, by elimination."""
    rows = [[*row, Fraction(value)] for row, value in zip(matrix, right, strict=True)]
    for pivot in range(len(rows)):
        scaled = [value / rows[pivot][pivot] for value in rows[pivot]]
        rows = [[value - row[pivot] * mine for value, mine in zip(row, scaled, strict=True)] for row in rows]
        rows[pivot] = scaled
    return [row[-1] for row in rows]


def _releases(left_out: str) -> Iterator[tuple[Row, Row, Row, int]]:
    """Yield two bounds, two variances, how far a subject moves each release, and the covariance of their noise."""
    for bounds in sorted(product((1, 2), repeat=2), key=max):
        for variances in product(VARIANCES, repeat=2):
            reach = [2 * bound + (left_out == "always-clipped") for bound in bounds]
            for distances in product(*(range(-most, most + 1) for most in reach)):
                for shared in (-1, 1) if left_out == "noise-of-its-own" and min(variances) > 1 else (0,):
                    yield bounds, variances, distances, shared


def _sum_of_squared_ratios(bounds: Sequence[int], variances: Sequence[int], left_out: str) -> tuple[int, int]:
    """Return the sum of squared ratios of twice a bound to the standard deviation, as numerator and denominator."""
    counted = 1 if left_out == "every-release-counted" else 2
    ratios = [((2 * bound) ** 2, variance) for bound, variance in zip(bounds, variances, strict=True)][:counted]
    top, bottom = 0, 1
    for over, under in ratios:
        top, bottom = top * under + over * bottom, bottom * under
    return top, bottom


def _details(bounds: Row, variances: Row, distances: Row, shared: int) -> tuple[tuple[str, object], ...]:
    return ("bounds", bounds), ("variances", variances), ("distances", distances), ("covariance", shared)
