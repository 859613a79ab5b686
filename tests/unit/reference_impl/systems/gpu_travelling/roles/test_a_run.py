"""A whole run in one process: rounds are trained, the loss falls, and the platform never saw a secret."""

from __future__ import annotations

import pytest

from carnet_ref.systems.gpu_travelling.deployment import Deployment, holder_names
from carnet_ref.systems.gpu_travelling.names import GPU, ORCHESTRATOR
from carnet_ref.transport.frames import Frame
from carnet_ref.transport.platform import Platform
from tests.fixtures.worlds import world_of

SCHEDULES = ("engine-per-holder", "sealed-under-master", "ratchet", "wrapped-under-old", "reset")


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_a_run_completes_and_the_loss_falls(schedule: str) -> None:
    deployment = Deployment(holder_names(2), 4, schedule)
    world, told = world_of(deployment)
    world.run()
    progress = world.orchestrator.job.progress
    assert world.failure == ""
    assert progress.rounds == 4
    assert progress.losses[-1] < progress.losses[0]
    assert progress.provisioned == 4 * 3 * 2048
    assert not [line for line in told if "given up" in line]


def test_the_final_model_depends_on_nothing_but_data_and_order() -> None:
    models = []
    for schedule in ("engine-per-holder", "reset"):
        world, _ = world_of(Deployment(holder_names(2), 3, schedule))
        world.run()
        models.append(world.orchestrator.job.kept.model)
    assert models[0] == models[1]


@pytest.mark.verifies("gpu-travelling-CLAIM-CONFIDENTIALITY", "gpu-travelling-CLAIM-MODEL-CONFIDENTIALITY")
def test_the_platform_sees_no_plaintext_and_no_model() -> None:
    deployment = Deployment(holder_names(2), 2)
    frames: list[Frame] = []
    world, _ = world_of(deployment, Platform(ORCHESTRATOR, GPU, keep=frames.append))
    world.run()
    seen = b"".join(frame.body for frame in frames)
    for holder in deployment.holders:
        for chunk in deployment.dataset(holder):
            assert chunk[:32] not in seen
    assert world.orchestrator.job.kept.model[100:132] not in seen
    assert not Platform(ORCHESTRATOR, GPU).host_memory
