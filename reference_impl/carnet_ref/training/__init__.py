"""Training as a plug-in: what turns a model and a dataset into the next model."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar, Protocol


@dataclass(frozen=True, slots=True)
class Outcome:
    """What one round of training leaves: the next model, the mean loss, and what was derived from data on the way."""

    model: bytes = field(repr=False)
    loss: float
    residue: bytes = field(repr=False)


class Trainer(Protocol):
    """Trains one model on one dataset at a time; deterministic, so that a repeated round ends the same."""

    name: ClassVar[str]
    """What the trainer is called where it is chosen."""

    @property
    def hidden(self) -> int:
        """Units of the hidden layer, which the size of the model grows with; 0 where there is none."""
        ...

    def first_model(self) -> bytes:
        """Return the model before any training, optimiser state included."""
        ...

    def train(self, model: bytes, data: bytes) -> Outcome:
        """Return what comes of training ``model`` on ``data``.

        Raises:
            MalformedError: ``model`` is no model of this trainer.
        """
        ...
