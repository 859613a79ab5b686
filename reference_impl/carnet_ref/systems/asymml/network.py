"""A small convolutional network with split inner convolutions, and synthetic pictures to train it on.

The first convolution sees the picture, the last layer is small: both are whole in the TEE, as are ReLU and pooling. Two
inner convolutions are split, and see the same image forward and backward. The GPU holds their kernels.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from carnet_ref.marks import enforces
from carnet_ref.privacy import GaussianAccountant, Release
from carnet_ref.systems.asymml.split import (
    KERNEL,
    Array,
    Split,
    SplitConvolution,
    SplitError,
    convolve,
    weight_gradient,
)

SHAPES = ("disc", "frame", "cross", "stripes")
SIDE = 16  #: Height and width of a picture.
CHANNELS = 16
SPLIT_LAYERS = 2


def pictures(count: int, seed: int) -> tuple[Array, npt.NDArray[np.int64]]:
    """Return pictures (count, 16, 16) of one shape each at a random place and size, and the labels of the shapes."""
    source = np.random.default_rng(seed)
    labels = source.integers(0, len(SHAPES), count)
    return np.stack([_picture(int(label), source) for label in labels]), labels


def _picture(label: int, source: np.random.Generator) -> Array:
    """Return a shape of some brightness, with a little noise everywhere."""
    middle, radius = source.uniform(5.5, 9.5, 2), source.uniform(3.0, 5.0)
    down, right = np.abs(np.mgrid[:SIDE, :SIDE] - middle[:, None, None])
    far = np.maximum(down, right)
    inside = [
        np.hypot(down, right) <= radius,
        (far <= radius) & (far > radius - 1.5),
        (np.minimum(down, right) <= 1) & (far <= radius),
        (far <= radius) & (np.mgrid[:SIDE, :SIDE][0] % 3 == 0),
    ][label]
    picture: Array = inside * source.uniform(0.7, 1.0) + source.normal(0, 0.03, (SIDE, SIDE))
    return picture


@dataclass(frozen=True, slots=True)
class Weights:
    """Kernels of the first, second and third convolution, and the last layer (4, 16 · 4 · 4)."""

    first: Array
    inner: tuple[Array, Array]
    last: Array

    @classmethod
    def draw(cls, seed: int) -> Weights:
        """Return small random weights."""
        source = np.random.default_rng(seed)

        def kernels(channels: int) -> Array:
            shape = (CHANNELS, channels, KERNEL, KERNEL)
            return source.normal(0, np.sqrt(2 / (channels * KERNEL**2)), shape)

        last = source.normal(0, 0.05, (len(SHAPES), CHANNELS * (SIDE // 4) ** 2))
        return cls(kernels(1), (kernels(CHANNELS), kernels(CHANNELS)), last)

    def minus(self, rate: float, gradients: Weights) -> Weights:
        """Return the weights after one gradient step with learning rate ``rate``."""
        inner = [mine - rate * theirs for mine, theirs in zip(self.inner, gradients.inner, strict=True)]
        first, last = self.first - rate * gradients.first, self.last - rate * gradients.last
        return replace(self, first=first, inner=(inner[0], inner[1]), last=last)


@dataclass(frozen=True, slots=True)
class Passed:
    """The intermediate values of the forward pass that the backward pass needs."""

    picture: Array
    before: tuple[Array, Array, Array]
    parts: tuple[Split, Split]
    flat: Array
    likely: Array


def features_of(picture: Array, weights: Weights) -> Array:
    """Return the input of the first split convolution, (16, 16, 16). Raises SplitError unless the picture is finite."""
    if picture.shape != (SIDE, SIDE) or not np.isfinite(picture).all():
        raise SplitError(f"expected a finite picture of {SIDE} × {SIDE}, not of shape {picture.shape}")
    features: Array = np.maximum(convolve(picture[None], weights.first), 0)
    return features


def forward(picture: Array, weights: Weights, layers: Sequence[SplitConvolution]) -> Passed:
    """Return the probability of each shape, with the values that the backward pass needs.

    Raises SplitError if it is no picture, or a layer cannot split what it is given.
    """
    features = features_of(picture, weights)
    one, parts_one = layers[0].forward(features, weights.inner[0])
    two, parts_two = layers[1].forward(_pooled(np.maximum(one, 0)), weights.inner[1])
    flat = _pooled(np.maximum(two, 0)).ravel()
    scores = weights.last @ flat
    likely = np.exp(scores - scores.max())
    return Passed(picture, (features, one, two), (parts_one, parts_two), flat, likely / likely.sum())


def backward(passed: Passed, label: int, weights: Weights, layers: Sequence[SplitConvolution]) -> Weights:
    """Return the gradients of the cross-entropy. Raises SplitError as `forward` does."""
    wrong = passed.likely - (np.arange(len(SHAPES)) == label)
    features, one, two = passed.before
    gradient = (wrong @ weights.last).reshape(CHANNELS, SIDE // 4, SIDE // 4)
    gradient = _spread(gradient) * (two > 0)
    gradient, on_second = layers[1].backward(passed.parts[1], gradient, weights.inner[1])
    gradient = _spread(gradient) * (one > 0)
    gradient, on_first = layers[0].backward(passed.parts[0], gradient, weights.inner[0])
    on_picture = weight_gradient(passed.picture[None], gradient * (features > 0))
    return Weights(on_picture, (on_first, on_second), np.outer(wrong, passed.flat))


@enforces("REQ-COUNT-01", "CLAIM-COMPOSED-RELEASES")
def image_accountant(forward_release: Release, backward_release: Release, steps: int) -> GaussianAccountant:
    """Return the accountant for an image used in ``steps`` steps: every release to the GPU, in both passes.

    It counts residuals only. Kernels that were updated by this image tell more, unless their update is itself clipped
    and noised, and counted.
    """
    there = GaussianAccountant().after(forward_release, steps * SPLIT_LAYERS)
    return there.after(backward_release, steps * SPLIT_LAYERS)


def _pooled(features: Array) -> Array:
    channels, height, width = features.shape
    pooled: Array = features.reshape(channels, height // 2, 2, width // 2, 2).mean(axis=(2, 4))
    return pooled


def _spread(gradient: Array) -> Array:
    return gradient.repeat(2, axis=1).repeat(2, axis=2) / 4
