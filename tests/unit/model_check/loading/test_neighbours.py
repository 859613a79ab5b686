"""Files beside a protocol are its own: no other folder's stand in for them, whatever was imported before."""

from __future__ import annotations

import builtins
import itertools
import subprocess
import sys
from pathlib import Path

import pytest

from carnet_check.errors import InvalidSpecificationError
from carnet_check.loading.families import load, parts_of
from tests.unit.model_check.command import carnet

REPAIRED = 'step.fresh(ticket, defence="fresh-ticket")'


@pytest.fixture
def folders(tmp_path: Path) -> dict[str, Path]:
    """Two folders with equal names in them, of which one has a defect."""
    assert carnet("init", str(tmp_path / "tickets")).code == 0
    text = (tmp_path / "tickets" / "protocol.py").read_text("utf-8")
    made = {}
    for name, said in (("good", text), ("bad", text.replace(REPAIRED, "pass"))):
        folder = made[name] = tmp_path / name
        folder.mkdir()
        (folder / "helper.py").write_text(said, "utf-8")
        (folder / "protocol.py").write_text("from helper import draft\n\n__all__ = ['draft']\n", "utf-8")
    return made


def digest(folder: Path, called: str = "protocol.py:draft") -> str:
    load.cache_clear()
    return load(str(folder / called)).protocol("main").digest


def test_modules_of_one_name_in_two_folders_are_two(folders: dict[str, Path]) -> None:
    good, bad = (digest(folders[name]) for name in ("good", "bad"))
    assert good != bad
    assert (digest(folders["bad"]), digest(folders["good"])) == (bad, good)


def test_a_written_test_is_about_its_own_folder(folders: dict[str, Path]) -> None:
    for folder in folders.values():
        asked = (str(folder / "protocol.py:draft"), "--without", "fresh-ticket", "--claim", "own-ticket")
        reference, without = (asked[0], asked[1:]) if folder.name == "good" else (asked[0], ("--variant", "main"))
        assert carnet("attack", reference, *without, "--as-test", str(folder / f"test_{folder.name}.py")).code == 1
    (folders["good"] / "test_good.py").write_text(
        (folders["good"] / "test_good.py").read_text("utf-8").replace('["fresh-ticket"]', "[]"), "utf-8"
    )
    for order in (("good", "bad"), ("bad", "good")):
        for mode in ("prepend", "importlib"):
            files = [str(folders[name] / f"test_{name}.py") for name in order]
            command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", f"--import-mode={mode}", *files]
            ran = subprocess.run(command, cwd=folders["good"].parent, capture_output=True, text=True, check=False)
            assert "1 failed, 1 passed" in ran.stdout, (order, mode, ran.stdout)
            assert "test_bad.py::" in ran.stdout


def test_chance_in_a_package_beside_a_file_is_noticed(
    folders: dict[str, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    text = (folders["good"] / "helper.py").read_text("utf-8")
    changing = text.replace(
        "corrupt(guest) & corrupt(friend)", "(corrupt(guest) & corrupt(friend) if FIRST else corrupt(friend))"
    )
    future = "from __future__ import annotations\n"
    counted = "import builtins\nFIRST = next(builtins.DRAWN)\n"
    monkeypatch.setattr(builtins, "DRAWN", iter([True, False]), raising=False)
    assert future in changing != text
    (folders["good"] / "lib").mkdir()
    (folders["good"] / "lib" / "design.py").write_text(changing.replace(future, future + counted, 1), "utf-8")
    (folders["good"] / "protocol.py").write_text("from lib.design import draft\n\n__all__ = ['draft']\n", "utf-8")
    with pytest.raises(InvalidSpecificationError, match="says something else each time that it is loaded"):
        digest(folders["good"])


def test_instances_that_change_are_noticed(folders: dict[str, Path], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(builtins, "DRAWN", itertools.count(1), raising=False)
    family = (
        "import builtins\n\n"
        "from carnet_check.loading.default_instance import default_instance\n"
        "from carnet_check.loading.families import load\n"
        "from helper import draft\n\n"
        "from dataclasses import replace\n\n"
        f"_FAMILY = load({str(folders['good'] / 'helper.py')!r} + ':draft').family\n\n\n"
        "def instance(protocol, threat, scale):\n"
        "    made = default_instance(protocol, threat, scale)\n"
        "    return replace(made, describes=str(next(builtins.DRAWN)))\n\n\n"
        "FAMILY = replace(_FAMILY, instance=instance)\n"
    )
    (folders["good"] / "family.py").write_text(family, "utf-8")
    with pytest.raises(InvalidSpecificationError, match="an instance says something else each time"):
        digest(folders["good"], "family.py:FAMILY")


@pytest.mark.parametrize(
    ("reference", "parts"),
    {
        "a/b.py": ("a/b.py", ""),
        "a/b.py:c": ("a/b.py", "c"),
        "a:b/c.py": ("a:b/c.py", ""),
        "a:b/c.py:d": ("a:b/c.py", "d"),
        "a.b:c": ("a.b", "c"),
        "a": ("a", ""),
    }.items(),
)
def test_a_reference_is_split_after_the_file(reference: str, parts: tuple[str, str]) -> None:
    assert parts_of(reference) == parts


def test_a_folder_with_a_colon_in_its_name_is_a_folder(folders: dict[str, Path]) -> None:
    folder = folders["good"].rename(folders["good"].parent / "a:b")
    assert carnet("verify", str(folder / "helper.py"), "--jobs", "1").code == 0
    assert carnet("attack", str(folder / "helper.py"), "--without", "fresh-ticket", "--jobs", "1").code == 1


def test_folders_of_modules_that_are_loaded_stay(monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder without a file of its own, here ``tests``, is no other folder's module."""
    monkeypatch.chdir(Path(__file__).parents[4])
    load.cache_clear()
    before = {name: module for name, module in sys.modules.items() if name == "tests" or name.startswith("tests.")}
    assert before
    load("tests.fixtures.toy:FAMILY")
    assert [name for name, module in before.items() if sys.modules.get(name) is not module] == []
