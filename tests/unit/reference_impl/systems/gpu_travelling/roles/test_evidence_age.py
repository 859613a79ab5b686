"""Evidence is as old as its nonce, and its age is looked at where it is appraised and where it is used."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace

import pytest

from carnet_ref.attestation.appraisal import Appraisal
from carnet_ref.systems.gpu_travelling.deployment import holder_names
from carnet_ref.systems.gpu_travelling.roles.attestation import GpuAppraiser, GpuEvidence
from carnet_ref.systems.gpu_travelling.roles.states import (
    AwaitsReport,
    AwaitsReturn,
    AwaitsRotationOut,
    AwaitsScrub,
    AwaitsTraining,
)
from tests.fixtures.worlds import ChainTrainer, FastDeployment, TestWorld, world_of

LASTS = 10.0
UNCHECKED = frozenset({"attestation-age"})


def _world(off: frozenset[str] = frozenset(), rounds: int = 1) -> tuple[TestWorld, list[str]]:
    """Return a world in which evidence lasts for ten seconds, and any answer may take longer."""
    deployment = FastDeployment(holder_names(1), rounds, chunks=1, patience=100.0, trainer=ChainTrainer(), off=off)
    world, told = world_of(deployment)
    job = world.orchestrator.job
    terms = replace(job.terms, evidence_lasts=LASTS)
    world.orchestrator.state = replace(world.orchestrator.state, job=replace(job, terms=terms))
    return world, told


class Short:
    """An appraiser whose authorities vouch for a few seconds only."""

    def __init__(self, appraiser: GpuAppraiser, seconds: float) -> None:
        self._appraiser, self._seconds = appraiser, seconds

    def appraise(self, evidence: GpuEvidence, nonce: bytes) -> Appraisal:
        found = self._appraiser.appraise(evidence, nonce)
        return Appraisal(found.steps, {**found.claims, "seconds_left": self._seconds})


def _vouched(seconds: float) -> TestWorld:
    """Return a world in which what the appraisal rests on runs out after so many seconds."""
    world, _ = _world()
    job = world.orchestrator.job
    tools = replace(job.tools, appraiser=Short(job.tools.appraiser, seconds))
    world.orchestrator.state = replace(world.orchestrator.state, job=replace(job, tools=tools))
    return world


def _delayed(world: TestWorld, reached: Callable[[], bool], seconds: float) -> None:
    """Go on until a state is reached, let time pass there once, and then go on to the end."""
    while not reached():
        world.step()
    world.now += seconds
    world.tick()
    world.run()


def _scrubs_after_a_round(world: TestWorld) -> bool:
    return world.orchestrator.job.progress.rounds == 1 and isinstance(world.orchestrator.state, AwaitsScrub)


def _granted(world: TestWorld) -> int:
    return world.taken("grant")


def _sessions(world: TestWorld) -> int:
    return world.taken("open_session")


@pytest.mark.verifies("gpu-travelling-REQ-SETUP-13")
@pytest.mark.parametrize(("seconds", "refused"), [(LASTS, 0), (LASTS + 1, 1)], ids=["in time", "too late"])
def test_evidence_that_grew_old_is_not_appraised(seconds: float, refused: int) -> None:
    world, told = _world()
    _delayed(world, lambda: isinstance(world.orchestrator.state, AwaitsReport), seconds)
    assert world.failure == ""
    assert _sessions(world) - world.taken("accept_gpu") == refused
    assert any("given up: the GPU's evidence is 11 seconds old, and lasts 10" in line for line in told) is bool(refused)


@pytest.mark.verifies("gpu-travelling-REQ-SETUP-13")
@pytest.mark.parametrize(("seconds", "sessions"), [(LASTS, 1), (LASTS + 1, 2)], ids=["in time", "too late"])
def test_evidence_that_grew_old_opens_no_grant(seconds: float, sessions: int) -> None:
    world, told = _world()
    _delayed(world, lambda: isinstance(world.orchestrator.state, AwaitsRotationOut), seconds)
    assert world.failure == ""
    assert (_granted(world), _sessions(world)) == (1, sessions)
    assert any("given up: the GPU's evidence is 11 seconds old, and lasts 10" in line for line in told) is (
        sessions > 1
    )


def test_without_its_check_old_evidence_opens_a_grant_but_is_still_not_appraised() -> None:
    used, _ = _world(UNCHECKED)
    _delayed(used, lambda: isinstance(used.orchestrator.state, AwaitsRotationOut), LASTS + 1)
    assert _sessions(used) == 1
    appraised, _ = _world(UNCHECKED)
    _delayed(appraised, lambda: isinstance(appraised.orchestrator.state, AwaitsReport), LASTS + 1)
    assert _sessions(appraised) == 2


def test_the_age_counts_from_the_nonce_and_not_from_the_appraisal() -> None:
    world, told = _world()
    _delayed(world, lambda: isinstance(world.orchestrator.state, AwaitsReport), LASTS / 2 + 1)
    assert any("session renewed: the GPU's evidence is 6 seconds old" in line for line in told)


@pytest.mark.parametrize(
    ("off", "sessions"), [(frozenset[str](), 2), (UNCHECKED, 1)], ids=["looked at", "not looked at"]
)
def test_evidence_that_is_due_renews_the_session_between_rounds_and_nothing_is_lost(
    off: frozenset[str], sessions: int
) -> None:
    """Nothing failed, so no failure is counted; a long job would end by them."""
    world, told = _world(off, rounds=2)
    _delayed(world, lambda: isinstance(world.orchestrator.state, AwaitsTraining), LASTS / 2 + 1)
    assert (world.failure, world.orchestrator.job.failures) == ("", 0)
    assert (_granted(world), _sessions(world), world.orchestrator.job.books.lost) == (2, sessions, ())
    assert any("session renewed: the GPU's evidence is 6 seconds old" in line for line in told) is (sessions > 1)


def test_evidence_that_is_old_before_the_gpu_sets_out_renews_the_session_without_a_failure() -> None:
    """The version that nobody brought home is lost with the session, and its round is done again."""
    world, _ = _world(rounds=2)
    _delayed(world, lambda: _scrubs_after_a_round(world), LASTS + 1)
    assert (world.failure, world.orchestrator.job.failures) == ("", 0)
    assert _sessions(world) == 2


@pytest.mark.verifies("gpu-travelling-REQ-SETUP-13", "gpu-travelling-REQ-RETURN-04")
@pytest.mark.parametrize(("vouched", "ends"), [(4.0, 4.0), (LASTS, LASTS), (100.0, LASTS)])
def test_no_lease_outlasts_what_the_evidence_rests_on(vouched: float, ends: float) -> None:
    world = _vouched(vouched)
    while not isinstance(world.orchestrator.state, AwaitsReturn):
        world.step()
    job = world.orchestrator.job
    assert (job.evidence_end, job.deadline) == (ends, ends)
    (granted,) = [event for event in map(json.loads, world.recorder.lines) if event.get("action") == "grant"]
    assert granted["at"]["end"] == ends


def test_evidence_is_due_after_half_of_the_time_that_it_counts_for() -> None:
    world = _vouched(4.0)
    while not isinstance(world.orchestrator.state, AwaitsReturn):
        world.step()
    job = world.orchestrator.job
    assert [replace(job, now=now).evidence_is_due for now in (2.0, 2.1)] == [False, True]
    assert [replace(job, now=now).evidence_is_old for now in (4.0, 4.1)] == [False, True]
