"""Commands that are stopped: in one line, with their workers; a checkpoint goes on, and a watch begins again."""

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
from carnet_check.engines.native.engine import NATIVE
from carnet_command.files import _temporary_sibling
from tests.unit.model_check.command import FIXTURES, TOY, carnet

pytestmark = pytest.mark.processes

COMMAND = [sys.executable, "-c", "from carnet_check.cli import main; main()"]
LONG = {
    "verify": ("verify", "gpu-travelling", "--jobs", "2"),
    "explore": ("explore", "gpu-travelling", "--threat", "holder", "--rounds", "2", "--moves", "5"),
    "attack": ("attack", "gpu-travelling", "--without", "report-nonce"),
}

SOON = 12.0  #: Seconds: two on a machine that does nothing else, and six times as many on one that does.


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
    assert callable(what)
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if what():
            return True
        time.sleep(0.05)
    return False


@pytest.fixture
def temporary(tmp_path: Path) -> Path:
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


@pytest.mark.mends("N10", "L3")
@pytest.mark.parametrize("ending", [signal.SIGTERM, signal.SIGHUP], ids=lambda each: each.name)
def test_verify_ends_with_its_workers_and_leaves_none(temporary: Path, tmp_path: Path, ending: signal.Signals) -> None:
    command = (*LONG["verify"], "--out", str(tmp_path / "run"))
    code, said, started = stopped(command, temporary, ending, group=ending is signal.SIGHUP)
    assert code == 130
    assert said.startswith("carnet: interrupted: ")
    assert "at work on: " in said
    assert wait_for(lambda: not any(map(alive, started)))
    assert list(temporary.iterdir()) == []
    assert not (tmp_path / "run").exists()


@pytest.mark.mends("L3", "N9")
@pytest.mark.parametrize(
    ("command", "ending"),
    [
        ("explore", signal.SIGINT),
        ("explore", signal.SIGTERM),
        ("attack", signal.SIGHUP),
    ],
)
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


CUBE = f"{FIXTURES / 'wide.py'}"
TOLD = ("states", "transitions", "depth", "complete", "violations")


def told(words: list[str], folder: Path, *more: str) -> tuple[int, dict[str, object], str]:
    """Explore with a checkpoint; return the code, what has to be the same however it is run, and what was logged."""
    ran = carnet("explore", *words, "--checkpoint", str(folder), "--json", *more)
    return ran.code, {name: ran.json[name] for name in TOLD if name in ran.json}, ran.err


SMALL = [TOY, "--engine", "explicit"]


def test_a_run_that_was_stopped_is_gone_on_with(tmp_path: Path) -> None:
    folder = tmp_path / "new" / "kept"
    whole = carnet("explore", *SMALL, "--json").json
    code, found, log = told(SMALL, folder, "--max-states", "40")
    assert (code, found["complete"], "going on" in log) == (3, False, False)
    code, found, log = told(SMALL, folder)
    assert (code, found) == (0, {name: whole[name] for name in TOLD})
    assert f"states in {folder}" in log.replace("\n", " ")
    assert told(SMALL, folder)[:2] == (0, found)
    shown = carnet("explore", *SMALL, "--checkpoint", str(folder)).out
    assert f"artefacts    {folder}" in shown


def test_a_run_that_was_killed_is_gone_on_with(tmp_path: Path) -> None:
    folder = tmp_path / "kept"
    words = ["explore", CUBE, "--engine", "explicit", "--checkpoint", str(folder)]
    with subprocess.Popen([*COMMAND, *words], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as running:
        end = time.monotonic() + 120
        while len([*folder.glob("*.states.*")]) < 4 and running.poll() is None and time.monotonic() < end:
            time.sleep(0.01)
        running.kill()
    assert running.returncode == -9
    heads = [json.loads(file.read_text().splitlines()[0]) for file in folder.glob("*.head")]
    more = str(1 + sum(items for head in heads for _, items, _ in head["series"]["states"]))
    code, found, log = told([CUBE, "--engine", "explicit"], folder, "--max-states", more)
    without = carnet("explore", CUBE, "--engine", "explicit", "--max-states", more, "--json").json
    assert (code, "going on from" in log) == (3, True)
    assert found == {name: without[name] for name in TOLD}


def test_a_disk_that_is_full_ends_a_run_and_the_next_goes_on(tmp_path: Path) -> None:
    folder = tmp_path / "kept"
    ran = carnet("explore", *SMALL, "--checkpoint", str(folder), "--max-disk", "2000")
    assert (ran.code, "stopped by disk after" in ran.out) == (3, True)
    assert sum(file.stat().st_size for file in folder.iterdir()) <= 4000
    whole = carnet("explore", *SMALL, "--json").json
    code, found, log = told(SMALL, folder, "--max-disk", "1MiB")
    assert (code, found, "going on from" in log) == (0, {name: whole[name] for name in TOLD}, True)


OTHERS = {
    "variant": [*SMALL, "--variant", "forgetful"],
    "threat model": [*SMALL, "--threat", "none"],
    "size": [*SMALL, "--moves", "1"],
    "engine": [TOY, "--engine", "native"],
    "reduction": [*SMALL, "--no-reduction"],
}


@pytest.mark.parametrize("what", OTHERS)
def test_the_checkpoint_of_another_search_is_refused(tmp_path: Path, what: str) -> None:
    if what == "engine" and NATIVE.lacks:
        pytest.skip(NATIVE.lacks)
    told(SMALL, tmp_path)
    before = {file.name: file.read_bytes() for file in tmp_path.iterdir()}
    ran = carnet("explore", *OTHERS[what], "--checkpoint", str(tmp_path))
    assert (ran.code, f"of another {what}" in ran.err, len(ran.err.splitlines())) == (2, True, 1)
    assert {file.name: file.read_bytes() for file in tmp_path.iterdir()} == before


def test_a_checkpoint_that_is_broken_or_without_its_head_is_refused(tmp_path: Path) -> None:
    told(SMALL, tmp_path)
    states = next(tmp_path.glob("*.states.3"))
    states.write_bytes(states.read_bytes()[:-1])
    ran = carnet("explore", *SMALL, "--checkpoint", str(tmp_path), "--json")
    assert (ran.code, json.loads(ran.out)["error"]["kind"]) == (2, "usage")
    said = json.loads(ran.out)["error"]["message"]
    assert said == f"the checkpoint is broken: '{states}' ends in the middle of a state"
    whole = tmp_path / "whole"
    told(SMALL, whole)
    (head,) = whole.glob("*.head")
    head.unlink()
    ran = carnet("explore", *SMALL, "--checkpoint", str(whole))
    assert (ran.code, "is of a search whose head is not there" in ran.err) == (2, True)


def test_what_a_killed_run_left_unfinished_is_removed_by_the_next(tmp_path: Path) -> None:
    told(SMALL, tmp_path)
    mine = tmp_path / ".notes.part"
    mine.touch()
    left = _temporary_sibling(tmp_path / "states")
    left.write_bytes(b"some states")
    other = carnet("explore", *OTHERS["threat model"], "--checkpoint", str(tmp_path))
    assert (other.code, left.exists()) == (2, True)
    told(SMALL, tmp_path)
    assert (mine.exists(), left.exists()) == (True, False)


def test_a_folder_that_cannot_be_cleared_or_kept_from_others_is_refused(tmp_path: Path) -> None:
    """Whoever may write there could make states up."""
    told(SMALL, tmp_path)
    _temporary_sibling(tmp_path / "states").mkdir()
    ran = carnet("explore", *SMALL, "--checkpoint", str(tmp_path))
    assert (ran.code, "cannot clear the folder" in ran.err, len(ran.err.splitlines()[-1:])) == (2, True, 1)
    shared = tmp_path / "shared"
    told(SMALL, shared)
    shared.chmod(0o777)
    ran = carnet("explore", *SMALL, "--checkpoint", str(shared))
    assert (ran.code, "a checkpoint that no other user may write to" in ran.err) == (2, True)


def test_what_cannot_go_together_is_refused(tmp_path: Path) -> None:
    ran = carnet("explore", TOY, "--max-disk", "1MiB")
    assert (ran.code, "--checkpoint" in ran.err) == (2, True)
    (tmp_path / "thesis.tex").write_text("dear")
    ran = carnet("explore", TOY, "--checkpoint", str(tmp_path))
    assert (ran.code, "a checkpoint or an empty folder" in ran.err) == (2, True)
    ran = carnet("explore", TOY, "--checkpoint", str(tmp_path / "thesis.tex"))
    assert (ran.code, len(ran.err.splitlines())) == (2, 1)


WATCH = [sys.executable, "-c", "from carnet_check.cli import main; main()", "watch"]
FRESH = 'step.fresh(ticket, defence="fresh-ticket")'


@pytest.fixture
def protocol(tmp_path: Path) -> Path:
    carnet("init", str(tmp_path / "mine"))
    return tmp_path / "mine" / "protocol.py"


@contextmanager
def watching(*arguments: str) -> Iterator[subprocess.Popen[str]]:
    """Start to watch, and see to it that it ends."""
    pipe = subprocess.PIPE
    with subprocess.Popen([*WATCH, *arguments], stdout=pipe, stderr=pipe, text=True, start_new_session=True) as running:
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
    assert {str(path.relative_to(tmp_path)) for path in WatchedFolder(tmp_path).marks()} == looked_at


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
