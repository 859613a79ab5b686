"""Mutual authentication of new connections, with tight limits until it succeeds.

In a greeting, platform and party show each other that they know the party's key.

=========  =====================================
from       what
=========  =====================================
party      its name and a nonce
platform   a nonce, and its proof over both
party      its own proof over both
=========  =====================================

A proof is an HMAC under the party's key. The key itself never crosses the wire, so a process that takes the platform's
port learns nothing to greet with. Both nonces are fresh, so a recorded greeting is of no use. The two ends prove
different things, so neither proof can be sent back as the other.

A connection that has not greeted yet may send two short messages within one deadline, and has no buffer. There is a
limited number of such connections, and the one that has waited longest makes room for the next: a party greets within
milliseconds, and so gets through a crowd that only waits.

Source: ISO/IEC 9798-4, mutual authentication with check functions in three passes; what rustls limits before
authentication; RFC 4987, section 3 (recycling the oldest half-open connection).
"""

import asyncio
import socket
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Final

from carnet_ref.crypto.primitives import CryptoError, Random, hmac_sha384, verify_hmac_sha384
from carnet_ref.transport.frames import receive_message, send_message
from carnet_ref.wire import MalformedError, join, split, to_text

LARGEST_GREETING: Final = 512  #: Bytes of one of its messages at most.
NONCE_BYTES: Final = 32
_INTRODUCTION: Final = "greeting of a party"
_SHOWN: Final = 40
_PARTY, _PLATFORM = b"carnet greeting: party", b"carnet greeting: platform"

Send = Callable[[bytes], Awaitable[None]]
#: Each carries one whole message; nothing that is received is longer than a greeting may be.
Receive = Callable[[], Awaitable[bytes]]


def key_of_party(token: bytes, name: str) -> bytes:
    """Return the key shared by the platform and one party, derived from the run's token."""
    return hmac_sha384(token, join(b"carnet party", name.encode("utf-8")))


async def introduce(name: str, key: bytes, random: Random, send: Send, receive: Receive) -> None:
    """Authenticate as a party.

    Raises AuthenticationError if what listens does not know this party's key; MalformedError if what it says is no
    greeting.
    """
    own = random(NONCE_BYTES)
    await send(join(name.encode("utf-8"), own))
    theirs, proof = split(await receive(), "greeting of the platform", "nonce", "proof")
    both = _both(name, own, theirs)
    verify_hmac_sha384(key, join(_PLATFORM, both), proof, "the platform's proof that it knows this run")
    await send(hmac_sha384(key, join(_PARTY, both)))


async def welcome(keys: Mapping[str, bytes], random: Random, send: Send, receive: Receive) -> str:
    """Authenticate as the platform, and return the name of the party.

    Raises AuthenticationError if it does not know the key of the party that it says it is; MalformedError if what it
    says is no greeting, or no party's of this run.
    """
    name, theirs = parse_introduction(await receive())
    if name not in keys:
        raise MalformedError(_INTRODUCTION, "the name of a party of this run", repr(name[:_SHOWN]))
    own = random(NONCE_BYTES)
    both = _both(name, theirs, own)
    await send(join(own, hmac_sha384(keys[name], join(_PLATFORM, both))))
    verify_hmac_sha384(keys[name], join(_PARTY, both), await receive(), f"the proof of {name!r}")
    return name


def parse_introduction(data: bytes) -> tuple[str, bytes]:
    """Return the name and the nonce in a party's first message. Raises MalformedError if it is malformed."""
    name, nonce = split(data, _INTRODUCTION, "name", "nonce")
    return to_text(name, _INTRODUCTION, "name"), nonce


def _both(name: str, party: bytes, platform: bytes) -> bytes:
    return join(name.encode("utf-8"), party, platform)


GREETING_SECONDS: Final = 5.0  #: How long a greeting may take, all of it.
UNGREETED: Final = 256  #: Connections that have not greeted yet, at most.
BACKLOG: Final = 1024  #: Connections that the system holds until they are accepted, at most.

#: Takes a party's name and its connection, once it has greeted.
OnGreeted = Callable[[str, socket.socket], Awaitable[None]]


@dataclass(slots=True)
class Acceptor:
    """Accepts connections, and admits the parties with keys in ``keys``.

    A connection that has greeted is ``come``'s, to close as well.
    """

    keys: Mapping[str, bytes]
    random: Random
    remark: Callable[[str], None]
    come: OnGreeted
    _waiting: dict[socket.socket, asyncio.Task[None]] = field(default_factory=dict)
    _inside: set[asyncio.Task[None]] = field(default_factory=set)
    _turned_away: int = 0

    async def keep(self, listening: socket.socket) -> None:
        """Accept connections for ever, one at a time, while greetings continue in between."""
        loop = asyncio.get_running_loop()
        loop.add_reader(listening, self._accept, listening)
        try:
            await loop.create_future()
        finally:
            loop.remove_reader(listening)
            for task in {*self._waiting.values(), *self._inside}:
                task.cancel()

    def turn_away(self, why: str) -> None:
        """Report a rejected connection, but only the first, second, fourth, eighth and so on."""
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
    """Return functions that send and receive the messages of a greeting over a connection, unbuffered."""

    async def send(message: bytes) -> None:
        await send_message(connection, message)

    async def receive() -> bytes:
        return await receive_message(connection, LARGEST_GREETING)

    return send, receive
