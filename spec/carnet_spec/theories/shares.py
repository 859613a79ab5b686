"""Shares of a linear code with noise, modulo a prime: the cases to count, and the ranks to calculate.

A share is a row of coefficients: of the data, and of the noise. The functions that count go through all data and all
noise; those that calculate eliminate. They share nothing but the rows.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import product

Row = tuple[int, ...]
Draws = Callable[[int, int], Iterable[Row]]  #: For a modulus and a number of values, the noise that is equally likely.


@dataclass(frozen=True, slots=True)
class Share:
    """What one worker is given: a sum of data and noise, with these coefficients."""

    data: Row
    noise: Row

    @property
    def row(self) -> Row:
        """All coefficients."""
        return self.data + self.noise


def dot(left: Iterable[int], right: Iterable[int]) -> int:
    """Return the sum of products."""
    return sum(a * b for a, b in zip(left, right, strict=True))


# -- counting ----------------------------------------------------------------------------------------------------------


def all_noise(modulus: int, number: int) -> Iterable[Row]:
    """Return all noise there is: each value is drawn uniformly, and for itself."""
    return product(range(modulus), repeat=number)


def learns_nothing(shares: Sequence[Share], modulus: int, draws: Draws = all_noise) -> bool:
    """Whether what a coalition sees is as likely for any data as for any other, by a count of all."""
    number = len(shares[0].data)
    views = (_views(shares, data, modulus, draws) for data in product(range(modulus), repeat=number))
    first = next(views)
    return all(other == first for other in views)


def _views(shares: Sequence[Share], data: Row, modulus: int, draws: Draws) -> Counter[Row]:
    noises = draws(modulus, len(shares[0].noise))
    return Counter(tuple(dot(share.row, data + tuple(noise)) % modulus for share in shares) for noise in noises)


def leaking(shares: Sequence[Share], modulus: int) -> Row | None:
    """Return factors with which the shares add up to data without noise, if there are any."""
    for factors in product(range(modulus), repeat=len(shares)):
        noise = any(dot(factors, column) % modulus for column in zip(*(each.noise for each in shares), strict=True))
        if not noise and any(dot(factors, column) % modulus for column in _columns(shares)):
            return factors
    return None


def _columns(shares: Sequence[Share]) -> Iterable[Row]:
    return zip(*(each.data for each in shares), strict=True)


# -- calculating -------------------------------------------------------------------------------------------------------


def rank(rows: Iterable[Sequence[int]], modulus: int) -> int:
    """Return the rank of a matrix modulo a prime, by elimination."""
    left = [[value % modulus for value in row] for row in rows]
    found = 0
    for column in range(len(left[0]) if left else 0):
        pivot = next((at for at in range(found, len(left)) if left[at][column]), None)
        if pivot is None:
            continue
        left[found], left[pivot] = left[pivot], left[found]
        scale = pow(left[found][column], -1, modulus)
        for at in range(found + 1, len(left)):
            factor = left[at][column] * scale
            left[at] = [(a - factor * b) % modulus for a, b in zip(left[at], left[found], strict=True)]
        found += 1
    return found


def hides_by_rank(shares: Sequence[Share], modulus: int) -> bool:
    """Whether the data adds no rank to the noise of a coalition's shares."""
    return rank((each.noise for each in shares), modulus) == rank((each.row for each in shares), modulus)


# -- codes -------------------------------------------------------------------------------------------------------------


def powers(point: int, noise: int, data: int, modulus: int) -> Share:
    """Return the share at a point of the polynomial whose low coefficients are noise, and whose others are data."""
    row = tuple(pow(point, exponent, modulus) for exponent in range(noise + data))
    return Share(row[noise:], row[:noise])


def lagrange(point: int, nodes: Sequence[int], modulus: int) -> Row:
    """Return with which factors the values at ``nodes`` add up to that of their polynomial at a point.

    The nodes are distinct.
    """
    factors = []
    for own in nodes:
        above, below = 1, 1
        for other in nodes:
            if other != own:
                above, below = above * (point - other) % modulus, below * (own - other) % modulus
        factors.append(above * pow(below, -1, modulus) % modulus)
    return tuple(factors)
