"""What a split without its defence puts in the place of the Gaussian mechanism."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from carnet_ref.systems.asymml.split import Array


def unprotected(residual: Array) -> Array:
    """Let a residual leave as it is: it has *less information*, and that is no bound on what it tells."""
    return residual


@dataclass(frozen=True, slots=True)
class Unclipped:
    """Adds noise to a residual and bounds nothing, so that no noise hides every difference."""

    deviation: float
    source: np.random.Generator

    def __call__(self, residual: Array) -> Array:
        """Return the residual and noise."""
        return residual + self.source.normal(0.0, self.deviation, residual.shape)


@dataclass(frozen=True, slots=True)
class Unnoised:
    """Clips a residual, and adds nothing to it: a small picture shows what a large one does."""

    bound: float

    def __call__(self, residual: Array) -> Array:
        """Return the residual, scaled down to a norm of at most ``bound``."""
        return residual * min(1.0, self.bound / max(float(np.linalg.norm(residual)), self.bound))
