"""Keys: how often one is used, how that is counted, and that no nonce comes twice."""

import random
import re
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest
from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from carnet_check.conformance import conform
from carnet_ref.crypto.primitives import TAG_BYTES, Buffer, CryptoError
from carnet_ref.device import CopyEngines
from carnet_ref.keys import Budget, Direction, H100KeySchedule, KeyLedger, KeysError, KeyUsage, LinkKeys, UsageLimits
from carnet_ref.recorder import write_trace
from carnet_ref.systems.gpu_travelling import orders
from carnet_ref.systems.gpu_travelling.deployment import holder_names
from carnet_ref.systems.gpu_travelling.device import Firmware
from carnet_ref.systems.gpu_travelling.enforcement import Checks
from carnet_ref.systems.gpu_travelling.keys import SCHEDULES, key_schedule
from carnet_ref.systems.gpu_travelling.names import GPU, ORCHESTRATOR
from carnet_ref.systems.gpu_travelling.orders import Logged, Model, Upload, Write, encode_copy
from carnet_ref.systems.gpu_travelling.roles.links import BorrowedLink, Link, SessionKeys
from carnet_ref.transport.frames import PLATFORM, Frame, FrameKind, ProtocolError
from carnet_ref.transport.node import Node
from carnet_ref.wire import number
from tests.fixtures.memory import Memory
from tests.fixtures.thorough import share
from tests.fixtures.worlds import ChainTrainer, FastDeployment, TestWorld, draws, world_of


@dataclass
class Use:
    """What was done with one key in one way: sealed or opened."""

    messages: int = 0
    size: int = 0
    nonces: Counter[bytes] = field(default_factory=Counter)

    @property
    def units(self) -> int:
        """The driver's work units: a sixteenth of the bytes, and one for each operation."""
        return self.size // 16 + self.messages

    def add(self, nonce: bytes, size: int) -> None:
        """Take down a message."""
        self.messages += 1
        self.size += size
        self.nonces[nonce] += 1


@dataclass
class Watch:
    """Every use of every key, by the bytes of the key; link messages are those that are written into a buffer."""

    sealed: dict[bytes, Use] = field(default_factory=dict)
    opened: dict[bytes, Use] = field(default_factory=dict)
    link: set[bytes] = field(default_factory=set)

    def repeated(self) -> list[tuple[bytes, bytes]]:
        """Return the pairs of key and nonce under which more than one message was sealed."""
        return [(key, nonce) for key, use in self.sealed.items() for nonce, times in use.nonces.items() if times > 1]

    def most(self) -> tuple[int, int]:
        """Return the most messages and the most units under one link key, in either way."""
        uses = [use for way in (self.sealed, self.opened) for key, use in way.items() if key in self.link]
        return max((use.messages for use in uses), default=0), max((use.units for use in uses), default=0)


@contextmanager
def watching() -> Iterator[Watch]:
    """Watch every cipher that is made meanwhile."""
    watch = Watch()

    class Watched:
        def __init__(self, key: bytes) -> None:
            self._key = bytes(key)
            self._real = AESGCM(key)

        def encrypt(self, nonce: bytes, data: bytes, associated: bytes | None) -> bytes:
            watch.sealed.setdefault(self._key, Use()).add(nonce, len(data))
            return self._real.encrypt(nonce, data, associated)

        def decrypt(self, nonce: bytes, data: bytes, associated: bytes | None) -> bytes:
            watch.opened.setdefault(self._key, Use()).add(nonce, max(0, len(data) - TAG_BYTES))
            return self._real.decrypt(nonce, data, associated)

        def encrypt_into(self, nonce: bytes, data: Buffer, associated: None, out: bytearray | memoryview) -> int:
            watch.link.add(self._key)
            watch.sealed.setdefault(self._key, Use()).add(nonce, len(data))
            return self._real.encrypt_into(nonce, data, associated, out)

        def decrypt_into(self, nonce: bytes, data: Buffer, associated: None, out: bytearray | memoryview) -> int:
            watch.link.add(self._key)
            watch.opened.setdefault(self._key, Use()).add(nonce, len(out))
            return self._real.decrypt_into(nonce, data, associated, out)

    with patch("carnet_ref.crypto.primitives.AESGCM", Watched):
        yield watch


# -- no AES key protects more than its limit at any end of a link ----------------------------------------


RUNS = share(12_000)  #: Runs of each of the two main schedules.
HEAD = 1 + len(number(0))
Refused = (KeysError, CryptoError, ProtocolError)


@dataclass
class Uses:
    """What ciphers were asked to do, by key and by whether they sealed or opened."""

    messages: Counter[tuple[bytes, str]] = field(default_factory=Counter)
    size: Counter[tuple[bytes, str]] = field(default_factory=Counter)
    sealed: set[tuple[bytes, bytes]] = field(default_factory=set)
    repeated: bool = False

    def note(self, key: bytes, way: str, size: int) -> None:
        self.messages[key, way] += 1
        self.size[key, way] += size

    def seal(self, key: bytes, nonce: bytes, size: int) -> None:
        self.note(key, "sealed", size)
        self.repeated |= (key, nonce) in self.sealed
        self.sealed.add((key, nonce))

    def within(self, key: bytes, limits: UsageLimits) -> bool:
        """Return whether a key was used within its limits, to seal and to open."""
        return all(
            self.messages[key, way] <= limits.messages
            and self.size[key, way] // 16 + self.messages[key, way] <= limits.upper
            for way in ("sealed", "opened")
        )


class StandIn:
    """Counts as AES-GCM would be used; a message opens under the key and nonce that sealed it."""

    uses = Uses()

    def __init__(self, key: bytes) -> None:
        self._key = bytes(key)

    def encrypt(self, nonce: bytes, data: bytes, associated: bytes | None) -> bytes:
        self.uses.seal(self._key, nonce, len(data))
        return bytes(data) + self._key[:4] + nonce

    def decrypt(self, nonce: bytes, data: bytes, associated: bytes | None) -> bytes:
        self.uses.note(self._key, "opened", len(data) - 16)
        if bytes(data[-16:]) != self._key[:4] + nonce:
            raise InvalidTag
        return bytes(data[:-16])

    def encrypt_into(self, nonce: bytes, data: Buffer, associated: None, out: bytearray | memoryview) -> int:
        out[:] = self.encrypt(nonce, bytes(data), associated)
        return len(out)

    def decrypt_into(self, nonce: bytes, data: Buffer, associated: None, out: bytearray | memoryview) -> int:
        out[:] = self.decrypt(nonce, bytes(data), associated)
        return len(out)


@pytest.fixture(autouse=True)
def uses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("carnet_ref.crypto.primitives.AESGCM", StandIn)
    monkeypatch.setattr(orders, "LIMITS", UsageLimits.for_messages(60))


class Session:
    """Both ends of a session: the orchestrator's link, and the GPU's copy engines and firmware."""

    def __init__(self, schedule: str, secret: bytes, limits: UsageLimits) -> None:
        ours, theirs = H100KeySchedule(secret), H100KeySchedule(secret)
        self.link = Link("s", key_schedule(schedule, ours), SessionKeys.of(ours), limits)
        self.gpu = CopyEngines(key_schedule(schedule, theirs), limits)
        self.firmware = Firmware(theirs, self.gpu, Checks())
        self.keys = [self.link.keys]
        self.own = [ours.key(label) for label in (orders.ORDERS_LABEL, orders.REPORTS_LABEL)]
        self.lost: set[bytes] = set()

    @property
    def loaded(self) -> list[LinkKeys]:
        """The keys that are on an engine now."""
        return list({keys.engine: keys for keys in self.keys}.values())

    def order(self, order: orders.Order) -> orders.Report:
        _, sealed = self.link.order(order)
        place, taken = self.firmware.open(sealed)
        if isinstance(taken, orders.Rotate):
            keys = self.gpu.accept(taken.key)
            said: orders.Report = orders.Rotated(keys.epoch, self.gpu.live)
        else:
            said = orders.Fenced()
        self.firmware.take(place, taken)
        return self.link.report(self.firmware.report(place, said)[1])

    def rotate(self, owner: str, draw: random.Random) -> None:
        """Give the link a key of this owner."""
        self.order(self.link.draw(owner, draw.randbytes))
        self.link.take()
        self.keys.append(self.link.keys)

    def cross(self, slot: int, body: bytes) -> None:
        self.gpu.open(body[0], body[HEAD:], slot)


class CountedRun:
    """One run, which a number determines."""

    def __init__(self, schedule: str, number_of_run: int) -> None:
        self.chance = random.Random(f"{schedule} {number_of_run}")
        self.schedule = schedule
        self.limits = self.drawn_limits()
        self.owners = [f"holder {index}" for index in range(self.chance.randint(1, 7))]
        self.sessions: list[Session] = []

    def drawn_limits(self) -> UsageLimits:
        """Return limits that a few hand-overs come up against."""
        if self.chance.random() < 0.5:
            return UsageLimits.for_messages(self.chance.randint(1, 12))
        upper = self.chance.randint(8, 160)
        return UsageLimits(self.chance.randint(1, upper), upper)

    def go(self) -> None:
        """Hand the GPU over some times, in a new session whenever an end refuses to go on, or just so."""
        session = self.renewed()
        for _ in range(self.chance.randint(1, 4)):
            try:
                self.hand_over(session, self.chance.choice(self.owners))
            except Refused:
                self.check(session)
                session = self.renewed()
            if self.chance.random() < 0.05:
                session = self.renewed()
        self.check(session)

    def renewed(self) -> Session:
        self.sessions.append(Session(self.schedule, self.chance.randbytes(32), self.limits))
        return self.sessions[-1]

    def hand_over(self, session: Session, owner: str) -> None:
        """Lend the GPU, let the holder send, take it back, and do what is done at home."""
        link, chance = session.link, self.chance
        session.rotate(owner, chance)
        borrowed, sizes = BorrowedLink(link.keys, link.next_slot, link.lend()), list[int]()
        evicted = chance.random() < 0.1
        try:
            for chunk in range(chance.randint(0, 4)):
                size = chance.choice((0, 1, 16, 40, 200))
                session.cross(*borrowed.seal(Write(0, chunk, bytes(size))))
                sizes.append(size)
        finally:
            if evicted or len(sizes) < borrowed.count:
                session.lost.add(link.keys.h2d)
                link.forfeit()
            else:
                link.count_borrowed(borrowed.count, sum(sizes))
        session.rotate(ORCHESTRATOR, chance)
        session.order(orders.Fence())
        session.cross(*link.seal(Upload(b"code", bytes(chance.choice((0, 100))))))
        for reply in (Logged(0.5), Model(bytes(chance.choice((0, 90)))))[: chance.randint(0, 2)]:
            link.open(session.gpu.seal(encode_copy(reply)).ciphertext)
        self.agree(session)

    def agree(self, session: Session) -> None:
        """Insist that the ends counted alike: exactly, or, of what an evicted holder was lent, never too little."""
        for keys in session.loaded:
            for way in Direction:
                ours, theirs = (ledger.usage(keys, way) for ledger in ledgers(session))
                if keys.h2d in session.lost and way is Direction.H2D:
                    assert ours.operations >= theirs.operations
                else:
                    assert (ours.operations, ours.used_bytes) == (theirs.operations, theirs.used_bytes)
        for ours, theirs in zip(session.link.own_usage.values(), firmware_usage(session), strict=True):
            assert (ours.operations, ours.used_bytes) == (theirs.operations, theirs.used_bytes)

    def check(self, session: Session) -> None:
        """Insist that no key of a session was used past its limit, to seal or to open."""
        for key in {keys.half(way) for keys in session.keys for way in Direction}:
            assert StandIn.uses.within(key, self.limits)
        for own in session.own:
            assert StandIn.uses.within(own, orders.LIMITS)
        assert not StandIn.uses.repeated


def ledgers(session: Session) -> tuple[KeyLedger, KeyLedger]:
    return session.link._ledger, session.gpu._ledger


def firmware_usage(session: Session) -> tuple[KeyUsage, KeyUsage]:
    return session.firmware._orders.usage, session.firmware._reports.usage


def outcomes_of_counting(schedule: str, runs: int) -> Counter[str]:
    """Carry out runs, and return what happened in them."""
    found = Counter[str]()
    for number_of_run in range(runs):
        StandIn.uses = Uses()
        run = CountedRun(schedule, number_of_run)
        run.go()
        found["renewed"] += len(run.sessions) > 1
        found["a key at its limit"] += any(
            messages == run.limits.messages for messages in StandIn.uses.messages.values()
        )
    return found


@pytest.mark.mends("H5")
@pytest.mark.parametrize("schedule", ["engine-per-holder", "sealed-under-master"])
def test_no_key_passes_its_limit_and_the_ends_agree_in_thousands_of_runs(schedule: str) -> None:
    found = outcomes_of_counting(schedule, RUNS)
    assert found["renewed"] > RUNS / 10
    assert found["a key at its limit"] > RUNS / 20


# -- the check can fail ---------------------------------------------------------------------------


def test_a_count_of_each_epoch_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    def anew(ledger: KeyLedger, keys: LinkKeys, way: object) -> KeyUsage:
        return KeyUsage(ledger._limits)

    monkeypatch.setattr(KeyLedger, "usage", anew)
    monkeypatch.setattr(CountedRun, "agree", lambda run, session: None)
    with pytest.raises(AssertionError):
        outcomes_of_counting("engine-per-holder", 100)


def test_an_end_that_does_not_count_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(KeyUsage, "settle", lambda usage, lent, size, operations: None)
    with pytest.raises(AssertionError):
        outcomes_of_counting("engine-per-holder", 100)


def test_the_session_s_own_keys_have_a_limit_too(monkeypatch: pytest.MonkeyPatch) -> None:
    real = KeyUsage.count
    monkeypatch.setattr(
        KeyUsage, "count", lambda usage, size: real(usage, size) if usage._limits is not orders.LIMITS else None
    )
    monkeypatch.setattr(orders, "LIMITS", UsageLimits.for_messages(8))
    with pytest.raises(AssertionError):
        outcomes_of_counting("sealed-under-master", 100)


# -- no link key protects more than its limit ------------------------------------------------------------


RUNNABLE = sorted(set(SCHEDULES) - {"none", "inner-key"})
STEPS = 100_000
#: How a run that cannot go on says so.
ENDS = re.compile(
    r"the key limit is too low for one hand-over: "
    r"|\d+ sessions failed, the last one because of "
    r"|\w+ was evicted \d+ times: "
)


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
        if self.world.queue:
            del self.world.queue[self.chance.randrange(len(self.world.queue))]

    def reset(self) -> None:
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
        for trained in range(self.world.orchestrator.job.kept.progress.rounds):
            data = b"".join(self.deployment.dataset(self.deployment.holders[trained % len(self.deployment.holders)]))
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
    for each in numbers:
        world = check(schedule, each).world
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
