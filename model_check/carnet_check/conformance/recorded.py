"""Checking recorded traces: from a file of events to the machine that follows them, and to the verdict."""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from carnet_check.conformance import trace_file
from carnet_check.conformance.checks import Asked, CheckJudge
from carnet_check.conformance.clocks import Clock, ClockJudge
from carnet_check.conformance.extent import check_extent
from carnet_check.conformance.following import Divergence, Follower
from carnet_check.conformance.logs import Logs
from carnet_check.conformance.machine import Machine
from carnet_check.errors import UsageError
from carnet_check.loading.families import Source, known_protocols, load, unknown
from carnet_check.loading.importing import blamed_on_the_specification
from carnet_command.errors import CarnetError
from carnet_command.exit_codes import ExitCode
from carnet_spec.language import Family, Instance, Profile, Protocol, Sort
from carnet_spec.trace import Header, TraceCheck, TraceEnd, TraceEvent


class UncheckedTraceError(CarnetError):
    """A trace has no checks though they were asked for: it says nothing of what roles looked at."""

    kind = "unchecked"
    exit_code = ExitCode.VIOLATED


@dataclass(frozen=True, slots=True)
class Conformance:
    """Whether a recorded trace is a run of the spec, and if not, the first event that is not a step of it.

    ``header`` names the threat model that the trace was judged under, also where the trace leaves it to the judge.
    ``ignored`` counts the steps that parties which are corrupt under it report of themselves: they are no evidence.
    ``required`` counts the checks that the steps demand, ``seen`` all that were recorded: none where the trace is not a
    checked one.
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
    """Check the trace in ``file`` against the spec; the file is read twice, since elements are collected first.

    ``events`` counts those up to the divergence, or all. ``asked`` is the protocol whose trace it is, by any reference:
    the header has to agree. Without it the header names a registered id, as a trace must not say which code to run.

    Raises:
        UsageError: the file cannot be read, is not a trace, or asks for a design or an instance that does not exist, or
            for one that is too large.
        AmbiguousTraceError: the trace leaves out too many arguments to decide it.
        UncheckedTraceError: ``require_checked``, and the trace has steps alone.
    """
    trace_file.refuse_pipe(file)
    lines = trace_file.lines(file)
    first = next(lines, None)
    header = trace_file.header(first)
    if require_checked and not header.checked:
        raise UncheckedTraceError(f"expected a trace with checks, found one with steps only: '{file}'")
    _check_removed(header)
    source = _source(header, asked)
    check_extent(header, source.family.fresh_sizes)
    source.sound(header.variant)
    protocol = source.protocol(header.variant, header.without)
    mentioned = _mentioned(protocol, trace_file.events(lines, header))
    judged = replace(header, threat=_threat(header, source.family, protocol, mentioned.actions))
    instance = _grown(_instance(source, protocol, judged), mentioned.elements)
    machine = Machine(protocol, instance, mentioned.elements, complete=header.checked)
    lines = trace_file.lines(file)
    if next(lines, None) != first:
        raise UsageError(f"'{file}' changed while it was read")
    layers = _layers(source, protocol, header)
    checks = _checks(source, layers, mentioned.parties)
    clocks = ClockJudge(Clock.of(protocol, layers), mentioned.instants)
    judge = _Judge(judged, machine, checks, clocks, logged=header)
    return judge.conformance(trace_file.events(lines, header))


def _layers(source: Source, protocol: Protocol, header: Header) -> list[Protocol]:
    """Return the design of a checked trace and the layers over it; of any other, nothing is judged by layers."""
    names = source.family.with_layers([protocol.variant]) if header.checked else ()
    return [source.protocol(name, header.without) for name in names]


def _checks(source: Source, layers: Sequence[Protocol], parties: Mapping[str, str]) -> CheckJudge:
    """Return what judges the checks of a trace, if it is a checked one: by its design and the layers over that."""
    family = source.family
    names = {*family.with_layers(family.main[:1]), *(layer.variant for layer in layers)} if layers else ()
    others = [source.family.drafted(name).whole() for name in sorted(names)]
    return CheckJudge(Asked.of(layers, others), parties)


def verdict(file: Path) -> dict[str, Any]:
    """Return the outcome of checking the trace in ``file``, as plain values: what other packages call.

    Raises:
        CarnetError: as :func:`conform`.
    """
    return conform(file).to_json()


class _Judge:
    """Goes along a trace: the machine takes its steps and, if it is checked, logs and checks are looked at.

    ``logged`` is the header as it was recorded, to which logs are bound; ``header`` names the threat model that was
    chosen. If the recorded one names none, what corrupt parties report of themselves is passed over.
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
            self._follower.work.allow_event()
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
        known = unknown("protocol", header.protocol, "the registry", known_protocols())
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
        with blamed_on_the_specification(family.id):
            chosen = family.judged_under(actions)
    if chosen not in threats:
        raise UsageError(unknown("threat model", chosen, protocol.id, threats))
    return chosen


def _instance(source: Source, protocol: Protocol, header: Header) -> Instance:
    """Build the instance that the header's sizes make under its threat model."""
    return source.instance(protocol, header.threat, Profile("trace", dict(header.sizes)))


@dataclass(frozen=True, slots=True)
class _Mentioned:
    """What a trace mentions: actions, elements of each sort that takes any, in order, parties, and instants.

    A party has the role that its first event is of.
    """

    elements: Mapping[str, dict[str, None]]
    actions: set[str] = field(default_factory=set)
    parties: dict[str, str] = field(default_factory=dict)
    instants: set[float] = field(default_factory=set)


def _mentioned(protocol: Protocol, events: Iterable[TraceEvent | TraceEnd]) -> _Mentioned:
    mentioned = _Mentioned({sort.name: {} for sort in protocol.sorts if _is_open(sort, protocol)})
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
    """Whether a sort takes any element that a trace names: it is drawn fresh, or no rigid fact tells elements apart."""
    rigid = {domain for symbol in protocol.symbols if not symbol.mutable for domain in symbol.domain}
    return sort.fresh or (not sort.is_enumeration and sort not in rigid)


def _grown(instance: Instance, named: Mapping[str, Mapping[str, None]]) -> Instance:
    """Add the elements that a trace names to the sorts that take any."""
    grown = {
        sort: tuple(dict.fromkeys((*instance.elements.get(sort, ()), *elements))) for sort, elements in named.items()
    }
    return replace(instance, elements={**instance.elements, **grown})
