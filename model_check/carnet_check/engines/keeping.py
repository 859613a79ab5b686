"""What an engine can do that goes on where an earlier run ended."""

from __future__ import annotations

from abc import abstractmethod
from typing import Self

from carnet_check.engines.checkpoints import Checkpoint
from carnet_check.engines.interface import Explores


class Keeps(Explores):
    """Keeps what it found after each level, and goes on from there."""

    @abstractmethod
    def keeping(self, checkpoint: Checkpoint) -> Self:
        """Return the same engine, whose searches go on from a checkpoint and keep what they find in it."""
