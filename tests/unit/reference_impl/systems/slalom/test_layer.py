"""Blinded layers: exact, checked, each mask once; and what a processor makes of it where a defence is missing."""

from typing import Any

import numpy as np
import pytest

from carnet_ref.field import PRIME, Draw, Field, FieldError, Freivalds, KeyStream, Residues, WrongProductError
from carnet_ref.systems.slalom.layer import BlindedLayer, MasksUsedUpError, honest
from tests.fixtures.coding_attacks import (
    difference,
    kernel_error,
    keyed_with_zeros,
    middle,
    narrow,
    ones,
    reused,
    unmasked,
)

FIELD = Field()
SECRET = bytes(range(32))
SOURCE = np.random.default_rng(0)
WEIGHTS = SOURCE.integers(-128, 128, (6, 40))
VALUES = SOURCE.integers(0, 256, (40, 5))
WANTED = WEIGHTS @ VALUES


def layer(draw: Draw | None = None, check: Draw | None = None, weights: Any = WEIGHTS) -> BlindedLayer:
    vectors = check or KeyStream(bytes(31) + b"\2", FIELD)
    return BlindedLayer(FIELD, weights, draw or KeyStream(SECRET, FIELD), Freivalds(FIELD, vectors, 2))


class Watching:
    """A processor that computes what it is asked, and keeps what it sees."""

    def __init__(self) -> None:
        self.seen: list[Residues] = []

    def __call__(self, weights: Residues, blinded: Residues) -> Residues:
        self.seen.append(blinded)
        return FIELD.multiply(weights, blinded)


@pytest.mark.verifies(
    "slalom-CLAIM-UNBLINDING-EXACT", "slalom-CLAIM-UNBLINDED", "slalom-REQ-FACTOR-01", "slalom-REQ-FIELD-03"
)
def test_results_are_exact() -> None:
    found = layer()
    found.prepare(batch=5, times=3)
    for _ in range(3):
        assert (found.apply(VALUES, honest(FIELD)) == WANTED).all()


@pytest.mark.verifies("slalom-REQ-MASK-02", "slalom-CLAIM-REUSE-LEAKS", "slalom-CLAIM-SAME-DIFFERENCE")
def test_a_mask_is_used_once() -> None:
    found, watching = layer(), Watching()
    found.prepare(batch=5, times=2)
    found.apply(VALUES, watching)
    found.apply(VALUES, watching)
    assert (watching.seen[0] != watching.seen[1]).mean() > 0.99
    with pytest.raises(MasksUsedUpError, match="every mask was used"):
        found.apply(VALUES, watching)
    assert len(watching.seen) == 2


@pytest.mark.verifies("slalom-REQ-FIELD-01")
@pytest.mark.parametrize("scale", [PRIME // 2 // (40 * 128) + 1, 10**5])
def test_what_may_overflow_is_refused_before_anything_is_sent(scale: int) -> None:
    found, watching = layer(weights=np.full((1, 40), 128)), Watching()
    found.prepare(batch=5)
    with pytest.raises(FieldError, match="the field overflows"):
        found.apply(np.full((40, 5), scale), watching)
    assert watching.seen == []
    assert (found.apply(np.full((40, 5), scale // 100), watching) == 40 * 128 * (scale // 100)).all()


@pytest.mark.parametrize("values", [np.ones((39, 5)), np.ones(40), np.full((40, 5), 0.5), np.full((40, 5), np.inf)])
def test_values_of_another_shape_or_kind_are_refused(values: Any) -> None:
    found, watching = layer(), Watching()
    found.prepare(batch=5)
    with pytest.raises(FieldError):
        found.apply(values, watching)
    assert watching.seen == []
    found.apply(VALUES, watching)


def test_a_mask_for_another_batch_is_kept() -> None:
    found = layer()
    found.prepare(batch=4)
    with pytest.raises(FieldError, match=r"the next mask is for \(40, 4\)"):
        found.apply(VALUES, honest(FIELD))
    assert (found.apply(VALUES[:, :4], honest(FIELD)) == WANTED[:, :4]).all()


@pytest.mark.parametrize("weights", [np.ones(3), np.zeros((0, 3)), [[0.5]], [[float("nan")]], [[PRIME]]])
def test_weights_that_are_none_are_refused(weights: Any) -> None:
    with pytest.raises(FieldError):
        layer(weights=weights)


@pytest.mark.verifies("slalom-REQ-CHECK-01", "slalom-CLAIM-ONE-PASSING-ENTRY", "slalom-CLAIM-FREIVALDS-BOUND")
@pytest.mark.parametrize("error", [kernel_error((6, 5), 1000), np.eye(6, 5, dtype=np.int64)], ids=["sums-to-0", "one"])
def test_a_wrong_result_is_refused(error: Residues) -> None:
    found = layer()
    found.prepare(batch=5)
    with pytest.raises(WrongProductError):
        found.apply(VALUES, lambda weights, blinded: (FIELD.multiply(weights, blinded) + error) % PRIME)


@pytest.mark.verifies("slalom-REQ-CHECK-01", "slalom-CLAIM-FREIVALDS-BOUND")
def test_a_processor_that_writes_over_what_it_was_sent_changes_nothing_in_the_enclave() -> None:
    found = layer()
    found.prepare(batch=5, times=2)

    def zeros(weights: Residues, blinded: Residues) -> Residues:
        weights[:], blinded[:] = 0, 0
        return np.zeros((weights.shape[0], blinded.shape[1]), dtype=np.int64)

    with pytest.raises(WrongProductError):
        found.apply(VALUES, zeros)
    assert (found.apply(VALUES, honest(FIELD)) == WANTED).all()


@pytest.mark.parametrize("answer", [[[1], [2, 3]], None, "x", [[None]]])
def test_an_answer_that_is_no_matrix_is_refused(answer: object) -> None:
    found = layer()
    found.prepare(batch=5)
    with pytest.raises(FieldError):
        found.apply(VALUES, lambda *_: answer)


def test_a_check_in_another_field_is_refused() -> None:
    small = Field(3)
    with pytest.raises(FieldError, match="expected a check in the field of 10,485,767, and it is in 3"):
        BlindedLayer(FIELD, WEIGHTS, KeyStream(SECRET, FIELD), Freivalds(small, KeyStream(SECRET, small)))


def test_an_error_that_a_known_vector_does_not_see_passes() -> None:
    """A vector of ones, as for pointwise convolutions in the authors' code."""
    found, error = layer(check=ones), kernel_error((6, 5), 1000)
    found.prepare(batch=5)
    wrong = found.apply(VALUES, lambda weights, blinded: (FIELD.multiply(weights, blinded) + error) % PRIME)
    assert (wrong - WANTED == error).all()


# -- what a processor makes of it ----------------------------------------------------------------------------


def seen(draw: Draw, *batches: np.ndarray) -> list[Residues]:
    found, watching = layer(draw), Watching()
    for batch in batches:
        found.prepare(batch.shape[1])
        found.apply(batch, watching)
    return watching.seen


@pytest.mark.verifies("slalom-REQ-MASK-02")
def test_one_mask_for_two_values_gives_their_difference() -> None:
    other = VALUES[:, ::-1]
    first, second = seen(reused(KeyStream(SECRET, FIELD)), VALUES, other)
    assert (difference(FIELD, first, second) == VALUES - other).all()
    first, second = seen(KeyStream(SECRET, FIELD), VALUES, other)
    assert (difference(FIELD, first, second) != VALUES - other).mean() > 0.99


@pytest.mark.verifies(
    "slalom-REQ-MASK-01", "slalom-CLAIM-ONE-MASK", "slalom-CLAIM-SOME-MASK", "slalom-CLAIM-BLINDING-HIDES"
)
def test_a_generator_that_is_known_gives_the_values() -> None:
    (blinded,) = seen(keyed_with_zeros(FIELD), VALUES)
    assert (unmasked(FIELD, blinded, keyed_with_zeros(FIELD)) == VALUES).all()
    (blinded,) = seen(KeyStream(SECRET, FIELD), VALUES)
    assert (unmasked(FIELD, blinded, keyed_with_zeros(FIELD)) != VALUES).mean() > 0.99


@pytest.mark.verifies("slalom-REQ-MASK-01")
def test_masks_of_fewer_bits_than_the_field_give_the_values_in_time() -> None:
    """Values of 16 bits; the middle of 2,000 views is off by some 2^23 / 2,000, and by more with masks of the field."""
    values = VALUES * 200
    source = np.random.default_rng(1)
    draws: dict[str, Draw] = {"narrow": narrow(source, FIELD), "whole": KeyStream(SECRET, FIELD)}
    residues = FIELD.residues(values)
    off = {
        name: np.abs(middle(FIELD, [(residues + draw(values.shape)) % PRIME for _ in range(2000)]) - values).mean()
        for name, draw in draws.items()
    }
    assert off["narrow"] < 4000
    assert off["whole"] > 20_000
