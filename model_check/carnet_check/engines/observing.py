"""What an engine says that observes: how many states an instance has, and what ever changes in it."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass

from carnet_check.engines.exploration import Caps
from carnet_check.engines.interface import Explores
from carnet_check.exports.ground.conditions import Place
from carnet_spec.language import Instance, Protocol


@dataclass(frozen=True, slots=True)
class Observed:
    """How many states an instance has, nothing left out, and the places that do not hold the same in all of them."""

    states: int
    changing: frozenset[Place]


class Observes(Explores):
    """Says what ever changes in an instance."""

    @abstractmethod
    def observed(
        self, protocol: Protocol, instance: Instance, caps: Caps, watch: Callable[[int, int], None] | None = None
    ) -> Observed | None:
        """Visit every state; return nothing if the search stopped before it had seen all of them."""
