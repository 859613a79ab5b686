"""Sphinx extension: a field of a named tuple is listed once.

Such a field is an attribute with a docstring of Python's own. Where that of the class has a line about it, it is listed
there, and not a second time.
"""

import inspect
import pkgutil
import re
from typing import Any


def skip_listed_fields(app: Any, what: str, name: str, field: Any, skip: bool, options: Any) -> bool | None:
    """Leave a field of a named tuple out where the docstring of its class lists it."""
    del what, skip, options
    document = app.env.current_document
    if not re.match("Alias for field number", inspect.getdoc(field) or "") or not document.autodoc_class:
        return None
    owner = pkgutil.resolve_name(f"{document.autodoc_module}:{document.autodoc_class}")
    return True if re.search(rf"^ +{name}: ", owner.__doc__ or "", re.MULTILINE) else None


def setup(app: Any) -> dict[str, Any]:
    """Register the extension with Sphinx, which need not be installed to test it."""
    app.connect("autodoc-skip-member", skip_listed_fields)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
