"""However a process ends, the supervisor starts it again or says why the run is over, and nobody waits for the dead."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from carnet_ref.systems.gpu_travelling.deployment import Deployment, holder_names
from carnet_ref.transport.process import Assignment
from carnet_ref.transport.supervisor import ProcessError, RefusedStartError, Supervisor

DEPLOYMENT = Deployment(holder_names(2), 1)
KEY = bytes(range(32))

PROCESS = """
import json, os, signal, sys, time
from pathlib import Path

told = json.loads(sys.stdin.readline())
name, folder = told["name"], Path(told["folder"])
marks = folder / f"{name} was started"
marks.open("a").write("x")
starts = len(marks.read_text())

def say(**words):
    print(json.dumps(words), flush=True)

def until(path):
    while not path.exists():
        time.sleep(0.01)

{behaviour}

if name == "platform":
    (folder / "listening").touch()
    say(port=told["port"] or 4711)
if name == "orchestrator":
    until(folder / "over")
    say(model="", failure="", port=told["port"])
    sys.exit(0)
sys.stdin.read()
"""
"""What stands in for the processes of a run: it does what a test says, and else what is expected of each."""

KILLED = "os.kill(os.getpid(), signal.SIGKILL)"
OVER = """
if name == "alice":
    (folder / "over").touch()
"""


def supervised(folder: Path, behaviour: str, **options: Any) -> tuple[Supervisor, list[str]]:
    """Return a supervisor of processes that behave like this, and the list that remarks go to."""
    remarks: list[str] = []
    supervisor = Supervisor(DEPLOYMENT, folder, lambda name: folder / name, KEY, remark=remarks.append, **options)
    supervisor.program = (sys.executable, "-c", PROCESS.replace("{behaviour}", behaviour))
    return supervisor, remarks


@pytest.mark.parametrize(
    ("end", "said"), [(KILLED, "alice was killed"), ("sys.exit(1)", "alice ended"), ("sys.exit(0)", "alice ended")]
)
def test_a_holder_that_dies_is_started_again(tmp_path: Path, end: str, said: str) -> None:
    supervisor, remarks = supervised(tmp_path, f'if name == "alice" and starts == 1:\n    {end}\n{OVER}')
    assert supervisor.run()["model"] == ""
    assert [remark for remark in remarks if said in remark] == remarks[:1]
    assert supervisor.started["alice"] == 2


def test_what_the_leader_says_is_its_systems_business(tmp_path: Path) -> None:
    words = f'{OVER}\nif name == "orchestrator":\n    say(answer=42, failure="")\n    sys.exit(0)'
    supervisor, _ = supervised(tmp_path, words)
    assert supervisor.run() == {"answer": 42, "failure": ""}


def test_a_holder_that_dies_every_time_ends_the_run(tmp_path: Path) -> None:
    supervisor, _ = supervised(tmp_path, 'if name == "alice":\n    sys.exit(1)', restarts=2)
    with pytest.raises(ProcessError, match="alice died 3 times"):
        supervisor.run()


def test_a_holder_that_gives_up_ends_the_run_with_its_reason(tmp_path: Path) -> None:
    supervisor, _ = supervised(tmp_path, 'if name == "alice":\n    say(failure="nobody to trust")\n    sys.exit(3)')
    with pytest.raises(ProcessError, match="alice: nobody to trust"):
        supervisor.run()


@pytest.mark.parametrize("name", ["platform", "orchestrator", "alice"])
@pytest.mark.parametrize("port", [0, 4711])
def test_whoever_refuses_to_start_ends_the_run_with_its_reason(tmp_path: Path, name: str, port: int) -> None:
    refuses = f'if name == "{name}":\n    say(failure="a bad disk")\n    sys.exit(2)'
    supervisor, _ = supervised(tmp_path, refuses, port=port)
    with pytest.raises(RefusedStartError, match="a bad disk"):
        supervisor.run()


def test_a_platform_that_refuses_later_ends_the_run_with_its_reason(tmp_path: Path) -> None:
    refuses = 'if name == "platform":\n    say(port=4711)\n    say(failure="a full disk")\n    sys.exit(2)'
    supervisor, _ = supervised(tmp_path, refuses, port=4711)
    with pytest.raises(RefusedStartError, match="a full disk"):
        supervisor.run()


@pytest.mark.parametrize(
    "end", [KILLED, "sys.exit(1)", 'sys.stdout.write("{\\"po")\n    sys.stdout.flush()\n    ' + KILLED]
)
@pytest.mark.parametrize("port", [0, 4712])
def test_a_platform_that_dies_before_it_listens_is_started_again(tmp_path: Path, end: str, port: int) -> None:
    supervisor, _ = supervised(tmp_path, f'if name == "platform" and starts == 1:\n    {end}\n{OVER}', port=port)
    assert supervisor.run()["port"] == (port or 4711)
    assert supervisor.started["platform"] == 2


def test_a_platform_that_never_listens_ends_the_run(tmp_path: Path) -> None:
    supervisor, _ = supervised(tmp_path, f'if name == "platform":\n    {KILLED}', restarts=2)
    with pytest.raises(ProcessError, match="platform died 3 times"):
        supervisor.run()


@pytest.mark.parametrize("port", [0, 4712])
def test_nobody_starts_before_the_platform_listens(tmp_path: Path, port: int) -> None:
    late = """
if name == "platform":
    time.sleep(0.3)
elif not (folder / "listening").exists():
    say(failure="too early")
    sys.exit(2)
"""
    supervisor, _ = supervised(tmp_path, late + OVER, port=port)
    assert supervisor.run()["model"] == ""


def test_the_key_of_the_journals_is_not_shown(tmp_path: Path) -> None:
    supervisor, _ = supervised(tmp_path, "")
    given = Assignment("alice", 0, "a maker", {}, str(tmp_path), "journal", KEY.hex())
    for shown in (repr(supervisor), repr(given)):
        assert repr(KEY) not in shown
        assert KEY.hex() not in shown
