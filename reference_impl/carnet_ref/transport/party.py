"""A party's process: one role, connected to the platform, started again from its journal as often as need be."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterable

from carnet_ref.roles.messages import PLATFORM, Ended, Frame, Kind, Tick
from carnet_ref.transport.hub import greeting
from carnet_ref.transport.node import Node
from carnet_ref.transport.wire import encode_frame, read_frame
from carnet_ref.wire import MalformedError

TICK_SECONDS = 0.25


async def take_part(node: Node, first: Iterable[Frame], port: int, token: str = "") -> Ended:
    """Connect to the platform, and go on until the role is done; a connection that is lost is made again, soon."""
    pending = list(first)
    lost = False
    while node.ended is None:
        reader, writer = await _connected(port)
        try:
            writer.write(encode_frame(greeting(node.name, token)))
            if lost:
                pending = node.deliver(Frame(PLATFORM, node.name, Kind.FAULT, b""))
            _send(writer, pending)
            await _converse(node, reader, writer)
        finally:
            writer.close()
        if node.ended is None:
            pending, lost = [], True
            await asyncio.sleep(TICK_SECONDS)
    return node.ended


async def _connected(port: int) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    while True:
        try:
            return await asyncio.open_connection("127.0.0.1", port)
        except OSError:
            await asyncio.sleep(TICK_SECONDS)


async def _converse(node: Node, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Take frames, and the time, until the stream or the role ends."""
    coming = asyncio.ensure_future(read_frame(reader))
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
            coming = asyncio.ensure_future(read_frame(reader))
            _send(writer, node.deliver(frame))
        await writer.drain()
    except (ConnectionError, MalformedError):
        return
    finally:
        coming.cancel()


def _send(writer: asyncio.StreamWriter, frames: Iterable[Frame]) -> None:
    for frame in frames:
        writer.write(encode_frame(frame))
