"""No process that Carnet starts imports anything from the current folder, however Carnet itself was started."""

import os
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

from carnet_command.processes import isolated_spawn
from tests.fixtures.hostile_folder import START, HostileFolder, hostile_folder
from tests.repo.tracked import ROOT

pytestmark = pytest.mark.processes

TOY = str(ROOT / "tests" / "fixtures" / "toy.py")
#: The commands that start processes.
STARTING = {
    "run": ("run", "--processes", "--holders", "1", "--rounds", "1"),
    "sweep": ("sweep", "--configurations", "200", "--jobs", "2"),
    "verify": ("verify", TOY, "--jobs", "2"),
}
ALONE = {"explore": ("explore", TOY), "attack": ("attack", TOY, "--without", "return-checked")}


@pytest.fixture
def hostile(tmp_path: Path) -> HostileFolder:
    return hostile_folder(tmp_path)


def test_what_is_planted_leaves_marks(hostile: HostileFolder) -> None:
    """Else none of these tests could fail."""
    ended = hostile.carnet("--help", start=("-c", START))
    assert ended.code == 0, ended.said
    assert "click" in ended.by_itself


@pytest.mark.mends("H1")
@pytest.mark.parametrize("command", [*STARTING, *ALONE])
def test_nothing_of_the_current_folder_is_imported(command: str, hostile: HostileFolder) -> None:
    ended = hostile.carnet(*{**STARTING, **ALONE}[command])
    assert ended.code in {0, 1}, ended.said
    assert (ended.by_itself, ended.by_others) == ([], [])


@pytest.mark.mends("H1")
@pytest.mark.parametrize("command", STARTING)
def test_no_process_takes_over_the_current_folder_from_what_started_it(command: str, hostile: HostileFolder) -> None:
    """As when it is ``python -m carnet_check.cli`` in the folder: that process itself is the person's own."""
    ended = hostile.carnet(*STARTING[command], start=("-c", START))
    assert ended.code == 0, ended.said
    assert ended.by_itself
    assert not ended.by_others


@pytest.mark.mends("H1")
@pytest.mark.parametrize("command", STARTING)
def test_no_process_finds_the_current_folder_through_an_empty_python_path(command: str, tmp_path: Path) -> None:
    """As after ``export PYTHONPATH=$PYTHONPATH:…`` where there was none."""
    hostile = hostile_folder(tmp_path, ("secrets", "random", "numpy", "sitecustomize"))
    ended = hostile.carnet(*STARTING[command], environment={"PYTHONPATH": os.pathsep})
    assert ended.code == 0, ended.said
    assert "sitecustomize" in ended.by_itself
    assert not ended.by_others


def test_workers_find_what_their_parent_finds_elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where Carnet itself is installed in the current folder."""
    monkeypatch.syspath_prepend(str(tmp_path / "elsewhere"))
    monkeypatch.chdir(sysconfig.get_path("purelib"))
    monkeypatch.syspath_prepend("")
    with isolated_spawn().Pool(1) as pool:
        (path,) = pool.map(_module_path, [0])
    assert str(tmp_path / "elsewhere") in path
    assert sysconfig.get_path("purelib") in path


def _module_path(_: int) -> list[str]:
    return sys.path


def test_an_interpreter_is_no_less_isolated_than_this_one() -> None:
    program = "from carnet_command.processes import interpreter; print(interpreter()[1:])"
    flags = {
        ("-c",): "('-P',)",
        ("-P", "-s", "-c"): "('-P', '-s')",
        ("-E", "-c"): "('-P', '-E')",
        ("-I", "-c"): "('-I',)",
    }
    for given, kept in flags.items():
        assert subprocess.check_output([sys.executable, *given, program], text=True).strip() == kept


@pytest.mark.mends("H1")
def test_no_settings_of_the_current_folder_change_a_picture(hostile: HostileFolder) -> None:
    """Those of the drawing library could even start another program, to set text."""
    drawn = [hostile.path.parent / name for name in ("before.svg", "after.svg")]
    for picture in drawn:
        ended = hostile.carnet("datapath", "--table", "pipellm", "--samples", "1", "--plot", str(picture))
        assert ended.code == 0, ended.said
        assert "matplotlibrc" not in ended.said
        (hostile.path / "matplotlibrc").write_bytes(b"font.size: 40\ntext.usetex: True\n\xff\n")
    assert drawn[0].read_bytes() == drawn[1].read_bytes()


PROTOCOL = """
import random
import neighbour
from toy_beside import FAMILY
assert neighbour.HERE and random.randint
"""


@pytest.mark.mends("H1")
@pytest.mark.parametrize("name", ["named.py", "named"])
def test_a_protocol_that_is_named_is_loaded_with_its_neighbours_and_nothing_else(
    name: str, hostile: HostileFolder
) -> None:
    shutil.copy(TOY, hostile.path / "toy_beside.py")
    (hostile.path / "neighbour.py").write_text("HERE = True")
    (hostile.path / "named.py").write_text(PROTOCOL)
    ended = hostile.carnet("verify", f"{name}:FAMILY", "--jobs", "2")
    assert ended.code == 0, ended.said
    assert (ended.by_itself, ended.by_others) == ([], [])


@pytest.mark.mends("H1")
def test_no_native_library_of_the_current_folder_is_loaded(hostile: HostileFolder) -> None:
    """The solver's own loader looks in the current folder first."""
    for name in ("libz3.so", "libz3.so.5.4"):
        (hostile.path / name).write_text("no library")
    ended = hostile.carnet("verify", TOY, "--jobs", "2")
    assert ended.code == 0, ended.said
    loaded = "import carnet_check, z3; print(open('/proc/self/maps').read())"
    script = hostile.path.parent / "maps"
    script.write_text("print('pid 0')\n" + loaded)
    maps = hostile.carnet(start=(str(script),)).said
    assert "libz3.so" in maps
    assert str(hostile.path) not in maps
