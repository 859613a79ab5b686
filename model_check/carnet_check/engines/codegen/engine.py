"""The engine by compiled code: every state of instances of any size, by the C compiler of the machine."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import ClassVar, Self

from carnet_check.engines.codegen.compiling import COMPILERS, compiler
from carnet_check.engines.codegen.search import CompiledSearch
from carnet_check.engines.explicit.explorer import PackedExplorer
from carnet_check.engines.explicit.search import PackedSearch
from carnet_check.engines.interface import InThreads, Tool


@dataclass(frozen=True)
class Codegen(PackedExplorer, InThreads):
    """Explores as the explicit engine does, by code that is compiled for the model, in as many ``threads``."""

    name: ClassVar = "codegen"
    purpose: ClassVar = "every state of large instances, the same as explicit, by compiling the model"
    needs: ClassVar = (Tool("cc", "exploration by compiled code", "apt install gcc", programs=COMPILERS),)
    by_default: ClassVar = False
    packed: ClassVar = CompiledSearch
    threads: int = 1

    @property
    def lacks(self) -> str:
        """A C compiler, where there is none."""
        return "" if compiler() else f"the engine '{self.name}' needs a C compiler (CC, cc, gcc or clang)"

    def in_threads(self, threads: int) -> Self:
        """Return the same engine, whose searches run in so many threads; what decides liveness runs in one."""
        return replace(self, threads=threads)

    def searches_by(self) -> Callable[..., PackedSearch]:
        """Return what makes a search."""
        return functools.partial(self.packed, threads=self.threads)


CODEGEN = Codegen()
