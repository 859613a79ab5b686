"""Evidence is as old as its nonce, and its age is looked at where it is appraised and where it is used."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from carnet_ref.systems.gpu_travelling.defences import ALL, Defences
from carnet_ref.systems.gpu_travelling.parties.deployment import holder_names
from carnet_ref.systems.gpu_travelling.roles.states import AwaitsReport, AwaitsRotationOut
from tests.fixtures.fast_parties import ChainTrainer, FastDeployment
from tests.fixtures.worlds import TestWorld, world_of

LASTS = 10.0
UNCHECKED = Defences(frozenset({"attestation-age"}))


def _world(defences: Defences = ALL) -> tuple[TestWorld, list[str]]:
    """Return a world in which evidence lasts for ten seconds, and any answer may take longer."""
    deployment = FastDeployment(holder_names(1), 1, chunks=1, patience=100.0, trainer=ChainTrainer(), defences=defences)
    world, told = world_of(deployment)
    job = world.orchestrator.job
    terms = replace(job.terms, evidence_lasts=LASTS)
    world.orchestrator.state = replace(world.orchestrator.state, job=replace(job, terms=terms))
    return world, told


def _delayed(world: TestWorld, reached: Callable[[], bool], seconds: float) -> None:
    """Go on until a state is reached, let time pass there once, and then go on to the end."""
    while not reached():
        world.step()
    world.now += seconds
    world.tick()
    world.run()


def _granted(world: TestWorld) -> int:
    return sum('"grant"' in line for line in world.recorder.lines)


def _sessions(world: TestWorld) -> int:
    return sum('"open_session"' in line for line in world.recorder.lines)


@pytest.mark.parametrize(("seconds", "sessions"), [(LASTS, 1), (LASTS + 1, 2)], ids=["in time", "too late"])
@pytest.mark.parametrize("awaited", [AwaitsReport, AwaitsRotationOut], ids=["at appraisal", "at the grant"])
def test_evidence_that_grew_old_is_not_used(awaited: type, seconds: float, sessions: int) -> None:
    world, told = _world()
    _delayed(world, lambda: isinstance(world.orchestrator.state, awaited), seconds)
    assert world.failure == ""
    assert (_granted(world), _sessions(world)) == (1, sessions)
    assert any("the GPU's evidence is 11 seconds old, and lasts 10" in line for line in told) is (sessions > 1)


def test_without_its_check_old_evidence_opens_a_grant_but_is_still_not_appraised() -> None:
    used, _ = _world(UNCHECKED)
    _delayed(used, lambda: isinstance(used.orchestrator.state, AwaitsRotationOut), LASTS + 1)
    assert _sessions(used) == 1
    appraised, _ = _world(UNCHECKED)
    _delayed(appraised, lambda: isinstance(appraised.orchestrator.state, AwaitsReport), LASTS + 1)
    assert _sessions(appraised) == 2


def test_the_age_counts_from_the_nonce_and_not_from_the_appraisal() -> None:
    world, _ = _world()
    while not isinstance(world.orchestrator.state, AwaitsReport):
        world.step()
    world.now += LASTS - 1
    world.tick()
    _delayed(world, lambda: isinstance(world.orchestrator.state, AwaitsRotationOut), 2)
    assert _sessions(world) == 2
