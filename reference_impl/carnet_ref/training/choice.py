"""The trainers that can be asked for by name."""

from __future__ import annotations

from typing import Final

from carnet_command.errors import UsageError
from carnet_ref.training import Trainer

TRAINERS: Final = ("numpy", "torch")


def trainer_named(name: str) -> Trainer:
    """Return a trainer; the first one is always there.

    Raises:
        UsageError: what it is made of is not installed.
        LookupError: there is none of that name.
    """
    if name == "numpy":
        from carnet_ref.training.characters import CharacterModel

        return CharacterModel()
    if name != "torch":
        raise LookupError(f"no trainer is called {name!r}")
    try:
        from carnet_ref.training.pytorch import TorchModel
    except ModuleNotFoundError as error:
        raise UsageError(f"the trainer 'torch' needs PyTorch ({error}): pip install 'carnet[train]'") from error
    return TorchModel()
