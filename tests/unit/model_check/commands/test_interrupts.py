"""Ctrl-C, SIGTERM and SIGHUP end a command alike: in one line, with its workers, and without a folder left behind."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.unit.model_check.command import TOY, carnet

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
COMMAND = [sys.executable, "-c", "from carnet_check.cli import main; main()"]
LONG = {
    "verify": ("verify", "gpu-travelling", "--jobs", "2"),
    "explore": ("explore", "gpu-travelling", "--holders", "2", "--threat", "hypervisor"),
    "attack": ("attack", "gpu-travelling", "--without", "return-authenticated"),
}

SOON = 12.0
"""Seconds: two on a machine that does nothing else, and six times as many on one that does."""


def descendants(process: int) -> set[int]:
    """Return the processes that a process started, and those that these started."""
    found: set[int] = set()
    for thread in Path(f"/proc/{process}/task").glob("*/children"):
        for child in map(int, thread.read_text().split()):
            found |= {child} | descendants(child)
    return found


def alive(process: int) -> bool:
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def wait_for(what: object, seconds: float = 20.0) -> bool:
    """Wait until something is so."""
    assert callable(what)
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if what():
            return True
        time.sleep(0.05)
    return False


@pytest.fixture
def temporary(tmp_path: Path) -> Path:
    """Return the folder that temporary files are put into."""
    folder = tmp_path / "tmp"
    folder.mkdir()
    return folder


def stopped(
    command: tuple[str, ...], temporary: Path, ending: signal.Signals, group: bool
) -> tuple[int, str, set[int]]:
    """Start a command, stop it once it works; return its code, the end of what it said, and what it had started."""
    environment = {**os.environ, "TMPDIR": str(temporary)}
    with subprocess.Popen(
        [*COMMAND, *command],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment,
        start_new_session=True,
    ) as running:
        needed = 2 if command[0] == "verify" else 0  # a worker, and the tracker of resources
        assert wait_for(lambda: len(descendants(running.pid)) > needed or (not needed and at_work(running.pid)), 60)
        time.sleep(0.3)
        started = descendants(running.pid)
        told = time.monotonic()
        (os.killpg if group else os.kill)(running.pid, ending)
        out, err = running.communicate(timeout=30)
        assert time.monotonic() - told < SOON
    return running.returncode, err.splitlines()[-1] if command[0] == "verify" else out, started


def at_work(process: int) -> bool:
    """Whether a process has worked for a while; what it takes to import is over then."""
    ticks = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(ticks[11]) + int(ticks[12])) / os.sysconf("SC_CLK_TCK") > 1.5


@pytest.mark.mends("N10")
@pytest.mark.mends("L3")
@pytest.mark.parametrize("ending", SIGNALS, ids=lambda each: each.name)
def test_verify_ends_with_its_workers_and_leaves_nothing(
    temporary: Path, tmp_path: Path, ending: signal.Signals
) -> None:
    command = (*LONG["verify"], "--out", str(tmp_path / "run"))
    code, said, started = stopped(command, temporary, ending, group=ending is signal.SIGHUP)
    assert code == 130
    assert said.startswith("carnet: interrupted: ")
    assert "at work on: " in said
    assert wait_for(lambda: not any(map(alive, started)))
    assert list(temporary.iterdir()) == []
    assert not (tmp_path / "run").exists()


@pytest.mark.mends("L3", "N9")
@pytest.mark.parametrize("ending", SIGNALS, ids=lambda each: each.name)
@pytest.mark.parametrize("command", ["explore", "attack"])
def test_a_search_ends_and_says_what_it_covered(temporary: Path, command: str, ending: signal.Signals) -> None:
    code, said, _ = stopped((*LONG[command], "--json"), temporary, ending, group=False)
    assert code == 130
    told = json.loads(said)
    assert told["stopped_by"] == "interrupt" if "stopped_by" in told else told["error"]["kind"] == "interrupted"
    assert list(temporary.iterdir()) == []


@pytest.mark.mends("L3")
def test_an_interrupted_search_is_told_with_what_it_covered(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: object) -> None:
        os.kill(os.getpid(), signal.SIGTERM)

    monkeypatch.setattr("carnet_check.engines.explicit.bounds.Watch.report", interrupted)
    ran = carnet("explore", TOY, "--json")
    assert (ran.code, ran.json["stopped_by"], ran.json["complete"]) == (130, "interrupt", False)
    assert "stopped by interrupt after 1 states" in carnet("explore", TOY).out


@pytest.mark.mends("L3")
def test_a_report_ends_in_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    carnet("verify", TOY, "--engine", "explicit", "--out", str(tmp_path / "run"))
    monkeypatch.setattr("carnet_check.report.html.write_html", lambda *_: os.kill(os.getpid(), signal.SIGHUP))
    ran = carnet("report", str(tmp_path / "run"), "--html", str(tmp_path / "html"), "--json")
    assert (ran.code, ran.json["error"]["kind"]) == (130, "interrupted")
    assert "at work on: writing pages into" in ran.json["error"]["message"]
    assert ran.err.count("\n") == 1
    assert not (tmp_path / "html").exists()
