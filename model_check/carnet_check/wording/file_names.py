"""Names of files: made from what a specification or a run calls something, which may be any text.

A name is never a path. Where each part is of lower-case letters, digits, '-' and '_', the file is called after the
parts, with dots between them. Anything else is called after a digest of the parts, with as much of them in front as can
be read: so different parts never share a name, on any file system, and every name is short.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable

MOST = 120
"""The most characters of a name made here; an ending may follow."""
READABLE = 40
_PLAIN = re.compile(r"[a-z0-9][a-z0-9_-]*")
_MADE = re.compile(rf"[a-z0-9][a-z0-9_-]*(\.[a-z0-9][a-z0-9_-]*)*|[a-z0-9-]{{1,{READABLE}}}~[0-9a-f]{{32}}")
_DEVICES = frozenset({"con", "prn", "aux", "nul", *(f"{port}{n}" for port in ("com", "lpt") for n in range(10))})
"""What some systems take for devices, with any ending."""


def file_name(*parts: str) -> str:
    """Return a name that no other parts are given, fit for one file in a folder, without an ending."""
    joined = ".".join(parts)
    plain = all(_PLAIN.fullmatch(part) for part in parts)
    if plain and len(joined) <= MOST and parts[0] not in _DEVICES:
        return joined
    digest = hashlib.sha256(json.dumps(parts).encode()).hexdigest()
    readable = re.sub(r"[^a-z0-9]+", "-", joined.lower())[:READABLE].strip("-")
    return f"{readable or 'x'}~{digest[:32]}"


def is_file_name(name: str) -> bool:
    """Whether a name is one that :func:`file_name` makes."""
    return _MADE.fullmatch(name) is not None and len(name) <= MOST and name.partition(".")[0] not in _DEVICES


def as_file_name(name: str) -> str:
    """Return ``name`` itself if :func:`file_name` makes it, and else what it makes of it."""
    return name if is_file_name(name) else file_name(name)


def attack_name(variant: str, threat: str, claim: str, removed: Iterable[str] = ()) -> str:
    """Return what tells an attack from all others on the same protocol; it is fit for a file."""
    return file_name(variant, *(f"without-{defence}" for defence in removed), threat, claim)
