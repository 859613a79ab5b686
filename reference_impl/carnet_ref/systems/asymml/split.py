"""The asymmetric split of a convolution: few principal channels in the TEE, a clipped and noised residual on the GPU.

Features X of N channels are split by a singular value decomposition over the channels. The TEE keeps the r principal
ones, X_low = U P. What leaves is R, the rest X − X_low after its release mechanism. From there on everybody computes on
X̃ = X_low + R, and the parts add up to what one machine computes on X̃, up to the rounding of sums that are taken in
another order. Without noise, and where nothing is clipped, X̃ is X.

A convolution is linear in X and in its weights, so

* forward, the TEE convolves r channels with merged kernels W U, and the GPU N channels of R;
* backward, the gradient of the output is split likewise, G̃ = V Q + S. The gradient of the weights is bilinear: the TEE
  computes every product in which U P or V Q takes part, the GPU that of R and S. Only R and S ever leave.

Channels come first in every array: features are (channels, height, width), kernels (outputs, channels, 3, 3).

Source: 3LegRace, PETS 2022 (arXiv 2110.01229), slides 6 to 12. The slides say nothing of the gradient that the GPU is
given; splitting it too is Carnet's choice.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final, TypeAlias

import numpy as np
import numpy.typing as npt

from carnet_ref.marks import enforces
from carnet_ref.privacy import Release, clip

Array: TypeAlias = npt.NDArray[np.float64]
Mechanism: TypeAlias = Callable[[Array], Array]  #: What a residual goes through before it leaves.
KERNEL: Final = 3  #: Height and width of a kernel; borders are filled with zeros, so that height and width stay.


class SplitError(ValueError):
    """Features, weights or a rank cannot be split; nothing was sent to the GPU."""


@dataclass(frozen=True, slots=True)
class GaussianMechanism:
    """Clips a residual to norm ``bound``, and adds Gaussian noise of standard deviation ``deviation``."""

    bound: float
    deviation: float
    source: np.random.Generator

    @enforces("REQ-CLIP-01", "REQ-NOISE-01")
    def __call__(self, residual: Array) -> Array:
        """Return what may leave."""
        return clip(residual, self.bound) + self.source.normal(0.0, self.release.deviation, residual.shape)

    @property
    @enforces("CLAIM-CLIPPED-SENSITIVITY", "CLAIM-WITHIN-TWICE")
    def release(self) -> Release:
        """The release for the accountant, per image; replacing a residual changes it by at most twice the bound."""
        return Release(2 * self.bound, self.deviation)


@dataclass(frozen=True, slots=True)
class Split:
    """Features in two parts."""

    basis: Array = field(repr=False)  #: U, (N, r); its columns are orthonormal.
    principal: Array = field(repr=False)  #: P, (r, height, width); it stays in the TEE with the basis.
    residual: Array = field(repr=False)  #: R, (N, height, width), as it leaves.

    @property
    def total(self) -> Array:
        """The sum X̃ of both parts."""
        return np.tensordot(self.basis, self.principal, axes=1) + self.residual


@enforces("REQ-SPLIT-01")
def split(features: Array, rank: int, mechanism: Mechanism) -> Split:
    """Split features, and apply the release mechanism to the residual.

    Raises SplitError if they are not channels of height and width, all finite, or the rank is not 1 to N.
    """
    require_features(features, rank)
    flat = features.reshape(len(features), -1)
    basis = np.linalg.svd(flat, full_matrices=False)[0][:, :rank]
    principal = basis.T @ flat
    residual = (flat - basis @ principal).reshape(features.shape)
    return Split(basis, principal.reshape(rank, *features.shape[1:]), mechanism(residual))


def require_features(features: Array, rank: int) -> None:
    """Raise SplitError unless the features can be split with this rank."""
    if features.ndim != 3 or 0 in features.shape:
        raise SplitError(f"expected features of channels, height and width, not of shape {features.shape}")
    most = min(len(features), features[0].size)
    if not 1 <= rank <= most:
        raise SplitError(f"expected a rank from 1 to {most} for features of shape {features.shape}, not {rank}")
    if not np.isfinite(features).all():
        raise SplitError("expected finite features, and one is infinite or not a number")


def require_kernels(kernels: Array, channels: int) -> None:
    """Raise SplitError unless the kernels are finite and of shape (outputs, channels, 3, 3)."""
    if kernels.shape[1:] != (channels, KERNEL, KERNEL) or not np.isfinite(kernels).all():
        raise SplitError(f"expected finite kernels of {channels} channels, not of shape {kernels.shape}")


def channel_entropy(features: Array) -> float:
    """Return the SVD-channel entropy in bits: −log2 Σ p², where p are the shares of the energy by singular value.

    2 to its power is how many principal channels the features have in effect: N if all are equally strong.

    Raises SplitError as `split` does, and if all features are 0.
    """
    require_features(features, 1)
    energies = np.linalg.svd(features.reshape(len(features), -1), compute_uv=False) ** 2
    if not energies.sum():
        raise SplitError("expected features that are not all 0")
    return float(-np.log2(np.square(energies / energies.sum()).sum()))


# -- the products that both sides compute -------------------------------------------------------------


def convolve(features: Array, kernels: Array) -> Array:
    """Return the convolution of (N, height, width) with (M, N, 3, 3), of shape (M, height, width)."""
    return np.tensordot(kernels, _windows(features), axes=((1, 2, 3), (0, 3, 4)))


def input_gradient(gradient: Array, kernels: Array) -> Array:
    """Return the gradient of the features, given the gradient of the output."""
    return convolve(gradient, kernels.transpose(1, 0, 2, 3)[:, :, ::-1, ::-1])


def weight_gradient(features: Array, gradient: Array) -> Array:
    """Return the gradient of the kernels, given the features and the gradient of the output."""
    return np.tensordot(gradient, _windows(features), axes=((1, 2), (1, 2)))


def _windows(features: Array) -> Array:
    padded = np.pad(features, ((0, 0), (1, 1), (1, 1)))
    return np.lib.stride_tricks.sliding_window_view(padded, (KERNEL, KERNEL), axis=(1, 2))


@dataclass(frozen=True, slots=True)
class Gpu:
    """The untrusted GPU, which computes on residuals; ``seen`` records everything that it received besides kernels."""

    seen: list[Array] = field(default_factory=list, repr=False)

    def convolve(self, residual: Array, kernels: Array) -> Array:
        """Return the convolution of the residual."""
        self.seen.append(residual)
        return convolve(residual, kernels)

    def gradients(self, residual: Array, gradient: Array, kernels: Array) -> tuple[Array, Array]:
        """Return the residuals' parts of the gradients of features and kernels."""
        self.seen.append(gradient)
        return input_gradient(gradient, kernels), weight_gradient(residual, gradient)


@dataclass(frozen=True, slots=True)
class SplitConvolution:
    """A convolution that is split between TEE and GPU.

    Raises SplitError from each method, before anything is given to the GPU.
    """

    rank: int  #: r, of the features forward and of the gradient backward.
    forward_mechanism: Mechanism  #: what the residual of features goes through.
    backward_mechanism: Mechanism  #: what the residual of the output's gradient goes through.
    gpu: Gpu  #: computes on what has left.

    @enforces("CLAIM-RECOMBINATION", "CLAIM-RECOMBINED")
    def forward(self, features: Array, kernels: Array) -> tuple[Array, Split]:
        """Return the output, and the split for the backward pass."""
        require_features(features, self.rank)
        require_kernels(kernels, len(features))
        parts = split(features, self.rank, self.forward_mechanism)
        merged = np.einsum("mnij,nr->mrij", kernels, parts.basis)
        return convolve(parts.principal, merged) + self.gpu.convolve(parts.residual, kernels), parts

    @enforces("CLAIM-RECOMBINATION")
    def backward(self, parts: Split, gradient: Array, kernels: Array) -> tuple[Array, Array]:
        """Return the gradients of features and kernels, given the gradient of the output."""
        require_features(gradient, self.rank)
        require_kernels(kernels, len(parts.residual))
        if gradient.shape != (len(kernels), *parts.residual.shape[1:]):
            raise SplitError(f"expected the gradient of {len(kernels)} channels, not of shape {gradient.shape}")
        there = split(gradient, self.rank, self.backward_mechanism)
        on_features, on_kernels = self.gpu.gradients(parts.residual, there.residual, kernels)
        merged = np.einsum("mnij,mr->rnij", kernels, there.basis)
        on_features = on_features + input_gradient(there.principal, merged)
        of_principal = np.einsum("mrij,nr->mnij", weight_gradient(parts.principal, there.total), parts.basis)
        of_residual = np.einsum("rnij,mr->mnij", weight_gradient(parts.residual, there.principal), there.basis)
        return on_features, on_kernels + of_principal + of_residual


def multiplications(channels: int, outputs: int, pixels: int, rank: int) -> dict[str, int]:
    """Return the number of multiplications in the forward pass: unsplit, in the TEE, and on the GPU.

    Those of the decomposition are not among them.
    """
    area = KERNEL * KERNEL * outputs
    whole = area * channels * pixels
    return {"whole": whole, "TEE": area * rank * (pixels + channels), "GPU": whole}
