"""Whether the specification's claims are true: the engines that prove, exhaust and attack them.

Imports ``carnet_spec`` and never ``carnet_ref``.
"""

import builtins
import importlib.util
import sys
from pathlib import Path

if sys.version_info < (3, 11):  # noqa: UP036 # who runs an older one is told, before anything is imported that it lacks
    sys.stderr.write(f"carnet: needs Python 3.11 or newer, and this is Python {sys.version.split()[0]}\n")
    raise SystemExit(2)


def _z3_folders() -> list[str]:
    """Return where z3 may look for its native library; left alone, it looks in the current folder first.

    Source: z3/z3core.py of z3-solver 5.4.0.0, ``Z3_LIB_DIRS``.
    """
    package = importlib.util.find_spec("z3")
    own = [] if package is None or package.origin is None else [Path(package.origin).parent]
    return [str(folder) for home in own for folder in (home / "lib", home)] + [str(Path(sys.prefix) / "lib")]


if not hasattr(builtins, "Z3_LIB_DIRS"):
    builtins.Z3_LIB_DIRS = _z3_folders()  # type: ignore[attr-defined] # it is z3 that looks there
