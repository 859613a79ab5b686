"""Traces: the value types that every later stage exchanges.

A trace says which protocol it belongs to and lists steps by the names of actions, parameters and elements, so it can
be written by one engine, stored, and judged by another. There is no writer here: :meth:`Trace.to_json` gives plain
values for one.

A trace that roles record while they run has a form of its own, a line for each event, so that it can be written and
judged as it grows: a :class:`Header` that says which design on which sizes, then one :class:`TraceEvent` after another.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from carnet_spec.language.errors import SpecificationError


class TraceError(SpecificationError):
    """The text read is not a trace."""


@dataclass(frozen=True, slots=True)
class TraceStep:
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
    def from_json(value: object) -> TraceStep:
        """Read what :meth:`to_json` returned.

        Raises:
            TraceError: it is not a step.
        """
        fields = _object(value, "a step")
        args = _object(fields.get("args", {}), "the arguments of a step")
        return TraceStep(
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
    steps: tuple[TraceStep, ...]

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
            tuple(TraceStep.from_json(step) for step in _list(fields, "steps")),
        )


RECORD_VERSION = 1
"""The version of recorded traces that this package writes and reads."""


@dataclass(frozen=True, slots=True)
class Header:
    """The first line of a recorded trace: the design that was run, and the sizes of the instance it was run on.

    ``sizes`` are those of the protocol's family, by name; elements of sorts that are drawn fresh need no size, since
    each is new when it is first named. ``threat`` is empty where the judge is to choose the threat model.
    """

    protocol: str
    variant: str
    without: tuple[str, ...]
    threat: str
    sizes: tuple[tuple[str, int], ...] = ()

    def to_json(self) -> dict[str, Any]:
        """Return plain values."""
        return {
            "carnet_trace": RECORD_VERSION,
            "protocol": self.protocol,
            "variant": self.variant,
            "without": list(self.without),
            "threat": self.threat,
            "sizes": dict(self.sizes),
        }

    @staticmethod
    def from_json(value: object) -> Header:
        """Read what :meth:`to_json` returned.

        Raises:
            TraceError: it is not the header of a trace, or of another version.
        """
        fields = _object(value, "the header of a trace")
        if "carnet_trace" not in fields:
            raise TraceError("the first line is the header of a trace, with its version under 'carnet_trace'")
        if fields["carnet_trace"] != RECORD_VERSION:
            raise TraceError(f"version {fields['carnet_trace']!r} of traces is not known, only {RECORD_VERSION} is")
        without = _list(fields, "without")
        if not all(isinstance(defence, str) for defence in without):
            raise TraceError("'without' lists the names of defences")
        sizes = _object(fields.get("sizes", {}), "'sizes'")
        for name, size in sizes.items():
            if not isinstance(size, int) or isinstance(size, bool) or size < 0:
                raise TraceError(f"expected the size '{name}' to be a whole number, not {_came(size)}")
        return Header(
            _text(fields, "protocol"),
            _text(fields, "variant"),
            tuple(without),
            _text(fields, "threat"),
            tuple(sizes.items()),
        )


@dataclass(frozen=True, slots=True)
class TraceEvent:
    """One line of a recorded trace: a step, and the logical clock of the role that recorded it.

    Clocks never decrease along a trace. Arguments that the recording role cannot see are left out of the step.
    """

    clock: int
    step: TraceStep

    def to_json(self) -> dict[str, Any]:
        """Return plain values."""
        return {"clock": self.clock, **self.step.to_json()}

    @staticmethod
    def from_json(value: object) -> TraceEvent:
        """Read what :meth:`to_json` returned.

        Raises:
            TraceError: it is not an event.
        """
        fields = _object(value, "an event")
        clock = fields.get("clock")
        if not isinstance(clock, int) or isinstance(clock, bool) or clock < 0:
            raise _unexpected(fields, "clock", "a whole number", clock)
        return TraceEvent(clock, TraceStep.from_json(fields))


def _object(value: object, what: str) -> Mapping[str, Any]:
    if not isinstance(value, dict):
        raise TraceError(f"expected {what} to be an object, not {_came(value)}")
    return value


def _text(fields: Mapping[str, Any], name: str) -> str:
    value = fields.get(name)
    if not isinstance(value, str):
        raise _unexpected(fields, name, "a text", value)
    return value


def _list(fields: Mapping[str, Any], name: str) -> Sequence[Any]:
    value = fields.get(name)
    if not isinstance(value, list):
        raise _unexpected(fields, name, "a list", value)
    return value


def _unexpected(fields: Mapping[str, Any], name: str, expected: str, came: object) -> TraceError:
    """Say what was expected under a name, and what is there instead, if anything is."""
    found = f", not {_came(came)}" if name in fields else "; it is missing"
    return TraceError(f"expected '{name}' to be {expected}{found}")


def _came(value: object) -> str:
    """Say what a JSON value is: a number itself, of anything else the kind."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        return str(value)
    kinds = {dict: "an object", list: "a list", str: "a text", bool: "true or false"}
    return kinds.get(type(value), "null")
