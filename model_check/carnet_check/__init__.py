"""The checker: engines that prove, exhaust and attack the claims, and the ``carnet`` command.

Imports ``carnet_spec`` and never ``carnet_ref``.
"""

import builtins
import importlib.util
import sys
from pathlib import Path

if sys.version_info < (3, 11):  # noqa: UP036 # a user of an older version gets this error before an import fails
    sys.stderr.write(f"carnet: needs Python 3.11 or newer, and this is Python {sys.version.split()[0]}\n")
    raise SystemExit(2)


def _z3_folders() -> list[str]:
    """Return the folders in which z3 may look for its native library; by default, the current folder is the first.

    Source: z3/z3core.py of z3-solver 5.4.0.0, ``Z3_LIB_DIRS``.
    """
    package = importlib.util.find_spec("z3")
    own = [] if package is None or package.origin is None else [Path(package.origin).parent]
    return [str(folder) for home in own for folder in (home / "lib", home)] + [str(Path(sys.prefix) / "lib")]


if not hasattr(builtins, "Z3_LIB_DIRS"):
    builtins.Z3_LIB_DIRS = _z3_folders()  # type: ignore[attr-defined] # z3 reads this name
