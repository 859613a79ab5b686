"""Runs with a GPU that is not as it should be end before anybody's data is near it; each by one check alone."""

from __future__ import annotations

from dataclasses import replace

import pytest

from carnet_ref.device import Mode
from carnet_ref.systems.gpu_travelling.ablations.deployment import AblatedDeployment
from carnet_ref.systems.gpu_travelling.deployment import LEAKED, holder_names
from tests.fixtures.worlds import world_of

PLAIN = AblatedDeployment(holder_names(1), 1, chunks=1, chunk_bytes=64)
BAD = {
    "out of confidential mode": (replace(PLAIN, mode=Mode.OPEN), "mode-check", "mode: the mode is not said"),
    "debugged": (replace(PLAIN, mode=Mode.DEBUG), "debug-check", "debug: the device is or was debugged"),
    "outdated": (replace(PLAIN, mode=Mode.OUTDATED), "reference-values", "vbios-rim: version"),
    "a leaked device key": (replace(PLAIN, gpu_name=LEAKED), "revocation-check", "revocation: 'GH100 TEST GSP BROM'"),
    "a fake": (replace(PLAIN, gpu_name="fake1"), "gpu-certificate", "TEST root of simulated GPUs"),
}
"""A deployment with each GPU, the defence against it, and what the orchestrator says of it."""


REFUSED_BY = {
    "out of confidential mode": "05",
    "debugged": "14",
    "outdated": "15",
    "a leaked device key": "16",
    "a fake": "03",
}
"""The requirement, of those on the setup, that refuses each."""


@pytest.mark.parametrize(
    "what",
    [
        pytest.param(what, marks=pytest.mark.verifies(f"gpu-travelling-REQ-SETUP-{number}"))
        for what, number in REFUSED_BY.items()
    ],
)
def test_a_bad_gpu_is_never_lent(what: str) -> None:
    deployment, _, said = BAD[what]
    world, told = world_of(deployment)
    world.run()
    assert "sessions failed" in world.failure
    assert said in world.failure
    assert all("\n" not in line for line in told)
    assert world.taken("grant") == world.taken("accept_gpu") == 0


@pytest.mark.parametrize("what", BAD)
def test_without_its_check_a_bad_gpu_is_lent(what: str) -> None:
    deployment, defence, _ = BAD[what]
    world, _ = world_of(replace(deployment, off=frozenset({defence})))
    world.run()
    assert world.failure == ""
    assert world.taken("grant")


def test_a_good_gpu_passes_every_check() -> None:
    world, _ = world_of(PLAIN)
    world.run()
    told = world.orchestrator.outcome()["appraisal"]
    assert world.failure == ""
    assert told["not_compared"] == {}
    assert {"revocation", "driver-rim", "vbios-rim", "rim-revocation", "measurements", "mode", "debug"} <= set(
        told["compared"]
    )
    assert (told["claims"]["device"], told["claims"]["mode"]) == ("gpu1", "CONFIDENTIAL")
