"""No link key protects more than its limit, and no IV is used twice under one, whatever a run has to go through.

What counts is what AES-GCM itself is seen to do (`tests.fixtures.aead_watch`), not what the implementation counts.
"""

from __future__ import annotations

import random
import re
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest

from carnet_check.conformance import conform
from carnet_ref.keys import Budget, KeyLedger, KeyUsage, LinkKeys, UsageLimits
from carnet_ref.recorder import write_trace
from carnet_ref.systems.gpu_travelling.deployment import holder_names
from carnet_ref.systems.gpu_travelling.keys import SCHEDULES
from carnet_ref.systems.gpu_travelling.names import GPU, ORCHESTRATOR
from carnet_ref.transport.frames import PLATFORM, Frame, FrameKind
from carnet_ref.transport.node import Node
from tests.fixtures.aead_watch import Watch, watching
from tests.fixtures.fast_parties import ChainTrainer, FastDeployment
from tests.fixtures.memory import Memory
from tests.fixtures.worlds import TestWorld, draws, world_of

RUNNABLE = sorted(set(SCHEDULES) - {"none", "inner-key"})
STEPS = 100_000
ENDS = re.compile(
    r"the key limit is too low for one hand-over: "
    r"|\d+ sessions failed, the last one because of "
    r"|\w+ was evicted \d+ times: "
)
"""How a run that cannot go on says so."""


@dataclass(frozen=True)
class LimitedDeployment(FastDeployment):
    """A deployment whose keys may protect what the test says."""

    allowed: UsageLimits = field(default_factory=UsageLimits.for_advantage)

    @property
    def limits(self) -> UsageLimits:
        return self.allowed


def drawn_limits(chance: random.Random) -> UsageLimits:
    """Return limits that a run of a few rounds comes up against."""
    if chance.random() < 0.5:
        return UsageLimits.for_messages(chance.randint(1, 40))
    upper = chance.randint(10, 600)
    return UsageLimits(chance.randint(1, upper), upper)


def drawn_cast(schedule: str, chance: random.Random) -> LimitedDeployment:
    return LimitedDeployment(
        holder_names(chance.randint(1, 3)),
        chance.randint(1, 6),
        schedule,
        chunks=chance.randint(1, 8),
        chunk_bytes=chance.choice((1, 16, 50, 300)),
        trainer=ChainTrainer(),
        allowed=drawn_limits(chance),
    )


class Run:
    """One run under one schedule of events, which a number determines."""

    cast = staticmethod(drawn_cast)

    def __init__(self, schedule: str, number: int) -> None:
        self.chance = random.Random(f"{schedule} {number}")
        self.deployment = self.cast(schedule, self.chance)
        self.trouble = self.chance.choice((0.0, 0.0, 0.005, 0.02))
        self.world, _ = world_of(self.deployment, seed=f"{schedule} {number}")
        self.stores = {name: Memory() for name in (ORCHESTRATOR, *self.deployment.holders)}
        for name, store in self.stores.items():
            self.world.nodes[name].store = store
        self.lives = 0

    def go(self) -> None:
        """Go on until the orchestrator is done."""
        for _ in range(STEPS):
            if self.world.over:
                return
            if self.chance.random() < self.trouble:
                self.chance.choice((self.lose, self.reset, self.pass_time, self.crash))()
            elif not self.world.step():
                self.pass_time()
        raise AssertionError("the run does not end")

    def lose(self) -> None:
        """Lose a frame."""
        if self.world.queue:
            del self.world.queue[self.chance.randrange(len(self.world.queue))]

    def reset(self) -> None:
        """Reset the GPU."""
        self.world.deliver(Frame(PLATFORM, GPU, FrameKind.RESET, b"CONFIDENTIAL"))

    def pass_time(self) -> None:
        """Let patience and leases run out."""
        self.world.now += self.chance.choice((5.0, 31.0, 61.0))
        self.world.tick()

    def crash(self) -> None:
        """Kill a party, and start it again from its journal."""
        who = self.chance.choice((ORCHESTRATOR, *self.deployment.holders))
        self.lives += 1
        store: Any = self.stores[who]
        source = draws(f"{self.deployment.schedule} life {self.lives} of {who}, {self.chance.random()}")
        node = self.world.nodes.pop(who)
        role: Any
        if who == ORCHESTRATOR:
            role = self.deployment.orchestrator_from(store, source)
        else:
            role = self.deployment.holder_from(store, who, source)
        again = Node(who, role, node.recorder, store)
        self.world.add(again, again.perform(role.begin(self.world.now)))

    @property
    def expected(self) -> bytes:
        """The model that the rounds which were trained and kept lead to."""
        trainer = self.deployment.trainer
        model = trainer.first_model()
        for number in range(self.world.orchestrator.job.kept.progress.rounds):
            data = b"".join(self.deployment.dataset(self.deployment.holders[number % len(self.deployment.holders)]))
            model = trainer.train(model, data).model
        return model


def within(watch: Watch, limits: UsageLimits) -> bool:
    messages, units = watch.most()
    return messages <= limits.messages and units <= limits.upper


def check(schedule: str, number: int) -> Run:
    """Carry out a run, and insist on its limits, its IVs and how it ends."""
    with watching() as watch:
        run = Run(schedule, number)
        run.go()
    assert within(watch, run.deployment.limits), f"run {number}: {watch.most()} under {run.deployment.limits}"
    assert not watch.repeated(), f"run {number}: an IV is used twice"
    job, failure = run.world.orchestrator.job, run.world.failure
    assert job.kept.model == run.expected
    progress = job.kept.progress
    assert ENDS.match(failure) if failure else progress.rounds == run.deployment.rounds, f"run {number}: {failure}"
    return run


def outcomes(schedule: str, numbers: range) -> set[str]:
    """Return how runs ended, and whether any of them renewed its session."""
    found = set()
    for number in numbers:
        world = check(schedule, number).world
        found.add("stopped" if world.failure else "completed")
        found.add("renewed") if world.taken("open_session") > 1 else None
    return found


def ways(schedule: str) -> set[str]:
    """Return how runs of a schedule may end; honest rounds without rotation are refused at the receive counter."""
    return {"stopped", "renewed"} if schedule == "none" else {"completed", "stopped", "renewed"}


@pytest.mark.mends("H5")
@pytest.mark.mends("L6")
@pytest.mark.parametrize("schedule", sorted(SCHEDULES))
def test_a_lowered_limit_is_never_passed_in_scheduled_runs(schedule: str) -> None:
    assert outcomes(schedule, range(30)) == ways(schedule)


@pytest.mark.slow
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("schedule", sorted(SCHEDULES))
def test_a_lowered_limit_is_never_passed_in_a_thousand_scheduled_runs(schedule: str) -> None:
    assert outcomes(schedule, range(1_000)) == ways(schedule)


# -- what a limit leads to ------------------------------------------------------------------------


def limited(schedule: str, limits: UsageLimits, rounds: int = 4, chunks: int = 3, holders: int = 2) -> TestWorld:
    """Return the end of an undisturbed run, whose keys were seen to stay within their limits."""
    deployment = LimitedDeployment(
        holder_names(holders), rounds, schedule, chunks=chunks, chunk_bytes=64, trainer=ChainTrainer(), allowed=limits
    )
    with watching() as watch:
        world, _ = world_of(deployment)
        carried: list[Frame] = []
        world.platform.keep = carried.append
        world.run()
    assert within(watch, limits)
    assert not watch.repeated()
    links = [frame for frame in carried if frame.kind in {FrameKind.H2D, FrameKind.D2H}]
    assert sum(watch.sealed[key].messages for key in watch.link if key in watch.sealed) == len(links), "all are seen"
    return world


def sessions(world: TestWorld) -> int:
    return world.taken("open_session")


@pytest.mark.mends("H5")
@pytest.mark.parametrize(("messages", "opened"), [(2, 4), (3, 2), (4, 2), (5, 1)])
def test_a_session_is_renewed_as_often_as_the_limit_asks_for(messages: int, opened: int) -> None:
    """Each upload is a message of the orchestrator's key, each return one home, and there is room for the model.

    It happens before a hand-over, and once the model is home, so that no round is lost.
    """
    world = limited("engine-per-holder", UsageLimits.for_messages(messages), chunks=1)
    assert world.orchestrator.job.books.lost == ()
    assert (world.failure, sessions(world)) == ("", opened)
    assert world.taken("grant") == 4
    assert world.orchestrator.job.failures == 0


@pytest.mark.mends("H5")
def test_keys_that_rotate_need_no_new_session() -> None:
    for schedule in ("sealed-under-master", "wrapped-under-old", "ratchet"):
        world = limited(schedule, UsageLimits.for_messages(5), rounds=6)
        assert (world.failure, sessions(world)) == ("", 1)


@pytest.mark.mends("H5")
def test_a_holder_whose_key_has_no_room_left_declines_and_is_lent_another() -> None:
    world = limited("engine-per-holder", UsageLimits.for_messages(40), rounds=3, chunks=30, holders=1)
    assert (world.failure, sessions(world)) == ("", 3)
    assert world.orchestrator.job.progress.rounds == 3


@pytest.mark.mends("H5")
@pytest.mark.parametrize("schedule", RUNNABLE)
@pytest.mark.parametrize(("messages", "chunks"), [(1, 1), (9, 10)], ids=["at home", "a holder's"])
def test_a_limit_that_is_too_low_for_one_hand_over_is_said_to_be(schedule: str, messages: int, chunks: int) -> None:
    world = limited(schedule, UsageLimits.for_messages(messages), chunks=chunks)
    assert world.failure.startswith("the key limit is too low for one hand-over: ")
    assert world.orchestrator.job.progress.rounds == 0
    assert sessions(world) == 1


@pytest.mark.mends("H5")
def test_a_key_that_is_due_is_not_used_for_another_hand_over() -> None:
    """There is room up to the upper limit, and still the session is renewed at the lower one."""
    limits = UsageLimits(5, 10_000)
    world = limited("engine-per-holder", limits)
    assert (world.failure, sessions(world)) == ("", 4)


@pytest.mark.mends("H5")
@pytest.mark.parametrize(
    ("schedule", "messages", "chunks", "opened"),
    [
        ("engine-per-holder", 2, 1, 4),
        ("engine-per-holder", 30, 20, 2),
        ("sealed-under-master", 9, 9, 1),
        ("reset", 9, 9, 4),
    ],
    ids=["at home", "a holder declines", "keys rotate", "reset"],
)
def test_a_run_that_comes_up_against_its_limit_conforms(
    schedule: str, messages: int, chunks: int, opened: int, tmp_path: Path
) -> None:
    world = limited(schedule, UsageLimits.for_messages(messages), chunks=chunks)
    deployment = FastDeployment(holder_names(2), 4, schedule, chunks=chunks)
    write_trace(tmp_path / "trace", deployment.header(world.recorder.lines), world.recorder.lines)
    result = conform(tmp_path / "trace")
    assert result.conforms, result.divergence
    assert (world.failure, sessions(world)) == ("", opened)


@pytest.mark.mends("H5")
@pytest.mark.parametrize("schedule", RUNNABLE)
def test_the_gpu_refuses_a_holder_that_ignores_its_share(schedule: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its own messages are its own affair; none past the limit is opened."""
    monkeypatch.setattr(Budget, "covers", lambda budget, other: True)
    monkeypatch.setattr(UsageLimits, "within", lambda budget: UsageLimits.for_advantage())
    limits = UsageLimits.for_messages(10)
    deployment = LimitedDeployment(
        holder_names(1), 1, schedule, chunks=12, chunk_bytes=8, trainer=ChainTrainer(), allowed=limits
    )
    with watching() as watch:
        world, told = world_of(deployment)
        world.run()
    assert max(use.messages for key, use in watch.opened.items() if key in watch.link) == 10
    assert max(use.messages for key, use in watch.sealed.items() if key in watch.link) == 12
    assert any("gpu1 failed: key limit: 11 messages" in line for line in told)
    assert world.orchestrator.job.progress.rounds == 0
    assert ENDS.match(world.failure)


# -- the checks can fail --------------------------------------------------------------------------


def each_epoch_anew(ledger: KeyLedger, keys: LinkKeys, way: object) -> KeyUsage:
    """Count as it was counted once: from nothing in every epoch."""
    return KeyUsage(ledger._limits)


def test_counting_each_epoch_anew_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(KeyLedger, "usage", each_epoch_anew)
    with pytest.raises(AssertionError):
        outcomes("engine-per-holder", range(30))


def without_channel_counters(schedule: str, chance: random.Random) -> LimitedDeployment:
    """Draw a design whose epochs on an engine begin at the same IV, which no role minds."""
    return replace(drawn_cast(schedule, chance), off=frozenset({"channel-counter"}))


def test_an_iv_that_is_used_twice_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    """Not a limit and not a failure, but the IVs are what the property complains of."""
    monkeypatch.setattr(Run, "cast", staticmethod(without_channel_counters))
    with pytest.raises(AssertionError, match="an IV is used twice"):
        outcomes("engine-per-holder", range(30))
