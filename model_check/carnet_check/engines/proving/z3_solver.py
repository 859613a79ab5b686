"""Z3 as all engines have it: whether it is there, its version, and how much memory it may take."""

from __future__ import annotations

import contextlib
import importlib.util
from collections.abc import Iterator
from typing import Any

from carnet_check.engines.interface import Tool

Z3 = Tool("z3", "proofs, and runs of any size", "pip install carnet", ("z3-solver",), required=True)
MEGABYTES = 1536
"""What Z3 may take: less than the process it runs in, so that it can still say so."""


@contextlib.contextmanager
def limited_memory(z3: Any) -> Iterator[None]:
    """Keep Z3 within its memory.

    Raises:
        MemoryError: Z3 needs more memory than it may have; it cannot be used in this process any more.
    """
    z3.set_param("memory_max_size", MEGABYTES)
    try:
        yield
    except z3.Z3Exception as error:
        if "out of memory" in str(error):
            raise MemoryError(str(error)) from None
        raise


def solver_is_installed() -> bool:
    """Whether there is a solver to ask."""
    return importlib.util.find_spec("z3") is not None


def solver_version() -> str:
    """Return the name and version of the solver."""
    import z3

    return f"Z3 {z3.get_version_string()}"
