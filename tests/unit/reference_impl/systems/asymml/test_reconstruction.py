"""A residual alone is not private: it jumps, and pictures come back from it. Clipping and noise together stop that.

Each half of the defence is left out once, and pictures come back; these falls are expected, and stay.
"""

import functools

import numpy as np
import pytest

from carnet_ref.privacy import deviation_for
from carnet_ref.systems.asymml.network import Weights, pictures
from carnet_ref.systems.asymml.split import Array, GaussianMechanism, Mechanism, SplitError, split
from tests.fixtures.split_attacks import Reconstruction, Unclipped, Unnoised, reconstruct, unprotected

WEIGHTS, OWN, SECRETS = Weights.draw(1), pictures(60, 5)[0], pictures(6, 99)[0]
BOUND = 9.0


@functools.cache
def deviation() -> float:
    return deviation_for(8.0, 1e-5, 2 * BOUND)


def attack(mechanism: Mechanism, brightness: float = 1.0) -> Reconstruction:
    return reconstruct(SECRETS * brightness, OWN * brightness, WEIGHTS, 1, mechanism)


def test_pictures_come_back_from_bare_residuals() -> None:
    found = attack(unprotected)
    assert found.error < 0.35
    for guess, secret in zip(found.guesses, SECRETS, strict=True):
        assert np.corrcoef(guess.ravel(), secret.ravel())[0, 1] > 0.75


def test_pictures_come_back_where_residuals_are_clipped_and_not_noised() -> None:
    assert attack(Unnoised(BOUND)).error < 0.4


def test_bright_pictures_come_back_where_residuals_are_noised_and_not_clipped() -> None:
    def noise() -> Mechanism:
        return Unclipped(deviation(), np.random.default_rng(3))

    assert attack(noise()).error > 0.95
    assert attack(noise(), brightness=1e4).error < 0.35


@pytest.mark.verifies("asymml-REQ-CLIP-01", "asymml-REQ-NOISE-01")
@pytest.mark.parametrize("brightness", [1.0, 1e4])
def test_no_picture_comes_back_where_residuals_are_clipped_and_noised(brightness: float) -> None:
    assert attack(GaussianMechanism(BOUND, deviation(), np.random.default_rng(3)), brightness).error > 0.95


def test_the_decoder_is_fitted_without_the_secrets() -> None:
    alone = reconstruct(SECRETS[:1], OWN, WEIGHTS, 1, unprotected)
    assert alone.guesses[0] == pytest.approx(attack(unprotected).guesses[0], abs=1e-6)
    with pytest.raises(SplitError, match="finite picture"):
        reconstruct(SECRETS * np.nan, OWN, WEIGHTS, 1, unprotected)


def apart(one: Array, two: Array) -> float:
    return float(np.linalg.norm(one - two))


def test_the_residual_jumps_where_two_singular_values_meet() -> None:
    """So the distance of inputs bounds no distance of residuals, and clipping is what gives a sensitivity."""
    inputs = [np.diag([1 + tilt, 1.0]).reshape(2, 2, 1) for tilt in (5e-7, -5e-7)]
    residuals = [split(features, 1, unprotected).residual for features in inputs]
    assert apart(*inputs) == pytest.approx(1e-6)
    assert apart(*residuals) == pytest.approx(np.sqrt(2), rel=1e-6)


@pytest.mark.verifies("asymml-CLAIM-CLIPPED-SENSITIVITY", "asymml-CLAIM-WITHIN-TWICE")
def test_a_clipped_residual_can_move_by_its_whole_sensitivity() -> None:
    inputs = [np.diag([2.0, sign]).reshape(2, 2, 1) for sign in (1.0, -1.0)]
    one, two = (split(features, 1, Unnoised(0.25)).residual for features in inputs)
    counted = GaussianMechanism(0.25, 3.0, np.random.default_rng(1)).release
    assert apart(one, two) == pytest.approx(counted.sensitivity)
    assert counted.deviation == 3.0


def test_the_noise_is_as_large_as_it_is_counted_and_never_the_same() -> None:
    mechanism = GaussianMechanism(1.0, 3.0, np.random.default_rng(1))
    one, two = (mechanism(np.zeros((16, 32, 32))) for _ in range(2))
    assert one.std() == pytest.approx(3.0, rel=0.02)
    assert abs(np.corrcoef(one.ravel(), two.ravel())[0, 1]) < 0.03
