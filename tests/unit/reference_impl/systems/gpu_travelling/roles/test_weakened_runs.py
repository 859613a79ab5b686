"""Designs that lack a defence still complete honest runs, which are runs of the specification without it."""

from __future__ import annotations

from pathlib import Path

import pytest

from carnet_check.conformance import conform
from carnet_ref.recorder import write_trace
from carnet_ref.systems.gpu_travelling.deployment import holder_names
from carnet_ref.transport.frames import FrameKind
from tests.fixtures.worlds import ChainTrainer, FastDeployment, world_of

DESIGNS = {
    "kernel-answers": ("session-acknowledgements",),
    "kernel-orders": ("session-orders",),
    "whole-bundle-lent": ("h2d-half-only", "rotation-in-d2h", "session-acknowledgements"),
    "no sequence": ("session-sequence",),
    "one channel": ("channel-counter",),
    "saved unseen": ("saved-digest",),
    "unheard": ("rotation-ack", "fence-ack", "scrub-ack"),
}


@pytest.mark.parametrize("off", DESIGNS.values(), ids=DESIGNS)
def test_an_honest_run_of_a_weaker_design_conforms(off: tuple[str, ...], tmp_path: Path) -> None:
    deployment = FastDeployment(
        holder_names(2), 3, chunks=2, chunk_bytes=16, trainer=ChainTrainer(), off=frozenset(off)
    )
    world, _ = world_of(deployment)
    paths: list[FrameKind] = []
    world.platform.keep = lambda frame: paths.append(frame.kind)
    world.run(10_000)
    assert (world.failure, world.orchestrator.job.failures) == ("", 0)
    write_trace(tmp_path / "trace", deployment.header(world.recorder.lines), world.recorder.lines)
    result = conform(tmp_path / "trace")
    assert result.conforms, result.divergence
    home = 4  # what each of three rounds logs, and the model at the end
    reports = 3 + 3 * 6 + 1  # fence, read-back, scrub; those, two rotations and training in each round; saving at last
    on_link = reports if "session-acknowledgements" in off else 0
    assert paths.count(FrameKind.D2H) == home + on_link
