"""What is kept of a campaign: whole lines about the same thing, and nothing else."""

from __future__ import annotations

from pathlib import Path

import pytest

from carnet_check.errors import UsageError
from carnet_check.loading.families import load
from carnet_check.mutation.campaign import Record, record_header

ABOUT = {"protocols": {"main": "0" * 64}}


def test_what_was_kept_is_known_again(tmp_path: Path) -> None:
    file = tmp_path / "kept"
    Record(file, ABOUT).keep("mutant", "a", {"fate": "killed"})
    again = Record(file, ABOUT)
    assert ("mutant", "a") in again
    assert ("mutant", "b") not in again
    assert again.known("mutant", "a") == {"fate": "killed"}


def test_nothing_may_have_been_found(tmp_path: Path) -> None:
    file = tmp_path / "kept"
    Record(file, ABOUT).keep("scenario", "a", None)
    again = Record(file, ABOUT)
    assert ("scenario", "a") in again
    assert again.known("scenario", "a") is None


def test_a_line_that_was_cut_off_is_no_line(tmp_path: Path) -> None:
    file = tmp_path / "kept"
    record = Record(file, ABOUT)
    record.keep("mutant", "a", 1)
    record.keep("mutant", "b", 2)
    file.write_text(file.read_text("utf-8")[:-3], encoding="utf-8")
    again = Record(file, ABOUT)
    assert ("mutant", "a") in again
    assert ("mutant", "b") not in again
    again.keep("mutant", "c", 3)
    assert ("mutant", "c") in Record(file, ABOUT)


def test_results_about_something_else_are_not_read(tmp_path: Path) -> None:
    file = tmp_path / "kept"
    Record(file, ABOUT).keep("mutant", "a", 1)
    assert ("mutant", "a") not in Record(file, {"protocols": {"main": "1" * 64}})


def test_without_a_file_results_are_kept_for_this_run() -> None:
    record = Record(None, ABOUT)
    record.keep("mutant", "a", 1)
    assert record.known("mutant", "a") == 1


def test_a_file_that_cannot_be_read_is_said(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="cannot read"):
        Record(tmp_path, ABOUT)


def test_results_depend_on_the_specification_and_its_code(tmp_path: Path) -> None:
    text = Path("tests/fixtures/door.py").read_text("utf-8")
    files = [tmp_path / name for name in ("one.py", "other.py", "third.py")]
    for file, said in zip(files, (text, text.replace("stranger", "foreigner"), text), strict=True):
        file.write_text(said, encoding="utf-8")
    one, other, third = (record_header(load(f"{file}:FAMILY"), ("main",)) for file in files)
    assert one["protocols"] == other["protocols"]
    assert one["specification"] != other["specification"]
    assert one["code"] == third["code"]
