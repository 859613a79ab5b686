"""``carnet run`` runs, says what came of it in text and JSON, goes on from journals, and refuses what it cannot do."""

import errno
import json
import os
import re
import shlex
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from carnet_check.cli import main
from carnet_check.conformance.recorded import check_extent
from carnet_ref.attestation.nvidia.appraisal import STEPS
from carnet_ref.privacy import GaussianAccountant, Release
from carnet_ref.recorder import TraceFileError, write_trace
from carnet_ref.systems.gpu_travelling.commands import running
from carnet_ref.systems.gpu_travelling.commands.run import MOST_HOLDERS, MOST_ROUNDS
from carnet_ref.systems.gpu_travelling.commands.run import SCHEDULES as OFFERED
from carnet_ref.systems.gpu_travelling.commands.running import MOST_PROCESSES, RunRequest
from carnet_ref.systems.gpu_travelling.deployment import Deployment
from carnet_ref.systems.gpu_travelling.keys import SCHEDULES
from carnet_spec.protocols.gpu_travelling.instances import FRESH_SIZES
from carnet_spec.trace import Header
from tests.repo.tracked import ROOT

SHAPE = {"holders", "rounds", "handoffs", "bytes_provisioned", "trace", "conforms", "loss"}
SMALL = ("--holders", "2", "--rounds", "2")


def carnet(*args: str) -> Result:
    return CliRunner().invoke(main, ["run", *args])


def test_a_loss_that_is_no_number_is_null_and_said(monkeypatch: pytest.MonkeyPatch) -> None:
    """A model that somebody planted may make it so; JSON has no word for it."""

    def overflowing(*asked: Any) -> running.Result:
        return replace(carried_out(*asked), losses=(float("nan"), float("inf")))

    carried_out = running.carried_out
    monkeypatch.setattr(running, "carried_out", overflowing)

    def constant(name: str) -> None:
        raise AssertionError(name)

    assert json.loads(carnet(*SMALL, "--json").stdout, parse_constant=constant)["loss"] == [None, None]
    assert "loss         no number to no number" in carnet(*SMALL).stdout


def test_json_has_the_shape_that_callers_rely_on(tmp_path: Path) -> None:
    trace = tmp_path / "trace.ndjson"
    result = carnet(*SMALL, "--trace", str(trace), "--json")
    assert result.exit_code == 0, result.stderr
    fields = json.loads(result.stdout)
    assert fields.keys() >= SHAPE
    assert (fields["holders"], fields["rounds"], fields["handoffs"]) == (2, 2, 2)
    assert fields["trace"] == str(trace)
    assert fields["conforms"] is True
    assert len(fields["loss"]) == 2
    cost = fields["cost_of_a_handoff"]
    assert cost.keys() == {"steps", "messages", "bytes", "seconds"}
    assert 0 < 2 * cost["steps"] < fields["events"]
    assert cost["bytes"] > fields["bytes_provisioned"] / 2
    assert min(cost.values()) > 0
    assert len(trace.read_text().splitlines()) == fields["events"] + 2


@pytest.mark.parametrize("how", [(), ("--processes",)], ids=["in one process", "in several"])
def test_json_says_that_everything_about_the_gpu_was_compared(how: tuple[str, ...]) -> None:
    fields = json.loads(carnet(*SMALL, *how, "--json").stdout)
    told = fields["appraisal"]
    assert told["compared"].keys() == set(STEPS)
    assert told["not_compared"] == {}
    assert (told["claims"]["device"], told["claims"]["mode"], told["claims"]["debugged"]) == (
        "gpu1",
        "CONFIDENTIAL",
        False,
    )


def test_text_ends_with_the_command_that_does_it_again(tmp_path: Path) -> None:
    given = ["--key-schedule", "sealed-under-master", "--trace", str(tmp_path / "a trace")]
    result = carnet(*SMALL, *given)
    assert result.exit_code == 0
    label, *command = shlex.split(result.stdout.splitlines()[-1])
    assert (label, command) == ("rerun", ["carnet", "run", *SMALL, *given])
    assert "a hand-off " in result.stdout


@pytest.mark.mends("H5")
@pytest.mark.parametrize("how", [(), ("--processes",)], ids=["in one process", "in several"])
def test_a_run_under_a_lowered_limit_renews_its_session_and_conforms(how: tuple[str, ...]) -> None:
    result = carnet("--holders", "2", "--rounds", "3", "--key-limit", "3", *how, "--json")
    fields = json.loads(result.stdout)
    assert (result.exit_code, fields["sessions"], fields["conforms"]) == (0, 2, True)
    assert result.stderr.count("session renewed: alice's h2d key has 0 messages left, and 3 are needed") == 1
    assert fields["lost"] == []


def test_a_limit_is_part_of_the_command_or_one_error_and_what_cannot_be_is_refused_at_once() -> None:
    result = carnet(*SMALL, "--key-limit", "1", "--json")
    assert result.exit_code == 3
    error = json.loads(result.stdout)["error"]
    assert error["kind"] == "run"
    assert error["message"] == (
        "the key limit is too low for one hand-over: orchestrator's h2d key has 0 messages left, and 1 are needed"
    )
    lines = carnet("--holders", "1", "--rounds", "1", "--key-limit", "50").stdout.splitlines()
    assert "--key-limit 50" in lines[-1]
    ran = carnet("--holders", "8")
    assert (ran.exit_code, ran.stdout) == (2, "")
    assert ran.stderr.splitlines() == ["carnet: engine-per-holder has engines for 7 holders, not for 8"]


def test_the_books_are_part_of_the_outcome() -> None:
    fields = json.loads(carnet("--holders", "2", "--rounds", "3", "--save-every", "1", "--json").stdout)
    ledger = fields["ledger"]
    assert [entry["holder"] for entry in ledger] == ["alice", "anna", "alice"]
    assert [entry["parent"] for entry in ledger[1:]] == [entry["model"] for entry in ledger[:-1]]
    assert (fields["kept"], fields["lost"]) == (ledger[-1]["model"], [])
    assert fields["kept"] == fields["model"]


NOISED = ("--clip", "1.0", "--noise", "2.0")


@pytest.mark.parametrize("how", [(), ("--processes",)], ids=["in one process", "in several"])
def test_a_noised_run_says_what_each_holder_is_promised(how: tuple[str, ...]) -> None:
    fields = json.loads(carnet("--holders", "2", "--rounds", "3", *NOISED, *how, "--json").stdout)
    assert fields["conforms"]
    release = Release(2.0, 2.0)
    expected = {
        name: {"updates": count, "epsilon": GaussianAccountant().after(release, count).epsilon(1e-6)}
        for name, count in (("alice", 2), ("anna", 1))
    }
    assert fields["privacy"] == {"clip": 1.0, "noise": 2.0, "delta": 1e-6, "holders": expected}
    assert fields["loss"][-1] > 5, "the noise is in the model"


def test_a_noised_run_prints_its_epsilon_rounded_up_and_the_command_that_does_it_again() -> None:
    result = carnet("--holders", "2", "--rounds", "3", *NOISED, "--delta", "0.001")
    (line,) = [line for line in result.stdout.splitlines() if line.startswith("privacy")]
    said = re.fullmatch(r"privacy      ε at most (\S+) at δ 0.001, for 2 updates of a holder", line)
    assert said
    exact = GaussianAccountant().after(Release(2.0, 2.0), 2).epsilon(1e-3)
    assert exact <= float(said[1]) < exact * 1.01
    assert result.stdout.splitlines()[-1].endswith("--clip 1.0 --noise 2.0 --delta 0.001")
    many_digits = carnet("--holders", "2", "--rounds", "3", *NOISED, "--delta", "0.00100000049")
    assert "at δ 0.00100000049, for" in many_digits.stdout, "a smaller δ would be better than true"
    assert json.loads(carnet(*SMALL, "--json").stdout)["privacy"] is None


def test_journals_of_a_noised_run_serve_no_run_without_noise(tmp_path: Path) -> None:
    kept = ("--journal", str(tmp_path / "journal"), "--journal-key", str(tmp_path / "key"))
    assert carnet(*SMALL, *NOISED, *kept).exit_code == 0
    assert carnet(*SMALL, *NOISED, *kept).exit_code == 0
    for less in ((), ("--clip", "1.0", "--noise", "0.1")):
        refused = carnet(*SMALL, *less, *kept)
        assert refused.exit_code != 0
        assert "journal" in refused.stderr


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--clip", "1"), "give both, or none"),
        (("--noise", "1"), "give both, or none"),
        (("--delta", "0.1"), "--delta is of the privacy"),
        (("--clip", "0", "--noise", "1"), "expected a sensitivity"),
        (("--clip", "1", "--noise", "nan"), "expected a standard deviation"),
        (("--clip", "1", "--noise", "1e9"), "at most 1e+06"),
        ((*NOISED, "--delta", "1"), "expected 0 < δ < 1"),
    ],
)
def test_noise_that_promises_nothing_is_refused_before_anything_is_written(
    options: tuple[str, ...], message: str, tmp_path: Path
) -> None:
    ran = carnet(*SMALL, *options, "--trace", str(tmp_path / "trace"))
    assert (ran.exit_code, ran.stdout) == (2, "")
    assert message in ran.stderr
    assert [*tmp_path.iterdir()] == []


def test_backups_take_over_and_the_run_says_how_often() -> None:
    befallen = (*SMALL, "--backup", "2", "--mishaps", "3", "--seed", "5")
    result = carnet(*befallen)
    assert re.search(
        r"^instances    \d kills?, \d take-overs?, \d restarts?; refused: \d older states?, \d forks?$",
        result.stdout,
        re.M,
    )
    assert result.stdout.splitlines()[-1].endswith("--backup 2 --mishaps 3 --seed 5")
    assert sum(json.loads(carnet(*befallen, "--json").stdout)["backup"].values()) >= 3


def test_one_round_is_counted_as_one_and_large_numbers_are_grouped() -> None:
    lines = carnet("--holders", "1", "--rounds", "1").stdout.splitlines()
    assert lines[0].startswith("1 round among 1 holder, ")
    assert "hand-offs    1 in 1 round among 1 holder" in lines
    (cost,) = [line for line in lines if line.startswith("a hand-off ")]
    assert re.search(r" \d{3},\d{3}\.\d bytes", cost)


def test_a_finished_journal_is_not_trained_again(tmp_path: Path) -> None:
    journal, key = str(tmp_path / "journal"), str(tmp_path / "key")
    runs = [json.loads(carnet(*SMALL, "--journal", journal, "--journal-key", key, "--json").stdout) for _ in range(2)]
    assert runs[0]["model"] == runs[1]["model"]
    assert runs[1]["handoffs"] == 0


def test_every_schedule_is_offered_or_left_out_for_a_reason() -> None:
    assert {*OFFERED, "none", "inner-key", "retired-engine-leaks"} == set(SCHEDULES)
    page = (ROOT / "docs" / "guide" / "running.md").read_text("utf-8")
    offered = page.partition("## Key schedules")[2].partition("## Journals")[0]
    assert all(f"`{name}`" in offered for name in SCHEDULES)


def test_a_journal_without_a_kept_key_is_refused_with_what_was_lacking(tmp_path: Path) -> None:
    journal = str(tmp_path / "journal")
    carnet(*SMALL, "--journal", journal)
    result = carnet(*SMALL, "--journal", journal, "--json")
    assert result.exit_code == 2
    assert json.loads(result.stdout)["error"]["message"].endswith(
        "another job wrote it, or it was sealed under another key (give --journal-key)"
    )


def test_a_journal_of_another_job_is_refused(tmp_path: Path) -> None:
    journal, key = str(tmp_path / "journal"), str(tmp_path / "key")
    carnet(*SMALL, "--journal", journal, "--journal-key", key)
    result = carnet("--holders", "3", "--rounds", "2", "--journal", journal, "--journal-key", key, "--json")
    assert result.exit_code == 2
    assert json.loads(result.stdout)["error"]["kind"] == "journal"


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (("--holders", "8"), "engines for 7 holders"),
        (("--holders", "0"), "0 is not in the range"),
        (("--key-schedule", "none"), "is not one of"),
        (("--key-limit", "0"), "0 is not in the range"),
        (("--key-schedule", "inner-key"), "is not one of"),
        (("--trace", "/nowhere/trace"), "expected a file to write"),
        (("--journal", "/nowhere/journal"), "no journal that can be used"),
        (("--journal", ""), "--journal needs the name of a file"),
        (("--journal", "/", "--processes"), "--journal needs the name of a file"),
        (("--journal-key", "/nowhere/key"), "cannot write a key"),
        (("--journal-key", ""), "cannot read a key"),
        (("--trace", ""), "expected a file to write"),
        (("--mishaps", "1"), "--mishaps befall the instances"),
        (("--backup", "1", "--seed", "1"), "--seed decides when --mishaps happen"),
        (("--backup", "1", "--processes"), "without --processes and --journal"),
    ],
)
def test_what_cannot_be_done_is_said_in_one_line(args: tuple[str, ...], said: str) -> None:
    result = carnet(*args)
    assert result.exit_code == 2
    assert said in result.stderr
    assert "Traceback" not in result.stderr


def test_processes_come_to_the_same_model_as_one_process_and_say_of_a_port_in_use() -> None:
    models = [json.loads(carnet(*SMALL, *more, "--json").stdout)["model"] for more in ((), ("--processes",))]
    assert models[0] == models[1]
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        result = carnet(*SMALL, "--processes", "--port", str(taken.getsockname()[1]))
    assert result.exit_code == 2
    assert "cannot listen on port" in result.stderr


CARNET = (sys.executable, "-c", "import sys; from carnet_check.cli import main; main(sys.argv[1:])", "run")


def limited(kibibytes: int, *args: str) -> subprocess.CompletedProcess[str]:
    """Run where no file can grow beyond a size: to a program, a disk that is full."""
    return subprocess.run(
        ("bash", "-c", f'ulimit -f {kibibytes}; exec "$@"', "bash", *CARNET, *args),
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.parametrize(
    ("kibibytes", "processes", "said"),
    [(64, (), "cannot write to the journal"), (96, ("--processes",), "carnet: cannot ")],
    ids=["one process", "several"],
)
def test_a_full_disk_is_said_and_what_is_journalled_is_there_again(
    kibibytes: int, processes: tuple[str, ...], said: str, tmp_path: Path
) -> None:
    kept = ("--journal", str(tmp_path / "journal"), "--journal-key", str(tmp_path / "key"))
    full = limited(kibibytes, *SMALL, *kept, *processes)
    assert full.returncode == 2, full.stderr
    assert said in full.stderr.splitlines()[-1]
    assert "Traceback" not in full.stderr
    again = json.loads(carnet(*SMALL, *kept, "--json").stdout)
    assert (again["conforms"], again["model"]) == (True, json.loads(carnet(*SMALL, "--json").stdout)["model"])


def test_a_full_disk_leaves_the_trace_that_was_there(tmp_path: Path) -> None:
    trace = tmp_path / "trace"
    trace.write_text("an earlier trace")
    header = replace(RunRequest(2, 2, "ratchet").deployment.header(), checked=False)
    with pytest.raises(TraceFileError, match="cannot write the trace"):
        write_trace(trace, header, _lines_until_the_disk_is_full())
    assert trace.read_text() == "an earlier trace"
    assert list(tmp_path.iterdir()) == [trace]


def _lines_until_the_disk_is_full() -> Iterator[str]:
    yield "{}"
    raise OSError(errno.ENOSPC, "No space left on device")


def test_a_damaged_journal_is_said_at_once(tmp_path: Path) -> None:
    kept = ("--journal", str(tmp_path / "journal"), "--journal-key", str(tmp_path / "key"))
    assert carnet(*SMALL, *kept).exit_code == 0
    for name in ("journal", "journal-head"):
        (tmp_path / name).unlink()
    whole = (tmp_path / "journal.alice").read_bytes()
    (tmp_path / "journal.alice").write_bytes(whole.replace(b"accepted", b"\xffccepted"))
    for processes in ((), ("--processes",)):
        began = time.monotonic()
        result = carnet(*SMALL, *kept, *processes)
        assert result.exit_code == 2
        assert "journal.alice is refused" in result.stderr
        assert time.monotonic() - began < 30


@pytest.fixture(scope="module")
def journals(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with the journals of a small run and their key."""
    folder = tmp_path_factory.mktemp("kept")
    assert carnet(*SMALL, *_words(_kept_in(folder))).exit_code == 0
    return folder


@pytest.mark.parametrize("option", ["--trace", "--journal-key"])
@pytest.mark.parametrize(
    "name", ["journal", "journal.alice", "journal-wal", "journal-head", "folder/../journal", "link", "hard link"]
)
def test_nothing_is_written_over_a_journal(journals: Path, tmp_path: Path, option: str, name: str) -> None:
    kept = _kept_in(Path(shutil.copytree(journals, tmp_path, dirs_exist_ok=True)))
    (tmp_path / "folder").mkdir()
    (tmp_path / "link").symlink_to("journal")
    (tmp_path / "hard link").hardlink_to(tmp_path / "journal.anna")
    before = _contents(tmp_path)
    result = carnet(*SMALL, *_words({**kept, option: f"{tmp_path}/{name}"}))
    assert result.exit_code == 2
    assert "is a journal of this run" in result.stderr
    assert _contents(tmp_path) == before


@pytest.mark.parametrize("exists", [True, False])
def test_no_trace_is_written_over_the_key(journals: Path, tmp_path: Path, exists: bool) -> None:
    kept = _kept_in(tmp_path)
    if exists:
        shutil.copytree(journals, tmp_path, dirs_exist_ok=True)
    before = _contents(tmp_path)
    result = carnet(*SMALL, *_words({**kept, "--trace": str(tmp_path / "key")}))
    assert result.exit_code == 2
    assert "is the key of this run" in result.stderr
    assert _contents(tmp_path) == before


def _kept_in(folder: Path) -> dict[str, str]:
    return {"--journal": str(folder / "journal"), "--journal-key": str(folder / "key")}


def _words(options: dict[str, str]) -> list[str]:
    return [word for option in options.items() for word in option]


def _contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}


def test_a_run_is_judged_by_its_own_steps(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever another run that writes to the same file puts there."""
    trace = tmp_path / "trace"

    def overwritten(path: Path, header: Header, lines: Iterable[str]) -> None:
        write_trace(path, header, lines)
        if path == trace:
            path.write_text("another run's")

    monkeypatch.setattr(running, "write_trace", overwritten)
    assert json.loads(carnet(*SMALL, "--trace", str(trace), "--json").stdout)["conforms"] is True
    assert trace.read_text() == "another run's"


def test_a_trace_that_nobody_keeps_is_judged_all_the_same() -> None:
    result = carnet(*SMALL, "--trace", "/dev/null", "--json")
    assert result.exit_code == 0, result.stderr
    assert json.loads(result.stdout)["conforms"] is True
    assert Path("/dev/null").is_char_device()


@pytest.mark.parametrize(
    ("given", "processes"),
    [
        (signal.SIGINT, ("--processes",)),
        (signal.SIGTERM, ()),
        (signal.SIGHUP, ("--processes",)),
    ],
)
def test_a_run_that_is_stopped_says_what_is_left_and_leaves_nothing_else(
    given: signal.Signals, processes: tuple[str, ...], tmp_path: Path
) -> None:
    """Stopped as a terminal does it, with a signal to the whole process group."""
    kept = ("--journal", str(tmp_path / "journal"), "--journal-key", str(tmp_path / "key"))
    (tmp_path / "temporary").mkdir()
    with subprocess.Popen(
        (*CARNET, "--rounds", "100000", *kept, *processes),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "TMPDIR": str(tmp_path / "temporary")},
        start_new_session=True,
    ) as run:
        assert run.stdout is not None
        next(line for line in run.stdout if "round 2 of" in line)
        os.killpg(run.pid, given)
        told, said = run.communicate(timeout=60)
    assert run.returncode == 130
    assert "Traceback" not in told + said
    kept_in = f"what was trained is in {tmp_path}/journal, and the same command goes on from there"
    assert said.splitlines()[-1] == f"carnet: interrupted: {kept_in}"
    assert list((tmp_path / "temporary").iterdir()) == []


def test_a_run_without_a_journal_that_is_stopped_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    def stopped(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(running, "_in_one_process", stopped)
    result = carnet(*SMALL, "--json")
    assert result.exit_code == 130
    error = {"kind": "interrupted", "message": "interrupted: the run is not over, and nothing of it is kept"}
    assert json.loads(result.stdout)["error"] == error


@pytest.mark.mends("M5")
def test_the_name_of_a_trace_is_only_shown(tmp_path: Path) -> None:
    trace = tmp_path / "a\u202e\x9bb"
    result = carnet("--holders", "1", "--rounds", "1", "--trace", str(trace))
    assert result.exit_code == 0
    assert trace.exists()
    assert all(line.isprintable() for line in result.stdout.splitlines())
    assert r"a\u202e\x9bb" in result.stdout


CARNET_PROGRAM = (sys.executable, "-c", "from carnet_check.cli import main; main()")
#: Commands that would go on for long, and how many processes they are, once all of them work.
ENDLESS = {
    "run": (("run", "--rounds", "100000"), 1),
    "run in processes": (("run", "--rounds", "100000", "--processes"), 6),
    "sweep": (("sweep", "--configurations", "200000", "--jobs", "2", "--out", "outcomes.csv"), 3),
}
LEFT = {"run": "the run is not over, and nothing of it is kept", "sweep": "the work is not finished"}


def in_session(session: int) -> list[int]:
    """Return the processes of a session that live."""
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            state, _, _, belongs = stat.read_text().rpartition(")")[2].split()[:4]
        except OSError:
            continue
        if int(belongs) == session and state != "Z":
            found.append(int(stat.parent.name))
    return found


@pytest.mark.mends("N9")
@pytest.mark.mends("L3")
@pytest.mark.parametrize(
    ("command", "given", "send"),
    [
        ("run", signal.SIGHUP, os.killpg),
        ("run in processes", signal.SIGHUP, os.killpg),
        ("run in processes", signal.SIGTERM, os.kill),
        ("sweep", signal.SIGINT, os.killpg),
        ("sweep", signal.SIGTERM, os.kill),
    ],
)
def test_a_command_that_is_stopped_leaves_nothing(
    command: str, given: signal.Signals, send: Callable[[int, int], None], tmp_path: Path
) -> None:
    (tmp_path / "temporary").mkdir()
    words, processes = ENDLESS[command]
    environment = {**os.environ, "TMPDIR": str(tmp_path / "temporary")}
    pipe = subprocess.PIPE
    with subprocess.Popen(
        (*CARNET_PROGRAM, *words),
        cwd=tmp_path,
        env=environment,
        stdout=pipe,
        stderr=pipe,
        text=True,
        start_new_session=True,
    ) as started:
        stream = started.stderr if command == "sweep" else started.stdout
        assert stream is not None
        next(line for line in stream if "round 2 of" in line or "timing" in line)
        while len(in_session(started.pid)) < processes:
            time.sleep(0.01)
        told_at = time.monotonic()
        send(started.pid, given)
        send(started.pid, given)
        told, said = started.communicate(timeout=60)
    assert started.returncode == 130, said
    assert time.monotonic() - told_at < 20
    assert said.splitlines()[-1:] == [f"carnet: interrupted: {LEFT[command.split(maxsplit=1)[0]]}"]
    assert "Traceback" not in told + said
    while in_session(started.pid):  # the last ones end when they see that their parent has
        assert time.monotonic() - told_at < 20
        time.sleep(0.01)
    assert [path.name for path in tmp_path.rglob("*")] == ["temporary"]


@pytest.mark.mends("L9")
@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--holders", "1000000"), f"1000000 is not in the range 1<=x<={MOST_HOLDERS}"),
        (("--holders", "1000000", "--key-schedule", "ratchet"), f"1000000 is not in the range 1<=x<={MOST_HOLDERS}"),
        (("--rounds", "1000000000"), f"1000000000 is not in the range 1<=x<={MOST_ROUNDS}"),
        (
            ("--holders", str(MOST_PROCESSES + 1), "--key-schedule", "ratchet", "--processes"),
            f"at most {MOST_PROCESSES} holders in processes of their own, not {MOST_PROCESSES + 1}",
        ),
    ],
)
def test_a_run_that_would_never_end_is_refused_at_once(words: tuple[str, ...], said: str) -> None:
    result = CliRunner().invoke(main, ["run", *words])
    assert result.exit_code == 2
    assert said in result.stderr
    assert len(result.stderr.splitlines()) == 1


def test_the_trace_of_the_largest_run_can_be_judged() -> None:
    holders = tuple(f"holder {number}" for number in range(MOST_HOLDERS))
    check_extent(Deployment(holders, MOST_ROUNDS).header(), FRESH_SIZES)


@pytest.mark.slow
@pytest.mark.mends("L9")
@pytest.mark.timeout(300)
def test_a_run_of_as_many_holders_as_may_be_ends() -> None:
    words = ["--holders", str(MOST_HOLDERS), "--rounds", "2", "--key-schedule", "ratchet"]
    assert CliRunner().invoke(main, ["run", *words]).exit_code == 0


ENDS = ("orchestrator", "gpu")


def usage(*args: object) -> list[dict[str, Any]]:
    ran = CliRunner().invoke(main, ["run", *map(str, args), "--json"])
    assert ran.exit_code == 0, ran.stderr
    told: list[dict[str, Any]] = json.loads(ran.stdout)["key_usage"]
    return told


def agreed(told: list[dict[str, Any]]) -> None:
    """Insist that nothing is over its limit, and that both ends counted the same under each key."""
    assert all(use["within"] and use["units"] <= use["most_units"] for use in told)
    assert all(use["most_messages"] is None or use["messages"] <= use["most_messages"] for use in told)
    counted = [{_key(use) for use in told if use["end"] == end} for end in ENDS]
    assert counted[0] == counted[1]


def _key(use: dict[str, Any]) -> tuple[object, ...]:
    return use["engine"], use["direction"], use["messages"], use["units"]


def test_both_ends_count_the_same_for_each_key_of_each_engine() -> None:
    told = usage("--holders", 2, "--rounds", 4)
    agreed(told)
    places = sorted((str(use["engine"]), use["direction"]) for use in told if use["end"] == "gpu")
    engines = [(str(engine), way) for engine in range(3) for way in ("d2h", "h2d")]
    assert places == sorted([*engines, ("None", "orders"), ("None", "reports")])
    chunks = [use["messages"] for use in told if use["direction"] == "h2d" and use["engine"] in (1, 2)]
    assert chunks == [6, 6, 6, 6], "two visits of three chunks, under one key"


def test_keys_that_reach_their_limit_are_followed_by_others_each_of_which_is_told() -> None:
    told = usage("--holders", 1, "--rounds", 3, "--key-schedule", "sealed-under-master")
    agreed(told)
    assert sum(use["direction"] == "h2d" for use in told if use["end"] == "gpu") > 3
    told = usage("--holders", 1, "--rounds", 4, "--key-limit", 5)
    agreed(told)
    assert {use["most_messages"] for use in told if use["engine"] is not None} == {5}
    assert sum(use["direction"] == "orders" for use in told if use["end"] == "gpu") > 1, "in several sessions"


@pytest.mark.slow
def test_processes_tell_of_the_keys_at_both_ends_too() -> None:
    agreed(usage("--holders", 1, "--rounds", 2, "--processes"))


def test_a_model_is_saved_as_often_as_is_asked_for() -> None:
    asked = RunRequest(2, 2, "ratchet")
    assert (asked.deployment.save_every, replace(asked, save_every=3).deployment.save_every) == (0, 3)
