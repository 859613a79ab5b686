"""Traces: the value types that every later stage exchanges.

A trace says which protocol it belongs to and lists steps by the names of actions, parameters and elements, so it can
be written by one engine, stored, and judged by another. There is no writer here: :meth:`Trace.to_json` gives plain
values for one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from carnet_spec.language.errors import SpecificationError


class TraceError(SpecificationError):
    """What was read is no trace."""


@dataclass(frozen=True, slots=True)
class Step:
    """One action taken by one role, with the element chosen for each parameter."""

    action: str
    by: str
    args: tuple[tuple[str, str], ...] = ()

    @property
    def env(self) -> dict[str, str]:
        """The arguments by parameter name."""
        return dict(self.args)

    def to_json(self) -> dict[str, Any]:
        """Return plain values."""
        return {"action": self.action, "by": self.by, "args": dict(self.args)}

    @staticmethod
    def from_json(value: object) -> Step:
        """Read what :meth:`to_json` returned.

        Raises:
            TraceError: it is not a step.
        """
        fields = _object(value, "a step")
        args = _object(fields.get("args", {}), "the arguments of a step")
        return Step(
            _text(fields, "action"),
            _text(fields, "by"),
            tuple((name, _text(args, name)) for name in args),
        )

    def __str__(self) -> str:
        return f"{self.action}({', '.join(f'{name}={element}' for name, element in self.args)})"


@dataclass(frozen=True, slots=True)
class Trace:
    """Steps of one protocol, from the first state on.

    ``variant``, ``without`` and ``threat`` say which design the steps were taken in.
    """

    protocol: str
    variant: str
    without: tuple[str, ...]
    threat: str
    steps: tuple[Step, ...]

    def to_json(self) -> dict[str, Any]:
        """Return plain values."""
        return {
            "protocol": self.protocol,
            "variant": self.variant,
            "without": list(self.without),
            "threat": self.threat,
            "steps": [step.to_json() for step in self.steps],
        }

    @staticmethod
    def from_json(value: object) -> Trace:
        """Read what :meth:`to_json` returned.

        Raises:
            TraceError: it is not a trace.
        """
        fields = _object(value, "a trace")
        without = _list(fields, "without")
        if not all(isinstance(defence, str) for defence in without):
            raise TraceError("'without' lists the names of defences")
        return Trace(
            _text(fields, "protocol"),
            _text(fields, "variant"),
            tuple(without),
            _text(fields, "threat"),
            tuple(Step.from_json(step) for step in _list(fields, "steps")),
        )


def _object(value: object, what: str) -> Mapping[str, Any]:
    if not isinstance(value, dict):
        raise TraceError(f"{what} is an object, not {type(value).__name__}")
    return value


def _text(fields: Mapping[str, Any], name: str) -> str:
    value = fields.get(name)
    if not isinstance(value, str):
        raise TraceError(f"'{name}' is a text, not {type(value).__name__}")
    return value


def _list(fields: Mapping[str, Any], name: str) -> Sequence[Any]:
    value = fields.get(name)
    if not isinstance(value, list):
        raise TraceError(f"'{name}' is a list, not {type(value).__name__}")
    return value
