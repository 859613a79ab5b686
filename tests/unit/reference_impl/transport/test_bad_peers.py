"""Malformed messages, unknown peers, and journals put back: said clearly, and nothing is lost."""

from __future__ import annotations

import asyncio
import shutil
from pathlib import Path

import pytest

from carnet_ref.journal import Journal
from carnet_ref.parties.cast import Cast, holder_names
from carnet_ref.platform.bus import Platform
from carnet_ref.platform.hostile import Act, Cue, HostilePlatform, Move
from carnet_ref.recorder import Recorder
from carnet_ref.roles.messages import GPU, ORCHESTRATOR, Frame, Kind
from carnet_ref.transport.hub import Hub, greeting
from carnet_ref.transport.node import Node
from carnet_ref.transport.wire import LARGEST, encode_frame, parse_frame
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
    shutil.copy(tmp_path / "journal", tmp_path / "older")
    first, used = run()
    runs = 1
    for path in tmp_path.glob("journal*"):
        path.unlink()
    shutil.copy(tmp_path / "older", tmp_path / "journal")
    second, again = run()
    assert first == second
    assert not used & again
