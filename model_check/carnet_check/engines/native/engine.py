"""The native engine: every state of small and of large instances, by a kernel that looks answers up."""

from __future__ import annotations

import importlib.util
from dataclasses import dataclass
from typing import ClassVar

from carnet_check.engines.explicit.explorer import PackedExplorer
from carnet_check.engines.explicit.search import PackedSearch
from carnet_check.engines.interface import Task, Tool
from carnet_check.engines.native.search import NativeSearch
from carnet_check.errors import UsageError


@dataclass(frozen=True)
class Native(PackedExplorer):
    """Explores as the explicit engine does, with a kernel for what is done most often."""

    name: ClassVar = "native"
    purpose: ClassVar = "every state of instances, the same as explicit and two to nine times faster"
    by_default: ClassVar = False
    needs: ClassVar = (
        Tool("numba", "exploration at native speed", "pip install -c constraints.txt '.[fast]'", ("numba", "numpy")),
    )
    packed: ClassVar[type[PackedSearch]] = NativeSearch

    @property
    def lacks(self) -> str:
        """Numba, where it is not installed."""
        there = importlib.util.find_spec("numba") is not None
        return "" if there else f"the engine '{self.name}' needs the extra 'fast' (pip install 'carnet[fast]')"

    def require_runnable(self, task: Task) -> None:
        """Refuse to run without Numba, and as every explorer does.

        Raises:
            UsageError: it is not installed.
        """
        if self.lacks:
            raise UsageError(self.lacks)
        super().require_runnable(task)


NATIVE = Native()
