"""A hostile platform costs availability and nothing else, and what crosses to the device and back is counted."""

import functools
import pickle
from pathlib import Path

import pytest

from carnet_ref.recorder import step
from carnet_ref.systems.gpu_travelling.deployment import Deployment, holder_names
from carnet_ref.systems.gpu_travelling.names import GPU, ORCHESTRATOR
from carnet_ref.training import Trainer
from carnet_ref.transport.frames import PLATFORM, Frame, FrameKind
from carnet_ref.transport.platform import (
    DeviceLocation,
    DeviceTraffic,
    Platform,
    TrafficCounts,
    TrafficPhase,
    bytes_moved,
)
from tests.fixtures.hostile_platform import Act, Cue, HostilePlatform, Move
from tests.fixtures.worlds import ChainTrainer, FastDeployment, TestWorld, world_of

TRAINER: Trainer = ChainTrainer()
DEPLOYMENT = FastDeployment(holder_names(2), 3, "engine-per-holder", chunks=2, chunk_bytes=64, trainer=TRAINER)
TEXT = {Move.REROUTE: "mallory", Move.RESET: "CONFIDENTIAL", Move.FORGE_SEMAPHORE: "Scrubbed"}
PATHS = (
    Cue(FrameKind.SESSION, ORCHESTRATOR),
    Cue(FrameKind.SESSION, GPU),
    Cue(FrameKind.H2D, ORCHESTRATOR),
    Cue(FrameKind.H2D, "alice"),
    Cue(FrameKind.D2H),
    Cue(FrameKind.CHANNEL, "alice"),
    Cue(FrameKind.CHANNEL, ORCHESTRATOR),
    Cue(FrameKind.ROUTE),
)


@functools.cache
def expected() -> bytes:
    model = TRAINER.first_model()
    for number in range(DEPLOYMENT.rounds):
        model = TRAINER.train(model, b"".join(DEPLOYMENT.dataset(DEPLOYMENT.holders[number % 2]))).model
    return model


def run(*script: Act) -> tuple[TestWorld, HostilePlatform, list[str]]:
    platform = HostilePlatform(ORCHESTRATOR, GPU, script=script)
    world, told = world_of(DEPLOYMENT, platform)
    world.run(50_000)
    return world, platform, told


@pytest.mark.parametrize("path", PATHS, ids=lambda cue: f"{cue.kind.name} from {cue.source or 'anybody'}")
@pytest.mark.parametrize("move", Move, ids=lambda move: move.value)
def test_a_move_costs_time_and_nothing_else(move: Move, path: Cue) -> None:
    for nth in (0, 1, 4):
        cue = Cue(path.kind, path.source, path.target, nth)
        made = Frame("alice", GPU, FrameKind.H2D, bytes(60)) if move in {Move.INJECT, Move.SUBSTITUTE} else None
        world, platform, _ = run(Act(cue, move, frame=made, earlier=nth, text=TEXT.get(move, "")))
        assert platform.performed or nth == 4
        assert world.failure == ""
        assert world.orchestrator.job.kept.model == expected()
        assert not platform.host_memory


OPENED = Act(Cue(FrameKind.SESSION, ORCHESTRATOR, nth=0), Move.RESET, text="OPEN")
CLOSED = Act(Cue(FrameKind.RESET, ORCHESTRATOR, nth=0), Move.RESET, text="CONFIDENTIAL")


@pytest.mark.verifies("gpu-travelling-REQ-SETUP-05", "gpu-travelling-REQ-STOP-01")
def test_a_gpu_in_open_mode_is_refused_until_it_is_not() -> None:
    world, _, told = run(OPENED, CLOSED)
    assert any("mode" in line for line in told)
    assert world.orchestrator.job.failures == 1
    assert world.orchestrator.job.kept.model == expected()


def test_a_gpu_that_stays_open_and_an_attack_without_end_end_the_run_with_a_reason() -> None:
    world, _, _ = run(OPENED)
    assert "sessions failed, the last one because of the GPU's report is refused: mode" in world.failure
    acts = [Act(Cue(FrameKind.SESSION, ORCHESTRATOR, nth=nth), Move.DROP) for nth in range(200)]
    world, _, _ = run(*acts)
    assert "sessions failed" in world.failure


@pytest.mark.verifies("gpu-travelling-REQ-RETURN-03", "gpu-travelling-REQ-RETURN-04")
def test_a_holder_that_keeps_the_gpu_is_evicted_and_given_up() -> None:
    acts = [Act(Cue(FrameKind.CHANNEL, "alice", nth=nth), Move.DROP) for nth in range(4, 60)]
    world, _, told = run(*acts)
    assert any("the lease is over" in line for line in told)
    assert "alice was evicted" in world.failure


@pytest.mark.verifies("gpu-travelling-REQ-PLATFORM-01")
def test_an_honest_platform_routes_as_asked_and_records_it_once() -> None:
    platform = Platform(ORCHESTRATOR, GPU)
    asked = Frame(ORCHESTRATOR, PLATFORM, FrameKind.ROUTE, b"alice")
    assert platform.carry(asked).step == step("switch_mux", PLATFORM, x="alice")
    assert platform.carry(asked).step is None
    assert platform.carry(Frame("mallory", PLATFORM, FrameKind.ROUTE, b"mallory")).step is None
    assert platform.mux == "alice"


def test_an_honest_platform_carries_from_whom_the_gpu_is_wired_to_and_resets_for_one_only() -> None:
    platform = Platform(ORCHESTRATOR, GPU, mux="alice")
    for source, carried in (("alice", True), (ORCHESTRATOR, True), ("anna", False)):
        assert bool(platform.carry(Frame(source, GPU, FrameKind.H2D, b"")).frames) is carried
    platform = Platform(ORCHESTRATOR, GPU)
    assert not platform.carry(Frame("alice", PLATFORM, FrameKind.RESET, b"OPEN")).frames
    assert platform.carry(Frame(ORCHESTRATOR, PLATFORM, FrameKind.RESET, b"CONFIDENTIAL")).frames
    kept: list[Frame] = []
    platform = Platform(ORCHESTRATOR, GPU, keep=kept.append)
    platform.carry(Frame("alice", GPU, FrameKind.H2D, b"body"))
    assert [frame.body for frame in kept] == [b"body"]
    assert (platform.messages, platform.octets) == (1, 4)


@pytest.mark.mends("L7")
def test_an_honest_platform_keeps_no_frame() -> None:
    """What it counts takes a few numbers for each hand-over."""
    sizes = []
    for rounds in (1, 6):
        world, _ = world_of(Deployment(holder_names(2), rounds, chunk_bytes=256))
        world.run(20_000)
        assert world.platform.octets > rounds * 30_000
        sizes.append(len(pickle.dumps(world.platform)))
    assert sizes[1] - sizes[0] < 5 * 100


@pytest.mark.mends("L7")
def test_a_hostile_platform_keeps_what_it_may_replay() -> None:
    script = (Act(Cue(FrameKind.CHANNEL, nth=5), Move.REPLAY, earlier=2),)
    world, platform, _ = run(*script)
    assert world.failure == ""
    kept = {path: len(frames) for path, frames in platform.seen.items()}
    assert max(kept.values()) == 3
    assert sum(kept.values()) < platform.messages / 2


OWNER, DEVICE = "owner", "device"


def route(agent: str, clock: int = 0) -> Frame:
    return Frame(OWNER, PLATFORM, FrameKind.ROUTE, agent.encode(), clock)


def down(source: str, size: int, kind: FrameKind = FrameKind.H2D) -> Frame:
    return Frame(source, DEVICE, kind, bytes(size))


def up(size: int, kind: FrameKind = FrameKind.D2H) -> Frame:
    return Frame(DEVICE, OWNER, kind, bytes(size))


FIRST, SECOND = 11, 22  #: When the device was granted, by the clock of its owner.
RESET = Frame(OWNER, PLATFORM, FrameKind.RESET, b"CONFIDENTIAL")
TWO_VISITS = [
    *(down(OWNER, 10, FrameKind.SESSION), up(20, FrameKind.SESSION), down(OWNER, 1_000)),
    *(route("ana", FIRST), down("ana", 300), route(OWNER), up(7), up(2_000)),
    *(route("bo", SECOND), down("bo", 400), route(OWNER), down(OWNER, 5, FrameKind.SESSION), up(8)),
]


def carried(*frames: Frame) -> Platform:
    platform = Platform(OWNER, DEVICE)
    for frame in frames:
        platform.carry(frame)
    return platform


def test_a_hand_off_is_all_that_crosses_from_leaving_until_leaving_again() -> None:
    phases = carried(*TWO_VISITS).crossings.phases
    assert [phase.where for phase in phases] == [
        DeviceLocation.SETUP,
        DeviceLocation.AWAY,
        DeviceLocation.HOME,
        DeviceLocation.AWAY,
        DeviceLocation.HOME,
    ]
    moved = bytes_moved(phases, saved=frozenset({FIRST}))
    assert moved.to_json() == {"total": 3_750, "setup": 1_030, "save": 2_000, "per_handoff": [307, 413], "session": 35}
    moved = bytes_moved(carried(*TWO_VISITS).crossings.phases, saved=frozenset())
    assert (moved.save, moved.per_handoff, moved.total) == (0, (2_307, 413), 3_750)
    (phase,) = carried(up(8, FrameKind.SEMAPHORE)).crossings.phases
    assert (phase.link, phase.session) == (8, 0)


def test_a_grant_that_led_to_no_journey_moves_no_number() -> None:
    """Its owner died before it asked for the route, or the platform lost that; another grant follows."""
    lost, granted = 5, 9
    phases = carried(RESET, route("ana", granted), down("ana", 300), route(OWNER), up(7), up(2_000)).crossings.phases
    moved = bytes_moved(phases, saved=frozenset({granted}))
    assert (moved.save, moved.per_handoff) == (2_000, (307,))
    assert bytes_moved(phases, saved=frozenset({lost})).per_handoff == (2_307,)


def test_each_grant_begins_a_journey_and_a_reset_another_set_up() -> None:
    phases = carried(route("ana", FIRST), down("ana", 3), route("bo", SECOND), down("bo", 4)).crossings.phases
    assert [(each.where, each.journey, each.total) for each in phases[1:]] == [
        (DeviceLocation.AWAY, FIRST, 3),
        (DeviceLocation.AWAY, SECOND, 4),
    ]
    platform = carried(route("ana"), down("ana", 3), RESET, route(OWNER), down(OWNER, 90, FrameKind.SESSION))
    assert [(phase.where, phase.total) for phase in platform.crossings.phases] == [
        (DeviceLocation.SETUP, 0),
        (DeviceLocation.AWAY, 3),
        (DeviceLocation.SETUP, 90),
    ]


@pytest.mark.parametrize(
    "frame",
    [
        down("mallory", 50),
        Frame("mallory", DEVICE, FrameKind.SESSION, bytes(50)),
        Frame("ana", OWNER, FrameKind.CHANNEL, bytes(50)),
        Frame("mallory", OWNER, FrameKind.SEMAPHORE, bytes(50)),
        Frame("mallory", PLATFORM, FrameKind.ROUTE, b"mallory"),
        Frame("mallory", PLATFORM, FrameKind.RESET, b"OPEN"),
    ],
)
def test_what_does_not_reach_the_device_is_not_counted(frame: Frame) -> None:
    assert carried(frame).crossings.phases == [TrafficPhase(DeviceLocation.SETUP)]


def test_what_crossed_is_kept_through_a_restart(tmp_path: Path) -> None:
    def log_step(*frames: Frame) -> list[TrafficPhase]:
        with TrafficCounts(tmp_path) as tally:
            crossings = DeviceTraffic(OWNER, DEVICE)
            for frame in frames:
                crossings.note(frame)
                tally.note(0, 0, 0, crossings.phases)
        return crossings.phases

    before = list(log_step(*TWO_VISITS))
    after = list(log_step(RESET, down(OWNER, 9)))
    with TrafficCounts(tmp_path) as tally:
        assert tally.phases == [*before, *after]


def test_half_a_record_is_left_aside(tmp_path: Path) -> None:
    with TrafficCounts(tmp_path) as tally:
        tally.note(0, 0, 0, [TrafficPhase(DeviceLocation.SETUP, 1, 2, 3)])
    (crossed,) = tmp_path.glob("crossed")
    crossed.write_bytes(crossed.read_bytes() + b"half")
    with TrafficCounts(tmp_path) as tally:
        assert tally.phases == [TrafficPhase(DeviceLocation.SETUP, 1, 2, 3)]
