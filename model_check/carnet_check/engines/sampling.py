"""What an engine offers that can take random walks where it would visit every state."""

from __future__ import annotations

from abc import abstractmethod

from carnet_check.engines.interface import Explores
from carnet_check.engines.walks import Walks


class Samples(Explores):
    """Can take random walks instead of visiting every state."""

    @abstractmethod
    def sampling(self, walks: Walks) -> Explores:
        """Return the engine of the same name for random walks: what holds on them is SAMPLED, and nothing more.

        What it explores are these walks, all of them whatever falls, and nothing is left out of a state. Which walks
        they are depends on the protocol, the instance, the seed and the depth alone, not on the engine.
        """
