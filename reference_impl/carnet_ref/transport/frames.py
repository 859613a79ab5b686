"""The interface of roles: frames, which the platform carries, and the events and effects of a state machine.

On a stream, a frame has its length before it.
"""

import asyncio
import socket
from dataclasses import dataclass
from enum import Enum
from typing import Final

from carnet_ref.wire import MalformedError, join, number, split, to_number, to_text
from carnet_spec.trace import TraceCheck, TraceStep

PLATFORM = "platform"


class FrameKind(Enum):
    """The path of a frame, as far as the platform can tell."""

    SESSION = 1  #: Between the device and its owner: the session's set-up, and what is sealed in it.
    H2D = 2  #: Through a copy engine, to the device: engine, claimed counter, ciphertext.
    D2H = 3  #: From a copy engine: ciphertext.
    CHANNEL = 4  #: Between two hosts.
    ROUTE = 5  #: To the platform: whom to route the device to.
    RESET = 6  #: To the platform, and from it to the device: reset, into the mode named.
    SEMAPHORE = 7  #: A plain host-visible word that says something is done; anyone on the bus can write it.
    HOST_MEMORY = 8  #: What code on the device wrote to unprotected host memory.
    FAULT = 9  #: The device is unusable until a reset; visible to everybody, authenticated by nobody.
    REPORT = 10  #: A device's report and chain, shown outside any session.
    WORK = 11  #: To the device: work, authenticated with the session's launch key and not encrypted.


@dataclass(frozen=True, slots=True)
class Frame:
    """A message in transit; ``clock`` is the sender's Lamport clock."""

    source: str
    target: str
    kind: FrameKind
    body: bytes
    clock: int = 0


@dataclass(frozen=True, slots=True)
class Tick:
    """Event: time has passed; ``now`` is in seconds of a monotonic clock."""

    now: float


@dataclass(frozen=True, slots=True)
class Proceed:
    """As an effect, the request to continue without waiting; as an event, its fulfilment."""


RoleEvent = Frame | Tick | Proceed


@dataclass(frozen=True, slots=True)
class Send:
    """Effect: send a frame."""

    target: str
    kind: FrameKind
    body: bytes


@dataclass(frozen=True, slots=True)
class Note:
    """Effect: record a step in the specification's vocabulary, with the checks made for it.

    ``sent`` are digests of the messages that it sends, for a party that says that they came from here. ``at`` has the
    instants that the step reads or sets, by the names that the specification's timed layer has for them.
    """

    step: TraceStep
    checks: tuple[TraceCheck, ...] = ()
    sent: tuple[str, ...] = ()
    at: tuple[tuple[str, float], ...] = ()


@dataclass(frozen=True, slots=True)
class RecordChecks:
    """Effect: record checks that belong to no step, because they failed or nothing was to be done."""

    checks: tuple[TraceCheck, ...]


@dataclass(frozen=True, slots=True)
class Persist:
    """Effect: write to the journal, durably, before any later effect."""

    kind: str
    payload: bytes


@dataclass(frozen=True, slots=True)
class Remark:
    """Effect: tell the user in one line what happened."""

    text: str


@dataclass(frozen=True, slots=True)
class Ended:
    """Effect: the role is done; ``failure`` is the reason if it gave up."""

    failure: str = ""


@dataclass(frozen=True, slots=True)
class Transformed:
    """Effect: data was transformed, which an exclave may attest: task, epoch, code, inputs and outputs.

    ``code`` is a SHA-384; ``reads`` and ``gives`` have a name and a SHA-384 each.
    """

    task: str
    epoch: str
    code: bytes
    reads: tuple[tuple[str, bytes], ...]
    gives: tuple[tuple[str, bytes], ...]


RoleEffect = Send | Note | RecordChecks | Persist | Remark | Ended | Proceed | Transformed


class ProtocolError(Exception):
    """A peer violated the protocol; the party that detects it stops."""


LARGEST_FRAME: Final = 1 << 24  #: Bytes of a frame at most, in any run.
_LENGTH: Final = 4


def encode_frame(frame: Frame) -> bytes:
    """Return the encoded frame, preceded by its length."""
    names = frame.source.encode("utf-8"), frame.target.encode("utf-8")
    body = join(*names, bytes([frame.kind.value]), number(frame.clock), frame.body)
    return len(body).to_bytes(_LENGTH, "little") + body


def parse_frame(data: bytes) -> Frame:
    """Return the frame in ``data``, which has no length prefix. Raises MalformedError if it is malformed."""
    source, target, kind, clock, body = split(data, "frame", "source", "target", "kind", "clock", "body")
    known = {bytes([each.value]): each for each in FrameKind}
    if kind not in known:
        raise MalformedError("frame", "a known kind", kind.hex() or "nothing")
    names = to_text(source, "frame", "source"), to_text(target, "frame", "target")
    return Frame(*names, known[kind], body, to_number(clock, "frame", "clock"))


async def read_frame(reader: asyncio.StreamReader, largest: int = LARGEST_FRAME) -> Frame | None:
    """Return the next frame of a stream, or None at its end.

    Raises MalformedError if what comes is no frame, or too long.
    """
    try:
        size = _checked(await reader.readexactly(_LENGTH), "frame", largest)
        return parse_frame(await reader.readexactly(size))
    except (asyncio.IncompleteReadError, ConnectionError):
        return None


async def receive_message(connection: socket.socket, largest: int) -> bytes:
    """Return the next message of a greeting, without reading beyond it.

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
