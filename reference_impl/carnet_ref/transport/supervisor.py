"""Runs a cast as separate processes, and starts again those that are killed."""

from __future__ import annotations

import json
import queue
import subprocess
import sys
import threading
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from carnet_ref.parties.cast import Cast
from carnet_ref.roles.messages import ORCHESTRATOR, PLATFORM
from carnet_ref.training.choice import TRAINERS
from carnet_ref.transport.process import Assignment
from carnet_spec.errors import CarnetError

_POLL_SECONDS = 0.05
_PROGRAM = (sys.executable, "-m", "carnet_ref.transport.process")


class ProcessError(CarnetError):
    """A process of the run could not do what it is for."""

    kind = "run"
    exit_code = 3


class RefusedStartError(CarnetError):
    """A process of the run refused to start with what it was given."""

    kind = "usage"
    exit_code = 2


@dataclass(slots=True)
class _Child:
    name: str
    process: subprocess.Popen[str]
    said: queue.Queue[dict[str, Any]]
    threads: tuple[threading.Thread, ...]

    def close(self) -> None:
        """Let go of a child that ended: hear it out, and close what led to it."""
        for thread in self.threads:
            thread.join()
        for stream in (self.process.stdin, self.process.stdout, self.process.stderr):
            if stream is not None:
                stream.close()


@dataclass(slots=True)
class Supervisor:
    """Starts platform, orchestrator and holders, waits for the orchestrator, and ends the others.

    A process that is killed is started again, ``restarts`` times at most for each name. ``folder`` takes traces and
    what the platform saw, ``journals`` says where each party's journal is.
    """

    cast: Cast
    folder: Path
    journals: Callable[[str], Path]
    key: bytes
    port: int = 0
    restarts: int = 5
    trainer: str = TRAINERS[0]
    remark: Callable[[str], None] = lambda _: None
    program: tuple[str, ...] = _PROGRAM
    children: dict[str, _Child] = field(default_factory=dict)
    started: dict[str, int] = field(default_factory=dict)

    def run(self) -> dict[str, Any]:
        """Return what the orchestrator says in the end.

        Raises:
            ProcessError: it gave up, or a process died too often.
            RefusedStartError: a process refused to start.
        """
        try:
            self.begin()
            while (outcome := self.poll()) is None:
                self.wait()
            return outcome
        finally:
            self.end()

    def begin(self) -> None:
        """Start everybody."""
        self._start(PLATFORM)
        for name in (ORCHESTRATOR, *self.cast.holders):
            self._start(name)

    def wait(self) -> None:
        """Wait for a moment, or until the orchestrator ends."""
        try:
            self.children[ORCHESTRATOR].process.wait(_POLL_SECONDS)
        except subprocess.TimeoutExpired:
            return

    def poll(self) -> dict[str, Any] | None:
        """Start whoever was killed, and return the orchestrator's last words once it has spoken them.

        Raises:
            ProcessError: the orchestrator gave up, or a process died too often.
        """
        for child in list(self.children.values()):
            code = child.process.poll()
            if code is None:
                continue
            if code < 0:
                self.remark(f"{child.name} was killed")
                self._start(child.name)
            elif child.name == ORCHESTRATOR:
                return self._finished(child)
            elif code == 2:
                raise RefusedStartError(self._last_words(child))
        return None

    def end(self) -> None:
        """End every process that is left."""
        for child in self.children.values():
            if child.process.poll() is None:
                child.process.kill()
            child.process.wait()
            child.close()
        self.children.clear()

    def _start(self, name: str) -> None:
        self.started[name] = self.started.get(name, 0) + 1
        if self.started[name] > 1 + self.restarts:
            raise ProcessError(f"{name} died {self.restarts + 1} times")
        if name in self.children:
            self.children[name].close()
        child = self.children[name] = self._spawn(name)
        if name == PLATFORM and not self.port:
            self.port = self._port_of(child)

    def _spawn(self, name: str) -> _Child:
        pipe = subprocess.PIPE
        process = subprocess.Popen(self.program, stdin=pipe, stdout=pipe, stderr=pipe, text=True)
        said: queue.Queue[dict[str, Any]] = queue.Queue()
        assert process.stdin is not None
        process.stdin.write(json.dumps(asdict(self._assignment(name))) + "\n")
        process.stdin.flush()
        return listening(name, process, said, self.remark)

    def _assignment(self, name: str) -> Assignment:
        cast = {
            "holders": self.cast.holders,
            "rounds": self.cast.rounds,
            "schedule": self.cast.schedule,
            "chunks": self.cast.chunks,
            "chunk_bytes": self.cast.chunk_bytes,
            "lease": self.cast.lease,
            "patience": self.cast.patience,
            "defences": sorted(self.cast.defences.off),
        }
        if name == PLATFORM:
            return Assignment(name, self.port, cast, str(self.folder), self.trainer)
        journal = str(self.journals(name))
        return Assignment(name, self.port, cast, str(self.folder), self.trainer, journal, self.key.hex())

    def _port_of(self, child: _Child) -> int:
        said = _words(child)
        if "port" not in said:
            raise RefusedStartError(said.get("failure", "the platform said nothing"))
        return int(said["port"])

    def _finished(self, child: _Child) -> dict[str, Any]:
        said = _words(child)
        if child.process.returncode == 2:
            raise RefusedStartError(said.get("failure", "the orchestrator said nothing"))
        if said.get("failure") or "model" not in said:
            raise ProcessError(said.get("failure") or "the orchestrator ended without a word")
        return said

    def _last_words(self, child: _Child) -> str:
        return str(_words(child).get("failure", f"{child.name} said nothing"))


def listening(
    name: str, process: subprocess.Popen[str], said: queue.Queue[dict[str, Any]], remark: Callable[[str], None]
) -> _Child:
    """Return a child whose words are taken down, and whose remarks are passed on."""
    hear = threading.Thread(target=_hear, args=(process, said), daemon=True)
    pass_on = threading.Thread(target=_pass_on, args=(process, remark), daemon=True)
    for thread in (hear, pass_on):
        thread.start()
    return _Child(name, process, said, (hear, pass_on))


def _words(child: _Child) -> dict[str, Any]:
    try:
        return child.said.get(timeout=30.0)
    except queue.Empty:
        return {}


def _hear(process: subprocess.Popen[str], said: queue.Queue[dict[str, Any]]) -> None:
    assert process.stdout is not None
    for line in process.stdout:
        said.put(json.loads(line))
    said.put({})


def _pass_on(process: subprocess.Popen[str], remark: Callable[[str], None]) -> None:
    assert process.stderr is not None
    for line in process.stderr:
        remark(line.rstrip("\n"))
