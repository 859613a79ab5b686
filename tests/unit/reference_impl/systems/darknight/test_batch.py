"""Coded batches: exact, with noise for all that work together, and what one colluder too many sees."""

from itertools import combinations

import numpy as np
import pytest

from carnet_ref.field import PRIME, Field, FieldError, KeyStream
from carnet_ref.systems.darknight.batch import CodedBatch

FIELD = Field()
SOURCE = np.random.default_rng(0)
BATCH = FIELD.residues(SOURCE.integers(0, 256, (2, 50)))
WEIGHTS = FIELD.residues(SOURCE.integers(-8, 8, (50, 3)))
LARGEST = FIELD.largest_product(BATCH, WEIGHTS)
POINTS = (1, 2, 3, 4, 5, 6)


@pytest.mark.verifies("darknight-CLAIM-DECODING", "darknight-REQ-RESULTS-01", "darknight-REQ-POINTS-01")
def test_results_of_any_processors_decode_to_those_of_the_batch() -> None:
    code = CodedBatch(FIELD, inputs=2, noise=2, points=POINTS)
    shares = code.encode(BATCH, KeyStream(bytes(32), FIELD), LARGEST)
    results = FIELD.multiply(shares, WEIGHTS)
    for chosen in combinations(range(6), 4):
        found = code.decode(results[list(chosen)], chosen)
        assert (found == FIELD.multiply(BATCH, WEIGHTS)).all()


@pytest.mark.verifies(
    "darknight-CLAIM-THRESHOLD",
    "darknight-CLAIM-CRITERION",
    "darknight-CLAIM-ONE-NOISE",
    "darknight-REQ-NOISE-01",
    "darknight-REQ-NOISE-02",
)
def test_as_many_as_there_is_noise_see_what_any_batch_may_give() -> None:
    """Noise is solved for that gives two processors the same view of another batch; three have no such noise."""
    code = CodedBatch(FIELD, inputs=2, noise=2, points=POINTS)
    shares = code.encode(BATCH, KeyStream(bytes(32), FIELD), LARGEST)
    other = FIELD.residues(np.full((2, 50), 7))
    for chosen in combinations(range(6), 2):
        rows = code.factors[list(chosen)]
        wanted = (shares[list(chosen)] - FIELD.multiply(rows[:, 2:], other)) % PRIME
        noise = FIELD.multiply(FIELD.inverse(rows[:, :2]), wanted)
        assert (FIELD.multiply(rows, np.concatenate([noise, other])) == shares[list(chosen)]).all()
        third = next(each for each in range(6) if each not in chosen)
        view = FIELD.multiply(code.factors[[third]], np.concatenate([noise, other]))
        assert (view != shares[[third]]).mean() > 0.99


def test_one_colluder_too_many_has_a_sum_of_the_batch() -> None:
    code = CodedBatch(FIELD, inputs=2, noise=1, points=POINTS)
    shares = code.encode(BATCH, KeyStream(bytes(32), FIELD), LARGEST)
    assert ((shares[1] - shares[0]) % PRIME == (1 * BATCH[0] + 3 * BATCH[1]) % PRIME).all()


@pytest.mark.parametrize(
    ("inputs", "noise", "points", "why"),
    [
        (0, 1, POINTS, "expected inputs and noise"),
        (1, 0, POINTS, "expected inputs and noise"),
        (1, 1, (1, 1), "two have one"),
        (1, 1, (1, PRIME + 1), "two have one"),
        (4, 3, POINTS, "expected 7 processors"),
    ],
)
def test_codes_that_are_none_are_refused(inputs: int, noise: int, points: tuple[int, ...], why: str) -> None:
    with pytest.raises(FieldError, match=why):
        CodedBatch(FIELD, inputs, noise, points)


def test_what_does_not_fit_is_refused() -> None:
    code = CodedBatch(FIELD, inputs=2, noise=1, points=POINTS)
    with pytest.raises(FieldError, match="expected a batch"):
        code.encode(BATCH[:1], KeyStream(bytes(32), FIELD), LARGEST)
    results = np.zeros((3, 4), dtype=np.int64)
    for processors in ((0, 1), (0, 0, 1), (0, 0, 1, 2)):
        with pytest.raises(FieldError, match="expected results of 3 processors, each named once"):
            code.decode(np.zeros((len(processors), 4), dtype=np.int64), processors)
    for processors in ((0, 1, 6), (-1, 1, 2), (5, -1, 2), (0, 1, 9)):
        with pytest.raises(FieldError, match="expected processors from 0 to 5"):
            code.decode(results, processors)
    with pytest.raises(FieldError, match="expected the shape"):
        code.decode(results, (0, 1, 2, 3))
    with pytest.raises(FieldError, match="expected residues"):
        code.decode(results - 1, (0, 1, 2))


@pytest.mark.parametrize("strange", [2**25 + 5, -1, PRIME])
def test_a_batch_of_anything_but_residues_is_refused_before_noise_is_drawn(strange: int) -> None:
    code, batch = CodedBatch(FIELD, inputs=2, noise=1, points=POINTS), BATCH.copy()
    batch[1, 7] = strange
    with pytest.raises(FieldError, match="expected residues"):
        code.encode(batch, never, LARGEST)


def test_results_that_may_wrap_round_are_refused_before_noise_is_drawn() -> None:
    code, batch, weights = CodedBatch(FIELD, 1, 1, POINTS), FIELD.residues([[3000]]), FIELD.residues([[3000]])
    with pytest.raises(FieldError, match="a result may be larger than 5,242,883: the field overflows"):
        code.encode(batch, never, FIELD.largest_product(batch, weights))
    shares = code.encode(batch, KeyStream(bytes(32), FIELD), FIELD.half)
    wrapped = code.decode(FIELD.multiply(shares, weights)[:2], (0, 1))
    assert FIELD.to_signed(wrapped).tolist() == [[-1_485_767]], "that is what the refusal is for"


def never(_shape: tuple[int, ...]) -> np.ndarray:
    raise AssertionError("nothing is to be drawn")
