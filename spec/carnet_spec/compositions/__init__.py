"""Compositions of two protocols, in which one discharges assumptions of the other by its claims.

Each module has a ``COMPOSITION``; :func:`compositions` finds them.
"""

import importlib
import pkgutil
from pathlib import Path

from carnet_spec.language.composition import Composition


def compositions() -> tuple[Composition, ...]:
    """Import every module of this folder and return what they compose, by id."""
    names = sorted(each.name for each in pkgutil.iter_modules([str(Path(__file__).parent)]))
    return tuple(importlib.import_module(f"{__name__}.{name}").COMPOSITION for name in names)
