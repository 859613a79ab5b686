"""Every record has a target, what is stale is reported once, and one command makes it."""

import json
import shutil
import subprocess
import sys
import time
from collections.abc import Mapping
from dataclasses import replace
from fnmatch import fnmatch
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from carnet_check.loading.families import Source, load
from carnet_check.mutation import campaign
from docs._ext.carnet_pages.counted_mutants import argument_questions, renew_arguments
from docs._ext.carnet_pages.records import __main__ as command
from docs._ext.carnet_pages.records.__main__ import HERE
from docs._ext.carnet_pages.records.graph import RESULTS, Target, stale, targets
from tests.faults.seeding import ROOT, Fault, Tree
from tests.repo.tracked import tracked_files

BY_HAND = ("faults.csv",)


def test_no_record_is_stale() -> None:
    """A stale record is no fault of the code: it is reported here, once, and tests look at what records say."""
    if found := stale():
        names = ", ".join(each.name for each in found)
        pytest.skip(f"{command.summary(found)}: {names}")


def test_every_file_of_the_results_belongs_to_one_record() -> None:
    below = RESULTS.relative_to(RESULTS.parents[1])
    files = [path.relative_to(below).as_posix() for path in tracked_files() if path.is_relative_to(below)]
    assert files
    for file in files:
        owners = [each.name for each in targets().values() if any(fnmatch(file, kept) for kept in each.files)]
        assert len(owners) == (file not in BY_HAND), (file, owners)


def test_what_a_record_reads_is_a_record() -> None:
    assert {name for each in targets().values() for name in each.after} <= targets().keys()


def target(name: str, *parts: tuple[str, str, str], after: tuple[str, ...] = ()) -> Target:
    return Target(name, (), lambda: None, 600, lambda: parts, after)


OLD, NEW = ("gone", "1", "2"), ("same", "1", "1")


def test_what_is_stale_says_which_parts_and_what_it_costs() -> None:
    lines = [*command.reported([target("falls/toy", OLD, NEW, OLD), target("rounds/toy", NEW)])]
    assert lines[0] == "falls/toy: gone, gone (6 min)"
    assert lines[1:] == [f"stale records: 1, at most 6 min on two cores; python -m {command.HERE} make"]
    assert [*command.reported([])] == ["no record is stale"]


def test_a_measurement_is_never_stale() -> None:
    measured = Target("spin", (), lambda: None, 600)
    assert (measured.stale, measured.cost) == ([], 1)


class Process:
    """Stands for the process that makes a record."""

    def __init__(self, words: list[str]) -> None:
        self.returncode = int(words[-1] == "bad")

    def poll(self) -> int:
        return self.returncode


@pytest.fixture
def begun(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """List the records that processes are begun for, which end at once."""
    names: list[str] = []

    def begin(words: list[str]) -> Process:
        names.append(words[-1])
        return Process(words)

    monkeypatch.setattr(subprocess, "Popen", begin)
    monkeypatch.setattr(time, "sleep", lambda _: None)
    return names


def test_what_is_read_by_others_is_made_before_them_and_the_longest_first(begun: list[str]) -> None:
    chosen = [target("replays", OLD, after=("attacks",)), target("attacks", OLD, NEW), target("falls", OLD)]
    assert command.make_all(chosen, 1) == 0
    assert begun == ["falls", "attacks", "replays"]


def test_what_could_not_be_made_is_named(begun: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert command.make_all([target("bad", OLD), target("good", OLD)], 2) == 1
    assert "not made: bad" in capsys.readouterr().out


def test_a_name_stands_for_a_record_or_for_all_of_a_kind() -> None:
    assert [each.name for each in command._named(["rounds/fastrack"])] == ["rounds/fastrack"]
    assert len([*command._named(["rounds"])]) > 1


@pytest.mark.parametrize("words", [["make", "nothing"], ["remake"]], ids=" ".join)
def test_what_does_not_exist_is_refused(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        command.main(words)
    assert "error: " in capsys.readouterr().err


def test_it_is_one_command() -> None:
    """What it lists is every record, with what making it costs."""
    ran = subprocess.run([sys.executable, "-m", command.HERE, "list"], capture_output=True, text=True, check=True)
    assert [line.split()[0] for line in ran.stdout.splitlines()] == [*targets()]


@pytest.mark.parametrize("number", [1, 2])
def test_as_many_records_are_made_as_are_named(number: int, begun: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """One is made here, and several in processes of their own, none of them twice."""
    here: list[str] = []
    names = ["rounds/fastrack", "rounds/teechain"][:number]
    made = {name: replace(target(name), make=partial(here.append, name)) for name in names}
    monkeypatch.setattr(command, "targets", lambda: made)
    assert command.main(["make", *names]) == 0
    assert (here, begun) == ((names, []) if number == 1 else ([], names))


def test_nothing_is_made_where_nothing_is_stale(begun: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(command, "stale", list)
    assert command.main(["make"]) == 0
    assert begun == []


# -- An argument for a mutant ----------------------------------------------------------------------------


def _toml(row: Mapping[str, str]) -> str:
    return "".join(f'{name} = "{value}"\n' for name, value in row.items())


LOOK, ADMIT = "look/update insert seen/drop", "admit/guard badge/drop"
BADGE = '        step.require("badge", badge(who))\n'


def hall_of(folder: Path, again: str = "") -> Source:
    """Return the hall in a file of its own, with one line more."""
    folder.mkdir()
    text = Path("tests/fixtures/hall.py").read_text("utf-8")
    assert text.count(BADGE) == 1
    (folder / "hall.py").write_text(text.replace(BADGE, BADGE + again), "utf-8")
    return load(str(folder / "hall.py"))


def test_an_argument_expires_only_if_its_action_changes(tmp_path: Path) -> None:
    before, after = hall_of(tmp_path / "one"), hall_of(tmp_path / "other", BADGE.replace('"badge"', '"again"'))
    old, new = (each.protocol("main").digest for each in (before, after))
    rows = [{"mutant": name, "variant": "main", "digest": old, "argument": "so"} for name in (LOOK, ADMIT)]
    for source in (before, after):
        place = campaign.place_beside(source)
        assert place
        place.write_text("".join(f"[[argued]]\n{_toml(each)}" for each in rows), "utf-8")
    then = argument_questions(before)
    renew_arguments(
        after, [each | {"question": then[f"main: {each['mutant']}"]} for each in rows], argument_questions(after)
    )
    assert {each.mutant: each.digest for each in campaign.arguments_of(after)} == {LOOK: new, ADMIT: old}


# -- A guard is changed in a copy of the tree, of the smallest protocol ----------------------------------

LINE = '        step.require("attested", attested(a, k, g))\n'
AGAIN = Fault(
    id="again",
    says="a guard stands twice",
    file="spec/carnet_spec/protocols/fastrack/protocol.py",
    old=LINE,
    new=LINE + LINE.replace('"attested"', '"attested again"'),
    noticed_by=(),
)
STALE = ("verdicts", "attacks", "falls", "replays", "agreement", "accounts", "rounds", "proofs", "mutants")
MADE = ("attacks/fastrack", "falls/fastrack", "rounds/fastrack", "mutants/fastrack")
SECONDS = 1800


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Tree:
    made = Tree.made(tmp_path_factory.mktemp("changed") / "tree")
    for name in ("docs", "README.md", "CONTRIBUTING.md", "SECURITY.md"):
        copy = shutil.copytree if (ROOT / name).is_dir() else shutil.copy2
        copy(ROOT / name, made.folder / name)
    shutil.rmtree(made.folder / "docs" / "_build", ignore_errors=True)
    for words in (["init", "-q"], ["add", "-A"]):  # what is tracked is asked of git
        subprocess.run(["git", *words], cwd=made.folder, check=True)
    return made


@pytest.mark.slow
@pytest.mark.timeout(2 * SECONDS)
def test_a_guard_is_changed_as_the_guide_says(tree: Tree) -> None:
    assert (tree.folder / AGAIN.file).read_text("utf-8").count(LINE) == 1
    before = {kind: _rows(tree, kind) for kind in ("attacks", "falls", "mutants")}
    with tree.seeded(AGAIN):
        said = tree.python("-m", HERE, "status", seconds=SECONDS).stdout
        named = {line.partition(":")[0] for line in said.splitlines()}
        assert {f"{kind}/fastrack" for kind in STALE} <= named
        failed, printed = tree.failing(["tests/docs/test_records.py", "tests/docs/test_recorded_pages.py"], SECONDS)
        assert not failed, printed
        made = tree.python("-m", HERE, "make", *MADE, seconds=SECONDS)
        assert made.returncode == 0, made.stdout + made.stderr
        said = tree.python("-m", HERE, "status", seconds=SECONDS).stdout
        assert not {line.partition(":")[0] for line in said.splitlines()} & {*MADE}
    _require_kept(before, {kind: _rows(tree, kind) for kind in before})


def _rows(tree: Tree, kind: str) -> Any:
    return json.loads((tree.folder / "docs" / "results" / kind / "fastrack.json").read_text("utf-8"))


def _require_kept(before: Mapping[str, Any], after: Mapping[str, Any]) -> None:
    """Insist that answers stay as they were; a guard that stands twice leaves other mutants of its action."""
    attacks, falls = (
        [[{**row, "digest": ""} for row in each[kind]] for each in (before, after)] for kind in ("attacks", "falls")
    )
    assert attacks[0] == attacks[1]
    assert falls[0] == falls[1]
    (old,), (new,) = (each["mutants"]["variants"] for each in (before, after))
    assert old["digest"] != new["digest"]
    assert new["fates"].keys() == old["fates"].keys()
    assert before["mutants"]["argued"] == after["mutants"]["argued"]
