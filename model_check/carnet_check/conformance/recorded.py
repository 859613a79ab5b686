"""Recorded traces: from a file of events to the machine that follows them, and to the verdict."""

from __future__ import annotations

import contextlib
import json
import math
import stat
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

from carnet_check.conformance.following import Divergence, Follower
from carnet_check.conformance.machine import Machine
from carnet_check.errors import UsageError
from carnet_check.loading.families import Source, known_protocols, load, unknown
from carnet_spec.language import Instance, Profile, Protocol
from carnet_spec.trace import Event, Header, TraceError

MOST_CHARACTERS: Final = 1 << 20
"""The longest line that is read; a step takes a few hundred characters."""
DRAWN_FRESH: Final = frozenset({"rounds", "sessions"})
"""The sizes that only say how many keys and sessions may be drawn: these have no relations among each other."""
MOST_DRAWN: Final = 100_000
"""The largest of those sizes."""
MOST_OF_ONE: Final = 1_000
"""The largest of any other size."""
MOST_PAIRS: Final = 1_000_000
"""How much those others may be when multiplied, the largest twice: some tables have a row for every pair."""
MOST_IN_A_NAME: Final = 1_000
"""The most characters of a name in a trace."""


@dataclass(frozen=True, slots=True)
class Conformance:
    """Whether a recorded trace is a run of the spec, and if not, the first event that is none."""

    header: Header
    protocol: Protocol
    events: int
    divergence: Divergence | None

    @property
    def conforms(self) -> bool:
        """Whether every event is a step that the spec allows there."""
        return self.divergence is None

    def to_json(self) -> dict[str, Any]:
        """Return plain values: the verdict, and the design and the instance that it is about."""
        found = self.divergence
        where = None if found is None else {"index": found.index, "event": found.step.to_json(), "why": found.why}
        return {
            "conforms": self.conforms,
            "events": self.events,
            "first_divergence": where,
            "protocol": self.header.protocol,
            "variant": self.protocol.variant,
            "without": list(self.header.without),
            "threat": self.header.threat,
            "sizes": dict(self.header.sizes),
        }


def conform(file: Path, asked: str = "") -> Conformance:
    """Follow the trace in ``file``, which is read twice: elements are collected first.

    ``events`` counts those up to the divergence, or all. ``asked`` is the protocol whose trace it is, by any reference:
    the header has to agree. Without it the header names a registered id, as a trace must not say which code to run.

    Raises:
        UsageError: the file cannot be read, is no trace, or asks for a design or an instance that does not exist, or
            for one that is larger than ``MOST_DRAWN``, ``MOST_OF_ONE`` and ``MOST_PAIRS`` allow.
        AmbiguousTraceError: the trace leaves out too many arguments to decide it.
    """
    _refuse_pipe(file)
    lines = _lines(file)
    first = next(lines, None)
    header = _header(first)
    _check_extent(header)
    source = _source(header, asked)
    source.sound(header.variant)
    protocol = source.protocol(header.variant, header.without)
    named = _named(protocol, _events(lines))
    instance = _grown(_instance(source, protocol, header), named)
    follower = Follower(Machine(protocol, instance, named))
    events = 0
    lines = _lines(file)
    if next(lines, None) != first:
        raise UsageError(f"'{file}' changed while it was read")
    for event in _events(lines):
        events += 1
        divergence = follower.take(event.step)
        if divergence is not None:
            return Conformance(header, protocol, divergence.index + 1, divergence)
    return Conformance(header, protocol, events, None)


def verdict(file: Path) -> dict[str, Any]:
    """Return what came of following the trace in ``file``, as plain values: what other packages call.

    Raises:
        CarnetError: as :func:`conform`.
    """
    return conform(file).to_json()


def _refuse_pipe(file: Path) -> None:
    """Refuse what has nothing left when it is read once more; a file that is missing is not looked at here."""
    with contextlib.suppress(OSError):
        if stat.S_ISFIFO(file.stat().st_mode):
            raise UsageError(f"'{file}' is read twice, so it has to be a plain file")


def _lines(file: Path) -> Iterator[tuple[int, object]]:
    """Yield the number and the JSON value of every line."""
    number = 0
    try:
        with file.open(encoding="utf-8") as stream:
            while line := stream.readline(MOST_CHARACTERS):
                number += 1
                if len(line) == MOST_CHARACTERS:
                    raise UsageError(f"'{file}' is no trace: line {number} does not end")
                yield number, _value(line)
    except OSError as error:
        raise UsageError(f"cannot read '{file}': {error.strerror}") from None
    except UnicodeDecodeError:
        raise UsageError(f"'{file}' is no trace: it is not text in UTF-8") from None
    except _LineError as error:
        raise UsageError(f"'{file}' is no trace: line {number} {error}") from None


class _LineError(Exception):
    """A line that is no JSON to rely on; says what is wrong with it."""


def _value(line: str) -> object:
    """Return the value of one line.

    Raises:
        _LineError: it is not JSON, or JSON that two readers could take for different things, or has too long a name.

    Source: RFC 8259, sections 4 (names that are not unique), 8.2 (halves of characters) and 9 (limits).
    """
    try:
        value = json.loads(line, object_pairs_hook=_without_doubles)
        if r"\u" in line:
            json.dumps(value, ensure_ascii=False).encode()
        longest = max(map(len, _texts(value)), default=0) if len(line) > MOST_IN_A_NAME else 0
    except UnicodeEncodeError:
        raise _LineError("has half a character in it") from None
    except (ValueError, RecursionError):
        raise _LineError("is not JSON") from None
    if longest > MOST_IN_A_NAME:
        raise _LineError(f"has a name of {longest:,} characters, and names have at most {MOST_IN_A_NAME:,}")
    return value


def _texts(value: object) -> Iterator[str]:
    """Yield every text inside a JSON value, however deep."""
    waiting = [value]
    while waiting:
        match waiting.pop():
            case str() as text:
                yield text
            case list() as values:
                waiting += values
            case dict() as fields:
                waiting += (*fields, *fields.values())


def _without_doubles(pairs: list[tuple[str, object]]) -> dict[str, object]:
    fields = dict(pairs)
    if len(fields) != len(pairs):
        twice = Counter(name for name, _ in pairs).most_common(1)[0][0]
        raise _LineError(f"names '{twice[:MOST_IN_A_NAME]}' twice in one object")
    return fields


def _header(first: tuple[int, object] | None) -> Header:
    if first is None:
        raise UsageError("the trace is empty: its first line is a header")
    try:
        return Header.from_json(first[1])
    except TraceError as error:
        raise UsageError(f"line 1: {error}") from None


def _events(lines: Iterator[tuple[int, object]]) -> Iterator[Event]:
    """Read events, whose clocks may not go back."""
    clock = 0
    for number, value in lines:
        try:
            event = Event.from_json(value)
        except TraceError as error:
            raise UsageError(f"line {number}: {error}") from None
        if event.clock < clock:
            raise UsageError(f"line {number}: the clock goes back from {clock} to {event.clock}")
        clock = event.clock
        yield event


def _check_extent(header: Header) -> None:
    """Refuse what would take minutes or gigabytes to build, before anything of it is built."""
    twice = [name for name, count in Counter(header.without).items() if count > 1]
    if twice:
        raise UsageError(f"line 1: 'without' names '{twice[0]}' twice")
    for name, size in header.sizes:
        most = MOST_DRAWN if name in DRAWN_FRESH else MOST_OF_ONE
        if size > most:
            raise UsageError(f"line 1: the size '{name}' is above {most:,}, up to which traces are followed")
    others = [size for name, size in header.sizes if size and name not in DRAWN_FRESH]
    if math.prod(others) * max(others, default=1) > MOST_PAIRS:
        drawn = " and ".join(sorted(DRAWN_FRESH))
        raise UsageError(
            f"line 1: the sizes other than {drawn} make more than {MOST_PAIRS:,} when multiplied, the largest twice"
        )


def _source(header: Header, asked: str) -> Source:
    """Return the protocol that the caller asked for, or the registered one that the header names."""
    if not asked and header.protocol not in known_protocols():
        known = unknown("protocol", header.protocol, "the registry", known_protocols())
        raise UsageError(f"line 1: {known}; any other is named on the command line, with --protocol PROTOCOL")
    source = load(asked or header.protocol)
    if header.protocol != source.family.id:
        raise UsageError(f"line 1: the trace is of '{header.protocol}', not of '{source.family.id}'")
    return source


def _instance(source: Source, protocol: Protocol, header: Header) -> Instance:
    """Build the instance that the header's sizes make under its threat model."""
    threats = {threat.id for threat in protocol.threats}
    if threats and header.threat not in threats:
        raise UsageError(unknown("threat model", header.threat, protocol.id, sorted(threats)))
    return source.instance(protocol, header.threat, Profile("trace", dict(header.sizes)))


def _named(protocol: Protocol, events: Iterator[Event]) -> Mapping[str, Mapping[str, None]]:
    """Return the elements that a trace names of each sort that is drawn fresh, in order."""
    named: dict[str, dict[str, None]] = {sort.name: {} for sort in protocol.sorts if sort.fresh}
    sort_of = {
        (action.name, var.name): named[var.sort.name]
        for action in protocol.actions
        for var in action.params
        if var.sort.name in named
    }
    for event in events:
        for name, element in event.step.args:
            sort = sort_of.get((event.step.action, name))
            if sort is not None:
                sort[element] = None
    return named


def _grown(instance: Instance, named: Mapping[str, Mapping[str, None]]) -> Instance:
    """Add the elements that a trace names to the sorts that are drawn fresh."""
    grown = {
        sort: tuple(dict.fromkeys((*instance.elements.get(sort, ()), *elements))) for sort, elements in named.items()
    }
    return replace(instance, elements={**instance.elements, **grown})
