"""Traces: the value types for steps and runs that all later stages exchange.

A trace says which protocol it belongs to and lists steps by the names of actions, parameters and elements, so it can
be written by one engine, stored, and judged by another. There is no writer here: :meth:`Trace.to_json` gives values.

A trace that roles record while they run has a form of its own, a line for each event, so that it can be written and
judged as it grows: a :class:`Header` that says which design on which sizes, then one :class:`TraceEvent` after another.
In a *checked* trace events are steps and the checks that were made for them (:class:`TraceCheck`), each has its
:class:`LogPosition` in the log of its party, and a :class:`TraceEnd` says where each log ends. Each log begins with the
digest of the design, and the end has that of the whole header, so that a header does not change by itself.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from carnet_spec.language import markup
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
        """Read what :meth:`to_json` returned. Raises TraceError if it is not a step."""
        fields = _object(value, "a step")
        args = _object(fields.get("args", {}), "the arguments of a step")
        named = tuple((name, _text(args, name)) for name in args)
        return TraceStep(_text(fields, "action"), _text(fields, "by"), named)

    def __str__(self) -> str:
        return f"{self.action}({', '.join(f'{name}={element}' for name, element in self.args)})"


@dataclass(frozen=True, slots=True)
class Trace:
    """Steps of one protocol, from the first state on.

    ``variant``, ``without`` and ``threat`` say which design the steps were taken in. A *lasso* goes on for ever: the
    steps from number ``loop`` on, counted from 0, are taken again and again, or nothing is if there are none.
    """

    protocol: str
    variant: str
    without: tuple[str, ...]
    threat: str
    steps: tuple[TraceStep, ...]
    loop: int | None = None

    def to_json(self) -> dict[str, Any]:
        """Return plain values; only a lasso has a ``loop``."""
        return {
            "protocol": self.protocol,
            "variant": self.variant,
            "without": list(self.without),
            "threat": self.threat,
            "steps": [step.to_json() for step in self.steps],
            **({} if self.loop is None else {"loop": self.loop}),
        }

    def _repr_html_(self) -> str:
        return markup.steps(self.to_json())

    @staticmethod
    def from_json(value: object) -> Trace:
        """Read what :meth:`to_json` returned. Raises TraceError if it is not a trace."""
        fields = _object(value, "a trace")
        without = _texts(fields, "without", "the names of defences")
        steps = tuple(TraceStep.from_json(step) for step in _list(fields, "steps"))
        loop = _count(fields, "loop") if "loop" in fields else None
        if loop is not None and loop > len(steps):
            raise TraceError(f"expected 'loop' to be the number of a step, and there are {len(steps)}, not {loop}")
        return Trace(_text(fields, "protocol"), _text(fields, "variant"), without, _text(fields, "threat"), steps, loop)


RECORD_VERSION = 3  #: The version of recorded traces that this package writes and reads.


@dataclass(frozen=True, slots=True)
class Header:
    """The first line of a recorded trace: the design that was run, and the sizes of the instance it was run on.

    ``sizes`` are those of the protocol's family, by name; elements of sorts that are drawn fresh need no size, since
    each is new when it is first named. ``threat`` is empty where the judge is to choose the threat model. ``checked``
    says that roles recorded their checks and all of their steps, deduced ones among them: none may be missing.
    """

    protocol: str
    variant: str
    without: tuple[str, ...]
    threat: str
    sizes: tuple[tuple[str, int], ...] = ()
    checked: bool = False

    @property
    def design(self) -> str:
        """The digest of the design that was run: what the first event of every party's log names.

        Sizes are no part of it, since some of them are known at the end alone.
        """
        return _digest([self.protocol, self.variant, sorted(self.without), self.checked])

    @property
    def digest(self) -> str:
        """The digest of the whole header, which the end of a trace names."""
        return _digest(self.to_json())

    def to_json(self) -> dict[str, Any]:
        """Return plain values."""
        return {
            "carnet_trace": RECORD_VERSION,
            "protocol": self.protocol,
            "variant": self.variant,
            "without": list(self.without),
            "threat": self.threat,
            "sizes": dict(self.sizes),
            "checked": self.checked,
        }

    @staticmethod
    def from_json(value: object) -> Header:
        """Read what :meth:`to_json` returned.

        Raises TraceError if it is not the header of a trace, or of another version.
        """
        fields = _object(value, "the header of a trace")
        if "carnet_trace" not in fields:
            raise TraceError("the first line is the header of a trace, with its version under 'carnet_trace'")
        if fields["carnet_trace"] != RECORD_VERSION:
            raise TraceError(f"version {fields['carnet_trace']!r} of traces is not known, only {RECORD_VERSION} is")
        sizes = _object(fields.get("sizes", {}), "'sizes'")
        for name, size in sizes.items():
            if not isinstance(size, int) or isinstance(size, bool) or size < 0:
                raise TraceError(f"expected the size '{name}' to be a whole number, not {_describe_json(size)}")
        return Header(
            _text(fields, "protocol"),
            _text(fields, "variant"),
            _texts(fields, "without", "the names of defences"),
            _text(fields, "threat"),
            tuple(sizes.items()),
            _truth(fields, "checked") if "checked" in fields else False,
        )


@dataclass(frozen=True, slots=True)
class TraceCheck:
    """One check that a role made: the defence and the requirement that it is about, what it saw, what came of it.

    ``saw`` is the SHA-256 of what was looked at, in hexadecimal; if that came in a message, ``sender`` is the party
    that it is said to be from. ``action`` names the step that the check was made for; it is empty if none was taken.
    """

    by: str
    defence: str
    requirement: str
    saw: str
    holds: bool
    sender: str = ""
    action: str = ""

    def to_json(self) -> dict[str, Any]:
        """Return plain values."""
        return {
            "check": self.defence,
            "requirement": self.requirement,
            "by": self.by,
            "for": self.action,
            "saw": self.saw,
            "sender": self.sender,
            "holds": self.holds,
        }

    @staticmethod
    def from_json(value: object) -> TraceCheck:
        """Read what :meth:`to_json` returned. Raises TraceError if it is not a check."""
        fields = _object(value, "a check")
        return TraceCheck(
            _text(fields, "by"),
            _text(fields, "check"),
            _text(fields, "requirement"),
            _text(fields, "saw"),
            _truth(fields, "holds"),
            _text(fields, "sender"),
            _text(fields, "for"),
        )

    def __str__(self) -> str:
        made = f"check {self.defence} ({self.requirement}) for {self.action or 'no step'}"
        return f"{made}: {'holds' if self.holds else 'fails'}"


@dataclass(frozen=True, slots=True)
class LogPosition:
    """Where in its party's log an event is: its number, from 0, and the digest of the event before it.

    Before the first event of a log stands the digest of the design.
    """

    party: str
    number: int
    before: str

    def to_json(self) -> dict[str, Any]:
        """Return plain values."""
        return {"party": self.party, "number": self.number, "before": self.before}

    @staticmethod
    def from_json(value: object) -> LogPosition:
        """Read what :meth:`to_json` returned. Raises TraceError if it is not a place."""
        fields = _object(value, "a place in a log")
        return LogPosition(_text(fields, "party"), _count(fields, "number"), _text(fields, "before"))


@dataclass(frozen=True, slots=True)
class TraceEvent:
    """One line of a recorded trace: a step or a check, and the logical clock of the role that recorded it.

    Clocks never decrease along a trace. Arguments that the recording role cannot see are left out of the step.
    In checked traces only are there ``place``, ``sent``, the digests of the messages that the step sent, and ``at``:
    what the role's clock showed, and until when what it grants or relies on is good, by the names that a layer with a
    clock has for them.
    """

    clock: int
    step: TraceStep | TraceCheck
    place: LogPosition | None = None
    sent: tuple[str, ...] = ()
    at: tuple[tuple[str, float], ...] = ()

    def to_json(self) -> dict[str, Any]:
        """Return plain values."""
        event = {"clock": self.clock, **self.step.to_json()}
        if self.place is not None:
            event |= self.place.to_json()
        event |= {"sent": list(self.sent)} if self.sent else {}
        return event | ({"at": dict(self.at)} if self.at else {})

    @property
    def digest(self) -> str:
        """The first half of the SHA-256 of the event, in hexadecimal: what the next event of its log names."""
        return _digest(self.to_json())

    @staticmethod
    def from_json(value: object) -> TraceEvent:
        """Read what :meth:`to_json` returned. Raises TraceError if it is not an event."""
        fields = _object(value, "an event")
        clock = _count(fields, "clock")
        sent = _texts(fields, "sent", "digests") if "sent" in fields else ()
        step = TraceCheck.from_json(fields) if "check" in fields else TraceStep.from_json(fields)
        place = LogPosition.from_json(fields) if "party" in fields else None
        at = _object(fields.get("at", {}), "'at'")
        return TraceEvent(clock, step, place, sent, tuple((name, _seconds(at, name)) for name in at))


@dataclass(frozen=True, slots=True)
class TraceEnd:
    """The last line of a checked trace: how many events the log of each party has, and the digest of the last.

    ``header`` is the digest of the first line.
    """

    logs: Mapping[str, tuple[int, str]] = field(default_factory=dict)
    header: str = ""

    def to_json(self) -> dict[str, Any]:
        """Return plain values."""
        logs = {party: {"events": count, "last": last} for party, (count, last) in self.logs.items()}
        return {"end": logs, "header": self.header}

    @staticmethod
    def from_json(value: object) -> TraceEnd:
        """Read what :meth:`to_json` returned. Raises TraceError if it is not the end of a trace."""
        fields = _object(value, "the end of a trace")
        logs = _object(fields.get("end"), "'end'")
        found = {party: _object(log, f"the end of the log of '{party}'") for party, log in logs.items()}
        ends = {party: (_count(log, "events"), _text(log, "last")) for party, log in found.items()}
        return TraceEnd(ends, _text(fields, "header"))

    def __str__(self) -> str:
        return "the end of the trace"


_ENCODER = json.JSONEncoder(sort_keys=True, separators=(",", ":"))


def _digest(value: object) -> str:
    """Return the first half of the SHA-256 of a JSON value, in hexadecimal."""
    return hashlib.sha256(_ENCODER.encode(value).encode()).hexdigest()[:32]


def _object(value: object, what: str) -> Mapping[str, Any]:
    if not isinstance(value, dict):
        raise TraceError(f"expected {what} to be an object, not {_describe_json(value)}")
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


def _texts(fields: Mapping[str, Any], name: str, what: str) -> tuple[str, ...]:
    values = _list(fields, name)
    if not all(isinstance(value, str) for value in values):
        raise TraceError(f"'{name}' lists {what}")
    return tuple(values)


def _truth(fields: Mapping[str, Any], name: str) -> bool:
    value = fields.get(name)
    if not isinstance(value, bool):
        raise _unexpected(fields, name, "true or false", value)
    return value


def _count(fields: Mapping[str, Any], name: str) -> int:
    value = fields.get(name)
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        raise _unexpected(fields, name, "a whole number", value)
    return value


def _seconds(fields: Mapping[str, Any], name: str) -> float:
    value = fields.get(name)
    if not isinstance(value, int | float) or isinstance(value, bool) or not math.isfinite(value):
        raise _unexpected(fields, name, "a number of seconds", value)
    return value


def _unexpected(fields: Mapping[str, Any], name: str, expected: str, came: object) -> TraceError:
    """Say what was expected under a name, and what is there instead, if anything is."""
    found = f", not {_describe_json(came)}" if name in fields else "; it is missing"
    return TraceError(f"expected '{name}' to be {expected}{found}")


def _describe_json(value: object) -> str:
    """Say what a JSON value is: a number itself, of anything else the kind."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        return str(value)
    kinds = {dict: "an object", list: "a list", str: "a text", bool: "true or false"}
    return kinds.get(type(value), "null")
