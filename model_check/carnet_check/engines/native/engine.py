"""The native engine: every state of small and of large instances, by a kernel that looks answers up."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import ClassVar

from carnet_check.engines.explicit import explore
from carnet_check.engines.exploration import Caps, Exploration
from carnet_check.engines.exploring.explorer import Explorer
from carnet_check.engines.interface import Task, Tool
from carnet_check.engines.native.search import NativeSearch
from carnet_check.errors import UsageError
from carnet_spec.language import Goal, Instance, Invariant, Protocol


@dataclass(frozen=True)
class Native(Explorer):
    """Explores as the explicit engine does, with a kernel for what is done most often."""

    name: ClassVar = "native"
    purpose: ClassVar = "every state of instances, the same as explicit and several times faster"
    by_default: ClassVar = False
    needs: ClassVar = (
        Tool("numba", "exploration at native speed", "pip install -c constraints.txt '.[fast]'", ("numba", "numpy")),
    )

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
        """Run the search that hands over to the kernel."""
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
            packed=NativeSearch,
            reduction=reduction,
            progress=watch,
            threat=threat,
        )

    def require_runnable(self, task: Task) -> None:
        """Refuse to run without Numba, and as every explorer does.

        Raises:
            UsageError: it is not installed.
        """
        if importlib.util.find_spec("numba") is None:
            raise UsageError(f"the engine '{self.name}' needs the extra 'fast' (pip install 'carnet[fast]')")
        super().require_runnable(task)


NATIVE = Native()
