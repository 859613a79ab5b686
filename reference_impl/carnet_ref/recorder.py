"""Recording what the roles do and check, in the words of the specification, one step or check a line.

Every role records its own steps with a logical clock (Lamport's): each message carries its sender's clock, so the logs
of separate processes merge into one order in which causes come before effects. Within a party's log, events are
numbered and each names the digest of the one before, so that none can be left out or changed unnoticed.

Source: L. Lamport, Time, Clocks, and the Ordering of Events in a Distributed System (1978).
"""

from __future__ import annotations

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

AHEAD: Final = 1 << 16
"""Steps that a party can have taken between two of its messages, at most; in truth they are a few dozen."""
LATEST: Final = 1 << 63
"""What no clock reaches, so that none ever grows out of its eight bytes."""


class TraceFileError(CarnetError):
    """A trace file could not be written."""

    kind = "trace"
    exit_code = ExitCode.USAGE


def step(action: str, by: str, **args: object) -> TraceStep:
    """Return the step ``action`` of role ``by``, each argument named as the specification names it."""
    return TraceStep(action, by, tuple((name, str(element)) for name, element in args.items()))


@dataclass(slots=True)
class Recorder:
    """One process's events, with its logical clock; ``ends`` says where the log of each party in it stands.

    ``design`` is the digest of the design that is run, which every log begins with.
    ``sink`` gets a line for each step at once, so that a killed process leaves what it did; without one they are kept.
    """

    sink: IO[str] | None = None
    clock: int = 0
    ends: dict[str, tuple[int, str]] = field(default_factory=dict)
    lines: list[str] = field(default_factory=list)
    design: str = ""

    def check(self, clock: int) -> None:
        """Insist that a clock is one that its sender can have, here where every message comes through.

        Raises MalformedError if it is too far ahead of all that came before.
        """
        if clock > self.clock + AHEAD:
            raise MalformedError("frame", f"a logical clock of at most {self.clock + AHEAD}", str(clock))

    def witness(self, clock: int) -> None:
        """Take notice of a message whose sender's clock stood at ``clock``, unless no run lasts that long."""
        if clock < LATEST:
            self.clock = max(self.clock, clock)

    def record(
        self,
        taken: TraceStep | TraceCheck,
        party: str,
        sent: tuple[str, ...] = (),
        at: tuple[tuple[str, float], ...] = (),
    ) -> None:
        """Record a step or a check of a party, at the next tick of the clock.

        Raises TraceFileError if it could not be written.
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


def resumed(path: Path) -> tuple[int, dict[str, tuple[int, str]]]:
    """Return clock and ends of the logs of a process when it last recorded, and cut off what it left unfinished."""
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
    """Yield the lines of several processes' logs by Lamport clock: one order that respects cause and effect."""
    keyed = [_keyed(log, process) for process, log in enumerate(logs)]
    return (line for _, line in heapq.merge(*keyed))


def _keyed(log: Iterable[str], process: int) -> Iterator[tuple[tuple[int, int], str]]:
    for text in log:
        line = text.rstrip("\n")
        yield (json.loads(line)["clock"], process), line


def write_trace(path: Path, header: Header, lines: Iterable[str]) -> None:
    """Write a trace file: header, events, and where the logs end. What was there before stays until all is written.

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
