"""The errors that end a command with one line and an exit code.

Each class has a kind, which ``--json`` prints, and an exit code.
"""

from typing import ClassVar

from carnet_command.exit_codes import ExitCode


class CarnetError(Exception):
    """An error that ends the command with one line for each complaint, and with an exit code."""

    kind: ClassVar[str] = "internal"
    exit_code: ClassVar[ExitCode] = ExitCode.INTERNAL

    @property
    def complaints(self) -> tuple[str, ...]:
        """All complaints, one line each."""
        return (str(self),)


class UsageError(CarnetError):
    """The caller asked for something that does not exist or cannot be combined."""

    kind = "usage"
    exit_code = ExitCode.USAGE


class LostWorkerError(CarnetError):
    """A worker process was lost, and the result cannot do without its work."""


class InterruptedRunError(CarnetError):
    """A command was interrupted from outside; the message says how far it was."""

    kind = "interrupted"
    exit_code = ExitCode.INTERRUPTED
