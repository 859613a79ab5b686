"""The explicit engine: every state of small instances, by a generated successor function."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import ClassVar

from carnet_check.engines.explicit import explore
from carnet_check.engines.explicit.visited import visit
from carnet_check.engines.exploration import Caps, Exploration
from carnet_check.engines.exploring.explorer import Explorer
from carnet_check.engines.interface import Remembers
from carnet_check.exports.exhaustion import Visited
from carnet_spec.language import Goal, Instance, Invariant, Protocol


@dataclass(frozen=True)
class Explicit(Explorer, Remembers):
    """Explores with :func:`carnet_check.engines.explicit.explore`."""

    name: ClassVar = "explicit"
    purpose: ClassVar = "every state of small instances, and the shortest attack where a claim falls"

    def explore(
        self,
        protocol: Protocol,
        instance: Instance,
        *,
        invariants: Sequence[Invariant],
        goals: Sequence[Goal] = (),
        caps: Caps = Caps(),  # noqa: B008 # it is immutable
        stop_at_first: bool = False,
        stop_when_fallen: bool = False,
        reduction: bool = True,
        threat: str = "",
        watch: Callable[[int, int], None] | None = None,
    ) -> Exploration:
        """Run the compiled search."""
        return explore(
            protocol,
            instance,
            invariants=invariants,
            goals=goals,
            max_states=caps.states,
            max_memory=caps.memory,
            workers=caps.workers,
            stop_at_first=stop_at_first,
            stop_when_fallen=stop_when_fallen,
            reduction=reduction,
            progress=watch,
            threat=threat,
        )

    def visited(
        self, protocol: Protocol, instance: Instance, invariants: Sequence[Invariant], goals: Sequence[Goal]
    ) -> Visited:
        """Run the compiled search to its end."""
        return visit(protocol, instance, invariants, goals)


EXPLICIT = Explicit()
