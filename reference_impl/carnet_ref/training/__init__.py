"""Training as a plug-in: trainers, which turn a model and a dataset into the next model, and texts to train on."""

import random
from dataclasses import dataclass, field
from typing import ClassVar, Final, Protocol

from carnet_command.errors import UsageError


@dataclass(frozen=True, slots=True)
class TrainingResult:
    """The result of one round of training: the next model, the mean loss, and intermediate data derived from inputs."""

    model: bytes = field(repr=False)
    loss: float
    residue: bytes = field(repr=False)


class Trainer(Protocol):
    """The interface of a trainer; it is deterministic, so that a repeated round has the same result."""

    name: ClassVar[str]  #: The name by which the trainer is chosen.

    @property
    def hidden(self) -> int:
        """The units of the hidden layer, which determine the size of the model; 0 if there is none."""
        ...

    def first_model(self) -> bytes:
        """Return the model before any training, optimiser state included."""
        ...

    def train(self, model: bytes, data: bytes) -> TrainingResult:
        """Train ``model`` on ``data`` and return the result.

        Raises MalformedError if ``model`` is no model of this trainer.
        """
        ...


TRAINERS: Final = ("numpy", "torch")


#: The most units of a hidden layer: the model is sent to the GPU in one message, of at most 1 MiB.
MOST_HIDDEN: Final = 256


def trainer_named(name: str, hidden: int | None = None) -> Trainer:
    """Return the trainer called ``name``, with ``hidden`` units in its hidden layer, if that is given.

    Raises UsageError if a library that it needs is not installed; LookupError if there is no trainer of that name.
    """
    if name == "numpy":
        from carnet_ref.training.characters import CharacterModel

        return CharacterModel() if hidden is None else CharacterModel(hidden=hidden)
    if name != "torch":
        raise LookupError(f"no trainer is called {name!r}")
    try:
        from carnet_ref.training.pytorch import TorchModel
    except ModuleNotFoundError as error:
        raise UsageError(f"the trainer 'torch' needs PyTorch ({error}): pip install 'carnet[train]'") from error
    return TorchModel() if hidden is None else TorchModel(hidden=hidden)


#: A description of `sanitise`, used as the code that a holder names when it attests that it ran.
SANITISER: Final = b"keep printable ASCII and ends of lines, and put a space for anything else"
_SPACED = bytes(each if each in b"\t\n\r" or 0x20 <= each < 0x7F else 0x20 for each in range(256))


def sanitise(data: bytes) -> bytes:
    """Return data with a space for each byte that is not text, so no GPU receives other bytes.

    The length is preserved, so that the number of bytes that a holder sends reveals nothing about their content.
    """
    return data.translate(_SPACED)


_SUBJECTS = ("the patient", "the nurse", "the doctor", "the ward", "the family", "the surgeon", "the clinic")
_VERBS = ("reported", "noticed", "recorded", "described", "expected", "measured", "confirmed")
_OBJECTS = ("a mild fever", "a strong pulse", "steady breathing", "some pain", "good sleep", "a slow recovery")
_WHEN = ("in the morning", "at noon", "before the visit", "after the meal", "during the night", "on arrival")
_SYLLABLES = ("ba", "de", "ki", "lo", "mu", "na", "ra", "se", "ti", "vo", "za", "fe")


def sample_text(writer: str, size: int) -> bytes:
    """Return ``size`` bytes of text that are specific to ``writer``."""
    source = random.Random(f"text of {writer}")  # text for training, no secret of cryptography
    people = ["".join(source.choices(_SYLLABLES, k=4)) for _ in range(40)]
    parts: list[str] = []
    length = 0
    while length < size:
        sentence = " ".join(source.choice(words) for words in (_SUBJECTS, people, _VERBS, _OBJECTS, _WHEN)) + ".\n"
        parts.append(sentence)
        length += len(sentence)
    return "".join(parts).encode("ascii")[:size]
