"""What engines have in common that run the explicit search, each with a search of its own."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import ClassVar, Self

from carnet_check.engines.explicit import explore, sample
from carnet_check.engines.explicit.search import PackedSearch
from carnet_check.engines.explicit.walking import PackedWalks
from carnet_check.engines.exploration import Caps, Exploration
from carnet_check.engines.exploring.explorer import Explorer
from carnet_check.engines.interface import Samples
from carnet_check.engines.walks import Walks
from carnet_check.results import Verdict
from carnet_spec.language import Goal, Instance, Invariant, Protocol


class PackedExplorer(Explorer, Samples):
    """Explores with :func:`carnet_check.engines.explicit.explore`, and walks with ``sample`` beside it."""

    verdicts: ClassVar[tuple[Verdict, ...]] = (*Explorer.verdicts, Verdict.SAMPLED)
    packed: ClassVar[type[PackedSearch]] = PackedSearch
    """What runs the search."""
    packed_walks: ClassVar[type[PackedWalks]] = PackedWalks
    """What takes the walks."""

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
            packed=self.packed,
            reduction=reduction,
            progress=watch,
            threat=threat,
        )

    def sampling(self, walks: Walks) -> Self:
        """Return the engine for random walks."""
        return replace(self, walks=walks)

    def sample(
        self,
        protocol: Protocol,
        instance: Instance,
        walks: Walks,
        *,
        invariants: Sequence[Invariant],
        goals: Sequence[Goal] = (),
        caps: Caps = Caps(),  # noqa: B008 # it is immutable
        threat: str = "",
        watch: Callable[[int, int], None] | None = None,
    ) -> Exploration:
        """Take the walks, one after the other."""
        return sample(
            protocol,
            instance,
            walks,
            invariants=invariants,
            goals=goals,
            max_memory=caps.memory,
            workers=caps.workers,
            packed=self.packed_walks,
            progress=watch,
            threat=threat,
        )
