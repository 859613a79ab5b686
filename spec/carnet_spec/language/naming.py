"""Names that can be said, and names that are used where nobody declared them.

The empty text, which elsewhere means that there is none, names no part of a protocol.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable

from carnet_spec.language.errors import SpecificationError


def require_name(what: str, name: str) -> None:
    """Refuse a blank name.

    The empty text stands for every threat model at once, for no assumption and for no defence.

    Raises:
        SpecificationError: the name has no letter, digit or sign.
    """
    if not name.strip():
        raise SpecificationError(f"{what} has a blank name, {name!r}: give it one that can be said")


def nearest(name: str, known: Iterable[str]) -> str:
    """Return the known name that is most like ``name``, whatever its case; empty, if none is like it."""
    folded = {each.lower(): each for each in known}
    near = difflib.get_close_matches(name.lower(), folded, n=1)
    return folded[near[0]] if near else ""


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """Ask whether the nearest known name was meant; empty, if none is like it."""
    near = nearest(name, known)
    return f"did you mean '{near}'?" if near else ""


def and_known(name: str, known: Iterable[str]) -> str:
    """Return the end of an error about a name that does not exist: the nearest that does, and all that do."""
    names = tuple(known)
    return "; " + " ".join(filter(None, (did_you_mean(name, names), f"known: {', '.join(names) or 'none'}")))
