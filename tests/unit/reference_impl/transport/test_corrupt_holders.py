"""What a holder may send is bounded: frames that are not its own to send, clocks that cannot be, sizes, and pace."""

from __future__ import annotations

import asyncio
import json
import os
import time
from collections.abc import Iterable
from pathlib import Path

import pytest

from carnet_check.conformance import conform
from carnet_ref.recorder import AHEAD, LATEST, Recorder, merged, step, write_trace
from carnet_ref.systems.gpu_travelling.deployment import Deployment, holder_names
from carnet_ref.systems.gpu_travelling.names import GPU, ORCHESTRATOR
from carnet_ref.transport.crossings import Tally
from carnet_ref.transport.frames import PLATFORM, Ended, Frame, FrameKind, RoleEvent, encode_frame, read_frame
from carnet_ref.transport.greeting import key_of_party
from carnet_ref.transport.node import Node
from carnet_ref.transport.platform import Platform, Relay, listen
from carnet_ref.transport.process import ConnectionConfig, take_part
from carnet_ref.wire import MalformedError
from tests.fixtures.hostile_platform import TOKEN, Meeting, meet
from tests.fixtures.worlds import draws, world_of

DEPLOYMENT = Deployment(holder_names(2), 2, chunks=2, chunk_bytes=256, lease=5.0, patience=5.0)
END = (1 << 64) - 1
"""The largest number that fits a frame's clock."""


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
        return await take_part(node, node.perform(role.begin(time.monotonic())), way)

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
    lines = list(merged(recorder.lines for recorder in recorders.values()))
    return ended, orchestrator.job.progress.digest, lines, told


def conforms(deployment: Deployment, lines: list[str], folder: Path) -> bool:
    write_trace(folder / "trace", deployment.header(lines), lines)
    return conform(folder / "trace").divergence is None


@pytest.fixture(scope="module")
def calm() -> str:
    """The model of a run in which nobody does anything of their own."""
    world, _ = world_of(DEPLOYMENT)
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
    ended, model, lines, told = travel(DEPLOYMENT, own, tmp_path)
    assert (ended.failure, model) == ("", calm)
    assert sum('"action": "open_session"' in line for line in lines) == 1
    assert not [line for line in told if "given up" in line or "failed" in line]
    assert conforms(DEPLOYMENT, lines, tmp_path)


@pytest.mark.mends("H4")
@pytest.mark.parametrize("target", [ORCHESTRATOR, GPU, PLATFORM])
def test_a_clock_at_its_end_costs_its_sender_the_connection_and_the_run_nothing(
    target: str, calm: str, tmp_path: Path
) -> None:
    kind = {ORCHESTRATOR: FrameKind.CHANNEL, GPU: FrameKind.H2D, PLATFORM: FrameKind.ROUTE}[target]
    ended, model, lines, told = travel(DEPLOYMENT, [Frame("alice", target, kind, b"garbage", END)], tmp_path)
    assert (ended.failure, model) == ("", calm)
    (said,) = [line for line in told if "cut off" in line]
    assert said.startswith("platform: alice is cut off: frame: expected a logical clock of at most ")
    assert said.endswith(f"found {END}")
    assert max(json.loads(line)["clock"] for line in lines) < 10_000
    assert conforms(DEPLOYMENT, lines, tmp_path)


@pytest.mark.mends("H4")
@pytest.mark.parametrize("clock", [END, LATEST - 1, 2 * AHEAD])
def test_a_clock_that_cannot_be_moves_no_clock_in_one_process(clock: int, calm: str) -> None:
    world, _ = world_of(DEPLOYMENT)
    for kind, target in ((FrameKind.CHANNEL, ORCHESTRATOR), (FrameKind.H2D, GPU), (FrameKind.ROUTE, PLATFORM)):
        world.queue.append(Frame("alice", target, kind, b"garbage", clock))
        world.queue.append(Frame(ORCHESTRATOR, target, kind, b"alice", clock))
    world.run()
    assert (world.failure, world.orchestrator.job.progress.digest) == ("", calm)
    assert world.recorder.clock < 10_000


@pytest.mark.mends("H4")
def test_no_message_brings_a_clock_near_its_end() -> None:
    """Not even from a platform that passes on what it should not."""
    recorder = Recorder()
    for clock in (5, LATEST - 1, LATEST, END):
        recorder.witness(clock)
    recorder.record(step("one", "gpu"), "gpu")
    assert recorder.clock <= LATEST
    encode_frame(Frame("alice", ORCHESTRATOR, FrameKind.CHANNEL, b"", recorder.clock))


def test_clocks_may_run_ahead_by_as_much_as_a_party_can_do_alone() -> None:
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
    with Tally(tmp_path) as tally:
        tally.note(3, 4, 5 * AHEAD)
    with Tally(tmp_path) as tally:
        assert (tally.messages, tally.octets, tally.clock) == (3, 4, 5 * AHEAD)
