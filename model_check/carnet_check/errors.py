"""Errors of the checker, split first by whose fault they are; each carries its exit code."""

from __future__ import annotations

from typing import ClassVar


class CarnetError(Exception):
    """Something that ends the command with one line and an exit code."""

    kind: ClassVar[str] = "internal"
    exit_code: ClassVar[int] = 5


class UsageError(CarnetError):
    """The caller asked for something that does not exist or cannot be combined."""

    kind = "usage"
    exit_code = 2


class InvalidSpecificationError(CarnetError):
    """The protocol that was asked for is not well formed."""

    kind = "specification"
    exit_code = 2


class EngineError(CarnetError):
    """An engine contradicted itself or another one: the worst kind of bug this project can have."""

    kind = "internal"
    exit_code = 5
