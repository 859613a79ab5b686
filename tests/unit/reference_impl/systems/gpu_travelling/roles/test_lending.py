"""What a grant says is checked apart from the step that decides it: a design that decides otherwise is stopped."""

from __future__ import annotations

import pytest

from carnet_ref.systems.gpu_travelling.deployment import holder_names
from carnet_ref.systems.gpu_travelling.roles.job import Job
from carnet_ref.systems.gpu_travelling.roles.orchestrator import Procedures
from tests.fixtures.worlds import ChainTrainer, FastDeployment, world_of


class _Astray(Procedures):
    """Grants to somebody else than the key is of."""

    def addressee(self, job: Job) -> str:
        return next(name for name in job.admission.holders if name != job.holder)


class _Ahead(Procedures):
    """Hands over another counter value than the next one."""

    def first_slot(self, job: Job) -> int:
        return super().first_slot(job) + 1


class _TooLong(Procedures):
    """Lends for longer than the evidence lasts."""

    def cut_short(self, job: Job) -> float:
        return job.evidence_end + 1


@pytest.mark.parametrize(
    ("procedures", "told"),
    [
        (Procedures(), ""),
        pytest.param(_Astray(), "is not about", marks=pytest.mark.verifies("gpu-travelling-REQ-GRANT-01")),
        pytest.param(_Ahead(), "is not from", marks=pytest.mark.verifies("gpu-travelling-REQ-GRANT-02")),
        pytest.param(
            _TooLong(),
            "the lease ends 1 seconds after the GPU's evidence is too old",
            marks=pytest.mark.verifies("gpu-travelling-REQ-SETUP-13"),
        ),
    ],
    ids=["as it is", "another holder", "another value", "too long a lease"],
)
def test_a_grant_that_says_something_else_is_not_sent(procedures: Procedures, told: str) -> None:
    names = holder_names(2)
    world, remarks = world_of(FastDeployment(names, 2, chunks=1, chunk_bytes=16, trainer=ChainTrainer()))
    world.orchestrator.procedures = procedures
    for _ in range(2_000):
        if world.nodes["orchestrator"].ended is not None or not world.step():
            break
    assert world.taken("grant") == (0 if told else 2)
    assert any(told in remark for remark in remarks) or not told
