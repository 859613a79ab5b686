"""Trying what notices that a check of the reference implementation is gone.

    python -m tests.faults.trying --out docs/results/removed-checks.csv

Nothing of the reference implementation is imported here: each try is a fork that imports it anew, with one module as it
would be without the check. First an honest run is made and checked against the spec; only if that says nothing are the
tests of the part asked, those that play dishonest peers, platforms and vendors among them.
"""

from __future__ import annotations

import contextlib
import csv
import functools
import importlib.abc
import importlib.machinery
import importlib.util
import json
import os
import signal
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from types import CodeType, FrameType
from typing import Any, Final

import click
import pytest

from tests.faults.removal import PACKAGE, ROOT, UNSEEN, Removable, removables

COLUMNS: Final = ["check", "place", "defence or requirement", "removed how", "noticed by", "who"]
Name = tuple[str, str, str]
SECONDS: Final = 150
"""How long one run may take, generously; what hangs was noticed. Tests have limits of their own."""
SHOWN: Final = ROOT / "docs" / "results" / "removed-checks.csv"
UNIT: Final = "tests/unit/reference_impl"
SYSTEM: Final = f"{UNIT}/systems/gpu_travelling"
FIRST: Final = ("second_looks", "facts", "limits", "faults")
NEAR: Final = (*(f"{SYSTEM}/roles/test_{name}.py" for name in FIRST), f"{SYSTEM}/test_evidence.py")
CONVERSED: Final = ("sessions", "messages", "tampering")
TESTS: Final[tuple[tuple[str, tuple[str, ...]], ...]] = (
    ("systems/gpu_travelling/evidence", (f"{SYSTEM}/test_evidence.py",)),
    ("systems/gpu_travelling/keys", (f"{SYSTEM}/keys", f"{SYSTEM}/roles")),
    ("systems/gpu_travelling/device", (f"{UNIT}/device", f"{SYSTEM}/roles")),
    ("systems/gpu_travelling", (*NEAR, f"{SYSTEM}/roles", f"{SYSTEM}/keys", "tests/attacks/test_replays.py")),
    ("keys", (f"{UNIT}/keys", f"{SYSTEM}/keys", f"{SYSTEM}/roles")),
    ("device", (f"{UNIT}/device", f"{SYSTEM}/roles")),
    (
        "spdm",
        (f"{UNIT}/spdm", *(f"tests/property/test_spdm_{name}.py" for name in ("sessions", "messages", "tampering"))),
    ),
    ("attestation/amd", (f"{UNIT}/attestation/amd", f"{UNIT}/attestation/simulated", f"{UNIT}/commands")),
    ("attestation/intel", (f"{UNIT}/attestation/intel", f"{UNIT}/attestation")),
    ("attestation/nvidia", (f"{UNIT}/attestation/nvidia", f"{UNIT}/attestation", f"{SYSTEM}/test_evidence.py")),
    ("attestation", (f"{UNIT}/attestation", f"{SYSTEM}/test_evidence.py", f"{UNIT}/commands")),
    ("crypto", (f"{UNIT}/crypto", f"{UNIT}/keys", f"{UNIT}/attestation")),
    ("wire", (f"{UNIT}/transport", "tests/fuzz/test_parsers.py", f"{SYSTEM}/roles")),
)
"""The tests of each part, the nearest first."""
REPLAYS: Final = "tests/attacks/test_replays.py"
"""Attacks with real bytes, asked before other tests about a check that names a defence or a requirement."""
WHOLE_RECORD: Final = ("-m", "", "-k", "comes_out_again")
"""Chooses every replay of the record, the slow ones too."""
BY_TESTS: Final = ("a replay", "a test")


@dataclass(frozen=True, slots=True)
class Outcome:
    """What noticed that a check is gone: a role, the checker, a replay, another test, or nobody (``by`` is empty)."""

    by: str
    what: str = ""


# -- one module as it would be ---------------------------------------------------------------------------------------


class _Without(importlib.abc.MetaPathFinder, importlib.abc.InspectLoader):
    """Imports one module from a source without the check, and leaves all others alone."""

    def __init__(self, removed: Removable) -> None:
        self._file = PACKAGE.parent / removed.file
        name = removed.file.removesuffix(".py").replace("/", ".")
        self._name = name.removesuffix(".__init__")
        self._source = removed.removed_from(self._file.read_text("utf-8"))

    def find_spec(self, fullname: str, path: Any = None, target: Any = None) -> importlib.machinery.ModuleSpec | None:
        """Find the one module."""
        if fullname != self._name:
            return None
        package = [str(self._file.parent)] if self._file.name == "__init__.py" else None
        return importlib.util.spec_from_file_location(
            fullname,
            self._file,
            loader=self,
            submodule_search_locations=package,
        )

    def get_source(self, fullname: str) -> str:
        """Return the source without the check."""
        return self._source

    def get_code(self, fullname: str) -> CodeType:
        """Return that source compiled, under the name of its file."""
        code: CodeType = compile(self._source, str(self._file), "exec", dont_inherit=True)
        return code


# -- in a process of its own -----------------------------------------------------------------------------------------


def forked(task: Callable[[], Any], seconds: int = SECONDS) -> Any:
    """Return what a task returns in a fork, or ``None`` if it does not end in time."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reader)
        _carried_out(task, writer)
    os.close(writer)
    began, received = time.monotonic(), b""
    os.set_blocking(reader, False)
    while True:
        ended, _ = os.waitpid(child, os.WNOHANG)
        with contextlib.suppress(BlockingIOError):
            while found := os.read(reader, 1 << 16):
                received += found
        if ended:
            os.close(reader)
            return _returned(received)
        if time.monotonic() - began > seconds:
            os.killpg(child, signal.SIGKILL)
            os.waitpid(child, 0)
            os.close(reader)
            return None
        time.sleep(0.02)


def _returned(received: bytes) -> Any:
    value = json.loads(received)
    if isinstance(value, dict) and "error" in value:
        raise RuntimeError(f"a try failed by itself:\n{value['error']}")
    return value


def _carried_out(task: Callable[[], Any], writer: int) -> None:
    os.setpgid(0, 0)
    quiet = os.open(os.devnull, os.O_WRONLY)
    os.dup2(quiet, 1)
    os.dup2(quiet, 2)
    try:
        os.write(writer, json.dumps(task()).encode())
    except BaseException:
        os.write(writer, json.dumps({"error": traceback.format_exc()}).encode())
    finally:
        os._exit(0)


# -- what may notice -------------------------------------------------------------------------------------------------


def honest_run(trace: Path | None = None) -> Outcome:
    """Make a run in which everybody follows the protocol, and have it checked against the spec."""
    from carnet_command.errors import CarnetError
    from carnet_ref.systems.gpu_travelling.commands.running import RunRequest, carried_out

    plan = RunRequest(holders=2, rounds=2, schedule="engine-per-holder", save_every=1, trace=trace)
    try:
        judged = carried_out(plan, lambda line: None).judged
    except CarnetError as error:
        return Outcome("a role", str(error))
    except Exception as error:
        return Outcome("a role", f"{type(error).__name__}: {error}")
    found = judged["first_divergence"]
    return Outcome("") if found is None else Outcome("conform", found["why"])


class _Watch:
    """Keeps which tests fail, in order."""

    def __init__(self) -> None:
        self.failed: list[str] = []

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Take down a test that fails."""
        self._reported(report)

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        """Take down a file that cannot be read."""
        self._reported(report)

    def _reported(self, report: pytest.TestReport | pytest.CollectReport) -> None:
        if report.failed and report.nodeid not in self.failed:
            self.failed.append(report.nodeid)


def failing(*words: str) -> list[str]:
    """Return the tests that fail, of those that these words select."""
    watch = _Watch()
    options = ("-q", "--assert=plain", "-p", "no:cacheprovider", "-n", "0", "--hypothesis-profile=failing")
    pytest.main([*options, *words], plugins=[watch])
    return watch.failed


@functools.cache
def failing_anyway(test: str) -> bool:
    """Whether a test fails though nothing is removed: then it notices nothing."""
    found = forked(lambda: failing(test), 10 * SECONDS)
    assert found is not None, f"{test} does not end"
    return bool(found)


@functools.cache
def failed_anyway(selection: str) -> list[str]:
    """Return the list to which the tests of a selection are added that turn out to fail anyway."""
    return []


@functools.cache
def noticed_before() -> dict[tuple[str, str], str]:
    """Return which test noticed each check's removal, in any way, when the table was made last: it is asked first."""
    if not SHOWN.exists():
        return {}
    with SHOWN.open(encoding="utf-8", newline="") as file:
        return {(row[0], row[1]): row[5] for row in csv.reader(file) if row[4] in BY_TESTS and "::" in row[5]}


def asked_about(file: str) -> tuple[str, ...]:
    """Return the tests that are asked about a file of the reference implementation."""
    part = file.partition("/")[2]
    return next(tests for prefix, tests in TESTS if part.startswith(prefix))


def attempt(check: Removable) -> Outcome:
    """Return what notices that a check is gone: an honest run or its checker, or else the first test that fails.

    Of a check that is made and logged but passes whatever it sees, the trace is as it was: only tests are asked.
    """
    if check.how in UNSEEN:
        return _by_tests(check)

    def run() -> list[str]:
        sys.meta_path.insert(0, _Without(check))
        found = honest_run()
        return [found.by, found.what]

    found = forked(run)
    if found is None:
        return Outcome("a role", "the run does not end")
    return Outcome(*found) if found[0] else _by_tests(check)


def _by_tests(check: Removable) -> Outcome:
    """Return which test notices that a check is gone, if one does that passes otherwise."""
    before = noticed_before().get(named(check)[:2])
    first = (before,) if before and (ROOT / before.partition("::")[0]).exists() else ()
    replays = (REPLAYS,) if check.cites else ()
    for selection in dict.fromkeys((*replays, *first, *asked_about(check.file))):
        found = _first_noticing(check, selection)
        if found:
            return Outcome("a replay" if selection == REPLAYS else "a test", found)
    return Outcome("")


def _first_noticing(check: Removable, selection: str) -> str:
    """Return the first test of a selection that fails without the check and passes with it, or nothing."""
    passed_over = failed_anyway(selection)

    def run() -> list[str]:
        sys.meta_path.insert(0, _Without(check))
        chosen = (*WHOLE_RECORD, selection) if selection == REPLAYS else (selection,)
        return failing("-x", *chosen, *(f"--deselect={test}" for test in passed_over))

    while True:
        failed = forked(run, 10 * SECONDS)
        if failed is None:
            return f"{selection} does not end"
        if not failed or not failing_anyway(failed[0]):
            return failed[0] if failed else ""
        passed_over.append(failed[0])


# -- which checks a run goes through ---------------------------------------------------------------------------------


def lines_of_a_run() -> dict[str, list[int]]:
    """Return the lines of each file of the reference implementation that an honest run executes."""
    seen: dict[str, set[int]] = {}
    prefix = str(PACKAGE)

    def local(frame: FrameType, event: str, arg: object) -> Any:
        if event == "line":
            seen[frame.f_code.co_filename].add(frame.f_lineno)
        return local

    def trace(frame: FrameType, event: str, arg: object) -> Any:
        name = frame.f_code.co_filename
        if not name.startswith(prefix):
            return None
        seen.setdefault(name, set())
        return local

    sys.settrace(trace)
    try:
        honest_run()
    finally:
        sys.settrace(None)
    root = PACKAGE.parent
    return {Path(name).relative_to(root).as_posix(): sorted(lines) for name, lines in seen.items()}


def gone_through(checks: Iterable[Removable], lines: dict[str, list[int]]) -> list[Removable]:
    """Return the checks that an honest run goes through."""
    kept = {file: set(found) for file, found in lines.items()}
    return [check for check in checks if kept.get(check.file, set()) & set(range(check.lines[0], check.lines[1] + 1))]


def checks_of_a_run() -> list[Removable]:
    """Return the checks that an honest run goes through, with a fork that goes through them."""
    lines = forked(lines_of_a_run, 10 * SECONDS)
    assert lines, "an honest run was not possible"
    return gone_through(removables(), lines)


def warm_up() -> None:
    """Read the spec once, so that no fork has to: check a trace here that a fork recorded."""
    from carnet_check.conformance import conform

    with tempfile.TemporaryDirectory() as folder:
        trace = Path(folder) / "trace"
        found = forked(lambda: honest_run(trace).what)
        assert not found, f"an honest run is refused: {found}"
        assert conform(trace).conforms


def named(check: Removable) -> Name:
    """Return what names a check in the table, and one way of removing it."""
    return check.text, f"{check.file}: {check.place}", check.how


def _name_in(row: list[str]) -> Name:
    return row[0], row[1], row[3]


def row(check: Removable, found: Outcome) -> list[str]:
    """Return what the table says of one check."""
    text, place, how = named(check)
    return [text, place, " ".join(check.cites), how, found.by, found.what]


def shown(table: Path) -> dict[Name, list[str]]:
    """Return the rows of a table that was begun, by the checks that are still there and how these are removed."""
    there = {named(check) for check in removables()}
    with table.open(encoding="utf-8", newline="") as file:
        return {_name_in(row): row for row in list(csv.reader(file))[1:] if _name_in(row) in there}


def rows(checks: Iterable[Removable], say: Callable[[str], None]) -> Iterator[list[str]]:
    """Try checks one after another."""
    for number, check in enumerate(checks, 1):
        began = time.monotonic()
        found = attempt(check)
        say(f"{number} {time.monotonic() - began:5.1f} s  {check.id[:90]}: {found.by or 'SURVIVES'} {found.what[:60]}")
        yield row(check, found)


@click.command()
@click.option("--out", type=click.Path(path_type=Path), required=True, help="The table to write.")
@click.option("--only", default="", help="Try only the checks of files whose name contains this.")
@click.option("--part", default="1/1", help="Try the k-th of n parts of all checks.")
@click.option("--text", default="", help="Try only the checks whose own text contains this.")
@click.option("--how", default="", help="Try only what is removed this way, such as 'condition true'.")
@click.option("--cited", is_flag=True, help="Try only the checks that name a defence.")
@click.option("--resume", is_flag=True, help="Keep the rows that the table has, and try what it lacks.")
def main(out: Path, only: str, part: str, text: str, how: str, cited: bool, resume: bool) -> None:
    """Try every check that an honest run goes through, and write what notices its removal."""
    warm_up()
    chosen, every = map(int, part.split("/"))
    wanted = [check for check in checks_of_a_run() if only in check.file and text in check.text]
    wanted = [check for check in wanted if (check.cites or not cited) and how in check.how]
    kept = shown(out) if resume else {}
    checks = [check for check in wanted[chosen - 1 :: every] if named(check) not in kept]
    click.echo(f"{len(checks)} checks", err=True)
    with out.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(COLUMNS)
        writer.writerows(kept.values())
        file.flush()
        for found in rows(checks, lambda line: click.echo(line, err=True)):
            writer.writerow(found)
            file.flush()


if __name__ == "__main__":
    os.chdir(ROOT)
    main()
