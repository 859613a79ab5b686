"""What roles exchange: frames, which the platform carries, and the events and effects of a state machine.

On a stream, a frame has its length before it.
"""

from __future__ import annotations

import asyncio
import socket
from dataclasses import dataclass
from enum import Enum
from typing import Final

from carnet_ref.wire import MalformedError, join, number, split, to_number, to_text
from carnet_spec.trace import TraceCheck, TraceStep

PLATFORM = "platform"


class FrameKind(Enum):
    """Which path a frame takes, as far as the platform can tell."""

    SESSION = 1
    """Between the device and its owner: the session's set-up, and what is sealed in it."""
    H2D = 2
    """Through a copy engine, to the device: engine, claimed counter, ciphertext."""
    D2H = 3
    """From a copy engine: ciphertext."""
    CHANNEL = 4
    """Between two hosts."""
    ROUTE = 5
    """To the platform: whom to route the device to."""
    RESET = 6
    """To the platform, and from it to the device: reset, into the mode named."""
    SEMAPHORE = 7
    """A plain host-visible word that says something is done; anyone on the bus can write it."""
    HOST_MEMORY = 8
    """What code on the device wrote to unprotected host memory."""
    FAULT = 9
    """The device is unusable until a reset; visible to everybody, authenticated by nobody."""
    REPORT = 10
    """A device's report and chain, shown outside any session."""
    WORK = 11
    """To the device: work, authenticated with the session's launch key and not encrypted."""


@dataclass(frozen=True, slots=True)
class Frame:
    """One message on its way; ``clock`` is the sender's logical clock."""

    source: str
    target: str
    kind: FrameKind
    body: bytes
    clock: int = 0


@dataclass(frozen=True, slots=True)
class Tick:
    """Time passed; ``now`` is in seconds of a clock that never goes back."""

    now: float


@dataclass(frozen=True, slots=True)
class Proceed:
    """The role asked to go on without waiting for anybody; as an effect: the request."""


RoleEvent = Frame | Tick | Proceed


@dataclass(frozen=True, slots=True)
class Send:
    """Put a frame on the wire."""

    target: str
    kind: FrameKind
    body: bytes


@dataclass(frozen=True, slots=True)
class Note:
    """Record a step in the words of the specification, after the checks made for it.

    ``sent`` are digests of the messages that it sends, for a party that says that they came from here. ``at`` has the
    instants that the step reads or sets, by the names that the specification's timed layer has for them.
    """

    step: TraceStep
    checks: tuple[TraceCheck, ...] = ()
    sent: tuple[str, ...] = ()
    at: tuple[tuple[str, float], ...] = ()


@dataclass(frozen=True, slots=True)
class Checked:
    """Record checks that no step was made of: they failed, or nothing was to be done."""

    checks: tuple[TraceCheck, ...]


@dataclass(frozen=True, slots=True)
class Persist:
    """Write to the journal, durably, before any later effect."""

    kind: str
    payload: bytes


@dataclass(frozen=True, slots=True)
class Remark:
    """Tell the user what happened, in one line."""

    text: str


@dataclass(frozen=True, slots=True)
class Ended:
    """The role is done; ``failure`` says why it gave up, if it did."""

    failure: str = ""


@dataclass(frozen=True, slots=True)
class Transformed:
    """Data was transformed, which an exclave may attest: the task, its epoch, its code, what it read and what it gave.

    ``code`` is a SHA-384; ``reads`` and ``gives`` have a name and a SHA-384 each.
    """

    task: str
    epoch: str
    code: bytes
    reads: tuple[tuple[str, bytes], ...]
    gives: tuple[tuple[str, bytes], ...]


RoleEffect = Send | Note | Checked | Persist | Remark | Ended | Proceed | Transformed


class ProtocolError(Exception):
    """A peer did not do what the protocol says; the party that sees it stops."""


LARGEST_FRAME: Final = 1 << 24
"""Bytes of a frame at most, in any run."""
_LENGTH: Final = 4


def encode_frame(frame: Frame) -> bytes:
    """Return the bytes of a frame, with their length before them."""
    names = frame.source.encode("utf-8"), frame.target.encode("utf-8")
    body = join(*names, bytes([frame.kind.value]), number(frame.clock), frame.body)
    return len(body).to_bytes(_LENGTH, "little") + body


def parse_frame(data: bytes) -> Frame:
    """Return the frame that ``data`` encodes, without the length. Raises MalformedError if it encodes none."""
    source, target, kind, clock, body = split(data, "frame", "source", "target", "kind", "clock", "body")
    known = {bytes([each.value]): each for each in FrameKind}
    if kind not in known:
        raise MalformedError("frame", "a known kind", kind.hex() or "nothing")
    names = to_text(source, "frame", "source"), to_text(target, "frame", "target")
    return Frame(*names, known[kind], body, to_number(clock, "frame", "clock"))


async def read_frame(reader: asyncio.StreamReader, largest: int = LARGEST_FRAME) -> Frame | None:
    """Return the next frame, or ``None`` at the end of the stream.

    Raises MalformedError if what comes is no frame, or too long.
    """
    try:
        size = _checked(await reader.readexactly(_LENGTH), "frame", largest)
        return parse_frame(await reader.readexactly(size))
    except (asyncio.IncompleteReadError, ConnectionError):
        return None


async def receive_message(connection: socket.socket, largest: int) -> bytes:
    """Return the next message of a greeting, reading no byte beyond it.

    Raises MalformedError if it is too long; ConnectionError if the connection ends before it does.
    """
    size = _checked(await _exactly(connection, _LENGTH), "greeting", largest)
    return await _exactly(connection, size)


async def send_message(connection: socket.socket, message: bytes) -> None:
    """Send a message of a greeting."""
    length = len(message).to_bytes(_LENGTH, "little")
    await asyncio.get_running_loop().sock_sendall(connection, length + message)


def _checked(length: bytes, what: str, largest: int) -> int:
    size = int.from_bytes(length, "little")
    if size > largest:
        raise MalformedError(what, f"at most {largest} bytes", str(size))
    return size


async def _exactly(connection: socket.socket, count: int) -> bytes:
    loop, data = asyncio.get_running_loop(), b""
    while len(data) < count:
        part = await loop.sock_recv(connection, count - len(data))
        if not part:
            raise ConnectionResetError("it was closed within the greeting")
        data += part
    return data
