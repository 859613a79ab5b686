"""Every check of the reference implementation, found in its source and taken away, one at a time.

A check is a call of a role's `Checks`, an ``if`` that raises, a call whose only purpose is to raise, or a tag that is
verified. Each that an honest run goes through is removed from its module in memory, in a process of its own. Then three
things may notice: a role, if the honest run fails; ``carnet conform``, if its trace is no longer one of the spec; or a
test that plays a peer or a platform that does not do what it should.

A call of `Checks` is removed in two ways. If the whole call goes, so does its event, and ``carnet conform`` notices
that where the spec demands one. If the call stays and its condition is always true, the trace is that of a run with the
check: ``carnet conform`` cannot notice, and only tests are asked.

``python -m tests.faults.trying --out docs/results/removed-checks.csv`` tries all of them and writes the table.
"""

import ast
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

ROOT: Final = Path(__file__).parents[2]
PACKAGE: Final = ROOT / "reference_impl" / "carnet_ref"
#: What a run of the reference implementation checks with; the transport carries, and decides nothing.
LOOKED_AT: Final = (
    "systems/gpu_travelling/roles",
    "systems/gpu_travelling/keys.py",
    "systems/gpu_travelling/device.py",
    "systems/gpu_travelling/orders.py",
    "systems/gpu_travelling/codec.py",
    "systems/gpu_travelling/evidence.py",
    "keys.py",
    "device.py",
    "spdm",
    "attestation",
    "crypto",
    "wire.py",
)
ASIDE: Final = frozenset({"formats.py", "event_log.py", "plotting.py"})
#: How functions begin whose call is a check: they return nothing, and raise.
CALLS: Final = ("verify", "require", "accepted", "check", "insist", "refuse", "expect", "end")
UNVERIFIED: Final = "tests.faults.unverified"  #: The module that opens a message though its tag does not verify.
#: The ways of removal that leave the event of a check in the trace: conformance cannot notice them.
UNSEEN: Final = ("condition true", "taken unverified")


@dataclass(frozen=True, slots=True)
class Removable:
    """One check in the source, and what stands in its place once it is removed."""

    file: str
    place: str  #: The qualified name of the function that the check is in.
    text: str  #: The check, on one line.
    cites: tuple[str, ...]  #: The defence and the requirement that it names.
    how: str
    lines: tuple[int, int]
    start: int
    end: int
    instead: str

    @property
    def id(self) -> str:
        """What names the check in tables: the place and the check itself."""
        return f"{self.place}: {self.text}"

    def removed_from(self, source: str) -> str:
        """Return the source of its file without it."""
        data = source.encode()
        return (data[: self.start] + self.instead.encode() + data[self.end :]).decode()


def removables(package: Path = PACKAGE, parts: Iterable[str] = LOOKED_AT) -> list[Removable]:
    """Return every check in these parts of a package, in the order of files and lines.

    Raises ValueError if a part is not there, so nobody would look at what it became.
    """
    folders = [package / part for part in parts]
    if missing := [folder.name for folder in folders if not folder.exists()]:
        raise ValueError(f"{', '.join(missing)}: not in {package}")
    files = {file for folder in folders for file in ([folder] if folder.suffix else folder.rglob("*.py"))}
    kept = sorted(file for file in files if file.name not in ASIDE)
    return [found for file in kept for found in removables_in(file, package.parent)]


def removables_in(file: Path, root: Path) -> list[Removable]:
    """Return the checks in one file, whose name begins below ``root``."""
    source = file.read_text("utf-8")
    name = file.relative_to(root).as_posix()
    module = name.removesuffix(".py").removesuffix("/__init__").replace("/", ".")
    return list(_Finder(source, name).under(ast.parse(source), (module.rpartition(".")[2],)))


class _Finder:
    """Walks a syntax tree and yields what can be removed."""

    def __init__(self, source: str, file: str) -> None:
        self._file = file
        self._starts = [0]
        for line in source.encode().splitlines(keepends=True):
            self._starts.append(self._starts[-1] + len(line))

    def under(self, node: ast.AST, scope: tuple[str, ...]) -> Iterator[Removable]:
        if isinstance(node, ast.ClassDef | ast.FunctionDef):
            scope = (*scope, node.name)
        for how, where, instead in filter(None, (self._removed(node), _stubbed(node))):
            yield self._made(node, where, scope, how, instead)
        for child in ast.iter_child_nodes(node):
            yield from self.under(child, scope)

    def _removed(self, node: ast.AST) -> tuple[str, ast.AST, str] | None:
        """Return how a node is removed, what of it is replaced, and by what, if it is a check."""
        match node:
            case ast.If(body=[ast.Raise()], orelse=[]):
                return "guard dropped", node, "pass"
            case ast.Expr(value=ast.Call() as call) if _of_checks(call, "require"):
                return "call dropped", node, "pass"
            case ast.Lambda(body=ast.Call() as call) if _of_checks(call, "require"):
                return "call dropped", call, "None"
            case ast.Expr(value=ast.Call() as call) if not _of_checks(call) and _only_raises(call):
                return "call dropped", node, "pass"
            case ast.Call() if _of_checks(node, "expect"):
                return "any kind taken", node, ast.unparse(node.args[2])
            case ast.Call() if _of_checks(node, "verify"):
                return "opened, not looked at", node, f"({ast.unparse(node.args[2])})()"
            case ast.Call() if _of_checks(node, "passes"):
                return "always passes", node, "True"
            case ast.Call(func=ast.Attribute(attr="decrypt"), args=[nonce, sealed, _]) if _of_cipher(node):
                opened = f"self._cipher.encrypt({ast.unparse(nonce)}, {ast.unparse(sealed)}[:-16], b'')[:-16]"
                return "tag not verified", node, opened
        return None

    def _made(self, node: ast.AST, where: ast.AST, scope: tuple[str, ...], how: str, instead: str) -> Removable:
        assert isinstance(where, ast.stmt | ast.expr)
        assert isinstance(node, ast.stmt | ast.expr)
        test = node.test if isinstance(node, ast.If) else _called(node)
        last = where.end_lineno or where.lineno
        return Removable(
            self._file,
            ".".join(scope),
            _short(ast.unparse(test)),
            tuple(_cited(node)),
            how,
            (node.lineno, node.end_lineno or node.lineno),
            self._starts[where.lineno - 1] + where.col_offset,
            self._starts[last - 1] + (where.end_col_offset or 0),
            instead,
        )


def _stubbed(node: ast.AST) -> tuple[str, ast.AST, str] | None:
    """Return how a call of checks comes to pass whatever it looks at, and is logged all the same."""
    match node:
        case ast.Call(args=[_, _, condition]) if _of_checks(node, "require") or _of_checks(node, "passes"):
            return "condition true", condition, "True"
        case ast.Call(args=[_, _, _, kind]) if _of_checks(node, "expect"):
            return "condition true", kind, "object"
        case ast.Call(args=[_, _, opened]) if _of_checks(node, "verify"):
            return "taken unverified", opened, f"__import__({UNVERIFIED!r}, fromlist=['of']).of({ast.unparse(opened)})"
    return None


def _of_checks(call: ast.Call, method: str = "") -> bool:
    """Whether it is a call of a role's checks, of one method or of any."""
    if not isinstance(call.func, ast.Attribute) or (method and call.func.attr != method):
        return False
    owner = call.func.value
    name = owner.id if isinstance(owner, ast.Name) else owner.attr if isinstance(owner, ast.Attribute) else ""
    return name.removeprefix("_") == "checks"


def _of_cipher(call: ast.Call) -> bool:
    return isinstance(call.func, ast.Attribute) and ast.unparse(call.func.value) == "self._cipher"


def _only_raises(call: ast.Call) -> bool:
    """Whether the call is of a function that is named as one that raises or does nothing."""
    function = call.func
    name = (
        function.id if isinstance(function, ast.Name) else function.attr if isinstance(function, ast.Attribute) else ""
    )
    return name.lstrip("_").partition("_")[0] in CALLS


def _called(node: ast.AST) -> ast.AST:
    """Return the call that a statement or a function without a name consists of."""
    match node:
        case ast.Expr(value=call) | ast.Lambda(body=call):
            return call
    return node


def _cited(node: ast.AST) -> Iterator[str]:
    call = _called(node)
    if isinstance(call, ast.Call) and _of_checks(call):
        yield from (arg.value for arg in call.args[:2] if isinstance(arg, ast.Constant) and isinstance(arg.value, str))


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= 120 else line[:117] + "..."


# -- trying what notices that a check of the reference implementation is gone ----------------------------


COLUMNS: Final = ["check", "place", "defence or requirement", "removed how", "noticed by", "who"]
Name = tuple[str, str, str]
SECONDS: Final = 150  #: How long one run may take, generously; what hangs was noticed. Tests have limits of their own.
SHOWN: Final = ROOT / "docs" / "results" / "removed-checks.csv"
UNIT: Final = "tests/unit/reference_impl"
SYSTEM: Final = f"{UNIT}/systems/gpu_travelling"
FIRST: Final = ("second_looks", "facts", "limits", "faults")
NEAR: Final = (*(f"{SYSTEM}/roles/test_{name}.py" for name in FIRST), f"{SYSTEM}/test_evidence.py")
#: The tests of each part, the nearest first.
TESTS: Final[tuple[tuple[str, tuple[str, ...]], ...]] = (
    ("systems/gpu_travelling/evidence", (f"{SYSTEM}/test_evidence.py",)),
    ("systems/gpu_travelling/keys", (f"{SYSTEM}/keys", f"{SYSTEM}/roles")),
    ("systems/gpu_travelling/device", (f"{UNIT}/device", f"{SYSTEM}/roles")),
    ("systems/gpu_travelling", (*NEAR, f"{SYSTEM}/roles", f"{SYSTEM}/keys", "tests/attacks/test_replays.py")),
    ("keys", (f"{UNIT}/keys", f"{SYSTEM}/keys", f"{SYSTEM}/roles")),
    ("device", (f"{UNIT}/device", f"{SYSTEM}/roles")),
    ("spdm", (f"{UNIT}/spdm", "tests/property/test_spdm.py")),
    ("attestation/amd", (f"{UNIT}/attestation/amd", f"{UNIT}/attestation/simulated", f"{UNIT}/commands")),
    ("attestation/intel", (f"{UNIT}/attestation/intel", f"{UNIT}/attestation")),
    ("attestation/nvidia", (f"{UNIT}/attestation/nvidia", f"{UNIT}/attestation", f"{SYSTEM}/test_evidence.py")),
    ("attestation", (f"{UNIT}/attestation", f"{SYSTEM}/test_evidence.py", f"{UNIT}/commands")),
    ("crypto", (f"{UNIT}/crypto", f"{UNIT}/keys", f"{UNIT}/attestation")),
    ("wire", (f"{UNIT}/transport", "tests/fuzz/test_parsers.py", f"{SYSTEM}/roles")),
)
#: Attacks with real bytes, asked before other tests about a check that names a defence or a requirement.
REPLAYS: Final = "tests/attacks/test_replays.py"
WHOLE_RECORD: Final = ("-m", "", "-k", "comes_out_again")  #: Chooses every replay of the record, the slow ones too.
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
