"""AsymML's lemma claims for real numbers, by Z3's nonlinear arithmetic; what decides a case is right."""

from fractions import Fraction

import pytest
import z3

from carnet_spec.protocols.asymml import cases

A, B, INNER, BOUND = z3.Reals("a b inner bound")
#: Squared norms and inner product of two vectors of any dimension; any two vectors have such (Cauchy and Schwarz).
GRAM = [A >= 0, B >= 0, INNER * INNER <= A * B]
CLIPPED = {"one is clipped": A <= BOUND * BOUND, "the other is clipped": B <= BOUND * BOUND}
FURTHER = A + B - 2 * INNER > 4 * BOUND * BOUND


def decided(*formulas: z3.BoolRef) -> z3.CheckSatResult:
    solver = z3.Solver()
    solver.set("timeout", 20_000)
    solver.add(*formulas, BOUND > 0)
    return solver.check()


def test_no_two_clipped_vectors_are_further_than_twice_the_bound_apart_in_any_dimension() -> None:
    assert decided(*GRAM, *CLIPPED.values(), FURTHER) == z3.unsat


@pytest.mark.parametrize("left_out", CLIPPED)
def test_both_have_to_be_clipped(left_out: str) -> None:
    kept = [formula for name, formula in CLIPPED.items() if name != left_out]
    assert decided(*GRAM, *kept, FURTHER) == z3.sat


def test_inner_products_have_to_be_those_of_vectors() -> None:
    assert decided(*GRAM[:2], *CLIPPED.values(), FURTHER) == z3.sat


def test_nothing_less_than_twice_the_bound_is_enough() -> None:
    assert decided(*GRAM, *CLIPPED.values(), A + B - 2 * INNER >= 4 * BOUND * BOUND) == z3.sat


def test_every_pair_that_is_counted_has_a_gram_matrix_that_is_calculated() -> None:
    def inner(one: cases.Row, other: cases.Row) -> int:
        return sum(x * y for x, y in zip(one, other, strict=True))

    calculated = {case.values for case in cases.sensitivity_calculated("")}
    for (_, bound), (_, pair) in (case.values for case in cases.sensitivity_counted("")):
        assert isinstance(pair, tuple)
        one, other = pair
        norms = ("squared norms", (inner(one, one), inner(other, other)))
        assert (("bound", bound), norms, ("inner product", inner(one, other))) in calculated


def test_equations_are_solved_exactly() -> None:
    matrix = [
        [Fraction(2), Fraction(1), Fraction(0)],
        [Fraction(1), Fraction(3), Fraction(1)],
        [Fraction(0), *[Fraction(1)] * 2],
    ]
    solution = cases._solution(matrix, (1, -2, 5))
    assert [sum(a * x for a, x in zip(row, solution, strict=True)) for row in matrix] == [1, -2, 5]


def test_cases_of_a_hypothesis_include_those_that_satisfy_it() -> None:
    """So a hypothesis that is left out allows more, and nothing else changes."""
    for generator, names in (
        (cases.sensitivity_counted, ("always-clipped", "euclidean-norm")),
        (cases.composition_counted, ("always-clipped",)),
        (cases.recombination, ("parts-add-up",)),
    ):
        every = {case.values for case in generator("") if case.size == 1}
        for name in names:
            assert every < {case.values for case in generator(name) if case.size == 1}
