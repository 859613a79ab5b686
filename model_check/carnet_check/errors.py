"""Errors of the checker, split first by whose fault they are; each carries its exit code."""

from __future__ import annotations

from carnet_command.errors import CarnetError, UsageError
from carnet_command.exit_codes import ExitCode

__all__ = ["CarnetError", "EngineDisagreement", "EngineError", "InvalidSpecificationError", "UsageError"]


class InvalidSpecificationError(CarnetError):
    """The protocol that was asked for is not well formed; each argument says what is wrong in one place."""

    kind = "specification"
    exit_code = ExitCode.USAGE

    @property
    def complaints(self) -> tuple[str, ...]:
        """Everything that is wrong."""
        return tuple(map(str, self.args))

    def __str__(self) -> str:
        return "; ".join(self.complaints)


class EngineError(CarnetError):
    """An engine contradicted itself or another one: the worst kind of bug this project can have."""

    kind = "internal"
    exit_code = ExitCode.INTERNAL


class EngineDisagreement(EngineError):
    """The interpreter does not confirm what an engine found: a defect of the engine."""
