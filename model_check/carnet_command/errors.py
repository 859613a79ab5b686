"""The errors that end a command, shared by every package that adds commands to ``carnet``."""

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
