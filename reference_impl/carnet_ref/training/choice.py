"""The trainers that can be asked for by name."""

from __future__ import annotations

from typing import Final

from carnet_command.errors import UsageError
from carnet_ref.training import Trainer

TRAINERS: Final = ("numpy", "torch")


MOST_HIDDEN: Final = 256
"""Units of a hidden layer at most: the model is brought to the GPU in one message, of at most 1 MiB."""


def trainer_named(name: str, hidden: int | None = None) -> Trainer:
    """Return a trainer, with so many units in its hidden layer if that is said; the first one is always there.

    Raises:
        UsageError: what it is made of is not installed.
        LookupError: there is none of that name.
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
