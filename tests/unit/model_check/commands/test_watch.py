"""``carnet watch``: a change is verified, what it changed is told, and what it made useless is stopped."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from carnet_check.commands.watch import WatchedFolder
from tests.unit.model_check.command import carnet

COMMAND = [sys.executable, "-c", "from carnet_check.cli import main; main()", "watch"]
FRESH = 'step.fresh(ticket, defence="fresh-ticket")'


@pytest.fixture
def protocol(tmp_path: Path) -> Path:
    carnet("init", str(tmp_path / "mine"))
    return tmp_path / "mine" / "protocol.py"


@contextmanager
def watching(*arguments: str) -> Iterator[subprocess.Popen[str]]:
    """Start to watch, and see to it that it ends."""
    pipe = subprocess.PIPE
    with subprocess.Popen(
        [*COMMAND, *arguments], stdout=pipe, stderr=pipe, text=True, start_new_session=True
    ) as running:
        try:
            yield running
        finally:
            if running.poll() is None:
                os.killpg(running.pid, signal.SIGKILL)


@pytest.mark.mends("N21")
def test_each_change_is_verified_and_told(protocol: Path) -> None:
    whole = protocol.read_text()
    with watching(str(protocol), "--engine", "explicit", "--runs", "3", "--json") as running:
        assert running.stdout is not None
        told = [json.loads(running.stdout.readline())]
        for text in (whole.replace(FRESH, "pass"), whole):
            protocol.write_text(text)
            told.append(json.loads(running.stdout.readline()))
        assert running.wait(30) == 0
    assert [each["exit_code"] for each in told] == [0, 1, 0]
    assert told[0]["differences"] is None
    worse, better = (each["differences"]["differences"] for each in told[1:])
    assert ("own-ticket", "worse") in {(each["claim"], each["way"]) for each in worse}
    assert ("own-ticket", "better") in {(each["claim"], each["way"]) for each in better}


def test_a_file_that_is_no_protocol_for_a_while_does_not_end_it(protocol: Path) -> None:
    whole = protocol.read_text()
    with watching(str(protocol), "--engine", "explicit", "--runs", "3", "--json") as running:
        assert running.stdout is not None
        told = json.loads(running.stdout.readline())
        for text, code in ((whole + "\n)", 2), (whole.replace(FRESH, "pass"), 1)):
            protocol.write_text(text)
            told = json.loads(running.stdout.readline())
            assert told["exit_code"] == code
    assert {each["way"] for each in told["differences"]["differences"]} >= {"worse"}


def test_a_run_that_a_change_makes_useless_is_stopped(protocol: Path) -> None:
    whole = protocol.read_text()
    protocol.write_text(f"{whole}\nimport time\n\ntime.sleep(3600)\n")
    with watching(str(protocol), "--engine", "explicit", "--runs", "1", "--json") as running:
        assert running.stderr is not None
        assert "watching" in running.stderr.readline()
        time.sleep(1)
        protocol.write_text(whole)
        out, _ = running.communicate(timeout=60)
    assert [json.loads(line)["exit_code"] for line in out.splitlines()] == [0]


@pytest.mark.parametrize("group", [True, False], ids=["Ctrl-C", "the command alone"])
def test_an_interrupt_ends_it_and_its_run(protocol: Path, tmp_path: Path, group: bool) -> None:
    protocol.write_text(f"{protocol.read_text()}\nimport time\n\ntime.sleep(3600)\n")
    with watching(str(protocol)) as running:
        assert running.stdout is not None
        running.stdout.readline()
        time.sleep(1)
        began = time.monotonic()
        (os.killpg if group else os.kill)(running.pid, signal.SIGINT)
        _, err = running.communicate(timeout=30)
    assert running.returncode == 130
    assert "interrupted: at work on: run 1" in err
    assert time.monotonic() - began < 20  # two seconds, on a machine that does nothing else


def test_environments_and_hidden_folders_are_not_looked_at(tmp_path: Path) -> None:
    looked_at = {"protocol.py", "part/more.py", "part/requirements.md"}
    for place in (*looked_at, ".git/x.py", "__pycache__/x.py", "env/lib/x.py", "x.c"):
        (tmp_path / place).parent.mkdir(exist_ok=True, parents=True)
        (tmp_path / place).write_text("")
    (tmp_path / "env" / "pyvenv.cfg").write_text("")
    found = {str(path.relative_to(tmp_path)) for path in WatchedFolder(tmp_path).marks()}
    assert found == looked_at


@pytest.mark.parametrize("name", ["nothing.py", "no-such-protocol", "json.nothing", "..x:y"])
def test_what_is_not_there_is_refused(name: str) -> None:
    ran = carnet("watch", name, "--runs", "1")
    assert (ran.code, ran.err.count("\n")) == (2, 1)


def test_a_folder_of_too_many_files_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("carnet_check.commands.watch.MOST_FILES", 1)
    for name in ("protocol.py", "more.py"):
        (tmp_path / name).write_text("")
    ran = carnet("watch", str(tmp_path / "protocol.py"), "--runs", "1")
    assert (ran.code, "expected at most 1 files to watch" in ran.err) == (2, True)


def test_a_run_says_how_to_run_it_again_and_nothing_of_the_folder_that_is_deleted(protocol: Path) -> None:
    with watching(str(protocol), "--engine", "explicit", "--runs", "1") as running:
        said, _ = running.communicate(timeout=60)
    rerun = next(line for line in said.splitlines() if line.startswith("rerun "))
    assert rerun.split() == ["rerun", "carnet", "verify", str(protocol), "--engine", "explicit"]
    assert "--out-is-deleted" not in said
    assert "run0" not in said
