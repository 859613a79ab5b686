"""An orchestrator with backups: whatever happens to its instances, no epoch is issued twice and none is forgotten."""

from __future__ import annotations

from pathlib import Path

import pytest

from carnet_ref.crypto.primitives import AesGcm
from carnet_ref.systems.ablation import ChecksWithout
from carnet_ref.systems.gpu_travelling.deployment import Deployment, holder_names
from carnet_ref.systems.gpu_travelling.replica_group import Fault, FaultInjection
from tests.fixtures.backups import Aftermath, Moments, NotedIvs, run_with

SHORT = Deployment(holder_names(2), 2, chunks=1, chunk_bytes=256)
LONG = Deployment(holder_names(3), 6, chunks=2, chunk_bytes=256)
KILLS = (Fault.KILL_HEAD, Fault.KILL_BACKUP)
ROLLBACKS = (Fault.ROLL_BACK_HEAD, Fault.ROLL_BACK_BACKUP)
SOON = 6
"""Moments between two mishaps."""


def check(after: Aftermath) -> None:
    """Check that each epoch was issued once, to one holder, and that the log of the instance in charge has it."""
    assert after.conforms
    assert len(set(after.logged)) == len(after.logged)
    assert set(after.accepted) <= set(after.logged)
    assert set(after.accepted.values()) <= {1}


@pytest.mark.parametrize("mishap", Fault)
@pytest.mark.parametrize("at", [0, 9, 21])
def test_one_mishap_changes_nothing_but_time(mishap: Fault, at: int, tmp_path: Path) -> None:
    calm = run_with(SHORT, tmp_path, Moments())
    after = run_with(SHORT, tmp_path, Moments({at: mishap}))
    check(after)
    assert after.model == calm.model
    assert after.tally.kills + after.tally.take_overs >= 1


@pytest.mark.parametrize("seed", range(3))
def test_many_mishaps_with_several_backups(seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    calm = run_with(SHORT, tmp_path, Moments())
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
