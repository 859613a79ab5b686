"""Malformed messages, unknown peers, and journals put back: said clearly, and nothing is lost."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from carnet_ref.journal import Journal
from carnet_ref.parties.cast import Cast, holder_names
from carnet_ref.platform.bus import Platform
from carnet_ref.platform.hostile import Act, Cue, HostilePlatform, Move
from carnet_ref.recorder import Recorder
from carnet_ref.roles.messages import GPU, ORCHESTRATOR, Effect, Ended, Event, Frame, Kind
from carnet_ref.transport.hub import TAKEOVERS, Hub, greeting
from carnet_ref.transport.node import Node
from carnet_ref.transport.party import take_part
from carnet_ref.transport.wire import LARGEST, encode_frame, parse_frame, read_frame
from carnet_ref.wire import MalformedError
from tests.fixtures.worlds import draws, world_of

CAST = Cast(holder_names(2), 2, chunk_bytes=256)
KEY = bytes(32)


def test_frames_survive_the_wire() -> None:
    frame = Frame("alice", GPU, Kind.H2D, b"body", 7)
    assert parse_frame(encode_frame(frame)[4:]) == frame


@pytest.mark.parametrize("data", [b"", b"\xff" * 20, encode_frame(Frame("a", "b", Kind.H2D, b""))[4:-1]])
def test_what_is_no_frame_is_malformed(data: bytes) -> None:
    with pytest.raises(MalformedError):
        parse_frame(data)


@pytest.mark.parametrize(
    ("sent", "said"),
    [
        (encode_frame(greeting("mallory")), "turned away 'mallory'"),
        ((LARGEST + 1).to_bytes(4, "little"), "is cut off"),
        (encode_frame(greeting("alice")) + b"\x03\0\0\0abc", "alice is cut off"),
    ],
    ids=["unknown peer", "too long", "malformed"],
)
def test_a_peer_that_does_not_belong_is_cut_off(sent: bytes, said: str) -> None:
    remarks: list[str] = []

    async def talk() -> bytes:
        recorder = Recorder()
        gpu = Node(GPU, CAST.gpu(draws("gpu")), recorder)
        server = await Hub(Platform(), gpu, recorder, frozenset({"alice"}), remarks.append).listen(0)
        async with server:
            reader, writer = await asyncio.open_connection(*server.sockets[0].getsockname()[:2])
            writer.write(sent)
            answer = await asyncio.wait_for(reader.read(), 10)
            writer.close()
            await writer.wait_closed()
            return answer

    assert asyncio.run(talk()) == b""
    assert any(said in remark for remark in remarks)


@dataclass
class Meeting:
    """A hub for alice and anna, and all that is connected to it."""

    port: int
    told: list[str]
    writers: list[asyncio.StreamWriter] = field(default_factory=list)
    tasks: list[asyncio.Task[Ended]] = field(default_factory=list)

    async def greet(self, name: str, token: str = "") -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
        self.writers.append(writer)
        writer.write(encode_frame(greeting(name, token)))
        return reader, writer

    def take_part(self, role: Counting) -> None:
        self.tasks.append(asyncio.create_task(take_part(Node("alice", role, Recorder()), [], self.port)))

    async def until(self, happens: Callable[[], bool], anna: asyncio.StreamWriter) -> None:
        """Let anna talk to alice until something happens."""
        while not happens():
            anna.write(encode_frame(Frame("anna", "alice", Kind.CHANNEL, b"hello")))
            await asyncio.sleep(0.01)

    async def carries(self, anna: asyncio.StreamWriter, alice: asyncio.StreamReader) -> bool:
        coming = asyncio.ensure_future(read_frame(alice))
        await self.until(coming.done, anna)
        frame = coming.result()
        return frame is not None and frame.body == b"hello"

    def said(self, words: str) -> int:
        return sum(words in remark for remark in self.told)


def meet(talk: Callable[[Meeting], Coroutine[None, None, None]], token: str = "") -> Meeting:
    """Let parties talk over a hub, and wait until all of them are gone."""

    async def whole() -> Meeting:
        told: list[str] = []
        recorder = Recorder()
        gpu = Node(GPU, CAST.gpu(draws("gpu")), recorder)
        server = await Hub(Platform(), gpu, recorder, frozenset({"alice", "anna"}), told.append, token).listen(0)
        async with server:
            meeting = Meeting(server.sockets[0].getsockname()[1], told)
            await asyncio.wait_for(talk(meeting), 20)
            for task in meeting.tasks:
                task.cancel()
            for writer in meeting.writers:
                writer.close()
            await asyncio.gather(*(asyncio.all_tasks() - {asyncio.current_task()}), return_exceptions=True)
        return meeting

    return asyncio.run(whole())


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
        meeting.take_part(alice)
        _, anna = await meeting.greet("anna")
        await meeting.until(lambda: alice.frames > 0, anna)
        _, stray = await meeting.greet("alice")
        await meeting.until(lambda: alice.faults > 0, anna)
        stray.close()
        before = alice.frames
        await meeting.until(lambda: alice.frames > before, anna)

    meet(talk)


def test_a_connection_of_another_run_is_turned_away() -> None:
    async def talk(meeting: Meeting) -> None:
        _, anna = await meeting.greet("anna", "this run")
        own, _ = await meeting.greet("alice", "this run")
        assert await meeting.carries(anna, own)
        stray, _ = await meeting.greet("alice", "another run")
        assert await stray.read() == b""
        assert await meeting.carries(anna, own)

    assert meet(talk, "this run").said("turned away 'alice'") == 1


def test_two_that_claim_one_name_do_not_take_it_from_each_other_for_ever() -> None:
    async def talk(meeting: Meeting) -> None:
        rivals = Counting(), Counting()
        for role in rivals:
            meeting.take_part(role)
        _, anna = await meeting.greet("anna")
        await meeting.until(lambda: meeting.said("turned away") >= 2, anna)
        before, away = [role.frames for role in rivals], meeting.said("turned away")
        await meeting.until(lambda: meeting.said("turned away") >= away + 2, anna)
        gained = sorted(role.frames - was for role, was in zip(rivals, before, strict=True))
        assert gained[0] == 0
        assert gained[1] > 10

    assert meet(talk).said("connected again") == TAKEOVERS


class Counting:
    """A role that counts what it hears."""

    def __init__(self) -> None:
        self.frames = 0
        self.faults = 0

    def handle(self, event: Event) -> tuple[object, list[Effect]]:
        if isinstance(event, Frame):
            self.frames += event.kind is Kind.CHANNEL
            self.faults += event.kind is Kind.FAULT
        return self, []


@pytest.mark.parametrize("kind", list(Kind))
def test_garbage_of_any_kind_stops_no_run(kind: Kind) -> None:
    garbage = Act(Cue(Kind.CHANNEL, nth=9), Move.INJECT, Frame("alice", ORCHESTRATOR, kind, b"\x99garbage"))
    world, told = world_of(CAST, HostilePlatform(script=(garbage,)))
    world.run(20_000)
    assert world.failure == ""
    assert world.orchestrator.job.progress.rounds == 2
    assert not [line for line in told if "Error" in line]


def test_an_older_journal_put_back_opens_new_sessions_and_keys(tmp_path: Path) -> None:
    def run() -> tuple[str, set[str]]:
        world, _ = world_of(CAST, seed=f"run {len(list(tmp_path.iterdir()))} {runs}")
        kept = Journal(tmp_path / "journal", KEY, CAST.owner(ORCHESTRATOR), draws(f"nonces {runs}"))
        role = CAST.orchestrator_from(kept, draws(f"orchestrator of run {runs}"))
        node = Node(ORCHESTRATOR, role, world.recorder, kept)
        world.queue.clear()
        world.nodes.pop(ORCHESTRATOR)
        world.add(node, node.perform(role.begin(0.0)))
        world.run(20_000)
        kept.close()
        epochs = {line.split('"k": "')[1].split('"')[0] for line in world.recorder.lines if '"k": "' in line}
        return role.job.progress.digest, epochs

    runs = 0
    kept = Journal(tmp_path / "journal", KEY, CAST.owner(ORCHESTRATOR), draws("first"))
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
