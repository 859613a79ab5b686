"""A small language model in NumPy, which predicts the next character from the few before it.

It has one hidden layer over one-hot characters, cross-entropy loss, and Adam. Model memory has weights and optimiser
state. The activations and gradients of the last batch would remain in memory if only the dataset buffer were scrubbed.

Source: Bengio et al., A Neural Probabilistic Language Model (2003); Kingma and Ba, Adam (2015).
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar, Final

import numpy as np
import numpy.typing as npt

from carnet_ref.training import TrainingResult
from carnet_ref.wire import MalformedError

Array = npt.NDArray[np.float32]

ALPHABET: Final = b"\0abcdefghijklmnopqrstuvwxyz .,'\n"
VOCABULARY: Final = len(ALPHABET)
#: The most updates of a model; a larger number in its header is malformed, and could overflow in the next round.
MOST_UPDATES: Final = 2**53
DECAYS: Final = (np.float32(0.9), np.float32(0.99))


@dataclass(frozen=True, slots=True)
class CharacterModel:
    """A trainer of character models.

    ``context`` characters predict the next through ``hidden`` units; each round makes ``steps`` updates on batches of
    ``batch`` positions drawn by a generator seeded with the number of updates made so far.
    """

    name: ClassVar[str] = "numpy"

    context: int = 6
    hidden: int = 32
    steps: int = 24
    batch: int = 32
    rate: float = 0.02
    seed: int = 2025

    def first_model(self) -> bytes:
        """Return small random weights and a fresh optimiser state."""
        source = np.random.default_rng(self.seed)
        weights = [source.normal(0, 0.1, size=shape).astype(np.float32) for shape in self._shapes]
        return self._pack(0, [*weights, *(np.zeros_like(each) for each in weights * 2)])

    def train(self, model: bytes, data: bytes) -> TrainingResult:
        """Return the model after ``steps`` more updates, and the mean loss over them.

        Raises MalformedError if ``model`` has the wrong length for this trainer, or too many updates.
        """
        updates, arrays = self.unpack(model)
        weights, means, squares = arrays[:4], arrays[4:8], arrays[8:]
        losses: list[float] = []
        residue = b""
        for window in batches(data, self.context, self.steps, self.batch, [self.seed, updates]):
            inputs, targets = window[:, :-1], window[:, -1]
            loss, hidden, gradients = _backward(weights, inputs, targets)
            updates += 1
            _adam(weights, means, squares, gradients, updates, self.rate)
            losses.append(loss)
            residue = inputs.astype(np.uint8).tobytes() + hidden.tobytes() + gradients[0].tobytes()
        mean = float(np.mean(losses)) if losses else 0.0
        return TrainingResult(self._pack(updates, arrays), mean, residue)

    def unpack(self, model: bytes) -> tuple[int, list[Array]]:
        """Return the number of updates, and weights, first and second moments, of four arrays each.

        Raises MalformedError if ``model`` has the wrong length for this trainer, or too many updates.
        """
        shapes = self._shapes * 3
        sizes = [int(np.prod(shape)) for shape in shapes]
        if len(model) != 8 + 4 * sum(sizes):
            raise MalformedError("character model", f"{8 + 4 * sum(sizes)} bytes", f"{len(model)}")
        parts = np.split(np.frombuffer(model, np.float32, offset=8).copy(), np.cumsum(sizes)[:-1])
        arrays = [part.reshape(shape) for part, shape in zip(parts, shapes, strict=True)]
        return updates_of(model), arrays

    @property
    def _shapes(self) -> tuple[tuple[int, ...], ...]:
        width = self.context * VOCABULARY
        return ((width, self.hidden), (self.hidden,), (self.hidden, VOCABULARY), (VOCABULARY,))

    def _pack(self, updates: int, arrays: list[Array]) -> bytes:
        return updates.to_bytes(8, "little") + b"".join(each.tobytes() for each in arrays)


def updates_of(model: bytes) -> int:
    """Return the number of updates in the header of a model. Raises MalformedError if it is above `MOST_UPDATES`."""
    updates = int.from_bytes(model[:8], "little")
    if updates > MOST_UPDATES:
        raise MalformedError("model", f"at most {MOST_UPDATES:,} updates", f"{updates:,}")
    return updates


def batches(data: bytes, context: int, steps: int, batch: int, seed: list[int]) -> Iterator[npt.NDArray[np.int64]]:
    """Yield random batches of sequences, each a context and the next character; none if the text is too short."""
    text = characters(data)
    if len(text) <= context:
        return
    source = np.random.default_rng(seed)
    for _ in range(steps):
        at = source.integers(0, len(text) - context, size=batch)
        yield text[at[:, None] + np.arange(context + 1)]


def characters(data: bytes) -> npt.NDArray[np.int64]:
    """Return the numbers of the characters of a text; a character that is not in the alphabet has number 0."""
    table = np.zeros(256, np.int64)
    for index, character in enumerate(ALPHABET):
        table[character] = index
        table[ord(chr(character).upper())] = index
    return table[np.frombuffer(data, np.uint8)]


def _backward(
    weights: list[Array], inputs: npt.NDArray[np.int64], targets: npt.NDArray[np.int64]
) -> tuple[float, Array, list[Array]]:
    first, first_bias, second, second_bias = weights
    rows = np.arange(len(inputs))
    one_hot = np.zeros((len(inputs), first.shape[0]), np.float32)
    for position in range(inputs.shape[1]):
        one_hot[rows, position * VOCABULARY + inputs[:, position]] = 1
    hidden = np.tanh(one_hot @ first + first_bias)
    scores = hidden @ second + second_bias
    likely = np.exp(scores - scores.max(axis=1, keepdims=True))
    likely /= likely.sum(axis=1, keepdims=True)
    loss = float(-np.log(likely[rows, targets] + 1e-9).mean())
    likely[rows, targets] -= 1
    likely /= len(inputs)
    back = (likely @ second.T) * (1 - hidden**2)
    return loss, hidden, [one_hot.T @ back, back.sum(axis=0), hidden.T @ likely, likely.sum(axis=0)]


def _adam(
    weights: list[Array], means: list[Array], squares: list[Array], gradients: list[Array], updates: int, rate: float
) -> None:
    slow, slower = DECAYS
    size = np.float32(rate * np.sqrt(1 - slower**updates) / (1 - slow**updates))
    for weight, mean, square, gradient in zip(weights, means, squares, gradients, strict=True):
        np.add(mean, (1 - slow) * (gradient - mean), out=mean)
        np.add(square, (1 - slower) * (gradient**2 - square), out=square)
        weight[...] -= size * mean / (np.sqrt(square) + np.float32(1e-8))
