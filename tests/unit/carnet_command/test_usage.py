"""What a command requires of its options and files, and the exit codes that it ends with."""

import itertools
import os
from pathlib import Path

import click
import pytest

from carnet_command.errors import CarnetError, InterruptedRunError, UsageError
from carnet_command.exit_codes import PRECEDENCE, ExitCode, deciding
from carnet_command.files import replacing, require_writable_file
from carnet_command.once import require_each_once

COMMAND = click.Command(
    "command",
    params=[
        click.Argument(["file"]),
        click.Option(["--single", "-s"]),
        click.Option(["--several"], multiple=True),
        click.Option(["--flag"], is_flag=True),
    ],
)


def required(*args: str, command: click.Command = COMMAND, resilient: bool = False) -> None:
    above = click.Context(click.Group("group"))
    above.resilient_parsing = resilient
    require_each_once(above, command, args)


@pytest.mark.parametrize("args", [[], ["--single", "1"], ["--several", "1", "--several=2", "x"], ["--flag", "--flag"]])
def test_what_comes_once_or_may_come_often_passes(args: list[str]) -> None:
    required(*args)


@pytest.mark.parametrize(
    ("args", "times"), [(["--single", "1", "--single=2"], 2), (["-s", "1", "x", "-s1", "--single", "1"], 3)]
)
def test_what_comes_more_often_is_refused(args: list[str], times: int) -> None:
    with pytest.raises(click.UsageError, match=f"--single takes one value: expected it once, not {times} times"):
        required(*args)


def test_nothing_is_required_of_a_group_or_while_words_are_completed() -> None:
    required("--single", "1", "--single", "2", command=click.Group("other"))
    required("--single", "1", "--single", "2", resilient=True)


def test_an_earlier_file_stays_until_all_is_written(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_text("before")
    with pytest.raises(ZeroDivisionError), replacing(file) as stream:
        stream.write(f"half, and {1 / 0}")
    assert [(each.name, each.read_text()) for each in tmp_path.iterdir()] == [("file", "before")]
    with replacing(file) as stream:
        stream.write("after")
        assert file.read_text() == "before"
    assert [(each.name, each.read_text()) for each in tmp_path.iterdir()] == [("file", "after")]


def test_a_device_is_written_to_as_it_is_and_a_check_leaves_nothing_behind(tmp_path: Path) -> None:
    require_writable_file(Path("/dev/null"))
    with replacing(Path("/dev/null")) as stream:
        stream.write("gone")
    require_writable_file(tmp_path / "file")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("name", "said"),
    [("", "is a folder"), ("no/file", "its folder '.*no' does not exist"), ("locked", "permission denied")],
)
def test_unwritable_files_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, said: str) -> None:
    (tmp_path / "locked").touch()
    monkeypatch.setattr(os, "access", lambda path, mode: False)
    with pytest.raises(UsageError, match=f"expected a file .*{said}"):
        require_writable_file(tmp_path / name)


def test_the_numbers_are_those_of_the_decision_record() -> None:
    assert {code.name: int(code) for code in ExitCode} == {
        "EXPECTED": 0,
        "VIOLATED": 1,
        "USAGE": 2,
        "UNKNOWN": 3,
        "VACUOUS": 4,
        "INTERNAL": 5,
        "INTERRUPTED": 130,
        "UNREAD": 141,
    }


@pytest.mark.parametrize("codes", [codes for n in range(5) for codes in itertools.combinations(PRECEDENCE, n)])
def test_the_worst_code_decides(codes: tuple[ExitCode, ...]) -> None:
    order = [5, 1, 4, 3]
    assert deciding([ExitCode.EXPECTED, *reversed(codes)]) == min(codes, key=order.index, default=0)


@pytest.mark.parametrize(
    ("error", "kind", "code"),
    [(CarnetError, "internal", 5), (UsageError, "usage", 2), (InterruptedRunError, "interrupted", 130)],
)
def test_errors_carry_kind_and_code(error: type[CarnetError], kind: str, code: int) -> None:
    assert (error.kind, error.exit_code) == (kind, code)
