"""Holders agree on one instance of the orchestrator: a restarted one is the same, one that starts anew is another."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from carnet_ref.crypto.primitives import KEY_BYTES
from carnet_ref.journal import Journal
from carnet_ref.systems.gpu_travelling.ablations.deployment import AblatedDeployment
from carnet_ref.systems.gpu_travelling.deployment import Deployment, holder_names
from carnet_ref.systems.gpu_travelling.names import GPU, ORCHESTRATOR
from carnet_ref.transport.node import Node
from carnet_ref.wire import MalformedError
from tests.fixtures.worlds import TestWorld, draws, world_of

PLAIN = Deployment(holder_names(1), 1, chunks=1, chunk_bytes=64)


@pytest.fixture
def journals(tmp_path: Path) -> Iterator[list[Journal]]:
    """Journals of orchestrators of the same job: the one that was agreed on, and one that somebody else starts."""
    owner = PLAIN.journal_owner(ORCHESTRATOR)
    opened = [Journal(tmp_path / name, bytes(KEY_BYTES), owner, draws(name)) for name in ("agreed", "second")]
    yield opened
    for journal in opened:
        journal.close()


def _run(deployment: Deployment, journal: Journal) -> tuple[TestWorld, list[str]]:
    """Let holders of a deployment meet the orchestrator that starts from a journal."""
    world, told = world_of(deployment)
    orchestrator = deployment.orchestrator_from(journal, draws("orchestrator"))
    node = Node(ORCHESTRATOR, orchestrator, world.recorder, journal, told.append)
    world.add(Node(GPU, deployment.gpu(draws("another GPU")), world.recorder, remark=told.append))
    world.add(node, node.perform(orchestrator.begin(0.0)))
    world.run()
    return world, told


def _refused(world: TestWorld, told: list[str]) -> bool:
    return any("expected the orchestrator's instance" in line for line in told) and not _granted(world)


def _granted(world: TestWorld) -> bool:
    return world.taken("accept_grant") > 0


def test_a_holder_meets_the_instance_that_was_agreed_on(journals: list[Journal]) -> None:
    agreed, _ = journals
    deployment = PLAIN.founded(agreed, draws("founding"))
    world, told = _run(deployment, agreed)
    assert _granted(world)
    assert not _refused(world, told)


def test_a_restarted_orchestrator_is_the_same_instance(journals: list[Journal]) -> None:
    agreed, _ = journals
    deployment = PLAIN.founded(agreed, draws("founding"))
    assert PLAIN.founded(agreed, draws("a restart")).instance == deployment.instance
    assert (
        deployment.orchestrator_from(agreed, draws("a restart")).job.tools.quoter
        == deployment.orchestrator(draws("first")).job.tools.quoter
    )


@pytest.mark.verifies("gpu-travelling-REQ-SETUP-17")
def test_an_orchestrator_without_that_journal_is_another_instance_and_is_refused(journals: list[Journal]) -> None:
    agreed, second = journals
    deployment = PLAIN.founded(agreed, draws("founding"))
    world, told = _run(deployment, second)
    assert _refused(world, told)
    assert second.last("instance") not in {None, agreed.last("instance")}


def test_without_the_check_a_holder_serves_whatever_instance_it_meets(journals: list[Journal]) -> None:
    agreed, second = journals
    unchecked = AblatedDeployment(PLAIN.holders, 1, chunks=1, chunk_bytes=64, off=frozenset({"one-instance"}))
    world, _ = _run(unchecked.founded(agreed, draws("founding")), second)
    assert _granted(world)


def test_a_deployment_keeps_its_instance_in_its_settings(journals: list[Journal]) -> None:
    deployment = PLAIN.founded(journals[0], draws("founding"))
    assert Deployment.of(deployment.settings) == deployment
    assert Deployment.of(PLAIN.settings) == PLAIN
    ablated = AblatedDeployment(PLAIN.holders, 1, off=frozenset({"one-instance"}))
    assert AblatedDeployment.of(ablated.settings) == ablated


def test_a_journal_with_an_instance_of_another_length_is_refused(journals: list[Journal]) -> None:
    journals[0].append("instance", b"short")
    with pytest.raises(MalformedError, match="an instance of 32 bytes"):
        PLAIN.founded(journals[0], draws("founding"))
