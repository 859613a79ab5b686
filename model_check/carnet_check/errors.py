"""Errors of the checker, divided by whose fault they are; each class has its exit code."""

from carnet_command.errors import CarnetError, UsageError
from carnet_command.exit_codes import ExitCode

__all__ = ["CarnetError", "EngineDisagreement", "EngineError", "InvalidSpecificationError", "UsageError"]


class InvalidSpecificationError(CarnetError):
    """The requested protocol is not well formed; each argument of the exception is one complaint."""

    kind = "specification"
    exit_code = ExitCode.USAGE

    @property
    def complaints(self) -> tuple[str, ...]:
        """All complaints, one line each."""
        return tuple(map(str, self.args))

    def __str__(self) -> str:
        return "; ".join(self.complaints)


class EngineError(CarnetError):
    """An engine contradicts itself or another one: the worst kind of bug in this project."""

    kind = "internal"
    exit_code = ExitCode.INTERNAL


class EngineDisagreement(EngineError):
    """The interpreter does not confirm the result of an engine, which is a defect of the engine."""
