"""Differentially private training: the update is clipped and noised before it leaves the GPU.

A party that has the model before and after a round knows the round's update. Here the update is a Gaussian release: its
norm is at most a bound C, and each weight gets noise. If the holder's data of the round is replaced by any other, the
clipped update changes by at most 2C. The optimiser state consists of gradients, so it never leaves the GPU: each round
begins with an empty state, and the resulting model has an empty one.

An update that is not finite is replaced by zero, so that no data can stop a round; only the noise is added. The noise
is derived from a secret key, its own size, the model and the data. So a round that is repeated, after a session was
lost, is the same release, and any other round has independent noise. Models of a trainer are eight bytes and three
equal parts: weights, and two running means of an optimiser.
"""

import hashlib
from dataclasses import dataclass, field
from typing import ClassVar, Final

import numpy as np

from carnet_ref.privacy import PrivacyParameterError, Release, Vector, clip
from carnet_ref.training import Trainer, TrainingResult
from carnet_ref.wire import MalformedError, join

#: The largest bound and deviation: larger weights are useless, and far larger ones overflow in single precision.
MOST: Final = 1e6
_HEAD: Final = 8
_PARTS: Final = 3
_BITS: Final = 53


@dataclass(frozen=True, slots=True)
class UpdateNoise:
    """A bound on the norm of a round's update, and the standard deviation of the noise on each weight.

    Raises PrivacyParameterError if one is above `MOST`, or the accountant can count no such release.
    """

    bound: float
    deviation: float

    def __post_init__(self) -> None:
        Release(2 * self.bound, self.deviation)
        if max(self.bound, self.deviation) > MOST:
            raise PrivacyParameterError(f"expected a bound and a standard deviation of at most {MOST:g}")

    @property
    def release(self) -> Release:
        """The release of each round for the accountant, where the holder's data may be replaced by any other."""
        return Release(2 * self.bound, self.deviation)


@dataclass(frozen=True, slots=True)
class PrivateTrainer:
    """Trains with another trainer, and adds its update to the weights, clipped and noised."""

    name: ClassVar[str] = "private"

    trainer: Trainer
    noise: UpdateNoise
    key: bytes = field(repr=False)

    @property
    def hidden(self) -> int:
        """Units of the hidden layer, 0 if there is none."""
        return self.trainer.hidden

    def first_model(self) -> bytes:
        """Return the model before any training."""
        return self.trainer.first_model()

    def train(self, model: bytes, data: bytes) -> TrainingResult:
        """Return the model with its noised update, and no optimiser state.

        An update that is not finite counts as zero. The loss, and the residue (what training left in memory), are those
        of the inner trainer, without noise.

        Raises MalformedError if ``model`` is no model of this trainer.
        """
        before = weights_of(model)
        with np.errstate(all="ignore"):  # whether NumPy warns depends on the data
            outcome = self.trainer.train(_with_weights(model[:_HEAD], before), data)
            update = weights_of(outcome.model) - before
        clipped = clip(update if np.isfinite(update).all() else np.zeros_like(update), self.noise.bound)
        secret = join(self.key, repr(self.noise).encode(), model, data)
        noise = gaussian(secret, len(before)) * self.noise.deviation
        noised = _with_weights(outcome.model[:_HEAD], before + clipped + noise)
        return TrainingResult(noised, outcome.loss, outcome.residue)


def attested_code(code: bytes, trainer: Trainer) -> bytes:
    """Return what an attestation of training states as its code: ``code``, and the noise of a private trainer."""
    return join(code, repr(trainer.noise).encode()) if isinstance(trainer, PrivateTrainer) else code


def weights_of(model: bytes) -> Vector:
    """Return the weights of a model. Raises MalformedError if it is not eight bytes and three equal parts."""
    size, rest = divmod(len(model) - _HEAD, 4 * _PARTS)
    if size < 1 or rest:
        raise MalformedError("model", "8 bytes and three equal parts of numbers", f"{len(model)} bytes")
    return np.frombuffer(model, np.float32, size, _HEAD).astype(np.float64)


def _with_weights(head: bytes, weights: Vector) -> bytes:
    return head + weights.astype(np.float32).tobytes() + bytes(4 * (_PARTS - 1) * len(weights))


def gaussian(secret: bytes, count: int) -> Vector:
    """Return ``count`` standard normal numbers derived from a secret (Box-Muller, from 53 bits of SHAKE-256 each)."""
    pairs = (count + 1) // 2
    drawn = np.frombuffer(hashlib.shake_256(secret).digest(16 * pairs), "<u8").reshape(2, pairs)
    uniform = ((drawn >> (64 - _BITS)) + 0.5) / 2.0**_BITS
    radius, angle = np.sqrt(-2 * np.log(uniform[0])), 2 * np.pi * uniform[1]
    return np.concatenate([radius * np.cos(angle), radius * np.sin(angle)])[:count]
