"""What engines have in common that take random walks through packed states, each by a loop of its own."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import ClassVar

from carnet_check.engines.explicit import sample
from carnet_check.engines.explicit.walking import PackedWalks
from carnet_check.engines.exploration import Caps, Exploration
from carnet_check.engines.exploring.explorer import Walker
from carnet_spec.language import Goal, Instance, Invariant, Protocol


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
        caps: Caps = Caps(),  # noqa: B008 # it is immutable
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
