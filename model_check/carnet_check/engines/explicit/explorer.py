"""What engines have in common that run the explicit search, each with a search of its own."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, Self

from carnet_check.engines.checkpoints import Checkpoint
from carnet_check.engines.explicit import explore, sample
from carnet_check.engines.explicit.search import PackedSearch
from carnet_check.engines.explicit.walking import PackedWalks
from carnet_check.engines.exploration import NO_CAPS, Caps, Exploration
from carnet_check.engines.exploring.explorer import Explorer, Walker, question
from carnet_check.engines.interface import DecidesLiveness, Keeps
from carnet_spec.language import Eventually, Goal, Instance, Invariant, Protocol


@dataclass(frozen=True)
class PackedExplorer(Explorer, DecidesLiveness, Keeps):
    """Explores with :func:`carnet_check.engines.explicit.explore`, and decides liveness in Python."""

    packed: ClassVar[type[PackedSearch]] = PackedSearch
    """What runs the search."""
    checkpoint: Checkpoint | None = None
    """Where searches keep what they find, if they do."""

    def keeping(self, checkpoint: Checkpoint) -> Self:
        """Return the same engine with a checkpoint; what decides liveness keeps nothing."""
        return replace(self, checkpoint=checkpoint)

    def searches_by(self) -> Callable[..., PackedSearch]:
        """Return what makes a search."""
        return self.packed

    def explore(
        self,
        protocol: Protocol,
        instance: Instance,
        *,
        invariants: Sequence[Invariant],
        goals: Sequence[Goal] = (),
        caps: Caps = NO_CAPS,
        stop_at_first: bool = False,
        stop_when_fallen: bool = False,
        reduction: bool = True,
        threat: str = "",
        watch: Callable[[int, int], None] | None = None,
    ) -> Exploration:
        """Run the compiled search."""
        shelf = None
        if self.checkpoint is not None:
            options = {"reduction": reduction, "first": stop_at_first, "fallen": stop_when_fallen}
            asked = question(protocol, instance, invariants=invariants, goals=goals, **options)
            shelf = None if asked is None else self.checkpoint.shelf(asked)
        return explore(
            protocol,
            instance,
            invariants=invariants,
            goals=goals,
            max_states=caps.states,
            max_memory=caps.memory,
            max_seconds=caps.seconds,
            workers=caps.workers,
            stop_at_first=stop_at_first,
            stop_when_fallen=stop_when_fallen,
            packed=self.searches_by(),
            reduction=reduction,
            progress=watch,
            threat=threat,
            shelf=shelf,
        )

    def lassos(
        self,
        protocol: Protocol,
        instance: Instance,
        *,
        liveness: Sequence[Eventually],
        caps: Caps = NO_CAPS,
        reduction: bool = True,
        threat: str = "",
        watch: Callable[[int, int], None] | None = None,
    ) -> Exploration:
        """Run the compiled search, and look for fair components."""
        from carnet_check.engines.explicit.liveness import lassos  # it needs NumPy, which most runs do not

        return lassos(
            protocol,
            instance,
            liveness,
            max_states=caps.states,
            max_memory=caps.memory,
            max_seconds=caps.seconds,
            workers=caps.workers,
            reduction=reduction,
            progress=watch,
            threat=threat,
        )


# --------------------------------------------------------------------------------------------------
# What engines have in common that take random walks through packed states, each by a loop of its own.


@dataclass(frozen=True)
class PackedWalker(Walker):
    """Walks with :func:`carnet_check.engines.explicit.sample`."""

    packed: ClassVar[type[PackedWalks]] = PackedWalks
    """What takes the walks."""

    def explore(
        self,
        protocol: Protocol,
        instance: Instance,
        *,
        invariants: Sequence[Invariant],
        goals: Sequence[Goal] = (),
        caps: Caps = NO_CAPS,
        stop_at_first: bool = False,
        stop_when_fallen: bool = False,
        reduction: bool = True,
        threat: str = "",
        watch: Callable[[int, int], None] | None = None,
    ) -> Exploration:
        """Take the walks, one after the other and all of them, with nothing left out of a state."""
        return sample(
            protocol,
            instance,
            self.walks,
            invariants=invariants,
            goals=goals,
            max_memory=caps.memory,
            max_seconds=caps.seconds,
            workers=caps.workers,
            packed=self.packed,
            progress=watch,
            threat=threat,
        )
