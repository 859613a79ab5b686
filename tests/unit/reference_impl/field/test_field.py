"""Arithmetic in the field: products in single precision that are exact, generators, the check, and what is refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from carnet_ref.field import (
    LARGEST_INNER,
    LARGEST_PRIME,
    PRIME,
    Field,
    FieldError,
    Freivalds,
    KeyStream,
    WrongProductError,
    digits,
)
from carnet_spec.theories.shares import rank

FIELD = Field()
PRIMES = st.sampled_from([3, 5, 101, 65_537, PRIME, 15_485_863, 16711421])


def whole(left: np.ndarray, right: np.ndarray, prime: int) -> np.ndarray:
    """Multiply with Python's whole numbers."""
    return np.asarray((left.astype(object) @ right.astype(object)) % prime)


@given(PRIMES, st.integers(1, 4), st.integers(0, 40), st.integers(1, 4), st.integers(0, 2**32))
def test_products_are_exact(prime: int, rows: int, inner: int, columns: int, seed: int) -> None:
    source = np.random.default_rng(seed)
    left, right = source.integers(0, prime, (rows, inner)), source.integers(0, prime, (inner, columns))
    assert (Field(prime).multiply(left, right) == whole(left, right, prime)).all()


@pytest.mark.parametrize("inner", [LARGEST_INNER, LARGEST_INNER + 1, 3 * LARGEST_INNER + 7])
@pytest.mark.parametrize("value", [128, FIELD.half, FIELD.half + 1, PRIME - 128, PRIME - 1])
def test_long_sums_of_the_largest_digits_are_exact(inner: int, value: int) -> None:
    left, right = np.full((1, inner), value), np.full((inner, 2), PRIME - 128)
    right[:, 1] = np.random.default_rng(inner).integers(0, PRIME, inner)
    assert (FIELD.multiply(left, right) == whole(left, right, PRIME)).all()


def test_one_product_more_than_the_largest_inner_dimension_may_be_rounded() -> None:
    left = np.full(LARGEST_INNER + 1, -128, dtype=np.float32)
    right = left.copy()
    left[-1], right[-1] = 1, 1
    exact = LARGEST_INNER * 128**2 + 1
    assert LARGEST_INNER == 1024
    assert int(left[:-1] @ right[:-1]) == exact - 1
    assert {int(np.dot(left, right)), int(np.float32(exact))} == {exact - 1}


@given(st.integers(-(LARGEST_PRIME // 2), LARGEST_PRIME // 2))
def test_digits_are_small_and_add_up(number: int) -> None:
    found = [int(each[0]) for each in digits(np.array([number]))]
    assert all(-128 <= digit < 128 for digit in found)
    assert sum(digit << (8 * place) for place, digit in enumerate(found)) == number


@pytest.mark.parametrize("prime", [0, 1, 2, 4, 15, 2**23, LARGEST_PRIME + 2, 16711427, 16_777_213, -3])
def test_a_modulus_that_is_no_prime_or_too_large_is_refused(prime: int) -> None:
    with pytest.raises(FieldError, match="expected an odd prime of at most 16,711,423"):
        Field(prime)


@pytest.mark.parametrize(
    ("values", "why"),
    [
        ([0.5], "whole numbers"),
        ([float("nan")], "finite"),
        ([float("inf")], "finite"),
        ([FIELD.half + 1], "the field overflows"),
        ([-FIELD.half - 1], "the field overflows"),
        ([np.iinfo(np.int64).min], "the field overflows"),
        (["one"], "expected numbers"),
        ([1j], "expected numbers"),
        ([[1], [2, 3]], "expected an array"),
    ],
)
def test_what_is_no_residue_is_refused(values: list[Any], why: str) -> None:
    with pytest.raises(FieldError, match=why):
        FIELD.residues(values)


@given(st.lists(st.integers(-FIELD.half, FIELD.half)))
def test_residues_stand_for_whole_numbers(values: list[int]) -> None:
    assert FIELD.to_signed(FIELD.residues(np.array(values, dtype=np.int64))).tolist() == values


@pytest.mark.parametrize("shapes", [((2, 3), (2, 3)), ((3,), (3, 1)), ((0, 2), (3, 0))])
def test_shapes_that_do_not_fit_are_refused(shapes: tuple[tuple[int, ...], ...]) -> None:
    left, right = (np.zeros(shape, dtype=np.int64) for shape in shapes)
    with pytest.raises(FieldError, match="matrices that can be multiplied"):
        FIELD.multiply(left, right)


@pytest.mark.parametrize("strange", [PRIME, 2**25 + 5, -1, np.iinfo(np.int64).min])
def test_matrices_of_anything_but_residues_are_not_multiplied(strange: int) -> None:
    good, bad = np.ones((2, 2), dtype=np.int64), np.array([[1, 1], [strange, 1]])
    for left, right in ((good, bad), (bad, good)):
        with pytest.raises(FieldError, match="expected residues below"):
            FIELD.multiply(left, right)


def test_what_is_the_largest_that_a_product_has() -> None:
    left, right = FIELD.residues([[-3, 2]]), FIELD.residues([[4, 1], [-5, 0]])
    assert FIELD.largest_product(left, right) == 22
    assert FIELD.largest_product(left[:, :0], right[:0]) == 0
    FIELD.require_room(FIELD.half)
    for size in (FIELD.half + 1, float("nan"), -1):
        with pytest.raises(FieldError, match="the field overflows"):
            FIELD.require_room(size)


@pytest.mark.parametrize("repetitions", [0, -1])
def test_a_check_that_checks_nothing_is_refused(repetitions: int) -> None:
    with pytest.raises(FieldError, match="at least one repetition"):
        Freivalds(FIELD, KeyStream(bytes(32), FIELD), repetitions)


@given(PRIMES, st.integers(1, 5), st.integers(0, 2**32))
def test_an_inverse_is_one_or_the_rank_is_too_low(prime: int, size: int, seed: int) -> None:
    field, matrix = Field(prime), np.random.default_rng(seed).integers(0, prime, (size, size))
    if rank(matrix.tolist(), prime) < size:
        with pytest.raises(FieldError, match="its rank is lower"):
            field.inverse(matrix)
    else:
        assert (field.multiply(matrix, field.inverse(matrix)) == np.eye(size)).all()


@pytest.mark.parametrize("matrix", [np.zeros((2, 2)), np.ones((3, 3)), np.array([[1, 2], [2, 4]])])
def test_a_matrix_of_low_rank_has_no_inverse(matrix: np.ndarray) -> None:
    with pytest.raises(FieldError, match="its rank is lower"):
        FIELD.inverse(matrix.astype(np.int64))
    with pytest.raises(FieldError, match="square matrix"):
        FIELD.inverse(np.zeros((2, 3), dtype=np.int64))


def test_drawn_residues_are_uniform_and_never_the_same() -> None:
    stream = KeyStream(bytes(31) + b"\1", FIELD)
    drawn = stream((400, 500))
    assert 0 <= drawn.min() < drawn.max() < PRIME
    counts = np.histogram(drawn, bins=20, range=(0, PRIME))[0]
    expected = drawn.size / 20
    assert ((counts - expected) ** 2 / expected).sum() < 60  # chi squared of 19 degrees: 2e-5 lie above
    assert (stream((400, 500)) != drawn).any()
    assert (KeyStream(bytes(31) + b"\1", FIELD)((400, 500)) == drawn).all()
    assert KeyStream(bytes(32), FIELD)((0,)).size == 0


# -- the check -----------------------------------------------------------------------------------------------


@pytest.mark.verifies("slalom-CLAIM-FREIVALDS-BOUND", "slalom-REQ-CHECK-01", "slalom-REQ-FIELD-02")
@pytest.mark.parametrize(("prime", "repetitions", "trials"), [(3, 1, 3000), (5, 1, 3000), (3, 2, 3000), (101, 1, 6000)])
def test_a_wrong_product_passes_as_often_as_the_bound_says(prime: int, repetitions: int, trials: int) -> None:
    """An error in one entry passes exactly where its place of the vector is zero: the bound is met."""
    field = Field(prime)
    source = np.random.default_rng(prime)
    check = Freivalds(field, lambda shape: source.integers(0, prime, shape), repetitions)
    left, right = source.integers(0, prime, (4, 3)), source.integers(0, prime, (3, 2))
    wrong = field.multiply(left, right)
    wrong[2, 1] = (wrong[2, 1] + 1) % prime
    passed = 0
    for _ in range(trials):
        try:
            check.check(left, right, wrong)
            passed += 1
        except WrongProductError:
            pass
    deviation = (trials * check.error_bound * (1 - check.error_bound)) ** 0.5
    assert abs(passed - trials * check.error_bound) < 4 * deviation


@pytest.mark.parametrize(
    "given_product",
    [
        np.zeros((2, 3)),
        np.array([[0.5, 0]]),
        np.array([[PRIME, 0]]),
        np.array([[np.nan, 0]]),
        [["a", "b"]],
        [[1], [2, 3]],
    ],
)
def test_what_is_no_product_is_refused(given_product: object) -> None:
    check = Freivalds(FIELD, KeyStream(bytes(32), FIELD))
    left, right = np.ones((1, 2), dtype=np.int64), np.ones((2, 2), dtype=np.int64)
    with pytest.raises(FieldError):
        check.check(left, right, given_product)
    assert (check.check(left, right, np.array([[2.0, 2.0]])) == 2).all()
