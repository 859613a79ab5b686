"""Platform and party know each other before anything else is said, and what either may send afterwards is bounded."""

import asyncio
import json
import os
import shutil
import socket
import struct
import time
from collections.abc import Callable, Iterable
from pathlib import Path

import pytest

from carnet_check.conformance import conform
from carnet_ref.crypto.primitives import AuthenticationError, CryptoError
from carnet_ref.journal import Journal
from carnet_ref.recorder import AHEAD, LATEST, Recorder, merge_logs, step, write_trace
from carnet_ref.systems.gpu_travelling.deployment import Deployment, holder_names
from carnet_ref.systems.gpu_travelling.names import GPU, ORCHESTRATOR
from carnet_ref.transport import greeting
from carnet_ref.transport import platform as relaying
from carnet_ref.transport.frames import (
    PLATFORM,
    Ended,
    Frame,
    FrameKind,
    RoleEvent,
    encode_frame,
    parse_frame,
    read_frame,
    receive_message,
    send_message,
)
from carnet_ref.transport.greeting import LARGEST_GREETING, NONCE_BYTES, introduce, key_of_party, welcome
from carnet_ref.transport.node import Node
from carnet_ref.transport.platform import TAKEOVERS, Platform, Relay, TrafficCounts, listen
from carnet_ref.transport.process import ConnectionConfig, run_party
from carnet_ref.wire import MalformedError, join
from tests.fixtures.hostile_platform import (
    DEPLOYMENT,
    TOKEN,
    Act,
    Counting,
    Cue,
    HostilePlatform,
    Meeting,
    Move,
    ended,
    meet,
    way,
)
from tests.fixtures.worlds import draws, world_of

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
        task = asyncio.create_task(run_party(node, [frame], way(port, "alice")))
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
        assert len([reader for reader, _ in waiting if reader.at_eof()]) >= crowd - greeting.UNGREETED
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


LARGEST_IN_TESTS = 4096
KEY = bytes(32)


def sized(message: bytes) -> bytes:
    return len(message).to_bytes(4, "little") + message


def test_frames_survive_the_wire() -> None:
    frame = Frame("alice", GPU, FrameKind.H2D, b"body", 7)
    assert parse_frame(encode_frame(frame)[4:]) == frame


@pytest.mark.parametrize("data", [b"", b"\xff" * 20, encode_frame(Frame("a", "b", FrameKind.H2D, b""))[4:-1]])
def test_what_is_no_frame_is_malformed(data: bytes) -> None:
    with pytest.raises(MalformedError):
        parse_frame(data)


@pytest.mark.parametrize(
    ("greets", "sent", "said"),
    [
        (False, b"\x05\0\0\0abcde", "turned away a connection"),
        (False, sized(join(b"mallory", bytes(32))), "the name of a party of this run, found 'mallory'"),
        (False, (LARGEST_GREETING + 1).to_bytes(4, "little"), f"at most {LARGEST_GREETING} bytes, found"),
        (
            False,
            (1 << 24).to_bytes(4, "little") + bytes(1 << 20),
            f"at most {LARGEST_GREETING} bytes, found 16777216",
        ),
        (
            False,
            encode_frame(Frame("alice", ORCHESTRATOR, FrameKind.CHANNEL, b"hello")),
            "turned away a connection",
        ),
        (True, b"\x03\0\0\0abc", "alice is cut off"),
        (True, (LARGEST_IN_TESTS + 1).to_bytes(4, "little"), "alice is cut off"),
    ],
    ids=["no greeting", "unknown party", "too long", "much too long", "a frame", "a malformed frame", "a long frame"],
)
def test_who_sends_no_greeting_is_turned_away_and_no_frame_cut_off(greets: bool, sent: bytes, said: str) -> None:
    async def talk(meeting: Meeting) -> None:
        reader, writer = await (meeting.greet("alice") if greets else meeting.connect())
        writer.write(sent)
        assert await ended(reader) == b""

    assert meet(talk, LARGEST_IN_TESTS).said(said) == 1


def test_a_party_that_comes_back_is_heard_though_its_old_connection_looks_alive() -> None:
    async def talk(meeting: Meeting) -> None:
        _, anna = await meeting.greet("anna")
        old, _ = await meeting.greet("alice")
        assert await meeting.carries(anna, old)
        new, _ = await meeting.greet("alice")
        while await read_frame(old) is not None:
            pass
        assert await meeting.carries(anna, new)

    assert meet(talk).said("alice connected again") == 1


def test_a_stray_connection_cuts_nobody_off() -> None:
    """Whoever lives connects again: a party's name is its own again after a stray came and went."""

    async def talk(meeting: Meeting) -> None:
        alice = Counting()
        meeting.run_party(alice)
        _, anna = await meeting.greet("anna")
        await meeting.until(lambda: alice.frames > 0, anna)
        _, stray = await meeting.greet("alice")
        await meeting.until(lambda: alice.faults > 0, anna)
        stray.close()
        before = alice.frames
        await meeting.until(lambda: alice.frames > before, anna)

    meet(talk)


def test_two_that_claim_one_name_do_not_take_it_from_each_other_for_ever() -> None:
    async def talk(meeting: Meeting) -> None:
        rivals = Counting(), Counting()
        for role in rivals:
            meeting.run_party(role)
        _, anna = await meeting.greet("anna")
        await meeting.until(lambda: meeting.said("turned away") >= 2, anna)
        before, away = [role.frames for role in rivals], meeting.said("turned away")
        await meeting.until(lambda: meeting.said("turned away") >= away + 2, anna)
        gained = sorted(role.frames - was for role, was in zip(rivals, before, strict=True))
        assert gained[0] == 0
        assert gained[1] > 10

    assert meet(talk).said("connected again") == TAKEOVERS


@pytest.mark.parametrize("kind", list(FrameKind))
def test_garbage_of_any_kind_stops_no_run(kind: FrameKind) -> None:
    garbage = Act(Cue(FrameKind.CHANNEL, nth=9), Move.INJECT, Frame("alice", ORCHESTRATOR, kind, b"\x99garbage"))
    world, told = world_of(DEPLOYMENT, HostilePlatform(ORCHESTRATOR, GPU, script=(garbage,)))
    world.run(20_000)
    assert world.failure == ""
    assert world.orchestrator.job.progress.rounds == 2
    assert not [line for line in told if "Error" in line]


def test_an_older_journal_put_back_opens_new_sessions_and_keys(tmp_path: Path) -> None:
    def run() -> tuple[str, set[str]]:
        world, _ = world_of(DEPLOYMENT, seed=f"run {len(list(tmp_path.iterdir()))} {runs}")
        kept = Journal(tmp_path / "journal", KEY, DEPLOYMENT.journal_owner(ORCHESTRATOR), draws(f"nonces {runs}"))
        role = DEPLOYMENT.orchestrator_from(kept, draws(f"orchestrator of run {runs}"))
        node = Node(ORCHESTRATOR, role, world.recorder, kept)
        world.queue.clear()
        world.nodes.pop(ORCHESTRATOR)
        world.add(node, node.perform(role.begin(0.0)))
        world.run(20_000)
        kept.close()
        epochs = {line.split('"k": "')[1].split('"')[0] for line in world.recorder.lines if '"k": "' in line}
        return role.job.progress.digest, epochs

    runs = 0
    kept = Journal(tmp_path / "journal", KEY, DEPLOYMENT.journal_owner(ORCHESTRATOR), draws("first"))
    kept.append("session", bytes(8))
    kept.close()
    for suffix in ("", "-head"):
        shutil.copy(tmp_path / f"journal{suffix}", tmp_path / f"older{suffix}")
    first, used = run()
    runs = 1
    for path in tmp_path.glob("journal*"):
        path.unlink()
    for suffix in ("", "-head"):
        shutil.copy(tmp_path / f"older{suffix}", tmp_path / f"journal{suffix}")
    second, again = run()
    assert first == second
    assert not used & again


LEASED = Deployment(holder_names(2), 2, chunks=2, chunk_bytes=256, lease=5.0, patience=5.0)
END = (1 << 64) - 1  #: The largest number that fits a frame's clock.


class Corrupt(Node):
    """A holder that plays its role, and sends something of its own beside the first thing that it sends."""

    own: Iterable[Frame] = ()

    def deliver(self, event: RoleEvent) -> list[Frame]:
        frames = Node.deliver(self, event)
        if frames and self.own:
            frames, self.own = [*self.own, *frames], ()
        return frames


def travel(deployment: Deployment, own: Iterable[Frame], folder: Path) -> tuple[Ended, str, list[str], list[str]]:
    """Run it over a relay, with alice sending frames of her own; return the end, the model, the steps and remarks."""
    names, told = (ORCHESTRATOR, *deployment.holders), list[str]()
    recorders = {name: Recorder(design=deployment.design) for name in (PLATFORM, *names)}
    roles = {name: deployment.holder(name, draws(name)) for name in deployment.holders}
    orchestrator = deployment.orchestrator(draws(ORCHESTRATOR))

    async def party(name: str, port: int) -> Ended:
        role = orchestrator if name == ORCHESTRATOR else roles[name]
        node = (Corrupt if name == "alice" else Node)(name, role, recorders[name], remark=told.append)
        if isinstance(node, Corrupt):
            node.own = own
        way = ConnectionConfig(port, key_of_party(TOKEN, name), os.urandom, deployment.largest_frame)
        return await run_party(node, node.perform(role.begin(time.monotonic())), way)

    async def whole() -> Ended:
        gpu = Node(GPU, deployment.gpu(draws(GPU)), recorders[PLATFORM], remark=told.append)
        keys = {name: key_of_party(TOKEN, name) for name in names}
        relay = Relay(
            deployment.platform(), gpu, recorders[PLATFORM], keys, os.urandom, told.append, deployment.largest_frame
        )
        with listen(0) as listening:
            others: list[asyncio.Future[Ended] | asyncio.Future[None]] = [asyncio.ensure_future(relay.serve(listening))]
            others += [asyncio.ensure_future(party(name, listening.getsockname()[1])) for name in deployment.holders]
            ended = await asyncio.wait_for(party(ORCHESTRATOR, listening.getsockname()[1]), 60)
            for task in others:
                task.cancel()
            await asyncio.gather(*(asyncio.all_tasks() - {asyncio.current_task()}), return_exceptions=True)
            await asyncio.sleep(0)
        return ended

    ended = asyncio.run(whole())
    lines = list(merge_logs(recorder.lines for recorder in recorders.values()))
    return ended, orchestrator.job.progress.digest, lines, told


def conforms(deployment: Deployment, lines: list[str], folder: Path) -> bool:
    write_trace(folder / "trace", deployment.header(lines), lines)
    return conform(folder / "trace").divergence is None


@pytest.fixture(scope="module")
def calm() -> str:
    """The model of a run in which nobody does anything of their own."""
    world, _ = world_of(LEASED)
    world.run()
    return world.orchestrator.job.progress.digest


NOT_THEIRS = {
    "an empty fault": (ORCHESTRATOR, FrameKind.FAULT, b""),
    "a fault": (ORCHESTRATOR, FrameKind.FAULT, b"\0"),
    "a session message for the orchestrator": (ORCHESTRATOR, FrameKind.SESSION, b"\0garbage"),
    "a session message for the GPU": (GPU, FrameKind.SESSION, b"\0garbage"),
    "an order for the GPU": (GPU, FrameKind.SESSION, b"\1garbage"),
    "what a copy engine says": (ORCHESTRATOR, FrameKind.D2H, b"garbage"),
    "data, while another has the GPU": (GPU, FrameKind.H2D, bytes(32)),
    "work, while another has the GPU": (GPU, FrameKind.WORK, bytes(64)),
    "a report": (ORCHESTRATOR, FrameKind.REPORT, b"garbage"),
    "a reset": (PLATFORM, FrameKind.RESET, b"OPEN"),
    "a reset of the GPU": (GPU, FrameKind.RESET, b"OPEN"),
    "a route": (PLATFORM, FrameKind.ROUTE, b"alice"),
    "host memory": (PLATFORM, FrameKind.HOST_MEMORY, b"garbage"),
}


@pytest.mark.mends("H4")
@pytest.mark.parametrize("what", NOT_THEIRS)
def test_an_honest_platform_carries_nothing_that_is_not_its_senders_to_send(what: str) -> None:
    target, kind, body = NOT_THEIRS[what]
    platform = Platform(ORCHESTRATOR, GPU)
    carried = platform.carry(Frame("alice", target, kind, body))
    assert (carried.frames, carried.step) == ((), None)
    assert not platform.host_memory


@pytest.mark.mends("H4")
def test_frames_that_are_not_a_holders_to_send_cost_a_run_nothing(calm: str, tmp_path: Path) -> None:
    own = [Frame("alice", *frame) for frame in NOT_THEIRS.values()] * 3
    ended, model, lines, told = travel(LEASED, own, tmp_path)
    assert (ended.failure, model) == ("", calm)
    assert sum('"action": "open_session"' in line for line in lines) == 1
    assert not [line for line in told if "given up" in line or "failed" in line]
    assert conforms(LEASED, lines, tmp_path)


@pytest.mark.mends("H4")
@pytest.mark.parametrize("target", [ORCHESTRATOR, GPU, PLATFORM])
def test_a_clock_at_its_end_costs_its_sender_the_connection_and_the_run_nothing(
    target: str, calm: str, tmp_path: Path
) -> None:
    kind = {ORCHESTRATOR: FrameKind.CHANNEL, GPU: FrameKind.H2D, PLATFORM: FrameKind.ROUTE}[target]
    ended, model, lines, told = travel(LEASED, [Frame("alice", target, kind, b"garbage", END)], tmp_path)
    assert (ended.failure, model) == ("", calm)
    (said,) = [line for line in told if "cut off" in line]
    assert said.startswith("platform: alice is cut off: frame: expected a logical clock of at most ")
    assert said.endswith(f"found {END}")
    assert max(json.loads(line)["clock"] for line in lines) < 10_000
    assert conforms(LEASED, lines, tmp_path)


@pytest.mark.mends("H4")
@pytest.mark.parametrize("clock", [END, LATEST - 1, 2 * AHEAD])
def test_a_clock_that_cannot_be_moves_no_clock_in_one_process(clock: int, calm: str) -> None:
    world, _ = world_of(LEASED)
    for kind, target in ((FrameKind.CHANNEL, ORCHESTRATOR), (FrameKind.H2D, GPU), (FrameKind.ROUTE, PLATFORM)):
        world.queue.append(Frame("alice", target, kind, b"garbage", clock))
        world.queue.append(Frame(ORCHESTRATOR, target, kind, b"alice", clock))
    world.run()
    assert (world.failure, world.orchestrator.job.progress.digest) == ("", calm)
    assert world.recorder.clock < 10_000


@pytest.mark.mends("H4")
def test_no_message_brings_a_clock_near_its_end_nor_further_ahead_than_a_party_can_be() -> None:
    """Not even from a platform that passes on what it should not."""
    recorder = Recorder()
    for clock in (5, LATEST - 1, LATEST, END):
        recorder.witness(clock)
    recorder.record(step("one", "gpu"), "gpu")
    assert recorder.clock <= LATEST
    encode_frame(Frame("alice", ORCHESTRATOR, FrameKind.CHANNEL, b"", recorder.clock))
    recorder = Recorder(clock=10)
    recorder.check(10 + AHEAD)
    with pytest.raises(MalformedError, match=f"at most {10 + AHEAD}, found {11 + AHEAD}"):
        recorder.check(11 + AHEAD)


@pytest.mark.mends("H4")
def test_clocks_that_creep_leave_everybody_heard() -> None:
    """A holder may push all clocks on, by a bounded step at a time: nobody else falls out of bounds by it."""

    async def talk(meeting: Meeting) -> None:
        _, alice = await meeting.greet("alice")
        orchestrator, to_alice = await meeting.greet(ORCHESTRATOR)
        for turn in range(1, 50):
            alice.write(encode_frame(Frame("alice", ORCHESTRATOR, FrameKind.CHANNEL, b"", turn * AHEAD)))
            heard = await read_frame(orchestrator)
            assert heard is not None
            to_alice.write(encode_frame(Frame(ORCHESTRATOR, "anna", FrameKind.CHANNEL, b"", heard.clock + 1)))
            while meeting.relay.recorder.clock != heard.clock + 1:
                await asyncio.sleep(0)

    assert not meet(talk).told


@pytest.mark.mends("H4")
def test_a_platform_that_starts_again_goes_on_from_the_clocks_that_it_passed_on(tmp_path: Path) -> None:
    with TrafficCounts(tmp_path) as tally:
        tally.note(3, 4, 5 * AHEAD)
    with TrafficCounts(tmp_path) as tally:
        assert (tally.messages, tally.octets, tally.clock) == (3, 4, 5 * AHEAD)
