"""Names that can be said: the empty text, which elsewhere means that there is none, names no part of a protocol."""

from __future__ import annotations

from carnet_spec.language.errors import SpecificationError


def require_name(what: str, name: str) -> None:
    """Refuse a blank name.

    The empty text stands for every threat model at once, for no assumption and for no defence.

    Raises:
        SpecificationError: the name has no letter, digit or sign.
    """
    if not name.strip():
        raise SpecificationError(f"{what} has a blank name, {name!r}: give it one that can be said")
