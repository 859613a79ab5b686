"""Running the roles of a system: as separate processes that are restarted when killed, or all in one process.

In one process frames wait at the platform, and are carried one at a time in the order they came. Time is simulated: it
moves on only when nothing else can happen, so lost messages and leases run out at once.
"""

import contextlib
import json
import queue
import secrets
import subprocess
import threading
from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from carnet_command.errors import CarnetError
from carnet_command.exit_codes import ExitCode
from carnet_command.interrupts import defer_interrupts
from carnet_command.processes import environment, interpreter
from carnet_ref.crypto.primitives import KEY_BYTES
from carnet_ref.recorder import Recorder
from carnet_ref.transport.frames import PLATFORM, Frame, Tick
from carnet_ref.transport.greeting import key_of_party
from carnet_ref.transport.node import Node, RoleFactory
from carnet_ref.transport.platform import Platform, Traffic, TrafficCounts
from carnet_ref.transport.process import TOLD, Assignment
from carnet_ref.wire import MalformedError

_POLL_SECONDS = 0.05
_DISMISSAL_SECONDS = 5.0
_DONE, _REFUSED, _GAVE_UP = 0, 2, 3  #: The exit codes of a process that reports its outcome; with any other, it died.
_PROGRAM = (*interpreter(), "-m", "carnet_ref.transport.process")


class ProcessError(CarnetError):
    """A process of the run failed."""

    kind = "run"
    exit_code = ExitCode.UNKNOWN


class RefusedStartError(CarnetError):
    """A process of the run refused to start with its assignment."""

    kind = "usage"
    exit_code = ExitCode.USAGE


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
                with contextlib.suppress(BrokenPipeError):
                    stream.close()


@dataclass(slots=True)
class Supervisor:
    """Starts the platform and all parties, waits for the leader, and ends the others.

    A process that dies is started again, ``restarts`` times at most for each name; one that gives up or refuses ends
    the run. ``folder`` takes traces and what the platform counts, ``journals`` says where each party's journal is, and
    from ``token`` come the keys by which platform and parties know each other.
    """

    roles: RoleFactory
    folder: Path
    journals: Callable[[str], Path]
    key: bytes = field(repr=False)
    port: int = 0
    restarts: int = 5
    remark: Callable[[str], None] = lambda _: None
    program: tuple[str, ...] = _PROGRAM
    children: dict[str, _Child] = field(default_factory=dict)
    started: dict[str, int] = field(default_factory=dict)
    token: bytes = field(default_factory=lambda: secrets.token_bytes(KEY_BYTES), repr=False)

    def run(self) -> dict[str, Any]:
        """Run to the end, and return the leader's outcome.

        Raises ProcessError if a party gave up, or a process died too often; RefusedStartError if a process refused to
        start.
        """
        try:
            self.begin()
            while (outcome := self.poll()) is None:
                self.wait()
            return outcome
        finally:
            self.end()

    def traffic(self) -> Traffic:
        """Return the platform's traffic."""
        with TrafficCounts(self.folder) as tally:
            return Traffic(tally.messages, tally.octets, tuple(tally.phases), self._told())

    def _told(self) -> dict[str, Any]:
        """Return what the device said in the end: nothing, if it was not asked in time."""
        try:
            told: dict[str, Any] = json.loads((self.folder / TOLD).read_text("utf-8"))
        except (OSError, ValueError):
            return {}
        return told

    def begin(self) -> None:
        """Start all processes, the platform first, since it listens."""
        self._start(PLATFORM)
        for name in self.roles.parties:
            self._start(name)

    def wait(self) -> None:
        """Wait briefly, or until the leader ends."""
        try:
            self.children[self.roles.leader].process.wait(_POLL_SECONDS)
        except subprocess.TimeoutExpired:
            return

    def poll(self) -> dict[str, Any] | None:
        """Restart every process that died, and return the leader's outcome once it is there.

        Raises ProcessError if somebody gave up, or died too often; RefusedStartError if a process refused to go on with
        what it was given.
        """
        for child in list(self.children.values()):
            code = child.process.poll()
            if code is None:
                continue
            if code == _REFUSED:
                raise RefusedStartError(_reason(child))
            if child.name == self.roles.leader and code in {_DONE, _GAVE_UP}:
                said = _words(child)
                if said.get("failure") or "failure" not in said:
                    raise ProcessError(said.get("failure") or f"the {child.name} ended without a word")
                return said
            if code == _GAVE_UP:
                raise ProcessError(f"{child.name}: {_reason(child)}")
            self.remark(f"{child.name} was killed" if code < 0 else f"{child.name} ended with exit code {code}")
            self._start(child.name)
        return None

    def end(self) -> None:
        """End all remaining processes, the platform after it has written the device's outcome."""
        self._dismiss(PLATFORM)
        for child in self.children.values():
            if child.process.poll() is None:
                child.process.kill()
            child.process.wait()
            child.close()
        self.children.clear()

    def _dismiss(self, name: str) -> None:
        """Let a process end by itself, for some seconds at most."""
        child = self.children.get(name)
        if child is not None and child.process.poll() is None and child.process.stdin is not None:
            with contextlib.suppress(BrokenPipeError, subprocess.TimeoutExpired):
                child.process.stdin.close()
                child.process.wait(_DISMISSAL_SECONDS)

    def _start(self, name: str) -> None:
        self.started[name] = self.started.get(name, 0) + 1
        if self.started[name] > 1 + self.restarts:
            raise ProcessError(f"{name} died {self.restarts + 1} times")
        if name in self.children:
            self.children[name].close()
        with defer_interrupts():
            child = self.children[name] = self._spawn(name)
        if name == PLATFORM and not self._listens(child):
            self.remark(f"{name} died before it listened")
            self._start(name)

    def _listens(self, child: _Child) -> bool:
        """Wait until the platform says where it listens, and return whether it did."""
        said = _words(child)
        if "failure" in said:
            raise RefusedStartError(str(said["failure"]))
        if "port" not in said:
            child.process.kill()
            child.process.wait()
            return False
        self.port = int(said["port"])
        return True

    def _spawn(self, name: str) -> _Child:
        pipe = subprocess.PIPE
        # In a group of its own, so that Ctrl-C in a terminal stops the supervisor, which then ends the others.
        process = subprocess.Popen(
            self.program, stdin=pipe, stdout=pipe, stderr=pipe, text=True, process_group=0, env=environment()
        )
        said: queue.Queue[dict[str, Any]] = queue.Queue()
        assert process.stdin is not None
        with contextlib.suppress(BrokenPipeError):
            process.stdin.write(json.dumps(asdict(self._assignment(name))) + "\n")
            process.stdin.flush()
        return listening(name, process, said, self.remark)

    def _assignment(self, name: str) -> Assignment:
        given = (name, self.port, self.roles.maker, self.roles.settings, str(self.folder))
        if name == PLATFORM:
            return Assignment(*given, token=self.token.hex())
        journal, greeting = str(self.journals(name)), key_of_party(self.token, name).hex()
        return Assignment(*given, journal, self.key.hex(), greeting)


def listening(
    name: str, process: subprocess.Popen[str], said: queue.Queue[dict[str, Any]], remark: Callable[[str], None]
) -> _Child:
    """Return a child process whose messages are collected, and whose remarks are passed on."""
    hear = threading.Thread(target=_hear, args=(process, said), daemon=True)
    pass_on = threading.Thread(target=_pass_on, args=(process, remark), daemon=True)
    for thread in (hear, pass_on):
        thread.start()
    return _Child(name, process, said, (hear, pass_on))


def _reason(child: _Child) -> str:
    return str(_words(child).get("failure", f"{child.name} said nothing"))


def _words(child: _Child) -> dict[str, Any]:
    try:
        return child.said.get(timeout=30.0)
    except queue.Empty:
        return {}


def _hear(process: subprocess.Popen[str], said: queue.Queue[dict[str, Any]]) -> None:
    assert process.stdout is not None
    for line in process.stdout:
        with contextlib.suppress(json.JSONDecodeError):  # a process that is killed may leave half a line
            said.put(json.loads(line))
    said.put({})


def _pass_on(process: subprocess.Popen[str], remark: Callable[[str], None]) -> None:
    assert process.stderr is not None
    for line in process.stderr:
        remark(line.rstrip("\n"))


class StuckError(Exception):
    """No further event is possible, however long one waits."""


@dataclass(slots=True)
class InProcessNetwork:
    """Nodes by name around one platform, in one process.

    ``queue`` holds the frames in flight; who drives the world may look at it, change it, or carry frames out of order.
    """

    platform: Platform
    recorder: Recorder
    nodes: dict[str, Node] = field(default_factory=dict)
    queue: deque[Frame] = field(default_factory=deque)
    now: float = 0.0

    def add(self, node: Node, first: Iterable[Frame] = ()) -> None:
        """Add a node, with the frames that it sends first."""
        self.nodes[node.name] = node
        self.queue.extend(first)

    @property
    def over(self) -> bool:
        """Whether the leader is done."""
        return self.nodes[self.platform.owner].ended is not None

    def run(self, limit: int = 1_000_000) -> None:
        """Run until the leader is done. Raises StuckError if it never is."""
        idle = 0.0
        for _ in range(limit):
            if self.over:
                return
            if self.step():
                idle = 0.0
                continue
            self.now += 5.0
            idle += 5.0
            if idle > 3600.0:
                raise StuckError(f"nothing happened for {idle:.0f} simulated seconds")
            self.tick()
        raise StuckError(f"not done after {limit} steps")

    def step(self) -> bool:
        """Carry the next frame, or let a role continue; return False if there was nothing to do."""
        for node in self.nodes.values():
            if node.proceeds:
                self.queue.extend(node.proceed())
                return True
        if not self.queue:
            return False
        self.carry(self.queue.popleft())
        return True

    def carry(self, frame: Frame) -> None:
        """Give a frame to the platform, and deliver the result; a frame with an impossible clock is dropped."""
        try:
            self.recorder.check(frame.clock)
        except MalformedError:
            return
        carried = self.platform.carry(frame)
        if carried.step is not None:
            self.recorder.witness(frame.clock)
            self.recorder.record(carried.step, PLATFORM)
        for delivered in carried.frames:
            self.deliver(delivered)

    def deliver(self, frame: Frame) -> None:
        """Deliver a frame of any sender to its target, if there is one."""
        node = self.nodes.get(frame.target)
        if node is not None and node.ended is None:
            self.queue.extend(node.deliver(frame))

    def tick(self) -> None:
        """Tell all nodes the time."""
        for node in list(self.nodes.values()):
            if node.ended is None:
                self.queue.extend(node.deliver(Tick(self.now)))
