"""The explicit engine: every state of small instances, by a generated successor function."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, Self

from carnet_check.engines.explicit.bounds import Watch
from carnet_check.engines.explicit.explorer import PackedExplorer, PackedWalker
from carnet_check.engines.explicit.model import build
from carnet_check.engines.explicit.places import OnRay, Places, PlacesSearch
from carnet_check.engines.explicit.search import PackedSearch
from carnet_check.engines.explicit.visited import visit
from carnet_check.engines.exploration import Caps, Walks
from carnet_check.engines.interface import Observed, Observes, OnCluster, Remembers, Samples
from carnet_check.exports.exhaustion import Visited
from carnet_check.exports.ground.conditions import Place
from carnet_check.semantics import Interpreter
from carnet_spec.language import Goal, Instance, Invariant, Protocol


@dataclass(frozen=True)
class Explicit(PackedExplorer, Remembers, Observes, Samples, OnCluster):
    """Explores in Python, in the ``places`` that there are, and hands out the states that it visited."""

    name: ClassVar = "explicit"
    purpose: ClassVar = "every state of small instances, and the shortest attack where a claim falls"
    places: Places | None = None

    def on_cluster(self, address: str) -> Self:
        """Return the same engine, whose searches go on in a Ray cluster; what decides liveness stays here.

        Raises:
            UsageError: there is no cluster at this address.
        """
        return replace(self, places=OnRay(address))

    def searches_by(self) -> Callable[..., PackedSearch]:
        """Return what makes a search."""
        return self.packed if self.places is None else functools.partial(PlacesSearch, places=self.places)

    def visited(
        self, protocol: Protocol, instance: Instance, invariants: Sequence[Invariant], goals: Sequence[Goal]
    ) -> Visited:
        """Run the compiled search to its end."""
        return visit(protocol, instance, invariants, goals)

    def observed(
        self, protocol: Protocol, instance: Instance, caps: Caps, watch: Callable[[int, int], None] | None = None
    ) -> Observed | None:
        """Run the compiled search, and look at its layout."""
        return observe(protocol, instance, caps, watch)

    def sampling(self, walks: Walks) -> ExplicitWalker:
        """Return the walker in Python."""
        return ExplicitWalker(walks)


@dataclass(frozen=True)
class ExplicitWalker(PackedWalker):
    """Takes random walks in Python."""

    name: ClassVar = Explicit.name
    purpose: ClassVar = "random walks through instances of any size"


EXPLICIT = Explicit()


# --------------------------------------------------------------------------------------------------
# Which places ever change: those that the layout gave a field by the end of a search that leaves nothing out.


def observe(
    protocol: Protocol, instance: Instance, caps: Caps, watch: Callable[[int, int], None] | None
) -> Observed | None:
    """Visit every state, without reduction; return nothing if the search stops at ``caps``."""
    model = build(Interpreter(protocol, instance), (), (), reduce=False)
    bounds = Watch(max_states=caps.states, max_memory=caps.memory, max_seconds=caps.seconds, progress=watch)
    run = PackedSearch(model, bounds, enough=0, dominance=False)
    stopped_by = run.run()
    if stopped_by == "interrupt":
        raise KeyboardInterrupt
    if stopped_by is not None:
        return None
    tables = model.layout.tables.values()
    changed = (Place(table.symbol.name, row) for table in tables for row, place in table.places.items() if place.mask)
    return Observed(len(run.found), frozenset(changed))
