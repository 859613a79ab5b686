"""A hostile platform costs availability and nothing else: every move, at many places, on every path."""

from __future__ import annotations

import pickle

import pytest

from carnet_ref.recorder import step
from carnet_ref.systems.gpu_travelling.deployment import Deployment, holder_names
from carnet_ref.systems.gpu_travelling.names import GPU, ORCHESTRATOR
from carnet_ref.training import Trainer
from carnet_ref.transport.frames import PLATFORM, Frame, FrameKind
from carnet_ref.transport.platform import Platform
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


def test_a_gpu_that_is_reset_boots_as_it_was_booted_before() -> None:
    world, _, _ = run(OPENED)
    assert "sessions failed, the last one because of the GPU's report is refused: mode" in world.failure


def test_an_attack_without_end_ends_the_run_with_a_reason() -> None:
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


def test_an_honest_platform_carries_from_whom_the_gpu_is_wired_to() -> None:
    platform = Platform(ORCHESTRATOR, GPU, mux="alice")
    for source, carried in (("alice", True), (ORCHESTRATOR, True), ("anna", False)):
        assert bool(platform.carry(Frame(source, GPU, FrameKind.H2D, b"")).frames) is carried


def test_nobody_but_the_orchestrator_has_the_gpu_reset() -> None:
    platform = Platform(ORCHESTRATOR, GPU)
    assert not platform.carry(Frame("alice", PLATFORM, FrameKind.RESET, b"OPEN")).frames
    assert platform.carry(Frame(ORCHESTRATOR, PLATFORM, FrameKind.RESET, b"CONFIDENTIAL")).frames


def test_who_wants_the_frames_gets_them() -> None:
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
