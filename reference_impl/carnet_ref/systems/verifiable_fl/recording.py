"""The recorded graph of a run: a folder with the introductions and the statements.

``exclaves.json`` has the introductions of all exclaves; ``steps.intoto.jsonl`` has the envelopes of their statements,
one a line, in the order in which they were made.

Source: in-toto attestation framework, bundle (JSON lines of envelopes).
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from carnet_command.errors import UsageError
from carnet_command.files import failing_as, read_plain, replacing
from carnet_ref.marks import enforces
from carnet_ref.systems.verifiable_fl.audit import AuditResult, Fault, RefusedGraphError, audit_graph
from carnet_ref.systems.verifiable_fl.claims_file import AuditClaims
from carnet_ref.systems.verifiable_fl.evidence import Introduction, Level
from carnet_ref.systems.verifiable_fl.exclave import Exclave
from carnet_ref.systems.verifiable_fl.statements import Artifact, Envelope, Input, envelope_digest, parse_envelope
from carnet_ref.transport.frames import Transformed
from carnet_ref.wire import MalformedError, bounded_json

EXCLAVES: Final = "exclaves.json"
STEPS: Final = "steps.intoto.jsonl"
LARGEST_GRAPH: Final = 1 << 31
LARGEST_EXCLAVES: Final = 1 << 26  #: Bytes of the two files at most.


@dataclass(slots=True)
class GraphRecorder:
    """Lets each party's exclave attest the party's steps, with proofs of their inputs."""

    exclaves: Mapping[str, Exclave]  #: by the names of parties.
    lines: list[bytes] = field(default_factory=list)  #: the envelopes so far.
    _proofs: dict[tuple[str, bytes], str] = field(default_factory=dict)

    @enforces("REQ-STEP-03", "proof-first")
    def record(self, party: str, done: Transformed) -> None:
        """Attest a transformation; an input that no step produced is a source."""
        reads = tuple(Input(name, digest.hex(), self._proofs.get((name, digest), "")) for name, digest in done.reads)
        gives = tuple(Artifact(name, digest.hex()) for name, digest in done.gives)
        line = self.exclaves[party].attest(done.task, done.epoch, done.code.hex(), reads, gives)
        self.lines.append(line)
        self._proofs |= {given: envelope_digest(line) for given in done.gives}

    def end(self) -> None:
        """Add the last statement of every log."""
        self.lines += [exclave.end() for exclave in self.exclaves.values()]

    def write(self, folder: Path) -> None:
        """Write the graph into a folder, which may exist. Raises UsageError if it cannot be written."""
        write_graph(folder, [each.introduction for each in self.exclaves.values()], self.lines)


def write_graph(folder: Path, shown: Iterable[Introduction], lines: Iterable[bytes]) -> None:
    """Write a graph into a folder, which may exist. Raises UsageError if it cannot be written."""
    with failing_as(f"cannot write the graph to '{folder}'"):
        folder.mkdir(exist_ok=True)
        with replacing(folder / EXCLAVES) as file:
            json.dump([each.to_json() for each in shown], file, indent=1)
        with replacing(folder / STEPS) as file:
            file.writelines(line.decode("ascii") + "\n" for line in lines)


def require_graph_folder(folder: Path) -> None:
    """Check before a run that a graph can be written to a folder. Raises UsageError if it cannot."""
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise UsageError(f"expected a folder that is empty, or not there, for the graph, and not '{folder}'")
    if not folder.parent.is_dir():
        raise UsageError(f"expected a folder for the graph, and '{folder.parent}' does not exist")


def audit_folder(folder: Path, claims: AuditClaims) -> tuple[AuditResult, list[Envelope]]:
    """Audit the graph in a folder; return the result, and the statements unless one is malformed.

    Raises UsageError if its files cannot be read.
    """
    try:
        shown, envelopes = read_graph(folder)
    except RefusedGraphError as error:
        return AuditResult(Level.NONE, 0, 0, {}, (), error), []
    return audit_graph(shown, envelopes, claims), envelopes


def read_graph(folder: Path) -> tuple[list[Introduction], list[Envelope]]:
    """Return the introductions and the statements in a folder.

    Raises UsageError if the files cannot be read; RefusedGraphError if something in them is no introduction, or no
    statement.
    """
    with failing_as(f"expected '{EXCLAVES}' and '{STEPS}' in '{folder}'"):
        exclaves = read_plain(folder / EXCLAVES, LARGEST_EXCLAVES)
        steps = read_plain(folder / STEPS, LARGEST_GRAPH)
    return parse_introductions(exclaves), list(_parsed(steps))


def parse_introductions(data: bytes) -> list[Introduction]:
    """Return the introductions in a file. Raises RefusedGraphError if they are malformed."""
    try:
        said = bounded_json(data, EXCLAVES, LARGEST_EXCLAVES)
        if not isinstance(said, list):
            raise MalformedError(EXCLAVES, "a list", type(said).__name__)
        return [Introduction.from_json(each) for each in said]
    except MalformedError as error:
        raise RefusedGraphError(Fault.MALFORMED, EXCLAVES, str(error)) from None


def _parsed(data: bytes) -> Iterator[Envelope]:
    if len(data) > LARGEST_GRAPH:
        raise RefusedGraphError(Fault.MALFORMED, STEPS, f"more than {LARGEST_GRAPH} bytes")
    for number, line in enumerate(data.splitlines(), start=1):
        try:
            yield parse_envelope(line)
        except MalformedError as error:
            raise RefusedGraphError(Fault.MALFORMED, f"line {number} of {STEPS}", str(error)) from None
