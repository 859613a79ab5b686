"""What an engine can do that explores one instance on several machines."""

from __future__ import annotations

from abc import abstractmethod
from typing import Self

from carnet_check.engines.interface import Explores


class OnCluster(Explores):
    """Explores on the machines of a cluster, and finds the same however many there are."""

    @abstractmethod
    def on_cluster(self, address: str) -> Self:
        """Return the same engine, whose searches go on in a Ray cluster once they are large.

        Raises:
            UsageError: there is no cluster at this address.
        """
