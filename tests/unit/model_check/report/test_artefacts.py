"""Folders that a command writes: claimed by one command at a time, and never behind a link."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from carnet_check.errors import UsageError
from carnet_command.files import claimed
from tests.unit.model_check.command import TOY, carnet, control


@pytest.mark.mends("L2")
@pytest.mark.parametrize("option", ["--out", "--html"])
def test_a_folder_that_another_run_writes_is_refused_at_once(tmp_path: Path, option: str) -> None:
    with claimed(tmp_path / "run"):
        ran = carnet("verify", TOY, option, str(tmp_path / "run"))
        assert ran.code == 2
        assert "another command is writing into" in ran.err
        assert ran.err.count("\n") == 1
    assert carnet("verify", TOY, "--engine", "explicit", option, str(tmp_path / "run")).code == 0


@pytest.mark.mends("L2")
def test_a_claim_leaves_nothing_behind(tmp_path: Path) -> None:
    with claimed(tmp_path / "a" / "b"), pytest.raises(UsageError), claimed(tmp_path / "a" / "b"):
        pytest.fail("it was claimed twice")
    assert list(tmp_path.iterdir()) == []
    with claimed(tmp_path / "a"):
        (tmp_path / "a" / "kept").touch()
    with claimed(tmp_path / "a"), claimed(tmp_path / "b"):
        pass
    assert [each.name for each in tmp_path.iterdir()] == ["a"]


@pytest.mark.mends("L2")
def test_one_command_may_write_one_folder_for_two_reasons(tmp_path: Path) -> None:
    where = str(tmp_path / "both")
    assert carnet("verify", TOY, "--engine", "explicit", "--out", where, "--html", where).code == 0


@pytest.mark.mends("L2")
def test_a_run_is_not_written_behind_a_link(changed: Path, tmp_path: Path) -> None:
    precious = tmp_path / "elsewhere"
    precious.mkdir()
    (precious / "precious.json").write_text("{}")
    shutil.rmtree(changed / "attacks")
    (changed / "attacks").symlink_to(precious)
    ran = carnet("verify", control("wrong_claim"), "--engine", "explicit", "--out", str(changed))
    assert ran.code == 2
    assert "is a link" in ran.err
    assert [each.name for each in precious.iterdir()] == ["precious.json"]
