"""Fields of named tuples: a class that lists them under ``Attributes:`` shows them there, and not once more as members.

Python gives each field a docstring of its own, so autodoc takes it for a documented member.
"""

from __future__ import annotations

import inspect
import pkgutil
import re
from collections import namedtuple
from typing import Any, Final

FIELD: Final = type(namedtuple("_Any", "field").field)


def setup(app: Any) -> dict[str, Any]:
    """Register the extension with Sphinx."""
    app.connect("autodoc-skip-member", skipped)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def skipped(app: Any, what: str, name: str, member: object, skip: bool, options: object) -> bool | None:
    """Return true for a field that its class lists; of others Sphinx decides."""
    del what, skip, options
    if not isinstance(member, FIELD):
        return None
    document = app.env.current_document
    owner = pkgutil.resolve_name(f"{document.autodoc_module}:{document.autodoc_class}")
    return True if re.search(rf"^ +{name}: ", inspect.getdoc(owner) or "", re.MULTILINE) else None
