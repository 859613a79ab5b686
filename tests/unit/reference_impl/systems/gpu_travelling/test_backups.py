"""An orchestrator with backups: whatever happens to its instances, no epoch is issued twice and none is forgotten."""

from __future__ import annotations

from pathlib import Path

import pytest

from carnet_ref.crypto.primitives import AesGcm
from carnet_ref.systems.gpu_travelling.parties.deployment import Deployment, holder_names
from carnet_ref.systems.gpu_travelling.parties.mishaps import Mishap, Mishaps
from carnet_ref.systems.teechain.enforcement import Checks
from tests.fixtures.backups import Aftermath, Moments, noting_ivs, run_with

SHORT = Deployment(holder_names(2), 2, chunks=1, chunk_bytes=256)
LONG = Deployment(holder_names(3), 6, chunks=2, chunk_bytes=256)
KILLS = (Mishap.KILL_HEAD, Mishap.KILL_BACKUP)
ROLLBACKS = (Mishap.ROLL_BACK_HEAD, Mishap.ROLL_BACK_BACKUP)


def check(after: Aftermath) -> None:
    """Check that each epoch was issued once, to one holder, and that the log of whoever is in charge has it."""
    assert after.conforms
    assert len(set(after.logged)) == len(after.logged)
    assert set(after.accepted) <= set(after.logged)
    assert set(after.accepted.values()) <= {1}


@pytest.mark.parametrize("mishap", Mishap)
@pytest.mark.parametrize("at", [0, 9, 21])
def test_one_mishap_changes_nothing_but_time(mishap: Mishap, at: int, tmp_path: Path) -> None:
    calm = run_with(SHORT, tmp_path, Moments())
    after = run_with(SHORT, tmp_path, Moments({at: mishap}))
    check(after)
    assert after.model == calm.model
    assert after.tally.kills + after.tally.take_overs >= 1


@pytest.mark.parametrize("seed", range(3))
def test_many_mishaps_with_several_backups(seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    calm = run_with(SHORT, tmp_path, Moments())
    said, encrypted, made = noting_ivs()
    monkeypatch.setattr(AesGcm, "encrypt", encrypted)
    monkeypatch.setattr(AesGcm, "__init__", made)
    after = run_with(SHORT, tmp_path, Mishaps(8, SHORT.rounds, seed), backups=2)
    check(after)
    assert after.model == calm.model
    assert said
    assert all(len(texts) == 1 for texts in said.values())


def test_without_a_freeze_two_instances_issue_and_one_does_not_know_of_it(tmp_path: Path) -> None:
    weak = Checks(frozenset({"freeze"}))
    for at in (10, 22):
        forked = run_with(SHORT, tmp_path, Moments({at: Mishap.FORK}), checks=weak)
        assert forked.elsewhere is not None
        assert set(forked.accepted) - set(forked.elsewhere)
        real = run_with(SHORT, tmp_path, Moments({at: Mishap.FORK}))
        assert real.elsewhere is None
        assert real.tally.forks_refused == 1


def test_an_old_state_is_refused_by_the_counter_alone(tmp_path: Path) -> None:
    moments = [Moments(Mishap.ROLL_BACK_BACKUP, at) for at in (20, 26)]
    assert all(run_with(SHORT, tmp_path, each).tally.rollbacks_refused == 1 for each in moments)
    weak = Checks(frozenset({"counter-check"}))
    assert run_with(SHORT, tmp_path, Moments(Mishap.ROLL_BACK_BACKUP, 20), checks=weak).tally.rollbacks_refused == 0


@pytest.mark.slow
@pytest.mark.timeout(7200)
def test_two_hundred_kills_and_fifty_rollbacks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    calm = run_with(LONG, tmp_path, Moments())
    said, encrypted, made = noting_ivs()
    monkeypatch.setattr(AesGcm, "encrypt", encrypted)
    monkeypatch.setattr(AesGcm, "__init__", made)
    same = 0
    blows = [(KILLS[number % 2], number * calm.moments // 200) for number in range(200)]
    blows += [(ROLLBACKS[number % 2], number * calm.moments // 50) for number in range(50)]
    for mishap, at in blows:
        said.clear()
        after = run_with(LONG, tmp_path, Moments({at: mishap}))
        check(after)
        assert after.tally.kills == 1
        assert all(len(texts) == 1 for texts in said.values())
        same += after.model == calm.model
    assert same >= 0.9 * len(blows)
