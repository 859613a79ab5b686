"""Recording what the roles do, in the words of the specification, one step a line.

Every role records its own steps with a logical clock (Lamport's): each message carries its sender's clock, so the logs
of separate processes merge into one order in which causes come before effects.

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
from carnet_ref.wire.reader import MalformedError
from carnet_spec.trace import Header, TraceEvent, TraceStep

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
    """One process's steps, with its logical clock.

    ``sink`` gets a line for each step at once, so that a killed process leaves what it did; without one they are kept.
    """

    sink: IO[str] | None = None
    clock: int = 0
    lines: list[str] = field(default_factory=list)

    def check(self, clock: int) -> None:
        """Insist that a clock is one that its sender can have, here where every message comes through.

        Raises:
            MalformedError: it is too far ahead of all that came before.
        """
        if clock > self.clock + AHEAD:
            raise MalformedError("frame", f"a logical clock of at most {self.clock + AHEAD}", str(clock))

    def witness(self, clock: int) -> None:
        """Take notice of a message whose sender's clock stood at ``clock``, unless no run lasts that long."""
        if clock < LATEST:
            self.clock = max(self.clock, clock)

    def record(self, taken: TraceStep) -> None:
        """Record a step, at the next tick of the clock.

        Raises:
            TraceFileError: it could not be written.
        """
        self.clock += 1
        line = json.dumps(TraceEvent(self.clock, taken).to_json())
        if self.sink is None:
            self.lines.append(line)
            return
        try:
            self.sink.write(line + "\n")
            self.sink.flush()
        except OSError as error:
            raise TraceFileError(f"cannot write the steps that are taken: {error.strerror}") from error


def resumed(path: Path) -> int:
    """Return where a process's clock stood when it last recorded a step, and cut off what it left unfinished."""
    if not path.exists():
        return 0
    whole, _, _ = path.read_bytes().rpartition(b"\n")
    path.write_bytes(whole + b"\n" if whole else b"")
    return int(json.loads(whole.splitlines()[-1])["clock"]) if whole else 0


def merged(logs: Iterable[Iterable[str]]) -> Iterator[str]:
    """Yield the lines of several processes' logs in one order that respects cause and effect."""
    keyed = [_keyed(log, process) for process, log in enumerate(logs)]
    return (line for _, line in heapq.merge(*keyed))


def _keyed(log: Iterable[str], process: int) -> Iterator[tuple[tuple[int, int], str]]:
    for text in log:
        line = text.rstrip("\n")
        yield (json.loads(line)["clock"], process), line


def write_trace(path: Path, header: Header, lines: Iterable[str]) -> None:
    """Write a trace file: the header, then the steps. What was there before stays until all of it is written.

    Raises:
        TraceFileError: the file could not be written.
    """
    try:
        with replacing(path) as file:
            file.write(json.dumps(header.to_json()) + "\n")
            file.writelines(line + "\n" for line in lines)
    except OSError as error:
        raise TraceFileError(f"cannot write the trace to {path}: {error.strerror}") from error
