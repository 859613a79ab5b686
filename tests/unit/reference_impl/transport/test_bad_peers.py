"""Malformed messages, unknown peers, and journals put back: said clearly, and nothing is lost."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from carnet_ref.journal import Journal
from carnet_ref.systems.gpu_travelling.names import GPU, ORCHESTRATOR
from carnet_ref.transport.frames import Frame, FrameKind, encode_frame, parse_frame, read_frame
from carnet_ref.transport.greeting import LARGEST_GREETING
from carnet_ref.transport.node import Node
from carnet_ref.transport.platform import TAKEOVERS
from carnet_ref.wire import MalformedError, join
from tests.fixtures.hostile_platform import DEPLOYMENT, Act, Counting, Cue, HostilePlatform, Meeting, Move, ended, meet
from tests.fixtures.worlds import draws, world_of

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
    ("sent", "said"),
    [
        (b"\x05\0\0\0abcde", "turned away a connection"),
        (sized(join(b"mallory", bytes(32))), "the name of a party of this run, found 'mallory'"),
        ((LARGEST_GREETING + 1).to_bytes(4, "little"), f"at most {LARGEST_GREETING} bytes, found"),
        ((1 << 24).to_bytes(4, "little") + bytes(1 << 20), f"at most {LARGEST_GREETING} bytes, found 16777216"),
        (encode_frame(Frame("alice", ORCHESTRATOR, FrameKind.CHANNEL, b"hello")), "turned away a connection"),
    ],
    ids=["no greeting", "unknown party", "too long", "much too long", "a frame"],
)
def test_a_peer_that_does_not_greet_is_turned_away(sent: bytes, said: str) -> None:
    async def talk(meeting: Meeting) -> None:
        reader, writer = await meeting.connect()
        writer.write(sent)
        assert await ended(reader) == b""

    assert meet(talk).said(said) == 1


@pytest.mark.parametrize(
    "sent", [b"\x03\0\0\0abc", (LARGEST_IN_TESTS + 1).to_bytes(4, "little")], ids=["malformed", "too long"]
)
def test_a_party_that_sends_no_frame_is_cut_off(sent: bytes) -> None:
    async def talk(meeting: Meeting) -> None:
        reader, writer = await meeting.greet("alice")
        writer.write(sent)
        assert await ended(reader) == b""

    assert meet(talk, LARGEST_IN_TESTS).said("alice is cut off") == 1


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
