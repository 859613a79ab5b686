"""Combining alternatives: a class with one step otherwise for each defence that a design lacks."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import TypeVar

Part = TypeVar("Part")


def without(secure: type[Part], alternatives: Mapping[str, type[Part]], off: Collection[str]) -> type[Part]:
    """Return ``secure`` with the alternatives of the defences that are ``off``; with none of them, itself."""
    chosen = tuple(dict.fromkeys(kind for defence, kind in alternatives.items() if defence in off))
    return type(secure.__name__, (*chosen, secure), {"__slots__": ()}) if chosen else secure
