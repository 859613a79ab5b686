"""The split adds up to what one machine computes, forward and backward; bad input is refused before anything leaves."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from carnet_ref.privacy import clip
from carnet_ref.systems.asymml.network import (
    SHAPES,
    Weights,
    backward,
    features_of,
    forward,
    image_accountant,
    pictures,
)
from carnet_ref.systems.asymml.split import (
    Array,
    GaussianMechanism,
    Gpu,
    SplitConvolution,
    SplitError,
    channel_entropy,
    convolve,
    input_gradient,
    multiplications,
    split,
    weight_gradient,
)
from tests.fixtures.split_attacks import unprotected

#: The largest difference that the order of sums may make, as a share of the largest number of the result.
EXACT = 2.0**-40
WEIGHTS = Weights.draw(1)


def drawn(seed: int, *shape: int) -> Array:
    return np.random.default_rng(seed).normal(size=shape)


def same(one: Array, two: Array) -> bool:
    return bool(np.abs(one - two).max() <= EXACT * max(np.abs(one).max(), np.abs(two).max(), 1e-300))


def noisy(seed: int = 0, bound: float = 2.0, deviation: float = 3.0) -> GaussianMechanism:
    return GaussianMechanism(bound, deviation, np.random.default_rng(seed))


SIZES = st.tuples(st.integers(1, 6), st.integers(1, 6), st.integers(1, 7), st.integers(1, 7), st.integers(0, 2**32))


@pytest.mark.verifies("asymml-CLAIM-RECOMBINATION", "asymml-CLAIM-RECOMBINED", "asymml-REQ-SPLIT-01")
@given(SIZES, st.sampled_from([unprotected, noisy()]), st.data())
def test_parts_add_up_to_what_one_machine_computes(
    sizes: tuple[int, ...], mechanism: Callable[[Array], Array], data: st.DataObject
) -> None:
    channels, outputs, height, width, seed = sizes
    rank = data.draw(st.integers(1, min(channels, outputs, height * width)))
    features, kernels = drawn(seed, channels, height, width), drawn(seed + 1, outputs, channels, 3, 3)
    layer = SplitConvolution(rank, mechanism, unprotected, Gpu())
    output, parts = layer.forward(features, kernels)
    assert same(output, convolve(parts.total, kernels))
    gradient = drawn(seed + 2, outputs, height, width)
    on_features, on_kernels = layer.backward(parts, gradient, kernels)
    assert same(on_features, input_gradient(gradient, kernels))
    assert same(on_kernels, weight_gradient(parts.total, gradient))
    if mechanism is unprotected:
        assert same(parts.total, features)


def test_a_noised_gradient_is_split_into_parts_that_add_up_too() -> None:
    kernels, gpu = drawn(1, 5, 4, 3, 3), Gpu()
    layer = SplitConvolution(2, noisy(1), noisy(2), gpu)
    _, parts = layer.forward(drawn(2, 4, 6, 6), kernels)
    gradient = drawn(3, 5, 6, 6)
    on_features, on_kernels = layer.backward(parts, gradient, kernels)
    there = split(gradient, 2, noisy(2))
    assert not same(there.total, gradient)
    assert same(on_features, input_gradient(there.total, kernels))
    assert same(on_kernels, weight_gradient(parts.total, there.total))
    assert [seen.tolist() for seen in gpu.seen] == [parts.residual.tolist(), there.residual.tolist()]


def test_the_products_are_those_of_a_convolution() -> None:
    features, kernels, gradient = drawn(1, 2, 4, 5), drawn(2, 3, 2, 3, 3), drawn(3, 3, 4, 5)
    padded = np.pad(features, ((0, 0), (1, 1), (1, 1)))
    by_hand = [
        [[(padded[:, y : y + 3, x : x + 3] * kernel).sum() for x in range(5)] for y in range(4)] for kernel in kernels
    ]
    assert same(convolve(features, kernels), np.array(by_hand))
    whole = (gradient * convolve(features, kernels)).sum()  # linear in each, so both gradients give it back
    assert (input_gradient(gradient, kernels) * features).sum() == pytest.approx(whole)
    assert (weight_gradient(features, gradient) * kernels).sum() == pytest.approx(whole)


def test_the_network_s_gradients_are_the_slopes_of_its_loss() -> None:
    layers = [SplitConvolution(1, unprotected, unprotected, Gpu())] * 2
    picture, label = pictures(1, 3)[0][0], int(pictures(1, 3)[1][0])

    def loss(weights: Weights) -> float:
        return float(-np.log(forward(picture, weights, layers).likely[label]))

    found = backward(forward(picture, WEIGHTS, layers), label, WEIGHTS, layers)
    step = 1e-6
    along = WEIGHTS.minus(-step, found), WEIGHTS.minus(step, found)
    slope = (loss(along[0]) - loss(along[1])) / (2 * step)
    parts = (found.first, *found.inner, found.last)
    assert all(np.any(each) for each in parts)
    assert slope == pytest.approx(sum(np.square(each).sum() for each in parts), rel=1e-4)


def test_it_learns_with_the_split() -> None:
    layers, weights = [SplitConvolution(1, unprotected, unprotected, Gpu())] * 2, Weights.draw(1)
    seen, labels = pictures(24, 5)

    def right(weights: Weights) -> int:
        return sum(
            int(forward(picture, weights, layers).likely.argmax()) == label
            for picture, label in zip(seen, labels, strict=True)
        )

    before = right(weights)
    for _ in range(6):
        for picture, label in zip(seen, labels, strict=True):
            weights = weights.minus(0.02, backward(forward(picture, weights, layers), int(label), weights, layers))
    assert before < len(seen) // 2 < right(weights)


@pytest.mark.verifies("asymml-REQ-COUNT-01", "asymml-CLAIM-COMPOSED-RELEASES")
def test_nothing_leaves_but_residuals_that_went_through_the_mechanism() -> None:
    gpu, left = Gpu(), []

    def mechanism(residual: Array) -> Array:
        left.append(clip(residual, 0.5))
        return left[-1]

    layers = [SplitConvolution(1, mechanism, mechanism, gpu)] * 2
    passed = forward(pictures(1, 3)[0][0], WEIGHTS, layers)
    backward(passed, 0, WEIGHTS, layers)
    assert len(gpu.seen) == len(left) == 4
    assert all(one is other for one, other in zip(gpu.seen, left, strict=True))
    accountant = image_accountant(noisy().release, noisy(bound=1.0).release, steps=3)
    assert accountant.squared_mu == 3 * 2 * (noisy().release.squared_mu + noisy(bound=1.0).release.squared_mu)


def test_the_residual_is_what_the_rank_leaves() -> None:
    features = features_of(pictures(1, 4)[0][0], WEIGHTS)
    strengths = np.linalg.svd(features.reshape(16, -1), compute_uv=False)
    for rank in (1, 5, 16):
        parts = split(features, rank, unprotected)
        assert np.square(parts.residual).sum() == pytest.approx(np.square(strengths[rank:]).sum(), abs=1e-12)
        assert same(parts.basis.T @ parts.basis, np.eye(rank))


def test_the_entropy_counts_principal_channels() -> None:
    assert channel_entropy(np.ones((8, 3, 3))) == pytest.approx(0.0, abs=1e-12)
    assert channel_entropy(np.eye(9)[:4].reshape(4, 3, 3)) == pytest.approx(2.0)
    features = features_of(pictures(1, 4)[0][0], WEIGHTS)
    assert 0 < channel_entropy(features) < channel_entropy(drawn(1, 16, 16, 16)) < 4


def test_the_tee_s_share_of_the_work_is_the_rank_s() -> None:
    work = multiplications(channels=64, outputs=64, pixels=1024, rank=4)
    assert work["GPU"] == work["whole"]
    assert work["TEE"] / work["whole"] == pytest.approx(1 / 16, rel=0.07), "and 1/16 of the merged kernels beside it"


def _layer(gpu: Gpu, rank: int = 1) -> SplitConvolution:
    return SplitConvolution(rank, noisy(), noisy(), gpu)


GOOD, KERNELS = np.ones((4, 3, 3)), np.ones((2, 4, 3, 3))
REFUSED: dict[str, tuple[Callable[[Gpu], object], str]] = {
    "rank 0": (lambda gpu: _layer(gpu, 0).forward(GOOD, KERNELS), "a rank from 1 to 4"),
    "a rank above the channels": (lambda gpu: _layer(gpu, 5).forward(GOOD, KERNELS), "a rank from 1 to 4"),
    "a rank above the pixels": (lambda gpu: _layer(gpu, 2).forward(np.ones((4, 1, 1)), KERNELS), "a rank from 1 to 1"),
    "no channels": (lambda gpu: _layer(gpu).forward(np.ones((0, 3, 3)), KERNELS), "channels, height and width"),
    "a flat array": (lambda gpu: _layer(gpu).forward(np.ones((4, 9)), KERNELS), "channels, height and width"),
    "features without a number": (lambda gpu: _layer(gpu).forward(GOOD * np.nan, KERNELS), "finite features"),
    "infinite features": (lambda gpu: _layer(gpu).forward(GOOD * np.inf, KERNELS), "finite features"),
    "kernels of other channels": (lambda gpu: _layer(gpu).forward(GOOD, KERNELS[:, :3]), "kernels of 4 channels"),
    "larger kernels": (lambda gpu: _layer(gpu).forward(GOOD, np.ones((2, 4, 5, 5))), "kernels of 4 channels"),
    "infinite kernels": (lambda gpu: _layer(gpu).forward(GOOD, KERNELS * np.inf), "finite kernels"),
    "a gradient of other channels": (
        lambda gpu: _layer(gpu).backward(split(GOOD, 1, unprotected), GOOD, KERNELS),
        "the gradient of 2 channels",
    ),
    "an infinite gradient": (
        lambda gpu: _layer(gpu).backward(split(GOOD, 1, unprotected), GOOD[:2] * np.inf, KERNELS),
        "finite features",
    ),
    "kernels of other channels on the way back": (
        lambda gpu: _layer(gpu).backward(split(GOOD, 1, unprotected), GOOD[:2], np.ones((2, 7, 3, 3))),
        "kernels of 4 channels",
    ),
    "kernels without a number on the way back": (
        lambda gpu: _layer(gpu).backward(split(GOOD, 1, unprotected), GOOD[:2], KERNELS * np.nan),
        "finite kernels",
    ),
    "a picture of another size": (
        lambda gpu: forward(np.ones((8, 8)), WEIGHTS, [_layer(gpu)] * 2),
        "picture of 16 × 16",
    ),
    "a picture without a number": (
        lambda gpu: forward(np.full((16, 16), np.nan), WEIGHTS, [_layer(gpu)] * 2),
        "finite picture",
    ),
    "the entropy of nothing": (lambda _: channel_entropy(np.zeros((2, 3, 3))), "not all 0"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_bad_input_gets_one_error_and_nothing_leaves(case: str) -> None:
    call, message = REFUSED[case]
    gpu = Gpu()
    with pytest.raises(SplitError, match=message):
        call(gpu)
    assert gpu.seen == []


def test_pictures_repeat_and_are_of_every_shape() -> None:
    seen, labels = pictures(40, 6)
    assert np.array_equal(seen, pictures(40, 6)[0])
    assert {*labels.tolist()} == {*range(len(SHAPES))}
