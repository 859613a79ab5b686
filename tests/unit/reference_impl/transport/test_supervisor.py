"""However a process ends, and whatever floods its platform, the run comes to the same model, or stops and says so."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from carnet_ref.systems.gpu_travelling.deployment import Deployment, holder_names
from carnet_ref.systems.gpu_travelling.names import ORCHESTRATOR
from carnet_ref.transport.frames import PLATFORM
from carnet_ref.transport.process import Assignment
from carnet_ref.transport.supervisor import ProcessError, RefusedStartError, Supervisor
from tests.fixtures.killing import Aftermath, Blow, run_with
from tests.fixtures.worlds import world_of

DEPLOYMENT = Deployment(holder_names(2), 1)
KEY = bytes(range(32))

#: What stands in for the processes of a run: it does what a test says, and else what is expected of each.
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


@pytest.mark.parametrize(
    ("name", "does", "error", "said"),
    [
        ("alice", "sys.exit(1)", ProcessError, "alice died 3 times"),
        ("alice", 'say(failure="nobody to trust"); sys.exit(3)', ProcessError, "alice: nobody to trust"),
        ("platform", KILLED, ProcessError, "platform died 3 times"),
        ("platform", 'say(port=4711); say(failure="a full disk"); sys.exit(2)', RefusedStartError, "a full disk"),
    ],
)
def test_who_cannot_go_on_ends_the_run_with_the_reason(
    tmp_path: Path, name: str, does: str, error: type[Exception], said: str
) -> None:
    supervisor, _ = supervised(tmp_path, f'if name == "{name}":\n    {does}', restarts=2)
    with pytest.raises(error, match=said):
        supervisor.run()


@pytest.mark.parametrize("name", ["platform", "orchestrator", "alice"])
@pytest.mark.parametrize("port", [0, 4711])
def test_whoever_refuses_to_start_ends_the_run_with_its_reason(tmp_path: Path, name: str, port: int) -> None:
    refuses = f'if name == "{name}":\n    say(failure="a bad disk")\n    sys.exit(2)'
    supervisor, _ = supervised(tmp_path, refuses, port=port)
    with pytest.raises(RefusedStartError, match="a bad disk"):
        supervisor.run()


@pytest.mark.parametrize(
    "end", [KILLED, "sys.exit(1)", 'sys.stdout.write("{\\"po")\n    sys.stdout.flush()\n    ' + KILLED]
)
@pytest.mark.parametrize("port", [0, 4712])
def test_a_platform_that_dies_before_it_listens_is_started_again(tmp_path: Path, end: str, port: int) -> None:
    supervisor, _ = supervised(tmp_path, f'if name == "platform" and starts == 1:\n    {end}\n{OVER}', port=port)
    assert supervisor.run()["port"] == (port or 4711)
    assert supervisor.started["platform"] == 2


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


MEBIBYTE = 1 << 20
#: Holds idle connections open, and sends frames of 16 MiB; what is closed is opened again a second later, for ever.
FLOOD = """
import os, resource, socket, sys, threading, time

parent = os.getppid()
port, idle, frames = map(int, sys.argv[1:])
hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
LENGTH, BODY = (1 << 24).to_bytes(4, "little"), memoryview(bytes(1 << 24))

def connected():
    while os.getppid() == parent:
        try:
            return socket.create_connection(("127.0.0.1", port), timeout=10)
        except OSError:
            time.sleep(0.1)
    sys.exit()

def send_a_frame():
    try:
        with connected() as stranger:
            stranger.sendall(LENGTH)
            stranger.sendall(BODY)
    except OSError:
        pass

def closed(stranger):
    stranger.setblocking(False)
    try:
        return stranger.recv(1) == b""
    except BlockingIOError:
        return False
    except OSError:
        return True

standing = []
while True:
    senders = [threading.Thread(target=send_a_frame, daemon=True) for _ in range(frames)]
    for sender in senders:
        sender.start()
    standing += [connected() for _ in range(idle - len(standing))]
    for sender in senders:
        sender.join()
    print(len(standing), flush=True)
    time.sleep(1)
    for stranger in [each for each in standing if closed(each)]:
        standing.remove(stranger)
        stranger.close()
"""

#: A run, begun while the flood stands; a holder is killed on the way, and has to get in again.
RUN = """
import json, os, resource, signal, subprocess, sys
from pathlib import Path
from carnet_ref.systems.gpu_travelling.deployment import Deployment, holder_names
from carnet_ref.transport.frames import PLATFORM
from carnet_ref.transport.supervisor import Supervisor

flood, folder, counts = sys.argv[1], Path(sys.argv[2]), sys.argv[3:]
resource.setrlimit(resource.RLIMIT_NOFILE, (1024, resource.getrlimit(resource.RLIMIT_NOFILE)[1]))

class Flooded(Supervisor):
    def _start(self, name):
        super()._start(name)
        if name == PLATFORM:
            command = [sys.executable, "-c", flood, str(self.port), *counts]
            self.flood = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
            self.standing = int(self.flood.stdout.readline())

def remark(text):
    said.append(text)
    if "round 1 of" in text:
        os.kill(supervisor.children["alice"].process.pid, signal.SIGKILL)

said = []
deployment = Deployment(holder_names(2), 3, chunk_bytes=512, lease=10.0, patience=10.0)
supervisor = Flooded(deployment, folder, lambda name: folder / f"{name}.journal", bytes(32), remark=remark)
try:
    model = supervisor.run()["model"]
    peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
    print(json.dumps({"model": model, "peak": peak, "said": said, "standing": supervisor.standing,
                      "started": supervisor.started}))
finally:
    supervisor.flood.kill()
    supervisor.flood.wait()
"""


def flooded(folder: Path, idle: int, frames: int) -> dict[str, object]:
    """Return what is said of a run under a flood; ``peak`` is the largest resident size of any of its processes."""
    ran = subprocess.run(
        [sys.executable, "-P", "-c", RUN, FLOOD, str(folder), str(idle), str(frames)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    told = json.loads(ran.stdout)
    assert isinstance(told, dict)
    return told


@pytest.mark.mends("H3")
@pytest.mark.timeout(100)
def test_a_run_finishes_under_a_flood_of_strangers_and_takes_little_memory(tmp_path: Path) -> None:
    told = flooded(tmp_path, idle=2000, frames=120)
    assert told["standing"] == 2000
    assert len(str(told["model"])) == 96
    assert int(str(told["peak"])) * 1024 < 200 * MEBIBYTE
    assert told["started"] == {"platform": 1, "orchestrator": 1, "alice": 2, "anna": 1}
    said = told["said"]
    assert isinstance(said, list)
    assert len([line for line in said if "turned away" in line]) < 20


LONG = Deployment(holder_names(3), 6, chunks=33, chunk_bytes=96, lease=5.0, patience=5.0)
SHORT = Deployment(holder_names(2), 2, chunks=2, chunk_bytes=512, lease=5.0, patience=5.0)


def points(deployment: Deployment, folder: Path) -> tuple[Aftermath, list[tuple[str, int]]]:
    """Return an undisturbed run, and every point at which somebody wrote to a journal in it."""
    folder.mkdir()
    calm = run_with(None, deployment, folder)
    return calm, [(name, entry) for name, entries in calm.journals.items() for entry in range(1, entries + 1)]


@pytest.mark.parametrize(
    "blow",
    [Blow(ORCHESTRATOR, 4, (ORCHESTRATOR,)), Blow("alice", 3, ("alice",)), Blow(ORCHESTRATOR, 3, (PLATFORM,))],
    ids=str,
)
def test_a_kill_changes_nothing_but_time(blow: Blow, tmp_path: Path) -> None:
    calm, _ = world_of(SHORT)
    calm.run()
    struck = run_with(blow, SHORT, tmp_path)
    assert struck.fell
    assert struck.conforms, struck.divergence
    assert struck.model == calm.orchestrator.job.progress.digest, struck.stopped


@pytest.mark.slow
@pytest.mark.timeout(14400)
def test_kills_at_every_journalled_point(tmp_path: Path) -> None:
    calm, everywhere = points(LONG, tmp_path / "calm")
    assert len(everywhere) >= 200
    blows = [Blow(who, entry, (who,)) for who, entry in everywhere]
    blows += [Blow(who, entry, (PLATFORM,)) for who, entry in everywhere[::6]]
    pairs = [(PLATFORM,), (ORCHESTRATOR,)]
    doubles = [Blow(who, entry, (who, *pairs[entry % 2])) for who, entry in everywhere[:: len(everywhere) // 60]]
    doubles = [blow for blow in doubles if len(set(blow.victims)) == 2]
    assert len(doubles) >= 50
    outcomes = []
    for number, blow in enumerate([*blows, *doubles]):
        folder = tmp_path / str(number)
        folder.mkdir()
        struck = run_with(blow, LONG, folder)
        outcomes.append({"blow": str(blow), "same": struck.model == calm.model, **_plain(struck)})
        if log := os.environ.get("CARNET_KILL_LOG"):
            with Path(log).open("a", encoding="utf-8") as file:
                file.write(json.dumps(outcomes[-1]) + "\n")
    assert not [each for each in outcomes if not each["conforms"]]
    own = outcomes[: len(everywhere)]
    assert len([each for each in own if each["same"]]) >= 0.9 * len(own)
    assert not [each for each in outcomes if not each["same"] and not each["stopped"]]


def _plain(struck: Aftermath) -> dict[str, object]:
    return {"fell": struck.fell, "conforms": struck.conforms, "stopped": struck.stopped, "why": struck.divergence}
