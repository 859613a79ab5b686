"""The explicit engine: every state of small instances, by a generated successor function."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, Self

from carnet_check.engines.explicit.changing import observe
from carnet_check.engines.explicit.explorer import PackedExplorer
from carnet_check.engines.explicit.places.on_ray import OnRay
from carnet_check.engines.explicit.places.search import Places, PlacesSearch
from carnet_check.engines.explicit.search import PackedSearch
from carnet_check.engines.explicit.visited import visit
from carnet_check.engines.explicit.walker import PackedWalker
from carnet_check.engines.exploration import Caps, Walks
from carnet_check.engines.interface import Observed, Observes, OnCluster, Remembers, Samples
from carnet_check.exports.exhaustion import Visited
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
