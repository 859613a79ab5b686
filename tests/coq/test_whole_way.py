"""From a specification and a search for certificates to a folder that the program accepts and Coq compiles."""

from __future__ import annotations

import os
import shutil
import sys
import time
from pathlib import Path

import pytest
from click.testing import CliRunner

from carnet_check.cli import main as command
from carnet_check.coq.__main__ import main
from carnet_check.coq.folder import judge_folder
from carnet_check.coq.program import VARIABLE
from carnet_command.exit_codes import ExitCode
from tests.coq.built import program
from tests.coq.coq_files import shared
from tests.fixtures import toy


def carnet(*words: str) -> int:
    """Run the command, and return its exit code."""
    with pytest.raises(SystemExit) as ended:
        command(list(words))
    assert isinstance(ended.value.code, int)
    return ended.value.code


@pytest.fixture(scope="module")
def certified(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What ``carnet certify`` writes of the toy protocol."""
    folder = tmp_path_factory.mktemp("toy") / "certified"
    assert carnet("certify", f"{toy.__file__}:FAMILY", "--out", str(folder), "--jobs", "1") == ExitCode.EXPECTED
    return folder


def test_the_program_accepts_what_was_certified(certified: Path) -> None:
    (verdict,) = judge_folder(certified, program())
    assert (verdict.variant, verdict.accepted, verdict.said) == ("main", True, ("layer *: 18 of 18 accepted",))


def test_recheck_runs_the_program(
    certified: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv(VARIABLE, str(program()))
    assert carnet("recheck", str(certified)) == ExitCode.EXPECTED
    assert "accepts them all" in capsys.readouterr().out


def test_another_specification_is_not_what_was_certified(certified: Path, tmp_path: Path) -> None:
    """The program makes the obligations of the specification that lies there, whatever texts lie beside it."""
    folder = tmp_path / "certified"
    shutil.copytree(certified, folder)
    file = folder / "systems" / "main.json"
    text = file.read_text("utf-8")
    guard = '["not",["apply","used_key",[["variable","key","Key"]]]],"kind":"fresh"'
    assert text.count(guard) == 1
    file.write_text(text.replace(guard, '["true"],"kind":"require"'), "utf-8")
    (verdict,) = judge_folder(folder, program())
    assert not verdict.accepted
    assert any(line.startswith("refused step/lend/") for line in verdict.said)


def test_a_folder_without_certificates_is_not_accepted(certified: Path, tmp_path: Path) -> None:
    shutil.copytree(certified / "systems", tmp_path / "systems")
    (verdict,) = judge_folder(tmp_path, program())
    assert not verdict.accepted
    assert verdict.said == ("variant main: expected 18 certificates, found none; make them again",)
    ran = CliRunner().invoke(main, [str(tmp_path)])
    assert (ran.exit_code, ran.output) == (1, f"Error: {verdict.said[0]}\n")


def test_a_folder_without_specifications_is_refused(tmp_path: Path) -> None:
    ran = CliRunner().invoke(main, [str(tmp_path)])
    assert (ran.exit_code, ran.output.count("\n")) == (1, 1)
    assert ran.output.startswith("Error: expected variants in")


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_one_command_makes_theorems(certified: Path) -> None:
    ran = shared().make("theorems", f"DIR={certified}", f"PYTHON={sys.executable}")
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert f"main: 2 theorems; written to {certified / 'coq'}\n" in ran.stdout
    said = certified / "coq" / "theorems_variant_main.assumptions"
    assert said.read_text("utf-8") == "Closed under the global context\n"


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_nothing_that_lies_in_the_folder_is_believed(certified: Path, tmp_path: Path) -> None:
    """Neither what was compiled of another specification, however new it looks, nor theorems of somebody else."""
    folder = tmp_path / "certified"
    shutil.copytree(certified, folder)
    made = "theorems", f"DIR={folder}", f"PYTHON={sys.executable}"
    assert shared().make(*made).returncode == 0
    (folder / "coq" / "theorems_aaa.v").write_text(f'Redirect "{tmp_path / "elsewhere"}" Print nat.', "utf-8")
    assert shared().make(*made).returncode == 0
    assert not (folder / "coq" / "theorems_aaa.v").exists()
    assert not (tmp_path / "elsewhere.out").exists()
    file = folder / "systems" / "main.json"
    text = file.read_text("utf-8")
    guard = '["not",["apply","used_key",[["variable","key","Key"]]]],"kind":"fresh"'
    file.write_text(text.replace(guard, '["true"],"kind":"require"'), "utf-8")
    tomorrow = time.time() + 86_400
    for compiled in (*folder.glob("coq/*.vo"), *folder.glob("coq/*.assumptions")):
        os.utime(compiled, (tomorrow, tomorrow))
    ran = shared().make(*made)
    assert (ran.returncode != 0, "written to" in ran.stdout) == (True, True), ran.stderr
