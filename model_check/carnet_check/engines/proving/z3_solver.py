"""Z3 as all engines have it: whether it is there, its version, and how much memory it may take."""

from __future__ import annotations

import contextlib
import functools
import importlib.util
from collections.abc import Iterator
from typing import Any

from carnet_check.engines.proving.answers import SolverOutcome
from carnet_check.engines.proving.self_test import Answer, Known, require_sound
from carnet_check.engines.tools import Tool

Z3 = Tool("z3", "proofs, and runs of any size", "pip install carnet", ("z3-solver",), required=True)
MEGABYTES = 1536
"""What Z3 may take: less than the process it runs in, so that it can still say so."""


@contextlib.contextmanager
def limited_memory(z3: Any) -> Iterator[None]:
    """Keep Z3 within its memory, once it has answered what is known.

    Raises:
        UsageError: it answers a known question wrongly, so that no answer is believed.
        MemoryError: Z3 needs more memory than it may have; it cannot be used in this process any more.
    """
    require_trusted()
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


@functools.cache
def require_trusted() -> None:
    """Refuse a Z3 that answers a question wrongly whose answer is known.

    Raises:
        UsageError: it does.
    """
    import z3

    require_sound(f"{solver_version()} at {z3.__file__}", functools.partial(_known, z3))


def _known(z3: Any, known: Known) -> Answer:
    solver = z3.SimpleSolver(ctx=z3.Context())
    solver.set("rlimit", FEW_UNITS)
    solver.from_string(known.smtlib)
    said = solver.check()
    if said == z3.unsat:
        return SolverOutcome.PROVED, {str(name.decl().name()) for name in solver.unsat_core()}, ""
    return (SolverOutcome.REFUTED, (), "") if said == z3.sat else (SolverOutcome.UNKNOWN, (), solver.reason_unknown())


FEW_UNITS = 5_000
"""What Z3 may spend on a search without an end, which is then sure to be cut off."""
