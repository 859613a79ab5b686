"""Platform and party know each other before anything else is said, and what does not greet gets little."""

from __future__ import annotations

import asyncio
import os
import socket
import struct
from collections.abc import Callable

import pytest

from carnet_ref.crypto.primitives import AuthenticationError, CryptoError
from carnet_ref.recorder import Recorder
from carnet_ref.transport import greeting
from carnet_ref.transport import platform as relaying
from carnet_ref.transport.frames import Frame, FrameKind, encode_frame, receive_message, send_message
from carnet_ref.transport.greeting import NONCE_BYTES, introduce, key_of_party, welcome
from carnet_ref.transport.node import Node
from carnet_ref.transport.process import take_part
from carnet_ref.wire import MalformedError
from tests.fixtures.hostile_platform import TOKEN, Counting, Meeting, ended, meet, way

KEYS = {name: key_of_party(TOKEN, name) for name in ("alice", "anna")}


class Wire:
    """Carries messages between the two ends, and keeps them."""

    def __init__(self, change: Callable[[int, bytes], bytes] = lambda _, message: message) -> None:
        self.queues: tuple[asyncio.Queue[bytes | None], ...] = asyncio.Queue(), asyncio.Queue()
        self.sent: list[bytes] = []
        self.change = change

    async def send(self, end: int, message: bytes) -> None:
        self.sent.append(message)
        await self.queues[1 - end].put(self.change(len(self.sent) - 1, message))


def greeted(wire: Wire, key: bytes = KEYS["alice"], name: str = "alice") -> tuple[str | BaseException | None, ...]:
    """Return what the platform and the party end with; an end whose peer has gone sees the end of the stream."""

    async def one(end: int) -> str | None:
        async def send(message: bytes) -> None:
            await wire.send(end, message)

        async def receive() -> bytes:
            message = await wire.queues[end].get()
            if message is None:
                raise ConnectionResetError
            return message

        try:
            if end == 0:
                return await welcome(KEYS, os.urandom, send, receive)
            await introduce(name, key, os.urandom, send, receive)
            return None
        finally:
            await wire.queues[1 - end].put(None)

    async def both() -> tuple[str | BaseException | None, ...]:
        platform, party = await asyncio.gather(one(0), one(1), return_exceptions=True)
        return platform, party

    return asyncio.run(both())


@pytest.mark.mends("L4")
def test_the_key_never_crosses_the_wire() -> None:
    wire = Wire()
    assert greeted(wire) == ("alice", None)
    for secret in (TOKEN, *KEYS.values()):
        assert not any(secret[at : at + 8] in b"".join(wire.sent) for at in range(len(secret) - 7))
    again = Wire()
    greeted(again)
    assert not set(wire.sent) & set(again.sent)


@pytest.mark.mends("L4")
def test_a_party_says_nothing_of_use_to_what_does_not_know_its_key() -> None:
    """What listens on the platform's port after a crash learns a name and a nonce, and is left."""
    wire = Wire(lambda at, message: message[:-1] + bytes([message[-1] ^ 1]) if at == 1 else message)
    platform, party = greeted(wire)
    assert isinstance(party, AuthenticationError)
    assert isinstance(platform, ConnectionError)
    assert len(wire.sent) == 2
    name, nonce = wire.sent[0][4:9], wire.sent[0][13:]
    assert (name, len(nonce)) == (b"alice", NONCE_BYTES)


@pytest.mark.parametrize("key", [key_of_party(TOKEN, "anna"), key_of_party(bytes(48), "alice"), TOKEN])
def test_no_party_greets_as_another(key: bytes) -> None:
    _, party = greeted(Wire(), key)
    assert isinstance(party, AuthenticationError)


@pytest.mark.parametrize("at", range(3))
def test_every_byte_of_a_greeting_counts(at: int) -> None:
    whole = Wire()
    greeted(whole)
    for byte in range(len(whole.sent[at])):

        def change(number: int, message: bytes, byte: int = byte) -> bytes:
            changed = message[:byte] + bytes([message[byte] ^ 1]) + message[byte + 1 :]
            return changed if number == at else message

        platform, _ = greeted(Wire(change))
        assert isinstance(platform, CryptoError | MalformedError | ConnectionError), byte


@pytest.mark.mends("L4")
def test_a_recorded_greeting_opens_nothing_and_no_proof_can_be_sent_back() -> None:
    first = Wire()
    greeted(first)
    recorded = iter((first.sent[0], first.sent[2]))

    async def send(_: bytes) -> None:
        return

    async def receive() -> bytes:
        return next(recorded)

    with pytest.raises(AuthenticationError):
        asyncio.run(welcome(KEYS, os.urandom, send, receive))
    reflecting = Wire()
    reflecting.change = lambda at, message: reflecting.sent[1][-48:] if at == 2 else message
    assert isinstance(greeted(reflecting)[0], AuthenticationError)


@pytest.mark.mends("L4")
def test_a_party_leaves_a_port_that_was_taken_over_and_finds_the_platform_when_it_is_back() -> None:
    heard: list[bytes] = []
    told: list[str] = []
    alice = Counting()

    async def squat(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        heard.append(await reader.read(1 << 16))
        writer.write(struct.pack("<I", 88) + struct.pack("<I", 32) + bytes(32) + struct.pack("<I", 48) + bytes(48))
        heard.append(await reader.read())
        writer.close()

    async def talk(meeting: Meeting) -> None:
        squatter = await asyncio.start_server(squat, "127.0.0.1", 0)
        port = squatter.sockets[0].getsockname()[1]
        frame = Frame("alice", "anna", FrameKind.CHANNEL, b"a secret of the run")
        node = Node("alice", alice, Recorder(), remark=told.append)
        task = asyncio.create_task(take_part(node, [frame], way(port, "alice")))
        meeting.tasks.append(task)
        while not told:
            await asyncio.sleep(0.01)
        squatter.close()
        await squatter.wait_closed()
        with relaying.listen(port) as listening:
            serving = asyncio.ensure_future(meeting.relay.serve(listening))
            while "alice" not in meeting.relay._writers:
                await asyncio.sleep(0.01)
            serving.cancel()

    meet(talk)
    assert [line for line in told if "is not this run's platform" in line] == told[:1]
    assert b"secret" not in b"".join(heard)
    assert max(len(each) for each in heard) == 4 + 4 + len("alice") + 4 + NONCE_BYTES


# -- before a greeting ------------------------------------------------------------------------------


@pytest.mark.mends("H3")
def test_a_connection_that_says_nothing_is_closed_in_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(greeting, "GREETING_SECONDS", 0.2)

    async def talk(meeting: Meeting) -> None:
        reader, _ = await meeting.connect()
        assert await ended(reader) == b""

    assert meet(talk).said("no greeting within 0.2 s") == 1


@pytest.mark.mends("H3")
def test_a_greeting_byte_by_byte_has_no_more_time_than_any_other(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(greeting, "GREETING_SECONDS", 0.2)

    async def talk(meeting: Meeting) -> None:
        reader, writer = await meeting.connect()
        closed = asyncio.ensure_future(ended(reader))
        sent = 0
        while not closed.done():
            writer.write(b"\x40\0\0\0"[sent : sent + 1] or b"x")
            sent += 1
            await asyncio.sleep(0.02)
        assert sent < 60

    assert meet(talk).said("no greeting within 0.2 s") == 1


@pytest.mark.mends("H3")
def test_a_party_gets_through_a_crowd_that_waits() -> None:
    """Many more connections than the platform keeps waiting, and none of them says anything."""
    crowd = 3 * greeting.UNGREETED

    async def talk(meeting: Meeting) -> None:
        waiting = [await meeting.connect() for _ in range(crowd)]
        _, anna = await meeting.greet("anna")
        alice, _ = await meeting.greet("alice")
        assert await meeting.carries(anna, alice)
        assert len(meeting.relay._acceptor._waiting) <= greeting.UNGREETED
        closed = [reader for reader, _ in waiting if reader.at_eof()]
        assert len(closed) >= crowd - greeting.UNGREETED
        again, _ = await meeting.greet("alice")
        assert await meeting.carries(anna, again)

    met = meet(talk)
    assert met.said(f"{greeting.UNGREETED} came after it") <= crowd.bit_length()
    assert len(met.told) <= crowd.bit_length() + 1


@pytest.mark.mends("H3")
def test_parties_are_heard_while_others_keep_connecting() -> None:
    async def talk(meeting: Meeting) -> None:
        _, anna = await meeting.greet("anna")
        alice, _ = await meeting.greet("alice")

        async def flood() -> None:
            while True:
                with socket.socket() as one:
                    one.setblocking(False)
                    await asyncio.get_running_loop().sock_connect(one, ("127.0.0.1", meeting.port))
                    one.send(b"\xff\xff")

        flooding = [asyncio.ensure_future(flood()) for _ in range(8)]
        for _ in range(5):
            assert await meeting.carries(anna, alice)
            alice, _ = await meeting.greet("alice")
            await asyncio.sleep(0.1)
            meeting.relay._takeovers.clear()
        for one in flooding:
            one.cancel()

    met = meet(talk)
    assert met.relay._acceptor._turned_away > 100
    assert len(met.told) < 40


@pytest.mark.mends("H3")
@pytest.mark.parametrize("half", ["before", "after"])
def test_a_connection_whose_other_half_is_closed_is_let_go(half: str) -> None:
    async def talk(meeting: Meeting) -> None:
        reader, writer = await (meeting.connect() if half == "before" else meeting.greet("alice"))
        writer.write_eof()
        assert await ended(reader) == b""
        while meeting.relay._writers or meeting.relay._acceptor._waiting:
            await asyncio.sleep(0.01)

    meet(talk)


# -- after a greeting -------------------------------------------------------------------------------


@pytest.mark.mends("H3")
def test_a_party_that_takes_nothing_is_cut_off_and_costs_little_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(relaying, "STALLED_SECONDS", 0.3)
    most = 0

    async def talk(meeting: Meeting) -> None:
        nonlocal most
        _, anna = await meeting.greet("anna")
        stalled, _ = await meeting.greet("alice")
        stalled._transport.pause_reading()  # type: ignore[attr-defined]
        frame = encode_frame(Frame("anna", "alice", FrameKind.CHANNEL, bytes(1 << 19)))
        for _ in range(64):
            anna.write(frame)
            await asyncio.wait_for(anna.drain(), 5)
            writer = meeting.relay._writers.get("alice")
            most = max(most, writer.transport.get_write_buffer_size() if writer else 0)

    assert meet(talk).said("alice is cut off") == 1
    assert relaying.OUTGOING < most <= relaying.OUTGOING + (1 << 20)


@pytest.mark.mends("H3")
def test_greeting_under_the_name_of_a_live_party_needs_its_key() -> None:
    """A holder cannot take the orchestrator's name, though both belong to the run."""

    async def talk(meeting: Meeting) -> None:
        _, anna = await meeting.greet("anna")
        alice, _ = await meeting.greet("alice")
        loop = asyncio.get_running_loop()
        with socket.create_connection(("127.0.0.1", meeting.port)) as mallory:
            mallory.setblocking(False)

            async def send(message: bytes) -> None:
                await send_message(mallory, message)

            async def receive() -> bytes:
                return await receive_message(mallory, 512)

            with pytest.raises(AuthenticationError):
                await introduce("alice", key_of_party(TOKEN, "anna"), os.urandom, send, receive)
            await send(bytes(48))
            assert await loop.sock_recv(mallory, 1) == b""
        assert await meeting.carries(anna, alice)

    met = meet(talk)
    assert met.said("the proof of 'alice' does not verify") == 1
    assert not met.said("connected again")
