"""Exact arithmetic in a prime field, with matrix products in single precision.

A float32 represents every whole number up to 2^24. A residue, centred around zero, is split into signed digits of eight
bits, of absolute value at most 2^7. A product of two digits is at most 2^14, so a sum of :data:`LARGEST_INNER` products
is exact, in any order. Longer sums are computed in parts, which are reduced before they are added.

Arrays have residues as int64. Functions with untrusted inputs check them, and raise :class:`FieldError`.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

import numpy as np
import numpy.typing as npt
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

Residues: TypeAlias = npt.NDArray[np.int64]  #: Residues, from zero up to the modulus.
Draw: TypeAlias = Callable[[tuple[int, ...]], Residues]  #: Returns random residues in an array of the given shape.

PRIME: Final = 2**23 + 2**21 + 7  #: The prime of Slalom's authors; one and a half times the prime is below 2^24.
MANTISSA: Final = 24
DIGIT: Final = 8  #: The bits of a digit, including its sign.
DIGITS: Final = 3
#: The most products of two digits whose sum is exact in single precision: 1,024.
LARGEST_INNER: Final = 2**MANTISSA // 2 ** (2 * (DIGIT - 1))
#: The largest modulus whose centred residues fit into three digits.
LARGEST_PRIME: Final = 2 * sum(127 << (DIGIT * place) for place in range(DIGITS)) + 1


class FieldError(ValueError):
    """The field cannot compute with an input: its shape is wrong, or a value is not finite or too large."""


@dataclass(frozen=True, slots=True)
class Field:
    """Residues modulo a prime that fit into three digits.

    Raises FieldError if the modulus is no odd prime, or too large for the digits.
    """

    prime: int = PRIME

    def __post_init__(self) -> None:
        if not 2 < self.prime <= LARGEST_PRIME or not _is_prime(self.prime):
            raise FieldError(f"expected an odd prime of at most {LARGEST_PRIME:,}, and {self.prime:,} is none")

    @property
    def half(self) -> int:
        """The largest centred residue; its negative is the smallest."""
        return self.prime // 2

    def residues(self, values: npt.ArrayLike) -> Residues:
        """Return signed whole numbers as residues.

        Raises FieldError if a value is no whole number, not finite, or larger than half of the prime.
        """
        found = _array(values)
        if found.dtype.kind not in "iuf":
            raise FieldError(f"expected numbers, and these are {found.dtype}")
        if not np.isfinite(found).all():
            raise FieldError("expected finite numbers, and one is not")
        if (found != np.rint(found)).any():
            raise FieldError("expected whole numbers, and one is none")
        if found.size and (found.max() > self.half or found.min() < -self.half):
            raise FieldError(f"expected numbers of at most {self.half:,}, and one is larger: the field overflows")
        return np.mod(found.astype(np.int64), self.prime)

    def to_signed(self, residues: Residues) -> Residues:
        """Return residues as signed whole numbers, centred around zero."""
        return np.where(residues > self.half, residues - self.prime, residues)

    def require_residues(self, values: npt.ArrayLike, shape: tuple[int, ...]) -> Residues:
        """Return untrusted values, after a check that they are residues of this shape.

        Raises FieldError if the array has another shape, or values that are not residues.
        """
        found = _array(values)
        if found.shape != shape:
            raise FieldError(f"expected the shape {shape}, and this has {found.shape}")
        if found.dtype.kind not in "iuf" or not np.isfinite(found).all() or (found != np.rint(found)).any():
            raise FieldError("expected residues, and one is no finite whole number")
        if found.size and (found.min() < 0 or found.max() >= self.prime):
            raise FieldError(f"expected residues below {self.prime:,}, and one is not")
        return found.astype(np.int64)

    def multiply(self, left: Residues, right: Residues) -> Residues:
        """Return the exact product of two matrices, computed in single precision.

        Raises FieldError if the shapes do not fit, or a value is not a residue.
        """
        left, right = (self.require_residues(each, np.shape(each)) for each in (left, right))
        if left.ndim != 2 or right.ndim != 2 or left.shape[1] != right.shape[0]:
            raise FieldError(f"expected matrices that can be multiplied, and these are {left.shape} and {right.shape}")
        total = np.zeros((left.shape[0], right.shape[1]), dtype=np.int64)
        for start in range(0, left.shape[1], LARGEST_INNER):
            part = slice(start, start + LARGEST_INNER)
            total += self._part(left[:, part], right[part])
        return total % self.prime

    def largest_product(self, left: Residues, right: Residues) -> float:
        """Return a bound on the absolute values in a product of matrices of signed whole numbers."""
        sizes = (np.abs(self.to_signed(each)).astype(np.float64) for each in (left, right))
        return float(np.matmul(*sizes).max(initial=0))

    def require_room(self, largest: float) -> None:
        """Require that whole numbers of at most this absolute value fit into residues.

        Raises FieldError if they may be larger than half of the prime, or ``largest`` is not a number.
        """
        if not 0 <= largest <= self.half:
            raise FieldError(f"a result may be larger than {self.half:,}: the field overflows")

    def _part(self, left: Residues, right: Residues) -> Residues:
        total = np.zeros((left.shape[0], right.shape[1]), dtype=np.int64)
        of_right = digits(self.to_signed(right))
        for high, each in enumerate(digits(self.to_signed(left))):
            for low, other in enumerate(of_right):
                weight = pow(2, DIGIT * (high + low), self.prime)
                total += (each @ other).astype(np.int64) * weight % self.prime
        return total % self.prime

    def inverse(self, matrix: Residues) -> Residues:
        """Return the inverse of a square matrix, by elimination.

        Raises FieldError if it is not square, or its rank is too low.
        """
        size = matrix.shape[0]
        if matrix.ndim != 2 or matrix.shape != (size, size):
            raise FieldError(f"expected a square matrix, and this is {matrix.shape}")
        rows = np.concatenate([matrix % self.prime, np.eye(size, dtype=np.int64)], axis=1)
        for at in range(size):
            pivots = np.flatnonzero(rows[at:, at])
            if not pivots.size:
                raise FieldError(f"expected a matrix of rank {size}, and its rank is lower")
            rows[[at, at + pivots[0]]] = rows[[at + pivots[0], at]]
            rows[at] = rows[at] * pow(int(rows[at, at]), -1, self.prime) % self.prime
            others = np.arange(size) != at
            rows[others] = (rows[others] - rows[others, at : at + 1] * rows[at]) % self.prime
        return rows[:, size:]


def digits(numbers: Residues) -> list[npt.NDArray[np.float32]]:
    """Return whole numbers as signed digits of eight bits, lowest first; the absolute value of each is at most 2^7."""
    found, half = [], 2 ** (DIGIT - 1)
    for _ in range(DIGITS):
        digit = (numbers + half) % 2**DIGIT - half
        found.append(digit.astype(np.float32))
        numbers = (numbers - digit) >> DIGIT
    return found


def _array(values: npt.ArrayLike) -> npt.NDArray[Any]:
    try:
        return np.asarray(values)
    except ValueError as error:
        raise FieldError(f"expected an array: {error}") from error


def _is_prime(number: int) -> bool:
    return number > 1 and all(number % factor for factor in range(2, int(number**0.5) + 1))


def require_places(places: Sequence[int], most: int, needed: int, what: str) -> None:
    """Require at least ``needed`` different places below ``most``.

    Raises FieldError if there are fewer, or a place is out of range.
    """
    if strange := [place for place in places if not 0 <= place < most]:
        raise FieldError(f"expected {what} from 0 to {most - 1}, and one is {strange[0]}")
    if len(set(places)) < max(needed, len(places)):
        raise FieldError(f"expected results of {needed} {what}, each named once, and these are of {len(set(places))}")


# -- drawing -----------------------------------------------------------------------------------------------------------


class KeyStream:
    """Draws uniform residues from AES-256 in counter mode, under a key that has no other use.

    Words with the bit length of the prime are rejected if they are not residues, so every residue is equally likely.
    """

    def __init__(self, key: bytes, field: Field) -> None:
        self._stream = Cipher(algorithms.AES256(key), modes.CTR(bytes(16))).encryptor()
        self._prime = field.prime
        self._mask = 2 ** field.prime.bit_length() - 1

    def __call__(self, shape: tuple[int, ...]) -> Residues:
        """Return the next residues of the stream."""
        wanted = int(np.prod(shape))
        found: list[Residues] = []
        while (missing := wanted - sum(map(len, found))) > 0:
            words = np.frombuffer(self._stream.update(bytes(4 * (2 * missing + 16))), dtype="<u4") & self._mask
            found.append(words[words < self._prime].astype(np.int64)[:missing])
        return np.concatenate([*found, np.zeros(0, dtype=np.int64)]).reshape(shape)


# -- checking ----------------------------------------------------------------------------------------------------------


class WrongProductError(Exception):
    """A product of matrices fails the check; ``expected`` and ``found`` differ."""

    def __init__(self, repetition: int) -> None:
        super().__init__(f"the product is wrong: it does not pass check {repetition + 1}")


@dataclass(frozen=True, slots=True)
class Freivalds:
    """Freivalds' check of matrix products with random vectors; a wrong one passes with probability at most ``bound``.

    Raises FieldError if the number of repetitions is zero, so everything would pass.
    """

    field: Field
    draw: Draw
    repetitions: int = 1

    def __post_init__(self) -> None:
        if self.repetitions < 1:
            raise FieldError(f"expected at least one repetition, and there are {self.repetitions}")

    @property
    def error_bound(self) -> float:
        """The bound on the probability that a wrong product passes: a factor 1/prime for each repetition."""
        return float(self.field.prime) ** -self.repetitions

    def check(self, left: Residues, right: Residues, product: Any) -> Residues:
        """Return ``product`` if it passes the check; the random vectors are drawn after the product is known.

        Raises FieldError if the product has another shape, or values that are not residues; WrongProductError if the
        product fails the check.
        """
        given = self.field.require_residues(product, (left.shape[0], right.shape[1]))
        for repetition in range(self.repetitions):
            vector = self.draw((1, left.shape[0]))
            wanted = self.field.multiply(self.field.multiply(vector, left), right)
            if (wanted != self.field.multiply(vector, given)).any():
                raise WrongProductError(repetition)
        return given
