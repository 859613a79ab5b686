"""The base classes of engines that run the explicit search, each with its own search class."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar, Self, Unpack

from carnet_check.engines.checkpoints import Checkpoint
from carnet_check.engines.explicit import explore, sample
from carnet_check.engines.explicit.search import PackedSearch
from carnet_check.engines.explicit.walking import PackedWalks
from carnet_check.engines.exploration import NO_CAPS, Exploration, LassoOptions, SearchOptions
from carnet_check.engines.exploring.explorer import Explorer, Walker, question
from carnet_check.engines.interface import Checkpointing, DecidesLiveness
from carnet_spec.language import Eventually, Instance, Protocol

if TYPE_CHECKING:
    from carnet_check.engines.explicit.liveness import GraphSearch


@dataclass(frozen=True)
class PackedExplorer(Explorer, DecidesLiveness, Checkpointing):
    """Explores with :func:`carnet_check.engines.explicit.explore`, and decides liveness by fair components."""

    packed: ClassVar[type[PackedSearch]] = PackedSearch  # the class of the search
    checkpoint: Checkpoint | None = None  # where searches store their results

    def with_checkpoint(self, checkpoint: Checkpoint) -> Self:
        """Return the same engine with a checkpoint, which searches for liveness do not use."""
        return replace(self, checkpoint=checkpoint)

    def searches_by(self) -> Callable[..., PackedSearch]:
        """Return the constructor of searches."""
        return self.packed

    def searches_of_graphs(self) -> "Callable[..., GraphSearch] | None":
        """Return the constructor of searches that store steps, if it is not the usual one."""
        return None

    def explore(self, protocol: Protocol, instance: Instance, **options: Unpack[SearchOptions]) -> Exploration:
        """Run the compiled search."""
        saved = None
        if self.checkpoint is not None:
            asked = question(
                protocol,
                instance,
                invariants=options["invariants"],
                goals=options.get("goals", ()),
                reduction=options.get("reduction", True),
                first=options.get("stop_at_first", False),
                fallen=options.get("stop_when_fallen", False),
            )
            saved = None if asked is None else self.checkpoint.for_instance(asked)
        options.setdefault("stop_at_first", False)
        return explore(protocol, instance, packed=self.searches_by(), saved=saved, **options)

    def lassos(
        self, protocol: Protocol, instance: Instance, *, liveness: Sequence[Eventually], **options: Unpack[LassoOptions]
    ) -> Exploration:
        """Run the compiled search, and look for fair components."""
        from carnet_check.engines.explicit.liveness import lassos  # imports NumPy, which most runs do not need

        return lassos(protocol, instance, liveness, searches=self.searches_of_graphs(), **options)


@dataclass(frozen=True)
class PackedWalker(Walker):
    """Walks with :func:`carnet_check.engines.explicit.sample`."""

    packed: ClassVar[type[PackedWalks]] = PackedWalks  # the class of the walks

    def explore(self, protocol: Protocol, instance: Instance, **options: Unpack[SearchOptions]) -> Exploration:
        """Take all walks, one after the other, without reductions."""
        return sample(
            protocol,
            instance,
            self.walks,
            invariants=options["invariants"],
            goals=options.get("goals", ()),
            caps=options.get("caps", NO_CAPS),
            packed=self.packed,
            watch=options.get("watch"),
            threat=options.get("threat", ""),
        )
