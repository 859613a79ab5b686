"""What an engine can do that explores one instance in several threads."""

from __future__ import annotations

from abc import abstractmethod
from typing import Self

from carnet_check.engines.interface import Explores


class InThreads(Explores):
    """Explores in threads, and finds the same however many there are."""

    @abstractmethod
    def in_threads(self, threads: int) -> Self:
        """Return the same engine, each of whose searches runs in so many threads."""
