"""Seeding a fault into a copy of the tree, and asking the tests there whether they notice."""

from __future__ import annotations

import contextlib
import csv
import difflib
import os
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
PACKAGES = ("spec", "model_check", "reference_impl")
COPIED = (*PACKAGES, "docs/_ext", "docs/results", "tests")
SECONDS = 300  #: How long the tests that should notice a fault may take, generously.


@dataclass(frozen=True, slots=True)
class Fault:
    """One edit of one file that makes Carnet wrong, the tests that should notice, and the program that they need."""

    id: str
    says: str
    file: str
    old: str
    new: str
    noticed_by: tuple[str, ...]
    survived: bool = False
    needs: str = ""


SEEDED = Path(__file__).with_name("seeded.toml")


def faults(file: Path = SEEDED) -> dict[str, Fault]:
    """Return the faults, by id, in the order of the file."""
    listed: list[dict[str, Any]] = tomllib.loads(file.read_text("utf-8"))["fault"]
    found = [Fault(**{**each, "noticed_by": tuple(each["noticed_by"])}) for each in listed]
    assert len({fault.id for fault in found}) == len(found), "two faults have one id"
    return {fault.id: fault for fault in found}


def cannot_be_seeded(listed: Mapping[str, Fault]) -> list[str]:
    """Return what is wrong with faults: whose text is not there once, and which tests are not there to notice them."""
    wrong: list[str] = []
    for fault in listed.values():
        file = ROOT / fault.file
        count = file.read_text("utf-8").count(fault.old) if file.is_file() else 0
        wrong += [f"{fault.id}: its text is {count} times in {fault.file}"] * (count != 1)
        wrong += [f"{fault.id}: changes nothing"] * (fault.old == fault.new)
        wrong += [f"{fault.id}: no test notices it"] * (not fault.noticed_by)
        wrong += [f"{fault.id}: there is no {test}" for test in fault.noticed_by if not there_is(test)]
    return wrong


def there_is(test: str) -> bool:
    """Whether a file of tests exists, with the test that is named in it."""
    file, _, name = test.partition("::")
    return (ROOT / file).is_file() and (f"def {name.partition('[')[0]}(" if name else "def ") in (
        ROOT / file
    ).read_text("utf-8")


def not_as_recorded(shown: Path, listed: Mapping[str, Fault]) -> list[str]:
    """Return what is wrong with the recorded table of faults: each has a row, and a test that should notice it did."""
    with shown.open(encoding="utf-8", newline="") as file:
        columns, *rows = csv.reader(file)
    expected, recorded = [[each.says, each.file] for each in listed.values()], [row[:2] for row in rows]
    wrong = [*difflib.unified_diff([*map(str, (COLUMNS, *expected))], [*map(str, (columns, *recorded))], n=0)]
    for fault, (*_, test) in zip(listed.values(), rows, strict=False):
        wrong += [f"{fault.id}: {test} is not among those that should notice"] * (not test.startswith(fault.noticed_by))
        wrong += [f"{fault.id}: there is no {test}"] * (not there_is(test))
    return wrong


COLUMNS = ["fault", "file", "caught by"]


def record(variable: str, every: Mapping[str, Fault], caught: Mapping[str, str]) -> None:
    """Write down which test noticed each fault, if an environment variable names a file and all were tried."""
    where = os.environ.get(variable)
    if where and set(caught) == set(every):
        with Path(where).open("w", encoding="utf-8", newline="") as file:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerow(COLUMNS)
            writer.writerows([fault.says, fault.file, caught[fault.id]] for fault in every.values())


@dataclass(frozen=True, slots=True)
class Tree:
    """A copy of what tests need, to be spoilt."""

    folder: Path

    @staticmethod
    def made(folder: Path) -> Tree:
        """Copy the tree into an empty folder; times are kept, so that compiled files stay valid."""
        for name in COPIED:
            shutil.copytree(ROOT / name, folder / name)
        shutil.copy2(ROOT / "pyproject.toml", folder)
        return Tree(folder)

    @contextlib.contextmanager
    def seeded(self, fault: Fault) -> Iterator[None]:
        """Apply a fault, and undo it afterwards."""
        file = self.folder / fault.file
        before, times = file.read_text("utf-8"), file.stat()
        file.write_text(before.replace(fault.old, fault.new), "utf-8")
        try:
            yield
        finally:
            file.write_text(before, "utf-8")
            os.utime(file, ns=(times.st_atime_ns, times.st_mtime_ns))

    def python(self, *words: str, seconds: int = SECONDS) -> subprocess.CompletedProcess[str]:
        """Run Python in the copy, with the copy's packages and nothing written beside them."""
        paths = os.pathsep.join(str(self.folder / name) for name in PACKAGES)
        environment = {**os.environ, "PYTHONPATH": paths, "PYTHONDONTWRITEBYTECODE": "1"}
        command = [sys.executable, *words]
        return subprocess.run(
            command, cwd=self.folder, env=environment, capture_output=True, text=True, timeout=seconds, check=False
        )

    def failing(self, selection: Sequence[str], seconds: int = SECONDS) -> tuple[str, str]:
        """Return the first test of a selection that fails, or nothing, and what was printed."""
        options = ("-x", "-q", "--no-header", "-p", "no:cacheprovider", "--hypothesis-profile=failing")
        ran = self.python("-m", "pytest", *options, *selection, seconds=seconds)
        failed = [line.split(maxsplit=1)[1] for line in ran.stdout.splitlines() if line.startswith("FAILED ")]
        assert ran.returncode == (1 if failed else 0), f"no test failed, and yet:\n{ran.stdout}{ran.stderr}"
        return failed[0].partition(" - ")[0] if failed else "", ran.stdout
