"""An orchestrator with backups: no epoch is issued twice, none is forgotten, and its instance is agreed on."""

import random
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from carnet_check.conformance import conform
from carnet_ref.crypto.primitives import KEY_BYTES, AesGcm, Buffer
from carnet_ref.journal import Journal
from carnet_ref.recorder import Recorder, write_trace
from carnet_ref.systems.ablation import ChecksWithout
from carnet_ref.systems.checks import EVERY, Checks
from carnet_ref.systems.gpu_travelling.ablations.deployment import AblatedDeployment
from carnet_ref.systems.gpu_travelling.deployment import Deployment, holder_names
from carnet_ref.systems.gpu_travelling.names import GPU, ORCHESTRATOR
from carnet_ref.systems.gpu_travelling.replica_group import (
    FailoverWorld,
    Fault,
    FaultInjection,
    GroupEndedError,
    ReplicaGroup,
    Tally,
)
from carnet_ref.systems.gpu_travelling.roles.orchestrator import Orchestrator
from carnet_ref.transport.node import Node
from carnet_ref.wire import MalformedError
from tests.fixtures.worlds import TestWorld, draws, world_of


class Moments(FaultInjection):
    """A mishap at each of some moments; the moments that there are, are counted."""

    def __init__(self, falls: Mapping[int, Fault] | None = None) -> None:
        self.falls, self.count = falls or {}, 0
        self.random = random.Random(sum(self.falls))

    def fault_due(self) -> Fault | None:
        self.count += 1
        return self.falls.get(self.count - 1)


@dataclass
class Accepted:
    """Remembers which epochs a holder accepted."""

    epochs: list[str] = field(default_factory=list)

    def append(self, kind: str, payload: bytes) -> None:
        if kind == "accepted":
            self.epochs.append(payload.decode())


@dataclass(frozen=True, slots=True)
class Aftermath:
    """The outcome of a run: its model (empty: nobody could go on), every epoch in the log, and what holders accepted.

    ``elsewhere`` is the log of an instance that took over without the one in charge, if there is such a thing.
    """

    model: str
    logged: list[str]
    elsewhere: list[str] | None
    accepted: Counter[str]
    tally: Tally
    moments: int
    conforms: bool


def run_with(
    deployment: Deployment, folder: Path, mishaps: FaultInjection, backups: int = 1, checks: Checks = EVERY
) -> Aftermath:
    """Run a deployment whose orchestrator has backups, and look at what is left."""
    recorder = Recorder(design=deployment.design)
    group = ReplicaGroup(backups, draws("instances"), checks=checks)
    group.append("instance", deployment.agreement.instance)
    group.faults = mishaps
    world = FailoverWorld(
        deployment.platform(), recorder, deployment=deployment, group=group, random=draws("orchestrator")
    )
    world.add(Node(GPU, deployment.gpu(draws("gpu")), recorder))
    holders = {name: Accepted() for name in deployment.holders}
    model = ""
    try:
        world.begin()
        for name, store in holders.items():
            holder = deployment.holder(name, draws(name))
            node = Node(name, holder, recorder, store)
            world.add(node, node.perform(holder.begin(0.0)))
        world.run()
        orchestrator = world.nodes[ORCHESTRATOR].role
        assert isinstance(orchestrator, Orchestrator)
        model = str(orchestrator.outcome()["model"])
    except GroupEndedError:
        pass
    accepted = Counter(epoch for store in holders.values() for epoch in store.epochs)
    logged = [epoch.decode() for epoch in group.all("grant")]
    elsewhere = None if group.taken_over is None else [epoch.decode() for epoch in group.taken_over.all("grant")]
    write_trace(folder / "trace", deployment.header(recorder.lines), recorder.lines)
    conforms = conform(folder / "trace").divergence is None
    moments = mishaps.count if isinstance(mishaps, Moments) else 0
    return Aftermath(model, logged, elsewhere, accepted, group.tally, moments, conforms)


class NotedIvs:
    """What AES-GCM encrypted under which key and IV, since it was told to note it."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.said: dict[tuple[bytes, bytes], set[tuple[bytes, bytes]]] = defaultdict(set)
        self.calls: Counter[str] = Counter()
        keys: dict[int, bytes] = {}
        make, encrypt, encrypt_into = AesGcm.__init__, AesGcm.encrypt, AesGcm.encrypt_into

        def made(cipher: AesGcm, key: bytes) -> None:
            make(cipher, key)
            keys[id(cipher)] = key

        def encrypted(cipher: AesGcm, nonce: bytes, plaintext: bytes, associated: bytes = b"") -> bytes:
            self.calls["encrypt"] += 1
            self.said[keys[id(cipher)], nonce].add((plaintext, associated))
            return encrypt(cipher, nonce, plaintext, associated)

        def encrypted_into(cipher: AesGcm, nonce: bytes, plaintext: Buffer, out: bytearray | memoryview) -> int:
            self.calls["encrypt_into"] += 1
            self.said[keys[id(cipher)], nonce].add((bytes(plaintext), b""))
            return encrypt_into(cipher, nonce, plaintext, out)

        monkeypatch.setattr(AesGcm, "__init__", made)
        monkeypatch.setattr(AesGcm, "encrypt", encrypted)
        monkeypatch.setattr(AesGcm, "encrypt_into", encrypted_into)

    @property
    def reused(self) -> list[tuple[bytes, bytes]]:
        """The keys and IVs that encrypted more than one thing."""
        return [where for where, texts in self.said.items() if len(texts) > 1]


SHORT = Deployment(holder_names(2), 2, chunks=1, chunk_bytes=256)
LONG = Deployment(holder_names(3), 6, chunks=2, chunk_bytes=256)
KILLS = (Fault.KILL_HEAD, Fault.KILL_BACKUP)
ROLLBACKS = (Fault.ROLL_BACK_HEAD, Fault.ROLL_BACK_BACKUP)
SOON = 6  #: Moments between two mishaps.


def check(after: Aftermath) -> None:
    """Check that each epoch was issued once, to one holder, and that the log of the instance in charge has it."""
    assert after.conforms
    assert len(set(after.logged)) == len(after.logged)
    assert set(after.accepted) <= set(after.logged)
    assert set(after.accepted.values()) <= {1}


@pytest.fixture(scope="module")
def calm(tmp_path_factory: pytest.TempPathFactory) -> Aftermath:
    """Run the short deployment without any mishap."""
    return run_with(SHORT, tmp_path_factory.mktemp("calm"), Moments())


@pytest.mark.parametrize("mishap", Fault)
@pytest.mark.parametrize("at", [0, 9, 21])
def test_one_mishap_changes_nothing_but_time(mishap: Fault, at: int, calm: Aftermath, tmp_path: Path) -> None:
    after = run_with(SHORT, tmp_path, Moments({at: mishap}))
    check(after)
    assert after.model == calm.model
    assert after.tally.kills + after.tally.take_overs >= 1


@pytest.mark.parametrize("seed", range(3))
def test_many_mishaps_with_several_backups(
    seed: int, calm: Aftermath, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ivs = NotedIvs(monkeypatch)
    after = run_with(SHORT, tmp_path, FaultInjection(8, SHORT.rounds, seed), backups=2)
    check(after)
    assert after.model == calm.model
    assert after.tally.kills + after.tally.take_overs >= 4
    assert min(ivs.calls["encrypt"], ivs.calls["encrypt_into"]) > 0
    assert not ivs.reused


def test_an_iv_that_encrypts_twice_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    ivs = NotedIvs(monkeypatch)
    cipher, nonce, out = AesGcm(bytes(32)), bytes(12), bytearray(17)
    cipher.encrypt(nonce, b"a")
    cipher.encrypt(nonce, b"a")
    assert not ivs.reused
    cipher.encrypt_into(nonce, b"b", out)
    assert ivs.reused == [(bytes(32), nonce)]


def test_without_a_freeze_two_instances_issue_and_one_does_not_know_of_it(tmp_path: Path) -> None:
    weak = ChecksWithout(frozenset({"freeze"}))
    for at in (10, 22):
        forked = run_with(SHORT, tmp_path, Moments({at: Fault.FORK}), checks=weak)
        assert forked.elsewhere is not None
        assert set(forked.accepted) - set(forked.elsewhere)
        real = run_with(SHORT, tmp_path, Moments({at: Fault.FORK}))
        assert real.elsewhere is None
        assert real.tally.forks_refused == 1


@pytest.mark.parametrize("at", [16, 26, 40])
def test_an_old_state_is_refused_by_the_counter_alone(at: int, tmp_path: Path) -> None:
    """A backup that is rolled back, and has to take over soon after, goes on from its older log without the counter."""
    mishaps = {at: Fault.ROLL_BACK_BACKUP, at + SOON: Fault.KILL_HEAD}
    real = run_with(SHORT, tmp_path, Moments(mishaps))
    check(real)
    assert real.tally.rollbacks_refused == 1
    weak = run_with(SHORT, tmp_path, Moments(mishaps), checks=ChecksWithout(frozenset({"counter-check"})))
    assert weak.tally.rollbacks_refused == 0
    assert set(weak.accepted) - set(weak.logged)


@pytest.mark.slow
@pytest.mark.timeout(7200)
def test_two_hundred_kills_and_fifty_rollbacks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    calm = run_with(LONG, tmp_path, Moments())
    ivs = NotedIvs(monkeypatch)
    same = refused = 0
    blows = [(KILLS[number % 2], number * calm.moments // 200) for number in range(200)]
    blows += [(ROLLBACKS[number % 2], number * calm.moments // 50) for number in range(50)]
    for mishap, at in blows:
        ivs.said.clear()
        after = run_with(LONG, tmp_path, Moments({at: mishap}))
        check(after)
        assert after.model in (calm.model, ""), "nobody goes on with another model"
        assert after.tally.kills == 1
        assert ivs.said
        assert not ivs.reused
        refused += after.tally.rollbacks_refused
        same += after.model == calm.model
    assert refused >= 45, "of fifty older states that the platform tries; at first there is none"
    assert same >= 0.9 * len(blows)


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


def test_a_holder_meets_the_instance_that_was_agreed_on_restarted_or_not(journals: list[Journal]) -> None:
    agreed, _ = journals
    deployment = PLAIN.with_agreed_instance(agreed, draws("founding"))
    world, told = _run(deployment, agreed)
    assert _granted(world)
    assert not _refused(world, told)
    assert PLAIN.with_agreed_instance(agreed, draws("a restart")).instance == deployment.instance
    assert (
        deployment.orchestrator_from(agreed, draws("a restart")).job.tools.quoter
        == deployment.orchestrator(draws("first")).job.tools.quoter
    )


@pytest.mark.verifies("gpu-travelling-REQ-SETUP-17")
def test_an_orchestrator_without_that_journal_is_another_instance_and_is_refused(journals: list[Journal]) -> None:
    agreed, second = journals
    deployment = PLAIN.with_agreed_instance(agreed, draws("founding"))
    world, told = _run(deployment, second)
    assert _refused(world, told)
    assert second.last("instance") not in {None, agreed.last("instance")}


def test_without_the_check_a_holder_serves_whatever_instance_it_meets(journals: list[Journal]) -> None:
    agreed, second = journals
    unchecked = AblatedDeployment(PLAIN.holders, 1, chunks=1, chunk_bytes=64, off=frozenset({"one-instance"}))
    world, _ = _run(unchecked.with_agreed_instance(agreed, draws("founding")), second)
    assert _granted(world)


def test_a_deployment_keeps_its_instance_in_its_settings_and_it_has_one_length(journals: list[Journal]) -> None:
    deployment = PLAIN.with_agreed_instance(journals[0], draws("founding"))
    assert Deployment.of(deployment.settings) == deployment
    assert Deployment.of(PLAIN.settings) == PLAIN
    ablated = AblatedDeployment(PLAIN.holders, 1, off=frozenset({"one-instance"}))
    assert AblatedDeployment.of(ablated.settings) == ablated
    journals[0].append("instance", b"short")
    with pytest.raises(MalformedError, match="an instance of 32 bytes"):
        PLAIN.with_agreed_instance(journals[0], draws("founding"))
