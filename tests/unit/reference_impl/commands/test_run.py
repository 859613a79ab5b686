"""``carnet run`` runs, says what came of it in text and JSON, goes on from journals, and refuses what it cannot do."""

from __future__ import annotations

import errno
import json
import re
import shlex
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from carnet_check.cli import main
from carnet_ref.commands.run import SCHEDULES as OFFERED
from carnet_ref.commands.running import Plan
from carnet_ref.keys import SCHEDULES
from carnet_ref.recorder import TraceFileError, write_trace
from tests.repo.tracked import ROOT

SHAPE = {"holders", "rounds", "handoffs", "bytes_provisioned", "trace", "conforms", "loss"}
SMALL = ("--holders", "2", "--rounds", "2")


def carnet(*args: str) -> Result:
    return CliRunner().invoke(main, ["run", *args])


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
    assert cost["steps"] == round(fields["events"] / 2, 1)
    assert cost["bytes"] > fields["bytes_provisioned"] / 2
    assert min(cost.values()) > 0
    assert len(trace.read_text().splitlines()) == fields["events"] + 1


def test_text_ends_with_the_command_that_does_it_again(tmp_path: Path) -> None:
    given = ["--key-schedule", "sealed-under-master", "--trace", str(tmp_path / "a trace")]
    result = carnet(*SMALL, *given)
    assert result.exit_code == 0
    label, *command = shlex.split(result.stdout.splitlines()[-1])
    assert (label, command) == ("rerun", ["carnet", "run", *SMALL, *given])
    assert "a hand-off " in result.stdout


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
    assert {*OFFERED, "none", "inner-key"} == set(SCHEDULES)
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
        (("--key-schedule", "inner-key"), "is not one of"),
        (("--trace", "/nowhere/trace"), "cannot write"),
        (("--journal", "/nowhere/journal"), "no journal that can be used"),
    ],
)
def test_what_cannot_be_done_is_said_in_one_line(args: tuple[str, ...], said: str) -> None:
    result = carnet(*args)
    assert result.exit_code == 2
    assert said in result.stderr
    assert "Traceback" not in result.stderr


def test_a_port_in_use_is_said() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        result = carnet(*SMALL, "--processes", "--port", str(taken.getsockname()[1]))
    assert result.exit_code == 2
    assert "cannot listen on port" in result.stderr


def test_processes_come_to_the_same_model_as_one_process() -> None:
    models = [json.loads(carnet(*SMALL, *more, "--json").stdout)["model"] for more in ((), ("--processes",))]
    assert models[0] == models[1]


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
    [(64, (), "cannot write to the journal"), (192, ("--processes",), "carnet: cannot ")],
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
    with pytest.raises(TraceFileError, match="cannot write the trace"):
        write_trace(trace, Plan(2, 2, "ratchet").cast.header(), _lines_until_the_disk_is_full())
    assert trace.read_text() == "an earlier trace"
    assert list(tmp_path.iterdir()) == [trace]


def _lines_until_the_disk_is_full() -> Iterator[str]:
    yield "{}"
    raise OSError(errno.ENOSPC, "No space left on device")
