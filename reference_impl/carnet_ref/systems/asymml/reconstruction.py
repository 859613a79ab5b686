"""What the GPU makes of residuals: pictures, by a linear decoder that it fits on pictures of its own.

The attacker knows the kernels and the mechanism, and has pictures of the same kind, but not those it looks for. For
each pixel it regresses on the residuals of all channels around it (ridge regression); nothing is tuned to the secrets.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from carnet_ref.systems.asymml.network import Weights, features_of
from carnet_ref.systems.asymml.split import Array, Mechanism, split

PENALTY = 1e-3


@dataclass(frozen=True, slots=True)
class Reconstruction:
    """Pictures (count, 16, 16), what was made of their residuals, and the error.

    ``error`` is the squared error as a share of that of the best guess without any residual, the attacker's mean
    picture: 0 is perfect, 1 is as good as no residual at all.
    """

    secrets: Array
    guesses: Array
    error: float


def reconstruct(secrets: Array, own: Array, weights: Weights, rank: int, mechanism: Mechanism) -> Reconstruction:
    """Return what a decoder that is fitted on ``own`` pictures makes of the residuals of ``secrets``.

    Raises SplitError if one of them is no picture.
    """
    mean = own.mean(axis=0)
    rows = np.concatenate([_neighbourhoods(picture, weights, rank, mechanism) for picture in own])
    scale = rows.std(axis=0) + 1e-12
    rows = np.hstack([rows / scale, np.ones((len(rows), 1))])
    normal = rows.T @ rows + PENALTY * len(rows) * np.eye(rows.shape[1])
    decoder = np.linalg.solve(normal, rows.T @ (own - mean).reshape(-1))
    seen = np.stack([_neighbourhoods(picture, weights, rank, mechanism) for picture in secrets])
    guesses = mean + (seen / scale @ decoder[:-1] + decoder[-1]).reshape(secrets.shape)
    error = np.square(guesses - secrets).sum() / np.square(mean - secrets).sum()
    return Reconstruction(secrets, guesses, float(error))


def _neighbourhoods(picture: Array, weights: Weights, rank: int, mechanism: Mechanism) -> Array:
    """Return a row for each pixel: the residuals of all channels in the 3 × 3 pixels around it."""
    residual = split(features_of(picture, weights), rank, mechanism).residual
    padded = np.pad(residual, ((0, 0), (1, 1), (1, 1)))
    windows = np.lib.stride_tricks.sliding_window_view(padded, (3, 3), axis=(1, 2))
    return windows.transpose(1, 2, 0, 3, 4).reshape(picture.size, -1)
