"""What roles do about the limit of a key: a holder keeps to its share, and a session without room is renewed."""

from dataclasses import replace

import pytest

from carnet_ref.device import TRAINING_CODE
from carnet_ref.keys import Budget, Direction, H100KeySchedule, KeyExhaustedError, UsageLimits
from carnet_ref.systems.gpu_travelling import orders
from carnet_ref.systems.gpu_travelling.deployment import holder_names
from carnet_ref.systems.gpu_travelling.keys import key_schedule
from carnet_ref.systems.gpu_travelling.names import ORCHESTRATOR
from carnet_ref.systems.gpu_travelling.orders import Logged, Model, Place, Sealed, Start, Upload, Write, encode_copy
from carnet_ref.systems.gpu_travelling.roles.custody import at_home
from carnet_ref.systems.gpu_travelling.roles.holder import AwaitsGrant, Provides
from carnet_ref.systems.gpu_travelling.roles.links import TURN, Link, SessionKeys
from carnet_ref.systems.gpu_travelling.roles.messages import Decline, Grant, Return
from carnet_ref.systems.gpu_travelling.roles.orchestrator import SECURE
from carnet_ref.systems.gpu_travelling.roles.states import (
    AwaitsReturn,
    AwaitsSession,
    Back,
    Declined,
    Finished,
    Returned,
)
from carnet_ref.transport.frames import Ended, Remark, Send
from tests.fixtures.worlds import ChainTrainer, FastDeployment, TestWorld, draws, world_of

LIMITS = UsageLimits.for_messages(8)
SECRET = bytes(range(32))
KEYS = SessionKeys.of(H100KeySchedule(SECRET))
LEAST = Start(b"")


def away(key_messages: int | None = None, rounds: int = 1) -> tuple[TestWorld, AwaitsReturn]:
    """Return a run in which the orchestrator has lent the GPU after so many rounds less one."""
    deployment = FastDeployment(
        holder_names(2), 4, chunks=3, chunk_bytes=16, key_messages=key_messages, trainer=ChainTrainer()
    )
    world, _ = world_of(deployment)
    state = world.orchestrator.state
    while not (isinstance(state, AwaitsReturn) and state.job.progress.rounds == rounds - 1):
        assert world.step()
        state = world.orchestrator.state
    return world, state


def granted(budget: Budget) -> tuple[AwaitsGrant, Grant]:
    """Return a holder that waits for a grant, and one with this budget."""
    world, _ = away()
    while not isinstance(world.holder("alice").state, Provides):
        assert world.step()
    provides = world.holder("alice").state
    assert isinstance(provides, Provides)
    grant = replace(provides.grant, epoch=9, budget=budget)
    return AwaitsGrant(provides.known, provides.channel, provides.nonce, grant.session), grant


def due(state: AwaitsReturn, needs: Budget) -> Decline:
    assert state.job.lent is not None
    return Decline(state.job.live.session, state.job.lent.epoch, needs)


@pytest.mark.mends("H5")
def test_a_holder_takes_a_grant_that_is_large_enough_and_declines_one_that_is_not() -> None:
    enough = Budget(3, 3 * (3 + 1))
    state, grant = granted(enough)
    assert isinstance(state.on_grant(grant)[0], Provides)
    for less in (Budget(2, 100), Budget(100, enough.units - 1), Budget()):
        state, grant = granted(less)
        after, effects = state.on_grant(grant)
        assert after is state
        assert [type(effect) for effect in effects] == [Send]
        assert not any(name.endswith("/9") for name in state.known.accepted), "it was never accepted"


@pytest.mark.mends("H5")
def test_a_holder_that_would_send_more_than_its_share_stops() -> None:
    state, grant = granted(Budget(3, 12))
    provides, _ = state.on_grant(grant)
    assert isinstance(provides, Provides)
    provides.chunks = (*provides.chunks, b"one more")
    for _ in range(3):
        provides.on_proceed()
    with pytest.raises(KeyExhaustedError):
        provides.on_proceed()


@pytest.mark.mends("H5")
def test_a_grant_says_how_much_of_the_key_is_left() -> None:
    _, state = away(key_messages=20)
    assert state.job.live._lent_out == Budget(20, TURN.units)
    _, again = away(key_messages=20, rounds=3)
    assert again.job.live._lent_out.messages == 17, "three were used in the same holder's first turn"


@pytest.mark.verifies("gpu-travelling-REQ-IV-03")
@pytest.mark.mends("H5")
def test_what_a_holder_returned_is_counted_and_the_rest_is_free_again() -> None:
    _, state = away(key_messages=20)
    job = state.job
    assert job.lent is not None
    SECURE.take(state, Returned("alice", Return(job.live.session, job.lent.epoch, 3, 48)))
    usage = job.live.usage("alice", Direction.H2D)
    assert (usage.operations, usage.used_bytes) == (3, 48 + 3 * len(encode_copy(Write(0, 0, b""))))


@pytest.mark.verifies("gpu-travelling-REQ-RETURN-03")
@pytest.mark.mends("H5")
def test_an_evicted_holder_has_used_all_that_it_was_lent() -> None:
    _, state = away(key_messages=20)
    job = state.job
    after, _ = SECURE.evict(job, "the lease is over")
    assert isinstance(after, Back)
    assert job.live.usage("alice", Direction.H2D).left.messages == 0
    assert job.live.usage(ORCHESTRATOR, Direction.H2D).left.messages > 0


@pytest.mark.mends("H5")
def test_a_holder_that_claims_more_than_it_was_lent_is_evicted() -> None:
    _, state = away(key_messages=20)
    job = state.job
    assert job.lent is not None
    after, effects = SECURE.take(state, Returned("alice", Return(job.live.session, job.lent.epoch, 21, 0)))
    assert isinstance(after, Back)
    assert any(isinstance(effect, Remark) and "counts what cannot be" in effect.text for effect in effects)


@pytest.mark.mends("H5")
def test_who_declines_a_whole_key_ends_the_run_and_who_declines_a_used_one_gets_another() -> None:
    _, state = away(key_messages=20)
    after, effects = SECURE.take(state, Declined("alice", due(state, Budget(30, 90))))
    assert isinstance(after, Finished)
    assert effects == [
        Ended("the key limit is too low for one hand-over: alice needs 30 messages and 90 work units for one turn")
    ]
    _, state = away(key_messages=20, rounds=3)
    after, _ = SECURE.take(state, Declined("alice", due(state, Budget(18, 90))))
    assert isinstance(after, AwaitsSession)
    _, state = away(key_messages=20, rounds=3)
    after, _ = SECURE.take(state, Declined("alice", due(state, Budget(18, 90))))
    assert after.job.needs["alice"] == Budget(18, 90)
    _, again = away(key_messages=20, rounds=3)
    assert again.job.needs["alice"].messages == 3, "what her last turn took"


def test_a_refusal_of_another_epoch_or_by_somebody_else_is_none() -> None:
    _, state = away()
    said = due(state, Budget(1, 1))
    for holder, wrong in (("anna", said), ("alice", replace(said, epoch=7)), ("alice", replace(said, session="s0"))):
        after, effects = SECURE.take(state, Declined(holder, wrong))
        assert after is state
        assert [type(effect) for effect in effects] == [Remark]


@pytest.mark.verifies("gpu-travelling-REQ-KEY-07")
@pytest.mark.mends("H5")
def test_the_orchestrator_counts_its_own_key_across_epochs() -> None:
    link = Link("s1", key_schedule("engine-per-holder", H100KeySchedule(SECRET)), KEYS, LIMITS)
    for owner in ("alice", ORCHESTRATOR, "alice", ORCHESTRATOR):
        link.draw(owner, draws(owner))
        link.take()
        link.seal(LEAST)
        link.seal(LEAST)
    assert link.usage(ORCHESTRATOR, Direction.H2D).operations == 4
    assert link.usage("alice", Direction.H2D).operations == 4
    assert link.usage("anna", Direction.H2D).operations == 0


@pytest.mark.mends("L6")
def test_a_key_that_stays_restarts_no_counter_whatever_is_ordered() -> None:
    link = Link("s1", key_schedule("none", H100KeySchedule(SECRET)), KEYS, LIMITS)
    slots = [link.seal(LEAST)[0]]
    link.draw("alice", draws("an order"))
    link.take()
    slots.append(link.seal(LEAST)[0])
    assert slots == [0, 1]


@pytest.mark.mends("L6")
@pytest.mark.parametrize(("schedule", "next_slot"), [("none", 6), ("sealed-under-master", 1)])
def test_ivs_that_an_evicted_holder_may_have_used_are_left_out(schedule: str, next_slot: int) -> None:
    """Where the key changes before anything else is sent, there is nothing to leave out."""
    link = Link("s1", key_schedule(schedule, H100KeySchedule(SECRET)), KEYS, UsageLimits.for_messages(6))
    link.seal(LEAST)
    link.lend()
    link.forfeit()
    assert link.next_slot == next_slot


def test_what_a_return_takes_is_what_is_sent() -> None:
    """Without the model, which stays on the GPU; but there is room for bringing it home."""
    model = b"m" * 1_000
    needs = at_home(len(model))
    assert needs[Direction.H2D] == Budget.of([len(encode_copy(Upload(TRAINING_CODE, b"")))])
    assert needs[Direction.D2H] == Budget.of([len(encode_copy(Logged(1.0))), len(encode_copy(Model(model)))])


KEY = bytes(range(32))


def run(schedule: str, rounds: int) -> tuple[TestWorld, list[str]]:
    world, told = world_of(FastDeployment(holder_names(2), rounds, schedule, trainer=ChainTrainer()))
    world.run()
    return world, told


def test_both_ends_count_an_order_alike_and_neither_goes_past_the_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    ours, theirs = Sealed(KEY), Sealed(KEY)
    for number, size in enumerate((0, 1, 16, 200)):
        theirs.open(ours.seal(Place(3, number), bytes(size)))
    assert (ours.usage.operations, ours.usage.used_bytes) == (theirs.usage.operations, theirs.usage.used_bytes)
    assert (ours.usage.operations, ours.usage.used_bytes) == (4, 217)
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
