"""The native engine: every state of small and of large instances, by a kernel that looks answers up."""

from __future__ import annotations

import functools
import importlib.util
import os
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import ClassVar, Self

from carnet_check.engines.explicit.explorer import PackedExplorer, PackedWalker
from carnet_check.engines.explicit.search import PackedSearch
from carnet_check.engines.exploration import Walks
from carnet_check.engines.exploring.explorer import Searcher
from carnet_check.engines.interface import InThreads, Samples, Tool
from carnet_check.engines.native.search import NativeSearch, NativeWalks


class _NeedsNumba(Searcher):
    """What the native engine is, whether it visits every state or walks."""

    name: ClassVar = "native"
    needs: ClassVar = (Tool("numba", "exploration at native speed", "pip install 'carnet[fast]'", ("numba", "numpy")),)

    @property
    def lacks(self) -> str:
        """Numba, where it is not installed or told to compile nothing."""
        if os.environ.get("NUMBA_DISABLE_JIT", "0") not in ("", "0"):
            return f"the engine '{self.name}' needs Numba to compile, which NUMBA_DISABLE_JIT forbids"
        there = importlib.util.find_spec("numba") is not None
        return "" if there else f"the engine '{self.name}' needs the extra 'fast' (pip install 'carnet[fast]')"


@dataclass(frozen=True)
class Native(_NeedsNumba, PackedExplorer, Samples, InThreads):
    """Explores as the explicit engine does, with a kernel for what is done most often, in as many ``threads``."""

    purpose: ClassVar = "every state of instances, the same as explicit and two to nine times faster"
    packed: ClassVar[type[NativeSearch]] = NativeSearch
    threads: int = 1

    def in_threads(self, threads: int) -> Self:
        """Return the same engine, whose searches run in so many threads; what decides liveness runs in one."""
        return replace(self, threads=threads)

    def searches_by(self) -> Callable[..., PackedSearch]:
        """Return what makes a search."""
        return functools.partial(self.packed, threads=self.threads)

    def sampling(self, walks: Walks) -> NativeWalker:
        """Return the walker with a kernel."""
        return NativeWalker(walks)


@dataclass(frozen=True)
class NativeWalker(_NeedsNumba, PackedWalker):
    """Takes the same random walks as the explicit engine, with a kernel for what is done most often."""

    purpose: ClassVar = "random walks through instances of any size, the same as explicit and faster"
    packed: ClassVar = NativeWalks


NATIVE = Native()
