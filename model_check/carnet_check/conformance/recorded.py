"""Checking recorded traces: reading a file of events, taking its steps in the machine, and the verdict."""

import contextlib
import json
import stat
from array import array
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final

from carnet_check.conformance.checks import CheckJudge, CheckRules, Clock, ClockJudge
from carnet_check.conformance.machine import Divergence, Follower, Machine
from carnet_check.errors import UsageError
from carnet_check.loading.extent import MOST_OF_ONE, MOST_PAIRS, pairs
from carnet_check.loading.families import Source, known_protocols, load, unknown_name
from carnet_check.loading.importing import specification_errors
from carnet_command.errors import CarnetError
from carnet_command.exit_codes import ExitCode
from carnet_command.text import join_words
from carnet_spec.language import Family, Instance, Profile, Protocol, Sort
from carnet_spec.language.terms import variables_in
from carnet_spec.trace import Header, TraceCheck, TraceEnd, TraceError, TraceEvent


class UncheckedTraceError(CarnetError):
    """A trace has no checks, although the caller requires them: nothing shows what the roles looked at."""

    kind = "unchecked"
    exit_code = ExitCode.VIOLATED


@dataclass(frozen=True, slots=True)
class Conformance:
    """Whether a recorded trace is a run of the spec, and if not, its first event that no run explains.

    ``header`` names the threat model of the verdict, even if the trace leaves it open. ``ignored`` counts the steps
    that parties report of themselves although they are corrupt under that threat model: such steps are no evidence.
    ``required`` counts the checks that the steps demand, ``seen`` the checks that were recorded; both are 0 if the
    trace is not a checked one.
    """

    header: Header
    protocol: Protocol
    events: int
    divergence: Divergence | None
    ignored: int = 0
    required: int = 0
    seen: int = 0

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
            "ignored": self.ignored,
            "first_divergence": where,
            "checked": self.header.checked,
            "checks": {"required": self.required, "seen": self.seen},
            "protocol": self.header.protocol,
            "variant": self.protocol.variant,
            "without": list(self.header.without),
            "threat": self.header.threat,
            "sizes": dict(self.header.sizes),
        }


def conform(file: Path, asked: str = "", *, require_checked: bool = False) -> Conformance:
    """Check the trace in ``file`` against the spec; the file is read twice, as the elements are collected first.

    ``asked`` is a reference to the protocol of the trace; the header has to name the same protocol. Without it, the
    header has to name a registered id: a trace must not decide which code runs. In the result, ``events`` counts the
    events before the divergence, or all.

    Raises UsageError if the file cannot be read, is not a trace, or asks for a design or an instance that does not
    exist, or for one that is too large; AmbiguousTraceError if the trace leaves out too many arguments to decide it;
    UncheckedTraceError if ``require_checked``, and the trace has steps alone.
    """
    refuse_pipe(file)
    lines = lines_of(file)
    first = next(lines, None)
    header = header_of(first)
    if require_checked and not header.checked:
        raise UncheckedTraceError(f"expected a trace with checks, found one with steps only: '{file}'")
    _check_removed(header)
    source = _source(header, asked)
    check_extent(header, source.family.fresh_sizes)
    source.sound_variant(header.variant)
    protocol = source.protocol(header.variant, header.without)
    mentioned = _contents_of(protocol, events(lines, header))
    judged = replace(header, threat=_threat(header, source.family, protocol, mentioned.actions))
    instance = _with_elements(
        source.instance(protocol, judged.threat, Profile("trace", dict(judged.sizes))), mentioned.elements
    )
    machine = Machine(protocol, instance, mentioned.elements, complete=header.checked)
    lines = lines_of(file)
    if next(lines, None) != first:
        raise UsageError(f"'{file}' changed while it was read")
    layers = _layers(source, protocol, header)
    checks = _checks(source, layers, mentioned.parties)
    clocks = ClockJudge(Clock.of(protocol, layers), mentioned.instants)
    judge = _Judge(judged, machine, checks, clocks, logged=header)
    return judge.conformance(events(lines, header))


def _layers(source: Source, protocol: Protocol, header: Header) -> list[Protocol]:
    """Return the design of a checked trace and the layers over it; for a trace without checks, nothing."""
    names = source.family.with_layers([protocol.variant]) if header.checked else ()
    return [source.protocol(name, header.without) for name in names]


def _checks(source: Source, layers: Sequence[Protocol], parties: Mapping[str, str]) -> CheckJudge:
    """Return the judge of a trace's checks, with the rules of its design and the layers over it."""
    family = source.family
    names = {*family.with_layers(family.main[:1]), *(layer.variant for layer in layers)} if layers else ()
    others = [source.family.draft_of(name).whole() for name in sorted(names)]
    return CheckJudge(CheckRules.of(layers, others), parties)


def verdict(file: Path) -> dict[str, Any]:
    """Return the outcome of checking the trace in ``file`` as plain values; other packages call this function.

    Raises CarnetError as :func:`conform`.
    """
    return conform(file).to_json()


class _Judge:
    """Judges a trace, event by event: its steps and, if it is a checked trace, its logs and checks.

    ``logged`` is the recorded header, to which logs are bound; ``header`` also names the chosen threat model. If the
    recorded header names none, steps that corrupt parties report of themselves are ignored.
    """

    def __init__(
        self, header: Header, machine: Machine, checks: CheckJudge, clocks: ClockJudge, *, logged: Header
    ) -> None:
        self._header = header
        self._protocol = machine.protocol
        self._unheard = frozenset() if logged.threat else machine.actions_of_corrupt_parties()
        self._follower = Follower(machine, self._unheard)
        self._checks = checks
        self._clocks = clocks
        self._logs = Logs(logged)
        self._steps = array("Q")
        """At which event each step is."""
        self._ignored = 0

    def conformance(self, events: Iterable[TraceEvent | TraceEnd]) -> Conformance:
        """Return the verdict on the events, up to the first that does not fit."""
        count, ended = 0, False
        for number, event in enumerate(events):
            found = self._close(number, event) if isinstance(event, TraceEnd) else self._take(number, event)
            if found is not None:
                return self._verdict(found.index + 1, found)
            ended = isinstance(event, TraceEnd)
            count += not ended
        if self._header.checked and not ended:
            return self._verdict(count, Divergence(count, TraceEnd(), "the trace breaks off before it ends"))
        return self._verdict(count, None)

    def _verdict(self, count: int, found: Divergence | None) -> Conformance:
        checks = self._checks
        return Conformance(self._header, self._protocol, count, found, self._ignored, checks.required, checks.seen)

    def _take(self, number: int, event: TraceEvent) -> Divergence | None:
        if self._header.checked:
            why = self._logs.take(event) or self._checks.take(event) or self._clocks.take(event)
            if why:
                return Divergence(number, event.step, why)
        if isinstance(event.step, TraceCheck):
            self._follower.work.add_event_allowance()
            return None
        self._steps.append(number)
        self._ignored += event.step.action in self._unheard
        found = self._follower.take(event.step)
        return None if found is None else replace(found, index=self._steps[found.index])

    def _close(self, number: int, end: TraceEnd) -> Divergence | None:
        why = self._logs.close(end) or self._checks.left()
        return Divergence(number, end, why) if why else None


def _check_removed(header: Header) -> None:
    twice = [name for name, count in Counter(header.without).items() if count > 1]
    if twice:
        raise UsageError(f"line 1: 'without' names '{twice[0]}' twice")


def _source(header: Header, asked: str) -> Source:
    """Return the protocol that the caller asked for, or the registered one that the header names."""
    if not asked and header.protocol not in known_protocols():
        known = unknown_name("protocol", header.protocol, "the registry", known_protocols())
        raise UsageError(f"line 1: {known}; any other is named on the command line, with --protocol PROTOCOL")
    source = load(asked or header.protocol)
    if header.protocol != source.family.id:
        raise UsageError(f"line 1: the trace is of '{header.protocol}', not of '{source.family.id}'")
    return source


def _threat(header: Header, family: Family, protocol: Protocol, actions: Collection[str]) -> str:
    """Return the threat model that a trace is judged under: the one it names, or the one that fits its actions."""
    threats = sorted(threat.id for threat in protocol.threats)
    if not threats:
        return header.threat
    chosen = header.threat
    if not chosen:
        if family.judged_under is None:
            said = f"line 1: the trace names no threat model, and '{family.id}' does not say which one fits"
            raise UsageError(f"{said}: name one of {', '.join(threats)}")
        with specification_errors(family.id):
            chosen = family.judged_under(actions)
    if chosen not in threats:
        raise UsageError(unknown_name("threat model", chosen, protocol.id, threats))
    return chosen


@dataclass(frozen=True, slots=True)
class _TraceContents:
    """What a trace mentions: actions, elements of each open sort in order, parties, and instants.

    A party has the role of its first event.
    """

    elements: Mapping[str, dict[str, None]]
    actions: set[str] = field(default_factory=set)
    parties: dict[str, str] = field(default_factory=dict)
    instants: set[float] = field(default_factory=set)


def _contents_of(protocol: Protocol, events: Iterable[TraceEvent | TraceEnd]) -> _TraceContents:
    mentioned = _TraceContents({sort.name: {} for sort in protocol.sorts if _is_open(sort, protocol)})
    sort_of = {
        (action.name, var.name): mentioned.elements[var.sort.name]
        for action in protocol.actions
        for var in action.params
        if var.sort.name in mentioned.elements
    }
    known = {action.name for action in protocol.actions}
    for event in events:
        if isinstance(event, TraceEnd):
            break
        if event.place is not None:
            mentioned.parties.setdefault(event.place.party, event.step.by)
        mentioned.instants.update(instant for _, instant in event.at)
        if isinstance(event.step, TraceCheck):
            continue
        if event.step.action in known:
            mentioned.actions.add(event.step.action)
        for name, element in event.step.args:
            sort = sort_of.get((event.step.action, name))
            if sort is not None:
                sort[element] = None
    return mentioned


def _is_open(sort: Sort, protocol: Protocol) -> bool:
    """Whether a trace may name any element of a sort.

    It may if the sort is drawn fresh or no rigid fact distinguishes elements, and no axiom says how many there are.
    """
    axioms = (*protocol.axioms, *(axiom for threat in protocol.threats for axiom in threat.axioms))
    if any(var.sort == sort for axiom in axioms for var in variables_in(axiom.formula)):
        return False
    rigid = {domain for symbol in protocol.symbols if not symbol.mutable for domain in symbol.domain}
    return sort.fresh or (not sort.is_enumeration and sort not in rigid)


def _with_elements(instance: Instance, named: Mapping[str, Mapping[str, None]]) -> Instance:
    """Return the instance with the elements that a trace names added to the open sorts."""
    grown = {
        sort: tuple(dict.fromkeys((*instance.elements.get(sort, ()), *elements))) for sort, elements in named.items()
    }
    return replace(instance, elements={**instance.elements, **grown})


# -- How large an instance a trace may request: checked before the instance is built ---------------

MOST_DRAWN: Final = 100_000  #: The largest size of a sort whose values are only drawn fresh.


def check_extent(header: Header, fresh_sizes: Collection[str]) -> None:
    """Refuse an instance that would take minutes or gigabytes to build.

    Raises UsageError if one size is too large, or all together are.

    Args:
        header: has the sizes of the instance.
        fresh_sizes: the names of sizes that only limit how many values may be drawn fresh, declared by the family.
    """
    for name, size in header.sizes:
        most = MOST_DRAWN if name in fresh_sizes else MOST_OF_ONE
        if size > most:
            raise UsageError(f"line 1: the size '{name}' is above {most:,}, the largest that a trace may have")
    if pairs(size for name, size in header.sizes if name not in fresh_sizes) > MOST_PAIRS:
        raise UsageError(
            f"line 1: {_without(fresh_sizes)} make more than {MOST_PAIRS:,} when multiplied, the largest twice"
        )


def _without(fresh_sizes: Collection[str]) -> str:
    """Return the words that exclude the sizes of values that are drawn fresh."""
    return f"the sizes other than {join_words(sorted(fresh_sizes))}" if fresh_sizes else "the sizes"


# --------------------------------------------------------------------------------------------------
# Logs: whether a checked trace has all events of each party, in order and unchanged.


@dataclass(slots=True)
class Logs:
    """Follows the hash chain of each party's log through a checked trace; each chain begins with the header."""

    header: Header
    ends: dict[str, tuple[int, str]] = field(default_factory=dict)

    def take(self, event: TraceEvent) -> str:
        """Take the next event; return why it is not the next entry of its log, or an empty text."""
        place = event.place
        if place is None:
            return "the event has no place in a log, as every event of a checked trace has"
        number, last = self.ends.get(place.party) or (0, self.header.design)
        if place.number != number:
            return f"expected event {number} of the log of '{place.party}', found event {place.number}"
        if place.before != last and not number:
            return f"'{place.party}' began its log in another design than the one that the header names"
        if place.before != last:
            return f"the event before it in the log of '{place.party}' is another than the one that was recorded"
        self.ends[place.party] = number + 1, event.digest
        return ""

    def close(self, end: TraceEnd) -> str:
        """Take the end of the trace; return which log has another end, or an empty text."""
        for party in sorted({*self.ends, *end.logs}):
            found, said = self.ends.get(party, (0, "")), end.logs.get(party, (0, ""))
            if found[0] != said[0]:
                return f"expected {said[0]:,} events in the log of '{party}', found {found[0]:,}"
            if found != said:
                return f"the last event in the log of '{party}' is another than the one that was recorded"
        return "" if end.header == self.header.digest else "the header is another than the one that was recorded"


# --------------------------------------------------------------------------------------------------
# Parsing a trace file: its lines as unambiguous JSON, its header, its events.

MOST_CHARACTERS: Final = 1 << 20  #: The longest line that is read; a step takes a few hundred characters.
MOST_IN_A_NAME: Final = 1_000  #: The most characters of a name in a trace.


def refuse_pipe(file: Path) -> None:
    """Refuse a pipe, as it cannot be read twice; a missing file is reported elsewhere.

    Raises UsageError if the file is a pipe.
    """
    with contextlib.suppress(OSError):
        if stat.S_ISFIFO(file.stat().st_mode):
            raise UsageError(f"'{file}' is read twice, so it has to be a plain file")


def lines_of(file: Path) -> Iterator[tuple[int, object]]:
    """Yield the number and the JSON value of every line.

    Raises UsageError if the file cannot be read, or a line is not unambiguous JSON.
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
    """A line is not unambiguous JSON; the message says why."""


def _value(line: str) -> object:
    """Return the value of one line.

    Raises _LineError if it is not JSON, or JSON that two parsers could read differently, or it has too long a name.

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
    """Yield every text inside a JSON value, at any depth."""
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


def header_of(first: tuple[int, object] | None) -> Header:
    """Read the header, which is the first line. Raises UsageError if there is no line, or it is not a header."""
    if first is None:
        raise UsageError("the trace is empty: its first line is a header")
    try:
        return Header.from_json(first[1])
    except TraceError as error:
        raise UsageError(f"line 1: {error}") from None


def events(lines: Iterator[tuple[int, object]], header: Header) -> Iterator[TraceEvent | TraceEnd]:
    """Yield the events of a trace; their clocks may not go back. Checked traces alone have checks, and an end.

    Raises UsageError if a line is no event, its clock goes back, or the trace may not have such an event there.
    """
    clock = 0
    for number, value in lines:
        try:
            event = _event(value)
        except TraceError as error:
            raise UsageError(f"line {number}: {error}") from None
        if not header.checked and (
            isinstance(event, TraceEnd) or isinstance(event.step, TraceCheck) or bool(event.place or event.at)
        ):
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


def _event(value: object) -> TraceEvent | TraceEnd:
    return TraceEnd.from_json(value) if isinstance(value, dict) and "end" in value else TraceEvent.from_json(value)
