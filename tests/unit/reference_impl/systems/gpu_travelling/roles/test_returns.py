"""The GPU is taken back from the holder it was lent to, for the epoch that was lent, and from nobody else."""

from __future__ import annotations

from dataclasses import replace

import pytest

from carnet_ref.systems.gpu_travelling.ablations.deployment import AblatedDeployment
from carnet_ref.systems.gpu_travelling.deployment import holder_names
from carnet_ref.systems.gpu_travelling.roles.messages import Return
from carnet_ref.systems.gpu_travelling.roles.orchestrator import Orchestrator
from carnet_ref.systems.gpu_travelling.roles.states import AwaitsReturn, Back, Returned
from carnet_ref.transport.frames import Remark
from tests.fixtures.worlds import world_of


def lent(*off: str) -> tuple[Orchestrator, AwaitsReturn, Return]:
    """Return the orchestrator while alice has the GPU, its state, and the return that is due."""
    world, _ = world_of(AblatedDeployment(holder_names(2), 1, chunk_bytes=256, off=frozenset(off)))
    while not isinstance(world.orchestrator.state, AwaitsReturn):
        assert world.step()
    state = world.orchestrator.state
    assert state.job.holder == "alice"
    assert state.job.lent is not None
    return world.orchestrator, state, Return(state.job.live.session, state.job.lent.epoch, 3, 768)


WRONG = {
    "by somebody else": lambda due: ("anna", due),
    "of another epoch": lambda due: ("alice", replace(due, epoch=due.epoch - 1)),
    "of another session": lambda due: ("alice", replace(due, session="s00000000")),
}


@pytest.mark.verifies("gpu-travelling-REQ-RETURN-02")
@pytest.mark.parametrize("wrong", WRONG.values(), ids=WRONG)
def test_another_return_is_none(wrong: object) -> None:
    assert callable(wrong)
    orchestrator, state, due = lent()
    after, effects = orchestrator.procedures.take(state, Returned(*wrong(due)))
    assert after is state
    assert [type(effect) for effect in effects] == [Remark]
    assert isinstance(orchestrator.procedures.take(state, Returned("alice", due))[0], Back)


def test_without_the_check_anybody_gives_it_back() -> None:
    orchestrator, state, due = lent("return-authenticated")
    assert isinstance(orchestrator.procedures.take(state, Returned("anna", due))[0], Back)
