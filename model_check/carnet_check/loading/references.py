"""What a reference to a protocol is made of: a path or a module, and a name in it; and what is meant without one."""

from __future__ import annotations

import re
from pathlib import Path

OWN = "protocol.py"
"""The file that `carnet init` writes a protocol to."""


def protocol_here() -> str | None:
    """Return the file of the current folder that `carnet init` would have written, if it is there and names Carnet."""
    file = Path(OWN)
    return OWN if file.is_file() and b"carnet_spec" in file.read_bytes() else None


def parts_of(reference: str) -> tuple[str, str]:
    """Return the path or module that a reference names, and the name in it; a folder may have a colon in its name."""
    found = re.fullmatch(r"(.*\.py)(?::(\w+))?", reference, re.DOTALL)
    if found is not None:
        return found[1], found[2] or ""
    path, _, name = reference.partition(":")
    return path, name


def files_of(reference: str) -> list[Path]:
    """Return the file that a reference names; none of a module or an id."""
    path, _ = parts_of(reference)
    return [Path(path)] if path.endswith(".py") else []
