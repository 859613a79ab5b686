"""The session's own keys, for orders and for reports, have limits too: a session without room in them is renewed."""

from __future__ import annotations

import pytest

from carnet_ref.keys import KeyExhaustedError, UsageLimits
from carnet_ref.systems.gpu_travelling import orders
from carnet_ref.systems.gpu_travelling.deployment import holder_names
from carnet_ref.systems.gpu_travelling.orders import Place, Sealed
from tests.fixtures.worlds import ChainTrainer, FastDeployment, TestWorld, world_of

KEY = bytes(range(32))


def run(schedule: str, rounds: int) -> tuple[TestWorld, list[str]]:
    world, told = world_of(FastDeployment(holder_names(2), rounds, schedule, trainer=ChainTrainer()))
    world.run()
    return world, told


def test_both_ends_count_an_order_alike() -> None:
    ours, theirs = Sealed(KEY), Sealed(KEY)
    for number, size in enumerate((0, 1, 16, 200)):
        theirs.open(ours.seal(Place(3, number), bytes(size)))
    assert (ours.usage.operations, ours.usage.used_bytes) == (theirs.usage.operations, theirs.usage.used_bytes)
    assert (ours.usage.operations, ours.usage.used_bytes) == (4, 217)


def test_neither_end_goes_past_the_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    free = Sealed(KEY)
    monkeypatch.setattr(orders, "LIMITS", UsageLimits.for_messages(2))
    ours, theirs = Sealed(KEY), Sealed(KEY)
    for number in range(2):
        theirs.open(ours.seal(Place(0, number), b"order"))
    with pytest.raises(KeyExhaustedError, match="3 messages, and no more than 2"):
        ours.seal(Place(0, 2), b"order")
    with pytest.raises(KeyExhaustedError, match="3 messages, and no more than 2"):
        theirs.open(free.seal(Place(0, 2), b"order"))


@pytest.mark.parametrize("schedule", ["engine-per-holder", "sealed-under-master"])
def test_a_session_is_renewed_before_its_own_keys_run_out(schedule: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A hand-over is begun with room for eight orders only; each takes six of them, and the first few the set-up."""
    monkeypatch.setattr(orders, "LIMITS", UsageLimits.for_messages(20))
    world, told = run(schedule, rounds=4)
    assert world.failure == ""
    assert world.orchestrator.job.progress.rounds == 4
    renewals = [line for line in told if "session renewed: the session's key for orders has" in line]
    assert len(renewals) == world.taken("open_session") - 1 >= 1
    for usage in world.orchestrator.job.live.own_usage.values():
        assert usage.operations <= 20
    assert world.orchestrator.job.failures == 0
