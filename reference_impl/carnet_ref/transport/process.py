"""The main program of one process of a run: a party, or the platform with the device.

A party is one role, connected to the platform, started again from its journal as often as need be. The parent keeps
standard input open; when it closes, the process ends. The platform first writes down what the device says in the end.
"""

import asyncio
import contextlib
import functools
import json
import os
import pkgutil
import secrets
import socket
import sys
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, NoReturn

from carnet_command.errors import CarnetError
from carnet_command.exit_codes import ExitCode
from carnet_ref.crypto.primitives import CryptoError, Random
from carnet_ref.journal import Journal
from carnet_ref.recorder import Recorder, resume_file
from carnet_ref.transport.frames import LARGEST_FRAME, PLATFORM, Ended, Frame, FrameKind, Tick, encode_frame, read_frame
from carnet_ref.transport.greeting import GREETING_SECONDS, introduce, key_of_party, over
from carnet_ref.transport.node import Node, ReportsOutcome, RoleFactory
from carnet_ref.transport.platform import OUTGOING, STALLED_SECONDS, Platform, Relay, TrafficCounts, listen
from carnet_ref.wire import MalformedError

TICK_SECONDS: Final = 0.25
Stream = tuple[asyncio.StreamReader, asyncio.StreamWriter]


@dataclass(frozen=True, slots=True)
class ConnectionConfig:
    """A party's connection to its platform: the port, the party's key, and the largest frame."""

    port: int
    key: bytes
    random: Random
    largest: int = LARGEST_FRAME


async def run_party(node: Node, first: Iterable[Frame], config: ConnectionConfig) -> Ended:
    """Connect to the platform and run until the role is done; a lost connection is made again."""
    pending = list(first)
    lost = False
    while node.ended is None:
        reader, writer = await _connected(node, config)
        writer.transport.set_write_buffer_limits(OUTGOING)
        try:
            if lost:
                pending = node.deliver(Frame(PLATFORM, node.name, FrameKind.FAULT, b""))
            _send(writer, pending)
            await _converse(node, reader, writer, config.largest)
        finally:
            writer.close()
        if node.ended is None:
            pending, lost = [], True
            await asyncio.sleep(TICK_SECONDS)
    return node.ended


async def _connected(node: Node, config: ConnectionConfig) -> Stream:
    """Return a connection to what knows this party's key, however long that takes; say so if another is there."""
    told = False
    while True:
        try:
            with contextlib.suppress(OSError):  # nothing listens or answers there: the platform may be on its way
                return await asyncio.open_connection(sock=await _greeted(node.name, config))
        except (CryptoError, MalformedError) as error:
            if not told:
                node.remark(f"{node.name}: port {config.port} is not this run's platform: {error}")
            told = True
        await asyncio.sleep(TICK_SECONDS)


async def _greeted(name: str, config: ConnectionConfig) -> socket.socket:
    """Return a connection over which both ends have greeted."""
    connection = socket.socket()
    connection.setblocking(False)
    try:
        async with asyncio.timeout(GREETING_SECONDS):
            await asyncio.get_running_loop().sock_connect(connection, ("127.0.0.1", config.port))
            await introduce(name, config.key, config.random, *over(connection))
    except BaseException:
        connection.close()
        raise
    return connection


async def _converse(node: Node, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, largest: int) -> None:
    """Take frames, and the time, until the stream or the role ends."""
    coming = asyncio.ensure_future(read_frame(reader, largest))
    try:
        while node.ended is None:
            while node.proceeds and node.ended is None:
                _send(writer, node.proceed())
            await asyncio.wait({coming}, timeout=TICK_SECONDS)
            if not coming.done():
                _send(writer, node.deliver(Tick(time.monotonic())))
                continue
            frame = coming.result()
            if frame is None:
                return
            coming = asyncio.ensure_future(read_frame(reader, largest))
            _send(writer, node.deliver(frame))
            await _taken(writer)
        await _taken(writer)
    except (ConnectionError, TimeoutError, MalformedError):
        return
    finally:
        coming.cancel()


async def _taken(writer: asyncio.StreamWriter) -> None:
    """Wait until the platform took enough of what was sent to it.

    Raises ConnectionError if it is gone; TimeoutError if it takes nothing.
    """
    async with asyncio.timeout(STALLED_SECONDS):
        await writer.drain()


def _send(writer: asyncio.StreamWriter, frames: Iterable[Frame]) -> None:
    for frame in frames:
        writer.write(encode_frame(frame))


TOLD: Final = "told.json"  #: The file in which the device's last words are.


@dataclass(frozen=True, slots=True)
class Assignment:
    """What a process has to do, read from standard input.

    ``maker`` and ``settings`` are those of the roles. ``folder`` takes the trace, and what the platform counts;
    ``journal`` and ``key`` are those of a party. ``token`` is the key of a party's greeting; the platform's is the
    run's, from which it makes the key of every party.
    """

    name: str
    port: int
    maker: str
    settings: Mapping[str, Any]
    folder: str
    journal: str = ""
    key: str = field(default="", repr=False)
    token: str = field(default="", repr=False)

    def roles(self) -> RoleFactory:
        """Return the factory of the run's roles."""
        made: RoleFactory = pkgutil.resolve_name(self.maker)(self.settings)
        return made


def main() -> None:
    """Run the assignment on standard input; exit with 0, 2 (it is impossible) or 3 (the party gave up)."""
    assignment = Assignment(**json.loads(sys.stdin.readline()))
    threading.Thread(target=_end_with_parent, args=(last := list[Callable[[], None]](),), daemon=True).start()
    try:
        platform = assignment.name == PLATFORM
        outcome = asyncio.run(_platform(assignment, last) if platform else _party(assignment))
    except CarnetError as error:
        _refuse(error)
    _say(outcome)
    sys.exit(ExitCode.UNKNOWN if outcome.get("failure") else ExitCode.EXPECTED)


def _refuse(error: CarnetError) -> NoReturn:
    _say({"failure": str(error), "exit": error.exit_code})
    sys.exit(ExitCode.USAGE)


def _failed(loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
    """End the process for what nobody awaits either: a platform's connections are tasks of their own."""
    error = context.get("exception")
    if isinstance(error, CarnetError):
        _refuse(error)
    loop.default_exception_handler(context)


async def _platform(assignment: Assignment, last: list[Callable[[], None]]) -> dict[str, Any]:
    asyncio.get_running_loop().set_exception_handler(_failed)
    roles, folder = assignment.roles(), Path(assignment.folder)
    token = bytes.fromhex(assignment.token)
    clock, ends = resume_file(_trace(folder, PLATFORM))
    with _trace(folder, PLATFORM).open("a", encoding="utf-8") as sink, TrafficCounts(folder) as tally:
        recorder = Recorder(sink, max(clock, tally.clock), ends, design=roles.design)
        platform = Platform(roles.leader, roles.device, messages=tally.messages, octets=tally.octets)
        crossed = platform.crossings.phases
        platform.keep = lambda _: tally.note(platform.messages, platform.octets, recorder.clock, crossed)
        device = Node(roles.device, roles.device_role(secrets.token_bytes), recorder, remark=_remark)
        if isinstance(device.role, ReportsOutcome):
            last.append(functools.partial(_write_down, folder / TOLD, device.role))
        keys = {name: key_of_party(token, name) for name in roles.parties}
        relay = Relay(platform, device, recorder, keys, secrets.token_bytes, _remark, roles.largest_frame)
        with listen(assignment.port) as listening:
            _say({"port": listening.getsockname()[1]})
            await relay.serve(listening)
    return {}


async def _party(assignment: Assignment) -> dict[str, Any]:
    roles, name, random = assignment.roles(), assignment.name, secrets.token_bytes
    journal = Journal(Path(assignment.journal), bytes.fromhex(assignment.key), roles.journal_owner(name), random)
    path = _trace(Path(assignment.folder), name)
    clock, ends = resume_file(path)
    config = ConnectionConfig(assignment.port, bytes.fromhex(assignment.token), random, roles.largest_frame)
    with path.open("a", encoding="utf-8") as sink:
        party = roles.party(name, journal, random)
        node = Node(name, party, Recorder(sink, clock, ends, design=roles.design), journal, _remark)
        ended = await run_party(node, node.perform(party.begin(time.monotonic())), config)
    return {**party.outcome(), "failure": ended.failure}


def _trace(folder: Path, name: str) -> Path:
    return folder / f"{name}.ndjson"


def _say(fields: Mapping[str, Any]) -> None:
    sys.stdout.write(json.dumps(fields) + "\n")
    sys.stdout.flush()


def _remark(text: str) -> None:
    sys.stderr.write(text + "\n")
    sys.stderr.flush()


def _write_down(path: Path, device: ReportsOutcome) -> None:
    path.write_text(json.dumps(device.outcome()), "utf-8")


def _end_with_parent(last: Iterable[Callable[[], None]]) -> None:
    sys.stdin.read()
    try:
        for words in last:
            words()
    finally:
        os._exit(0)


if __name__ == "__main__":
    main()
