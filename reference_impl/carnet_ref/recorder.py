"""Recording the steps and checks of the roles, in the specification's vocabulary, one event on each line.

Every role records its own steps with a Lamport clock: each message carries its sender's clock, so the logs of separate
processes can be merged into one order in which causes come before effects. Within a party's log, events are numbered,
and each has the digest of the one before, so no event can be left out or changed unnoticed.

Source: L. Lamport, Time, Clocks, and the Ordering of Events in a Distributed System (1978).
"""

import heapq
import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Final

from carnet_command.errors import CarnetError
from carnet_command.exit_codes import ExitCode
from carnet_command.files import replacing
from carnet_ref.wire import MalformedError
from carnet_spec.trace import Header, LogPosition, TraceCheck, TraceEnd, TraceEvent, TraceStep

AHEAD: Final = 1 << 16  #: The most steps of a party between two of its messages; in practice they are a few dozen.
LATEST: Final = 1 << 63  #: The limit of clock values, so that no clock overflows its eight bytes.


class TraceFileError(CarnetError):
    """A trace file could not be written."""

    kind = "trace"
    exit_code = ExitCode.USAGE


def step(action: str, by: str, **args: object) -> TraceStep:
    """Return the step ``action`` of role ``by``; the arguments have the names of the specification's parameters."""
    return TraceStep(action, by, tuple((name, str(element)) for name, element in args.items()))


@dataclass(slots=True)
class Recorder:
    """Records the events of one process, with its Lamport clock; ``ends`` has the end of the log of each party in it.

    ``design`` is the digest of the executed design, with which every log begins. ``sink`` receives the line of each
    event immediately, so that the lines of a killed process are not lost; without a sink they are kept in memory.
    """

    sink: IO[str] | None = None
    clock: int = 0
    ends: dict[str, tuple[int, str]] = field(default_factory=dict)
    lines: list[str] = field(default_factory=list)
    design: str = ""

    def check(self, clock: int) -> None:
        """Require that a received clock is plausible; every message passes here.

        Raises MalformedError if it is too far ahead of all earlier clocks.
        """
        if clock > self.clock + AHEAD:
            raise MalformedError("frame", f"a logical clock of at most {self.clock + AHEAD}", str(clock))

    def witness(self, clock: int) -> None:
        """Advance the clock for a message with its sender's ``clock``, unless that value is beyond every run."""
        if clock < LATEST:
            self.clock = max(self.clock, clock)

    def record(
        self,
        taken: TraceStep | TraceCheck,
        party: str,
        sent: tuple[str, ...] = (),
        at: tuple[tuple[str, float], ...] = (),
    ) -> None:
        """Record a step or a check of a party, with the next value of the clock.

        Raises TraceFileError if it cannot be written.
        """
        self.clock += 1
        number, before = self.ends.get(party, (0, self.design))
        event = TraceEvent(self.clock, taken, LogPosition(party, number, before), sent, at)
        self.ends[party] = number + 1, event.digest
        self._keep(json.dumps(event.to_json()))

    def _keep(self, line: str) -> None:
        if self.sink is None:
            self.lines.append(line)
            return
        try:
            self.sink.write(line + "\n")
            self.sink.flush()
        except OSError as error:
            raise TraceFileError(f"cannot write the steps that are taken: {error.strerror}") from error


def resume_file(path: Path) -> tuple[int, dict[str, tuple[int, str]]]:
    """Return the clock and the ends of the logs in a process's file, after an unfinished last line was removed."""
    if not path.exists():
        return 0, {}
    whole, _, _ = path.read_bytes().rpartition(b"\n")
    path.write_bytes(whole + b"\n" if whole else b"")
    events = [TraceEvent.from_json(json.loads(line)) for line in whole.splitlines()]
    return events[-1].clock if events else 0, dict(ends(events))


def ends(events: Iterable[TraceEvent]) -> dict[str, tuple[int, str]]:
    """Return how many events the log of each party has, and the digest of the last."""
    last = {event.place.party: event for event in events if event.place is not None}
    return {party: (event.place.number + 1, event.digest) for party, event in last.items() if event.place is not None}


def merge_logs(logs: Iterable[Iterable[str]]) -> Iterator[str]:
    """Yield the lines of several processes' logs, sorted by Lamport clock, so that causes come before effects."""
    keyed = [_keyed(log, process) for process, log in enumerate(logs)]
    return (line for _, line in heapq.merge(*keyed))


def _keyed(log: Iterable[str], process: int) -> Iterator[tuple[tuple[int, int], str]]:
    for text in log:
        line = text.rstrip("\n")
        yield (json.loads(line)["clock"], process), line


def write_trace(path: Path, header: Header, lines: Iterable[str]) -> None:
    """Write a trace file: the header, the events and, for a checked run, the last digest of each party's log.

    It replaces an earlier file at ``path`` only once it is complete.

    Raises TraceFileError if the file could not be written.
    """
    kept: list[TraceEvent] = []
    try:
        with replacing(path) as file:
            file.write(json.dumps(header.to_json()) + "\n")
            for line in lines:
                file.write(line + "\n")
                if header.checked:
                    kept.append(TraceEvent.from_json(json.loads(line)))
            if header.checked:
                file.write(json.dumps(TraceEnd(ends(kept), header.digest).to_json()) + "\n")
    except OSError as error:
        raise TraceFileError(f"cannot write the trace to {path}: {error.strerror}") from error
