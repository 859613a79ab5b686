"""A trace file as values: its lines as JSON that means one thing only, its header, its events."""

from __future__ import annotations

import contextlib
import json
import stat
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from carnet_check.errors import UsageError
from carnet_spec.trace import Header, TraceCheck, TraceEnd, TraceError, TraceEvent

MOST_CHARACTERS: Final = 1 << 20
"""The longest line that is read; a step takes a few hundred characters."""
MOST_IN_A_NAME: Final = 1_000
"""The most characters of a name in a trace."""


def refuse_pipe(file: Path) -> None:
    """Refuse a pipe, which has nothing left when it is read a second time; a missing file is not looked at here.

    Raises:
        UsageError: it is a pipe.
    """
    with contextlib.suppress(OSError):
        if stat.S_ISFIFO(file.stat().st_mode):
            raise UsageError(f"'{file}' is read twice, so it has to be a plain file")


def lines(file: Path) -> Iterator[tuple[int, object]]:
    """Yield the number and the JSON value of every line.

    Raises:
        UsageError: the file cannot be read, or a line is no JSON to rely on.
    """
    number = 0
    try:
        with file.open(encoding="utf-8") as stream:
            while line := stream.readline(MOST_CHARACTERS):
                number += 1
                if len(line) == MOST_CHARACTERS:
                    raise UsageError(
                        f"'{file}' is not a trace: line {number} has more than {MOST_CHARACTERS - 1:,} characters"
                    )
                yield number, _value(line)
    except OSError as error:
        raise UsageError(f"cannot read '{file}': {error.strerror}") from None
    except UnicodeDecodeError:
        raise UsageError(f"'{file}' is not a trace: it is not text in UTF-8") from None
    except _LineError as error:
        raise UsageError(f"'{file}' is not a trace: line {number} {error}") from None


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
        raise _LineError("contains half of a surrogate pair") from None
    except (ValueError, RecursionError):
        raise _LineError("is not JSON") from None
    if longest > MOST_IN_A_NAME:
        raise _LineError(f"has a name of {longest:,} characters, more than {MOST_IN_A_NAME:,}")
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


def header(first: tuple[int, object] | None) -> Header:
    """Read the header, which is the first line.

    Raises:
        UsageError: there is no line, or it is no header.
    """
    if first is None:
        raise UsageError("the trace is empty: its first line is a header")
    try:
        return Header.from_json(first[1])
    except TraceError as error:
        raise UsageError(f"line 1: {error}") from None


def events(lines: Iterator[tuple[int, object]], header: Header) -> Iterator[TraceEvent | TraceEnd]:
    """Read events, whose clocks may not go back; the end comes last, and in checked traces only, as checks do.

    Raises:
        UsageError: a line is no event, its clock goes back, or it is not for such a trace.
    """
    clock = 0
    for number, value in lines:
        try:
            event = _event(value)
        except TraceError as error:
            raise UsageError(f"line {number}: {error}") from None
        if not header.checked and _only_checked(event):
            raise UsageError(
                f"line {number}: only a checked trace has this, and its header does not say that it is one"
            )
        if isinstance(event, TraceEnd):
            yield event
            break
        if event.clock < clock:
            raise UsageError(f"line {number}: the clock goes back from {clock} to {event.clock}")
        clock = event.clock
        yield event
    after = next(lines, None)
    if after is not None:
        raise UsageError(f"line {after[0]}: the trace ends on the line before")


def _only_checked(event: TraceEvent | TraceEnd) -> bool:
    """Whether an event is, or has, what only a checked trace has."""
    return isinstance(event, TraceEnd) or isinstance(event.step, TraceCheck) or bool(event.place or event.at)


def _event(value: object) -> TraceEvent | TraceEnd:
    return TraceEnd.from_json(value) if isinstance(value, dict) and "end" in value else TraceEvent.from_json(value)
