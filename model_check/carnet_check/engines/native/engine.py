"""The native engine: every state of instances of any size, by the C compiler of the machine."""

from __future__ import annotations

import functools
import shlex
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar, Self

from carnet_check.engines.explicit.explorer import PackedExplorer, PackedWalker
from carnet_check.engines.explicit.search import PackedSearch
from carnet_check.engines.exploration import Walks
from carnet_check.engines.exploring.explorer import Searcher
from carnet_check.engines.interface import InThreads, Samples, Tool, installed_version
from carnet_check.engines.native.compiling import compiler, compiler_version
from carnet_check.engines.native.search import NativeSearch
from carnet_check.engines.native.walking import NativeWalks

if TYPE_CHECKING:
    from carnet_check.engines.native.liveness import NativeGraphSearch


def _command() -> str:
    return shlex.join(compiler() or ())


class _NeedsCompiler(Searcher):
    """The name and the C compiler that the native engine has in common with its random walks."""

    name: ClassVar = "native"
    needs: ClassVar = (Tool("cc", "exploration at native speed", "pip install 'carnet[fast]'", elsewhere=_command),)

    @property
    def lacks(self) -> str:
        """The message that no C compiler is installed, or an empty text if one is."""
        needed = "needs a C compiler (CC, cc, gcc, clang, or pip install 'carnet[fast]')"
        return "" if compiler() else f"the engine '{self.name}' {needed}"

    def versions(self) -> dict[str, str]:
        """Return the versions of the C compiler and of numpy, by name; empty if there is no compiler."""
        command = compiler()
        return {"cc": compiler_version(command), "numpy": installed_version("numpy")} if command else {}


@dataclass(frozen=True)
class Native(_NeedsCompiler, PackedExplorer, Samples, InThreads):
    """Explores as the explicit engine does, by code that is compiled for the model, in as many ``threads``."""

    purpose: ClassVar = "every state of instances, the same as explicit, by compiling the model"
    packed: ClassVar[type[NativeSearch]] = NativeSearch
    threads: int = 1

    def with_threads(self, threads: int) -> Self:
        """Return this engine with searches in ``threads`` threads, also those for liveness."""
        return replace(self, threads=threads)

    def searches_by(self) -> Callable[..., PackedSearch]:
        """Return the constructor of searches."""
        return functools.partial(self.packed, threads=self.threads)

    def searches_of_graphs(self) -> Callable[..., NativeGraphSearch]:
        """Return the constructor of searches that store steps."""
        from carnet_check.engines.native.liveness import NativeGraphSearch  # imports NumPy

        return functools.partial(NativeGraphSearch, threads=self.threads)

    def random_walker(self, walks: Walks) -> NativeWalker:
        """Return the engine that takes these random walks by compiled code."""
        return NativeWalker(walks)


@dataclass(frozen=True)
class NativeWalker(_NeedsCompiler, PackedWalker):
    """Takes the same random walks as the explicit engine, by code that is compiled for the model."""

    purpose: ClassVar = "random walks through instances of any size, the same as explicit and faster"
    packed: ClassVar = NativeWalks


NATIVE = Native()
