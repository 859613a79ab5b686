"""What engines need from outside: libraries and programs, how each is recognised, and which version is there."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib import metadata


@dataclass(frozen=True, slots=True)
class Tool:
    """Something that Carnet can use: how it is recognised, what it is for, and how to get it."""

    name: str
    purpose: str
    get: str
    distributions: tuple[str, ...] = ()
    """Python distributions that have to be installed, all of them."""
    programs: tuple[str, ...] = ()
    """Programs of which one has to be on the path."""
    elsewhere: Callable[[], str] = str
    """Finds a program that need not be on the path; returns nothing if there is none."""
    required: bool = False


def installed(distribution: str) -> str:
    """Return the version of a Python distribution."""
    try:
        return metadata.version(distribution)
    except metadata.PackageNotFoundError:
        return "not installed"
