"""The errors that end a command, shared by every package that adds commands to ``carnet``.

Each names its kind, which ``--json`` prints, and its exit code.
"""

from __future__ import annotations

from typing import ClassVar

from carnet_command.exit_codes import ExitCode


class CarnetError(Exception):
    """Something that ends the command with one line, or one for each complaint, and an exit code."""

    kind: ClassVar[str] = "internal"
    exit_code: ClassVar[ExitCode] = ExitCode.INTERNAL

    @property
    def complaints(self) -> tuple[str, ...]:
        """Everything that is wrong, one line for each."""
        return (str(self),)


class UsageError(CarnetError):
    """The caller asked for something that does not exist or cannot be combined."""

    kind = "usage"
    exit_code = ExitCode.USAGE


class LostWorkerError(CarnetError):
    """A worker process was lost with work that nothing stands in for."""


class InterruptedRunError(CarnetError):
    """A command was stopped from outside; the message says how far it was."""

    kind = "interrupted"
    exit_code = ExitCode.INTERRUPTED
