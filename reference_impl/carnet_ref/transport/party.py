"""A party's process: one role, connected to the platform, started again from its journal as often as need be."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import time
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from carnet_ref.crypto.primitives import CryptoError, Random
from carnet_ref.transport.acceptor import GREETING_SECONDS, over
from carnet_ref.transport.frames import PLATFORM, Ended, Frame, FrameKind, Tick
from carnet_ref.transport.greeting import introduce
from carnet_ref.transport.node import Node
from carnet_ref.transport.relay import OUTGOING, STALLED_SECONDS
from carnet_ref.transport.wire import LARGEST, encode_frame, read_frame
from carnet_ref.wire.reader import MalformedError

TICK_SECONDS: Final = 0.25
Stream = tuple[asyncio.StreamReader, asyncio.StreamWriter]


@dataclass(frozen=True, slots=True)
class ConnectionConfig:
    """How a party reaches its platform: the port, the party's key, and the largest frame that it takes."""

    port: int
    key: bytes
    random: Random
    largest: int = LARGEST


async def take_part(node: Node, first: Iterable[Frame], config: ConnectionConfig) -> Ended:
    """Connect to the platform, and go on until the role is done; a connection that is lost is made again, soon."""
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

    Raises:
        ConnectionError: it is gone.
        TimeoutError: it takes nothing.
    """
    async with asyncio.timeout(STALLED_SECONDS):
        await writer.drain()


def _send(writer: asyncio.StreamWriter, frames: Iterable[Frame]) -> None:
    for frame in frames:
        writer.write(encode_frame(frame))
