"""Accepting connections: what connects is unknown until it has greeted, and gets little until then.

A connection that has not greeted yet may send two short messages within one deadline, and has no buffer. There is a
limited number of such connections, and the one that has waited longest makes room for the next: a party greets within
milliseconds, and so gets through a crowd that only waits.

Source: what rustls limits before authentication; RFC 4987, section 3 (recycling the oldest half-open connection).
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Final

from carnet_ref.crypto.primitives import CryptoError, Random
from carnet_ref.transport.greeting import LARGEST_GREETING, Receive, Send, welcome
from carnet_ref.transport.wire import receive_message, send_message
from carnet_ref.wire.reader import MalformedError

GREETING_SECONDS: Final = 5.0
"""How long a greeting may take, all of it."""
UNGREETED: Final = 256
"""Connections that have not greeted yet, at most."""
BACKLOG: Final = 1024
"""Connections that the system holds until they are accepted, at most."""

Come = Callable[[str, socket.socket], Awaitable[None]]
"""Takes a party's name and its connection, once it has greeted."""


@dataclass(slots=True)
class Acceptor:
    """Accepts connections and lets parties in, each of which is known by its key in ``keys``.

    A connection that has greeted is ``come``'s, to close as well.
    """

    keys: Mapping[str, bytes]
    random: Random
    remark: Callable[[str], None]
    come: Come
    _waiting: dict[socket.socket, asyncio.Task[None]] = field(default_factory=dict)
    _inside: set[asyncio.Task[None]] = field(default_factory=set)
    _turned_away: int = 0

    async def keep(self, listening: socket.socket) -> None:
        """Accept connections for ever, one at a time, so that a greeting that has begun goes on between two of them."""
        loop = asyncio.get_running_loop()
        loop.add_reader(listening, self._accept, listening)
        try:
            await loop.create_future()
        finally:
            loop.remove_reader(listening)
            for task in {*self._waiting.values(), *self._inside}:
                task.cancel()

    def turn_away(self, why: str) -> None:
        """Say that a connection was turned away: the first, second, fourth, eighth and so on."""
        self._turned_away += 1
        if self._turned_away & (self._turned_away - 1) == 0:
            so_far = f" ({self._turned_away:,} so far)" if self._turned_away > 1 else ""
            self.remark(f"platform: turned away a connection{so_far}: {why}")

    def _accept(self, listening: socket.socket) -> None:
        try:
            connection, _ = listening.accept()
        except (BlockingIOError, ConnectionError):
            return
        except OSError as error:
            self._make_room(str(error.strerror))
            return
        connection.setblocking(False)
        if len(self._waiting) >= UNGREETED:
            self._make_room(f"{UNGREETED} came after it, and it had not greeted yet")
        task = self._waiting[connection] = asyncio.ensure_future(self._serve(connection))
        task.add_done_callback(lambda done: self._leave(connection, done))

    def _make_room(self, why: str) -> None:
        for oldest in list(self._waiting.values())[:1]:
            oldest.cancel()
            self.turn_away(why)

    async def _serve(self, connection: socket.socket) -> None:
        try:
            async with asyncio.timeout(GREETING_SECONDS):
                name = await welcome(self.keys, self.random, *over(connection))
        except TimeoutError:
            self.turn_away(f"no greeting within {GREETING_SECONDS:g} s")
        except (MalformedError, CryptoError, OSError) as error:
            self.turn_away(str(error))
        else:
            self._inside.add(self._waiting.pop(connection))
            await self.come(name, connection)

    def _leave(self, connection: socket.socket, task: asyncio.Task[None]) -> None:
        if self._waiting.pop(connection, None) is not None:
            connection.close()
        self._inside.discard(task)
        error = None if task.cancelled() else task.exception()
        if error is not None:
            task.get_loop().call_exception_handler({"message": "a connection failed", "exception": error})


def over(connection: socket.socket) -> tuple[Send, Receive]:
    """Return how the messages of a greeting are sent and received over a connection, without any buffer."""

    async def send(message: bytes) -> None:
        await send_message(connection, message)

    async def receive() -> bytes:
        return await receive_message(connection, LARGEST_GREETING)

    return send, receive
