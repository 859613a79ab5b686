"""``carnet init``: what it writes is proved, tested and attacked as it stands, and nothing is overwritten."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from tests.unit.model_check.command import carnet

FILES = {"protocol.py", "test_protocol.py", "README.md", ".github/workflows/carnet.yml"}


def written(folder: Path) -> set[str]:
    return {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}


@pytest.fixture
def begun(tmp_path: Path) -> Path:
    folder = tmp_path / "my-tickets"
    assert carnet("init", str(folder)).code == 0
    return folder


@pytest.mark.mends("P9")
def test_every_claim_is_proved_and_explored(begun: Path) -> None:
    ran = carnet("verify", str(begun / "protocol.py"), "--json")
    assert ran.code == 0
    assert {row["verdict"] for row in ran.json["results"]} == {"PROVED", "EXHAUSTED"}
    assert {row["protocol"] for row in ran.json["results"]} == {"my-tickets"}
    assert ran.json["notes"] == []
    assert all(goal["reached"] for goal in ran.json["goals"])


@pytest.mark.parametrize(("defence", "claim"), [("fresh-ticket", "own-ticket"), ("void-after-entry", "one-entry")])
def test_each_defence_is_needed(begun: Path, defence: str, claim: str) -> None:
    ran = carnet("attack", str(begun / "protocol.py"), "--without", defence, "--json")
    assert (ran.code, ran.json["claim"], ran.json["decisive"]["defence"]) == (1, claim, defence)


def test_its_test_passes_and_fails_where_a_claim_does(begun: Path) -> None:
    file = begun / "protocol.py"
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(begun)]
    assert subprocess.run(command, cwd=begun, capture_output=True, check=False).returncode == 0
    file.write_text(file.read_text().replace('step.fresh(ticket, defence="fresh-ticket")', "pass"))
    assert "fresh(" not in file.read_text()
    ran = subprocess.run(command, cwd=begun, capture_output=True, text=True, check=False)
    assert (ran.returncode, "own-ticket" in ran.stdout) == (1, True)


def test_the_commands_of_its_page_and_of_its_workflow_are_commands(begun: Path) -> None:
    page = (begun / "README.md").read_text()
    workflow = yaml.safe_load((begun / ".github/workflows/carnet.yml").read_text())
    steps = [step["run"] for step in workflow["jobs"]["verify"]["steps"] if "run" in step]
    lines = [line.partition("#")[0].strip() for line in (*page.splitlines(), *steps)]
    commands = [line.split()[1:] for line in lines if line.startswith("carnet ")]
    assert {command[0] for command in commands} >= {"verify", "attack", "explain"}
    for command in commands:
        here = [str(begun / word) if word.endswith((".py", ".xml", ".sarif", ".md")) else word for word in command]
        ran = carnet(*(str(begun / "run") if word == "run" else word for word in here))
        assert ran.code == (1 if command[0] == "attack" else 0), (command, ran.err)


def test_an_empty_folder_is_filled_also_the_one_that_one_is_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    here = tmp_path / "here"
    here.mkdir()
    monkeypatch.chdir(here)
    ran = carnet("init", ".", "--json")
    assert (ran.code, ran.json["protocol"], set(ran.json["files"])) == (0, "here", FILES)
    assert written(here) == FILES


def test_a_folder_that_holds_something_is_left_alone(begun: Path) -> None:
    (begun / "protocol.py").write_text("mine")
    ran = carnet("init", str(begun))
    assert (ran.code, "expected a new or empty folder" in ran.err) == (2, True)
    assert (begun / "protocol.py").read_text() == "mine"


@pytest.mark.parametrize("name", ["Mine", "1st", "a b", "ä", "-x", "x_y"])
def test_a_name_that_no_protocol_has_is_refused(tmp_path: Path, name: str) -> None:
    ran = carnet("init", "--", str(tmp_path / name))
    assert (ran.code, "expected a folder called like a protocol" in ran.err) == (2, True)
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_cannot_be_written_to_gets_one_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    ran = carnet("init", str(tmp_path / "file" / "mine"))
    assert (ran.code, ran.err.count("\n")) == (2, 1)


def test_a_full_disk_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object, **__: object) -> int:
        raise OSError(28, os.strerror(28))

    monkeypatch.setattr(Path, "write_text", full)
    ran = carnet("init", str(tmp_path / "mine"))
    assert (ran.code, "no space left" in ran.err) == (2, True)
    assert list(tmp_path.iterdir()) == []
