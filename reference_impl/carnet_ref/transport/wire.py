"""Frames on a stream: a length, and then the frame."""

from __future__ import annotations

import asyncio
import socket
from typing import Final

from carnet_ref.transport.frames import Frame, FrameKind
from carnet_ref.wire.fields import join, number, split, to_number, to_text
from carnet_ref.wire.reader import MalformedError

LARGEST: Final = 1 << 24
"""Bytes of a frame at most, in any run."""
_LENGTH: Final = 4


def encode_frame(frame: Frame) -> bytes:
    """Return the bytes of a frame, with their length before them."""
    names = frame.source.encode("utf-8"), frame.target.encode("utf-8")
    body = join(*names, bytes([frame.kind.value]), number(frame.clock), frame.body)
    return len(body).to_bytes(_LENGTH, "little") + body


def parse_frame(data: bytes) -> Frame:
    """Return the frame that ``data`` encodes, without the length.

    Raises:
        MalformedError: it encodes none.
    """
    source, target, kind, clock, body = split(data, "frame", "source", "target", "kind", "clock", "body")
    known = {bytes([each.value]): each for each in FrameKind}
    if kind not in known:
        raise MalformedError("frame", "a known kind", kind.hex() or "nothing")
    names = to_text(source, "frame", "source"), to_text(target, "frame", "target")
    return Frame(*names, known[kind], body, to_number(clock, "frame", "clock"))


async def read_frame(reader: asyncio.StreamReader, largest: int = LARGEST) -> Frame | None:
    """Return the next frame, or ``None`` at the end of the stream.

    Raises:
        MalformedError: what comes is no frame, or too long.
    """
    try:
        size = _checked(await reader.readexactly(_LENGTH), "frame", largest)
        return parse_frame(await reader.readexactly(size))
    except (asyncio.IncompleteReadError, ConnectionError):
        return None


async def receive_message(connection: socket.socket, largest: int) -> bytes:
    """Return the next message of a greeting, reading no byte beyond it.

    Raises:
        MalformedError: it is too long.
        ConnectionError: the connection ends before it does.
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
